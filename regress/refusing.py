# SPDX-License-Identifier: ISC
"""refusing.py CALL[=ERROR]... -- COMMAND...: runs a command that the kernel
refuses these system calls, as a kernel does that is older, or another one, or a
container's filter. Its children are refused them, too. As a module: which calls
it knows here, and the command line."""

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """A system call, with these arguments only, and what a kernel says that
    does not know it."""
    x86_64: int
    aarch64: int
    arguments: dict = field(default_factory=dict)
    error: str = "ENOSYS"


_ALL = {
    "close_range": Call(436, 436),
    "copy_file_range": Call(326, 285),
    "epoll_create1": Call(291, 20),
    "eventfd2": Call(290, 19),
    "execveat": Call(322, 281),
    "fadvise64": Call(221, 223),
    "fallocate": Call(285, 47),
    "getxattrat": Call(464, 464),
    "listxattrat": Call(465, 465),
    "lock-of-file": Call(72, 25, {1: 37}, "EINVAL"),    # F_OFD_SETLK
    "look-for-lock": Call(72, 25, {1: 36}, "EINVAL"),   # F_OFD_GETLK
    "memfd_create": Call(319, 279),
    "netlink": Call(41, 198, {0: 16}, "EAFNOSUPPORT"),
    "openat2": Call(437, 437),
    "pipe-size": Call(72, 25, {1: 1031}, "EINVAL"),     # F_SETPIPE_SZ
    "preadv2": Call(327, 286),
    "renameat2": Call(316, 276),
    "sched_getaffinity": Call(204, 123),
    "tcp-info": Call(55, 209, {1: 6, 2: 11}, "ENOPROTOOPT"),
    "unsent-bytes": Call(16, 29, {1: 0x894b}, "EINVAL"),  # SIOCOUTQNSD
}
CALLS = _ALL if platform.machine() in ("x86_64", "aarch64") else {}
_SET_SECCOMP, _NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of BPF
_ALLOW, _ERROR = 0x7fff0000, 0x00050000
_AT_NUMBER, _AT_ARGUMENTS, _ARGUMENT = 0, 16, 8  # in struct seccomp_data


def refusing(calls, command=()):
    """The command line that runs another, which may follow it."""
    return [sys.executable, __file__, *calls, "--", *map(str, command)]


def _steps(word):
    """What the filter does about one call."""
    name, _, error = word.partition("=")
    call = CALLS[name]
    steps = [(_RETURN, 0, 0,
              _ERROR | getattr(errno, error or call.error))]
    for n, value in call.arguments.items():
        steps = [(_LOAD, 0, 0, _AT_ARGUMENTS + _ARGUMENT * n),
                 (_JUMP_EQUAL, 0, len(steps), value), *steps]
    return [(_LOAD, 0, 0, _AT_NUMBER),
            (_JUMP_EQUAL, 0, len(steps), getattr(call, platform.machine())),
            *steps]


def _main(*words):
    end = words.index("--")
    steps = [step for word in words[:end] for step in _steps(word)]
    code = b"".join(struct.pack("=HBBI", *step)
                    for step in [*steps, (_RETURN, 0, 0, _ALLOW)])
    text = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0) != 0:
        sys.exit(f"refusing.py: {os.strerror(ctypes.get_errno())}")
    os.execv(words[end + 1], words[end + 1:])


if __name__ == "__main__":
    _main(*sys.argv[1:])
