# SPDX-License-Identifier: ISC
"""hpnsync at a target that takes several names for one: on a file system where
capital and small letters are one, and at a server that keeps the parts of
accented letters apart. Two names of the source are told, and nothing is
overwritten; a mirror finds nothing to do when it runs again."""

import os
import sys
import unicodedata
from pathlib import Path

import folding
import pytest
import sync_ways
from folding import disk
from harness import have, hpn, run

__all__ = ["disk"]
SYNC = hpn("sync")
NORMALISING = Path(__file__).parent / "normalising.py"
TOLD = "at the target this is the same name as another one of the source"
TIME = 10**9

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture
def at_disk(disk, request):
    place = disk / request.node.name.translate(str.maketrans("[]", "--"))
    place.mkdir()
    return place / "to"


@pytest.fixture(params=sync_ways.WAYS)
def mirror(request, tmp_path):
    """Makes a target the same as a source, as -rt has it: the disk has no
    modes that last."""
    ends = sync_ways.arguments_of(request.param, tmp_path / "shell")

    def sync(source, target, *options):
        done = run([SYNC, "-rti", *options, *ends(f"{source}/", target)])
        if target.parent.parent.is_mount():
            folding.mount_anew(target.parent.parent)
        return done
    return sync


def make(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (TIME, TIME))
    for path in [top, *top.rglob("*")]:
        if path.is_dir():
            os.utime(path, (TIME, TIME))
    return top


def files_of(top):
    return {p.relative_to(top).as_posix(): p.read_text()
            for p in top.rglob("*") if p.is_file()}


def test_two_names_of_the_source(mirror, at_disk, tmp_path):
    source = make(tmp_path / "from", {
        "Makefile": "capital", "makefile": "small", "other": "other",
        "sub/Deep/one": "1", "sub/deep/two": "2"})
    done = mirror(source, at_disk, "--delete")
    assert done.rc == 23, done
    assert done.errors.count(TOLD) == 2, done
    assert f"makefile: {TOLD}" in done.errors
    assert f"sub/deep: {TOLD}" in done.errors
    assert files_of(at_disk) == {"makefile": "capital", "other": "other",
                                 "sub/deep/one": "1"}
    # The disk tells small letters. So from now on it is the other one of both
    # that has the name which is listed.
    done = mirror(source, at_disk, "--delete")
    assert done.rc == 23, done
    assert f"Makefile: {TOLD}" in done.errors
    assert f"sub/Deep: {TOLD}" in done.errors
    for _ in "first", "again":
        assert files_of(at_disk) == {"makefile": "small", "other": "other",
                                     "sub/deep/two": "2"}
        done = mirror(source, at_disk, "--delete")
        assert done.errors.count(TOLD) == 2, done
        assert done.out == b""


def test_another_form_at_the_target(mirror, at_disk, tmp_path):
    """As when somebody has changed the capitals of names: the target's are
    left as they are."""
    source = make(tmp_path / "from", {
        "README": "text", "Docs/Guide": "guide", "Docs/new": "new"})
    make(at_disk, {"readme": "text", "docs/guide": "guide", "docs/old": "old",
                   "gone": "gone"})
    done = mirror(source, at_disk, "--delete")
    assert done.rc == 0, done
    assert done.errors == ""
    assert sorted(line.split()[-1] for line in
                  done.out.decode().splitlines() if "d..t" not in line) == [
        "Docs/new", "Docs/old", "gone"]
    assert files_of(at_disk) == {"readme": "text", "docs/guide": "guide",
                                 "docs/new": "new"}
    done = mirror(source, at_disk, "--delete")
    assert done.rc == 0, done
    assert done.out == b""


def test_changed_by_another_form(mirror, at_disk, tmp_path):
    source = make(tmp_path / "from", {"README": "newer", "d/F": "more"})
    make(at_disk, {"readme": "old", "D/f": "old one"})
    done = mirror(source, at_disk, "--delete")
    assert done.rc == 0, done
    assert files_of(at_disk) == {"readme": "newer", "d/f": "more"}
    assert mirror(source, at_disk, "--delete").out == b""


def test_dry_run_changes_nothing(mirror, at_disk, tmp_path):
    source = make(tmp_path / "from", {"README": "text", "X": "1", "x": "2"})
    make(at_disk, {"readme": "text", "y": "y"})
    done = mirror(source, at_disk, "--delete", "-n")
    assert done.rc == 0, done
    assert b"README" not in done.out.replace(b"cd", b"")
    assert files_of(at_disk) == {"readme": "text", "y": "y"}


def test_where_names_differ(mirror, tmp_path):
    source = make(tmp_path / "from", {
        "Makefile": "capital", "makefile": "small", "caf\u00e9": "one",
        "cafe\u0301": "two", "Deep/x": "1", "deep/x": "2"})
    make(tmp_path / "to", {"MAKEFILE": "big", "DEEP/x": "3"})
    done = mirror(source, tmp_path / "to", "--delete")
    assert done.rc == 0, done
    assert done.errors == ""
    assert files_of(tmp_path / "to") == files_of(source)
    assert mirror(source, tmp_path / "to", "--delete").out == b""


# ---- forms of letters ------------------------------------------------------

@pytest.fixture
def apart(tmp_path):
    stock = sync_ways.SERVERS.get("stock")
    if stock is None:
        pytest.skip("there is no stock SFTP server")
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {sys.executable} {NORMALISING} {stock}\n")
    shell.chmod(0o755)
    return lambda source, target, *options: run(
        [SYNC, "-rti", *options, "-e", shell, f"{source}/", f"h:{target}"])


def test_forms_of_letters(apart, tmp_path):
    """What a Mac has made and Linux has are one; it is not copied and deleted
    by every run."""
    source = make(tmp_path / "from", {
        "r\u00e9sum\u00e9": "text", "\u00fcber/stra\u00dfe": "1",
        "\u00fcber/\u00e4/f": "2", "plain": "3"})
    done = apart(source, tmp_path / "to", "--delete")
    assert done.rc == 0, done
    listed = files_of(tmp_path / "to")
    assert listed == {unicodedata.normalize("NFD", name): text
                      for name, text in files_of(source).items()}
    for _ in "once", "twice":
        done = apart(source, tmp_path / "to", "--delete")
        assert done.rc == 0, done
        assert done.out == b""
        assert files_of(tmp_path / "to") == listed
    make(source, {"\u00fcber/\u00e4/g": "new"})
    (source / "plain").unlink()
    (tmp_path / "to" / "U\u0308").write_text("gone")
    done = apart(source, tmp_path / "to", "--delete")
    assert done.rc == 0, done
    assert files_of(tmp_path / "to") == {
        unicodedata.normalize("NFD", name): text
        for name, text in files_of(source).items()}


def test_both_forms_of_the_source(apart, tmp_path):
    source = make(tmp_path / "from", {"caf\u00e9": "composed",
                                      "cafe\u0301": "apart"})
    done = apart(source, tmp_path / "to", "--delete")
    assert done.rc == 23, done
    assert done.errors.count(TOLD) == 1
    assert files_of(tmp_path / "to") == {"cafe\u0301": "apart"}


def test_rules_in_directories(apart, tmp_path):
    """What is in a directory by another form of its name is not compared where
    rules are read on the way: told, and nothing in it is deleted."""
    source = make(tmp_path / "from", {"\u00e4/f": "1", "\u00e4/.rules": "- x"})
    make(tmp_path / "to", {"a\u0308/f": "1", "a\u0308/x": "stays"})
    done = apart(source, tmp_path / "to", "--delete", "--filter=: .rules")
    assert done.rc == 23, done
    assert "has another form of its name at the target" in done.errors
    assert files_of(tmp_path / "to") == {"a\u0308/f": "1", "a\u0308/x": "stays"}
