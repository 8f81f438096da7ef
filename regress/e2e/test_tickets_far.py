# SPDX-License-Identifier: ISC
"""Copies over a long path whose login takes a password and a code, with
LoginTickets: the connections beside the first begin when the code was sent, not
before, and log in behind it."""

import re
import shlex

import pytest
from farpath import benchlib, far_path, said
from worst import HEX, PHRASE, TICKETS, CodeServer, answered

import harness

pytestmark = pytest.mark.skipif(not harness.have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")
ENOUGH = 17 << 20
RTT_MS = 60


class Far(CodeServer):
    """Judges a code when it has agreed on keys with as many connections as are
    expected by then, or after ten seconds."""

    def __init__(self, work, path, expected, *config):
        super().__init__(work, work.ours, path,
                         options=[*config, *TICKETS.config, "LogLevel VERBOSE"])
        wait = self.pam / "wait"
        wait.write_text(
            "#!/bin/sh\nn=0\nwhile [ $n -lt 100 ] && [ $(grep -c 'Ltype: Kex;' "
            f"{self.dir}/log) -lt {expected} ]; do\n\tsleep 0.1; n=$((n + 1))\n"
            "done\n")
        wait.chmod(0o755)
        service = self.pam / "pam.d" / "sshd"
        service.write_text(service.read_text().replace(
            "account", f"auth required pam_exec.so quiet {wait}\naccount", 1))
        self.read = 0

    def person(self, *codes, seconds=0):
        """Who answers with these codes, then with none, and takes so long for
        the second one."""
        ask, left, asked = (self.work.dir / name for name in (
            "codes-ask", "codes-left", "codes-asked"))
        left.write_text("".join(code + "\n" for code in codes))
        asked.write_text("")
        ask.write_text(
            f'#!/bin/sh\necho "$1" >>{asked}\ncase $1 in\n*One-time*)'
            f" [ -s {left} ] || exit 1\n"
            f" [ $(wc -l <{left}) = {len(codes)} ] || sleep {seconds}\n"
            f" head -n 1 {left}; sed -i 1d {left};;\n"
            f"*) echo {shlex.quote(PHRASE)};;\nesac\n")
        ask.chmod(0o755)
        return ask

    def copy(self, *codes, options=(), **kw):
        """Exit status, what hpnscp said, and what the server did."""
        target = self.work.dir / "target"
        argv = self.scp(self.work.ours, self.work.file(ENOUGH), target, "up")
        at = argv.index(self.work.ours["scp"]) + 1
        done = benchlib.timed(answered(self.person(*codes, **kw), [
            *argv[:at], "-v", *options, *TICKETS.client(self), *argv[at:]]), 60,
            must=False)
        if done.rc == 0:
            assert target.stat().st_size == ENOUGH
        return done.rc, done.err, self.said()

    def said(self):
        text = said(self, self.read)
        self.read += len(text)
        return text


@pytest.fixture(scope="module")
def place():
    with far_path(1000, RTT_MS) as made:
        yield made


@pytest.fixture
def far(place):
    def make(expected, *config):
        try:
            return place[0].keep(Far(*place, expected, *config))
        except benchlib.Unavailable as why:
            pytest.skip(str(why))
    return make


def code(n, right=True):
    text = harness.run(["oathtool", "--hotp", "-c", str(n), HEX]).ok().text
    return text.strip() if right else f"{(int(text) + 1) % 1000000:06d}"


BEGUN = "SSH2_MSG_KEXINIT sent"
BY_TICKET = 'using "ticket@hpnssh.org"'


def test_they_begin_with_the_code(far):
    rc, said, log = far(4).copy(code(0))
    assert rc == 0, said
    before, after = said.split("\nAuthenticated to ")
    assert before.count(BEGUN) == 4, said
    assert BEGUN not in after
    # They ask for their sessions at once, behind the ticket.
    assert after.count(BY_TICKET) == 3
    assert after.split(BY_TICKET)[0].count("Sending subsystem") >= 2, said
    assert log.count("Accepted ticket@hpnssh.org") == 3, log


def test_after_a_wrong_code(far):
    """They wait for the next one, and are not begun twice."""
    rc, said, log = far(4).copy(code(0, right=False), code(0))
    assert rc == 0, said
    assert log.count("Connection from ") == 4, log
    assert log.count("Accepted ticket@hpnssh.org") == 3, log
    assert len(re.findall("Failed ", log)) == 1, log


def test_they_wait_for_the_user(far):
    """For as long as he takes: ConnectTimeout is no limit for that."""
    rc, said, log = far(4).copy(code(0, right=False), code(0), seconds=7,
                                options=["-o", "ConnectTimeout=6"])
    assert rc == 0, said
    assert log.count("Accepted ticket@hpnssh.org") == 3, log


def test_no_right_code(far):
    wrong = code(0, right=False)
    rc, said, log = far(4).copy(wrong, wrong, wrong)
    assert rc != 0 and "Permission denied" in said
    assert log.count("Connection from ") == 4, log
    assert "Accepted" not in log


def test_not_before_the_code(far):
    """Who has given a password may look for his code for a long time."""
    rc, said, log = far(1).copy()
    assert rc != 0, said
    assert log.count("Connection from ") == 1, log


def test_not_where_no_tickets_are_given(far):
    rc, said, log = far(1, "LoginTickets no").copy(code(0))
    assert rc == 0, said
    assert log.count("Connection from ") == 1, log
