"""How it is measured: time as the best of several in turns, memory before and after, the machine it was on."""

import gc
import json
import math
import os
import pickle
import platform
import time
import tracemalloc
from pathlib import Path

import numpy as np
import scipy

import wane

# The time of this thread on the processor, where the system counts it finely: waiting for other programs is left out.
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


def best(repeats, makes, clock=CLOCK):
    """The shortest time in seconds of each; a make prepares, outside the time, what is then called once."""
    shortest = dict.fromkeys(makes, math.inf)
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, make in makes.items():
                work = make()
                start = clock()
                work()
                shortest[name] = min(shortest[name], clock() - start)
    finally:
        gc.enable()
    return shortest


def nanoseconds(repeats, rounds, makes):
    """The same, in ns a round."""
    return {name: 1e9 * seconds / rounds for name, seconds in best(repeats, makes).items()}


def whole(learner, gradients):
    return lambda: learner.run(gradients)


def by_turns(learner, gradients):
    """predict() and update() in a Python loop, as a program that meets one gradient at a time would call them."""

    def play():
        predict, update = learner.predict, learner.update
        for g in gradients:
            predict()
            update(g)

    return play


def memory_of(learner, gradients, rounds):
    """The size of the state before and after, what Python allocated meanwhile, and the growth of the process."""

    def play(times):
        for _ in range(times):
            for g in gradients:
                learner.update(g)

    play(1)
    state_before = len(pickle.dumps(learner.state_dict()))
    gc.collect()
    first, peak = resident(), 0
    for _ in range(10):
        play(rounds // len(gradients) // 10)
        peak = max(peak, resident() or 0)
    tracemalloc.start()  # all rounds again, since it takes memory of its own
    play(1)
    tracemalloc.reset_peak()
    traced = tracemalloc.get_traced_memory()[0]
    play(rounds // len(gradients))
    last, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "state_before": state_before,
        "state_after": len(pickle.dumps(learner.state_dict())),
        "traced_growth": last - traced,
        "traced_peak": highest - traced,
        "resident_growth": None if first is None else max(peak - first, 0),
    }


def resident():
    """Bytes of this process in memory, or None where the system does not tell."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else None


def machine():
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "compiled": wane.compiled(),
        "wane": wane.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "cpu": model,
        "cores": cores,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def write(path, numbers):
    """The whole file or none of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
