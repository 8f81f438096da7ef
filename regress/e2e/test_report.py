# SPDX-License-Identifier: ISC
"""hpnscp and hpnsync --report: a page about the copy, also where it fails, and
whatever the names of files are."""

import html.parser
import os
import re
import signal
import subprocess

import pytest

import browser
import harness
from harness import IS_ROOT, MIB, Client, clean_env, hpn, run, wait_for

SCP, SYNC = hpn("scp"), hpn("sync")
SHELL = f"exec {hpn('sftp-server')}"

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "scp", "sync", "ssh", "sshd", "sftp-server"),
    reason="hpnscp, hpnsync or hpnsshd is not built")

EVIL = ["<script>alert(1)</script>", "a\nb", "\x1b[2J\x1b]0;x\a", "'\"><b>",
        "&lt;", "\u202egnp", "\u2066x", os.fsdecode(b"\xff\xc0"), "--> <!--",
        "</table><h1>done</h1>", "\u0085\u009b31m", "a\rb\tc"]


class Page(html.parser.HTMLParser):
    """Fails where elements are not closed in their order, or are of a kind
    that the page has no business with."""
    EMPTY = {"meta", "link"}
    KNOWN = EMPTY | {"html", "head", "title", "style", "body", "h1", "h2",
                     "h3", "p", "table", "tr", "th", "td", "ul", "li", "i",
                     "svg", "path", "text", "bdi", "code", "span", "div"}

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.open, self.cells, self.words = [], [], []
        self.tags = {}
        data = path.read_bytes()
        self.source = data.decode("utf-8")
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c"
                             "\u202a-\u202e\u2066-\u2069]", self.source)
        assert path.stat().st_mode & 0o7777 == 0o600
        self.feed(self.source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in self.KNOWN, tag
        assert all(name in {"class", "d", "x", "y", "viewbox", "role",
                            "aria-label", "text-anchor", "lang", "charset",
                            "http-equiv", "content", "name", "rel", "href"}
                   for name, _ in attrs), attrs
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data

    @property
    def text(self):
        return "".join(self.words)

    def after(self, heading):
        return self.cells[self.cells.index(heading) + 1]


@pytest.fixture
def shell(tmp_path):
    path = tmp_path / "shell"
    path.write_text(f"#!/bin/sh\n{SHELL}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def source(tmp_path):
    top = tmp_path / "from"
    (top / "d").mkdir(parents=True)
    (top / "big").write_bytes(harness.noise(3 * MIB))
    (top / "d/small").write_text("small")
    return top


def lines_to(server, tmp_path, at):
    """Programs that copy a directory, over a connection to the server."""
    client = Client("hpn", server)
    target = tmp_path / "to"
    target.mkdir()
    where = f"{client.user}@127.0.0.1:"
    scp = [SCP, *client.options(), "-P", str(server.port), "-r"]
    sync = [SYNC, "-a", "-e", " ".join(
        ["hpnssh", *client.options(), "-p", str(server.port)])]
    return {
        "scp-up": [*scp, f"{tmp_path}/from/.", f"{where}{target}"],
        "scp-down": [*scp, f"{where}{tmp_path}/from/.", target],
        "scp-between": [*scp, "-3", f"{where}{tmp_path}/from/big",
                        f"{where}{target}"],
        "sync-up": [*sync, f"{tmp_path}/from/", f"{where}{target}"],
        "sync-down": [*sync, f"{where}{tmp_path}/from/", target],
        "sync-here": [SYNC, "-a", f"{tmp_path}/from/", target],
    }[at], target


def with_report(line, path, *more):
    return [line[0], f"--report={path}", *more, *line[1:]]


@pytest.mark.parametrize("way", ["scp-up", "scp-down", "scp-between",
                                 "sync-up", "sync-down", "sync-here"])
def test_copies(sshd, source, tmp_path, way):
    line, target = lines_to(sshd, tmp_path, way)
    done = run(with_report(line, tmp_path / "r.html")).ok()
    assert not done.out.strip(), done
    assert (target / "big").stat().st_size == 3 * MIB
    page = Page(tmp_path / "r.html")
    program, direction = way.split("-")
    files = 1 if direction == "between" else 2
    assert f"hpn{program}: done" in page.text
    assert page.after("Files") == f"{files} copied"
    assert page.after("Result") == "done"
    assert re.match(r"3\.1 MB in \d+", page.after("Moved"))
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC",
                    page.after("Began"))
    assert "HPNSSH_" in page.after("This program")
    assert any(cell.endswith("/big") or cell == "big" for cell in page.cells)
    if direction == "here":
        return
    # Both ends, and what the kernel knows of the path between them.
    assert sum("HPNSSH_" in cell for cell in page.cells) == 2
    assert "127.0.0.1" in page.cells
    assert page.tags["svg"] == 4
    assert re.search(r"Least round trip.*\d\.\d\d ms", page.text, re.S)


def test_more_connections(sshd, source, tmp_path):
    line, target = lines_to(sshd, tmp_path, "scp-up")
    (source / "big").write_bytes(harness.noise(20 * MIB))
    run(with_report(line, tmp_path / "r.html", "-j3", "-l160000")).ok()
    page = Page(tmp_path / "r.html")
    assert page.cells.count("127.0.0.1") >= 1
    assert "Connection 1 127.0.0.1: What held this connection back" \
        in page.text


def test_names_of_others(source, shell, tmp_path):
    """No name is more than text, and each can be read."""
    for name in EVIL:
        (source / "d" / name.replace("/", "\u2215")).write_text("x")
    (tmp_path / "to").mkdir()
    (tmp_path / "to/d").mkdir()
    (tmp_path / "to/d/a\nb").mkdir()  # this one fails
    (tmp_path / "to/d/a\nb/x").mkdir()
    done = run([SYNC, "-a", "-e", str(shell), "--exclude=<i>",
                f"--report={tmp_path}/r.html",
                f"--manifest={tmp_path}/m", f"{source}/",
                f"<h>:{tmp_path}/to"])
    assert done.rc == 23, done
    page = Page(tmp_path / "r.html")
    assert "hpnsync: not all was done" in page.text
    assert "--exclude <i>" in page.text
    assert any(cell.endswith("a\\x0ab") for cell in page.cells)
    assert any("<script>alert(1)" in cell for cell in page.cells)
    assert any("\\u{202e}gnp" in cell for cell in page.cells)
    assert any("\\xff\\xc0" in cell for cell in page.cells)
    assert "Digests (SHA-256)" in page.text


def test_failures(source, shell, tmp_path):
    (source / "gone").symlink_to("nowhere")
    (tmp_path / "to").mkdir()
    done = run([SCP, "-r", "-S", shell, f"--report={tmp_path}/r.html",
                f"{source}/big", f"{tmp_path}/not-there", f"h:{tmp_path}/to"])
    assert done.rc == 255
    page = Page(tmp_path / "r.html")
    assert page.after("Result") == "not all was done, exit status 255"
    assert "1 copied, 1 failures" in page.after("Files")
    assert f"{tmp_path}/not-there" in page.cells


@pytest.mark.parametrize("program", ["scp", "sync"])
def test_no_connection(tmp_path, source, program):
    port = harness.free_port()
    line = {"scp": [SCP, "-P", str(port)],
            "sync": [SYNC, "-e", f"hpnssh -p {port}"]}[program]
    done = run([*line, f"--report={tmp_path}/r.html", f"{source}/big",
                f"127.0.0.1:{tmp_path}/to"])
    assert done.rc != 0
    page = Page(tmp_path / "r.html")
    assert f"exit status {done.rc}" in page.after("Result")
    assert "None was made." in page.text


@pytest.mark.parametrize("program", ["scp", "sync"])
def test_interrupted(tmp_path, source, shell, program):
    line = {"scp": [SCP, "-l", "4000", "-S", str(shell)],
            "sync": [SYNC, "--bwlimit=500", "-e", str(shell)]}[program]
    (tmp_path / "to").mkdir()
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/r.html").write_text("old")
    (tmp_path / "reports/r.html").chmod(0o644)
    process = subprocess.Popen(
        [*line, f"--report={tmp_path}/reports/r.html", f"{source}/big",
         f"h:{tmp_path}/to/"], env=clean_env(), stderr=subprocess.DEVNULL)
    wait_for(lambda: any(p.stat().st_size > 0
                         for p in (tmp_path / "to").iterdir()))
    assert (tmp_path / "reports/r.html").read_text() == "old"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    page = Page(tmp_path / "reports/r.html")
    assert f"hpn{program}: interrupted" in page.text
    assert os.listdir(tmp_path / "reports") == ["r.html"]


def test_secrets(tmp_path, source, shell):
    (tmp_path / "to").mkdir()
    run([SCP, "-S", shell, "-oSetEnv=TOKEN=hunter2", "-o",
         "ProxyCommand sshpass -p hunter2 x", "-oPort=77",
         f"--report={tmp_path}/r.html", f"{source}/big",
         f"scp://me:hunter2@h/{tmp_path}/to"])
    page = Page(tmp_path / "r.html")
    assert "hunter2" not in page.source
    assert "-o SetEnv=... -o ProxyCommand=... -o Port=77" in page.text
    run([SYNC, "-e", f"{shell} hunter2", f"--report={tmp_path}/s.html",
         f"{source}/big", f"h:{tmp_path}/to"])
    assert "hunter2" not in Page(tmp_path / "s.html").source


@pytest.mark.parametrize("line", [
    [SCP, "-O"], [SCP, "-R"], [SYNC, "-n"], [SYNC, "--check=m"]],
    ids=["legacy", "direct", "dry", "check"])
def test_where_it_means_nothing(tmp_path, source, line):
    names = [f"h:{tmp_path}/to"] if "--check=m" in line else \
        [f"{source}/big", f"h:{tmp_path}/to"]
    done = run([*line, f"--report={tmp_path}/r.html", *names])
    assert done.rc != 0 and "--report" in done.errors, done
    assert not (tmp_path / "r.html").exists()


def test_that_cannot_be_made(tmp_path, source, shell):
    """It is said before anything is copied."""
    (tmp_path / "to").mkdir()
    for line in [SCP, "-S", shell], [SYNC, "-e", str(shell)]:
        for path in f"{tmp_path}/none/r.html", tmp_path, "/dev/stdout":
            done = run([*line, f"--report={path}", f"{source}/big",
                        f"h:{tmp_path}/to/"])
            assert done.rc != 0, done
            assert not os.listdir(tmp_path / "to")
    assert os.path.exists("/dev/stdout")


@pytest.mark.skipif(not IS_ROOT, reason="only root makes links of others")
def test_planted(tmp_path, source, shell, other_user):
    """A link of somebody else's leads nowhere, on the way or at the end."""
    sticky, mine = tmp_path / "shared", tmp_path / "mine"
    sticky.mkdir()
    sticky.chmod(0o1777)
    mine.mkdir()
    (mine / "precious").write_text("precious")
    (sticky / "dir").symlink_to(mine)
    (sticky / "file").symlink_to(mine / "precious")
    for name in "dir", "file":
        run(["chown", "-h", other_user, sticky / name]).ok()
    (tmp_path / "to").mkdir()
    done = run([SCP, "-S", shell, f"--report={sticky}/dir/r.html",
                f"{source}/big", f"h:{tmp_path}/to/"])
    assert done.rc != 0 and "symbolic links" in done.errors, done
    run([SCP, "-S", shell, f"--report={sticky}/file", f"{source}/big",
         f"h:{tmp_path}/to/"]).ok()
    assert os.listdir(mine) == ["precious"]
    assert (mine / "precious").read_text() == "precious"
    assert not (sticky / "file").is_symlink()


# ---- in a browser -------------------------------------------------------

@pytest.fixture
def firefly(tmp_path):
    if browser.problem():
        pytest.skip(browser.problem())
    (tmp_path / "home").mkdir()
    with browser.Browser(tmp_path / "home") as b:
        yield b


def test_in_a_browser(firefly, sshd, source, tmp_path):
    """It is shown as it was meant: no complaint, no request but the page's, no
    script; charts have a size; names are text."""
    for name in EVIL:
        (source / "d" / name.replace("/", "\u2215")).write_text("x")
    (source / "big").write_bytes(harness.noise(30 * MIB))
    line, _ = lines_to(sshd, tmp_path, "scp-up")
    run(with_report(line, tmp_path / "r.html", "-j2")).ok()
    url = f"file://{tmp_path}/r.html"
    firefly.open(url)
    assert [r for r in firefly.requests if not r.startswith("data:")] == [url]
    assert not firefly.complaints
    assert firefly.value("document.scripts.length") == 0
    assert firefly.value("document.querySelectorAll('svg').length") == 4
    assert firefly.value(
        "[...document.querySelectorAll('svg path')].filter(p => "
        "p.getBoundingClientRect().width > 100).length") > 10
    assert firefly.value(
        "document.documentElement.scrollWidth <= innerWidth")
    shown = firefly.value("document.body.innerText")
    assert "<script>alert(1)<∕script>" in shown
    assert "hpnscp: done" in shown
    picture = firefly.picture(1040, 900)
    assert picture.startswith(b"\x89PNG") and len(picture) > 10000
    if "HPN_PICTURE" in os.environ:
        with open(os.environ["HPN_PICTURE"], "wb") as f:
            f.write(picture)
