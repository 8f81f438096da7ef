# SPDX-License-Identifier: ISC
"""Users who are in no table of accounts: of LDAP, which a static program cannot
ask, or in a container. USER and HOME say who they are."""

import os
import stat

import pytest

import harness
from harness import hpn, run

pytestmark = pytest.mark.skipif(not harness.IS_ROOT,
                                reason="needs root: another user is played")
UID = 54321


@pytest.fixture
def home(short):
    harness.open_up(short)
    path = short / "home"
    (path / ".ssh").mkdir(parents=True)
    for made in (path, path / ".ssh"):
        os.chown(made, UID, UID)
    return path


def play(*command, uid=UID, stdin=b"", **environment):
    return run(["setpriv", f"--reuid={uid}", f"--regid={uid}",
                "--clear-groups", *command], stdin=stdin,
               env=harness.clean_env(**environment))


def test_environment_serves(home):
    (home / ".ssh/config").write_text("Host host\n LocalCommand %u %d ~\n")
    shown = play(hpn("ssh"), "-G", "host", USER="somebody", HOME=home).ok()
    assert "user somebody\n" in shown.text
    assert f"{home}/.ssh/id_ed25519" in shown.text or \
        "~/.ssh/id_ed25519" in shown.text
    assert "localcommand %u %d ~\n" in shown.text  # of the home's config
    play(hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", stdin=b"\n",
         USER="somebody", HOME=home).ok()
    made = home / ".ssh/id_ed25519"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert made.with_suffix(".pub").read_text().split()[2].startswith(
        "somebody@")


def test_sftp_server_serves(home, short):
    (short / "batch").write_text("pwd\n")
    done = play(hpn("sftp"), "-D", hpn("sftp-server"), "-b", short / "batch",
                USER="somebody", HOME=home, PWD=None)
    assert done.rc == 0, done


def test_nothing_is_known(home):
    done = play(hpn("ssh"), "-F", "none", "-G", "host", USER=None,
                LOGNAME=None, HOME=home)
    assert done.rc == 255
    assert "no account for user ID 54321" in done.errors
