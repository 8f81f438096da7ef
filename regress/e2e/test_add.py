# SPDX-License-Identifier: ISC
"""hpnssh-add with an agent that keeps what it was asked, and with agents that
are broken or hostile."""

import base64
import os
import pwd
import shutil
import stat
import struct
import time

import pytest

import fake_agent
import harness
from fake_agent import FAILURE, FakeAgent, string, strings
from harness import clean_env, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh-add"),
                                reason="hpnssh-add is missing")


@pytest.fixture
def make_agent(tmp_path):
    made = []

    def make(*args, **kw):
        made.append(FakeAgent(tmp_path / f"agent{len(made)}", *args, **kw))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def agent(make_agent):
    return make_agent()


def add(agent, *args, stdin=b"", env=None, **kw):
    return run([hpn("ssh-add"), *args], stdin=stdin,
               env=clean_env(**agent.env(), **(env or {})), **kw)


def keygen(*args, **kw):
    return run([hpn("ssh-keygen"), "-q", *args], **kw).ok()


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    top = tmp_path_factory.mktemp("add")
    keygen("-t", "ed25519", "-N", "", "-C", "my comment", "-f", top / "key")
    keygen("-t", "ed25519", "-N", "", "-C", "", "-f", top / "ca")
    for name in ("one", "two"):
        keygen("-t", "ed25519", "-N", "secret", "-C", name, "-f", top / name)
    return top


@pytest.fixture
def here(pool, tmp_path):
    for path in pool.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def blob(path):
    return base64.b64decode(path.read_text().split()[1])


def constraints(request):
    """What stands behind an ed25519 key, and behind its comment."""
    assert request[0] == fake_agent.ADD_CONSTRAINED
    (name, _, _, comment), rest = strings(request[1:], 4)
    assert name == b"ssh-ed25519"
    return comment, rest


# ---- no agent -----------------------------------------------------------

def test_no_agent(here):
    for env, text in (({}, "Could not open a connection to your "
                           "authentication agent."),
                      ({"SSH_AUTH_SOCK": here / "none"},
                       "Error connecting to agent: No such file or "
                       "directory")):
        done = run([hpn("ssh-add"), here / "key"], env=clean_env(**env))
        assert done.rc == 2 and done.errors.strip() == text
        assert done.out == b""


# ---- adding -------------------------------------------------------------

def test_key(agent, here):
    done = add(agent, "key", cwd=here).ok()
    assert done.errors.splitlines() == ["Identity added: key (my comment)"]
    assert done.out == b""
    request, = agent.requests
    assert request[0] == fake_agent.ADD
    (name, point, both, comment), rest = strings(request[1:], 4)
    assert (name, comment, rest) == (b"ssh-ed25519", b"my comment", b"")
    assert blob(here / "key.pub") == string(name) + string(point)
    assert both[32:] == point


def test_key_of_the_standard_input(agent, here):
    done = add(agent, "-", stdin=(here / "key").read_bytes(), cwd=here).ok()
    assert done.errors.splitlines() == ["Identity added: (stdin) "
                                        "(my comment)"]


def test_quiet(agent, here):
    assert add(agent, "-q", "key", cwd=here).ok().errors == ""


def test_more_is_told(agent, here):
    quiet = add(agent, here / "key").ok().errors
    assert "debug" not in quiet
    told = add(agent, "-v", here / "key").ok().errors
    assert f"debug1: The agent is at {agent.env()['SSH_AUTH_SOCK']}" in told
    assert f"debug1: {here / 'key'} has a key of type ED25519\n" in told


def test_constraints(agent, here):
    done = add(agent, "-c", "-t", "1h", "key", cwd=here).ok()
    assert done.errors.splitlines() == [
        "Identity added: key (my comment)", "Lifetime set to 01:00:00",
        "The user must confirm each use of the key"]
    comment, rest = constraints(agent.requests[0])
    assert comment == b"my comment"
    assert rest == b"\x01" + struct.pack(">I", 3600) + b"\x02"


@pytest.mark.parametrize("text,shown", [
    ("59", "00:00:59"), ("1d", "1d00h00m"), ("90061", "1d01h01m"),
    ("1w2d", "1w2d00h")])
def test_lifetime(agent, here, text, shown):
    done = add(agent, "-t", text, "key", cwd=here).ok()
    assert f"Lifetime set to {shown}" in done.errors.splitlines()


@pytest.mark.parametrize("text", ["x", "-1", "4294967296", "1y", ""])
def test_bad_lifetime(agent, here, text):
    done = add(agent, "-t", text, "key", cwd=here)
    assert done.rc == 1 and done.errors == "Invalid lifetime\n"
    assert agent.requests == []


def test_destinations(agent, here):
    (here / "hosts").write_text(
        "a " + (here / "key.pub").read_text()
        + "@cert-authority *.b " + (here / "ca.pub").read_text())
    add(agent, "-h", "u@a", "-h", "a>x.b", "-H", "hosts", "key",
        cwd=here).ok()
    _, rest = constraints(agent.requests[0])
    key, ca = blob(here / "key.pub"), blob(here / "ca.pub")
    a = b"".join([string(b""), string(b"a"), string(b""), string(key), b"\0"])
    u_a = string(b"u") + a[4:]
    b = string(b"") + string(b"x.b") + string(b"") + string(ca) + b"\1"
    origin = string(b"") * 3
    listed = b"".join(string(string(f) + string(t) + string(b""))
                      for f, t in ((origin, u_a), (a, b)))
    assert rest == b"\xff" + string(
        b"restrict-destination-v00@openssh.com") + string(listed)


def test_unknown_destination(agent, here):
    done = add(agent, "-h", "nowhere", "-H", "hosts", "key", cwd=here)
    assert done.rc == 255 and agent.requests == []
    assert done.errors.strip() \
        == 'No host keys found for destination "nowhere"'


def test_refusal(make_agent, here):
    done = add(make_agent(FAILURE), "key", cwd=here)
    assert done.rc == 1
    assert done.errors == ('Could not add identity "key": agent refused '
                           "operation\n")


def test_one_of_several_fails(agent, here):
    done = add(agent, "key", "nowhere", "key", cwd=here)
    assert done.rc == 1 and agent.kinds() == [fake_agent.ADD] * 2
    assert "nowhere: No such file or directory" in done.errors.splitlines()


def test_others_can_read_it(agent, here):
    (here / "key").chmod(0o644)
    done = add(agent, "key", cwd=here)
    assert done.rc == 1 and agent.requests == []
    assert "UNPROTECTED PRIVATE KEY FILE" in done.errors


@pytest.mark.parametrize("content", [b"", b"junk\n", b"\0" * 2000000])
def test_no_key(agent, here, content):
    (here / "key").write_bytes(content)
    done = add(agent, "key", cwd=here)
    assert done.rc == 1 and agent.requests == [] and "key" in done.errors


# ---- passphrases --------------------------------------------------------

def test_passphrase(agent, here):
    """One that was right is tried with the next file too."""
    done = add(agent, "one", "key", "two", stdin=b"wrong\nsecret\n",
               cwd=here).ok()
    assert agent.kinds() == [fake_agent.ADD] * 3
    assert done.errors == (
        "Enter passphrase for one: Bad passphrase, try again for one: "
        "Identity added: one (one)\nIdentity added: key (my comment)\n"
        "Identity added: two (two)\n")


def test_giving_up(agent, here):
    done = add(agent, "-c", "one", "key", stdin=b"wrong\n\n", cwd=here)
    assert done.rc == 1 and agent.kinds() == [fake_agent.ADD_CONSTRAINED]
    assert done.errors.startswith(
        "Enter passphrase for one (will confirm each use): "
        "Bad passphrase, try again for one (will confirm each use): ")


def test_askpass(agent, here):
    script, asked = here / "askpass", here / "asked"
    script.write_text(f'#!/bin/sh\necho "$1" >> {asked}\necho secret\n')
    script.chmod(0o700)
    add(agent, "one", cwd=here,
        env={"SSH_ASKPASS": script, "DISPLAY": ":0"}).ok()
    assert asked.read_text() == "Enter passphrase for one: \n"


# ---- certificates -------------------------------------------------------

def certify(here, validity, name="key"):
    keygen("-s", here / "ca", "-I", "an id", "-n", "me", "-V", validity,
           here / f"{name}.pub")
    return blob(here / f"{name}-cert.pub")


def test_certificate(agent, here):
    cert = certify(here, "always:forever")
    done = add(agent, "key", cwd=here).ok()
    assert done.errors.splitlines() == [
        "Identity added: key (my comment)",
        "Certificate added: key-cert.pub (an id)"]
    plain, joined = agent.requests
    (_, point, both, _), _ = strings(plain[1:], 4)
    assert joined == bytes([fake_agent.ADD]) + b"".join(
        string(s) for s in (b"ssh-ed25519-cert-v01@openssh.com", cert, point,
                            both, b"my comment"))


def lifetime_of_certificate(request):
    _, rest = strings(request[1:], 5)
    assert rest[0] == 1 and len(rest) == 5
    return struct.unpack(">I", rest[1:])[0]


def test_certificate_that_ends(agent, here):
    """It goes 300 s after its end, if not before; the key stays."""
    certify(here, "+0:+1h")
    add(agent, "key", cwd=here).ok()
    add(agent, "-t", "2d", "key", cwd=here).ok()
    add(agent, "-t", "60", "key", cwd=here).ok()
    add(agent, "-N", "key", cwd=here).ok()
    kinds = agent.kinds()
    first, second, third, fourth = (agent.requests[i] for i in (1, 3, 5, 7))
    assert kinds[0] == fake_agent.ADD and kinds[1] \
        == fake_agent.ADD_CONSTRAINED
    for request in (first, second):
        assert 3600 + 300 - 60 < lifetime_of_certificate(request) <= 3900
    assert lifetime_of_certificate(third) == 60
    assert fourth[0] == fake_agent.ADD


def test_expired_certificate(agent, here):
    certify(here, "20200101:20200102")
    done = add(agent, "key", cwd=here).ok()
    assert agent.kinds() == [fake_agent.ADD]
    assert done.errors.splitlines()[1] == \
        "Certificate key-cert.pub has already expired; ignored"
    add(agent, "-N", "key", cwd=here).ok()
    assert agent.kinds() == [fake_agent.ADD] * 3


def test_certificate_of_another_key(agent, here):
    certify(here, "always:forever", "one")
    shutil.copy(here / "one-cert.pub", here / "key-cert.pub")
    done = add(agent, "key", cwd=here).ok()
    assert agent.kinds() == [fake_agent.ADD]
    assert done.errors.splitlines()[1] == \
        "Certificate key-cert.pub does not match private key key"


def test_only_the_key_or_only_the_certificate(agent, here):
    certify(here, "always:forever")
    add(agent, "-k", "key", cwd=here).ok()
    request, = agent.requests
    assert request[1:].startswith(string(b"ssh-ed25519"))
    # The status is about the plain key.
    assert add(agent, "-C", "key", cwd=here).rc == 1
    assert len(agent.requests) == 2 and agent.requests[1][1:].startswith(
        string(b"ssh-ed25519-cert-v01@openssh.com"))


# ---- removing, the lock, libraries --------------------------------------

def test_remove(agent, here):
    cert = certify(here, "always:forever")
    done = add(agent, "-d", "key", cwd=here).ok()
    assert agent.requests == [b"\x12" + string(blob(here / "key.pub")),
                              b"\x12" + string(cert)]
    assert done.errors.splitlines() == [
        "Identity removed: key ED25519 (my comment)",
        "Identity removed: key-cert.pub ED25519-CERT (my comment)"]
    add(agent, "-dk", "key", cwd=here).ok()
    add(agent, "-dC", "key", cwd=here).ok()
    assert agent.requests[2:] == agent.requests[:2]


def test_remove_by_lines(agent, here):
    done = add(agent, "-d", "-", cwd=here,
               stdin=b"# both\n\n" + (here / "key.pub").read_bytes()
               + b"junk\n" + (here / "ca.pub").read_bytes())
    assert done.rc == 1 and agent.kinds() == [fake_agent.REMOVE] * 2
    assert "(stdin):4: invalid key: " in done.errors
    assert add(agent, "-d", "-", cwd=here, stdin=b"\n").rc == 1


def test_remove_all(agent, make_agent):
    assert add(agent, "-D").ok().errors == "All identities removed.\n"
    assert agent.requests == [b"\x13"]
    done = add(make_agent(FAILURE), "-D")
    assert done.rc == 1
    assert done.errors == "Failed to remove all identities.\n"


def test_lock(agent, make_agent):
    done = add(agent, "-x", stdin=b"a\na\n").ok()
    assert done.errors == "Enter lock password: Again: Agent locked.\n"
    done = add(agent, "-X", stdin=b"a\n").ok()
    assert done.errors == "Enter lock password: Agent unlocked.\n"
    assert agent.requests == [b"\x16" + string(b"a"), b"\x17" + string(b"a")]
    done = add(agent, "-x", stdin=b"a\nb\n")
    assert done.rc == 1 and "Passwords do not match.\n" in done.errors
    assert len(agent.requests) == 2
    done = add(make_agent(FAILURE), "-X", stdin=b"a\n")
    assert done.rc == 1 and done.errors.endswith(
        "Failed to unlock agent: agent refused operation\n")


def test_library(agent, make_agent, here):
    certify(here, "always:forever")
    done = add(agent, "-s", "/lib/x.so", stdin=b"1234\n").ok()
    assert done.errors == ("Enter passphrase for PKCS#11: "
                           "Card added: /lib/x.so\n")
    assert add(agent, "-e", "/lib/x.so").ok().errors \
        == "Card removed: /lib/x.so\n"
    add(agent, "-C", "-t", "5", "-s", "l", "key-cert.pub", stdin=b"\n",
        cwd=here).ok()
    assert agent.requests == [
        b"\x14" + string(b"/lib/x.so") + string(b"1234"),
        b"\x15" + string(b"/lib/x.so") + string(b""),
        b"\x1a" + string(b"l") + string(b"") + b"\x01\0\0\0\5\xff"
        + string(b"associated-certs-v00@openssh.com") + b"\1"
        + string(string(blob(here / "key-cert.pub")))]
    # Plain keys may be among them, as with `*.pub`.
    add(agent, "-s", "l", "key.pub", "key-cert.pub", "key.pub", stdin=b"\n",
        cwd=here).ok()
    assert agent.requests[-1].endswith(
        b"certs-v00@openssh.com\0" +
        string(string(blob(here / "key-cert.pub"))))
    add(agent, "-s", "l", "key.pub", stdin=b"\n", cwd=here).ok()
    assert agent.requests[-1] == b"\x14" + string(b"l") + string(b"")
    assert add(agent, "-s", "l", "nowhere", stdin=b"\n", cwd=here).rc == 255
    done = add(make_agent(FAILURE), "-s", "l", stdin=b"\n")
    assert done.rc == 1 and done.errors.endswith(
        'Could not add card "l": agent refused operation\n')


# ---- showing ------------------------------------------------------------

def identities(*keys):
    return b"\x0c" + struct.pack(">I", len(keys)) + b"".join(
        string(k) + string(c) for k, c in keys)


def test_list(make_agent, here):
    key = blob(here / "key.pub")
    agent = make_agent(identities((key, b"c"), (b"\0\0\0\1x", b"unknown")))
    fingerprint = run([hpn("ssh-keygen"), "-l", "-f", here / "key.pub"]
                      ).ok().text.split()[1]
    assert add(agent, "-l").ok().text == f"256 {fingerprint} c (ED25519)\n"
    assert add(agent, "-L").ok().text == "ssh-ed25519 " + base64.b64encode(
        key).decode() + " c\n"
    assert " MD5:" in add(agent, "-l", "-E", "md5").ok().text
    for flag in "-l", "-L":
        done = add(make_agent(identities()), flag)
        assert done.rc == 1 and done.errors == ""
        assert done.text == "The agent has no identities.\n"


def test_comment_for_a_terminal(make_agent, here):
    """A comment cannot forge a line, nor reach the terminal."""
    agent = make_agent(identities((blob(here / "key.pub"),
                                   b"a\x1b]0;x\x07\nssh-rsa AAAA b")))
    for flag in "-l", "-L":
        out = add(agent, flag).ok().out
        assert b"\x1b" not in out and out.count(b"\n") == 1


def test_query(make_agent):
    agent = make_agent(b"\x1d" + string(b"query") + string(b"a@b")
                       + string(b"\x1b[2J"))
    assert add(agent, "-Q").ok().text == "a@b\n\\033[2J\n"
    assert agent.requests == [b"\x1b" + string(b"query")]
    for answer in FAILURE, b"\x1c", b"\x1d" + string(b"other"):
        done = add(make_agent(answer), "-Q")
        assert done.rc == 255 and done.out == b""


def test_test(make_agent, here):
    """Signatures are verified, and are over other bytes each time."""
    answers = [b"\x0e" + string(string(b"ssh-ed25519") + string(bytes(64))),
               b"\x0e" + string(string(b"ssh-rsa") + string(bytes(64))),
               FAILURE]
    signed = set()
    for answer in answers:
        agent = make_agent(answer)
        done = add(agent, "-T", "key.pub", cwd=here)
        assert done.rc == 1 and done.out == b""
        assert done.errors.startswith("Agent signature ")
        (key, data), flags = strings(agent.requests[0][1:], 2)
        assert key == blob(here / "key.pub") and flags == bytes(4)
        assert len(data) == 1024
        signed.add(data)
    assert len(signed) == len(answers)


# ---- hostile agents -----------------------------------------------------

@pytest.mark.parametrize("raw", [
    b"", b"\0\0\0\1", b"\xff\xff\xff\xff\x06", b"\0\0\0\0", b"\0\0\0\1\x0c",
    b"\0\0\0\5\x0c\xff\xff\xff\xff", b"\0\4\0\1\x06"])
@pytest.mark.parametrize("args", [["-l"], ["key"], ["-D"], ["-Q"],
                                  ["-T", "key.pub"]])
def test_broken_answers(make_agent, here, raw, args):
    def answer(_):
        return raw
    agent = make_agent(answer, raw=True)
    if len(raw) < 5:
        agent.answer = None
    done = add(agent, *args, cwd=here, timeout=20)
    assert done.rc in (1, 255) and done.out == b"" and done.errors


# ---- the command line ---------------------------------------------------

@pytest.mark.parametrize("args,rc,text", [
    (["-z"], 1, "usage: hpnssh-add"), (["-t"], 1, "usage: hpnssh-add"),
    (["-l", "-D"], 255, "Invalid combination of actions"),
    (["-l", "-l"], 255, "-l flag already specified"),
    (["-E", "foo", "-l"], 255, 'Invalid hash algorithm "foo"'),
    (["-T"], 255, "no keys to test"),
    (["-K", "-S", ""], 1, "Cannot download keys without provider"),
    (["-C", "-k", "key"], 255, "Invalid combination"),
])
def test_bad_command_line(agent, here, args, rc, text):
    done = add(agent, *args, cwd=here)
    assert done.rc == rc and text in done.errors and done.out == b""
    assert agent.requests == []


# ---- default files ------------------------------------------------------

def test_default_files(agent, here, other_user):
    account = pwd.getpwnam(other_user)
    directory = os.path.join(account.pw_dir, ".ssh")
    for part in here.parents:  # the agent's socket is for all
        if part.stat().st_uid == os.getuid() and len(part.parts) > 2:
            part.chmod(part.stat().st_mode | stat.S_IXOTH)
    here.chmod(here.stat().st_mode | stat.S_IXOTH)
    # Clients of other tests may have run as this user.
    shutil.rmtree(directory, ignore_errors=True)
    assert add(agent, user=other_user).rc == 1
    assert add(agent, "-d", user=other_user).rc == 1
    os.makedirs(directory)
    for name in "id_ed25519", "id_other":
        shutil.copy(here / "key", os.path.join(directory, name))
        os.chown(os.path.join(directory, name), account.pw_uid, -1)
    done = add(agent, user=other_user).ok()
    assert done.errors.splitlines() == [
        f"Identity added: {directory}/id_ed25519 (my comment)"]
    done = add(agent, "-d", user=other_user).ok()
    assert agent.kinds() == [fake_agent.ADD, fake_agent.REMOVE]
    shutil.rmtree(directory)


def test_many_keys_are_quick(make_agent, here):
    """As many as an agent may have, and no more."""
    key = blob(here / "key.pub")
    began = time.monotonic()
    agent = make_agent(identities(*[(key, b"c")] * 2048))
    assert add(agent, "-l").ok().text.count("\n") == 2048
    assert add(make_agent(identities(*[(key, b"")] * 2049)), "-l").rc == 1
    assert time.monotonic() - began < 20 * harness.SLOW
