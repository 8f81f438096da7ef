# SPDX-License-Identifier: ISC
"""CertificateCommand: a real authority (hpnssh-keygen) signs when the client
has no certificate that is good for some time. The server trusts that authority
and no key."""

import contextlib
import re
import shutil
import struct

import pytest
from agents import each_agent as agent  # noqa: F401
from certify import FUTURE, PAST, certify

import fake_agent
import harness
from fake_agent import FakeAgent
from faults.proxy import Fault, Proxy, for_connections
from harness import ME, Client, clean_env, have, hpn, run

pytestmark = pytest.mark.skipif(
    not have("hpn", "ssh", "scp", "sshd", "ssh-keygen"),
    reason="hpnssh, hpnsshd or hpnssh-keygen is missing")
KEY = "ed25519-user"
DAY = "-1m:+1d"


class Centre:
    """A user with a key, and the program that gets a certificate for it."""

    def __init__(self, server, keys, directory):
        self.server, self.keys, self.dir = server, keys, directory
        self.key = directory / "own" / "key"
        self.key.parent.mkdir()
        shutil.copy(keys.path(KEY), self.key)
        shutil.copy(f"{keys.path(KEY)}.pub", f"{self.key}.pub")
        self.calls = directory / "calls"
        self.program = directory / "get-certificate"
        self.known_hosts = directory / "known_hosts"
        shutil.copy(server.known_hosts, self.known_hosts)
        self.client = Client("hpn", server, known_hosts=self.known_hosts)
        self.client.key = self.key
        self.sign()

    def script(self, text):
        self.program.write_text(
            f'#!/bin/sh\necho "$*" >>{self.calls}\n{text}\n')
        self.program.chmod(0o700)

    def sign(self, valid=DAY, then=DAY, end="cat $d/key-cert.pub"):
        """The program signs the key that it is told of; its first certificate
        is valid for other times than the later ones."""
        self.script(f"""set -e
d=$(mktemp -d {self.dir}/signing-XXXXXX)
echo "$2 $3" >$d/key.pub
valid={then}
[ $(wc -l <{self.calls}) -gt 1 ] || valid={valid}
{hpn("ssh-keygen")} -q -s {self.keys.path("ed25519-ca")} -I centre \\
    -n {ME} -V $valid $d/key.pub
{end}
rm -r $d""")

    @property
    def option(self):
        return f"CertificateCommand={self.program} %I %t %K"

    def called(self):
        return [line.split()[0] for line in
                self.calls.read_text().splitlines()] \
            if self.calls.exists() else []

    def login(self, *options, **kw):
        return self.client.ssh("true", options=[self.option, *options], **kw)

    def certificate(self, valid, name="key-cert.pub", **kw):
        return certify(self.keys, f"{self.key}.pub", self.key.parent / name,
                       ME, valid=valid, **kw)


@pytest.fixture
def centre(shared_servers, keys, tmp_path):
    server = shared_servers(
        "hpn", f"TrustedUserCAKeys {keys.path('ed25519-ca')}.pub\n"
        "AuthorizedKeysFile none\nLogLevel VERBOSE")
    return Centre(server, keys, tmp_path)


def test_none_there_is_got(centre):
    assert centre.client.ssh("true").rc == 255
    before = sorted(centre.key.parent.iterdir())
    done = centre.login().ok()
    assert done.errors == ""
    public = centre.keys.public(KEY).split()
    assert centre.calls.read_text() == f"MISSING {public[0]} {public[1]}\n"
    assert sorted(centre.key.parent.iterdir()) == before
    # The memory of that process has ended with it.
    centre.login().ok()
    assert centre.called() == ["MISSING"] * 2


@pytest.mark.parametrize("valid,called", [
    (DAY, []),
    ("-1m:+6m", []),
    ("-1d:+4m", ["ENDS"]),
    ("-9m:+30", ["ENDS"]),
    (PAST, ["ENDS"]),
    (FUTURE, ["ENDS"]),
])
def test_one_that_ends(centre, valid, called):
    centre.certificate(valid)
    centre.login().ok()
    assert centre.called() == called


def test_a_list_of_keys_runs_nothing(centre):
    done = run([hpn("ssh"), "-Z", *centre.client.options(centre.option),
                "127.0.0.1"]).ok()
    assert "ED25519" in done.text
    assert centre.called() == []


def test_its_file_is_found(centre):
    """The program prints nothing, and leaves the certificate beside the
    key."""
    centre.sign(end=f"cp $d/key-cert.pub {centre.key}-cert.pub; echo done")
    centre.login().ok()
    centre.login().ok()
    assert centre.called() == ["MISSING"]


def test_the_server_wants_another(centre):
    """One of another authority seems good, until the server says no."""
    centre.certificate(DAY, ca=KEY)
    centre.login().ok()
    assert centre.called() == ["REFUSED"]
    # What has worked for this host is known the next time, if that is noted.
    centre.script("exit 1")
    done = centre.login()
    assert done.rc == 255
    assert f"CertificateCommand: {centre.program} ended with status 1" \
        in done.errors
    assert len(centre.called()) == 2


def test_what_is_no_use(centre):
    centre.sign(valid=PAST)
    done = centre.login()
    assert done.rc == 255
    assert "there is still no certificate that is good" in done.errors
    assert centre.called() == ["MISSING"]
    centre.script("echo hello")
    assert centre.login().rc == 255
    for command, told in (
            ("get-certificate", "not absolute"),
            (f"{centre.program} %H", "unknown token %H"),
            ("/nonexistent/program", "No such file")):
        done = centre.client.ssh(
            "true", options=[f"CertificateCommand={command}"])
        assert done.rc == 255 and told in done.errors, done


def test_a_private_key_is_not_taken(centre):
    centre.sign(end=f"cat {centre.keys.path('ed25519')} $d/key-cert.pub")
    done = centre.login()
    assert done.rc == 255
    assert "a private key was printed, which is not taken" in done.errors
    centre.calls.unlink()
    centre.sign(end=f"cat $d/key-cert.pub {centre.keys.path('ed25519')}")
    done = centre.login().ok()
    assert "a private key was printed" in done.errors


def test_a_failure_lets_other_keys_in(sshd, keys, tmp_path):
    centre = Centre(sshd, keys, tmp_path)
    centre.client.key = keys.path("ed25519")
    centre.script("echo reason >&2; exit 7")
    done = centre.login().ok()
    assert "reason\n" in done.errors
    assert "ended with status 7" in done.errors
    assert centre.called() == ["MISSING"]


def test_the_agent_keeps_it(centre, agent):  # noqa: F811
    options = [f"IdentityAgent={agent['SSH_AUTH_SOCK']}", "IdentitiesOnly=no",
               "AddKeysToAgent=yes"]
    centre.login(*options).ok()
    listed = run([hpn("ssh-add"), "-l"], env=clean_env(**agent)).text
    assert re.search(r"(?m)^256 SHA256:\S+ centre \(ED25519-CERT\)$", listed)
    centre.login(*options).ok()
    assert centre.called() == ["MISSING"]
    assert not list(centre.key.parent.glob("*cert*"))


def test_the_agent_keeps_it_until_it_ends(centre, tmp_path):
    with contextlib.closing(FakeAgent(
            tmp_path / "agent", lambda request: {
                fake_agent.IDENTITIES: b"\x0c\0\0\0\0",
                fake_agent.EXTENSION: fake_agent.FAILURE}.get(
                    request[0], fake_agent.SUCCESS))) as one:
        centre.login(f"IdentityAgent={one.path}", "AddKeysToAgent=yes").ok()
        certificates = [r for r in one.requests
                        if b"-cert-v01@openssh.com" in r
                        and r[0] == fake_agent.ADD_CONSTRAINED]
    assert len(certificates) == 1
    kind, seconds = struct.unpack(">BI", certificates[0][-5:])
    assert kind == 1 and 80_000 < seconds <= 86_400


def test_connections_of_a_copy_share_it(centre, tmp_path):
    data = tmp_path / "data"
    for i in range(40):
        path = data / f"f{i}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(harness.noise(300_000))
    mark = centre.server.log.stat().st_size
    centre.client.scp("-r", data, f":{tmp_path / 'copy'}",
                      flags=["-j", "4", "-l", "40000"],
                      options=[centre.option]).ok()
    assert centre.called() == ["MISSING"]
    log = centre.server.log.read_bytes()[mark:].decode()
    assert 2 <= log.count("Accepted publickey") <= 4
    for path in data.iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == \
            path.read_bytes()


def test_a_retry_after_its_end(centre, tmp_path):
    """The connection breaks when its certificate has ended: at this rate the
    break comes after 18 s at the least, and the certificate lasts for 15."""
    data = tmp_path / "data"
    data.write_bytes(harness.noise(6_000_000))
    centre.sign(valid="-1m:+15")
    # Its life of 75 s has a margin of 7.5 s.
    plan = for_connections([Fault("cut", dir="up", at=4_500_000, conn=0)])
    with Proxy(("127.0.0.1", centre.server.port), plan) as proxy:
        known = centre.known_hosts.read_text().replace(
            str(centre.server.port), str(proxy.port))
        centre.known_hosts.write_text(known)
        run([hpn("scp"), *centre.client.options(centre.option), "-P",
             str(proxy.port), "--retry=3", "-Z", "-l", "2000", data,
             f"{ME}@{proxy.host}:{tmp_path / 'copy'}"],
            timeout=120 * harness.SLOW).ok()
    assert centre.called() == ["MISSING", "ENDS"]
    assert (tmp_path / "copy").read_bytes() == data.read_bytes()
