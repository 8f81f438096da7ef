# SPDX-License-Identifier: ISC
"""An update replaces the programs of the server while a listener runs: logins
go on with those that it was started with, and a restart takes the new ones."""

import shutil
import signal
from pathlib import Path

import pytest

import harness
from harness import IS_ROOT, LONG, Client, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")
HELPERS = ("hpnsshd-session", "hpnsshd-auth", "hpnsshd-user")
OTHER = "this is another version"
TOLD = "was replaced: connections get the one"


class Installed:
    """A server with copies of its programs in a directory of its own."""

    def __init__(self, directory, make_server):
        self.dir, self.make_server = directory, make_server
        directory.mkdir()
        directory.chmod(0o755)
        for name in ("hpnsshd", *HELPERS):
            shutil.copy2(harness.BUILD / name, directory / name)

    def start(self, config="", **kw):
        self.server = self.make_server(config, within=[
            "sh", "-c", f'shift; exec {self.dir}/hpnsshd "$@"', "sh"], **kw)
        self.client = Client("hpn", self.server)
        return self

    def put(self, name, content):
        """As a package's manager does it: the new file has another inode."""
        new = self.dir / f"{name}.new"
        new.write_bytes(content)
        new.chmod(0o755)
        new.rename(self.dir / name)

    def update(self, content=None):
        """To programs of another version, or to equal ones."""
        for name in HELPERS:
            self.put(name, content or (harness.BUILD / name).read_bytes())

    def restart(self, said):
        """By SIGHUP; waits for what the log says of it."""
        begin = len(self.server.log_text())
        self.server.process.send_signal(signal.SIGHUP)
        assert wait_for(
            lambda: said in self.server.log_text()[begin:], LONG)

    def processes(self):
        """{name: file} of the processes that serve a login. Only root is
        told the file of a process that may not be dumped: to others it
        is empty."""
        said = self.client.ssh(
            "u=$PPID; s=$(ps -o ppid= -p $u | tr -d ' '); for p in $u $s; do "
            "cat /proc/$p/comm; readlink /proc/$p/exe || echo; done"
        ).ok().text
        lines = said.splitlines()
        return dict(zip(lines[::2], lines[1::2]))

    def are_files(self, found, behind=""):
        """Are these the programs of the directory?"""
        return all(file == f"{self.dir}/{name}{behind}"
                   for name, file in found.items() if file or IS_ROOT)


@pytest.fixture
def installed(tmp_path, make_server):
    return Installed(tmp_path / "programs", make_server)


def refusing():
    return f"#!/bin/sh\necho {OTHER}: ${{0##*/}} >&2\nexit 1\n".encode()


@pytest.mark.skipif(not Path("/proc/self/exe").exists(), reason="no /proc")
def test_logins_go_on(installed):
    """The first by the process that was started ahead, more without; the names
    of the processes stay, which rules of logs go by."""
    installed.start()
    installed.update(refusing())
    for _ in range(3):
        found = installed.processes()
        assert set(found) == {"hpnsshd-session", "hpnsshd-user"}
        assert installed.are_files(found, " (deleted)"), found
    said = installed.server.log_text()
    assert OTHER not in said
    assert said.count(TOLD) == 1


def test_a_restart_takes_the_new_ones(installed):
    installed.start()
    installed.update(refusing())
    installed.client.ssh("true").ok()
    installed.restart("Server listening on")
    assert installed.client.ssh("true").rc == 255
    assert wait_for(lambda: OTHER in installed.server.log_text(), LONG)
    installed.update()
    installed.restart("Server listening on")
    found = installed.processes()
    assert found and installed.are_files(found), found


NAMED = {"hpnsshd-session": "SshdSessionPath", "hpnsshd-auth": "SshdAuthPath"}


@pytest.mark.parametrize("missing", NAMED)
def test_no_restart_without_them(installed, missing):
    """In the middle of an update, or after a removal."""
    installed.start(f"{NAMED[missing]} {installed.dir}/{missing}\n")
    (installed.dir / missing).rename(installed.dir / "elsewhere")
    installed.client.ssh("true").ok()
    installed.restart("the old one stays")
    said = installed.server.log_text()
    assert f"{missing} does not exist or is not executable" in said
    installed.client.ssh("true").ok()
    (installed.dir / "elsewhere").rename(installed.dir / missing)
    installed.restart("Server listening on")
    installed.client.ssh("true").ok()


@pytest.mark.parametrize("missing", NAMED)
def test_no_start_without_them(installed, missing):
    (installed.dir / missing).unlink()
    with pytest.raises(AssertionError, match="does not exist"):
        installed.start(f"{NAMED[missing]} {installed.dir}/{missing}\n")


def test_a_debugging_one(installed):
    """It becomes the session's process itself."""
    installed.start(args=["-d"])
    installed.update(refusing())
    assert installed.client.ssh("echo", "in").ok().out == b"in\n"
