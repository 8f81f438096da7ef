# SPDX-License-Identifier: ISC
"""hpnscp --fsync: when it ends well, all is on a disk that has nothing but what
was synced; and so with hpnsftp's -f."""

import os

import pytest
from test_sync_durable import Disk, fnv, powercut, tree

from harness import clean_env, have, hpn, run

__all__ = ["powercut"]
SERVERS = {"hpn": hpn("sftp-server"),
           "stock": "/usr/lib/openssh/sftp-server"}
WAYS = [f"{way}-{server}" for way in ("up", "down") for server in SERVERS
        if server == "hpn" or os.path.exists(SERVERS[server])]

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")


def scp(way, tmp_path, source, target, *options, **more):
    """Copies names to a target; the server runs here, nobody logs in."""
    up = way.startswith("up")
    names = [f"h:{name}" for name in source] if not up else source
    return run([hpn("scp"), "-q", "-D", SERVERS[way.split("-")[1]], *options,
                *names, f"h:{target}" if up else target], cwd=tmp_path,
               **more)


def disk_after(log, kept):
    disk = Disk(kept)
    for line in log.read_text().splitlines():
        if not line.startswith("U "):
            disk.event(line)
    return disk


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [["-rp"], ["-r", "--in-place"],
                                     ["-r", "--links"]],
                         ids=lambda o: "".join(o))
def test_tree(way, options, powercut, tmp_path):
    source, target, log = tmp_path / "from", tmp_path / "to", tmp_path / "log"
    source.mkdir()
    content = tree(source, 5)
    (source / "empty/below").mkdir(parents=True)
    env = clean_env(LD_PRELOAD=powercut, HPN_POWERCUT=log)
    done = scp(way, tmp_path, [source], target, "--fsync", *options, env=env)
    assert done.rc == 0 and not done.err, done
    disk = disk_after(log, tmp_path)
    for name, data in content.items():
        assert disk.digest(f"to/{name}") == fnv(data), name
    assert str(os.stat(target / "empty").st_ino) in disk.dirs


@pytest.mark.parametrize("way", WAYS)
def test_files(way, powercut, tmp_path):
    """Into a directory that is made for them, and under another name."""
    env = clean_env(LD_PRELOAD=powercut, HPN_POWERCUT=tmp_path / "log")
    for name in "abc":
        (tmp_path / name).write_text(name * 999)
    if way.startswith("down"):
        (tmp_path / "to").mkdir()
        os.sync()
    done = scp(way, tmp_path, [tmp_path / "a", tmp_path / "b"],
               tmp_path / "to", "--fsync", env=env)
    assert done.rc == 0 and not done.err, done
    done = scp(way, tmp_path, [tmp_path / "c"], tmp_path / "to/d", "--fsync",
               env=env)
    assert done.rc == 0 and not done.err, done
    disk = disk_after(tmp_path / "log", tmp_path)
    if way.startswith("down"):  # it was there before
        disk.dirs.setdefault(str(tmp_path.stat().st_ino), {})["to"] = str(
            (tmp_path / "to").stat().st_ino)
    for name, data in (("a", "a"), ("b", "b"), ("d", "c")):
        assert disk.digest(f"to/{name}") == fnv(data.encode() * 999), name


@pytest.mark.parametrize("way", ["up-hpn", "down-hpn"])
def test_what_was_whole_before(way, powercut, tmp_path):
    """With -Z what an earlier copy has left without --fsync is synced."""
    source, target, log = tmp_path / "from", tmp_path / "to", tmp_path / "log"
    source.mkdir()
    content = tree(source, 6, files=9)
    assert scp(way, tmp_path, [source], target, "-rp").rc == 0
    done = scp(way, tmp_path, [f"{source}/."], target, "-rpZ", "--fsync",
               env=clean_env(LD_PRELOAD=powercut, HPN_POWERCUT=log))
    assert done.rc == 0 and not done.err, done
    disk = disk_after(log, target)
    for name, data in content.items():
        assert disk.digest(name) == fnv(data), name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", [b"", b"data"])
def test_through_links(way, what, tmp_path):
    """Targets that are links to another file, or to the source itself, are
    synced."""
    source, target = tmp_path / "from", tmp_path / "to"
    for top in (source, target):
        top.mkdir()
    for name in ("a", "b"):
        (source / name).write_bytes(what)
    (tmp_path / "other").write_bytes(b"old")
    (target / "a").symlink_to("../other")
    (target / "b").symlink_to("../from/b")
    for options in ((), ("-Z",)):
        done = scp(way, tmp_path, [f"{source}/."], target, "-r", "--fsync",
                   *options)
        assert done.rc == 0 and not done.err, done
        assert (tmp_path / "other").read_bytes() == what
        assert (source / "b").read_bytes() == what


def test_server_without(tmp_path):
    """It is refused before anything is sent."""
    shell = tmp_path / "server"
    shell.write_text(f"#!/bin/sh\nexec {SERVERS['hpn']} -P fsync\n")
    shell.chmod(0o755)
    (tmp_path / "a").write_text("a")
    done = run([hpn("scp"), "-D", shell, "--fsync", tmp_path / "a",
                f"h:{tmp_path}/b"])
    assert done.rc == 1 and b"fsync@openssh.com" in done.err, done
    assert not (tmp_path / "b").exists()


def test_here_and_between(tmp_path):
    """Refused by name: cp makes these copies, or nothing syncs them."""
    (tmp_path / "a").write_text("a")
    for names in ([tmp_path / "a", tmp_path / "b"], ["h:a", "g:b"]):
        done = run([hpn("scp"), "-D", SERVERS["hpn"], "--fsync", *names],
                   cwd=tmp_path)
        assert done.rc == 1 and b"--fsync" in done.err, done
    assert not (tmp_path / "b").exists()
