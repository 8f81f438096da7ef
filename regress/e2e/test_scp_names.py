# SPDX-License-Identifier: ISC
"""hpnscp: what the names of a command line stand for, what is made of a
target, and with what the program ends; each beside stock's scp."""

import os

import pytest

from harness import have, hpn, run, stock

OUR_SERVER = hpn("sftp-server")
STOCK_SERVER = "/usr/lib/openssh/sftp-server"
pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")
needs_stock = pytest.mark.skipif(
    not have("stock", "scp") or not os.path.exists(STOCK_SERVER),
    reason="no stock scp and sftp-server")


def make_world(top):
    top.mkdir()
    for name in ("a", "b", "file", "f[1].txt", "f1.txt", "only[2].txt"):
        (top / name).write_text(name)
    for name in ("dir", "odd[3]", "r"):
        (top / name).mkdir()
        (top / name / "in").write_text(name)
    return top


def content(top):
    return {str(p.relative_to(top)): p.read_bytes() if p.is_file() else "dir"
            for p in top.rglob("*")}


def copy(program, server, top, args):
    """A colon in front: at the server."""
    args = [f"h:{top}/{a[1:]}" if a.startswith(":") else a for a in args]
    return run([program, "-D", server, *args], cwd=top)


NAMES = [
    # A pattern that matches nothing is tried as a name.
    [":only[2].txt", "dir"], [":f[1].txt", "dir"], ["-r", ":odd[3]", "dir"],
    [":none[1].txt", "dir"], [":*.none", "dir"], [r":f\[1].txt", "dir"],
    [":{a,b}", "dir"],
    # Several things, and a target that is none, a directory, a file.
    ["a", "b", ":new"], ["-r", "dir", "a", ":new"], ["-d", "a", ":new"],
    ["a", "b", ":new/deeper"], ["a", "b", ":file"], ["-d", "a", ":file"],
    ["a", "b", ":dir"], [":[ab]", "new"], [":[ab]", "file"], [":[ab]", "dir"],
    [":[ab]", "new/deeper"], [":a", ":b", "new"], [":a", ":b", "file"],
    ["-r", ":[ab]", "new"], [":[a]", "new"],
    # What is not there, and what cannot be.
    ["nope", ":dir"], ["b", "nope", ":dir"], ["-r", "nope", ":r"],
    [":nope", "dir"], [":nope", ":a", "dir"], [":a", ":nope", "dir"],
    ["dir", ":r"], [":dir", "r"], ["a", ":no/x"], [":a", "no/x"],
    ["-X", "foo=1", "a", ":r"], ["-P", "abc", "a", ":r"],
    ["-P", "0", "a", ":r"], ["-P", "65536", "a", ":r"],
    ["-l", "abc", "a", ":r"], ["a"],
]


@needs_stock
@pytest.mark.parametrize("args", NAMES, ids=" ".join)
@pytest.mark.parametrize("server", [OUR_SERVER, STOCK_SERVER],
                         ids=["hpn", "stock"])
def test_as_stock(tmp_path, server, args):
    """Stock makes the same files, and has the same exit status."""
    mine, theirs = (make_world(tmp_path / x) for x in ("mine", "theirs"))
    ours = copy(hpn("scp"), server, mine, args)
    stocks = copy(stock("scp"), STOCK_SERVER, theirs, args)
    assert (ours.rc, content(mine)) == (stocks.rc, content(theirs)), (
        ours, stocks)
    assert (ours.errors == "") == (stocks.errors == "")


def test_the_rest_is_copied(tmp_path):
    """Stock's ends at the first source that is not there."""
    top = make_world(tmp_path / "top")
    done = copy(hpn("scp"), OUR_SERVER, top, ["nope", "a", ":dir"])
    assert done.rc == 255
    assert done.errors == \
        'hpnscp: stat local "nope": No such file or directory\n'
    assert (top / "dir/a").read_text() == "a"


def test_line_of_several_matches(tmp_path):
    top = make_world(tmp_path / "top")
    done = copy(hpn("scp"), OUR_SERVER, top, [":[ab]", "file"])
    assert done.errors == ("hpnscp: Multiple files match pattern, but "
                           'destination "file" is not a directory\n')


@pytest.mark.parametrize("target", [":new", ":file"])
def test_between_hosts(tmp_path, target):
    """Stock's puts one match over the other."""
    top = make_world(tmp_path / "top")
    done = copy(hpn("scp"), OUR_SERVER, top, [":[ab]", target])
    if target == ":file":
        assert done.rc != 0 and (top / "file").read_text() == "file"
    else:
        assert done.rc == 0
        assert {p.name for p in (top / "new").iterdir()} == {"a", "b"}


def test_mode_of_a_new_directory(tmp_path):
    top = make_world(tmp_path / "top")
    (tmp_path / "umask").write_text(
        f'#!/bin/sh\numask 027\nexec {OUR_SERVER} "$@"\n')
    (tmp_path / "umask").chmod(0o755)
    copy(hpn("scp"), tmp_path / "umask", top, ["a", "b", ":new"]).ok()
    assert (top / "new").stat().st_mode & 0o777 == 0o750
