"""The state of an object as plain data, and back: JSON-able, versioned, checked when it is read.

This module knows no class of the package. What is neither a number, an array nor ``Stateful`` says itself how it is
kept: a small mutable part of a memory has ``as_plain`` and ``set_plain``; a value that is nothing but its arguments,
such as a domain, is told to ``register_values``.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import InputError, InputTypeError, WaneError
from wane.state.limits import MOST, refuse_impossible, refuse_unbacked

FORMAT = 1  # of state_dict; raised when a reader of the older format would go wrong
VALUES: dict[str, dict[str, type]] = {}  # by kind and name: classes whose objects are their ``parameters``
WRAPPERS: dict[type, str] = {}  # classes around an object of a user's: the attribute that holds it


def register_values(kind: str, *classes: type) -> None:
    """Make classes known whose objects, as arguments, are saved as their name and their ``parameters``."""
    VALUES.setdefault(kind, {}).update({cls.__name__: cls for cls in classes})


def state_dict(learner: Any) -> dict[str, Any]:
    """Class, arguments and memory."""
    return {
        **header(type(learner)),
        "parameters": {k: encode(getattr(learner, k)) for k in learner.parameters},
        "memory": memory(learner),
    }


def header(cls: type) -> dict[str, Any]:
    """How every state begins."""
    return {"format": FORMAT, "class": name_of(cls)}


def refuse_other(cls: type, state: Any) -> None:
    """An error unless this is a state of that class, in the format that this version reads."""
    if not isinstance(state, dict) or "format" not in state or state.get("class") != name_of(cls):
        raise InputError(f"must be what state_dict() of {cls.__name__} gave, got {described(state)}", about="state")
    if state["format"] != FORMAT:
        problem = f"has format {state['format']!r}, this version of wane reads format {FORMAT}"
        raise InputError(problem, about="state", cure="upgrade wane")


def rebuild(cls: Any, state: Any, objects: dict[str, Any]) -> Any:
    """A learner of that class from its state, taking from ``objects`` what it needs.

    Parameters that older versions did not have (``added``) may be missing: then they have their defaults.
    """
    refuse_other(cls, state)
    if not {"parameters", "memory"} <= state.keys():
        raise InputError(f"must be what state_dict() gave, got {described(state)}", about="state")
    given = state["parameters"].keys() - set(cls.removed) if isinstance(state["parameters"], dict) else None
    if given is None or not set(cls.parameters) - set(cls.added) <= given <= set(cls.parameters):
        problem = f"the parameters of {name_of(cls)} must be {list(cls.parameters)}, got {state['parameters']!r}"
        raise InputError(problem, argument="state")
    refuse_unbacked(cls, state["parameters"], state["memory"])
    with refused_by(cls):
        arguments = {
            k: objects.pop(k) if k in objects else decode(v, k, objects)
            for k, v in state["parameters"].items()
            if k in given
        }
        made = cls(**arguments)
    restore(made, state["memory"])
    return made


@contextlib.contextmanager
def refused_by(cls: type) -> Iterator[None]:
    """Say of exceptions that are not of this package that parameters in a state were wrong."""
    try:
        yield
    except WaneError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        problem = f"the parameters of {name_of(cls)} cannot be used: {error!r}"
        raise InputError(problem, argument="state", cure="restore it from a copy") from error


def remade(cls: type, arguments: dict[str, Any], memory: dict[str, Any]) -> Any:
    """A learner from its arguments and its memory."""
    learner = cls(**arguments)
    restore(learner, memory)
    return learner


def memory(learner: Any) -> dict[str, Any]:
    """What the next round needs, copied to plain data."""
    return {k: pack(getattr(learner, k)) for k in learner.memory}


def restore(learner: Any, memory: Any) -> None:
    """Put the memory back if it is a possible one; errors leave a learner that must not be used, so callers drop it."""
    if not isinstance(memory, dict) or memory.keys() != set(learner.memory):
        with contextlib.suppress(AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError):  # damaged
            if learner._older(memory):
                refuse_impossible(learner)
                return
        problem = f"the memory of {type(learner).__name__} must hold {list(learner.memory)}, got {described(memory)}"
        raise InputError(problem, argument="state")
    refuse_unbacked(type(learner), memory, memory)
    for k in learner.memory:
        unpack(learner, k, memory[k])
    refuse_impossible(learner)


def pack(value: Any) -> Any:
    """One piece of memory as plain data."""
    if hasattr(value, "as_plain"):
        return value.as_plain()
    if hasattr(value, "memory"):
        return memory(value)
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return np.asarray(value).tolist()


def unpack(learner: Any, name: str, value: Any) -> None:
    """One piece of memory from plain data, in the kind that the new learner has."""
    current = getattr(learner, name)
    if hasattr(current, "memory"):
        restore(current, value)
        return
    wanted, where = np.shape(pack(current)), f"{name} in the memory of {type(learner).__name__}"
    if not numeric(value) or shape(value) != wanted:
        raise InputError(f"{where} must be finite, of shape {wanted}, got {described(value)}", argument="state")
    if hasattr(current, "set_plain"):
        if not current.set_plain(value):
            raise InputError(f"{where} cannot be {described(value)}", argument="state")
    elif isinstance(current, (bool, int, float)):
        whole = type(current)(value)
        if whole != value or (abs(whole) > MOST and not isinstance(current, float)):
            raise InputError(f"{where} must be a whole number within +-2^53, got {value}", argument="state")
        try:
            setattr(learner, name, whole)
        except OverflowError as error:  # a compiled class keeps small numbers in small types
            raise InputError(f"{where} cannot be {value}: {error}", argument="state") from error
    else:
        array = np.array(value, dtype=float)
        if isinstance(current, np.ndarray):
            setattr(learner, name, array)
        else:  # in place: it may be a part of a larger memory
            np.asarray(current)[...] = array


def numeric(value: Any) -> bool:
    """Finite numbers only."""
    if isinstance(value, list):
        return all(numeric(v) for v in value)
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max


def shape(value: Any) -> tuple[int, ...] | None:
    """The shape of a number or of lists of numbers; None if rows differ in length."""
    try:
        return np.shape(value)
    except ValueError:
        return None


def snapshot(learner: Any) -> list[Any]:
    """The memory of an object and of the objects it is made of, for ``put_back``; cheaper than plain data."""
    values = [getattr(learner, k) for k in learner.memory]
    return [*map(kept, values), *map(snapshot, parts_of(learner))]


def kept(value: Any) -> Any:
    """One piece of memory, copied."""
    if hasattr(value, "as_plain"):
        return value.as_plain()
    if hasattr(value, "memory"):
        return snapshot(value)
    return value if isinstance(value, (bool, int, float)) else np.array(value)


def put_back(learner: Any, taken: list[Any]) -> None:
    """The learner as it was when the snapshot was taken."""
    for k, value in zip(learner.memory, taken, strict=False):
        current = getattr(learner, k)
        if hasattr(current, "set_plain"):
            current.set_plain(value)
        elif hasattr(current, "memory"):
            put_back(current, value)
        else:
            setattr(learner, k, value.data if isinstance(current, memoryview) else value)
    for inner, value in zip(parts_of(learner), taken[len(learner.memory) :], strict=True):
        put_back(inner, value)


def give_up(thing: Any, taken: list[Any], error: BaseException, t: int) -> None:
    """After an error in round t: the object as it was, and the round in the message."""
    put_back(thing, taken)
    name_round(error, t)


def name_round(error: BaseException, t: int) -> None:
    """Say in which round an error happened: in ``row`` if it is one of this package, else in its message."""
    if isinstance(error, WaneError):
        error.problem, error.about, error.row, error.unit = sentence(error), None, t, "in round"
    elif not error.args:
        error.args = (f"in round {t}",)
    elif isinstance(error.args[0], str) or len(error.args) == 1:
        error.args = (f"in round {t}: {error.args[0]}", *error.args[1:])
    elif hasattr(error, "add_note"):
        error.add_note(f"in round {t}")


def sentence(error: BaseException) -> str:
    """The message of an error without the cure."""
    return str(WaneError(error.problem, about=error.about, row=error.row) if isinstance(error, WaneError) else error)


def parts_of(learner: Any) -> list[Any]:
    """The arguments that have a state of their own."""
    return [v for v in (getattr(learner, k) for k in learner.parameters) if hasattr(v, "state_dict")]


def encode(value: Any) -> Any:
    """An argument as plain data."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    if hasattr(value, "state_dict"):
        return {"state": value.state_dict()}
    name = type(value).__name__
    for kind, classes in VALUES.items():
        if classes.get(name) is type(value):
            return {kind: name, "parameters": {k: encode(getattr(value, k)) for k in value.parameters}}  # type: ignore[attr-defined]
    if isinstance(value, (np.ndarray, np.generic)):
        return encode(value.tolist())
    value = getattr(value, WRAPPERS[type(value)]) if type(value) in WRAPPERS else value
    return {"object": getattr(value, "__qualname__", type(value).__qualname__)}


def decode(value: Any, name: str, objects: dict[str, Any]) -> Any:
    """An argument from plain data."""
    if isinstance(value, list):
        return [decode(v, name, objects) for v in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "state" in value:
        from wane.state.stateful import Stateful

        return rebuild(class_of(value["state"], Stateful), value["state"], objects)
    for kind in VALUES.keys() & value.keys():
        if value[kind] not in VALUES[kind]:
            problem = f"unknown {kind} {value[kind]!r}: known are {', '.join(sorted(VALUES[kind]))}"
            raise InputError(problem, argument=name)
        return VALUES[kind][value[kind]](**{k: decode(v, k, objects) for k, v in value["parameters"].items()})
    problem = f"was {value.get('object')!r}, which plain data cannot hold"
    raise InputTypeError(problem, about=name, cure=f"give it again, load(state, {name}=...)")


def load(root: type, state: Any, objects: dict[str, Any]) -> Any:
    """The object whose ``state_dict`` this is, of a class below ``root``."""
    objects = dict(objects)
    made = rebuild(class_of(state, root), state, objects)
    if objects:
        problem = f"{type(made).__name__} has no parameter {', '.join(sorted(objects))} to be given again"
        raise InputTypeError(problem, argument=min(objects))
    return made


def class_of(state: Any, root: type) -> type:
    """The class that a state names."""
    name = state.get("class") if isinstance(state, dict) else None
    for cls in subclasses(root):
        if name_of(cls) == name:
            return cls
    raise InputError(
        f"no {root.__name__.lower()} is called {name!r}: state must be what state_dict() gave",
        argument="state",
        cure="import the module of a class of your own first",
    )


def subclasses(cls: type) -> list[type]:
    """Every class below this one."""
    below: list[type] = cls.__subclasses__()
    return [s for direct in below for s in (direct, *subclasses(direct))]


def name_of(cls: type) -> str:
    """The name in a state: bare for the classes of this package, with the module for others."""
    return cls.__name__ if cls.__module__.startswith("wane.") else f"{cls.__module__}.{cls.__qualname__}"


def short(value: Any) -> str:
    """A value in a repr, long arrays cut."""
    if isinstance(value, (list, np.ndarray)):
        return np.array2string(np.asarray(value), separator=", ", threshold=8, edgeitems=2)
    return repr(value)
