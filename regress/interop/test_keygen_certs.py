# SPDX-License-Identifier: ISC
"""Certificates by hpnssh-keygen and by the installed ssh-keygen: what one
makes the other reads, and both say the same of it."""

import base64
import os
import random
import shutil

import pytest
from agents import each_agent as agent  # noqa: F401

import harness
from harness import hpn, run, stock

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh-keygen")
    or not harness.have("stock", "ssh-keygen"),
    reason="hpnssh-keygen or ssh-keygen is missing")

TOOLS = ("hpn", "stock")
KINDS = {"ed25519": ["-t", "ed25519"],
         "ecdsa256": ["-t", "ecdsa"],
         "ecdsa384": ["-t", "ecdsa", "-b", "384"],
         "ecdsa521": ["-t", "ecdsa", "-b", "521"],
         "rsa": ["-t", "rsa", "-b", "2048"]}
NO_NAMES = "Warning: certificate will contain no principals (-n)\n"


def keygen(tool, *args, **kw):
    program = hpn("ssh-keygen") if tool == "hpn" else stock("ssh-keygen")
    env = harness.clean_env(TZ="UTC", **kw.pop("env", {}))
    return run([program, *args], env=env, **kw)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A key of each kind, and one of a certificate authority."""
    top = tmp_path_factory.mktemp("certs")
    for kind, args in {**KINDS, "ca": ["-t", "ed25519"]}.items():
        keygen("hpn", "-q", "-N", "", "-C", f"comment of {kind}", *args,
               "-f", top / kind).ok()
    return top


@pytest.fixture
def here(pool, tmp_path):
    """The same, in a directory of the test's own."""
    for path in pool.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def said(done):
    """What a tool says when it signs, as far as both say it."""
    return done.errors.replace("\r", "").replace(NO_NAMES, "")


def show(tool, path):
    return keygen(tool, "-L", "-f", path).ok().text


# ---- every type ---------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ca", KINDS)
def test_every_type_by_every_type(here, kind, ca):
    for tool in TOOLS:
        keygen(tool, "-s", here / ca, "-I", "an id", "-n", "a,b", "-z", "9",
               "-V", "20200101:20400101", here / f"{kind}.pub").ok()
        cert = here / f"{kind}-cert.pub"
        assert show("hpn", cert) == show("stock", cert)
        for args in (["-l"], ["-l", "-v"], ["-B"], ["-l", "-E", "md5"]):
            one, two = (keygen(t, *args, "-f", cert).ok() for t in TOOLS)
            assert one.text == two.text
        # The installed one has no PKCS8 of ed25519.
        for form in ["RFC4716", "PEM", "PKCS8"][:2 if kind == "ed25519"
                                                else 3]:
            one, two = (keygen(t, "-e", "-m", form, "-f", cert)
                        for t in TOOLS)
            assert (one.rc, without_comment(one.text)) \
                == (two.rc, without_comment(two.text))
        assert cert.read_text().endswith(f" comment of {kind}\n")


def without_comment(text):
    return [line for line in text.splitlines()
            if not line.startswith("Comment:")]


# ---- every option -------------------------------------------------------

@pytest.mark.parametrize("args", [
    [], ["-z", "18446744073709551615"], ["-n", "a"], ["-h"],
    ["-n", "*.example.org,h2", "-h"],
    ["-V", "always:forever"], ["-V", "always:20300101"],
    ["-V", "20200101:forever"], ["-V", "20260101Z:20270101123005"],
    ["-V", "0x5:0x500000000"], ["-V", "202601011230UTC:20270101"],
    ["-O", "clear"], ["-O", "no-pty", "-O", "no-x11-forwarding"],
    ["-O", "clear", "-O", "permit-pty", "-O", "PERMIT-X11-forwarding"],
    ["-O", "no-agent-forwarding", "-O", "no-port-forwarding",
     "-O", "no-user-rc"],
    ["-O", "no-touch-required"], ["-O", "verify-required"],
    ["-O", "force-command=echo hi, there"],
    ["-O", "source-address=10.0.0.0/8,::1/128,192.0.2.1,fe80::/10"],
    ["-O", "critical:name@x=value", "-O", "critical:flag",
     "-O", "extension:zz=v", "-O", "extension:aa"],
    ["-h", "-O", "permit-pty"], ["-h", "-O", "force-command=x"],
    ["-I", "quote \" and '", "-n", "a b"],
])
def test_every_option(here, args):
    both = {}
    for tool in TOOLS:
        done = keygen(tool, "-s", "ca", "-I", "id", *args, "rsa.pub",
                      cwd=here).ok()
        assert done.out == b""
        both[tool] = said(done), show("hpn", here / "rsa-cert.pub")
        assert both[tool][1] == show("stock", here / "rsa-cert.pub")
        assert (NO_NAMES in done.errors) == (tool == "hpn"
                                             and "-n" not in args)
    assert both["hpn"] == both["stock"]


@pytest.mark.parametrize("span", ["+1d", "-1w:+1w", "+0:+5m", "-1h:forever"])
def test_relative_times(here, span):
    """Two runs may see two seconds; the shown times differ by as much."""
    for _ in range(3):
        shown = set()
        for tool in TOOLS:
            keygen(tool, "-q", "-s", here / "ca", "-I", "id", "-V", span,
                   here / "rsa.pub").ok()
            shown.add(show("hpn", here / "rsa-cert.pub"))
        if len(shown) == 1:
            return
    assert not "the times differ", shown


@pytest.mark.parametrize("args", [
    ["-s", "ca", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-n", "a,,b", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-n", "", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "1d", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "20260101:", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "20200101:20190101", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "forever:forever", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "always:always", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "20201301:forever", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-V", "always:2020010", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-z", "abc", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-O", "foo", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-O", "force-command=", "rsa.pub"],
    ["-s", "ca", "-I", "x", "-O", "force-command=a", "-O",
     "force-command=b", "rsa.pub"],
    ["-s", "ca", "-I", "x", "nofile.pub"],
    ["-s", "noca", "-I", "x", "rsa.pub"],
    ["-s", "rsa", "-t", "foo", "-I", "x", "ecdsa256.pub"],
    ["-s", "ca", "-t", "rsa-sha2-256", "-I", "x", "rsa.pub"],
    ["-U", "-s", "ca.pub", "-I", "x", "rsa.pub"],
])
def test_the_same_errors(here, args):
    one, two = (keygen(tool, *args, cwd=here) for tool in TOOLS)
    assert one.rc == two.rc == 255
    assert said(one) == said(two)
    assert not (here / "rsa-cert.pub").exists()


@pytest.mark.parametrize("option", [
    "source-address=1.2.3.4/33", "source-address=1.2.3.4/8",
    "source-address=host", "source-address=1.2.3.4,,::1"])
def test_bad_source_addresses(here, option):
    for tool in TOOLS:
        assert keygen(tool, "-s", here / "ca", "-I", "x", "-O", option,
                      here / "rsa.pub").rc == 255


def test_serial_numbers_count(here):
    for tool in TOOLS:
        done = keygen(tool, "-s", "ca", "-I", "x", "-z", "+7", "rsa.pub",
                      "ed25519.pub", cwd=here).ok()
        assert "serial 7" in done.errors and "serial 8" in done.errors
        assert "Serial: 8\n" in show("hpn", here / "ed25519-cert.pub")


@pytest.mark.parametrize("alg", ["ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"])
def test_signature_of_rsa(here, alg):
    for tool in TOOLS:
        keygen(tool, "-s", here / "rsa", "-t", alg, "-I", "x",
               here / "ed25519.pub").ok()
        for reader in TOOLS:
            assert f"(using {alg})" in show(reader,
                                            here / "ed25519-cert.pub")


def test_a_certificate_is_not_certified(here):
    keygen("hpn", "-s", here / "ca", "-I", "x", here / "rsa.pub").ok()
    for tool in TOOLS:
        done = keygen(tool, "-s", here / "ca", "-I", "x",
                      here / "rsa-cert.pub")
        assert done.rc == 255 and "cannot be certified" in done.errors


# ---- showing ------------------------------------------------------------

def test_show_several(here):
    keygen("hpn", "-q", "-s", here / "ca", "-I", "x", here / "rsa.pub").ok()
    lines = (here / "rsa.pub").read_text() \
        + (here / "rsa-cert.pub").read_text() + "ssh-ed25519 AAAA bad\n"
    (here / "many").write_text(lines)
    one, two = (keygen(tool, "-L", "-f", "many", cwd=here) for tool in TOOLS)
    assert (one.rc, one.text) == (two.rc, two.text) and one.rc == 0
    assert "many:1 is not a certificate" in one.errors
    assert "many:3: invalid key" in one.errors
    one, two = (keygen(tool, "-L", "-f", "-", stdin=lines.encode())
                for tool in TOOLS)
    assert (one.rc, one.text) == (two.rc, two.text)
    assert one.text.startswith("(stdin):2:\n")


def test_show_what_is_none(here):
    one, two = (keygen(tool, "-L", "-f", "rsa.pub", cwd=here)
                for tool in TOOLS)
    assert (one.rc, one.text, said(one)) == (two.rc, two.text, said(two))
    assert one.rc == 1
    assert keygen("hpn", "-L", "-f", here / "missing").rc == 255


def test_texts_of_others_are_escaped(here):
    keygen("stock", "-q", "-s", here / "ca", "-I", "a\x1b[1m", "-n", "\x1bc",
           here / "rsa.pub").ok()
    done = keygen("hpn", "-L", "-f", here / "rsa-cert.pub").ok()
    assert b"\x1b" not in done.out and "a\\033[1m" in done.text


def test_a_changed_certificate_is_none(here):
    keygen("hpn", "-q", "-s", here / "ca", "-I", "honest", "-n", "a",
           here / "ed25519.pub").ok()
    path = here / "ed25519-cert.pub"
    kind, blob = path.read_text().split()[:2]
    raw = base64.b64decode(blob).replace(b"honest", b"forged")
    path.write_text(f"{kind} {base64.b64encode(raw).decode()} c\n")
    for tool in TOOLS:
        done = keygen(tool, "-L", "-f", path)
        assert done.rc == 1 and done.out == b""
    assert "incorrect signature" in keygen("hpn", "-L", "-f", path).errors


# ---- an agent signs -----------------------------------------------------

@pytest.mark.parametrize("ca", KINDS)
def test_authority_in_an_agent(here, agent, ca):
    run([stock("ssh-add"), "-q", here / ca],
        env=harness.clean_env(**agent)).ok()
    os.unlink(here / ca)
    for tool in TOOLS:
        done = keygen(tool, "-U", "-s", f"{ca}.pub", "-I", "x", "-n", "a",
                      "ed25519.pub", cwd=here, env=agent).ok()
        assert said(done) == ('Signed user key ed25519-cert.pub: id "x" '
                              "serial 0 for a valid forever\n")
        assert show("hpn", here / "ed25519-cert.pub") \
            == show("stock", here / "ed25519-cert.pub")


def test_authority_that_the_agent_has_not(here, agent):
    run([stock("ssh-add"), "-q", here / "rsa"],
        env=harness.clean_env(**agent)).ok()
    one, two = (keygen(tool, "-U", "-s", "ca.pub", "-I", "x", "rsa.pub",
                       cwd=here, env=agent) for tool in TOOLS)
    assert one.rc == two.rc == 255
    assert said(one) == said(two)


# ---- KRLs ---------------------------------------------------------------

@pytest.fixture
def revocable(here):
    """Certificates c1 to c3 by number, c0 without one, and lists of lines."""
    for number in range(4):
        keygen("hpn", "-q", "-s", here / "ca", "-I", f"id{number}", "-n", "a",
               "-z", str(number), here / "ed25519.pub").ok()
        os.rename(here / "ed25519-cert.pub", here / f"c{number}.pub")
    (here / "certs").write_text(
        "# comment\n\nserial: 5-10\nSERIAL: 0x20   # tail\n  serial:1\n"
        "serial: 7-12\nserial: 07\n"
        + "".join(f"serial: {n}\n" for n in range(100, 400, 2))
        + "serial: 18446744073709551615\nid: some id # not\nid:  b c \nid:\n")
    (here / "keys").write_text(
        (here / "rsa.pub").read_text()
        + "key: " + (here / "rsa.pub").read_text()
        + "sha1: " + (here / "ecdsa256.pub").read_text()
        + "SHA256: " + (here / "ecdsa384.pub").read_text()
        + "hash: " + keygen("hpn", "-l", "-f", here / "ecdsa521.pub")
        .ok().text.split()[1] + "\n")
    return here


QUERIED = ["rsa.pub", "ecdsa256.pub", "ecdsa384.pub", "ecdsa521.pub",
           "ed25519.pub", "ca.pub", "c0.pub", "c1.pub", "c2.pub"]


def query(tool, directory, name, *args):
    done = keygen(tool, "-Q", *args, "-f", name, *QUERIED, cwd=directory)
    return done.rc, done.text


def assert_same(directory, names):
    """Both tools say the same of both files, but for the time in them."""
    answers = [[line for line in query(tool, directory, name, "-l")[1]
                .splitlines() if not line.startswith("# Generated at 20")]
               for tool in TOOLS for name in names]
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


@pytest.mark.parametrize("args", [
    ["-s", "ca.pub", "certs", "keys"], ["-s", "none", "certs"],
    ["-s", "ca.pub", "-z", "77", "-C", "a comment", "certs"], ["keys"], [],
    ["c0.pub", "c1.pub"], ["-s", "rsa.pub", "certs"], ["ed25519.pub"],
    ["-s", "ca.pub", "certs", "c2.pub"],
])
def test_krl_both_ways(revocable, args):
    for tool in TOOLS:
        keygen(tool, "-k", "-q", "-f", tool, *args, cwd=revocable).ok()
    lines = assert_same(revocable, TOOLS)
    assert query("hpn", revocable, "hpn")[0] \
        == query("stock", revocable, "stock")[0]
    assert (" REVOKED" in "".join(lines)) \
        == (query("hpn", revocable, "hpn")[0] == 1)


SERIALS = {
    "few": lambda dice: [dice.randrange(1, 2**64) for _ in range(300)],
    "half": lambda dice: dice.sample(range(1, 4000), 2000),
    "every ninth": lambda dice: range(7, 16_000, 9),
    "long runs": lambda dice: [n for n in range(1, 16_000) if n % 500],
    "groups": lambda dice: [at + n for at in dice.sample(range(2**50), 9)
                            for n in dice.sample(range(3000), 900)],
    "the last": lambda dice: range(2**64 - 4000, 2**64, 3),
}


def listed(tool, path):
    """The serial numbers of a KRL, as the tool lists them."""
    numbers = set()
    for line in keygen(tool, "-Q", "-l", "-f", path).ok().text.splitlines():
        if line.startswith("serial: "):
            first, _, last = line.removeprefix("serial: ").partition("-")
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


@pytest.mark.parametrize("pattern", SERIALS)
def test_serials_in_the_smallest_form(here, pattern):
    """Both tools read the same of both tools' KRLs; ours are no larger."""
    dice = random.Random(pattern)
    numbers = list(SERIALS[pattern](dice))
    (here / "spec").write_text("".join(f"serial: {n}\n" for n in numbers))
    for tool in TOOLS:
        keygen(tool, "-q", "-k", "-s", here / "ca.pub", "-f", here / tool,
               here / "spec").ok()
        assert listed("hpn", here / tool) == set(numbers)
        assert listed("stock", here / tool) == set(numbers)
    assert (here / "hpn").stat().st_size <= (here / "stock").stat().st_size
    for number in (numbers[0], numbers[-1], numbers[len(numbers) // 2] - 1):
        keygen("hpn", "-q", "-s", here / "ca", "-I", "id", "-z", str(number),
               here / "rsa.pub").ok()
        for made in TOOLS:
            for tool in TOOLS:
                done = keygen(tool, "-Q", "-f", here / made,
                              here / "rsa-cert.pub")
                assert done.rc == (number in numbers), (number, made, tool)


def test_a_million_serials(here):
    """The installed tool reads what we make of them; it makes bitmaps that it
    does not read again."""
    dice = random.Random(1)
    (here / "spec").write_text("".join(
        f"serial: {n}\n" for n in dice.sample(range(1, 10**7), 10**6)))
    keygen("hpn", "-q", "-k", "-s", here / "ca.pub", "-f", here / "krl",
           here / "spec").ok()
    assert (here / "krl").stat().st_size < 1.01 * 10**7 / 8
    for tool in TOOLS:
        keygen(tool, "-Q", "-f", here / "krl", here / "rsa.pub").ok()


def test_krl_names_its_sources(revocable):
    one, two = (keygen(tool, "-k", "-f", tool, "-s", "ca.pub", "certs",
                       "keys", cwd=revocable).ok() for tool in TOOLS)
    assert one.text == two.text \
        == "Revoking from certs\nRevoking from keys\n"


def test_krl_is_updated(revocable):
    for tool in TOOLS:
        keygen(tool, "-k", "-q", "-f", tool, "-z", "5", "-C", "first", "-s",
               "ca.pub", "certs", cwd=revocable).ok()
        keygen(tool, "-k", "-q", "-u", "-f", tool, "keys", "c2.pub",
               cwd=revocable).ok()
    lines = assert_same(revocable, TOOLS)
    assert lines[:2] == ["# KRL version 5", "# Comment: first"]
    for tool in TOOLS:  # and each what the other made
        other = TOOLS[tool == "hpn"]
        keygen(tool, "-k", "-q", "-u", "-z", "6", "-f", other, "c0.pub",
               cwd=revocable).ok()
    assert "id: id0" in assert_same(revocable, TOOLS)


def test_krl_from_standard_input(revocable):
    for tool in TOOLS:
        done = keygen(tool, "-k", "-f", tool, "-s", "ca.pub", "-",
                      cwd=revocable, stdin=b"serial: 2\n").ok()
        assert done.text == "Revoking from (standard input)\n"
    assert_same(revocable, TOOLS)


@pytest.mark.parametrize("line", [
    "serial: 0", "serial: 5-3", "serial: x", "serial: 5-", "serial: 1 2",
    "foo: bar", "key: xx", "hash: SHA1:abc", "hash: SHA256:abc",
    "sha1: k", "serial: 18446744073709551616", "hash: MD5:aa", "serial:",
])
def test_bad_lines_for_a_krl(revocable, line):
    for tool in TOOLS:
        done = keygen(tool, "-k", "-f", "out", "-s", "ca.pub", "-",
                      cwd=revocable, stdin=f"# 1\n{line}\n".encode())
        assert done.rc == 255 and not (revocable / "out").exists()
    # The last one was stock's; ours names the line.
    assert "(standard input):2: " in keygen(
        "hpn", "-k", "-f", "out", "-s", "ca.pub", "-", cwd=revocable,
        stdin=f"# 1\n{line}\n".encode()).errors


@pytest.mark.parametrize("args", [
    ["-k", "certs"], ["-k", "-f", "out", "certs"], ["-k", "-f", "out", "no"],
    ["-k", "-u", "-f", "none", "keys"], ["-k", "-z", "x", "-f", "o", "keys"],
    ["-k", "-f", "out", "-s", "no", "keys"], ["-Q"], ["-Q", "-f", "no"],
    ["-Q", "-f", "rsa.pub", "rsa.pub"], ["-Q", "-f", "krl", "no"],
    ["-Q", "-f", "cut", "rsa.pub"],
])
def test_krl_errors(revocable, args):
    keygen("stock", "-k", "-q", "-f", "krl", "keys", cwd=revocable).ok()
    whole = (revocable / "krl").read_bytes()
    (revocable / "cut").write_bytes(whole[:-1])
    for tool in TOOLS:
        done = keygen(tool, *args, cwd=revocable)
        assert done.rc == 255 and b": ok" not in done.out
    assert not (revocable / "out").exists()
