# SPDX-License-Identifier: ISC
"""hpnssh and known_hosts: what is asked, told, written and refused."""

import pytest
from terminal import Terminal

from harness import Client, have, hpn, run, stock


@pytest.fixture
def client(shared_servers, tmp_path):
    server = shared_servers("stock" if have("stock", "sshd") else "hpn")
    return Client("hpn", server, known_hosts=tmp_path / "known_hosts",
                  log_level="INFO", options=["StrictHostKeyChecking=ask"])


def public(client, name="ed25519-host"):
    return " ".join(client.server.keys.public(name).split()[:2])


def know(client, key, name=None, port=None):
    name = name or f"[127.0.0.1]:{port or client.server.port}"
    with open(client.known_hosts, "a") as f:
        f.write(f"{name} {key}\n")


def ask(client, *answers, options=()):
    """Runs at a terminal, answers the question; (status, shown)."""
    args = client.ssh_args("BatchMode=no", *options)
    args.remove("BatchMode=yes")
    args = [a for i, a in enumerate(args)
            if not (a == "-o" and args[i + 1] == "-o")]
    with Terminal([*args, "true"]) as terminal:
        for answer in answers:
            terminal.expect("(yes/no/[fingerprint])? " if answer is
                            answers[0] else "fingerprint: ")
            terminal.line(answer)
        return terminal.wait(), terminal.shown.decode()


def fingerprint(client):
    keygen = stock("ssh-keygen") or hpn("ssh-keygen")
    return run([keygen, "-lf", f"{client.server.keys.path('ed25519-host')}"
                ".pub"]).text.split()[1]


def test_yes(client):
    status, shown = ask(client, "yes")
    assert status == 0
    assert "The authenticity of host" in shown
    assert fingerprint(client) in shown
    assert "Permanently added" in shown
    assert public(client) in client.known_hosts.read_text()
    assert client.ssh("true").rc == 0


def test_no(client):
    status, shown = ask(client, "no")
    assert status == 255 and "Host key verification failed." in shown
    assert not client.known_hosts.exists()


def test_fingerprint_as_answer(client):
    assert ask(client, fingerprint(client))[0] == 0


def test_wrong_fingerprint_asks_again(client):
    status, shown = ask(client, "SHA256:" + "A" * 43, "no")
    assert status == 255 and "Host key verification failed." in shown


def test_other_names_are_told(client):
    know(client, public(client), name="other.example")
    status, shown = ask(client, "no")
    assert "other.example" in shown


def test_batch_mode_refuses(client):
    done = client.ssh("true")
    assert done.rc == 255 and "Host key verification failed." in done.errors


@pytest.mark.parametrize("strict,status", [
    ("yes", 255), ("accept-new", 0), ("no", 0), ("off", 0)])
def test_new_host(client, strict, status):
    client.fixed[0] = f"StrictHostKeyChecking={strict}"
    assert client.ssh("true").rc == status
    assert client.known_hosts.exists() == (status == 0)


@pytest.mark.parametrize("strict,status", [
    ("yes", 255), ("ask", 255), ("accept-new", 255), ("no", 0)])
def test_changed_key(client, strict, status):
    know(client, public(client, "ed25519-other"))
    before = client.known_hosts.read_text()
    client.fixed[0] = f"StrictHostKeyChecking={strict}"
    done = client.ssh("true")
    assert done.rc == status, done
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED!" in done.errors
    assert f"Offending ED25519 key in {client.known_hosts}:1" in done.errors
    assert client.known_hosts.read_text() == before


@pytest.mark.parametrize("strict, status", [
    ("yes", 255), ("ask", 255), ("accept-new", 255), ("no", 0)])
@pytest.mark.parametrize("kind", ["rsa", "ecdsa256"])
def test_changed_to_another_type(client, kind, strict, status):
    """A host that is known shows a key of a type that it never had: that is no
    new host, and nothing is learnt from it."""
    know(client, public(client, f"{kind}-other"))
    before = client.known_hosts.read_text()
    client.fixed[0] = f"StrictHostKeyChecking={strict}"
    done = client.ssh("sleep 0.3", options=[
        "HostKeyAlgorithms=ssh-ed25519", "UpdateHostKeys=yes"])
    assert done.rc == status, done
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED!" in done.errors
    assert (f"Offending {kind[:5].upper()} key in {client.known_hosts}:1"
            ) in done.errors
    assert ("so that nobody gets your password" in done.errors) \
        == (strict == "no")
    assert client.known_hosts.read_text() == before


def test_no_password_for_another_type(client):
    know(client, public(client, "rsa-other"))
    client.fixed[0] = "StrictHostKeyChecking=no"
    done = client.ssh("true", options=[
        "HostKeyAlgorithms=ssh-ed25519", "PreferredAuthentications=password",
        "BatchMode=no"])
    assert done.rc == 255 and "password:" not in done.errors, done
    assert "so that nobody gets your password" in done.errors


def test_revoked_key(client):
    know(client, public(client))
    with open(client.known_hosts, "a") as f:
        f.write(f"@revoked * {public(client)}\n")
    done = client.ssh("true")
    assert done.rc == 255 and "REVOKED HOST KEY DETECTED" in done.errors


def test_revoked_host_keys_file(client, tmp_path):
    know(client, public(client))
    revoked = tmp_path / "revoked"
    revoked.write_text(public(client) + "\n")
    option = [f"RevokedHostKeys={revoked}"]
    assert client.ssh("true", options=option).rc == 255
    revoked.write_text(public(client, "ed25519-other") + "\n")
    assert client.ssh("true", options=option).rc == 0
    revoked.unlink()
    assert client.ssh("true", options=option).rc == 255


def test_revoked_host_keys_in_a_krl(client, tmp_path):
    know(client, public(client))
    spec, krl = tmp_path / "spec", tmp_path / "krl"
    keygen = stock("ssh-keygen") or hpn("ssh-keygen")
    option = [f"RevokedHostKeys={krl}"]
    for name, status in ((None, 255), ("ed25519-other", 0)):
        key = public(client, name) if name else public(client)
        spec.write_text(f"sha1: {key}\n")
        run([keygen, "-k", "-q", "-f", krl, spec]).ok()
        assert client.ssh("true", options=option).rc == status
    krl.write_bytes(krl.read_bytes()[:-1])
    assert client.ssh("true", options=option).rc == 255


def test_another_type_than_the_revoked_one(client):
    """A type whose only known key is revoked is not asked for first."""
    know(client, public(client))
    know(client, public(client), name="@revoked *")
    know(client, public(client, "ecdsa256-host"))
    assert client.ssh("true").rc == 0


@pytest.mark.parametrize("name", ["*", "github.com,mine", "h?st", "!host"])
def test_no_patterns_are_noted(client, name):
    """A name that is a pattern would vouch for other hosts."""
    client.fixed[0] = "StrictHostKeyChecking=accept-new"
    done = client.ssh("true", options=[f"HostKeyAlias={name}"])
    assert done.rc == 0, done
    assert not client.known_hosts.exists()
    done = client.ssh("true", options=[f"HostName={name}"])
    assert done.rc == 255 and "not allowed" in done.errors, done
    assert not client.known_hosts.exists()


@pytest.mark.parametrize("algorithms", [
    None, "+ssh-rsa", "-ssh-dss*,ssh-ed448", "^sk-ssh-ed25519@openssh.com"])
@pytest.mark.parametrize("kind", ["ecdsa256", "ecdsa521", "rsa", "ed25519"])
def test_known_type_is_asked_for(client, kind, algorithms):
    """A host has keys of several types. Also where the user adds to the list or
    takes something away, the known one is what it has to show."""
    know(client, public(client, f"{kind}-host"))
    options = [f"HostKeyAlgorithms={algorithms}"] if algorithms else []
    done = client.ssh("true", options=options)
    # An order that the user gives counts.
    keeps = algorithms and algorithms[0] == "^" and kind != "ed25519"
    assert done.rc == (255 if keeps else 0), done
    assert ("HAS CHANGED" in done.errors) == bool(keeps)


def test_other_type_only(client):
    know(client, public(client, "ecdsa256-host"))
    done = client.ssh("true", options=["HostKeyAlgorithms=ssh-ed25519"])
    assert done.rc == 255


def test_known_without_port(client):
    know(client, public(client), name="127.0.0.1")
    assert client.ssh("true").rc == 0


def test_hashed_names(client):
    client.fixed[0] = "StrictHostKeyChecking=accept-new"
    assert client.ssh("true", options=["HashKnownHosts=yes"]).rc == 0
    assert client.known_hosts.read_text().startswith("|1|")
    client.fixed[0] = "StrictHostKeyChecking=yes"
    assert client.ssh("true").rc == 0


def test_host_key_alias(client):
    know(client, public(client), name="alias.example")
    assert client.ssh("true", options=["HostKeyAlias=alias.example"]).rc == 0
    assert client.ssh("true").rc == 255


def test_localhost_may_be_excused(client):
    option = ["NoHostAuthenticationForLocalhost=yes"]
    assert client.ssh("true", options=option).rc == 0
    assert not client.known_hosts.exists()


def test_picture(client):
    know(client, public(client))
    done = client.ssh("true", options=["VisualHostKey=yes"])
    assert done.rc == 0 and fingerprint(client) in done.errors
    assert "+--[ED25519 256]--+" in done.errors


def test_short_rsa_host_key(client):
    know(client, public(client, "rsa-host"))
    done = client.ssh("true", options=["HostKeyAlgorithms=rsa-sha2-512",
                                       "RequiredRSASize=4096"])
    assert done.rc == 255 and "2048 bits" in done.errors


def test_no_common_algorithm(make_server):
    server = make_server("Ciphers aes256-ctr", kind="stock")
    done = Client("hpn", server).ssh("true", flags=["-c", "aes128-ctr"])
    assert done.rc == 255
    assert (f"Unable to negotiate with 127.0.0.1 port {server.port}: no "
            "matching cipher found. Their offer: aes256-ctr") in done.errors


def test_warning_without_post_quantum(make_server):
    """Not for who has chosen the method."""
    server = make_server("KexAlgorithms curve25519-sha256\n")
    client = Client("hpn", server, log_level="INFO")
    for options, warned in (([], True), (["WarnWeakCrypto=no-pq-kex"], False),
                            (["KexAlgorithms=curve25519-sha256"], False)):
        done = client.ssh("true", options=options)
        assert done.rc == 0 and ("post-quantum" in done.errors) == warned


OLD = {"KexAlgorithms": "diffie-hellman-group1-sha1",
       "Ciphers": "3des-cbc", "MACs": "hmac-md5-96",
       "HostKeyAlgorithms": "ssh-rsa"}


def test_warning_of_old_algorithms(make_server):
    """Each is named once; no-pq-kex is about the other warning only."""
    rows = "".join(f"{k} {v}\n" for k, v in OLD.items())
    server = make_server(rows)
    client = Client("hpn", server, log_level="INFO")
    options = [f"{k}={v}" for k, v in OLD.items()]
    for more in ("no-pq-kex", "yes"):
        done = client.ssh("echo there", options=[
            *options, f"WarnWeakCrypto={more}"]).ok()
        assert done.out == b"there\n"
        for name in OLD.values():
            assert done.errors.count(f" {name} is weak;") == 1, done
    assert "is weak" not in client.ssh(
        "true", options=[*options, "WarnWeakCrypto=no"]).ok().errors
    # None of them is a default: a client that does not ask for it is refused.
    assert "no matching" in client.ssh("true").errors


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("typed", ["\x04", "\r"])
def test_nothing_is_no_answer(client, kind, typed):
    """^D, or an empty line: no."""
    if not have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    other = Client(kind, client.server, known_hosts=client.known_hosts)
    args = other.ssh_args("StrictHostKeyChecking=ask", "BatchMode=no")
    with Terminal([*args, "true"]) as terminal:
        terminal.expect("(yes/no/[fingerprint])? ")
        terminal.type(typed)
        terminal.expect("Host key verification failed.")
        assert terminal.wait() == 255
