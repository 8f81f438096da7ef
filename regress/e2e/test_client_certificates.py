# SPDX-License-Identifier: ISC
"""Certificates of users: which hpnssh finds, in which order it offers them,
and that it gets in where the installed ssh does."""

import re
import shutil

import pytest
from agents import stock_agent as agent  # noqa: F401
from certify import FUTURE, PAST, certify, takes

import harness
from harness import ME, Client, clean_env, have, run, stock


@pytest.fixture(scope="module", params=["stock", "hpn"])
def trusting(request, shared_servers, keys):
    """A server that trusts the authority ed25519-ca and no key."""
    kind = request.param
    if not have(kind, "sshd") or not takes(kind, "TrustedUserCAKeys=/x"):
        pytest.skip(f"no {kind} sshd with TrustedUserCAKeys")
    return shared_servers(kind, f"TrustedUserCAKeys {keys.path('ed25519-ca')}"
                          ".pub\nAuthorizedKeysFile none\nLogLevel VERBOSE")


@pytest.fixture
def own(keys, tmp_path):
    """own(name, **kw): a key of the user with a certificate beside it."""
    def make(name="ed25519-user", names=ME, beside=True, **kw):
        path = tmp_path / name
        if not path.exists():
            shutil.copy(keys.path(name), path)
            shutil.copy(f"{keys.path(name)}.pub", f"{path}.pub")
        target = tmp_path / (f"{name}-cert.pub" if beside else
                             f"{name}.elsewhere")
        certify(keys, f"{path}.pub", target, names, **kw)
        return path
    return make


@pytest.fixture
def client(trusting, tmp_path):
    known = tmp_path / "known_hosts"
    shutil.copy(trusting.known_hosts, known)
    client = Client("hpn", trusting, known_hosts=known)
    client.key = None
    return client


def add(agent, *paths):
    run([stock("ssh-add"), "-q", *paths],
        env=clean_env(SSH_AUTH_SOCK=agent)).ok()


def offers(done):
    """What a client says that it offers, as far as all versions say it."""
    return re.findall(r"Offering public key: (.*?)\r?\n", done.errors)


def outcome(client, flags=(), options=(), env=None, same_offers=True):
    """What hpnssh makes of it, and (the same) the installed ssh."""
    done = client.ssh("true", flags=["-v", *flags], options=options,
                      env=env or clean_env())
    if have("stock", "ssh"):
        other = Client("stock", client.server,
                       known_hosts=client.known_hosts)
        other.key, other.fixed = client.key, client.fixed
        theirs = other.ssh("true", flags=["-v", *flags], options=options,
                           env=env or clean_env())
        assert theirs.rc == done.rc, done
        if same_offers:
            # They stop at the first that is accepted; ours may be underway.
            assert offers(done)[:len(offers(theirs))] == offers(theirs)
    return done


@pytest.mark.parametrize("key", ["ed25519", "ecdsa256", "ecdsa384",
                                 "ecdsa521", "rsa"])
@pytest.mark.parametrize("tool", ["hpn", "stock"])
def test_each_type(client, own, key, tool):
    if not have(tool, "ssh-keygen"):
        pytest.skip("no ssh-keygen")
    client.key = own(f"{key}-user", kind=tool)
    done = outcome(client, same_offers=False)  # 9.2 offers, we sign at once
    assert done.rc == 0
    assert re.search("Accepted publickey for .*-CERT SHA256:.* ID id "
                     r"\(serial 1\) CA ED25519 SHA256:",
                     client.server.log_text())


@pytest.mark.parametrize("how", [
    {"ca": "ed25519-otherca"}, {"valid": PAST}, {"valid": FUTURE},
    {"names": "somebody"}, {"host": True},
    {"options": ["source-address=192.0.2.1/32"]},
    {"options": ["critical:x"]}])
def test_what_the_server_refuses(client, own, how):
    client.key = own(**how)
    done = outcome(client)
    assert done.rc == 255
    assert "Permission denied (publickey" in done.errors


def test_the_plain_key_comes_after_a_refused_certificate(shared_servers, own,
                                                         keys, tmp_path):
    server = shared_servers("stock" if have("stock", "sshd") else "hpn")
    known = tmp_path / "known"
    shutil.copy(server.known_hosts, known)
    client = Client("hpn", server, known_hosts=known)
    client.key = own("ed25519")
    for order in (["ED25519-CERT", "ED25519"], ["ED25519"]):
        # The second time it is known what worked.
        done = client.ssh("true", flags=["-v"], options=[
            f"CertificateFile={client.key}-cert.pub"])
        assert done.rc == 0
        assert [o.split()[1] for o in offers(done)] == order


def test_named_certificates(client, own):
    """CertificateFile, with tokens; nothing else counts then."""
    first, second = own(beside=False), own("rsa-user")
    options = [f"CertificateFile={first.parent}/ed25519-%%.elsewhere",
               f"CertificateFile={first.parent}/%%.none"]
    named = options[0].replace("ed25519-%%", "ed25519-user")
    assert outcome(client, flags=["-i", first], options=[named]).rc == 0
    assert outcome(client, flags=["-i", second], options=[named],
                   same_offers=False).rc == 255
    named = named.replace("elsewhere", "%r").replace("user.", f"{'user'}.")
    (first.parent / f"ed25519-user.{ME}").write_text(
        (first.parent / "ed25519-user.elsewhere").read_text())
    assert outcome(client, flags=["-i", first], options=[named]).rc == 0


def test_explicit_keys_keep_their_places(client, own):
    bad, good = own("rsa-user", names="somebody"), own()
    done = outcome(client, flags=["-i", bad, "-i", good])
    assert done.rc == 0
    assert [o.split()[1] for o in offers(done)] \
        == ["RSA", "RSA-CERT", "ED25519", "ED25519-CERT"]


def test_certificates_of_the_agent(client, own, agent):
    first, second = own("rsa-user", names="somebody"), own()
    add(agent, first, second)
    env = clean_env(SSH_AUTH_SOCK=agent)
    for path in first.parent.glob("*-user*"):
        path.unlink()
    client.fixed.remove("IdentitiesOnly=yes")
    done = outcome(client, env=env, options=["IdentityFile=none"],
                   same_offers=False)
    assert done.rc == 0
    # Plain keys are behind certificates, unlike in 9.2.
    assert [o.split()[-3] for o in offers(done)[:2]] \
        == ["RSA-CERT", "ED25519-CERT"]


def test_named_keys_of_the_agent_are_in_its_order(client, own, agent):
    first, second = own("rsa-user", names="somebody"), own()
    add(agent, second, first)
    done = outcome(client, flags=["-i", first, "-i", second],
                   env=clean_env(SSH_AUTH_SOCK=agent))
    assert done.rc == 0
    assert all(o.endswith(" explicit agent") for o in offers(done))


def test_only_named_identities(client, own, agent):
    """A certificate of the agent whose key alone is named is not."""
    path = own()
    add(agent, path)
    (path.parent / "ed25519-user-cert.pub").unlink()
    env = clean_env(SSH_AUTH_SOCK=agent)
    assert outcome(client, flags=["-i", path], env=env).rc == 255
    client.fixed.remove("IdentitiesOnly=yes")
    assert outcome(client, flags=["-i", path], env=env).rc == 0


def test_the_agent_has_the_key_of_a_certificate(client, own, agent):
    path = own(beside=False)
    add(agent, path)
    path.unlink()
    client.fixed.remove("IdentitiesOnly=yes")
    done = outcome(client, env=clean_env(SSH_AUTH_SOCK=agent), options=[
        "IdentityFile=none", f"CertificateFile={path}.elsewhere"],
        same_offers=False)
    assert done.rc == 0


def test_a_certificate_without_a_key_is_not_offered(client, own):
    path = own(beside=False)
    done = client.ssh("true", flags=["-v"], options=[
        "IdentityFile=none", f"CertificateFile={path}.elsewhere"])
    assert done.rc == 255 and not offers(done)
    assert "there is no private key for it" in done.errors


def test_the_second_contact(client, own):
    """The certificate that worked signs at once, though others come first;
    a renewed one as well."""
    wrong = own("rsa-user", names="somebody")
    client.key = own()
    flags = ["-v", "-i", wrong]
    # what is in front of client.key on the command line comes behind it
    client.fixed = [*client.fixed, f"IdentityFile={wrong}"]
    assert client.ssh("true", flags=flags).rc == 0
    hints = harness.hints_file().read_text()
    assert re.search(r" SHA256:\S+@SHA256:\S+\n$", hints)
    (client.key.parent / "ed25519-user-cert.pub").unlink()
    own(serial=2)
    done = client.ssh("true", flags=flags)
    assert done.rc == 0
    assert [o.split()[1] for o in offers(done)] == ["ED25519-CERT"]


def test_copies(client, own, tmp_path):
    client.key = own()
    source = tmp_path / "source"
    source.write_bytes(b"x" * 3000000)
    client.scp("-q", source, f":{tmp_path / 'copy'}").ok()
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()


def test_the_list(client, own, agent, keys):
    """-Z, as 10.5 has it."""
    path, held = own(), own("rsa-user")
    add(agent, held)
    fps = [run([keys.keygen, "-lf", f"{p}.pub"]).text.split()[1]
           for p in (path, held)]
    client.fixed.remove("IdentitiesOnly=yes")
    done = client.ssh(flags=["-Z", "-i", path, "-i", held],
                      env=clean_env(SSH_AUTH_SOCK=agent)).ok()
    assert done.text.splitlines() == [
        f"{held} RSA {fps[1]} explicit agent",
        f"{held} RSA-CERT {fps[1]} explicit agent",
        f"{path} ED25519 {fps[0]} explicit",
        f"{path} ED25519-CERT {fps[0]} explicit"]
    client.fixed.append("IdentityAgent=none")
    done = client.ssh(flags=["-Z"], options=["IdentityFile=/nonexistent"])
    assert (done.rc, done.text) == (0, "/nonexistent  explicit\n")
