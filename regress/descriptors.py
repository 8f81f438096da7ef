# SPDX-License-Identifier: ISC
"""Descriptors of other processes: as root, or a debugger, may take them, and as
a proxy command passes its own (ProxyUseFdpass)."""
import ctypes
import os

PIDFD_GETFD = 438  # the number of the system call, on every architecture


def copy_of(pid, number):
    """A copy of a descriptor; OSError if there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    try:
        fd = libc.syscall(PIDFD_GETFD, process, number, 0)
        if fd == -1:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        return fd
    finally:
        os.close(process)


PASSES = """
import array, socket, sys
there = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
us = socket.socket(fileno=1)
us.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                     array.array("i", [there.fileno()]))])
"""


def passing_proxy(directory, port, program=PASSES):
    """Options of a client whose proxy command connects to the port and passes
    the descriptor, or does what another program does."""
    script = directory / "passes.py"
    script.write_text(program)
    return ["ProxyUseFdpass=yes", f"ProxyCommand=python3 {script} {port}"]
