# SPDX-License-Identifier: ISC
"""hpnscp and hpnsync --report where server, file system or user mean no good:
what the server calls itself and its files, paths that are no file's, a full
disk, signals."""

import os
import signal
import socket
import stat
import subprocess

import pytest
from test_report import EVIL, SCP, SYNC, Page, shell  # noqa: F401

import harness
from harness import IS_ROOT, MIB, Client, clean_env, run, wait_for

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "scp", "sync", "ssh", "sshd", "sftp-server"),
    reason="hpnscp, hpnsync or hpnsshd is not built")


@pytest.fixture
def copy(tmp_path, shell):  # noqa: F811
    """copy(report, program): the command line of a small copy."""
    (tmp_path / "to").mkdir()
    (tmp_path / "one").write_text("one")

    def line(report, program="scp"):
        begin = [SCP, "-S", shell] if program == "scp" else \
            [SYNC, "-e", str(shell)]
        return [*begin, f"--report={report}", f"{tmp_path}/one",
                f"h:{tmp_path}/to/"]
    return line


def test_what_the_server_says(make_server, tmp_path):
    """Its software's name, and those of its files, also at the end of what a
    file system takes."""
    server = make_server("VersionAddendum <script>alert(1)</script>&\"'>\n")
    top, to = tmp_path / "from", tmp_path / "to"
    top.mkdir()
    to.mkdir()
    names = [name.replace("/", "\u2215") for name in EVIL]
    for name in [*names, "<b>" * 85, "\u202e" * 85]:
        (top / name).write_text("x")
    client = Client("hpn", server)
    run([SCP, *client.options(), "-P", str(server.port), "-r",
         f"--report={tmp_path}/r.html", f"127.0.0.1:{top}/.", to]).ok()
    page = Page(tmp_path / "r.html")
    assert any("<script>alert(1)</script>&\"'>" in cell
               for cell in page.cells)
    assert any(cell.endswith("<b>" * 85) for cell in page.cells)
    assert any(cell.endswith("\\u{202e}" * 85) for cell in page.cells)


@pytest.mark.parametrize("program", ["scp", "sync"])
@pytest.mark.parametrize("what", ["fifo", "socket", "link to a device",
                                  "long path", "long name", "file as "
                                  "directory", "empty"])
def test_no_place_for_a_page(tmp_path, copy, program, what):
    """It is said at once, nothing is copied, and what is there stays."""
    place = tmp_path / "r.html"
    if what == "fifo":
        os.mkfifo(place)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(place))
    elif what == "link to a device":
        place.symlink_to("/dev/null")
    elif what == "long path":
        place = "x/" * 3000 + "r.html"
    elif what == "long name":
        place = tmp_path / ("r" * 256)
    elif what == "file as directory":
        place = tmp_path / "one/r.html"
    else:
        place = ""
    before = sorted(os.listdir(tmp_path))
    done = run(copy(place, program), timeout=20 * harness.SLOW)
    assert done.rc != 0 and done.errors.count("\n") == 1, done
    assert not os.listdir(tmp_path / "to")
    assert sorted(os.listdir(tmp_path)) == before
    if what in ("fifo", "socket"):
        assert not stat.S_ISREG(os.lstat(place).st_mode)


def test_a_long_name_has_a_page(tmp_path, copy):
    place = tmp_path / ("r" * 255)
    run(copy(place)).ok()
    Page(place)


def test_link_to_a_file(tmp_path, copy):
    """The page takes the place of the link; what it led to stays."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "r.html").symlink_to("precious")
    run(copy(tmp_path / "r.html")).ok()
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "r.html").is_symlink()
    Page(tmp_path / "r.html")


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_directory_of_somebody_else(copy):
    done = run(copy("/r.html"))
    assert done.rc != 0 and "ermission denied" in done.errors, done


@pytest.mark.skipif(bool(harness.mount_problem()),
                    reason=str(harness.mount_problem()))
@pytest.mark.parametrize("program", ["scp", "sync"])
def test_full_disk(tmp_path, copy, program):
    """The copy is whole, the page of before too; the exit status and a line
    with its path say that this one is missing."""
    small = tmp_path / "small"
    small.mkdir()
    script = ("mount -t tmpfs -o size=8k none \"$1\" && cd \"$1\" && "
              "echo old >r.html && shift && { \"$@\"; echo \"rc $?\"; } && "
              "ls -A . && cat r.html")
    done = run(["unshare", "-m", "sh", "-ec", script, "sh", small,
                *copy(small / "r.html", program)]).ok()
    assert (tmp_path / "to/one").read_text() == "one"
    rc, *rest = done.text.splitlines()
    assert rc != "rc 0" and rest == ["r.html", "old"], done
    assert done.errors == f"hpn{program}: {small}/r.html: " \
        "No space left on device\n", done


@pytest.mark.parametrize("program", ["scp", "sync"])
@pytest.mark.parametrize("signals", [
    [signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT] * 3],
    ids=["term", "hup", "often"])
def test_signals(tmp_path, copy, program, signals):
    """A page about what was done until then, or, to a person who insists, the
    one of before; never a half."""
    (tmp_path / "reports").mkdir()
    page = tmp_path / "reports/r.html"
    page.write_text("old")
    (tmp_path / "one").write_bytes(harness.noise(3 * MIB))
    line = copy(page, program)
    line[1:1] = ["-l", "4000"] if program == "scp" else ["--bwlimit=500"]
    process = subprocess.Popen(line, env=clean_env(),
                               stderr=subprocess.DEVNULL)
    wait_for(lambda: any(p.stat().st_size > 0
                         for p in (tmp_path / "to").iterdir()))
    for number in signals:
        process.send_signal(number)
    assert process.wait(60) != 0
    assert os.listdir(tmp_path / "reports") == ["r.html"]
    if len(signals) > 1 and page.read_text() == "old":
        return
    assert f"hpn{program}: interrupted" in Page(page).text
