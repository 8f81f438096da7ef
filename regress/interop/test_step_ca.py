# SPDX-License-Identifier: ISC
"""A certificate authority as institutions run one: smallstep's step-ca makes
user and host certificates, which hpnssh and hpnsshd use, also when they are
renewed while a session stands. Skipped where step and step-ca are not
installed: nothing is fetched from a network."""

import json
import signal
import socket
import subprocess

import pytest

import harness
from harness import LONG, ME, Client, clean_env, run, stock, wait_for

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd"),
    reason="hpnssh and hpnsshd are not built")


class StepCa:
    """An authority of its own on a free port of 127.0.0.1."""

    def __init__(self, directory, background):
        self.dir, self.port = directory, harness.free_port()
        self.env = clean_env(STEPPATH=directory, HOME=directory)
        (directory / "password").write_text("of the authority")
        self.step("ca", "init", "--ssh", "--name", "test", "--dns",
                  "127.0.0.1", "--address", f"127.0.0.1:{self.port}",
                  "--provisioner", "tester", "--deployment-type",
                  "standalone", "--password-file", directory / "password",
                  "--provisioner-password-file", directory / "password")
        self.limit_lifetimes()
        with open(directory / "log", "wb") as log:
            self.process = background(
                [stock("step-ca"), "--password-file", directory / "password",
                 directory / "config/ca.json"], env=self.env, stdout=log,
                stderr=log)
        assert wait_for(lambda: self.process.poll() is not None
                        or self.answers(), LONG)
        assert self.process.poll() is None, (directory / "log").read_text()

    def limit_lifetimes(self):
        """Certificates for seconds are wanted, to see one expire."""
        path = self.dir / "config/ca.json"
        config = json.loads(path.read_text())
        for one in config["authority"]["provisioners"]:
            one.setdefault("claims", {}).update(
                enableSSHCA=True, minUserSSHCertDuration="1s",
                minHostSSHCertDuration="1s")
        path.write_text(json.dumps(config))

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def step(self, *args):
        return run([stock("step"), *args], env=self.env).ok()

    def certify(self, name, public, *more):
        """Path of the certificate for a public key file."""
        self.step("ssh", "certificate", "--force", "--sign",
                  "--provisioner", "tester", "--provisioner-password-file",
                  self.dir / "password", "--ca-url",
                  f"https://127.0.0.1:{self.port}", "--root",
                  self.dir / "certs/root_ca.crt", *more, name, public)
        return public.with_name(public.stem + "-cert.pub")

    def authority(self, kind):
        return (self.dir / f"certs/ssh_{kind}_ca_key.pub").read_text().strip()


@pytest.fixture
def ca(tmp_path, background):
    for name in ("step", "step-ca"):
        if not stock(name):
            pytest.skip(f"{name} (smallstep) is not installed")
    directory = tmp_path / "step"
    directory.mkdir()
    return StepCa(directory, background)


@pytest.fixture
def realm(ca, keys, make_server, tmp_path):
    """A server that trusts the authority for users, and a client that trusts
    it for hosts; neither knows a plain key of the other."""
    host = tmp_path / "host.pub"
    host.write_text(keys.public("ed25519-host") + "\n")
    user = tmp_path / "user"
    for suffix in ("", ".pub"):
        copy = tmp_path / f"user{suffix}"
        copy.write_bytes(open(f"{keys.path('ed25519')}{suffix}", "rb").read())
        copy.chmod(0o600)
    users = tmp_path / "users"
    users.write_text(ca.authority("user") + "\n")
    cert = ca.certify("127.0.0.1", host, "--host")
    server = make_server(f"HostCertificate {cert}\nTrustedUserCAKeys {users}",
                         authorized=())
    known = tmp_path / "known"
    known.write_text(f"@cert-authority * {ca.authority('host')}\n")
    client = Client("hpn", server, known_hosts=known, log_level="VERBOSE")
    client.key = user
    return ca, server, client, user, host


def test_login_with_certificates_of_both_sides(realm):
    ca, server, client, user, host = realm
    assert client.ssh("true").rc == 255  # not certified yet
    ca.certify(ME, user.with_suffix(".pub"), "--principal", ME)
    assert client.ssh("echo", "in").ok().text == "in\n"
    assert "ED25519-CERT" in server.log_text()


def test_expired_user_is_refused(realm):
    ca, server, client, user, host = realm
    ca.certify(ME, user.with_suffix(".pub"), "--principal", ME,
               "--not-after", "3s")
    client.ssh("true").ok()
    assert wait_for(lambda: client.ssh("true").rc == 255, 60, 1)
    assert "Certificate invalid: expired" in server.log_text()


def test_renewal_while_a_session_stands(realm, background):
    ca, server, client, user, host = realm
    ca.certify(ME, user.with_suffix(".pub"), "--principal", ME)
    args = [*client.ssh_args(), "echo up; cat; echo over"]
    with open(user.with_name("out"), "wb") as out:
        session = background(args, stdin=subprocess.PIPE, stdout=out)
    assert wait_for(lambda: b"up" in user.with_name("out").read_bytes())
    ca.certify("127.0.0.1", host, "--host")
    ca.certify(ME, user.with_suffix(".pub"), "--principal", ME)
    before = server.log_text().count("listening on")
    server.process.send_signal(signal.SIGHUP)
    assert wait_for(
        lambda: server.log_text().count("listening on") > before)
    client.ssh("true").ok()
    session.stdin.close()
    assert session.wait(LONG) == 0
    assert b"over" in user.with_name("out").read_bytes()


def test_host_of_another_authority_is_not_trusted(realm, keys):
    ca, server, client, user, host = realm
    ca.certify(ME, user.with_suffix(".pub"), "--principal", ME)
    client.known_hosts.write_text(
        f"@cert-authority * {keys.public('ed25519-ca')}\n")
    done = client.ssh("true")
    assert done.rc == 255 and "Host key verification failed" in done.errors
