# SPDX-License-Identifier: ISC
"""What programs say to syslog: they see a /dev of their own, whose log is a
socket of the test's."""

import os
import re
import socket
import threading

import harness
from harness import IS_ROOT, LONG, run

# The devices of the machine's own, the terminals included.
PRIVATE_DEV = """
set -e
dev=$1
shift
for name in null zero random urandom tty ptmx; do
    : >"$dev/$name"
    mount --bind "/dev/$name" "$dev/$name"
done
mkdir -p "$dev/pts" "$dev/shm"
mount --rbind /dev/pts "$dev/pts"
[ -e "$dev/fd" ] || ln -s /proc/self/fd "$dev/fd"
mount --bind "$dev" /dev
exec "$@"
"""


def problem():
    """Why there can be no such /dev here, or None."""
    if not IS_ROOT:
        return "needs root: a /dev of its own"
    if run(["unshare", "-m", "--propagation", "private", "mount", "--bind",
            "/dev/null", "/dev/null"]).rc != 0:
        return "mounting is not possible here"
    return None


class Syslog:
    """lines: (facility and priority, text as a log file would have it)."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        self.log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.log.bind(str(directory / "log"))
        os.chmod(directory / "log", 0o666)
        self.received = []
        # Reads at all times: a program that logs waits if nobody reads.
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def within(self, *args):
        """The command line of a program that logs to this."""
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                PRIVATE_DEV, "sh", str(self.directory), *args]

    def read(self):
        while line := self.log.recv(8192).decode(errors="replace"):
            head = re.fullmatch(r"<(\d+)>(\w{3} [ \d]\d \S+) (.*)",
                                line.rstrip("\0\n"), re.S)
            self.received.append((int(head[1]), f"{head[2]} host {head[3]}")
                                 if head else (-1, line))

    @property
    def lines(self):
        return [text for _, text in self.received]

    def facilities(self, text):
        """The facilities of the lines with this text, as numbers."""
        return {number >> 3 for number, line in list(self.received)
                if text in line}

    def until(self, text):
        assert harness.wait_for(
            lambda: any(text in line for line in self.lines), LONG), \
            "\n".join((f"no {text!r} in", *self.lines))
        return self

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"", str(self.directory / "log"))
        self.reader.join(LONG)
        self.log.close()
