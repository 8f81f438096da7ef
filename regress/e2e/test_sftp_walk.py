# SPDX-License-Identifier: ISC
"""confine@ and walk@ through a whole session: in the process of the session
and in one beside it, read-only, below a new root directory."""

import os
import pathlib
import shutil
import struct

import pytest

from harness import Client, have, hpn, stock
from rawsftp import (EXTENDED, EXTENDED_REPLY, HANDLE, OPEN, REMOVE, STATUS,
                     Raw, string)

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sshd"),
                       reason="hpnsshd is not built"),
    pytest.mark.skipif(not stock("ssh"), reason="no stock ssh is installed"),
]

ALL = 2 ** 64 - 1
LIST, READ, RIGHTS = 1, 2, 511
OK, EOF, NO_SUCH_FILE, DENIED, UNSUPPORTED = 0, 1, 2, 3, 8


def status(answer):
    kind, rest = answer
    assert kind == STATUS
    return struct.unpack(">I", rest[:4])[0]


def confine(session, path, rights):
    return status(session.call(
        EXTENDED, string("confine@hpnssh.org"), string(path),
        struct.pack(">IQQQI", rights, ALL, ALL, ALL, 0)))


def walk(session, path):
    """The records of a walk that asks for nothing but names."""
    kind, rest = session.call(EXTENDED, string("walk@hpnssh.org"),
                              string(path), struct.pack(">I", 0), string(""),
                              string(""))
    if kind == STATUS:
        return struct.unpack(">I", rest[:4])[0]
    assert kind == HANDLE
    records = b""
    while True:
        kind, more = session.call(EXTENDED, string("walk-read@hpnssh.org"),
                                  rest)
        if kind == STATUS:
            assert struct.unpack(">I", more[:4])[0] == EOF
            return records
        assert kind == EXTENDED_REPLY
        records += more


# "" with d and f; d with in.
TREE = b"\x80\0\0" b"\2\0\1d" b"\1\0\1f\3" b"\x80\0\1d" b"\1\0\2in\3"


def plant(top):
    (top / "d").mkdir(parents=True)
    (top / "f").write_text("abc")
    (top / "d" / "in").write_text("abc")
    (top.parent / "beside").write_text("secret")
    return top


@pytest.mark.parametrize("subsystem", ["internal-sftp", hpn("sftp-server")])
def test_confined_walk(make_server, tmp_path, subsystem):
    top = plant(tmp_path / "top")
    (top / "out").symlink_to("../beside")
    server = make_server(f"Subsystem sftp {subsystem}")
    with Raw(Client("stock", server)) as session:
        assert confine(session, tmp_path / "none", LIST) == NO_SUCH_FILE
        assert confine(session, top, LIST | READ) == OK
        assert walk(session, "/") == TREE.replace(
            b"\x80\0\1d", b"\3\0\3out\x80\0\1d")
        assert walk(session, "/..") == DENIED
        assert walk(session, tmp_path / "top") == NO_SUCH_FILE
        for path in ("/../beside", "out"):
            assert session.call(OPEN, string(path),
                                struct.pack(">II", 1, 0))[0] == STATUS
        session.open("/f")
        assert status(session.call(REMOVE, string("/f"))) == DENIED
        assert (top / "f").exists()


def test_read_only(make_server, tmp_path):
    """What -R has taken away confine@ cannot keep."""
    top = plant(tmp_path / "top")
    server = make_server("ForceCommand internal-sftp -R")
    with Raw(Client("stock", server)) as session:
        assert confine(session, top, RIGHTS) == DENIED
        assert confine(session, top, LIST | READ) == OK
        assert walk(session, "/") == TREE
        assert status(session.call(REMOVE, string("/f"))) == DENIED
    assert (top / "f").exists()


@pytest.mark.parametrize("denied", ["walk", "readdir"])
def test_denied(make_server, tmp_path, denied):
    plant(tmp_path / "top")
    server = make_server(f"ForceCommand internal-sftp -P {denied}")
    with Raw(Client("stock", server)) as session:
        assert b"walk@hpnssh.org" not in session.version[2]
        assert walk(session, tmp_path / "top") == DENIED


@pytest.mark.skipif(os.geteuid() != 0, reason="ChrootDirectory needs root")
def test_chroot(make_server):
    place = pathlib.Path("/run/hpn-test-chroot-walk")
    shutil.rmtree(place, ignore_errors=True)
    plant(place / "home" / "top")
    os.chmod(place, 0o755)
    try:
        server = make_server(f"ChrootDirectory {place}\n"
                             "ForceCommand internal-sftp")
        with Raw(Client("stock", server)) as session:
            assert confine(session, "/home/top", LIST) == OK
            assert walk(session, "/") == TREE
            assert walk(session, "/home") == NO_SUCH_FILE
        with Raw(Client("stock", server)) as session:
            assert walk(session, "/home/top") == TREE
    finally:
        shutil.rmtree(place)
