# SPDX-License-Identifier: ISC
"""A machine that has an OpenSSH server gets hpnsshd: it shows the keys by which
clients know the host, and opens no second door. What -A does under a prefix,
and the whole of it: the package's script, the installed configuration, and
clients with default ones, in an /etc and a network of their own."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ownetc import OwnEtc, problem

import harness
from harness import IS_ROOT, ME, hpn, run, stock

TREE = Path(__file__).resolve().parents[2]
OWN = ["rsa", "ecdsa", "ed25519", "mldsa44_ed25519"]
pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh-keygen", "sshd"),
    reason="hpnssh-keygen and hpnsshd are not built")


def make_key(path, kind="ed25519"):
    path.parent.mkdir(parents=True, exist_ok=True)
    run([hpn("ssh-keygen"), "-q", "-t", kind, "-N", "", "-f", path]).ok()
    return path


def key_of(path):
    return " ".join(Path(f"{path}.pub").read_text().split()[:2])


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """Where this build has its configuration, told by what -A misses."""
    empty = tmp_path_factory.mktemp("empty")
    failed = run([hpn("ssh-keygen"), "-A", "-f", empty])
    found = re.search(r'"(.*)/ssh_host_rsa_key"', failed.errors)
    return found[1].removeprefix(str(empty))


class Prefix:
    def __init__(self, top, place):
        self.top, self.place = top, place
        self.stock, self.own = top / "etc/ssh", top / place.lstrip("/")
        self.stock.mkdir(parents=True)
        (self.own / "sshd_config.d").mkdir(parents=True)
        shutil.copy(TREE / "contrib/sshd_config", self.own)
        self.note = self.own / "sshd_config.d/10-host-keys.conf"

    def make(self, *flags):
        return run([hpn("ssh-keygen"), "-A", *flags, "-f", self.top]).ok()

    def shown(self):
        """The keys of the note that are not our own."""
        if not self.note.exists():
            return None
        keys = [line.split(None, 1)[1].strip('"') for line in
                self.note.read_text().splitlines() if line[:1] != "#"]
        assert keys[-4:] == [f"{self.place}/ssh_host_{t}_key" for t in OWN]
        return keys[:-4]


@pytest.fixture
def prefix(tmp_path, place):
    return Prefix(tmp_path / "root", place)


def test_keys_of_openssh_are_shown(prefix):
    make_key(prefix.stock / "ssh_host_ed25519_key")
    make_key(prefix.stock / "ssh_host_ecdsa_key", "ecdsa")
    made = prefix.make()
    assert made.text.splitlines() == [
        "hpnssh-keygen: hpnsshd shows the host keys of OpenSSH's server here "
        f"({prefix.note})",
        "hpnssh-keygen: generating new host keys: RSA ECDSA ED25519 "
        "MLDSA44-ED25519"]
    assert prefix.shown() == ["/etc/ssh/ssh_host_ecdsa_key",
                              "/etc/ssh/ssh_host_ed25519_key"]
    assert prefix.note.stat().st_mode & 0o777 == 0o644
    assert len(list(prefix.own.glob("ssh_host_*_key"))) == 4
    before = prefix.note.read_text()
    prefix.note.unlink()  # the administrator's choice
    assert prefix.make().out == b"" and prefix.shown() is None
    assert "etc/ssh/" in before


def test_quietly(prefix):
    make_key(prefix.stock / "ssh_host_ed25519_key")
    assert prefix.make("-q").out == b"" and prefix.shown()


def test_keys_in_another_place(prefix):
    """As OpenSSH's configuration has them, with what it includes."""
    for name in ("etc/keys/a key", "etc/keys/b", "etc/keys/c"):
        make_key(prefix.top / name)
    make_key(prefix.stock / "ssh_host_ed25519_key")  # it is not named
    (prefix.stock / "more").mkdir()
    (prefix.stock / "more/1.conf").write_text(
        "hostkey=/etc/keys/b # that\nMatch user x\nHostKey /etc/keys/c\n")
    (prefix.stock / "sshd_config").write_text(
        '# HostKey /etc/keys/c\nInclude more/*.conf "/etc/ssh/none/*"\n'
        'HostKey "/etc/keys/a key"\nHostKey /etc/keys/none\n'
        "Match all\nHostKey /etc/keys/c\n")
    prefix.make()
    assert prefix.shown() == ["/etc/keys/b", "/etc/keys/a key"]
    text = prefix.note.read_text()
    assert 'HostKey "/etc/keys/a key"\n' in text
    done = run([hpn("sshd"), "-T", "-f", prefix.note, "-h",
                prefix.own / "ssh_host_ed25519_key"]).ok()
    assert re.search('^hostkey "?/etc/keys/a key"?$', done.text, re.M)


def test_includes_without_end(prefix):
    make_key(prefix.stock / "ssh_host_ed25519_key")
    (prefix.stock / "sshd_config").write_text(
        "Include sshd_config\n" * 9 + "HostKey "
        "/etc/ssh/ssh_host_ed25519_key\n")
    prefix.make()
    assert set(prefix.shown()) == {"/etc/ssh/ssh_host_ed25519_key"}


def other_owner(path):
    if not IS_ROOT:
        pytest.skip("needs root: a file of another user")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("spoil", [
    lambda key: key.chmod(0o640), lambda key: key.chmod(0o604), other_owner,
    lambda key: key.write_text("no key\n"),
    lambda key: run([hpn("ssh-keygen"), "-q", "-p", "-P", "", "-N", "secret",
                     "-f", key]).ok(),
    lambda key: (key.unlink(), key.mkdir()), lambda key: key.unlink()],
    ids=["group", "world", "owner", "garbage", "passphrase", "directory",
         "none"])
def test_keys_that_are_not_for_root_alone(prefix, spoil):
    bad = make_key(prefix.stock / "ssh_host_ed25519_key")
    make_key(prefix.stock / "ssh_host_ecdsa_key", "ecdsa")
    spoil(bad)
    prefix.make()
    assert prefix.shown() == ["/etc/ssh/ssh_host_ecdsa_key"]


def has_a_key(prefix):
    make_key(prefix.own / "ssh_host_rsa_key", "rsa")


def names_a_key(prefix):
    with open(prefix.own / "sshd_config", "a", encoding="ascii") as f:
        f.write("HostKey /etc/mine\n")


def includes_nothing(prefix):
    (prefix.own / "sshd_config").write_text("Port 2222\n")


def has_no_configuration(prefix):
    (prefix.own / "sshd_config").unlink()


def has_a_note(prefix):
    prefix.note.write_text("# nothing\n")


@pytest.mark.parametrize("state", [
    has_a_key, names_a_key, includes_nothing, has_no_configuration,
    has_a_note])
def test_what_is_configured_stays(prefix, state):
    make_key(prefix.stock / "ssh_host_ed25519_key")
    state(prefix)
    files = [p for p in prefix.own.rglob("*conf*") if p.is_file()]
    before = {p: p.read_text() for p in files}
    prefix.make()
    after = [p for p in prefix.own.rglob("*conf*") if p.is_file()]
    assert {p: p.read_text() for p in after} == before


# ---- the package's script, and a visit -----------------------------------

ENTER = ('ip link set lo up && mount --bind "$1" /etc && '
         'mount --bind "$2" "$3" && shift 3 && exec "$@"')


class Machine(OwnEtc):
    """One with OpenSSH's configuration and keys, or without."""

    def __init__(self, directory, keys, beside):
        super().__init__(directory, keys)
        self.client = directory / "client"
        self.client.mkdir()
        self.known = self.client / "known_hosts"
        ssh = self.etc / "ssh"
        shutil.rmtree(ssh)
        ssh.mkdir()
        if beside:
            (ssh / "sshd_config").write_text("UsePAM no\n")
            for kind in ("rsa", "ecdsa", "ed25519"):
                make_key(ssh / f"ssh_host_{kind}_key", kind)
        shutil.copy(TREE / "contrib/sshd_config", self.conf)
        (self.conf / "sshd_config.d").mkdir()
        (self.client / "authorized").write_text(keys.public("ed25519"))
        self.process = None

    def enter(self, *words):
        return ["unshare", "-n", "-m", "--propagation", "private", "sh", "-c",
                ENTER, "sh", str(self.etc), str(self.conf),
                str(self.conf_place), *map(str, words)]

    def install(self, before=""):
        """The package's script, as dpkg calls it; what it told, and did."""
        bin_dir = self.client / "bin"
        bin_dir.mkdir(exist_ok=True)
        calls = self.client / "calls"
        calls.write_text("")
        shutil.copy(TREE / "debian/hpnssh-server.postinst", bin_dir)
        helper = bin_dir / "deb-systemd-helper"
        helper.write_text(f'#!/bin/sh\necho "$@" >>{calls}\n')
        helper.chmod(0o755)
        link = bin_dir / "hpnssh-keygen"
        if not link.exists():
            link.symlink_to(hpn("ssh-keygen"))
        done = run(self.enter("sh", bin_dir / "hpnssh-server.postinst",
                              "configure", before), env=dict(
            harness.clean_env(), PATH=f"{bin_dir}:{os.environ['PATH']}"))
        return done.ok().text.splitlines(), calls.read_text()

    def start(self):
        self.log = open(self.client / "log", "wb")
        self.process = harness.start(self.enter(
            hpn("sshd"), "-D", "-e", "-o", "UsePAM=no", "-o", "PidFile=none",
            "-o", "StrictModes=no", "-o",
            f"AuthorizedKeysFile={self.client}/authorized"),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        assert harness.wait_for(lambda: "listening on" in self.said()
                                or self.process.poll() is not None)
        assert self.process.poll() is None, self.said()
        return self

    def said(self):
        return (self.client / "log").read_text()

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
            harness.kill_group(self.process)
            self.log.close()
            self.process = None

    def visit(self, *options, kind="hpn", command="echo in"):
        """By a client whose configuration is the default, but for files."""
        key = self.keys.path("ed25519")
        given = [f"UserKnownHostsFile={self.known}",
                 "GlobalKnownHostsFile=none", f"IdentityFile={key}",
                 "IdentitiesOnly=yes", "BatchMode=yes", *options]
        return run(["nsenter", f"--net=/proc/{self.process.pid}/ns/net",
                    harness.program(kind, "ssh"), "-F", "none", "-l", ME,
                    *[w for o in given for w in ("-o", o)], "127.0.0.1",
                    command])

    def known_to_stock(self):
        """A line that stock's client writes for port 22."""
        conf = self.client / "stock.conf"
        conf.write_text("".join(
            f"HostKey {self.etc}/ssh/ssh_host_{kind}_key\n"
            for kind in ("rsa", "ecdsa", "ed25519")) + "UsePAM no\n")
        run([stock("ssh"), "-F", "none", "-o",
             f"UserKnownHostsFile={self.known}", "-o",
             "StrictHostKeyChecking=accept-new", "-o", "BatchMode=yes", "-o",
             "PreferredAuthentications=none", "-o", "UpdateHostKeys=no", "-o",
             f"ProxyCommand={stock('sshd')} -i -f {conf}", "127.0.0.1",
             "true"])
        assert self.known.read_text().startswith("127.0.0.1 ssh-ed25519 ")

    def end(self):
        self.stop()
        super().end()


@pytest.fixture
def machine(tmp_path, keys):
    if problem():
        pytest.skip(problem())
    if not harness.have("hpn", "ssh"):
        pytest.skip("hpnssh is not built")
    made = []

    def make(beside=True):
        made.append(Machine(tmp_path, keys, beside))
        return made[0]

    yield make
    for one in made:
        one.end()


needs_stock = pytest.mark.skipif(not harness.have("stock", "ssh", "sshd"),
                                 reason="no stock OpenSSH")


@needs_stock
def test_who_knows_the_host_hears_nothing(machine):
    """Known by stock's client from port 22, reached at 2222: not a word."""
    m = machine()
    m.known_to_stock()
    before = m.known.read_text()
    m.install()
    m.start()
    done = m.visit()
    assert (done.rc, done.out, done.err) == (0, b"in\n", b"")
    assert m.known.read_text() == before


@needs_stock
def test_when_openssh_is_gone(machine):
    """Its keys are purged: the server goes on with its own, and says so; who
    had visited it knows these."""
    m = machine()
    m.install()
    m.start()
    m.visit("StrictHostKeyChecking=accept-new").ok()
    done = m.visit("UpdateHostKeys=yes", command="sleep 0.3")
    assert (done.rc, done.err) == (0, b"")
    known = {" ".join(line.split()[1:3])
             for line in m.known.read_text().splitlines()}
    assert known == {key_of(path) for path in [
        *m.etc.glob("ssh/ssh_host_*_key"),
        *m.conf.glob("ssh_host_*_key")] if "mldsa" not in path.name}
    m.stop()
    shutil.rmtree(m.etc / "ssh")
    m.start()
    for kind in ("rsa", "ecdsa", "ed25519"):
        assert (f'Unable to load host key "/etc/ssh/ssh_host_{kind}_key": '
                "No such file or directory") in m.said()
    done = m.visit()
    assert (done.rc, done.out, done.err) == (0, b"in\n", b"")


def test_service_beside_openssh(machine):
    """It is not enabled, and three lines tell what to do."""
    m = machine()
    told, calls = m.install()
    assert calls == ""
    assert len(told) == 5 and "not enabled" in told[2]
    assert told[4].endswith("systemctl enable --now hpnssh.service")


def test_service_alone(machine):
    m = machine(beside=False)
    told, calls = m.install()
    assert calls == "enable hpnssh.service\n" and len(told) == 1
    assert not (m.conf / "sshd_config.d/10-host-keys.conf").exists()
    m.start()
    m.visit("StrictHostKeyChecking=accept-new").ok()


@pytest.mark.parametrize("beside", [True, False])
def test_upgrade(machine, beside):
    """No keys are made for a server that has its own, or whose administrator
    removed them."""
    m = machine(beside)
    assert m.install("0.0.9") == ([], "")
    assert list(m.conf.glob("**/*host*")) == []
