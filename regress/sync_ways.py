# SPDX-License-Identifier: ISC
"""The ways of hpnsync that tests take: up, down and on this machine, with our
server and with a stock one."""

import os
import subprocess

import pytest

from harness import hpn, run

SERVERS = {"hpn": hpn("sftp-server")}
if os.path.exists("/usr/lib/openssh/sftp-server"):
    SERVERS["stock"] = "/usr/lib/openssh/sftp-server"
WAYS = [f"{way}-{server}" for way in ("up", "down")
        for server in SERVERS] + ["here"]


def arguments_of(name, shell):
    """What makes the arguments for a source and a target: a program in place
    of the connection starts the server, so nobody has to log in."""
    if name == "here":
        return lambda source, target: [source, target]
    way, server = name.split("-")
    shell.write_text(f"#!/bin/sh\nexec {SERVERS[server]}\n")
    shell.chmod(0o755)
    return lambda source, target: ["-e", shell, *(
        [source, f"h:{target}"] if way == "up" else [f"h:{source}", target])]


class Mounts:
    """Small file systems, which go at the end of the test."""

    def __init__(self):
        self.places = []

    def make(self, place, size="1m"):
        place.mkdir(parents=True, exist_ok=True)
        if run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none",
                place]).rc != 0:
            pytest.skip("no tmpfs can be mounted here")
        self.places.append(place)
        return place

    def change(self, place, options):
        run(["mount", "-o", f"remount,{options}", place]).ok()

    def leave(self, place):
        """Takes it away from under whoever uses it."""
        run(["umount", "-l", place]).ok()
        self.places.remove(place)

    def end(self):
        for place in reversed(self.places):
            subprocess.run(["umount", "-l", place], check=False,
                           stderr=subprocess.DEVNULL)
