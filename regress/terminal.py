# SPDX-License-Identifier: ISC
"""A person at a terminal: a program on a pty of its own, what it shows, and
what is typed."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from harness import SLOW, clean_env, own_children


def fresh_modes():
    """The modes of a terminal that no program has changed yet."""
    ends = os.openpty()
    try:
        return termios.tcgetattr(ends[0])
    finally:
        for fd in ends:
            os.close(fd)


class Terminal:
    def __init__(self, args, env=None, rows=24, columns=80):
        self.shown = b""
        self.at = 0  # what expect() has consumed
        self.status = None
        args = [str(a) for a in args]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execve(args[0], args, env or clean_env(TERM="xterm"))
            finally:
                os._exit(127)
        own_children.add(self.pid)
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.fd)

    def is_raw(self):
        return not self.modes()[3] & (termios.ICANON | termios.ECHO)

    def _read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            data = b""
        self.shown += data
        return bool(data)

    def expect(self, text, seconds=60):
        """Waits until text is shown; returns what came before it."""
        text = text if isinstance(text, bytes) else text.encode()
        end = time.monotonic() + seconds * SLOW
        while True:
            found = self.shown.find(text, self.at)
            if found >= 0:
                before = self.shown[self.at:found]
                self.at = found + len(text)
                return before.decode(errors="replace")
            left = end - time.monotonic()
            # it may have said that and ended since
            if left <= 0 or (not self._read(min(left, 0.2))
                             and self._ended() and not self._read(0)):
                raise AssertionError(
                    f"not shown: {text!r}; shown: {self.shown!r}")

    def idle(self, seconds):
        """Only reads what is shown."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(max(0, end - time.monotonic()))

    def type(self, text):
        os.write(self.fd, text if isinstance(text, bytes) else text.encode())

    def line(self, text):
        self.type(text + "\r")

    def _ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def wait(self, seconds=60):
        """Exit status; a signal is negative. Reads on meanwhile."""
        end = time.monotonic() + seconds * SLOW
        while not self._ended():
            self._read(0.05)
            if time.monotonic() > end:
                raise AssertionError(f"has not ended; shown: {self.shown!r}")
        while self._read(0):
            pass
        return os.waitstatus_to_exitcode(self.status)

    def close(self):
        try:
            if not self._ended():
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        own_children.discard(self.pid)
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
