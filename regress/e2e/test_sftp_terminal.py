# SPDX-License-Identifier: ISC
"""hpnsftp at a terminal: editing, completion, progress, interrupts."""

import os
import time

import pytest

from harness import run, wait_for
from terminal import Terminal
from test_sftp import OUR_SERVER, SFTP, contents, place, sftp  # noqa: F401


@pytest.fixture
def typed(place):
    """hpnsftp on a terminal, in the place."""
    before = os.getcwd()
    opened = []

    def begin(*flags, server=OUR_SERVER):
        os.chdir(place)
        t = Terminal([SFTP, *flags, "-D", server])
        os.chdir(before)
        opened.append(t)
        t.expect("sftp> ")
        return t
    yield begin
    os.chdir(before)
    for t in opened:
        t.close()


EDITING = os.path.exists(SFTP) and b"libedit" in run(["ldd", SFTP]).out
has_editing = pytest.mark.skipif(not EDITING,
                                 reason="built without libedit")


def test_terminal(typed, place):
    t = typed()
    t.line("pwd")
    t.expect(f"Remote working directory: {place}")
    t.line("get big out")
    t.expect("Fetching")
    t.expect("100%")
    t.expect("sftp> ")
    t.line("progress")
    t.expect("Progress meter disabled")
    t.line("get big out2")
    assert "%" not in t.expect("sftp> ")
    t.line("get nosuch")
    t.expect("not found")
    t.expect("sftp> ")
    # The prompt is there before the terminal is: then ^D is only a key.
    assert not EDITING or wait_for(t.is_raw)
    t.type("\x04")
    assert t.wait() == 0


@has_editing
def test_completion(typed, place):
    t = typed()
    top = str(place)
    for line, done in (
            ("lumas\t027", "Local umask: 027"),
            ("get bi\tempty/1", f"{top}/big to empty/1\r"),
            ("get sp\tem\t2", f"{top}/sp ace to empty/2\r"),
            ('get "sp\t"empty/3"', f"{top}/sp ace to empty/3\r"),
            ("put dir/su\tg\tup", f"dir/sub/g to {top}/up\r"),
            ("get st\tempty/4", f"{top}/st*r to empty/4\r"),
            ("put em\t4 em\t5", f"empty/4 to {top}/empty/5\r"),
            ("get quo\tempty/5", f"{top}/quo\"te's to empty/5\r"),
            ("chmod 600 bi\t", f"mode on {top}/big\r"),
            ("-rm -bi\t", "Invalid flag -b"),
            ("cd dir/s\t", "ub/\r\n"), ("pwd", f"{top}/dir/sub\r")):
        t.line(line)
        t.expect(done)
        t.expect("sftp> ")
    t.line("cd")
    t.expect("sftp> ")
    t.type("rm b\t")  # several: they are shown
    t.expect("b ")
    assert "back\\slash" in t.expect("big")
    t.type("\x15")
    t.line("bye")
    assert t.wait() == 0
    assert contents(place)["empty/4"] == (
        oct(0o100640), (place / "st*r").read_bytes())


@has_editing
def test_history(typed, place):
    t = typed()
    t.line("pwd")
    t.expect("Remote working directory")
    t.expect("sftp> ")
    t.type("\x1b[A")
    t.expect("pwd")
    t.type("\x01l\x05\r")  # edited at its beginning
    t.expect("Local working directory")
    t.line("bye")
    assert t.wait() == 0


def test_interrupt(typed, place):
    t = typed("-l", "800")  # 100 KB a second
    (place / "large").write_bytes(os.urandom(3000000))
    for line, made in (("get large down", "down"), ("put large up", "up")):
        t.line(line)
        t.expect("ETA")
        t.type("\x03")
        t.expect("sftp> ", 15)
        t.line("pwd")
        t.expect("Remote working directory")
        t.expect("sftp> ")
        assert not (place / made).exists()
    t.line("get -r / /tmp/never-here/x")  # fails, and does not end it
    t.expect("sftp> ")
    t.type("some text\x03")  # at the prompt: the line is dropped
    t.expect("sftp> ")
    t.line("!sleep 20")
    time.sleep(0.3)
    t.type("\x03")
    t.expect("sftp> ", 5)
    t.line("version")
    t.expect("SFTP protocol version 3")
    t.line("bye")
    assert t.wait() == 0
    sftp("reget large down", "reput large up", cwd=place).ok()
    for made in ("down", "up"):
        assert (place / made).read_bytes() == (place / "large").read_bytes()
