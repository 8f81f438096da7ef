# SPDX-License-Identifier: ISC
"""VerifyHostKeyDNS: what SSHFP records do, by whether the resolver or hpnssh
itself has validated them."""

import signal
import time

import pytest
import signedzone

import harness
import nameserver
from harness import Client, clean_env, hpn, run, start, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
YES, ASK = "VerifyHostKeyDNS=yes", "VerifyHostKeyDNS=ask"
BOX = "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!"
UPDATE = "Update the SSHFP RR in DNS with the new host key to get rid of"
WRONG = "4 2 " + "00" * 32


@pytest.fixture
def names(tmp_path):
    why = nameserver.problem()
    if why:
        pytest.skip(why)
    server = nameserver.NameServer(tmp_path)
    server.resolver("trust-ad")
    server.add("box.test", "A", "127.0.0.1")
    server.secure = True
    yield server
    server.close()


class Visit:
    def __init__(self, names, server, directory):
        self.names, self.server, self.dir = names, server, directory
        self.known = directory / "known"
        self.enter = []  # a command line that runs another
        self.key = server.keys.path("ed25519-host")
        done = run([hpn("ssh-keygen"), "-r", "box.test", "-f",
                    f"{self.key}.pub"]).ok()
        self.records = [line.split(" SSHFP ")[1]
                        for line in done.text.splitlines()]

    def publish(self, *records, name="box.test"):
        for record in records or self.records:
            self.names.add(name, "SSHFP", record)

    def command(self, *options, host="box.test", batch="yes"):
        client = Client("hpn", self.server, known_hosts=self.known,
                        options=["StrictHostKeyChecking=ask",
                                 f"BatchMode={batch}",
                                 "HostKeyAlgorithms=ssh-ed25519"],
                        log_level="INFO")
        return self.names.within(
            *self.enter, hpn("ssh"), *client.options(*options), "-p",
            str(self.server.port), "-l", client.user, host, "true")

    def __call__(self, *options, env=None, **kw):
        return run(self.command(*options, **kw), env=env)

    def asked(self, *options):
        """What the user is asked, who says no."""
        helper, told = self.dir / "askpass", self.dir / "told"
        helper.write_text(f'#!/bin/sh\necho "$1" > {told}\necho no\n')
        helper.chmod(0o755)
        done = self(*options, batch="no", env=clean_env(
            SSH_ASKPASS=str(helper), SSH_ASKPASS_REQUIRE="force"))
        assert done.rc == 255
        return told.read_text()


@pytest.fixture
def visit(names, sshd, tmp_path):
    return Visit(names, sshd, tmp_path)


def test_validated_match(visit):
    visit.publish()
    visit(YES).ok()
    assert not visit.known.exists()  # nothing is noted
    visit.known.write_text("")
    assert visit().rc == 255
    assert visit(ASK).rc == 255


def test_match_that_is_not_validated(visit, names):
    visit.publish()
    names.secure = False
    assert visit(YES).rc == 255
    text = visit.asked(YES)
    assert "\nMatching host key fingerprint found in DNS.\n" in text


def test_resolver_that_is_not_trusted(visit, names):
    """AD counts only if resolv.conf says that the way there is safe."""
    visit.publish()
    conf = names.dir / "resolv.conf"
    conf.write_text(conf.read_text().replace("trust-ad", ""))
    assert visit(YES).rc == 255


def test_ask(visit):
    assert "\nNo matching host key fingerprint found in DNS.\n" in \
        visit.asked(ASK)
    visit.publish()
    assert "\nMatching host key fingerprint found in DNS.\n" in \
        visit.asked(ASK)
    assert "in DNS" not in visit.asked()


@pytest.mark.parametrize("records", [
    [WRONG], [WRONG, "own"], ["own", "4 1 " + "00" * 20],
    ["1 2 " + "11" * 32]])
def test_mismatch(visit, records):
    for record in records:
        visit.publish(*([] if record == "own" else [record]))
    done = visit(YES)
    assert done.rc == 255 and BOX in done.errors and UPDATE in done.errors
    assert "Host key verification failed." in done.errors


def test_records_that_say_nothing(visit):
    visit.publish("4 2 00", "4 7 " + "00" * 32, *visit.records)
    visit(YES).ok()


def test_known_key_and_wrong_record(visit):
    """known_hosts decides; the warning is there."""
    visit.known.write_text(visit.server.known_hosts.read_text().replace(
        "127.0.0.1", "box.test"))
    visit.publish(WRONG)
    done = visit(YES).ok()
    assert BOX in done.errors


def test_revoked_key(visit, tmp_path):
    visit.publish()
    public = visit.server.keys.public("ed25519-host")
    visit.known.write_text(f"@revoked * {public}\n")
    done = visit(YES)
    assert done.rc == 255 and "REVOKED HOST KEY" in done.errors
    visit.known.unlink()
    revoked = tmp_path / "revoked"
    revoked.write_text(public + "\n")
    assert visit(YES, f"RevokedHostKeys={revoked}").rc == 255


def test_name_that_is_looked_up(visit, names):
    visit.publish()
    visit(YES, host="127.0.0.1")
    assert not [q for q in names.asked if q[1] == 44]
    visit(YES, "Hostname=box.test", host="alias").ok()
    visit(YES, "CanonicalizeHostname=yes", "CanonicalDomains=test",
          host="box").ok()
    assert [q for q in names.asked if q[1] == 44] == [("box.test", 44)] * 2


def test_alias(visit, names):
    names.add("www.test", "CNAME", "box.test.")
    visit.publish()
    visit(YES, host="www.test").ok()


@pytest.mark.parametrize("count,body", [
    (65535, b""), (1, b"\xc0\x0c\0\x2c\0\1\0\0\0\0\xff\xff"),
    (33, b"\xc0\x0c\0\x2c\0\1\0\0\0\0\0\2\4\2" * 33),
    (1, b"\xc0\x0c\0\5\0\1\0\0\0\0\0\2\xc0\x0c")])
def test_hostile_answer(visit, names, count, body):
    names.raw["box.test", 44] = (count, body)
    done = visit(YES)
    assert done.rc == 255 and "Host key verification failed" in done.errors


def test_update_host_keys_is_off(visit):
    done = run([hpn("ssh"), "-G", "-F", "none", "-o", YES, "h"]).ok()
    assert "\nupdatehostkeys false\n" in done.text
    assert "\nverifyhostkeydns true\n" in done.text


# ---- validated by hpnssh itself ------------------------------------------

HOST, ANCHOR = "box.hpn.example", """
mount -t tmpfs none /usr/share && mkdir /usr/share/dns &&
cp "$1" /usr/share/dns/root.key && shift && exec "$@"
"""


@pytest.fixture
def signed(visit, names, tmp_path):
    """Its resolver is one that is not trusted, and lies about AD."""
    if not harness.built_with("LIBUNBOUND"):
        pytest.skip("built without libunbound")
    pytest.importorskip("cryptography")
    zone = signedzone.SignedZone(names, "hpn.example")
    (tmp_path / "anchor").write_text(zone.anchor)
    visit.enter = ["sh", "-c", ANCHOR, "sh", tmp_path / "anchor"]
    conf = names.dir / "resolv.conf"
    conf.write_text(conf.read_text().replace("trust-ad", ""))
    for name in (HOST, "box.other.example"):
        names.add(name, "A", "127.0.0.1")
    return zone


def test_signed_records(signed, visit):
    signed.publish(HOST, visit.records)
    visit(YES, host=HOST).ok()
    assert not visit.known.exists()
    assert visit(ASK, host=HOST).rc == 255


def test_signed_records_of_another_key(signed, visit):
    signed.publish(HOST, [WRONG])
    done = visit(YES, host=HOST)
    assert done.rc == 255 and BOX in done.errors


@pytest.mark.parametrize("fault", ["spoilt", "expired", "unsigned"])
def test_records_that_are_not_the_owners(signed, visit, fault):
    """Records that are not the owner's count as no answer at all."""
    if fault == "unsigned":
        visit.publish(name=HOST)
    else:
        signed.publish(HOST, visit.records, spoil=fault == "spoilt",
                       until=-5 * 86400 if fault == "expired" else 3600)
    done = visit(YES, host=HOST)
    assert done.rc == 255
    assert f"SSHFP records of {HOST}: incorrect signature" in done.errors


def test_part_that_is_not_signed(signed, visit):
    """Records of a zone without signatures, whatever the resolver says."""
    visit.publish(name="box.other.example")
    done = visit(YES, "LogLevel=DEBUG", host="box.other.example")
    assert done.rc == 255
    assert f"found {len(visit.records)} insecure fingerprints" in done.errors


def test_trusted_resolver_may_know_more_keys(signed, visit, names):
    """For zones of a site, which have no keys in the root; what it has
    validated is not asked for again."""
    names.resolver("trust-ad")
    visit.publish(name="box.other.example")
    visit(YES, host="box.other.example").ok()
    assert nameserver.TYPES["DNSKEY"] not in [q[1] for q in names.asked]


def test_keys_that_nobody_tells(signed, visit, names):
    """The records may be right, but the proof is missing."""
    signed.publish(HOST, visit.records)
    del names.raw["hpn.example", nameserver.TYPES["DNSKEY"]]
    done = visit(YES, host=HOST)
    assert done.rc == 255 and "DNS lookup error" in done.errors


def test_asked_once_for_a_connection(visit, names):
    """New keys of a session that runs are no reason to wait for the DNS."""
    visit.publish()
    args = visit.command("RekeyLimit=16K", "LogLevel=DEBUG", YES)
    done = run([*args[:-1], "for i in 1 2 3; do head -c 100000 /dev/zero; "
                "sleep 0.2; done"]).ok()
    assert len(done.out) == 300000
    assert "new keys are in use" in done.errors
    assert len([q for q in names.asked if q[1] == 44]) == 1


# ---- a resolver that takes its time ---------------------------------------

@pytest.fixture
def patient(visit, names):
    """It takes a connection for the records of box.test, and is silent."""
    names.stuck.add(("box.test", "SSHFP"))
    return visit


def test_look_up_has_an_end(patient):
    began = time.monotonic()
    done = patient(YES)
    assert done.rc == 255
    assert "SSHFP records of box.test: " in done.errors
    assert time.monotonic() - began < 20 * harness.SLOW


def test_interrupt_ends_look_up(patient, names):
    """At once; and the process that waits for the answer ends with it, and
    does not hold the connection."""
    with start(patient.command(YES)) as process:
        wait_for(lambda: names.held)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(5 * harness.SLOW) != 0
        wait_for(lambda: "Connection closed by" in
                 patient.server.log_text(), seconds=5)
        wait_for(lambda: not names.held[0].recv(4096), seconds=5)
        assert time.monotonic() - began < 5 * harness.SLOW
