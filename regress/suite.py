# SPDX-License-Identifier: ISC
"""suite.py PYTEST-ARGUMENTS: a run of pytest in which a few tests that fail
get a second try, without others beside them.

Ten thousand tests of whole programs, several at a time, meet races that have
nothing to do with what changed: of programs with a busy machine, and of tests
with programs. A test that passes alone does not fail the run; but it is named
as unsteady, with the first try's report above, and somebody has to look at it.
More than UNSTEADY_MAX failures are no accident, nor is a file that cannot be
read, with which none would be tried again: then there is no second try.

Closing line: N passed, N failed[, N skipped]; exit status as pytest's.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

UNSTEADY_MAX = 5
TERMINATED = 143  # the exit status, also of conftest.py
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$")
UNREAD = re.compile(r"^ERROR \S+\.py(?: - .*)?$")


def begin(arguments, output):
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        stdout=output, stderr=subprocess.STDOUT, text=True, errors="replace")
    # It cleans up; then it ends, and we do.
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    return process


def compile_for_all(directory, arguments):
    """Has Python keep what it compiles of the tests in that directory. Workers
    that start side by side would each compile all of it, so somebody does it
    before them. False: that was terminated, and so is this run."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = directory
    if "-n" not in arguments:
        return True
    status = begin([*arguments, "--collect-only", "-n", "0"],
                   subprocess.DEVNULL).wait()
    return status not in (TERMINATED, -signal.SIGTERM)


def run(arguments):
    """(exit status, counts of the closing line or None, what failed; None:
    a file could not be read)"""
    process = begin(arguments, subprocess.PIPE)
    counts, failed, unread = None, set(), False
    for line in process.stdout:
        print(line, end="", flush=True)
        if found := CLOSING.match(line.rstrip()):
            counts = [int(n or 0) for n in found.groups()]
        elif found := FAILED.match(line.rstrip()):
            failed.add(found[1])
        unread = unread or UNREAD.match(line.rstrip())
    return process.wait(), counts, None if unread else sorted(failed)


def main(arguments):
    with tempfile.TemporaryDirectory(prefix="hpn-suite.") as cache_dir:
        # Above this directory pytest reads no conftest.py. Left to itself it
        # starts below, when the current directory is another tree.
        cache = [f"--rootdir={Path(__file__).resolve().parent}",
                 "-o", f"cache_dir={cache_dir}"]
        if not compile_for_all(f"{cache_dir}/compiled",
                               [*cache, *arguments]):
            return TERMINATED
        status, counts, failed = run([*cache, *arguments])
        if status != 1 or counts is None or counts[1] > UNSTEADY_MAX or \
                failed is None:
            return status
        print("\nOnce more, alone:", flush=True)
        again = [*cache, "--lf", "--lfnf=none", "-n", "0"]
        # What the first try has left may be in use: it is not removed.
        elsewhere = [f"{a}-again" if a.startswith("--basetemp=") else a
                     for a in arguments]
        status, second, still = run([*elsewhere, *again])
    if second is None or second[0] + second[1] == 0:
        return status or 1
    for test in failed:
        if test not in still:
            print(f"unsteady: {test}")
    line = f"{counts[0] + second[0]} passed, {second[1]} failed"
    print(f"{line}, {counts[2]} skipped" if counts[2] else line)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
