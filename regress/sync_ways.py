# SPDX-License-Identifier: ISC
"""The ways of hpnsync that tests take: up, down and on this machine, with our
server and with a stock one."""

import os
import shutil
import subprocess
from pathlib import Path

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


# A whole /etc, since a mount on /etc/passwd alone goes when somebody outside
# replaces that file, as the tools that add an account do.
ENTER = """#!/bin/sh
exec unshare -m --propagation private sh -c '
mount --bind {0} /etc && exec "$@"' sh {1}
"""


def other_accounts(place, passwd, group):
    """Makes an /etc with these accounts, for with_accounts()."""
    place.mkdir()
    (place / "passwd").write_text(passwd)
    (place / "group").write_text(group)
    for name in ("nsswitch.conf", "ld.so.cache"):
        if Path("/etc", name).exists():
            shutil.copy(f"/etc/{name}", place)
    return place


def with_accounts(script, etc, command):
    """Makes a script that runs a command where the accounts are those."""
    script.write_text(ENTER.format(etc, command))
    script.chmod(0o755)
    return script


@pytest.fixture(params=WAYS)
def ends(request, tmp_path):
    return arguments_of(request.param, tmp_path / "shell")


@pytest.fixture
def mounts():
    made = Mounts()
    yield made
    made.end()


def fill(top, sizes):
    """Files of these sizes, with content of their own."""
    for name, size in sizes.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(os.urandom(size))
        os.utime(top / name, (10**9, 10**9))
    return top
