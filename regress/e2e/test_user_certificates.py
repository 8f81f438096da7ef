# SPDX-License-Identifier: ISC
"""Users who log in with certificates: what lets one in, each reason to refuse
one, and what the log says. The same cases run against the installed sshd; where
that is older than the rules that we follow, the case says so."""

import re

import pytest
from sshwire import string
from usercerts import (CERT_ALG, ID, SERIAL, Authority, RawClient, blob_of)

import harness
from harness import ME, Client, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd", "ssh-keygen"),
                                reason="hpnsshd is not built")
no_stock = pytest.mark.skipif(
    not harness.have("stock", "ssh", "sshd", "ssh-keygen"),
    reason="no stock OpenSSH")
servers = pytest.mark.parametrize("kind", [
    "hpn", pytest.param("stock", marks=no_stock)])
makers = pytest.mark.parametrize("maker", [
    "hpn", pytest.param("stock", marks=no_stock)])
KEY = "ed25519"
FP = "SHA256:[A-Za-z0-9+/]{43}"


@pytest.fixture
def ca(tmp_path):
    return Authority(tmp_path, "hpn")


class Place:
    """A server, the files that say whom it trusts, and a client."""

    def __init__(self, make_server, tmp_path, keys, kind, config=""):
        self.keys = keys
        self.cas, self.names = tmp_path / "cas", tmp_path / "names"
        self.revoked = tmp_path / "revoked"
        for path in (self.cas, self.names, self.revoked):
            path.write_text("")
        self.server = make_server(
            f"LogLevel VERBOSE\nTrustedUserCAKeys {self.cas}\n"
            + config.format(place=self), kind=kind, authorized=[])
        self.kind = kind

    def trust(self, *authorities):
        self.cas.write_text("".join(a.public + "\n" for a in authorities))

    def line(self, text):
        self.server.authorized.write_text(text + "\n")

    def log_since(self, mark):
        return self.server.log.read_bytes()[mark:].decode().replace("\r", "")

    def login(self, cert, *command, client="stock", key=KEY):
        """Result of a login that has nothing but the certificate, and what
        was logged meanwhile."""
        mark = self.server.log.stat().st_size
        done = Client(client, self.server, key=key,
                      options=[f"CertificateFile={cert}"]).ssh(
            *(command or ("exit 3",)))
        harness.wait_for(lambda: not self.server.connections())
        return done, self.log_since(mark)

    def try_once(self, cert, key=KEY):
        """Is it let in, and what was logged meanwhile: a client of our own
        takes a fifth of the processor time of a program, and runs nothing."""
        mark = self.server.log.stat().st_size
        raw = RawClient(self.server, ME)
        answer = raw.login(self.keys.path(key), CERT_ALG, blob_of(cert))
        raw.close()
        harness.wait_for(lambda: not self.server.connections())
        return answer == "yes", self.log_since(mark)


@pytest.fixture
def place(make_server, tmp_path, keys):
    def make(kind, config=""):
        return Place(make_server, tmp_path, keys, kind, config)
    return make


def told(kind, log, reason, via=""):
    """The reason stands in the log as this kind of server has it."""
    if kind == "stock":
        return reason in log  # up to 10.2 without the certificate's name
    return re.search(
        rf'Refusing certificate ID "{ID}" serial={SERIAL} signed by ED25519 '
        rf"CA {FP}{re.escape(via)}: {re.escape(reason)}\n", log)


NAME = "Certificate invalid: name is not a listed principal"
PRINCIPAL = "Certificate does not contain an authorized principal"
SOURCE = "Refused by certificate options"
OPTIONS = "Invalid certificate options"
# principals, arguments of keygen, reason
REFUSED = {
    "other name": ("other", (), NAME),
    "wildcard": ("*", (), NAME),
    "pattern": (ME[0] + "*", (), NAME),
    "capitals": (ME.upper(), (), NAME),
    "expired": (ME, ("-V", "20200101:20210101"),
                "Certificate invalid: expired"),
    "too early": (ME, ("-V", "20990101:20990201"),
                  "Certificate invalid: not yet valid"),
    "critical": (ME, ("-O", "critical:unknown=x"), OPTIONS),
    "critical flag": (ME, ("-O", "critical:unknown"), OPTIONS),
    "elsewhere": (ME, ("-O", "source-address=10.0.0.0/8"), SOURCE),
}


@no_stock
@servers
@makers
def test_refusals(place, tmp_path, keys, kind, maker):
    ca = Authority(tmp_path, maker)
    p = place(kind)
    p.trust(ca)
    for case, (names, args, reason) in REFUSED.items():
        cert = ca.certify(keys.public(KEY), *args, names=names)
        done, log = p.login(cert)
        assert done.rc == 255 and done.out == b"", (case, done)
        assert f"{ME}@127.0.0.1: Permission denied (" in done.errors, case
        # one line, and it has no reason
        assert len(done.errors.splitlines()) == 1, (case, done.errors)
        assert told(kind, log, reason), (case, log)
        assert re.search(
            f"Failed publickey for {ME} from 127.0.0.1 port [0-9]+ ssh2: "
            rf"ED25519-CERT {FP} ID {ID} \(serial {SERIAL}\) CA ED25519 {FP}",
            log), (case, log)
        assert "Accepted" not in log, (case, log)
    assert "cert: Authentication tried for " + ME + " with valid " \
        "certificate but not from a permitted source address (127.0.0.1)." \
        in log, log


@no_stock
def test_no_principals(place, ca, keys):
    """The installed sshd may be older than this rule."""
    p = place("hpn")
    p.trust(ca)
    done, log = p.login(ca.certify(keys.public(KEY)))
    assert done.rc == 255
    assert told("hpn", log, "Certificate lacks principal list"), log


@no_stock
@servers
@makers
def test_let_in(place, tmp_path, keys, kind, maker):
    ca = Authority(tmp_path, maker)
    p = place(kind, "ExposeAuthInfo yes\n")
    p.trust(ca)
    cert = ca.certify(keys.public(KEY), "-O", "source-address=127.0.0.0/8,::1",
                      "-O", "extension:unknown", names=f"other,{ME}")
    done, log = p.login(cert, "cat $SSH_USER_AUTH")
    assert done.text == "publickey " + " ".join(
        cert.read_text().split()[:2]) + "\n", done
    for line in [
            f'Accepted certificate ID "{ID}" \\(serial {SERIAL}\\) signed by '
            f"ED25519 CA {FP} via {p.cas}\n",
            f"Accepted publickey for {ME} from 127.0.0.1 port [0-9]+ ssh2: "
            rf"ED25519-CERT {FP} ID {ID} \(serial {SERIAL}\) CA ED25519 {FP}",
            'Certificate extension "unknown" is not supported']:
        assert re.search(line, log), (line, log)


@no_stock
@servers
@pytest.mark.parametrize("key", ["rsa", "ecdsa256", "ecdsa521"])
def test_types(place, tmp_path, keys, kind, key):
    ca = Authority(tmp_path, "stock", key_type="rsa", args=["-b", "2048"])
    p = place(kind)
    p.trust(ca)
    done, log = p.login(ca.certify(keys.public(key), names=ME), key=key)
    assert done.rc == 3, (done, log)


@no_stock
@servers
def test_wrong_authority(place, tmp_path, ca, keys, kind):
    """Neither told of, nor asked for its name: it is nobody's."""
    other = Authority(tmp_path, "hpn", "other")
    p = place(kind)
    p.trust(ca)
    done, log = p.login(other.certify(keys.public(KEY), names=ME))
    assert done.rc == 255
    assert "Refusing" not in log
    # lines behind one that cannot be read are not read
    p.cas.write_text(f"# ours\n\n{ca.public}\nnonsense\n{other.public}\n")
    assert p.login(ca.certify(keys.public(KEY), names=ME))[0].rc == 3
    assert p.login(other.certify(keys.public(KEY), names=ME))[0].rc == 255
    p.cas.unlink()
    assert p.login(ca.certify(keys.public(KEY), names=ME))[0].rc == 255


LINES = {
    # options of the line, principals, arguments of keygen: reason or output
    "plain": ("cert-authority", ME, (), b"me\n"),
    "name": ("cert-authority", "other", (), NAME),
    "principals": ('cert-authority,principals="ops,dev"', "dev", (), b"me\n"),
    "not listed": ('cert-authority,principals="ops,dev"', ME, (), PRINCIPAL),
    "no list": ('cert-authority,principals=""', ME, (), PRINCIPAL),
    "list ends": ('cert-authority,principals="a,,dev"', "dev", (), PRINCIPAL),
    "from": ('cert-authority,from="10.0.0.1"', ME, (),
             "Refused by key options"),
    "expired line": ('cert-authority,expiry-time="20200101"', ME, (),
                     "Refused by key options"),
    "expired": ("cert-authority", ME, ("-V", "20200101:20210101"),
                "Certificate invalid: expired"),
    "both places": ('cert-authority,from="127.0.0.1"', ME,
                    ("-O", "source-address=10.0.0.0/8"), SOURCE),
    "command": ('cert-authority,command="echo line"', ME, (), b"line\n"),
    "force": ("cert-authority", ME, ("-O", "force-command=echo cert"),
              b"cert\n"),
    "same": ('cert-authority,command="echo x"', ME,
             ("-O", "force-command=echo x"), b"x\n"),
    "not the same": ('cert-authority,command="echo x"', ME,
                     ("-O", "force-command=echo y"),
                     "forced command options do not match"),
}


@no_stock
@servers
def test_lines_of_the_user(place, ca, keys, kind):
    p = place(kind)
    for case, (options, names, args, want) in LINES.items():
        p.line(f"{options} {ca.public}")
        done, log = p.login(ca.certify(keys.public(KEY), *args, names=names),
                            "echo me")
        if isinstance(want, bytes):
            assert (done.rc, done.out) == (0, want), (case, done, log)
            assert re.search(
                rf'Accepted certificate ID "{ID}" \(serial {SERIAL}\) signed '
                f"by CA ED25519 {FP} found at {p.server.authorized}:1\n", log)
        else:
            assert (done.rc, done.out) == (255, b""), (case, done, log)
            assert told(kind, log, want,
                        f" via {p.server.authorized}:1"), (case, log)


@no_stock
@servers
def test_next_line_counts(place, ca, keys, kind):
    p = place(kind)
    p.line(f'from="10.0.0.1",cert-authority {ca.public}\n'
           f"nonsense,cert-authority {ca.public}\n"
           f"# {ca.public}\ncert-authority {ca.public}")
    done, log = p.login(ca.certify(keys.public(KEY), names=ME))
    assert done.rc == 3, (done, log)


@no_stock
@servers
def test_certificates_are_no_keys(place, ca, keys, kind):
    """A certificate comes in by no line with its key, or with its authority's
    but without cert-authority; and keys not by lines with cert-authority."""
    p = place(kind)
    cert = ca.certify(keys.public(KEY), names=ME)
    raw = RawClient(p.server, ME)
    plain = blob_of(keys.path(KEY).with_suffix(".pub"))
    for line in (keys.public(KEY), ca.public, cert.read_text().strip(),
                 "cert-authority " + keys.public(KEY),
                 "cert-authority " + cert.read_text().strip()):
        p.line(line)
        raw.close()
        raw = RawClient(p.server, ME)
        assert not raw.offer(CERT_ALG, blob_of(cert)), line
        assert raw.offer("ssh-ed25519", plain) == \
            (line == keys.public(KEY)), line
    # nor is an authority let in itself
    p.line("cert-authority " + ca.public)
    p.trust(ca)
    raw.close()
    raw = RawClient(p.server, ME)
    assert not raw.offer("ssh-ed25519", blob_of(ca.key.with_suffix(".pub")))
    assert raw.offer(CERT_ALG, blob_of(cert))
    raw.close()


# ---- what no client would show -------------------------------------------

@servers
def test_forgeries(place, tmp_path, ca, keys, kind):
    p = place(kind, "MaxAuthTries 100\n")
    p.trust(ca)
    good = blob_of(ca.certify(keys.public(KEY), names=ME))
    forged = [good[:-1] + bytes([good[-1] ^ 1]),
              good.replace(string(ID), string("an id ")[:10]),
              good[:-4], good + b"\0", b"", string("x"),
              good.replace(string("permit-pty"), string("permit-ptz"))]
    raw = RawClient(p.server, ME)
    for number, blob in enumerate(forged):
        assert blob != good
        raw.close()
        raw = RawClient(p.server, ME)
        assert not raw.offer(CERT_ALG, blob), number
    raw.close()
    raw = RawClient(p.server, ME)
    assert raw.offer(CERT_ALG, good)
    # the names have to be those of the blob
    assert not raw.offer("ssh-ed25519", good)
    plain = blob_of(keys.path(KEY).with_suffix(".pub"))
    assert not raw.offer(CERT_ALG, plain)
    assert not raw.offer("rsa-sha2-512-cert-v01@openssh.com", good)
    if kind == "hpn":  # which is found out before anything is parsed
        assert p.server.log_text().count(
            f"key of user {ME} is not one for ") == 5
    # and the signature that of the certified key
    assert raw.login(keys.path("ed25519-other"), CERT_ALG, good) == "no"
    assert raw.login(ca.key, CERT_ALG, good) == "no"
    assert raw.login(keys.path(KEY), CERT_ALG, good) == "yes"
    raw.close()


@servers
def test_certificate_of_a_host(place, ca, keys, kind):
    p = place(kind)
    p.trust(ca)
    host = blob_of(ca.certify(keys.public(KEY), "-h", names=ME))
    raw = RawClient(p.server, ME)
    assert not raw.offer(CERT_ALG, host)
    assert raw.login(keys.path(KEY), CERT_ALG, host) == "no"
    raw.close()
    assert harness.wait_for(lambda: told(
        kind, p.server.log_text(),
        "Certificate invalid: not a user certificate"))


@servers
@pytest.mark.parametrize("config, line", [
    ("CASignatureAlgorithms rsa-sha2-512\n",
     "userauth_pubkey: certificate signature algorithm ssh-ed25519: "
     "signature algorithm not supported"),
    ("PubkeyAcceptedAlgorithms ssh-ed25519\n",
     f"userauth_pubkey: signature algorithm {CERT_ALG} not in "
     "PubkeyAcceptedAlgorithms"),
])
def test_algorithms(place, ca, keys, kind, config, line):
    p = place(kind, config)
    p.trust(ca)
    raw = RawClient(p.server, ME)
    good = blob_of(ca.certify(keys.public(KEY), names=ME))
    assert not raw.offer(CERT_ALG, good)
    raw.close()
    assert harness.wait_for(lambda: line in p.server.log_text())


@servers
@pytest.mark.parametrize("first", ["key", "certificate"])
def test_one_key_is_not_two(place, ca, keys, kind, first):
    """A key and its certificate are the same proof."""
    p = place(kind, "AuthenticationMethods publickey,publickey\n")
    p.trust(ca)
    p.line(keys.public(KEY) + "\n" + keys.public("ed25519-other"))
    plain = ("ssh-ed25519", blob_of(keys.path(KEY).with_suffix(".pub")))
    cert = (CERT_ALG, blob_of(ca.certify(keys.public(KEY), names=ME)))
    one, two = (plain, cert) if first == "key" else (cert, plain)
    raw = RawClient(p.server, ME)
    assert raw.login(keys.path(KEY), *one) == "more"
    assert not raw.offer(*two)
    assert raw.login(keys.path(KEY), *two) == "no"
    assert raw.login(keys.path(KEY), *one) == "no"
    other = keys.path("ed25519-other")
    assert raw.login(other, "ssh-ed25519",
                     blob_of(other.with_suffix(".pub"))) == "yes"
    raw.close()
    assert "refusing previously-used " in p.server.log_text()


@servers
def test_nobody(place, ca, keys, kind):
    """A certificate that names a user who does not exist."""
    p = place(kind)
    p.trust(ca)
    raw = RawClient(p.server, "no-such-user")
    good = blob_of(ca.certify(keys.public(KEY), names="no-such-user"))
    assert not raw.offer(CERT_ALG, good)
    assert raw.login(keys.path(KEY), CERT_ALG, good) == "no"
    raw.close()
    assert harness.wait_for(
        lambda: not p.server.connections() and
        "Invalid user no-such-user from" in p.server.log_text())
    log = p.server.log_text()
    assert "Accepted" not in log and "Refusing" not in log, log


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: denies itself")
def test_who_may_not_log_in(place, ca, keys):
    p = place("hpn", f"DenyUsers {ME}\n")
    p.trust(ca)
    raw = RawClient(p.server, ME)
    good = blob_of(ca.certify(keys.public(KEY), names=ME))
    assert not raw.offer(CERT_ALG, good)
    assert raw.login(keys.path(KEY), CERT_ALG, good) == "no"
    raw.close()
    assert "Accepted" not in p.server.log_text()


# ---- what a session may ------------------------------------------------------

@no_stock
@servers
def test_terminal(place, ca, keys, kind):
    p = place(kind)
    p.trust(ca)
    for args, want in [((), True), (("-O", "no-pty"), False),
                       (("-O", "clear"), False),
                       (("-O", "clear", "-O", "permit-pty"), True)]:
        cert = ca.certify(keys.public(KEY), *args, names=ME)
        done = Client("stock", p.server, key=KEY, options=[
            f"CertificateFile={cert}"]).ssh("tty", flags=["-tt"])
        assert (b"/dev/" in done.out) == want, (args, done)


@no_stock
@servers
def test_forced_command_lets_root_in(place, ca, keys, kind):
    if not harness.IS_ROOT:
        pytest.skip("needs root")
    p = place(kind, "PermitRootLogin forced-commands-only\n")
    p.trust(ca)
    done, _ = p.login(ca.certify(keys.public(KEY), names=ME))
    assert done.rc == 255
    done, _ = p.login(ca.certify(keys.public(KEY), "-O",
                                 "force-command=echo hi", names=ME))
    assert done.out == b"hi\n"


# ---- principals ---------------------------------------------------------------

NAMES = {
    # lines, principals of the certificate: reason or output
    "listed": ("dev\nops\n", "ops", b"me\n"),
    "user's name is none": ("ops\n", ME, PRINCIPAL),
    "no list": (None, ME, PRINCIPAL),
    "empty": ("", ME, PRINCIPAL),
    "comment": ("# ops\n#ops\n", "ops", PRINCIPAL),
    "comment behind": ("  ops  # that's us\r\n", "ops", b"me\n"),
    "wildcard": ("*\n", "ops", PRINCIPAL),
    "wildcard of the certificate": ("ops\n", "*", PRINCIPAL),
    "command": ('command="echo list" ops\n', "ops", b"list\n"),
    "from": ('from="10.0.0.1" ops\n', "ops",
             "Refused by certificate principals options"),
    "first": ('from="10.0.0.1" ops\nops\n', "ops",
              "Refused by certificate principals options"),
    "authority": ("cert-authority ops\nops\n", "ops",
                  "Refused by certificate principals options"),
    "nonsense": ("nonsense ops\n", "ops", PRINCIPAL),
    "nonsense first": ("nonsense ops\nops\n", "ops", b"me\n"),
}


@no_stock
@servers
def test_principals_file(place, ca, keys, kind):
    p = place(kind, "AuthorizedPrincipalsFile {place.names}\n")
    p.trust(ca)
    for case, (lines, names, want) in NAMES.items():
        p.names.unlink(missing_ok=True)
        if lines is not None:
            p.names.write_text(lines)
        done, log = p.login(ca.certify(keys.public(KEY), names=names),
                            "echo me")
        if isinstance(want, bytes):
            assert (done.rc, done.out) == (0, want), (case, done, log)
        else:
            assert (done.rc, done.out) == (255, b""), (case, done, log)
            assert told(kind, log, want), (case, log)


@no_stock
def test_principals_files_by_pattern(place, tmp_path, ca, keys):
    p = place("hpn", "AuthorizedPrincipalsFile {place.names}.d/*\n")
    p.trust(ca)
    cert = ca.certify(keys.public(KEY), names="ops")
    assert p.login(cert)[0].rc == 255
    directory = tmp_path / "names.d"
    directory.mkdir()
    (directory / "1").write_text("dev\n")
    assert p.login(cert)[0].rc == 255
    (directory / "2").write_text("ops\n")
    assert p.login(cert)[0].rc == 3


@no_stock
@servers
def test_key_lines_do_not_ask_for_principals(place, ca, keys, kind):
    p = place(kind, "AuthorizedPrincipalsFile {place.names}\n")
    p.line("cert-authority " + ca.public)
    assert p.login(ca.certify(keys.public(KEY), names=ME))[0].rc == 3
    p.names.write_text("ops\n")
    done, log = p.login(ca.certify(keys.public(KEY), names="ops"))
    assert done.rc == 255
    assert told(kind, log, NAME, f" via {p.server.authorized}:1"), log


# ---- what is revoked -------------------------------------------------------------

def krl(tool, path, text, *args):
    spec = path.with_name("spec")
    spec.write_text(text)
    run([harness.program(tool, "ssh-keygen"), "-q", "-k", "-f", path, *args,
         spec]).ok()


@no_stock
@servers
@makers
def test_revoked(place, ca, keys, kind, maker):
    p = place(kind, "RevokedKeys {place.revoked}\n")
    p.trust(ca)
    cert = ca.certify(keys.public(KEY), names=ME)
    other = ca.certify(keys.public("ed25519-other"), names=ME)
    ca_path = ca.key.with_suffix(".pub")
    mine, scattered = keys.public(KEY), "\n".join(
        f"serial: {n}" for n in range(1, 200, 2))
    revoked = f"Authentication key ED25519-CERT {FP} revoked by file " + \
        re.escape(str(p.revoked))
    assert p.login(cert)[0].rc == 3
    # text, with which authority: revoked?
    for text, args, is_it in [
            (f"serial: {SERIAL}", ["-s", ca_path], True),
            ("serial: 5-9", ["-s", ca_path], True),
            (scattered, ["-s", ca_path], True),
            ("serial: 8", ["-s", ca_path], False),
            (f"serial: {SERIAL}", ["-s", keys.path(KEY).with_suffix(".pub")],
             False),
            (f"id: {ID}", ["-s", ca_path], True),
            ("id: another", ["-s", ca_path], False),
            (f"serial: {SERIAL}", ["-s", "none"], True),
            (f"key: {mine}", [], True),
            (f"sha1: {mine}", [], True),
            (f"sha256: {mine}", [], True),
            (cert.read_text(), [], True),
            (f"key: {ca.public}", [], True),
            (f"sha256: {ca.public}", [], True),
            (f"key: {keys.public('ed25519-other')}", [], False)]:
        krl(maker, p.revoked, text, *args)
        let_in, log = p.try_once(cert)
        assert let_in != is_it, (text, log)
        assert bool(re.search(revoked, log)) == is_it, (text, log)
    for text, both in [(mine, False), (ca.public, True)]:
        p.revoked.write_text(f"# those\n{text}\n")
        assert not p.try_once(cert)[0], text
        assert p.try_once(other, key="ed25519-other")[0] != both
    assert p.login(cert)[0].rc == 255
    for damage in (b"SSHKRL\n\0", b"SSHKRL\n\0" + b"\0\0\0\2" + bytes(40),
                   b"nonsense"):
        p.revoked.write_bytes(damage)
        let_in, log = p.try_once(cert)
        assert not let_in, damage
        assert re.search(f"Error checking authentication key ED25519-CERT {FP}"
                         f" in revoked keys file {p.revoked}: ", log), log


@no_stock
def test_several_lists(place, tmp_path, ca, keys):
    """All have to agree, and be there."""
    second = tmp_path / "second"
    p = place("hpn", f"RevokedKeys {{place.revoked}} {second}\n")
    p.trust(ca)
    cert = ca.certify(keys.public(KEY), names=ME)
    assert p.login(cert)[0].rc == 255
    second.write_text("")
    assert p.login(cert)[0].rc == 3
    second.write_text(ca.public)
    assert p.login(cert)[0].rc == 255


# ---- our own client ------------------------------------------------------------

def test_own_client(place, ca, keys):
    if "CertificateFile" not in run(
            [harness.hpn("ssh"), "-G", "-F", "none", "-o",
             "CertificateFile=/x", "h"]).text.replace("certificatefile",
                                                      "CertificateFile"):
        pytest.skip("hpnssh cannot show certificates yet")
    p = place("hpn")
    p.trust(ca)
    cert = ca.certify(keys.public(KEY), names=ME)
    assert p.login(cert, client="hpn")[0].rc == 3
    expired = ca.certify(keys.public(KEY), "-V", "20200101:20210101",
                         names=ME)
    assert p.login(expired, client="hpn")[0].rc == 255
