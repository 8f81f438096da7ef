# SPDX-License-Identifier: ISC
"""Two names of a copy that are one at the target: the first is copied whole,
the second is told and fails the copy; nothing is overwritten. On a file system
where capital and small letters are one, and on one where they are not."""

import pytest
from folding import disk
from harness import Client, have, hpn, run

__all__ = ["disk"]

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")

TOLD = "at the target this is the same name as another one of this copy"
PAIRS = {"Makefile": b"capital\n", "makefile": b"small\n",
         "sub/Deep/one": b"1\n", "sub/deep/two": b"2\n", "other": b"other\n"}


@pytest.fixture
def source(tmp_path):
    for name, data in PAIRS.items():
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "from"


def place_for(disk, request):
    place = disk / request.node.name.translate(
        str.maketrans("[]", "--"))
    place.mkdir()
    return place


def names(top):
    return sorted(str(p.relative_to(top)) for p in top.rglob("*"))


def check(result, top):
    """One of each pair is there, whole; the other was told."""
    assert result.rc != 0
    assert result.errors.count(TOLD) == 2, result
    found = {p.relative_to(top).as_posix(): p.read_bytes()
             for p in top.rglob("*") if p.is_file()}
    assert len(found) == 3
    lowered = {name.lower(): data for name, data in found.items()}
    assert lowered["other"] == PAIRS["other"]
    assert lowered["makefile"] in (b"capital\n", b"small\n")
    assert ("sub/deep/one" in lowered) != ("sub/deep/two" in lowered)
    for name in "Makefile", "makefile":
        if f"/{name}: {TOLD}" in result.errors:
            assert lowered["makefile"] != PAIRS[name]


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("flags", [(), ("-Z",), ("--in-place",)],
                         ids=["plain", "Z", "in-place"])
def test_upload(disk, source, shared_servers, request, kind, flags):
    client = Client("hpn", shared_servers(kind))
    top = place_for(disk, request)
    done = client.scp("-r", *flags, source, f":{top}/to")
    check(done, top / "to")


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("flags", [(), ("-p", "-Z"), ("--in-place",)],
                         ids=["plain", "Z", "in-place"])
def test_download(disk, source, shared_servers, request, kind, flags):
    client = Client("hpn", shared_servers(kind))
    top = place_for(disk, request)
    done = client.scp("-r", *flags, f":{source}", top / "to")
    check(done, top / "to")


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_named_sources(disk, source, ssh, request, up):
    top = place_for(disk, request)
    files = [source / "Makefile", source / "makefile", source / "other"]
    if up:
        done = ssh.scp(*files, f":{top}")
    else:
        done = ssh.scp(*(f":{f}" for f in files), top)
    assert done.rc != 0
    assert done.errors.count(TOLD) == 1, done
    assert len(names(top)) == 2
    assert (top / "makefile").read_bytes() == PAIRS["Makefile"]


@pytest.mark.parametrize("word", ["put", "get"])
def test_sftp(disk, source, ssh, request, tmp_path, word):
    top = place_for(disk, request)
    batch = tmp_path / "batch"
    batch.write_text(f"{word} -r {source} {top}/to\n")
    done = run([hpn("sftp"), *ssh.options(), "-b", batch, "-P",
                str(ssh.server.port), f"{ssh.user}@127.0.0.1"])
    check(done, top / "to")


def test_where_names_differ(source, ssh, tmp_path):
    """Both are copied, and nothing else is left."""
    for up in True, False:
        to = tmp_path / f"to{up}"
        if up:
            done = ssh.scp("-r", source, f":{to}")
        else:
            done = ssh.scp("-r", f":{source}", to)
        done.ok()
        assert done.errors == ""
        assert names(to) == names(source)
        for name, data in PAIRS.items():
            assert (to / name).read_bytes() == data
