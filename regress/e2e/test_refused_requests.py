# SPDX-License-Identifier: ISC
"""Uploads to servers that let nobody rename, remove, look at or change files:
what stock's sftp can upload is uploaded, and nothing is left beside it."""

import os
import re

import pytest

from harness import have, hpn, run, stock

OURS, STOCK = hpn("sftp-server"), "/usr/lib/openssh/sftp-server"
SERVERS = [OURS] + ([STOCK] if os.path.exists(STOCK) else [])
pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                                reason="hpnscp and hpnsftp are not built")
every_server = pytest.mark.parametrize(
    "server", SERVERS, ids=["hpn", "stock"][:len(SERVERS)])
FLAGS = [
    "-P rename,posix-rename", "-P rename", "-P posix-rename",
    "-P remove,rename,posix-rename", "-P remove,posix-rename", "-P remove",
    "-P lstat", "-P lstat,rename,posix-rename", "-P lstat,fstat", "-P fstat",
    "-P setstat,fsetstat", "-P hardlink,rename,posix-rename",
    "-p realpath,stat,lstat,open,close,write",
    "-p realpath,stat,open,close,write"]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "to").mkdir()
    (tmp_path / "one").write_bytes(os.urandom(300_000))
    (tmp_path / "two").write_text("two")
    return tmp_path


def server_with(place, server, flags):
    """Its log says what was opened."""
    path = place / "server"
    path.write_text(f"#!/bin/sh\nexec {server} {flags} -e -l INFO "
                    f"2>>{place}/log\n")
    path.chmod(0o755)
    (place / "log").write_text("")
    return path


def upload(place, program, server, *names):
    if "scp" in os.path.basename(str(program)):
        return run([program, "-D", server, *names, f"h:{place}/to"],
                   cwd=place)
    lines = "".join(f"put {name} to/{name}\n" for name in names)
    return run([program, "-b", "-", "-D", server], stdin=lines.encode(),
               cwd=place)


@pytest.mark.parametrize("flags", FLAGS)
@every_server
@pytest.mark.parametrize("program", ["sftp", "scp"])
@pytest.mark.parametrize("before", [b"", b"short"], ids=["new", "old"])
def test_uploaded(place, program, server, flags, before):
    if before and flags.startswith("-p"):
        before = b"of"  # such a server cannot cut what is longer
    if before:
        for name in ("one", "two"):
            (place / "to" / name).write_bytes(before)
    wrapped = server_with(place, server, flags)
    if program == "sftp" and stock("sftp"):
        upload(place, stock("sftp"), wrapped, "one", "two").ok()
    upload(place, hpn(program), wrapped, "one", "two").ok()
    for name in ("one", "two"):
        assert (place / "to" / name).read_bytes() == \
            (place / name).read_bytes()
    assert sorted(os.listdir(place / "to")) == ["one", "two"]


@pytest.mark.parametrize("flags", ["-P rename,posix-rename",
                                   "-p realpath,stat,open,close,write"])
@pytest.mark.skipif(STOCK not in SERVERS, reason="no stock sftp-server")
def test_in_place_from_the_start(place, flags):
    """A session that has learnt it makes no part; another server's has
    them."""
    for own_flags, parts in ((flags, False), ("-P posix-rename", True)):
        wrapped = server_with(place, STOCK, own_flags)
        upload(place, hpn("sftp"), wrapped, "one", "two").ok()
        opened = re.findall(r'open "([^"]*)"', (place / "log").read_text())
        assert opened and any("hpnpart" in x for x in opened) == parts


@pytest.mark.parametrize("flags", ["-P rename,posix-rename", "-P lstat"])
@every_server
def test_a_file_onto_itself(place, server, flags):
    """Nothing is cut before the new content is there."""
    before = (place / "one").read_bytes()
    os.link(place / "one", place / "to/one")
    for program in ("sftp", "scp"):
        upload(place, hpn(program), server_with(place, server, flags), "one")
        assert (place / "one").read_bytes() == before


@pytest.mark.skipif(STOCK not in SERVERS, reason="no stock sftp-server")
def test_what_cannot_be_cut_is_told(place):
    (place / "to/two").write_text("longer than two")
    done = upload(place, hpn("sftp"), server_with(
        place, STOCK, "-P fsetstat,rename,posix-rename"), "two")
    assert done.rc == 1 and "cannot be cut to its length" in done.errors
    assert os.listdir(place / "to") == ["two"]
