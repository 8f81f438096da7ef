# SPDX-License-Identifier: ISC
"""Keys of ssh-mldsa44-ed25519@openssh.com: for hosts, users, authorities,
agents and files. They are in no default list."""

import pytest

from harness import ME, Client, hpn, run

ALG = "ssh-mldsa44-ed25519@openssh.com"
CERT_ALG = "ssh-mldsa44-ed25519-cert-v01@openssh.com"
KEYGEN = hpn("ssh-keygen")


@pytest.fixture
def pq(tmp_path):
    """pq(name): path of a new key."""
    def make(name):
        path = tmp_path / name
        run([KEYGEN, "-q", "-t", "mldsa44-ed25519", "-N", "", "-C", name,
             "-f", path]).ok()
        return path
    return make


def public(path):
    return path.with_name(path.name + ".pub").read_text().strip()


def known_as(tmp_path, line, mark=""):
    known = tmp_path / "known"
    known.write_text(f"{mark}* {line}\n")
    return known


def test_host_key_is_offered_only_if_asked_for(make_server, pq, tmp_path):
    host = pq("host")
    known = known_as(tmp_path, public(host))
    quiet = make_server(f"HostKey {host}")
    client = Client("hpn", quiet, known_hosts=known,
                    options=[f"HostKeyAlgorithms={ALG}"])
    refused = client.ssh("true")
    assert refused.rc == 255 and "no matching host key type" in refused.errors
    loud = make_server(f"HostKey {host}\nHostKeyAlgorithms +{ALG}")
    client = Client("hpn", loud, known_hosts=known,
                    options=[f"HostKeyAlgorithms={ALG}", "RekeyLimit=32K"])
    done = client.ssh("head -c 300000 /dev/zero | wc -c; cat >/dev/null",
                      stdin=bytes(200000)).ok()
    assert done.text.strip() == "300000"


def test_another_host_key_is_refused(make_server, pq, tmp_path):
    server = make_server(f"HostKey {pq('host')}\nHostKeyAlgorithms +{ALG}")
    client = Client("hpn", server, known_hosts=known_as(
        tmp_path, public(pq("other"))), options=[f"HostKeyAlgorithms={ALG}"])
    assert client.ssh("true").rc == 255


def user_client(server, path, *options):
    client = Client("hpn", server, key=None, options=options)
    client.key = path
    return client


ASKED = f"PubkeyAcceptedAlgorithms=+{ALG},{CERT_ALG}"


def test_user_key(make_server, pq, tmp_path):
    user, authorized = pq("user"), tmp_path / "authorized"
    authorized.write_text(public(user) + "\n")
    accepting = make_server(f"PubkeyAcceptedAlgorithms +{ALG}\n"
                            f"AuthorizedKeysFile {authorized}")
    user_client(accepting, user, ASKED).ssh("true").ok()
    assert user_client(accepting, user).ssh("true").rc == 255
    assert user_client(accepting, pq("no"), ASKED).ssh("true").rc == 255
    plain = make_server(f"AuthorizedKeysFile {authorized}")
    assert user_client(plain, user, ASKED).ssh("true").rc == 255


def test_agent_signs(make_server, pq, tmp_path):
    user, authorized = pq("user"), tmp_path / "authorized"
    authorized.write_text(public(user) + "\n")
    server = make_server(f"PubkeyAcceptedAlgorithms +{ALG}\n"
                         f"AuthorizedKeysFile {authorized}")
    client = user_client(server, None, ASKED, "IdentitiesOnly=no",
                         f"IdentityFile={tmp_path}/none")
    script = '"$0" -q "$1" && rm "$1" && shift && exec "$@"'
    run([hpn("ssh-agent"), "sh", "-c", script, hpn("ssh-add"), user,
         *client.ssh_args(), "true"]).ok()


def test_certificate_by_such_an_authority(make_server, pq, tmp_path):
    user, ca = pq("user"), pq("ca")
    run([KEYGEN, "-q", "-s", ca, "-I", "id", "-n", ME,
         f"{user}.pub"]).ok()
    trust = (f"TrustedUserCAKeys {ca}.pub\nAuthorizedKeysFile none\n"
             f"PubkeyAcceptedAlgorithms +{CERT_ALG}\n")
    server = make_server(trust + f"CASignatureAlgorithms +{ALG}")
    user_client(server, user, ASKED).ssh("true").ok()
    untrusting = make_server(trust)
    assert user_client(untrusting, user, ASKED).ssh("true").rc == 255


def test_files(pq, tmp_path):
    path = pq("key")
    kind, blob, comment = public(path).split()
    assert kind == ALG and comment == "key"
    shown = run([KEYGEN, "-l", "-f", path]).ok().text
    assert shown.startswith("256 SHA256:")
    assert shown.endswith(" key (MLDSA44-ED25519)\n")
    run([KEYGEN, "-q", "-p", "-a", "1", "-N", "a pass", "-f", path]).ok()
    again = run([KEYGEN, "-y", "-P", "a pass", "-f", path]).ok().text
    assert again.split()[:2] == [kind, blob]
    assert run([KEYGEN, "-q", "-t", "mldsa44-ed25519", "-m", "PEM", "-N", "",
                "-f", tmp_path / "pem"]).rc != 0
    assert not (tmp_path / "pem").exists()


def test_signatures_and_revocation(pq, tmp_path):
    path, data = pq("key"), tmp_path / "data"
    data.write_text("what is signed\n")
    run([KEYGEN, "-q", "-Y", "sign", "-n", "file", "-f", path, data]).ok()
    signers = tmp_path / "signers"
    signers.write_text(f"me {public(path)}\n")
    verify = [KEYGEN, "-Y", "verify", "-n", "file", "-I", "me", "-f", signers,
              "-s", f"{data}.sig"]
    run(verify, stdin=data.read_bytes()).ok()
    assert run(verify, stdin=b"what is forged\n").rc != 0
    run([KEYGEN, "-q", "-k", "-f", tmp_path / "krl", f"{path}.pub"]).ok()
    assert run([KEYGEN, "-Q", "-f", tmp_path / "krl", f"{path}.pub"]).rc == 1
    assert run([KEYGEN, "-Q", "-f", tmp_path / "krl",
                f"{pq('other')}.pub"]).rc == 0
