# SPDX-License-Identifier: ISC
"""Canonical host names: what is looked up, which name the connection, the
tokens and known_hosts have then, and what a hostile name server can do. That
-G agrees with the stock ssh is in interop/test_canonical_same.py."""

import signal
import time

import pytest

import harness
import nameserver
from harness import Client, hpn, run, start, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
YES = ["CanonicalizeHostname=yes", "CanonicalDomains=nope.test dom.test"]
ALWAYS = ["CanonicalizeHostname=always", *YES[1:]]
ALIASES = "CanonicalizePermittedCNAMEs=*.dom.test:*.real.test"


@pytest.fixture
def names(tmp_path):
    why = nameserver.problem()
    if why:
        pytest.skip(why)
    server = nameserver.NameServer(tmp_path)
    server.add("box.dom.test", "A", "127.0.0.1")
    server.add("www.dom.test", "CNAME", "host.real.test.")
    server.add("host.real.test", "A", "127.0.0.1")
    yield server
    server.close()


@pytest.fixture
def connect(names, sshd, tmp_path):
    """connect(host, options...): hpnssh that asks the name server."""

    def go(host, *options, known_as=None, program="ssh", command=("true",)):
        known = tmp_path / "known"
        known.write_text(sshd.known_hosts.read_text().replace(
            "127.0.0.1", known_as or host))
        client = Client("hpn", sshd, known_hosts=known)
        return run(names.within(
            hpn(program), *client.options(*options), "-p",
            str(sshd.port), "-l", client.user, host, *command))
    return go


def dumped(names, *args):
    done = run(names.within(hpn("ssh"), "-G", "-F", "none", *args)).ok()
    return dict(line.split(" ", 1) for line in done.text.splitlines())


def test_known_hosts_has_the_canonical_name(connect):
    connect("box", *YES, known_as="box.dom.test").ok()
    done = connect("box", *YES)
    assert done.rc == 255
    assert "No ED25519 host key is known for [box.dom.test]:" in done.errors


def test_alias_that_is_permitted(connect):
    connect("www", *YES, ALIASES, known_as="host.real.test").ok()
    connect("www", *YES, known_as="www.dom.test").ok()


def test_addresses_are_asked_for_once(connect, names):
    connect("box", *YES, known_as="box.dom.test").ok()
    assert [name for name, kind in names.asked if kind == 1] == [
        "box.nope.test", "box.dom.test"]


def test_other_family_of_the_second_pass(names, tmp_path):
    """Addresses of a family that is not wanted any more do not serve."""
    config = tmp_path / "config"
    config.write_text("CanonicalizeHostname yes\nCanonicalDomains dom.test\n"
                      "Match canonical\nAddressFamily inet6\n")
    done = run(names.within(hpn("ssh"), "-F", config, "-p", "1", "box"))
    assert done.rc == 255
    assert "Could not resolve hostname box.dom.test" in done.errors


def test_tokens_and_the_second_pass(names, tmp_path):
    config = tmp_path / "config"
    config.write_text(
        "CanonicalizeHostname always\nCanonicalDomains nope.test dom.test\n"
        # A shell holds its output until the words are written.
        "ProxyCommand sh -c 'echo %h %n >&2; false'\n"
        "Match canonical host box.dom.test exec \"echo pass %h %n >&2\"\n"
        "User second\nHost box.dom.test\nTag name\nHost box\nTag short\n")
    done = run(names.within(hpn("ssh"), "-TF", config, "box"))
    assert done.errors.splitlines()[:2] == ["pass box.dom.test box",
                                            "box.dom.test box"]
    got = dumped(names, "-F", config, "box")
    assert (got["user"], got["tag"]) == ("second", "short")
    assert (got["host"], got["hostname"]) == ("box", "box.dom.test")


def test_dump(names):
    got = dumped(names, "box")
    assert [got[k] for k in (
        "canonicalizehostname", "canonicaldomains", "canonicalizemaxdots",
        "canonicalizefallbacklocal", "canonicalizepermittedcnames")] == [
            "false", "none", "1", "yes", "none"]
    options = ["CanonicalizeHostname=always", "CanonicalDomains=A.test b.",
               "CanonicalizeMaxDots=0", "CanonicalizeFallbackLocal=no",
               "CanonicalizePermittedCNAMEs=X:y,Z a:b"]
    got = dumped(names, *(f"-o{o}" for o in options), "127.0.0.1")
    assert [got[k] for k in (
        "canonicalizehostname", "canonicaldomains", "canonicalizemaxdots",
        "canonicalizefallbacklocal", "canonicalizepermittedcnames")] == [
            "always", "a.test b", "0", "no", "x:y,z a:b"]


@pytest.mark.parametrize("alias", ["-oProxyCommand.real.test",
                                   "a;b.real.test", "$(id).real.test"])
def test_alias_that_a_shell_would_read(names, alias):
    names.add("evil.dom.test", "CNAME", alias)
    names.add(alias, "A", "127.0.0.1")
    done = run(names.within(
        hpn("ssh"), "-TF", "none", "-oCanonicalizePermittedCNAMEs=*:*",
        *(f"-o{o}" for o in ALWAYS),
        "-oProxyCommand=sh -c 'echo \"$0\" >&2' '%h'", "evil"))
    assert done.rc == 255
    assert {"evil.dom.test", "evil"} & set(done.errors.splitlines()), done


def test_silent_name_server(names):
    names.silent |= {f"box.d{n}.test" for n in range(30)}
    done = run(names.within(
        hpn("ssh"), "-F", "none", "-G", "-oConnectTimeout=1",
        "-oCanonicalizeHostname=yes",
        "-oCanonicalDomains=" + " ".join(f"d{n}.test" for n in range(30)),
        "box"))
    assert done.rc == 255 and "no time is left" in done.errors
    assert done.seconds < 29  # one second for all, not for each


def test_interrupt_ends_look_up(names):
    names.stuck = {("box.dom.test", "A"), ("box.dom.test", "AAAA")}
    options = [word for o in YES for word in ("-o", o)]
    with start(names.within(hpn("ssh"), "-F", "none", *options, "box",
                            "true")) as process:
        wait_for(lambda: names.held)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(5 * harness.SLOW) != 0
        assert time.monotonic() - began < 5 * harness.SLOW


def test_broken_name_server(names):
    names.rcode["box.dom.test"] = nameserver.SERVFAIL
    done = run(names.within(hpn("ssh"), "-F", "none", "-G",
                            *(f"-o{o}" for o in YES), "box")).ok()
    assert "\nhostname box\n" in done.text
    assert done.errors.startswith(
        "hpnssh: Could not resolve hostname box.dom.test.: ")


def test_programs_that_move_files(names, sshd, tmp_path):
    known, there = tmp_path / "known", tmp_path / "there"
    known.write_text(sshd.known_hosts.read_text().replace(
        "127.0.0.1", "box.dom.test"))
    client = Client("hpn", sshd, known_hosts=known)
    there.write_text("text")
    run(names.within(hpn("scp"), *client.options(*YES), "-P",
                     str(sshd.port), f"{client.user}@box:{there}",
                     tmp_path / "here")).ok()
    assert (tmp_path / "here").read_text() == "text"
