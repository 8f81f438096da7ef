# SPDX-License-Identifier: ISC
"""Programs that run ssh, scp and sftp by these names: where they find them,
and a home with a configuration that needs no options."""

import os
from pathlib import Path

import pytest

import harness
from harness import ME, Server, clean_env, run, stock

# Another /etc for what runs below it: ssh asks the database of users, not HOME,
# where the person's configuration is. (Over /etc/passwd alone, a mount would
# be gone as soon as somebody on this machine adds a user.)
ENTER = '"$1" --bind "$2" "$3" && shift 3 && exec "$@"'
# A KnownHostsCommand: it knows no key, but who has asked for it.
WHO = """#!/bin/sh
readlink "/proc/$PPID/exe" >>"${0%/*}/connected"
"""


def need(name):
    return stock(name) or pytest.skip(f"{name} is not installed")


def fuse_problem():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as e:
        return f"/dev/fuse: {e.strerror}"
    # Where a user's fusermount3 looks for what it may unmount.
    if os.getuid() != 0 and not os.path.exists("/etc/mtab"):
        return "there is no /etc/mtab"
    return None


def git_env(**changes):
    """An environment in which git knows who commits, and reads no
    configuration of the person or the machine."""
    return clean_env(
        GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
        GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t",
        GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@t", **changes)


class Caller:
    """Somebody in whose PATH `links` come first, or nothing but the installed
    programs do, and whose configuration knows a server by the name `there`.
    The server has the same home."""
    connects = True  # by the ssh in PATH

    def __init__(self, directory, keys, kind, links=None, config=""):
        self.dir, self.keys = Path(directory), keys
        self.path = f"{links}:{harness.STOCK_PATH}" if links else \
            harness.STOCK_PATH
        self.home = self.dir / "home"
        (self.home / ".ssh").mkdir(mode=0o700, parents=True)
        etc = self.dir / "etc"
        harness.own_etc(etc, keys)
        (etc / "passwd").write_text("".join(
            self._moved(line) for line in open("/etc/passwd", encoding="utf-8",
                                               errors="surrogateescape")),
            encoding="utf-8", errors="surrogateescape")
        self.within = [stock("unshare"), "-m", "--propagation", "private",
                       stock("sh"), "-c", ENTER, "sh", stock("mount"), etc,
                       "/etc"]
        self.server = Server(kind, self.dir / "server", keys, ["ed25519"],
                             config, within=self.within, debug=True,
                             env=clean_env(HOME=self.home))

    def _moved(self, line):
        field = line.split(":")
        if field[0] == ME:
            field[5] = str(self.home)
        return ":".join(field)

    def __enter__(self):
        self.server.start()
        self.script("who", WHO)
        self.configure("there", "HostName 127.0.0.1",
                       f"Port {self.server.port}")
        self.user_file("known_hosts", self.server.known_hosts.read_text())
        return self

    def __exit__(self, *exc):
        self.server.stop()

    def user_file(self, name, text):
        path = self.home / ".ssh" / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def configure(self, host, *lines, key=None):
        key = key or self.keys.path("ed25519")
        return self.user_file("config", "\n  ".join([
            f"Host {host}", f"IdentityFile {key}",
            f"KnownHostsCommand {self.dir}/who", *lines]) + "\n")

    def script(self, name, text):
        path = self.dir / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def env(self, **changes):
        return git_env(**{"PATH": self.path, "HOME": self.home,
                          "SHELL": "/bin/sh", "LANG": "C.UTF-8", **changes})

    def args(self, *args):
        """The command line of one that runs here."""
        return [*self.within, *args]

    def run(self, *args, stdin=b"", **env):
        return run(self.args(*args), stdin=stdin, cwd=self.dir, timeout=90,
                   env=self.env(**env))

    def connected(self):
        """The programs that have made connections."""
        path = self.dir / "connected"
        return path.read_text().split() if path.exists() else []

    def logins(self):
        return self.server.log_text().count("Accepted publickey")
