# SPDX-License-Identifier: ISC
"""Canonical host names: hpnssh -G and the stock ssh -G find the same name, by
the same questions, and read the same lines of a configuration."""

import pytest

import harness
import nameserver
from harness import program, run

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh") or not harness.have("stock", "ssh"),
    reason="hpnssh or the stock ssh is not there")
YES, ALWAYS = "CanonicalizeHostname=yes", "CanonicalizeHostname=always"
DOMAINS = "CanonicalDomains=nope.test dom.test other.test"
RULES = "CanonicalizePermittedCNAMEs=*.dom.test:*.real.test"
NO_FALLBACK = "CanonicalizeFallbackLocal=no"
PROXY, JUMP = "ProxyCommand=x", "ProxyJump=x"
OPTIONS = [
    ("BOX", YES, DOMAINS), ("box.", YES, DOMAINS), ("nowhere", YES, DOMAINS),
    ("box.dom.test.", YES, DOMAINS), ("deep.box", YES, DOMAINS),
    ("deep.box", YES, DOMAINS, "CanonicalizeMaxDots=0"),
    ("a.b.c", YES, DOMAINS, NO_FALLBACK), ("no", YES, DOMAINS, NO_FALLBACK),
    ("no.", YES, DOMAINS, NO_FALLBACK), ("box", YES, DOMAINS, PROXY),
    ("box", YES, DOMAINS, JUMP), ("box", ALWAYS, DOMAINS, PROXY),
    ("box", ALWAYS, DOMAINS, JUMP), ("box", YES, DOMAINS, "ProxyCommand=none"),
    ("no", ALWAYS, DOMAINS, PROXY, NO_FALLBACK),
    ("six", YES, DOMAINS), ("six", YES, DOMAINS, "AddressFamily=inet"),
    ("broken", YES, DOMAINS), ("10", YES, DOMAINS), ("127.1", YES, DOMAINS),
    ("127.1",), ("0::1",), ("127.1", PROXY), ("127.1", "AddressFamily=inet6"),
    ("::1", "AddressFamily=inet"), ("::ffff:127.0.0.1", YES, DOMAINS),
    ("www", YES, DOMAINS), ("www", YES, DOMAINS, RULES),
    ("www.dom.test", YES, RULES), ("www.dom.test", YES, RULES, PROXY),
    ("www.dom.test", ALWAYS, RULES, PROXY), ("two.dom.test", YES, RULES),
    ("no.dom.test", YES, RULES), ("no.dom.test", ALWAYS, RULES, PROXY),
    ("no", YES, DOMAINS, RULES), ("www", YES, DOMAINS, RULES + ",!host.*"),
    ("x", "CanonicalDomains=a..b"), ("x", "CanonicalDomains=-a"),
    ("x", "CanonicalDomains=none a"), ("x", "CanonicalizeMaxDots=-1"),
    ("x", "CanonicalizePermittedCNAMEs=a"), ("x", "CanonicalizeHostname=may"),
    ("x", "CanonicalDomains=" + " ".join(f"d{n}" for n in range(32))),
]
if harness.stock_release() >= (10, 0):  # older ones take no more than 32
    OPTIONS.append(
        ("x", "CanonicalDomains=" + " ".join(f"d{n}" for n in range(200))))
ON = "CanonicalizeHostname yes\nCanonicalDomains nope.test dom.test\n"
CONFIGS = [
    (ON + "Match canonical\nUser u1\n", "box"),
    (ON + "Match !canonical\nUser u1\nMatch final\nUser u2\n", "box"),
    (ON + "Host box\nPort 44\nHost box.dom.test\nUser u1\nPort 55\n", "box"),
    (ON + "Match originalhost box.dom.test\nUser u0\n"
     "Match final originalhost box\nUser u1\n", "box"),
    (ON + "Host alias\nHostname BOX\n", "alias"),
    (ON + "Host box.dom.test\nUser u1\nHost alias\nHostname box\n", "alias"),
    (ON + "Host box\nHostname %h.dom.test\n", "box"),
    (ON + "Host box\nHostname %h.dom.test.\n", "box"),
    (ON + "Host box.dom.test\nHostname other.host\nUser u1\n", "box"),
    (ON + "Match canonical host box.dom.test\nProxyJump jh\n", "box"),
    (ON + "ProxyJump jh\nMatch canonical\nUser u1\n", "box"),
    (ON + "Match canonical\nAddressFamily inet6\n", "box"),
    ("Match final\n" + ON + "Match final host box.dom.test\nUser u1\n", "box"),
    ("Match canonical\nUser u1\n", "box"), ("Match final\nUser u1\n", "box"),
    ("Match !final\nUser u1\nMatch canonical\nUser u2\n", "box"),
    ("Match final canonical\nPort 9\n", "box"),
    ("Host BOX\nUser u1\nMatch final host BOX\nPort 4\n", "BOX"),
    ("Host a\nHostname real\nHost real\nUser u1\nMatch final\nPort 1\n", "a"),
    ("Match host 127.0.0.1\nUser u1\nMatch final host 127.0.0.1\nPort 4\n",
     "127.1"),
    ("Match canonical user x all\nUser u1\n", "box"),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    why = nameserver.problem()
    if why:
        pytest.skip(why)
    server = nameserver.NameServer(tmp_path_factory.mktemp("zone"))
    for record in [("box.dom.test", "A", "127.0.0.2"),
                   ("box.other.test", "A", "127.0.0.3"),
                   ("deep.box.dom.test", "A", "127.0.0.4"),
                   ("six.dom.test", "AAAA", "::1"),
                   ("www.dom.test", "CNAME", "host.real.test."),
                   ("two.dom.test", "CNAME", "www.dom.test."),
                   ("host.real.test", "A", "127.0.0.5")]:
        server.add(*record)
    server.rcode["broken.dom.test"] = nameserver.SERVFAIL
    yield server
    server.close()


def found(kind, names, *args):
    """What -G says of the host, or that it refused; and what was asked."""
    names.asked.clear()
    done = run(names.within(program(kind, "ssh"), "-G", *args))
    got = dict(line.lower().split(" ", 1) for line in done.text.splitlines())
    # Which port is the default is not the same.
    got["port"] = got.get("port", "22").replace("2222", "22")
    keys = ("host", "hostname", "user", "port", "proxyjump", "addressfamily",
            "canonicalizehostname", "canonicaldomains", "canonicalizemaxdots",
            "canonicalizefallbacklocal", "canonicalizepermittedcnames")
    return (done.rc, [got.get(k) for k in keys],
            "ould not resolve" in done.errors, list(names.asked))


@pytest.mark.parametrize("case", OPTIONS, ids=" ".join)
def test_options(names, case):
    args = ["-F", "none", *(f"-o{o}" for o in case[1:]), case[0]]
    assert found("hpn", names, *args) == found("stock", names, *args)


@pytest.mark.parametrize("text,host", CONFIGS)
def test_configurations(names, tmp_path, text, host):
    config = tmp_path / "config"
    config.write_text(text)
    args = ["-F", config, host]
    assert found("hpn", names, *args) == found("stock", names, *args)
