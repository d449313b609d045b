"""Child processes that are killed: at a step that is known, before an operation on a file, or at a random moment."""

import contextlib
import os
import signal
import sys
import time
import warnings

# Before each call of a function of such a name a process can be killed: between two of them a file may be half done.
FILES = ("open", "write", "flush", "fsync", "close", "__exit__", "truncate", "flock")
NAMES = ("replace", "rename", "unlink", "chmod")
STEPS = {*FILES, *NAMES}


def armed(step):
    """Kill this process before its step-th operation on a file."""
    count = 0

    def watch(frame, event, function):
        nonlocal count
        if event == "c_call" and function.__name__ in STEPS:
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


class Kill:
    """When a child dies: before a step, after some seconds, or not at all."""

    def __init__(self, chance=None, steps=100, seconds=0.05):
        """Half of the kills come at a known step, the others at a moment; without chance there is none."""
        self.step = self.after = None
        self.done = False  # whether the child died of it
        if chance is None:
            return
        if chance.random() < 0.5:
            self.step = chance.randint(1, steps)
        else:
            self.after = chance.uniform(0.0, seconds)

    def __str__(self):
        if self.step is not None:
            return f"killed before step {self.step}"
        return "not killed" if self.after is None else f"killed after {self.after:.4f} s"


def child(work, kill, given=b""):
    """Fork a process that does ``work(pipe)``; what it wrote to the pipe, and its exit code or minus its signal.

    Args:
        work: is given the descriptor to write to.
        kill: when it dies.
        given: what its standard input holds.
    """
    reader, writer = os.pipe()
    source, sink = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        code = 99
        try:
            for end in (reader, sink):
                os.close(end)
            os.dup2(source, 0)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            if "TORTURE_LOUD" not in os.environ:
                os.dup2(silent, 2)
            warnings.simplefilter("ignore")
            if kill.step is not None:
                armed(kill.step)
            code = work(writer) or 0
        finally:
            sys.setprofile(None)
            os._exit(code)
    os.close(writer)
    os.close(source)
    with contextlib.suppress(BrokenPipeError):
        os.write(sink, given)  # less than a pipe holds
    os.close(sink)
    if kill.after is not None:
        time.sleep(kill.after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    said = b""
    while more := os.read(reader, 1 << 16):
        said += more
    os.close(reader)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    kill.done = code == -signal.SIGKILL
    return said, code


def command(*arguments):
    """Run the command wane in this process; its exit code."""
    from wane.cli.main import main

    sys.argv = ["wane", *map(str, arguments)]
    try:
        main()
    except SystemExit as leaving:
        return leaving.code or 0
    return 0


def whole_lines(said):
    """The lines that were finished."""
    return said.split(b"\n")[:-1]
