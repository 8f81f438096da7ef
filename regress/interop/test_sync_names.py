# SPDX-License-Identifier: ISC
"""Owners beside rsync: by name between hosts whose accounts have other numbers,
and groups of who is not root. What is told (-i), and what is left, is the
same."""

import os
import pathlib
import pwd
import random
import shutil
import tempfile

import pytest

import harness
from harness import have, hpn, run, stock
from sync_ways import SERVERS, other_accounts, with_accounts

RSYNC = shutil.which("rsync")
SETPRIV = stock("setpriv")
OLD = 10**9
# Names that end alike where a server cuts them, and one of two words.
LONG = "n" * 39
# Numbers of users at the two hosts; ann and bob have each other's.
HERE = {"ann": 54811, "bob": 54812, "here": 54813, LONG: 54821,
        LONG + "x": 54822, "zero": 54823, "moved": 54831}
THERE = {"ann": 54812, "bob": 54811, "there": 54813, LONG: 54922,
         LONG + "x": 54921, "zero": 0, "moved": 54931}
GROUPS = {"staff two": 54840, "own": 54850}
NOBODY = pwd.getpwnam("nobody")
IDS = [0, 0, *HERE.values(), 54899, 54911]

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(os.geteuid() != 0 or bool(harness.mount_problem()),
                       reason="other accounts need root and namespaces")]


def stories():
    first, _, last = os.environ.get("HPN_OWNERS", "0-7").partition("-")
    return range(int(first), int(last or first) + 1)


def accounts(place, users, shift):
    groups = {**users, **{n: g + shift for n, g in GROUPS.items()}}
    return other_accounts(place, "root:x:0:0::/root:/bin/sh\n" + "".join(
        f"{name}:x:{uid}:{uid}::/:/bin/sh\n" for name, uid in users.items()),
        "root:x:0:\n" + "".join(
            f"{name}:x:{gid}:\n" for name, gid in groups.items()))


@pytest.fixture
def hosts(tmp_path):
    """Programs of this host, and what is run at the other one."""
    def entered(name, etc, command):
        return with_accounts(tmp_path / name, etc, command)

    here = accounts(tmp_path / "etc-here", HERE, 0)
    there = accounts(tmp_path / "etc-there", THERE, 7)
    programs = {"rsync": entered("rsync", here, f'{RSYNC} "$@"'),
                "hpnsync": entered("hpnsync", here, f'{hpn("sync")} "$@"')}
    remote = {kind: entered(f"at-{kind}", there, server)
              for kind, server in SERVERS.items()}
    # "host command ...", as a shell of rsync's is called.
    remote["rsync"] = entered(
        "at-rsync", there, "sh -c 'shift; eval \"$*\"' sh \"$@\"")
    return tmp_path, programs, remote


def grow(dice, top, ids):
    top.mkdir()
    (top / "d").mkdir()
    for name in ("a", "b", "c", "d/e", "d/f", "d/g"):
        path = top / name
        if dice.random() < 0.2:
            path.symlink_to("a")
        else:
            path.write_text(dice.choice(["one", "two"]))
    for path in [top, *top.rglob("*")]:
        os.chown(path, dice.choice(ids), dice.choice(ids),
                 follow_symlinks=False)
        os.utime(path, (OLD, OLD), follow_symlinks=False)


def owners(top):
    return {str(path.relative_to(top)): (path.lstat().st_uid,
                                         path.lstat().st_gid,
                                         oct(path.lstat().st_mode))
            for path in [top, *top.rglob("*")]}


def told(done):
    return sorted(line.replace("<f", ">f", 1)
                  for line in done.ok().text.splitlines()
                  if not line.startswith("created directory "))


@pytest.mark.parametrize("way", ["up-hpn", "up-stock", "down-hpn",
                                 "down-stock"])
def test_names(hosts, way):
    place, programs, remote = hosts
    way, kind = way.split("-")
    if kind not in remote:
        pytest.skip("no stock server")
    for story in stories():
        dice = random.Random(f"{way} {story}")
        words = [dice.choice(["-a", "-a", "-rlto", "-rltg", "-rltog"]),
                 *(["--numeric-ids"] if dice.random() < 0.2 else []),
                 *([dice.choice(["--chown=:7", "--chown=7"])]
                   if dice.random() < 0.2 else [])]
        top = place / str(story)
        top.mkdir()
        ids = [*IDS, *GROUPS.values()]
        grow(dice, top / "from", ids)
        if dice.random() < 0.5:
            grow(dice, top / "to1", ids)
            run(["cp", "-a", top / "to1", top / "to2"]).ok()
        for dry in (["-n"], [], []):
            lines = []
            for program, shell, to in (("rsync", "rsync", "to1"),
                                       ("hpnsync", kind, "to2")):
                ends = ([f"{top}/from/", f"h:{top}/{to}/"] if way == "up" else
                        [f"h:{top}/from/", f"{top}/{to}/"])
                lines.append(told(run([programs[program], "-i", *words, *dry,
                                       "-e", remote[shell], *ends])))
            assert lines[1] == lines[0], (story, words, dry)
        assert owners(top / "to2") == owners(top / "to1"), (story, words)


@pytest.fixture
def open_place():
    """A directory that others come to."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        yield pathlib.Path(place)


def as_user(groups):
    return [SETPRIV, f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}",
            f"--groups={groups}" if groups else "--clear-groups"]


@pytest.mark.parametrize("way", ["here", *(f"{way}-{kind}" for way in (
    "up", "down") for kind in SERVERS)])
@pytest.mark.parametrize("groups", ["", "54840,54899"])
def test_own_groups(open_place, way, groups):
    """Who is not root gives files to the groups that he is in, and to no
    others; also at a server that has to be asked by way of /proc."""
    tmp_path = open_place
    grow(random.Random(way), tmp_path / "from", [0, NOBODY.pw_gid, 54840, 54899, 7])
    shell = tmp_path / "shell"
    if way != "here":
        shell.write_text(f"#!/bin/sh\nexec {SERVERS[way.split('-')[1]]}\n")
        shell.chmod(0o755)
    for words in (["-a"], ["-rltg"], ["-rlt", "--chown=:54840"],
                  ["-rlt", "--chown=:7"], ["-a", "--no-g"]):
        for dry in (["-n"], [], []):
            lines = []
            for program, to in ((RSYNC, "to1"), (hpn("sync"), "to2")):
                ends = [f"{tmp_path}/from/", f"{tmp_path}/{to}/"]
                over = []
                if program != RSYNC and way != "here":
                    over = ["-e", shell]
                    ends[way.startswith("up")] = \
                        "h:" + ends[way.startswith("up")]
                lines.append(told(run([*as_user(groups), program, "-i",
                                       *words, *dry, *over, *ends])))
            assert lines[1] == lines[0], (words, dry)
        assert owners(tmp_path / "to2") == owners(tmp_path / "to1"), words
