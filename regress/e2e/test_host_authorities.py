# SPDX-License-Identifier: ISC
"""Certificates of hosts: which servers hpnssh believes, what it says of the
others, and that the installed ssh decides the same."""

import pytest
from certify import FUTURE, PAST, authority, certify, takes

import harness
from harness import Client, have, program, run

NAME = "127.0.0.1"


@pytest.fixture(params=["stock", "hpn"])
def certified(request, make_server, keys, tmp_path):
    """begin(names, **kw): a server of either kind with a certificate for its
    ed25519 key, and a client of it that knows no host."""
    kind = request.param
    if not have(kind, "sshd") or not takes(kind, "HostCertificate=/x"):
        pytest.skip(f"no {kind} sshd with HostCertificate")

    def begin(names=NAME, key="ed25519", **kw):
        cert = certify(keys, f"{keys.path(key + '-host')}.pub",
                       tmp_path / "host-cert.pub", names,
                       **{"host": True, **kw})
        server = make_server(f"HostCertificate {cert}", kind=kind,
                             host_keys=[key, "ecdsa256"] if key != "ecdsa256"
                             else [key])
        known = tmp_path / "known_hosts"
        known.touch()
        return Client("hpn", server, known_hosts=known)
    return begin


def know(client, *lines):
    client.known_hosts.write_text("".join(line + "\n" for line in lines))


def trusted(client, pattern="*", ca="ed25519-ca"):
    return f"@cert-authority {pattern} {authority(client.server.keys, ca)}"


def plain(client, key="ed25519-host"):
    public = " ".join(client.server.keys.public(key).split()[:2])
    return f"[{NAME}]:{client.server.port} {public}"


def outcome(client, **kw):
    """What hpnssh and (the same) the installed ssh make of it."""
    before = client.known_hosts.read_text()
    done = client.ssh("true", **kw)
    if have("stock", "ssh"):
        other = Client("stock", client.server,
                       known_hosts=client.known_hosts)
        assert other.ssh("true", **kw).rc == done.rc, done
    assert client.known_hosts.read_text() == before
    return done


@pytest.mark.parametrize("key", ["ed25519", "ecdsa256", "rsa"])
@pytest.mark.parametrize("tool", ["hpn", "stock"])
def test_a_host_is_known_by_its_authority(certified, tool, key):
    if not have(tool, "ssh-keygen"):
        pytest.skip("no ssh-keygen")
    client = certified(key=key, kind=tool)
    know(client, trusted(client))
    done = outcome(client)
    assert (done.rc, done.errors) == (0, "")


@pytest.mark.parametrize("ca", ["rsa-ca", "ecdsa521-ca"])
def test_authorities_of_other_types(certified, ca):
    client = certified(ca=ca)
    know(client, trusted(client, ca=ca))
    assert outcome(client).rc == 0
    refused = outcome(client, options=["CASignatureAlgorithms=ssh-ed25519"])
    assert refused.rc == 255
    assert "Certificate signed with disallowed algorithm" in refused.errors


@pytest.mark.parametrize("pattern,rc", [
    ("127.*", 0), (f"[{NAME}]:*", 0), (f"[{NAME}]:PORT", 0), ("PORT", 255),
    ("other.example", 255)])
def test_for_whom_an_authority_speaks(certified, pattern, rc):
    client = certified()
    know(client, trusted(client,
                         pattern.replace("PORT", str(client.server.port))))
    assert outcome(client).rc == rc


WRONG = [
    ({"names": "other.example"},
     "Certificate invalid: name is not a listed principal"),
    ({"names": f"[{NAME}]:*"},
     "Certificate invalid: name is not a listed principal"),
    ({"valid": PAST}, "Certificate invalid: expired"),
    ({"valid": FUTURE}, "Certificate invalid: not yet valid"),
    ({"options": ["critical:x"]},
     "Certificate contains unsupported critical options"),
]


@pytest.mark.parametrize("how,reason", WRONG)
def test_a_bad_certificate_is_told_and_passed_over(certified, how, reason):
    client = certified(**how)
    know(client, trusted(client))
    done = outcome(client)
    assert done.rc == 255
    assert reason in done.errors
    assert "Host key verification failed." in done.errors
    # The plain key counts, as that of any host.
    know(client, trusted(client), plain(client))
    done = outcome(client)
    assert done.rc == 0 and reason in done.errors
    know(client, trusted(client), plain(client, "ed25519-other"))
    done = outcome(client)
    assert done.rc == 255 and "HAS CHANGED!" in done.errors


def test_a_certificate_for_nobody(certified):
    """The installed one may take it; 10.3 and we do not."""
    client = certified(names="")
    know(client, trusted(client))
    done = client.ssh("true")
    assert done.rc == 255
    assert "Certificate lacks principal list" in done.errors


def test_patterns_of_principals(certified):
    """The installed one may be too old for them."""
    client = certified(names="other,127.0.0.*")
    know(client, trusted(client))
    assert client.ssh("true").rc == 0


def test_an_unknown_authority_says_nothing(certified):
    client = certified(valid=PAST)
    know(client, trusted(client, ca="ed25519-otherca"), plain(client))
    done = outcome(client)
    assert (done.rc, done.errors) == (0, "")
    know(client, trusted(client, ca="ed25519-otherca"))
    done = outcome(client)
    assert done.rc == 255 and "Certificate invalid" not in done.errors


def test_an_alias_is_the_name(certified):
    client = certified(names="alias.example")
    know(client, trusted(client, "alias.*"))
    assert outcome(client).rc == 255
    assert outcome(client, options=["HostKeyAlias=alias.example"]).rc == 0


@pytest.mark.parametrize("revoked", ["ed25519-ca", "ed25519-host"])
def test_revoked(certified, tmp_path, revoked):
    client = certified()
    keys = client.server.keys
    know(client, trusted(client), plain(client),
         f"@revoked * {authority(keys, revoked)}")
    done = outcome(client)
    assert done.rc == 255 and "REVOKED HOST KEY DETECTED" in done.errors
    know(client, trusted(client), plain(client))
    text, krl = tmp_path / "text", tmp_path / "krl"
    text.write_text(keys.public(revoked) + "\n")
    run([program("hpn", "ssh-keygen"), "-q", "-k", "-f", krl,
         f"{keys.path(revoked)}.pub"]).ok()
    for path in (text, krl):
        assert outcome(client, options=[f"RevokedHostKeys={path}"]).rc == 255
    text.write_text(keys.public("ed25519-other") + "\n")
    assert outcome(client, options=[f"RevokedHostKeys={text}"]).rc == 0


def test_revoked_by_its_number(certified, tmp_path):
    client = certified(serial=77)
    know(client, trusted(client))
    for number, rc in ((77, 255), (78, 0)):
        lines = tmp_path / "lines"
        lines.write_text(f"serial: {number}\n")
        run([program("hpn", "ssh-keygen"), "-q", "-k", "-f",
             tmp_path / "krl", "-s",
             f"{client.server.keys.path('ed25519-ca')}.pub", lines]).ok()
        assert outcome(client, options=[
            f"RevokedHostKeys={tmp_path / 'krl'}"]).rc == rc


def test_nothing_is_learned_from_a_certified_host(certified):
    client = certified()
    know(client, trusted(client))
    assert outcome(client, options=["UpdateHostKeys=yes"]).rc == 0


def test_a_plain_key_introduces_others(certified):
    """Though it came in a certificate, by nobody that is known."""
    client = certified()
    know(client, plain(client))
    done = client.ssh("sleep 0.5", options=["UpdateHostKeys=yes"])
    assert done.rc == 0
    assert "ecdsa-sha2-nistp256" in client.known_hosts.read_text()


def test_the_second_contact(certified):
    """What the first has noted does not replace the authority, not even if
    the plain key of a host that has been set up anew is still on file."""
    client = certified()
    know(client, trusted(client), plain(client, "ed25519-other"))
    for _ in range(2):
        assert client.ssh("true").rc == 0
        assert harness.hints_file().exists()
    know(client)
    assert client.ssh("true").rc == 255


def test_a_rekey(certified):
    client = certified()
    know(client, trusted(client))
    done = client.ssh("head", "-c", "300000", "/dev/zero",
                      options=["RekeyLimit=100K"])
    assert (done.rc, len(done.out), done.errors) == (0, 300000, "")


def test_copies_with_several_connections(certified, tmp_path):
    client = certified()
    know(client, trusted(client))
    source = tmp_path / "source"
    source.write_bytes(b"x" * 3000000)
    client.scp("-q", source, f":{tmp_path / 'copy'}",
               options=["LogLevel=ERROR"]).ok()
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()


# ---- KnownHostsCommand ---------------------------------------------------

def test_a_command_knows_the_authority(certified, tmp_path):
    client = certified()
    lines = tmp_path / "lines"
    lines.write_text(trusted(client) + "\n")
    calls = tmp_path / "calls"
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\necho "$@" >>{calls}\ncat {lines}\n')
    script.chmod(0o755)
    option = [f"KnownHostsCommand={script} %I %H %t %f"]
    done = client.ssh("true", options=option)
    assert (done.rc, done.errors) == (0, "")
    ours = calls.read_text().splitlines()
    assert ours[0] == f"ORDER [{NAME}]:{client.server.port} NONE NONE"
    assert ours[1].startswith(
        f"HOSTNAME [{NAME}]:{client.server.port} "
        "ssh-ed25519-cert-v01@openssh.com SHA256:")
    if have("stock", "ssh"):
        calls.unlink()
        other = Client("stock", client.server,
                       known_hosts=client.known_hosts)
        assert other.ssh("true", options=option).rc == 0
        theirs = calls.read_text().splitlines()
        if harness.stock_release() < (10, 0):  # without the port
            theirs[0] = theirs[0].replace(NAME, ours[0].split()[1], 1)
        assert theirs == ours
    lines.write_text("")
    assert outcome(client, options=option).rc == 255
    script.write_text("#!/bin/sh\nexit 1\n")
    know(client, plain(client))
    done = outcome(client, options=option)
    assert done.rc == 255 and "KnownHostsCommand failed" in done.errors
