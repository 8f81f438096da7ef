# SPDX-License-Identifier: ISC
"""Names of users that a link or a list may hold: one rule for every program and
flag, before any command is given them."""

import pytest

import harness
from harness import hpn, run

HOSTILE = ["a -oX", "a;b", "-x", "a'b", "a`b", "a\\", "a|b", "a(b)", "a{b",
           'a"b', "a&b", "a<b", "a$(b)", "a\nb", "a\x1b[2J"]
FRIENDLY = ["a", "a b", "a@b", "DOM\\user", "ü", "a.b-c_d"]
HOW = ["-l", "user@host", "-oUser", "scp", "scp -o", "sftp", "sftp -o"]
pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "scp", "sftp"),
    reason="hpnssh, hpnscp and hpnsftp are not built")


def call(how, user, config):
    option = ["-o", "User=\"%s\"" % user.replace("\\", "\\\\")
              .replace('"', '\\"')]
    ssh, scp, sftp = ([hpn(name), "-F", config]
                      for name in ("ssh", "scp", "sftp"))
    words = {"-l": [*ssh, "-l", user, "nohost", "true"],
             "user@host": [*ssh, "--", f"{user}@nohost", "true"],
             "-oUser": [*ssh, *option, "nohost", "true"],
             "scp": [*scp, "--", f"{user}@nohost:x", "/nonexistent/y"],
             "scp -o": [*scp, *option, "nohost:x", "/nonexistent/y"],
             "sftp": [*sftp, "--", f"{user}@nohost"],
             "sftp -o": [*sftp, *option, "nohost"]}[how]
    return run(words)


@pytest.fixture
def config(tmp_path):
    """Tells of each command that was given the name."""
    told = tmp_path / "told"
    told.write_text("")
    path = tmp_path / "config"
    # The inner shell keeps its end of the connection while it tells; without
    # that it would be ended with the client.
    path.write_text(f"BatchMode yes\nMatch exec 'echo exec >>{told}; : %r'\n"
                    f"ProxyCommand sh -c 'echo proxy >>{told}'; : '%r'\n")
    return path


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("user", HOSTILE, ids=repr)
def test_hostile_names(config, tmp_path, how, user):
    done = call(how, user, config)
    assert done.rc in (255, 1), done
    assert (tmp_path / "told").read_text() == ""
    assert "\x1b" not in done.errors
    if how[-2:] == "-o" or how in ("-l", "-oUser"):
        assert ("remote username contains invalid characters" in done.errors
                or "quotes" in done.errors), done


@pytest.mark.parametrize("how", ["-l", "user@host", "-oUser", "scp -o"])
@pytest.mark.parametrize("user", FRIENDLY)
def test_friendly_names(config, tmp_path, how, user):
    call(how, user, config)
    assert (tmp_path / "told").read_text() == "exec\nproxy\n"
