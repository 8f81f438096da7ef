# SPDX-License-Identifier: ISC
"""What a person's terminal shows (tmux, which breaks lines anew when it is made
narrower), at 60, 80 and 200 columns. The screens are in regress/data/screens,
with rates and times made equal; HPN_SCREENS=write makes them anew, to be looked
at before they are committed."""

import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness import LONG, clean_env, have, hpn

SCREENS = Path(__file__).parents[1] / "data" / "screens"
TMUX = shutil.which("tmux")
MB = 1 << 20

pytestmark = [
    pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                       reason="hpnscp is not built"),
    pytest.mark.skipif(TMUX is None, reason="no tmux")]


class Tmux:
    """A terminal of its own server, with one program in it."""

    def __init__(self, place, columns, script):
        self.socket = str(place / "tmux")
        env = clean_env(LC_ALL="C.UTF-8", TERM="xterm", PS1="$ ",
                        TMUX_TMPDIR=place)
        program = place / "script"
        program.write_text(f"trap : INT\ncd {shlex.quote(str(place / 'in'))}\n"
                           f"{script}\n"
                           "echo ENDED\nexec sleep 1000\n")
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                 "-y", "24", f"sh {shlex.quote(str(program))}", env=env)

    def run(self, *args, env=None):
        return subprocess.run([TMUX, "-S", self.socket, *args], check=True,
                              env=env or clean_env(TERM="xterm"),
                              stdout=subprocess.PIPE, timeout=LONG
                              ).stdout.decode()

    def screen(self):
        """With what was scrolled away."""
        return self.run("capture-pane", "-p", "-S", "-").rstrip("\n")

    def expect(self, pattern):
        end = time.monotonic() + LONG
        while not re.search(pattern, shown := self.screen(), re.M):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def narrow(self, columns):
        self.run("resize-window", "-x", str(columns))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            self.run("kill-server")
        except subprocess.SubprocessError:
            pass


def masked(screen):
    """What is another number each time, in as many columns."""
    lines = []
    for line in screen.splitlines():
        line = re.sub(r" +[\d.]+ ?[KMGT]?B/s",
                      lambda m: "#".rjust(len(m[0]) - 5) + " ?B/s", line)
        line = re.sub(r"\d\d:\d\d( ETA|$)", r"00:00\1", line)
        line = re.sub(r"of \d\d:\d\d is here \([\d.]+.B\)",
                      "of 08:17 is here (#MB)", line)
        line = re.sub(r"[\d.]+[KM]B of", "#MB of", line)
        line = re.sub(r" +\d+% +[\d.]+[KM]B( +#)",
                      lambda m: "%".rjust(len(m[0]) - len(m[1])) + m[1],
                      line) if "ETA" in line else line
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def compare(name, columns, screen):
    path, shown = SCREENS / f"{name}-{columns}", masked(screen)
    if os.environ.get("HPN_SCREENS") == "write":
        path.write_text(shown)
    assert shown == path.read_text()


@pytest.fixture(params=[60, 80, 200])
def columns(request):
    return request.param


@pytest.fixture
def place(tmp_path):
    """Files, and a short way to say hpnscp."""
    top = tmp_path / "in"
    top.mkdir()
    (top / "big").write_bytes(os.urandom(20 * MB))
    (top / "測定データ.h5").write_bytes(bytes(5000))
    (top / ("long-" * 30 + "name")).write_bytes(bytes(5000))
    tree = top / "tree"
    tree.mkdir()
    for i in range(30):
        (tree / f"f{i}").write_bytes(bytes(1000))
    (tree / "nowhere").symlink_to("none")
    return tmp_path


def scp(*args):
    return shlex.join([hpn("scp"), "-D", hpn("sftp-server"), *args])


def test_lines(place, columns):
    """Names of double width, and what is too long; what was there; a tree, and
    its sums."""
    script = "\n".join((
        scp("測定データ.h5", "long-" * 30 + "name", "big", "x:../"),
        scp("-pZ", "big", "x:../again"), scp("-pZ", "big", "x:../again"),
        scp("-r", "tree", "x:../copy"),
        "rm tree/nowhere", scp("-rZ", "--verify", "tree/.", "x:../copy")))
    with Tmux(place, columns, script) as t:
        compare("lines", columns, t.expect("^ENDED"))


def test_interrupted(place, columns):
    """^C, and the next copy without -Z, and one with it."""
    script = "\n".join((scp("-l", "16000", "big", "x:../out"),
                        scp("big", "x:../out"),
                        scp("-Z", "big", "x:../out")))
    with Tmux(place, columns, script) as t:
        t.expect("ETA$")
        part = place / ".out.hpnpart"
        end = time.monotonic() + LONG
        while not part.exists() or part.stat().st_size < 2 * MB:
            assert time.monotonic() < end
            time.sleep(0.05)
        t.keys("C-c")
        compare("interrupted", columns, t.expect("^ENDED"))


def test_narrower(place):
    """One line stays one line, whatever the window does to it. (A terminal may
    push what is at its top out of reach.)"""
    before = [str(n) for n in range(1, 16)]
    with Tmux(place, 80, "seq 15\n" + scp("-l", "8000", "big",
                                          "x:../out")) as t:
        t.expect("ETA$")
        for width, long in ((60, 57), (45, 42), (30, 23), (80, 77)):
            # tmux tells the second of two changes in 250 ms later than it
            # draws: until then nobody can know.
            time.sleep(1)
            t.narrow(width)
            # drawn anew, as wide as it may be, and nothing else is there
            end = time.monotonic() + LONG
            while True:
                shown = [n for n in t.screen().splitlines() if n]
                if shown[:-1] == before and len(shown[-1]) == long:
                    break
                assert time.monotonic() < end, (width, shown)
                time.sleep(0.05)
        t.keys("C-c")
        shown = t.expect("^ENDED").splitlines()
        assert shown[:15] == before and shown[15].startswith(
            "hpnscp: interrupted: "), shown


def test_nothing_before_the_login(place, shared_servers):
    """A question stands by itself, and no line of a progress before it."""
    server = shared_servers("hpn")
    known = place / "known"
    command = shlex.join([hpn("scp"), "-F", "none", "-P", str(server.port),
                          "-o", f"UserKnownHostsFile={known}",
                          "-o", "GlobalKnownHostsFile=none", "-i",
                          str(server.keys.path("ed25519")), "big",
                          f"127.0.0.1:{place}/out"])
    with Tmux(place, 80, command) as t:
        shown = t.expect("Are you sure .*\\?$|fingerprint\\]\\)\\? *$")
        assert "ETA" not in shown and "%" not in shown, shown
        t.keys("yes", "Enter")
        lines = t.expect("^ENDED").splitlines()
        at = [n for n, line in enumerate(lines)
              if line.startswith("Warning: Permanently added")]
        assert len(at) == 1, lines
        assert lines[-2].startswith("big ") and "100%" in lines[-2], lines


def test_listing(place, columns):
    """hpnsftp: names in columns, and long lines that keep theirs."""
    with open(place / "in" / "large", "wb") as f:
        f.truncate(12345678901)
    for n in ("long-" * 30 + "name", "tree/nowhere"):
        (place / "in" / n).unlink()
    for n in range(12):
        (place / "in" / f"f{n}").touch()
    for entry in (place / "in").iterdir():
        os.utime(entry, (0, 86400 * 365))
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    batch = place / "batch"
    batch.write_text("ls\nls -ln\nls -1 big [ft]*\n")
    script = shlex.join([hpn("sftp"), "-b", str(batch), "-D",
                         hpn("sftp-server")])
    with Tmux(place, columns, script) as t:
        shown = t.expect("^ENDED")
        # An owner's column has eight places, and a space behind them.
        for number in (os.getuid(), os.getgid()):
            shown = re.sub(rf"\b{number:<9}", "#".ljust(9), shown)
        compare("listing", columns, shown)
