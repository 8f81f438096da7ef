# SPDX-License-Identifier: ISC
"""A server with an /etc of its own, in a mount namespace: an account of any
shell and groups, /etc/nologin and the system's sshrc, of which the machine
that the tests run on sees nothing."""

import contextlib
import ctypes
import os
import re
import struct
from pathlib import Path

import pytest

import harness
from harness import Server, hpn, run

USER, UID, PASSWORD = "hpnown", 54711, "correct horse 7"
OWN_GROUP, GROUP = 54712, 54713  # that of the account, a further one
# PASSWORD, as crypt(5) has it
HASH = ("$6$hpntests$1kP./X1WKKq.g2I3Vzai1lFtsMAd5b6eNCrtu/vd4ReDA9clY"
        ".zvoo8k7wtpgINNfseDGUlynqCJawvPNZKVm1")
# the same, as dear as what systems make today
DEAR_HASH = ("$6$rounds=60000$hpntests$lM0ZGfgAJeEnDR2xE8hzgnM3D7GupfIA9a"
             "Rv9oCSRFcU9grzUJL6RDwe.c037CuVB7A3OvDyk5imOolJ3.iFZ/")
ENTER = """
while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit; done
shift && exec "$@"
"""


problem = harness.mount_problem  # why there can be no such server


class MountPoint:
    """A directory of the machine to mount on, made if it is not there. Several
    runs of these tests may share it: a file of each keeps the others from
    removing it, with which what is mounted there would go too."""

    def __init__(self, path):
        self.path = path
        self.file = path / f"in-use-{os.getpid()}-{id(self)}"
        self.made = not path.exists() or any(path.glob("in-use-*"))

        def kept():
            try:
                path.mkdir(parents=True, exist_ok=True)
                self.file.touch()
                return True
            except FileNotFoundError:
                return False  # another run has just removed it
        assert harness.wait_for(kept)

    def end(self):
        self.file.unlink()
        if self.made:
            try:
                os.removedirs(self.path)
            except OSError:
                pass  # somebody else uses it


@contextlib.contextmanager
def short_place(kind, name, keys, why_not=None):
    """A kind of OwnEtc, in a directory with a short name."""
    if why_not:
        pytest.skip(why_not)
    with harness.short_directory() as path:
        path.chmod(0o755)
        made = kind(path / name, keys)
        harness.open_up(made.home)
        try:
            yield made
        finally:
            made.end()


class OwnEtc:
    def __init__(self, directory, keys):
        self.dir, self.keys = Path(directory), keys
        self.etc, self.conf = self.dir / "etc", self.dir / "conf"
        self.home = self.dir / "home"
        self.servers = []
        harness.own_etc(self.etc, keys)
        self.conf.mkdir()
        self.home.mkdir()
        os.chown(self.home, UID, OWN_GROUP)
        (self.etc / "ssh").mkdir(exist_ok=True)
        for name in ("nologin", "ssh/sshrc"):
            (self.etc / name).unlink(missing_ok=True)
        self.lines = {name: (self.etc / name).read_text()
                      for name in ("passwd", "shadow", "group")}
        # What a refusal costs is what accounts with a password have: those of
        # other tests, which come and go, are to decide nothing here.
        self.lines["shadow"] = re.sub(r"(?m)^([^:]*):\$[^:]*", r"\1:*",
                                      self.lines["shadow"])
        self.account()
        host_key = keys.path("ed25519-host")
        done = run([hpn("sshd"), "-T", "-f", "/dev/null", "-h", host_key])
        moduli, = [line.split()[1] for line in done.ok().text.splitlines()
                   if line.startswith("modulifile ")]
        self.conf_place = Path(moduli).parent  # ours, of this build
        self.mounts = [self.etc, "/etc", self.conf, self.conf_place]
        self.mount_points = [MountPoint(self.conf_place)]

    def account(self, shell="/bin/sh", field=HASH):
        added = {
            "passwd": f"{USER}:x:{UID}:{OWN_GROUP}::{self.home}:{shell}\n",
            "shadow": f"{USER}:{field}:19000::::::\n",
            "group": f"{USER}:x:{OWN_GROUP}:\nhpnmore:x:{GROUP}:{USER}\n"}
        for name, text in added.items():
            (self.etc / name).write_text(self.lines[name] + text)

    def system_rc(self, kind, text):
        """The sshrc that a server of that kind reads."""
        place = self.conf if kind == "hpn" else self.etc / "ssh"
        (place / "sshrc").write_text(text)

    def pam_service(self):
        """PAM services of both servers, with variables of /etc/hpnown.env;
        false if there is no PAM."""
        if "define HAVE_PAM 1" not in \
                (harness.BUILD / "include/config.h").read_text():
            return False
        (self.etc / "pam.d").mkdir(exist_ok=True)
        text = (
            "auth required pam_unix.so\naccount required pam_unix.so\n"
            "session required pam_unix.so\nsession required pam_env.so "
            "conffile=/dev/null envfile=/etc/hpnown.env\n")
        for service in ("sshd", "hpnsshd"):
            (self.etc / "pam.d" / service).write_text(text)
        (self.etc / "hpnown.env").write_text("")
        return True

    def user_file(self, name, text):
        path = self.home / ".ssh" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        for one in (path.parent, path):
            os.chown(one, UID, OWN_GROUP)

    def server(self, config="", kind="hpn", key_options="", **kw):
        within = ["unshare", "-m", "--propagation", "private", "sh", "-c",
                  ENTER, "sh", *self.mounts, "--"]
        server = Server(kind, self.dir / f"server{len(self.servers)}",
                        self.keys, config=config, within=within, **kw)
        server.authorized.write_text(
            f"{key_options} {self.keys.public('ed25519')}\n".lstrip())
        self.servers.append(server)
        return server.start()

    def end(self):
        for server in self.servers:
            server.stop()
        for point in self.mount_points:
            point.end()


@contextlib.contextmanager
def entered(make, tmp_path, keys):
    """One of that class for a test, with a home directory that its user can
    enter."""
    if problem():
        pytest.skip(problem())
    harness.open_up(tmp_path)
    place = make(tmp_path / "own", keys)
    try:
        harness.open_up(place.home)
        yield place
    finally:
        place.end()


@pytest.fixture
def own(tmp_path, keys):
    with entered(OwnEtc, tmp_path, keys) as place:
        yield place


@pytest.fixture(params=("hpn", "stock"))
def kind(request):
    """Whose server."""
    if not harness.have(request.param, "sshd"):
        pytest.skip("no such server")
    return request.param


class Opened:
    """Names in a directory that somebody opens or reads (inotify(7))."""
    ACCESS, OPEN = 0x1, 0x20

    def __init__(self, directory):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0
        assert libc.inotify_add_watch(self.fd, os.fsencode(directory),
                                      self.ACCESS | self.OPEN) >= 0

    def names(self):
        """The names since the last call, sorted."""
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        found, at = set(), 0
        while at < len(data):
            _, _, _, length = struct.unpack_from("iIII", data, at)
            found.add(data[at + 16:at + 16 + length].rstrip(b"\0").decode())
            at += 16 + length
        return sorted(found)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)
