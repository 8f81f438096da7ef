# SPDX-License-Identifier: ISC
"""Masters of shared connections (ControlMaster), and their mux clients."""

import os
import signal
import stat
import subprocess

from harness import LONG, Client, clean_env, program, run, start, wait_for


def is_socket(path):
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


class Master:
    """A client of either kind that shares its connection at a path, without a
    session of its own."""

    def __init__(self, kind, server, path, *options, flags=(), env=None,
                 **kw):
        self.client = Client(kind, server, **kw)
        self.path = path
        self.process = start(self.client.ssh_args(
            "ControlMaster=yes", f"ControlPath={path}", *options,
            flags=["-N", *flags]), env=env or clean_env())

    def __enter__(self):
        assert wait_for(lambda: is_socket(self.path)
                        or self.process.poll() is not None, LONG)
        assert self.process.poll() is None
        return self

    def __exit__(self, *exc):
        """A stock master whose signal comes just before it waits for its
        sockets waits on: it is told again. Ours must not need that."""
        again = 1 if self.client.kind == "hpn" else 20
        for _ in range(again):
            if self.process.poll() is not None:
                return
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(LONG / again)
            except subprocess.TimeoutExpired:
                pass
        self.process.wait(0)

    def command(self, word, kind="hpn"):
        return control(kind, self.path, word)


def mux_client(kind, path, *command, flags=(), options=()):
    """The command line of a client that can only be a mux client: no such host
    could be reached."""
    args = [program(kind, "ssh"), "-F", "none", "-S", str(path)]
    for option in (*options, "BatchMode=yes", "Port=1",
                   "ConnectTimeout=1"):
        args += ["-o", option]
    return [*args, *flags, "127.0.0.1", *command]


def control(kind, path, word, *flags):
    """hpnssh -O word"""
    return run(mux_client(kind, path, flags=["-O", word, *flags]))
