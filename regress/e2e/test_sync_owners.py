# SPDX-License-Identifier: ISC
"""Owners by name: the names are those of the target's host, whose accounts
have other numbers than this one's."""

import os
import struct

import pytest

import harness
from harness import have, hpn, run
from sync_ways import SERVERS, other_accounts, with_accounts

SYNC = hpn("sync")
OURS, THEIRS = 54811, 54911  # ann's numbers, here and at the host
PASSWD = "root:x:0:0::/root:/bin/sh\nann:x:{0}:{0}::/:/bin/sh\n"
GROUP = "root:x:0:\nann:x:{0}:\nstaff two:x:{1}:\n"

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(os.geteuid() != 0 or bool(harness.mount_problem()),
                       reason="other accounts need root and namespaces")]


def accounts(place, first):
    """A directory with a passwd and a group, in which ann is `first`."""
    return other_accounts(place, PASSWD.format(first),
                          GROUP.format(first, first + 1))


@pytest.fixture
def ends(tmp_path):
    """What runs hpnsync here, and what its host is, each with its accounts."""
    def entered(name, first, command):
        return with_accounts(
            tmp_path / name, accounts(tmp_path / f"etc-{name}", first),
            command)

    source = tmp_path / "from"
    source.mkdir()
    (source / "f").write_text("x")
    sync = entered("sync", OURS, f'{SYNC} "$@"')
    hosts = {kind: entered(kind, THEIRS, server)
             for kind, server in SERVERS.items()}
    return tmp_path, sync, hosts


def owner(path):
    st = os.lstat(path)
    return st.st_uid, st.st_gid


def line_of(place, hosts, way):
    """The options, source and target of a run from/ to to/."""
    source, target = f"{place}/from/", f"{place}/to/"
    if way == "up":
        target = f"h:{target}"
    elif way == "down":
        source = f"h:{source}"
    return [] if way == "here" else ["-e", hosts["hpn"]], source, target


@pytest.mark.parametrize("way, first", [
    ("up", THEIRS), ("down", OURS), ("here", OURS)])
def test_chown_by_name(ends, way, first):
    """The names are the target's, wherever that is."""
    place, sync, hosts = ends
    over, source, target = line_of(place, hosts, way)
    for names, ids in [("ann:staff two", (first, first + 1)),
                       (":ann", (0, first)), ("ann", (first, 0)),
                       ("7:ann", (7, first)), ("8:9", (8, 9))]:
        run([sync, "-rtog", f"--chown={names}", *over, source, target]).ok()
        assert owner(place / "to/f") == ids, names


@pytest.mark.parametrize("names", ["bob", "ann:bob", ":bob", "a\nb"])
def test_wrong_name(ends, names):
    """A name that the target does not know ends the run before it begins: it
    is not root, and no file is made."""
    place, sync, hosts = ends
    done = run([sync, "-r", f"--chown={names}", "-e", hosts["hpn"],
                f"{place}/from/", f"h:{place}/to/"])
    why = b"nobody can have" if "\n" in names else b"at the target"
    assert done.rc == 1 and why in done.err, done
    assert not (place / "to").exists()


def test_stock_server(ends):
    """A server that looks up no names: its files have them."""
    place, sync, hosts = ends
    if "stock" not in hosts:
        pytest.skip("no stock server")
    to = ["-e", hosts["stock"], f"{place}/from/", f"h:{place}/to/"]
    done = run([sync, "-r", "--chown=bob", *to])
    assert done.rc == 1 and b"at the target" in done.err, done
    assert not (place / "to").exists()
    for names, ids in [("ann:staff two", (THEIRS, THEIRS + 1)),
                       ("7:ann", (7, THEIRS)), ("7:8", (7, 8))]:
        run([sync, "-r", f"--chown={names}", *to]).ok()
        assert owner(place / "to/f") == ids, names


ACCESS = "system.posix_acl_access"


def acl(user, group):
    """rw- for a user, r-- for a group, as the kernel has it."""
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *e) for e in [
            (1, 6, 2**32 - 1), (2, 6, user), (4, 4, 2**32 - 1), (8, 4, group),
            (16, 6, 2**32 - 1), (32, 4, 2**32 - 1)])


@pytest.mark.parametrize("way", ["up", "down", "here"])
def test_acls_by_name(ends, way):
    """Who is in an ACL keeps the name, or with --numeric-ids the number; one
    who has no name at the other end stays a number. Both directions, and what
    is so already stays."""
    place, sync, hosts = ends
    first, then = {"up": (OURS, THEIRS), "down": (THEIRS, OURS),
                   "here": (OURS, OURS)}[way]
    try:
        os.setxattr(place / "from/f", ACCESS, acl(first, first + 1))
    except OSError:
        pytest.skip("the file system has no ACLs")
    (place / "from/g").write_text("y")
    os.setxattr(place / "from/g", ACCESS, acl(77, first + 1))
    over, source, target = line_of(place, hosts, way)
    for options, ids in [([], then), (["--numeric-ids"], first), ([], then)]:
        done = run([sync, "-rtAi", *options, *over, source, target]).ok()
        assert done.out or way == "here"
        assert os.getxattr(place / "to/f", ACCESS) == acl(ids, ids + 1)
        assert os.getxattr(place / "to/g", ACCESS) == acl(77, ids + 1)
        again = run([sync, "-rtAi", *options, *over, source, target]).ok()
        assert again.out == b""
