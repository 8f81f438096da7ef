# SPDX-License-Identifier: ISC
"""refusing.py ERROR CALL... -- COMMAND...: runs a command that the kernel
refuses these system calls with that error, as a kernel does that is older, or
another one, or a container's filter. Its children are refused them, too. As a
module: which calls it knows here, and the command line."""

import ctypes
import errno
import os
import platform
import struct
import sys

# By machine. socket-netlink is socket(AF_NETLINK, ...) only.
_NUMBERS = {
    "x86_64": {
        "close_range": 436, "copy_file_range": 326, "epoll_create1": 291,
        "eventfd2": 290, "fadvise64": 221, "fallocate": 285,
        "getxattrat": 464, "listxattrat": 465, "memfd_create": 319,
        "openat2": 437, "preadv2": 327, "renameat2": 316,
        "sched_getaffinity": 204, "socket-netlink": 41},
    "aarch64": {
        "close_range": 436, "copy_file_range": 285, "epoll_create1": 20,
        "eventfd2": 19, "fadvise64": 223, "fallocate": 47,
        "getxattrat": 464, "listxattrat": 465, "memfd_create": 279,
        "openat2": 437, "preadv2": 286, "renameat2": 276,
        "sched_getaffinity": 123, "socket-netlink": 198},
}
CALLS = _NUMBERS.get(platform.machine(), {})
_AF_NETLINK = 16
_SET_SECCOMP, _NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of BPF
_ALLOW, _ERROR = 0x7fff0000, 0x00050000
_AT_NUMBER, _AT_FIRST_ARGUMENT = 0, 16          # in struct seccomp_data


def refusing(error, calls, command=()):
    """The command line that runs another, which may follow it."""
    return [sys.executable, __file__, error, *calls, "--", *map(str, command)]


def _filter(error, calls):
    refuse = (_RETURN, 0, 0, _ERROR | error)
    program = []
    for call in calls:
        block = [refuse]
        if call == "socket-netlink":
            block = [(_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
                     (_JUMP_EQUAL, 0, 1, _AF_NETLINK), refuse]
        program += [(_LOAD, 0, 0, _AT_NUMBER),
                    (_JUMP_EQUAL, 0, len(block), CALLS[call]), *block]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _main(error, *rest):
    end = rest.index("--")
    code = b"".join(struct.pack("=HBBI", *step)
                    for step in _filter(getattr(errno, error), rest[:end]))
    steps = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0) != 0:
        sys.exit(f"refusing.py: {os.strerror(ctypes.get_errno())}")
    os.execv(rest[end + 1], rest[end + 1:])


if __name__ == "__main__":
    _main(*sys.argv[1:])
