# SPDX-License-Identifier: ISC
"""Processes of the machine: whose children they are, and what they show of
themselves."""

import contextlib
import os
from pathlib import Path


def _stat(pid):
    """A process's parent, its state and its name; None: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            before, _, behind = f.read().rpartition(b")")
    except OSError:
        return None
    if not (rest := behind.split(None, 2)):
        return None
    return (int(rest[1]), rest[0].decode(),
            before.partition(b"(")[2].decode(errors="replace"))


KERNEL_LISTS = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _listed(of):
    """The ids of children that the kernel lists, in one reading."""
    found, threads = set(), []
    with contextlib.suppress(OSError):
        threads = os.listdir(f"/proc/{of}/task")
    for thread in threads:
        with contextlib.suppress(OSError), \
                open(f"/proc/{of}/task/{thread}/children") as f:
            found.update(map(int, f.read().split()))
    return found


def _child_ids(of):
    """Tests ask for this again and again until something has ended, so it
    does not look at all processes of the machine. While one ends the kernel
    may leave another one out; so two answers have to agree."""
    if not KERNEL_LISTS:
        return {int(pid) for pid in os.listdir("/proc") if pid.isdigit()
                and (stat := _stat(pid)) and stat[0] == of}
    found, before = _listed(of), None
    while found != before:
        found, before = _listed(of), found
    return found


def children(of=None):
    of = of or os.getpid()
    return {pid: stat[1:] for pid in _child_ids(of)
            if (stat := _stat(pid)) and stat[0] == of}


def descendants(of):
    todo, found = [of], {}
    while todo:
        mine = children(todo.pop())
        found |= mine
        todo += mine
    return found


def title(pid):
    """Its command line; empty: it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def is_waiting(pid):
    """Is it an hpnsshd-session without a connection?"""
    return title(pid).startswith(b"hpnsshd-session: [waiting]")
