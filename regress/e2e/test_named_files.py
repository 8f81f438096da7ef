# SPDX-License-Identifier: ISC
"""Files that a user names are opened where others may have planted something:
logs, batches, metrics, keys. What the user names on purpose is as good as with
any other program."""

import pytest

import harness
from harness import IS_ROOT, Client, hpn, run

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sftp", "sshd"),
    reason="hpnssh, hpnsftp or hpnsshd is not built")
MINE = "what was there\n"


@pytest.fixture
def sticky(tmp_path, other_user):
    """A directory as /tmp, with a link of somebody else to a file of mine."""
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o1777)
    mine = tmp_path / "mine"
    mine.write_text(MINE)
    (path / "planted").symlink_to(mine)
    run(["chown", "-h", other_user, path / "planted"]).ok()
    return path


def commands(client, name):
    """Each writes to, or reads from, what has the name."""
    return {
        "log": [*client.ssh_args(flags=["-E", str(name)]), "true"],
        "server's log": [hpn("sshd"), "-t", "-f", "/dev/null", "-h",
                         client.server.keys.path("ed25519-host"), "-E",
                         name],
        "batch": [hpn("sftp"), *client.options(), "-b", name, "-P",
                  str(client.server.port), "127.0.0.1"],
        "known hosts": [*Client("hpn", client.server, options=[
            "StrictHostKeyChecking=no"], known_hosts=name).ssh_args(),
            "true"],
        "moduli": [hpn("ssh-keygen"), "-M", "screen", "-f", "/dev/null",
                   name],
    }


@pytest.mark.skipif(not IS_ROOT, reason="only root makes links of others")
@pytest.mark.parametrize("what", ["log", "server's log", "batch",
                                  "known hosts", "moduli"])
def test_planted_link(sshd, sticky, tmp_path, what):
    done = run(commands(Client("hpn", sshd), sticky / "planted")[what])
    assert (tmp_path / "mine").read_text() == MINE
    if what != "known hosts":  # which goes on without
        assert done.rc != 0
        assert "symbolic links" in done.errors, done


@pytest.mark.skipif(not IS_ROOT, reason="only root makes logs of others")
@pytest.mark.parametrize("what", ["log", "server's log"])
def test_log_of_its_keeper(sshd, tmp_path, other_user, what):
    """As Ubuntu has /var/log: root's, writable for a group, and the log itself
    is the syslog daemon's. Not where everybody may put files."""
    place = tmp_path / "log"
    place.mkdir()
    log = place / "it"
    log.write_text(MINE)
    for path, owner, mode in ((place, f"root:{other_user}", 0o775),
                              (log, f"{other_user}:adm", 0o640)):
        run(["chown", owner, path]).ok()
        path.chmod(mode)
    client = Client("hpn", sshd, log_level="DEBUG1")
    command = commands(client, log)[what] + \
        (["-d"] if what != "log" else [])
    run(command).ok()
    said = log.read_text()
    assert said.startswith(MINE) and len(said) > len(MINE)
    place.chmod(0o1777)
    assert run(command).rc != 0
    assert log.read_text() == said


def test_what_the_user_names_himself(sshd, tmp_path):
    """Descriptors, devices, pipes, links of the user's own."""
    client = Client("hpn", sshd)
    link, log = tmp_path / "link", tmp_path / "log"
    link.symlink_to(log)
    for name in ("/dev/stderr", "/dev/null", "/proc/self/fd/2", str(link)):
        client.ssh("true", flags=["-v", "-E", name]).ok()
    assert "Authenticated" in log.read_text()
    done = client.ssh("true", flags=["-v", "-E", "/dev/stderr"])
    assert "Authenticated" in done.errors
    sftp = [hpn("sftp"), *client.options(), "-P", str(sshd.port)]
    for name in ("/dev/stdin", "/dev/fd/0", "-"):
        done = run([*sftp, "-b", name, "127.0.0.1"], stdin=b"pwd\n").ok()
        assert "Remote working directory" in done.text
    line = " ".join(f"'{a}'" for a in sftp)
    done = run(["bash", "-c", f"{line} -b <(echo pwd) 127.0.0.1"]).ok()
    assert "Remote working directory" in done.text
    Client("hpn", sshd, known_hosts="/dev/null", options=[
        "StrictHostKeyChecking=no"]).ssh("true").ok()
