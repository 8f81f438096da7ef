# SPDX-License-Identifier: ISC
"""hpnssh-keysign installed setuid root and started by a hostile user: it signs
what is true, and nothing that the user sets, opens, closes or tries gets at
the host's keys."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hostbased
import pytest
from cryptography.exceptions import InvalidSignature
from hostbased import KEY, NAME, USER
from ownetc import OWN_GROUP, UID, Opened
from sshwire import USERAUTH_REQUEST, Reader, load_key, message, string, u32

import harness

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd", "ssh-keysign"),
    reason="hpnssh-keysign is not built")

AS_USER = Path(__file__).parent / "keysign_user.py"
NOT_TRUE = {
    "session": ({"session": bytes(16)}, "no session identifier"),
    "kind": ({"kind": 51}, "no request for host-based"),
    "login": ({"login": ""}, "no request for host-based"),
    "service": ({"service": "ssh-userauth"}, "another service"),
    "method": ({"method": "publickey"}, "no request for host-based"),
    "algorithm": ({"alg": "rsa-sha2-512"}, "no algorithm for this key"),
    "blob": ({"blob": b"xx"}, "no key that is known"),
    "host": ({"host": "elsewhere.hpntest."}, "not this host's"),
    "user": ({"user": "root"}, "not the caller's"),
    "behind": ({"behind": b"\0"}, "malformed data"),
    "version": ({"version": 1}, "another version"),
    "descriptor": ({"fd": 1}, "not where it has to be"),
}


class Caller:
    """Requests of a user of the place's host."""

    def __init__(self, place):
        self.place = place
        self.key = load_key(place.keys.path(KEY))
        self.program = place.helpers_place / "hpnssh-keysign"
        self.script = place.dir / AS_USER.name
        shutil.copy(AS_USER, self.script)

    def data(self, session=bytes(32), kind=USERAUTH_REQUEST, login="root",
             service="ssh-connection", method="hostbased", alg="ssh-ed25519",
             blob=None, host=f"{NAME}.", user=USER, behind=b""):
        return string(session) + message(
            kind, login, service, method, alg,
            string(self.key.blob if blob is None else blob), host, user,
            behind)

    def request(self, version=2, fd=3, **fields):
        return string(bytes([version]) + u32(fd) + string(self.data(**fields)))

    def command(self, user=UID):
        return self.place.own_command(sys.executable, "-I", self.script,
                                      user=user)

    def order(self, how, request=None):
        how.setdefault("program", str(self.program))
        how.setdefault("env", {})
        how["request"] = (self.request() if request is None
                          else request).hex()
        return json.dumps(how) + "\n"

    def read(self, line):
        got = json.loads(line)
        if got.get("skip"):
            pytest.skip("users cannot make network namespaces here")
        return got

    def ask(self, request=None, user=UID, **how):
        done = harness.run(self.command(user), stdin=self.order(
            how, request).encode()).ok()
        return self.read(done.out)

    def is_signed(self, got, **fields):
        if not got["answer"]:
            return False
        body = Reader(Reader(bytes.fromhex(got["answer"])).string())
        assert body.u8() == 2
        signature = Reader(body.string())
        assert signature.text() == "ssh-ed25519"
        try:
            self.key.private.public_key().verify(signature.string(),
                                                 self.data(**fields))
        except InvalidSignature:
            return False
        return True

    def signed(self, request=None, **how):
        got = self.ask(request, **how)
        assert self.is_signed(got) and got["rc"] == 0, got
        assert got["errors"] == ""

    def refused(self, why, request=None, **how):
        got = self.ask(request, **how)
        assert got["answer"] == "" and got["rc"] == 255 << 8, got
        assert why in got["errors"], got
        assert got["errors"].count("\n") == 1, got


@pytest.fixture(scope="module")
def one_caller(keys, nothing_left):
    with hostbased.place(keys) as place:
        yield Caller(place)


@pytest.fixture
def caller(one_caller):
    one_caller.place.fresh()
    return one_caller


# ---- what is signed -----------------------------------------------------

def test_signs_what_is_true(caller):
    caller.signed()


@pytest.mark.parametrize("what", NOT_TRUE)
def test_signs_nothing_else(caller, what):
    fields, why = NOT_TRUE[what]
    caller.refused(why, caller.request(**fields))


def test_real_user_counts(caller):
    """Root's rights are the program's, not the caller's: another user's name
    is refused, and this user's to another user."""
    caller.refused("not the caller's", user=0)
    got = caller.ask(caller.request(user="root"), user=0)
    assert caller.is_signed(got, user="root")
    caller.refused("no account for user ID 54798", user=54798)


def test_sizes(caller):
    """A body of more than 128 KiB is not waited for, nor is one that ends
    early taken."""
    for size, why in ((128 * 1024 + 1, "malformed request"),
                      (0xffffffff, "malformed request"),
                      (128 * 1024, "malformed request")):
        caller.refused(why, u32(size))
    caller.refused("malformed request", b"")
    caller.refused("malformed data", caller.request(
        blob=bytes(127 * 1024), behind=b"\0"))
    caller.refused("no key that is known", caller.request(
        blob=bytes(127 * 1024)))


# ---- the connection -----------------------------------------------------

def test_name_is_of_the_connection(caller):
    """Where there is none with an address of this host, the name is the one
    that the system has."""
    system = os.uname().nodename
    hosts = caller.place.etc / "hosts"
    before = hosts.read_text()
    hosts.write_text(f"{before}192.0.2.7 lie.hpntest\n0.0.0.0 lie.hpntest\n"
                     "127.0.0.2 second.hpntest\n")
    try:
        caller.refused("not this host's",
                       caller.request(host="lie.hpntest."),
                       connection="unconnected")
        for how in ("unconnected 192.0.2.7", "unconnected", "pipe"):
            caller.refused("not this host's",
                           caller.request(host="lie.hpntest."),
                           connection=how)
            got = caller.ask(caller.request(host=f"{system}."),
                             connection=how)
            assert caller.is_signed(got, host=f"{system}."), (how, got)
        got = caller.ask(caller.request(host="second.hpntest."),
                         connection="at 127.0.0.2")
        assert caller.is_signed(got, host="second.hpntest."), got
        caller.refused("not this host's",
                       caller.request(host="lie.hpntest."),
                       connection="elsewhere 192.0.2.7")
    finally:
        hosts.write_text(before)


# ---- descriptors, limits, environment -----------------------------------

@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_closed_descriptors(caller, closed):
    """No file that is opened gets into the place of one of these."""
    got = caller.ask(closed=closed)
    if closed == [2]:
        assert caller.is_signed(got)
    else:
        assert got["answer"] == "" and got["rc"] in (0, 255 << 8)


@pytest.mark.parametrize("closed", [[3], [2, 3], [0, 1, 2, 3]])
def test_no_connection(caller, closed):
    got = caller.ask(closed=closed)
    assert got["answer"] == "" and got["rc"] == 255 << 8
    if 2 not in closed:
        assert "descriptor 3 is not open" in got["errors"]


def test_every_descriptor_in_use(caller):
    """Descriptors of the caller are closed. (Where not one is left, the
    dynamic linker ends it all. Over the connection the file is one that has no
    name of its own.)"""
    for first, last, signed in ((4, 62, True), (4, 63, False),
                                (3, 62, False)):
        got = caller.ask(open="/etc/hosts", limits={"RLIMIT_NOFILE": 64},
                         **{"from": first, "to": last + 1})
        assert caller.is_signed(got) == signed, got


def test_few_descriptors(caller):
    """Fails with a line, or signs; it never takes a key for something
    else."""
    signed = []
    for most in range(10):
        got = caller.ask(limits={"RLIMIT_NOFILE": most})
        assert b"PRIVATE KEY" not in bytes.fromhex(got["answer"])
        signed.append(caller.is_signed(got))
        assert got["rc"] in ([0] if signed[-1] else [255 << 8, 127 << 8])
        assert signed[-1] or got["errors"]
    assert not signed[0] and signed[-1]


@pytest.mark.parametrize("limit", ["RLIMIT_CORE", "RLIMIT_FSIZE",
                                   "RLIMIT_NPROC", "RLIMIT_MEMLOCK"])
def test_limits(caller, limit):
    caller.signed(limits={limit: 0})


def test_little_memory(caller):
    for size in (1 << 20, 4 << 20, 8 << 20):
        got = caller.ask(limits={"RLIMIT_AS": size})
        assert got["answer"] == "" or caller.is_signed(got)


def test_arguments_and_signals(caller):
    caller.signed(argv=["-v", "--config", "/dev/null"],
                  ignored=[1, 2, 3, 13, 15, 17])


def hostile_environment(top):
    for name in ("preload.so", "audit.so", "libcrypto.so.3", "libc.so.6",
                 "openssl.cnf", "gconv-modules", "aliases", "id"):
        (top / name).write_text("not what it should be\n")
    (top / ".ssh").mkdir()
    (top / ".ssh" / "config").write_text("EnableSSHKeysign no\n")
    for path in (top / ".ssh" / "config", *top.iterdir()):
        os.chown(path, UID, OWN_GROUP)
    env = {name: str(top) for name in (
        "PATH", "HOME", "LD_LIBRARY_PATH", "OPENSSL_MODULES",
        "OPENSSL_ENGINES", "GCONV_PATH", "LOCPATH", "TMPDIR", "SSL_CERT_DIR",
        "SYSTEMD_NSS_RESOLVE_VALIDATE", "NLSPATH", "TZDIR", "SSL_CERT_FILE",
        "XDG_CONFIG_HOME", "LD_ORIGIN_PATH")}
    env.update(
        LD_PRELOAD=f"{top}/preload.so", LD_AUDIT=f"{top}/audit.so",
        LD_DEBUG="all", LD_DEBUG_OUTPUT=f"{top}/debug", LD_BIND_NOW="1",
        OPENSSL_CONF=f"{top}/openssl.cnf", KRB5_CONFIG=f"{top}/krb5.conf",
        KRB5_KTNAME=f"{top}/keytab", TZ=f":{top}/zone",
        CTLOG_FILE=f"{top}/ctlog", HOSTALIASES=f"{top}/aliases",
        LOCALDOMAIN="lie.hpntest", RES_OPTIONS="debug ndots:9",
        RESOLV_MULTI="on", RANDFILE=f"{top}/id", MALLOC_CHECK_="3",
        MALLOC_TRACE=f"{top}/trace", MALLOC_PERTURB_="165",
        MALLOC_ARENA_MAX="1", GLIBC_TUNABLES="glibc.malloc.check=3",
        OPENSSL_ia32cap="0x0", LANG="xx_XX", LC_ALL="xx_XX",
        USER="root", LOGNAME="root", SHELL="/bin/false", IFS="/")
    return env


def test_environment(caller):
    """No file that a variable names is opened; the same program without the
    bit opens them."""
    top = caller.place.dir / "hostile"
    top.mkdir()
    os.chown(top, UID, OWN_GROUP)
    env = hostile_environment(top)
    plain = caller.place.dir / "keysign-plain"
    shutil.copy(harness.hpn("ssh-keysign"), plain)
    before = sorted(os.listdir(top))
    try:
        with Opened(top) as opened:
            caller.signed(env=env)
            caller.refused("not the caller's", caller.request(user="root"),
                           env=env)
            assert opened.names() == []
            assert sorted(os.listdir(top)) == before
            caller.ask(program=str(plain), env=env)
            assert "preload.so" in opened.names()
    finally:
        shutil.rmtree(top)
        plain.unlink()


# ---- the configuration --------------------------------------------------

def test_configuration_runs_nothing(caller):
    """What a Match exec of the system's file would run would have the host's
    keys open behind it, and the caller could choose what it sees."""
    ran = caller.place.home / "ran"
    caller.place.system("ssh_config", f'Match exec "touch {ran}"\n'
                        "EnableSSHKeysign yes\n")
    caller.refused("not enabled")
    assert not ran.exists()


def test_configuration_of_root_only(caller):
    place = caller.place
    part, mine = place.conf / "part", place.home / "mine"
    place.system("ssh_config", f"Include part\nInclude {mine}\n")
    part.write_text("EnableSSHKeysign yes\n")
    caller.signed()
    part.write_text("\n")
    mine.write_text("EnableSSHKeysign yes\n")
    caller.ask()  # root's file, wherever it is
    os.chown(mine, UID, OWN_GROUP)
    got = caller.ask()
    assert got["answer"] == "" and f"permissions on {mine}" in got["errors"]
    mine.unlink()
    caller.refused("not enabled")
    part.write_text("EnableSSHKeysign yes\n")
    part.chmod(0o666)
    got = caller.ask()
    assert got["answer"] == "" and "permissions on " in got["errors"]
    part.unlink()


# ---- while it runs ------------------------------------------------------

def status_of(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1)
                    for line in f if ":\t" in line)


def environment_of(pid):
    """What its variable `environ` has: the program's, or else the C
    library's."""
    starts = {}
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        area, *_, path = line.split(maxsplit=5)
        if path.startswith("/"):
            starts.setdefault(path, int(area.split("-")[0], 16))
    program = os.readlink(f"/proc/{pid}/exe")
    for path in (program, *(p for p in starts if "/libc" in p)):
        # The program's file is in a namespace of its own.
        file = harness.hpn("ssh-keysign") if path == program else path
        found = re.search(r"^([0-9a-f]+) [BVD] environ\b", harness.run(
            ["nm", "-D", file]).text, re.M)
        if found:
            with open(f"/proc/{pid}/mem", "rb") as mem:
                mem.seek(starts[path] + int(found[1], 16))
                return int.from_bytes(mem.read(8), "little")
    pytest.fail("there is no variable environ")


def look(caller, after):
    """The program when it has begun to read, as root sees it; and how it
    ended after what the user has done then."""
    process = harness.start(caller.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)
    try:
        process.stdin.write(caller.order({"look": after}))
        process.stdin.flush()
        begun = caller.read(process.stdout.readline())
        pid = begun["pid"]
        begun["status"] = status_of(pid)
        begun["limits"] = Path(f"/proc/{pid}/limits").read_text()
        begun["fds"] = {int(fd): os.readlink(f"/proc/{pid}/fd/{fd}")
                        for fd in os.listdir(f"/proc/{pid}/fd")}
        begun["owner"] = os.stat(f"/proc/{pid}/mem").st_uid
        begun["environment"] = environment_of(pid)
        ended, _ = process.communicate("\n", timeout=harness.LONG)
        return begun, json.loads(ended)
    finally:
        harness.kill_group(process)


def test_has_no_rights_when_it_reads(caller):
    begun, ended = look(caller, "go on")
    status = begun["status"]
    assert status["Uid"].split() == [str(UID)] * 4, status
    assert status["Gid"].split() == [str(OWN_GROUP)] * 4, status
    assert status["Groups"].split() == [], status
    for kind in ("CapPrm", "CapEff"):
        assert int(status[kind], 16) == 0, status
    assert sorted(begun["fds"]) == [0, 1, 2, 3], begun["fds"]
    assert begun["environment"] == 0  # no variable is left
    assert caller.is_signed(ended) and ended["rc"] == 0, ended


def test_cannot_be_looked_into(caller):
    begun, _ = look(caller, "go on")
    denied = {f"no {e}" for e in (errno.EPERM, errno.EACCES)}
    for what, came in begun["tried"].items():
        for one in came if isinstance(came, list) else [came]:
            assert one in denied, (what, came)
    assert begun["owner"] == 0  # of a process that may be traced: the user


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGTERM"])
def test_leaves_no_core(caller, name):
    begun, ended = look(caller, name)
    assert ended["rc"] & 0x7f != 0 and ended["rc"] & 0x80 == 0, ended
    core, = [line for line in begun["limits"].splitlines()
             if line.startswith("Max core file size")]
    assert core.split()[4:6] == ["0", "0"]
