# SPDX-License-Identifier: ISC
"""Host certificates and host keys of an agent: what hpnsshd shows to clients,
what it announces, and what it does when its files or its agent are bad."""

import shutil
import signal
import socket
import time

import pytest
from agents import Agent
from sshwire import GLOBAL_REQUEST, connect, load_key

from harness import ME, Client, clean_env, have, hpn, run, wait_for

TYPES = ("ed25519", "ecdsa256", "rsa")
CERT_ALGORITHMS = {
    "ed25519": "ssh-ed25519-cert-v01@openssh.com",
    "ecdsa256": "ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "rsa": "rsa-sha2-512-cert-v01@openssh.com"}
needs_stock = pytest.mark.skipif(not have("stock", "ssh", "ssh-keygen"),
                                 reason="no stock ssh is installed")


@pytest.fixture
def certify(keys, tmp_path):
    """certify(name, id): path of a certificate for the host key `name`."""
    def make(name="ed25519-host", ident="one", *more, kind=("-h",)):
        copy = tmp_path / f"{name}-{ident}.pub"
        copy.write_text(keys.public(name) + "\n")
        run([hpn("ssh-keygen"), "-q", "-s", keys.path("ed25519-ca"), "-I",
             ident, *kind, "-n", "127.0.0.1,localhost", *more, copy]).ok()
        return tmp_path / f"{name}-{ident}-cert.pub"
    return make


@pytest.fixture
def trusting(keys, tmp_path):
    """trusting(server): a stock client that knows the authority alone."""
    def make(server, *options):
        known = tmp_path / "known-authority"
        known.write_text("@cert-authority * " + keys.public("ed25519-ca")
                         + "\n")
        return Client("stock", server, known_hosts=known,
                      log_level="DEBUG1", options=options)
    return make


def shown(client, tmp_path):
    """Key id of the certificate that the client got."""
    done = client.ssh("true")
    assert done.rc == 0, done
    said = [x for x in done.errors.splitlines()
            if "Server host certificate" in x]
    assert said, done
    return said[0].split(' ID "')[1].split('"')[0]


# ---- certificates --------------------------------------------------------

@needs_stock
@pytest.mark.parametrize("kind", TYPES)
def test_certificate_vouches_for_each_type(make_server, certify, trusting,
                                           kind, tmp_path):
    cert = certify(f"{kind}-host", kind)
    server = make_server(f"HostCertificate {cert}")
    client = trusting(server, f"HostKeyAlgorithms={CERT_ALGORITHMS[kind]}")
    assert shown(client, tmp_path) == kind


@needs_stock
def test_certificate_through_rekeys(make_server, certify, trusting):
    """The later exchanges are answered by another process than the first."""
    server = make_server(f"HostCertificate {certify()}")
    client = trusting(server, "RekeyLimit=32K")
    done = client.ssh("head -c 300000 /dev/zero; sleep 0.1; echo end")
    assert done.rc == 0 and done.out.endswith(b"end\n"), done
    assert done.errors.count("SSH2_MSG_NEWKEYS received") > 1


@needs_stock
def test_rsa_sha256_certificate(make_server, certify, trusting):
    server = make_server(f"HostCertificate {certify('rsa-host', 'r')}")
    client = trusting(
        server, "HostKeyAlgorithms=rsa-sha2-256-cert-v01@openssh.com",
        "UpdateHostKeys=yes")
    client.ssh("true").ok()


@needs_stock
def test_plain_key_is_still_served(make_server, certify):
    server = make_server(f"HostCertificate {certify()}")
    client = Client("stock", server,
                    options=("HostKeyAlgorithms=ssh-ed25519",))
    client.ssh("true").ok()


@needs_stock
def test_last_certificate_of_a_key_counts(make_server, certify, trusting,
                                          tmp_path):
    """As stock has it; those of -c come before those of the file."""
    first, last = certify(ident="first"), certify(ident="last")
    server = make_server(f"HostCertificate {last}", args=["-c", first])
    assert shown(trusting(server), tmp_path) == "last"


@needs_stock
def test_hangup_reads_certificates_again(make_server, certify, trusting,
                                         tmp_path):
    used = tmp_path / "used-cert.pub"
    shutil.copy(certify(ident="old"), used)
    server = make_server(f"HostCertificate {used}")
    assert shown(trusting(server), tmp_path) == "old"
    shutil.copy(certify(ident="new"), used)
    before = server.log_text().count("listening on")
    server.process.send_signal(signal.SIGHUP)
    assert wait_for(
        lambda: server.log_text().count("listening on") > before)
    assert shown(trusting(server), tmp_path) == "new"


def test_bad_certificates_are_told_and_left_out(make_server, certify, keys,
                                                tmp_path):
    missing = tmp_path / "missing"
    plain = f"{keys.path('rsa-host')}.pub"
    foreign = certify("ed25519-foreign")
    user = certify(ident="user", kind=())
    forged = tmp_path / "forged-cert.pub"
    words = certify(ident="good").read_text().split()
    forged.write_text(f"{words[0]} {words[1][:-8]}AAAAAAA=\n")
    server = make_server("".join(
        f"HostCertificate {f}\n" for f in (missing, plain, foreign, user,
                                           forged)))
    log = server.log_text()
    for said in (f'Could not load host certificate "{missing}": No such file',
                 f"Certificate file is not a certificate: {plain}",
                 f"No matching private key for certificate: {foreign}",
                 f"not a certificate of a host: {user}",
                 f'Could not load host certificate "{forged}": '):
        assert said in log, (said, log)
    w = connect(server)
    w.identify()
    assert not [a for a in offered(w) if "-cert-" in a]
    w.close()


def offered(w):
    """Host key algorithms of the server's KEXINIT."""
    packet = w.expect(20)
    packet.take(16)
    packet.text()
    return packet.text().split(",")


def announced(server, key):
    """Types of the keys that hostkeys-00 tells."""
    w = connect(server)
    w.login(ME, key)
    while True:
        r = w.expect(GLOBAL_REQUEST)
        if r.text() == "hostkeys-00@openssh.com":
            break
    r.bool()
    found = []
    while r.at < len(r.data):
        blob = r.string()
        found.append(blob[4:4 + int.from_bytes(blob[:4], "big")].decode())
    w.close()
    return found


def test_certificates_are_never_announced(make_server, certify, keys,
                                          tmp_path):
    """Not even where the file of the private key holds one."""
    server = make_server(f"HostCertificate {certify()}")
    kinds = announced(server, load_key(keys.path("ed25519")))
    assert len(kinds) == 5 and not [k for k in kinds if "-cert-" in k]


def test_only_certified_types_are_offered(make_server, certify):
    server = make_server(f"HostCertificate {certify()}")
    w = connect(server)
    w.identify()
    found = offered(w)
    w.close()
    assert found[0] == CERT_ALGORITHMS["ed25519"]
    assert [a for a in found if "-cert-" in a] == found[:1]
    assert "rsa-sha2-512" in found


def test_dump(certify, tmp_path, keys):
    a, b = certify(ident="a"), certify(ident="b")
    config = tmp_path / "config"
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n"
                      f"HostCertificate {a}\nHostKeyAgent /x/agent\n")
    done = run([hpn("sshd"), "-T", "-f", config, "-c", b])
    text = done.text.lower().splitlines()
    assert [x for x in text if x.startswith("hostcertificate ")] == [
        f"hostcertificate {b}".lower(), f"hostcertificate {a}".lower()]
    assert "hostkeyagent /x/agent" in text
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n"
                      "HostCertificate none\n")
    done = run([hpn("sshd"), "-T", "-f", config]).ok()
    assert "hostcertificate none" in done.text.lower()
    assert "hostkeyagent none" in done.text.lower()


# ---- keys in an agent ----------------------------------------------------

@pytest.fixture
def in_agent(keys, make_server, tmp_path):
    """in_agent(name): a server whose ed25519 host key is in an agent."""
    agents = []

    def make(config="", silent=False, others=(), suffix="", **kw):
        path = tmp_path / "agent"
        agents.append(Agent(path, load_key(keys.path("ed25519-host")),
                            silent=silent))
        alone = tmp_path / "alone"
        shutil.copy(f"{keys.path('ed25519-host')}.pub", f"{alone}.pub")
        server = make_server(
            f"HostKeyAgent {path}\nHostKey {alone}{suffix}\n{config}",
            host_keys=others, **kw)
        server.known_hosts.write_text(
            f"[127.0.0.1]:{server.port} {keys.public('ed25519-host')}\n")
        return server, agents[0]

    yield make
    for agent in agents:
        agent.__exit__()


@pytest.mark.parametrize("client", ["hpn", "stock"])
@pytest.mark.parametrize("suffix", ["", ".pub"])
def test_agent_signs(in_agent, client, suffix):
    if not have(client, "ssh"):
        pytest.skip(f"no {client} ssh")
    server, agent = in_agent(suffix=suffix)
    Client(client, server).ssh("true").ok()
    assert agent.messages


@needs_stock
def test_agent_signs_rekeys_and_proofs(in_agent, keys, tmp_path):
    """The proof is for the key that the client does not know yet."""
    server, agent = in_agent(others=("rsa",))
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} {keys.public('rsa-host')}\n")
    client = Client("stock", server, known_hosts=known, options=(
        "UpdateHostKeys=yes", "HostKeyAlgorithms=rsa-sha2-512,ssh-ed25519"))
    client.ssh("sleep 0.3").ok()
    assert keys.public("ed25519-host").split()[1] in known.read_text()
    before = len(agent.messages)
    done = Client("stock", server, options=("RekeyLimit=32K",)).ssh(
        "head -c 200000 /dev/zero; sleep 0.1; echo end")
    assert done.rc == 0 and done.out.endswith(b"end\n"), done
    assert len(agent.messages) >= before + 2


@needs_stock
def test_certificate_of_a_key_in_the_agent(in_agent, certify, trusting,
                                           tmp_path):
    server, agent = in_agent(f"HostCertificate {certify(ident='held')}")
    assert shown(trusting(server), tmp_path) == "held"


def test_agent_of_the_environment(keys, make_server, tmp_path):
    with Agent(tmp_path / "agent", load_key(keys.path("ed25519-host"))):
        shutil.copy(f"{keys.path('ed25519-host')}.pub", tmp_path / "k.pub")
        server = make_server(
            f"HostKeyAgent SSH_AUTH_SOCK\nHostKey {tmp_path / 'k'}",
            host_keys=(), env=clean_env(SSH_AUTH_SOCK=tmp_path / "agent"))
        server.known_hosts.write_text(
            f"[127.0.0.1]:{server.port} {keys.public('ed25519-host')}\n")
        Client("hpn", server).ssh("test -z \"$SSH_AUTH_SOCK\"").ok()


def test_agent_that_hangs_stops_only_who_needs_it(in_agent, keys):
    """It gets the grace time and no more; meanwhile others log in."""
    server, agent = in_agent("LoginGraceTime 2", silent=True,
                             others=("rsa",))
    server.known_hosts.write_text("".join(
        f"[127.0.0.1]:{server.port} {keys.public(k)}\n"
        for k in ("ed25519-host", "rsa-host")))
    began = time.monotonic()
    stuck = connect(server)
    stuck.identify()
    assert "ssh-ed25519" in offered(stuck)
    with pytest.raises(Exception):
        other = connect(server)
        try:
            other.handshake()  # knows ssh-ed25519 only
        finally:
            other.close()
    assert agent.messages and 1 < time.monotonic() - began < 50
    stuck.close()
    Client("hpn", server, options=("HostKeyAlgorithms=rsa-sha2-512",)).ssh(
        "true").ok()
    assert "the agent of the host keys does not sign: timed out" \
        in server.log_text()


def test_agent_that_ends_and_comes_back(in_agent, keys, tmp_path):
    server, agent = in_agent()
    agent.__exit__()
    assert Client("hpn", server).ssh("true").rc == 255
    with Agent(tmp_path / "agent", load_key(keys.path("ed25519-host"))):
        Client("hpn", server).ssh("true").ok()


def start_without(tmp_path, *lines):
    config = tmp_path / "config"
    config.write_text("".join(f"{x}\n" for x in (
        "Port 1", "PidFile none", f"HostKeyAgent {tmp_path / 'nobody'}",
        *lines)))
    return run([hpn("sshd"), "-t", "-e", "-f", config])


def test_no_agent_at_the_start(keys, tmp_path):
    shutil.copy(f"{keys.path('ed25519-host')}.pub", tmp_path / "k.pub")
    done = start_without(tmp_path, f"HostKey {tmp_path / 'k'}")
    assert done.rc == 1
    assert f'Could not connect to agent "{tmp_path / "nobody"}"' \
        in done.errors
    assert "sshd: no hostkeys available -- exiting." in done.errors
    done = start_without(tmp_path, f"HostKey {tmp_path / 'k'}",
                         f"HostKey {keys.path('rsa-host')}")
    assert done.rc == 0
    assert f'Unable to load host key "{tmp_path / "k"}"' in done.errors


def test_agent_of_the_environment_that_is_not_named(keys, tmp_path):
    config = tmp_path / "config"
    config.write_text("HostKeyAgent SSH_AUTH_SOCK\n"
                      f"HostKey {keys.path('ed25519-host')}\n")
    for env in clean_env(), clean_env(SSH_AUTH_SOCK=""):
        done = run([hpn("sshd"), "-t", "-f", config], env=env)
        assert done.errors == "HostKeyAgent: SSH_AUTH_SOCK is not set\n"
        assert done.rc == 0  # there is a key in a file


def test_agent_that_accepts_nobody_delays_the_start_for_a_while(
        keys, tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "nobody"))
        listener.listen(0)
        full = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for s in full:
            s.setblocking(False)
            try:
                s.connect(str(tmp_path / "nobody"))
            except BlockingIOError:
                pass
        done = start_without(tmp_path, f"HostKey {keys.path('rsa-host')}")
        for s in full:
            s.close()
    assert done.rc == 0 and "timed out" in done.errors
    assert 4 < done.seconds < 30
