# SPDX-License-Identifier: ISC
"""A stranger's walk: each command of ours in README.md, hpnscp(1) and CENTRES.md
is typed as it stands there, in the order of the pages, on a machine where make
install has just been: with an /etc, a prefix and a network of its own. And what
the programs say where it has not been yet."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ownetc import HASH, MountPoint

import harness
from harness import BUILD, TOP, hpn, run, wait_for

UID = 54811
pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd", "scp"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(bool(harness.mount_problem()),
                       reason=str(harness.mount_problem()))]
ENTER = """
ip link set lo up
while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit; done
shift && exec "$@"
"""
NAMES = ("host gate inner build db gate.example.org one.example.org "
         "two.example.org")


def told_by_make():
    names = "prefix bindir sbindir confdir linkdir runstatedir privsepdir"
    text = run(["make", "-s", "-C", BUILD, "-f", "-", "tell"], stdin=(
        "include Makefile\ntell:\n\t@echo '"
        + " ".join(f"$({name})" for name in names.split()) + "'\n").encode())
    return {name: Path(value) for name, value in
            zip(names.split(), text.ok().text.split())}


class Machine:
    """Commands run in namespaces that a process holds until end()."""

    def __init__(self, top, keys):
        self.top, self.keys, self.paths = top, keys, told_by_make()
        self.etc, self.root = top / "etc", top / "root"
        self.root.mkdir()
        self.work = top / "work"
        self.points, self.server = [], None
        harness.own_etc(self.etc, keys)
        for name in ("ssh", "hpnssh"):
            shutil.rmtree(self.etc / name, ignore_errors=True)
        with open(self.etc / "hosts", "w", encoding="ascii") as f:
            f.write(f"127.0.0.1 localhost {NAMES}\n")
        for name in ("user", "me", "alice"):
            self.account(name)
        (self.etc / "pam.d").mkdir(exist_ok=True)
        for service in ("sshd", "hpnsshd"):
            (self.etc / "pam.d" / service).write_text("".join(
                f"{kind} required pam_unix.so\n"
                for kind in ("auth", "account", "session")))
        self.work.mkdir()
        os.chown(self.work, UID, UID)
        harness.open_up(self.work)
        self.holder = None

    def account(self, name):
        home = self.top / name
        (home / ".ssh").mkdir(parents=True)
        for file, text in (
                ("passwd", f"{name}:x:{UID}:{UID}::{home}:/bin/sh"),
                ("shadow", f"{name}:{HASH}:19000::::::"),
                ("group", f"{name}:x:{UID}:")):
            path = self.etc / file
            lines = [line for line in path.read_text().splitlines()
                     if not line.startswith(f"{name}:")]
            # The first of a number is the one that has it.
            at = len(lines) if name != "user" else 0
            lines.insert(at, text)
            path.write_text("\n".join(lines) + "\n")
        (home / ".ssh/authorized_keys").write_text(
            self.keys.public("ed25519") + "\n")
        shutil.copy(self.keys.path("ed25519"), home / ".ssh/id_ed25519")
        # For who says yes to a new host; the second of two is alice's.
        (home / ".ssh/config").write_text(
            "Host two.example.org\nUser alice\n"
            "Host *\nStrictHostKeyChecking accept-new\n")
        for path in (home, home / ".ssh", *(home / ".ssh").iterdir()):
            os.chown(path, UID, UID)
        return home

    def mount(self, source, place):
        self.points.append(MountPoint(place))
        return [source, place]

    def begin(self):
        """The prefix as make install leaves it, for root, in place."""
        prefix = self.paths["prefix"]
        if prefix == Path("/usr"):
            pytest.skip("this build's place is the system's")
        run(["make", "-s", "-C", BUILD, "install", f"DESTDIR={self.root}"],
            timeout=300).ok()
        binds = [self.etc, "/etc",
                 *self.mount(self.root / str(prefix).lstrip("/"), prefix)]
        conf = self.paths["confdir"]
        if prefix not in conf.parents:
            binds += self.mount(self.root / str(conf).lstrip("/"), conf)
        self.hold(binds)
        self.type("hpnssh-keygen -A", root=True)

    def hold(self, binds):
        self.holder = harness.start(
            ["unshare", "-n", "-m", "--propagation", "private", "sh", "-c",
             ENTER, "sh", *map(str, binds), "--", "sh", "-c",
             "echo; exec sleep 86400"], stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        assert self.holder.stdout.readline() == b"\n"

    def within(self, words, root):
        env = {"PATH": f"{self.paths['bindir']}:{self.paths['sbindir']}:"
                       f"{os.environ['PATH']}", "LANG": "C.UTF-8",
               "HOME": "/root" if root else str(self.top / "user")}
        ids = [] if root else ["setpriv", f"--reuid={UID}", f"--regid={UID}",
                               "--clear-groups"]
        at = f"/proc/{self.holder.pid}/ns"
        return ["nsenter", f"--net={at}/net", f"--mount={at}/mnt", *ids,
                "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh",
                str(self.work), "env", "-i", *[f"{k}={v}" for k, v in
                                               env.items()], *words]

    def run(self, line, root=False):
        return run(self.within(["sh", "-c", line], root))

    def type(self, line, root=False):
        done = self.run(line, root)
        assert done.rc == 0, f"{line}: {done.rc}\n{done.text}{done.errors}" \
            + (self.said() if self.server else "")
        return done

    def drop_in(self, name, text):
        conf = self.root / str(self.paths["confdir"]).lstrip("/")
        (conf / "sshd_config.d" / name).write_text(text)

    def said(self):
        return (self.top / "log").read_text(errors="replace")

    def serve(self):
        with open(self.top / "log", "wb") as log:
            self.server = harness.start(
                self.within(["hpnsshd", "-D", "-e"], root=True),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        assert wait_for(lambda: self.said().count("listening on") >= 3
                        or self.server.poll() is not None)
        assert self.server.poll() is None, self.said()

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait(10)
            harness.kill_group(self.server)
            self.server = None

    def end(self):
        self.stop()
        if self.holder:
            self.holder.kill()
            self.holder.wait(10)
            self.holder.stdout.close()
        for point in self.points:
            point.end()


@pytest.fixture
def bare(keys):
    """A machine where nothing of ours is installed yet."""
    with harness.short_directory() as top:
        top.chmod(0o755)
        machine = Machine(top, keys)
        try:
            yield machine
        finally:
            machine.end()


# ---- before the installation ---------------------------------------------

def test_before_it_is_installed(bare):
    """What is missing is named, with what makes it."""
    conf = bare.paths["confdir"]
    binds = [bare.etc, "/etc"]
    if conf.parent != Path("/etc"):
        empty = bare.top / "empty"
        empty.mkdir()
        binds += bare.mount(empty, conf.parent)
    bare.hold(binds)
    stock = bare.etc / "ssh/sshd_config"
    stock.parent.mkdir()
    stock.write_text("UsePAM no\n")
    done = bare.run(f"{hpn('sshd')} -t -f /etc/ssh/sshd_config", root=True)
    missing, last = done.errors.splitlines()
    assert done.rc == 1 and last == "sshd: no hostkeys available -- exiting."
    assert missing == "there is no " + ", ".join(
        f"{conf}/ssh_host_{kind}_key"
        for kind in ("rsa", "ecdsa", "ed25519", "mldsa44_ed25519")) \
        + ": make install, or the package, makes the directory, then " \
        f"{bare.paths['bindir']}/hpnssh-keygen -A the keys; -h FILE names " \
        "another key"
    done = bare.run(f"{hpn('sshd')} -T -C user=alice,addr=192.0.2.7", root=True)
    assert done.rc == 1 and done.errors.splitlines() == [
        f"{conf}/sshd_config: No such file or directory",
        "make install, or the package, puts one there; -f FILE reads another, "
        "-f none does without"]
    # What it says helps.
    bare.type(f"{hpn('ssh-keygen')} -q -t ed25519 -N '' -f /etc/ssh/key",
              root=True)
    for more in ("-f /etc/ssh/sshd_config", "-f none"):
        bare.type(f"{hpn('sshd')} -t {more} -h /etc/ssh/key", root=True)


def test_keys_that_are_not_made_yet(bare):
    """The command that the message names is the one that makes them."""
    bare.begin()
    for path in (bare.root / str(bare.paths["confdir"]).lstrip("/")).glob(
            "ssh_host_*"):
        path.unlink()
    done = bare.run("hpnsshd -t", root=True)
    command, = re.findall(r": (\S+ -A) makes them;", done.errors)
    bare.type(command, root=True)
    assert bare.type("hpnsshd -t", root=True).errors == ""


# ---- the pages -----------------------------------------------------------

# Whatever stands for a place of somebody's machine.
PLACES = {"user@host:/data/": "user@host:{top}/data/",
          "/usr/libexec/hpnssh/links": "{links}"}
# A part of a command, or one that another test gives.
ELSEWHERE = {
    "hpnssh -v": "a part",
    "hpnscp -j 8": "a part",
    "hpnssh --check dtn.example": "test_check.py",
    "hpnscp --direct one:big.tar two:": "test_direct.py",
    "hpnscp --report=copy.html ...": "test_report.py",
    "hpnssh -tt host cat big": "test_shares.py",
    "hpnsync --report=copy.html ...": "test_report.py",
    "hpnsync --grant=job": "test_sync_grants.py",
    "hpnssh-keygen -q -s ca -I $USER -n $USER -V +12h key.pub":
        "test_certificate_command.py",
}
# What is there afterwards, below the home of user, me or alice, or the
# directory of the command.
MADE = {
    "hpnscp -Z -r --retry --verify tree user@host:/data/": "data/tree/file",
    "hpnsync -a --delete dir/ user@host:mirror/": "user/mirror/file",
    "hpnssh -J gate user@inner": None,
    "hpnssh -L 8080:db:80 user@host": None,
    "PATH=/usr/libexec/hpnssh/links:$PATH rsync -a dir host:": "user/dir/file",
    "sudo hpnsshd -t -f /etc/ssh/sshd_config": None,
    "hpnscp -rp host:project .": "work/project/file",
    "hpnscp -P 2200 *.jpg me@host:pictures/": "me/pictures/2.jpg",
    "hpnscp -rpZ --verify data host:backup/": "user/backup/data/file",
    "hpnscp -rpZ --retry=100 data host:backup/": "user/backup/data/file",
    "hpnscp -J me@gate.example.org big.tar build:": "user/big.tar",
    "hpnscp -v big.tar host:": "user/big.tar",
    "hpnscp -j 8 -r data host:": "user/data/file",
    "hpnscp -o CongestionControl=bbr big.tar host:": "user/big.tar",
    "hpnscp -z public.tar host:": "user/public.tar",
    "hpnscp -B --json -r data host: >events": "work/events",
    "jq 'select(.event == \"error\")' events": None,
    "hpnscp one.example.org:file two.example.org:": "alice/file",
    "hpnssh-keygen -t ed25519 -f ca": "work/ca.pub",
    "hpnssh-keygen -s ca -z 17 -I alice@2026-11 -n alice -V +12h alice.pub":
        "work/alice-cert.pub",
    'echo "serial: 17" | hpnssh-keygen -k -f revoked -s ca.pub -':
        "work/revoked",
    "hpnsshd -T -C user=alice,addr=192.0.2.7 | grep -i methods": None,
}


def page(name):
    """What is on it in order: ("conf", text) of the server, ("line", text)"""
    text = (TOP / name).read_text()
    if name.startswith("man/"):
        for found in re.findall(r"^(?:\.Dl )?\$ (.*)", text, re.M):
            for escape, plain in ((r"\&", ""), (r"\(aq", "'"), (r"\(dq", '"')):
                found = found.replace(escape, plain)
            yield "line", found
        return
    for fence, conf, line, span in re.findall(
            r"^```(\S*)\n(.*?)^```$|^ {4,}(\S[^\n]*)|`([^`]+)`", text,
            re.M | re.S):
        if conf:
            if fence == "sshd_config":
                yield "conf", conf
            continue
        # The first column of a block ends before what is said of it.
        for one in re.split(r"\s+# ", " ".join(span.split()) or line)[:1]:
            one = one.strip()
            if re.search(r"(^|[|] *|sudo |PATH\S* )(hpn|rsync )\S* *\S* ",
                         one + " ") and " " in one:
                yield "line", one


def prepare(m):
    for name in ("tree", "dir", "data"):
        (m.work / name).mkdir()
        (m.work / name / "file").write_bytes(harness.noise(70000))
    for name in ("1.jpg", "2.jpg", "big.tar", "public.tar"):
        (m.work / name).write_bytes(harness.noise(300000))
    for name in ("user/project", "user/backup"):
        (m.top / name).mkdir()
        os.chown(m.top / name, UID, UID)
    for name in ("user/project/file", "user/file"):
        (m.top / name).write_text("it\n")
    (m.work / "alice.pub").write_text(m.keys.public("ed25519") + "\n")
    (m.top / "data").mkdir()
    os.chown(m.top / "data", UID, UID)
    for path in m.work.rglob("*"):
        os.chown(path, UID, UID)
    (m.etc / "ssh").mkdir()
    (m.etc / "ssh/sshd_config").write_text(
        "KbdInteractiveAuthentication no\nUsePAM no\nX11Forwarding yes\n"
        "AcceptEnv LANG LC_*\nSubsystem sftp /usr/lib/openssh/sftp-server\n")
    m.drop_in("10-walk.conf", "Port 22\nPort 2200\nNoneEnabled yes\n"
              f"HostKey {m.paths['confdir']}/ssh_host_ed25519_key\n")


def walk(m, name):
    """Types what is there, and says which commands it was."""
    typed = []
    for kind, text in page(name):
        if kind == "conf":
            text = re.sub(r"(?m)^MetricsTextfile .*",
                          f"MetricsTextfile {m.top}/hpnsshd.prom", text)
            m.drop_in("00-page.conf", text)
            m.type("hpnsshd -t", root=True)
            continue
        if text in ELSEWHERE:
            continue
        assert text in MADE, f"{name}: {text}: say in MADE what it makes"
        line = text
        for place, here in PLACES.items():
            line = line.replace(place, here.format(
                top=m.top, links=m.paths["linkdir"]))
        root = line.startswith(("sudo ", "hpnsshd "))
        done = m.type(line.removeprefix("sudo "), root=root)
        if "grep -i methods" in line:
            assert done.text == ("authenticationmethods "
                                 "publickey,keyboard-interactive:pam\n")
        assert not MADE[text] or (m.top / MADE[text]).exists(), text
        typed.append(text)
    return typed


def test_walk(bare):
    bare.begin()
    prepare(bare)
    bare.serve()
    typed = walk(bare, "README.md")
    assert len(typed) == 6
    typed += walk(bare, "man/hpnscp.1")
    assert not bare.type("jq -r .text events | grep -v null || :").text
    typed += walk(bare, "docs/CENTRES.md")
    assert set(typed) == set(MADE)


def test_metrics_without_a_directory(bare):
    """The directory of the counters is made: it was not there."""
    bare.begin()
    prepare(bare)
    text, = [text for kind, text in page("docs/CENTRES.md")
             if kind == "conf" and "MetricsTextfile" in text]
    target = bare.top / "hpnsshd.prom"
    bare.drop_in("00-page.conf", f"{text.split()[0]} {target}\n")
    run_dir = bare.root / str(bare.paths["runstatedir"]).lstrip("/")
    shutil.rmtree(run_dir)
    bare.serve()
    bare.type("hpnssh user@host true")
    assert wait_for(target.exists), bare.said()
    assert sorted(p.name for p in run_dir.iterdir()) == [
        "hpnsshd.counters", "hpnsshd.pid"]
    assert "counters" not in bare.said()
    # One that goes while it runs is named.
    shutil.rmtree(run_dir)
    target.unlink()
    bare.type("hpnssh user@host true")
    assert wait_for(lambda: f"counters {bare.paths['runstatedir']}/hpnsshd."
                    "counters: No such file or directory: they are made in "
                    "the directory of PidFile" in bare.said())
