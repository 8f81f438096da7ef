# SPDX-License-Identifier: ISC
"""Security keys (FIDO) with a token in software (regress/sk-token.c), that
our helper and the installed one load: keys, logins and signatures by one used
by the other; tokens that want a PIN, are not there, crash and lie."""

import itertools
import os
import signal

import pytest

import harness
from harness import ME, Client, hpn, program, run, stock
from terminal import Terminal

TOKEN = harness.BUILD / "regress/sk-token.so"
TYPES = ("ed25519-sk", "ecdsa-sk")
TOOLS = ("hpn", "stock")

pytestmark = pytest.mark.skipif(
    not TOKEN.exists() or not harness.have("stock", "ssh-keygen"),
    reason="the token or the stock ssh-keygen is missing")


def token(how="", kind="hpn", **more):
    """The environment in which the token behaves so."""
    helper = hpn("ssh-sk-helper") if kind == "hpn" else None
    return harness.clean_env(SK_TOKEN=how, SSH_SK_PROVIDER=TOKEN,
                             SSH_SK_HELPER=helper, **more)


def keygen(kind, *args, how="", **kw):
    return run([program(kind, "ssh-keygen"), *args],
               env=token(how, kind), **kw)


def make(kind, path, key_type, *args, **kw):
    return keygen(kind, "-t", key_type, "-N", "", "-C", "a key", "-f", path,
                  *args, **kw)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    top = tmp_path_factory.mktemp("sk")
    for kind, key_type in itertools.product(TOOLS, TYPES):
        make(kind, top / f"{kind}-{key_type}", key_type).ok()
    return top


# ---- keys ---------------------------------------------------------------

@pytest.mark.parametrize("name", [f"{k}-{t}" for k in TOOLS for t in TYPES])
def test_both_say_the_same_of_a_key(pool, name):
    for args in (["-l"], ["-l", "-v"], ["-lE", "md5"], ["-y"], ["-B"]):
        one, two = (keygen(kind, *args, "-f", pool / name)
                    for kind in TOOLS)
        assert (one.rc, one.text) == (two.rc, two.text)


def test_what_is_said_when_a_key_is_made(tmp_path):
    challenge = tmp_path / "challenge"
    challenge.write_bytes(b"the same challenge makes the same key")
    said = []
    for kind in TOOLS:
        done = make(kind, tmp_path / kind, "ed25519-sk", "-O",
                    f"challenge={challenge}", "-O", "resident", "-O",
                    "user=me", "-O", "application=ssh:x", "-O",
                    "no-touch-required", "-O", "device=token", "-O",
                    f"write-attestation={tmp_path}/{kind}.att").ok()
        said.append(done.text.replace(f"{tmp_path}/{kind}", "/KEY"))
    assert said[0] == said[1]
    assert (tmp_path / "hpn.pub").read_text() \
        == (tmp_path / "stock.pub").read_text()
    assert (tmp_path / "hpn.att").read_bytes() \
        == (tmp_path / "stock.att").read_bytes()
    assert (tmp_path / "hpn.att").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("how,why", [
    ("nodevice", "device not found"), ("crash", "helper"),
    ("leave", "helper"), ("empty", "invalid format"), ("short", "helper")])
def test_a_token_that_makes_no_key(tmp_path, how, why):
    done = make("hpn", tmp_path / "k", "ed25519-sk", how=how)
    assert done.rc == 255 and why in done.errors, done
    assert "Key enrollment failed" in done.errors
    assert not (tmp_path / "k").exists()


def test_pins(tmp_path):
    args = [hpn("ssh-keygen"), "-t", "ed25519-sk", "-N", "", "-f",
            tmp_path / "k"]
    with Terminal(args, env=token("pin")) as wrong:
        for pin in ("1", "2"):
            wrong.expect("Enter PIN for authenticator: ")
            wrong.line(pin)
            wrong.expect("PIN incorrect")
        wrong.expect("Too many incorrect PINs")
        assert wrong.wait() == 255
    with Terminal(args, env=token("pin")) as right:
        right.expect("Enter PIN for authenticator: ")
        right.line("1234")
        right.expect("again to authorize key generation")
        right.expect("has been saved in")
        assert right.wait() == 0 and b"1234" not in right.shown


def handle(path):
    """The line of a private half that says what it wants, and all of it."""
    done = keygen("hpn", "-p", "-v", "-N", "", "-O", "Touch-Required", "-f",
                  path).ok()
    return [line.partition(": ")[2] for line in done.errors.splitlines()
            if "FIDO key flags" in line]


def test_what_a_key_wants_is_changed(tmp_path):
    """Its public half and the rest stay; stock reads what was written."""
    key = tmp_path / "k"
    make("stock", key, "ed25519-sk", "-O", "resident").ok()
    before = keygen("stock", "-y", "-f", key).ok().text
    for words, then in (
            (["no-touch-required"], "no-touch-required no-verify-required"),
            (["verify-required"], "no-touch-required verify-required"),
            (["touch-required", "NO-verify-required", "verify-required"],
             "touch-required verify-required"),
            (["no-verify-required", "no-touch-required"],
             "no-touch-required no-verify-required")):
        args = [a for word in words for a in ("-O", word)]
        done = keygen("hpn", "-p", "-v", "-N", "", *args, "-f", key).ok()
        assert f"{key}: updated FIDO key flags: {then}\n" in \
            done.errors.replace("\r", "")
        copy = tmp_path / "copy"
        copy.write_bytes(key.read_bytes())
        copy.chmod(0o600)
        assert handle(copy)[0] == f"original FIDO key flags: {then}"
    assert keygen("stock", "-y", "-f", key).ok().text == before
    # stock's helper is asked to sign without a touch, and does
    data = tmp_path / "data"
    data.write_text("x")
    signed = keygen("stock", "-Y", "sign", "-n", "n", "-f", key, data).ok()
    assert "user presence" not in signed.errors


@pytest.mark.parametrize("word, of, why", [
    ("resident", "ed25519-sk",
     'Option "resident" is unsupported for key passphrase change'),
    ("verify-required", "ed25519",
     "FIDO-specific option requested for non-FIDO key ")])
def test_what_cannot_be_changed(tmp_path, word, of, why):
    key = tmp_path / "k"
    make("hpn", key, of).ok()
    before = key.read_bytes()
    done = keygen("hpn", "-p", "-N", "", "-O", word, "-f", key)
    assert done.rc == 255 and why in done.errors
    assert key.read_bytes() == before


def test_library_that_is_named(tmp_path):
    """-w comes before the environment's."""
    def made(name, in_environment, *args):
        return run([hpn("ssh-keygen"), "-t", "ed25519-sk", "-N", "", "-f",
                    tmp_path / name, *args], env=harness.clean_env(
                        SSH_SK_PROVIDER=in_environment,
                        SSH_SK_HELPER=hpn("ssh-sk-helper"))).rc == 0
    assert made("one", "/not/there", "-w", TOKEN)
    assert not made("two", "/not/there")
    assert not made("three", TOKEN, "-w", "/not/there")
    assert [p.name for p in tmp_path.glob("*.pub")] == ["one.pub"]


def test_a_resident_key_is_not_replaced_unasked(tmp_path):
    def again(answer):
        return make("hpn", tmp_path / "k", "ecdsa-sk", "-O", "resident",
                    how="exists", stdin=answer)
    done = again(b"n\n")
    assert done.rc == 1 and not (tmp_path / "k").exists()
    assert "A resident key scoped to 'ssh:' with user id 'null' already " \
        "exists." in done.text
    again(b"y\n").ok()


def test_resident_keys(tmp_path):
    files = []
    for kind in TOOLS:
        (tmp_path / kind).mkdir()
        with Terminal(["/bin/sh", "-c", f"cd {tmp_path / kind} && exec "
                       f"{program(kind, 'ssh-keygen')} -K -N ''"],
                      env=token("two,pin", kind)) as shown:
            shown.expect("Enter PIN for authenticator: ")
            shown.line("1234")
            shown.expect("Saved ED25519-SK key to id_ed25519_sk_rk")
            shown.expect("Saved ECDSA-SK key ssh:two to "
                         "id_ecdsa_sk_rk_two_alice")
            assert shown.wait() == 0
        files.append({p.name: p.read_text()
                      for p in (tmp_path / kind).glob("*.pub")})
    assert files[0] == files[1] and len(files[0]) == 2


def test_what_a_token_says_to_a_terminal(tmp_path):
    """Its application is foreign text: shown escaped."""
    with Terminal(["/bin/sh", "-c", f"cd {tmp_path} && exec "
                   f"{hpn('ssh-keygen')} -K -N ''"],
                  env=token("hostile,pin", "hpn")) as shown:
        shown.expect("Enter PIN for authenticator: ")
        shown.line("1234")
        shown.expect("Saved ED25519-SK key ssh:\\033[2J to ")
        assert shown.wait() == 0
        assert b"\x1b[2J" not in shown.shown


# ---- signatures of files ------------------------------------------------

@pytest.mark.parametrize("name", [f"{k}-{t}" for k in TOOLS for t in TYPES])
@pytest.mark.parametrize("signer", TOOLS)
def test_files_and_certificates(pool, tmp_path, name, signer):
    key = pool / name
    signers = tmp_path / "signers"
    signers.write_text("me " + (pool / f"{name}.pub").read_text())
    signature = tmp_path / "sig"
    signature.write_bytes(keygen(signer, "-Y", "sign", "-n", "file", "-f",
                                 key, stdin=b"text").ok().out)
    subject = tmp_path / "subject"
    run([hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f",
         subject]).ok()
    keygen(signer, "-s", key, "-I", "id", "-n", "me",
           f"{subject}.pub").ok()
    for reader in TOOLS:
        done = keygen(reader, "-Y", "verify", "-f", signers, "-I", "me",
                      "-n", "file", "-s", signature, stdin=b"text").ok()
        assert "Good" in done.text
        assert keygen(reader, "-Y", "verify", "-f", signers, "-I", "me",
                      "-n", "file", "-s", signature, stdin=b"tex").rc != 0
        shown = keygen(reader, "-L", "-f", f"{subject}-cert.pub").ok()
        assert "-SK SHA256:" in shown.text


# ---- logins -------------------------------------------------------------

def server_with(make_server, kind, lines, config=""):
    server = make_server(config, kind, authorized=())
    server.authorized.write_text("".join(line + "\n" for line in lines))
    return server


def log_in(kind, server, key, how="", options=()):
    client = Client(kind, server, key=None,
                    options=[f"SecurityKeyProvider={TOKEN}", *options,
                             f"IdentityFile={key}"])
    return client.ssh("echo", "in", env=token(how, kind))


@pytest.mark.parametrize("server_kind", TOOLS)
def test_logins(pool, make_server, server_kind):
    lines = [p.read_text().strip() for p in sorted(pool.glob("*-sk.pub"))]
    server = server_with(make_server, server_kind, lines)
    for client, maker, key_type in itertools.product(TOOLS, TOOLS, TYPES):
        if (client, server_kind) == ("stock", "stock"):
            continue
        done = log_in(client, server, pool / f"{maker}-{key_type}").ok()
        assert done.text == "in\n"


@pytest.mark.parametrize("before,config,how,flags,passes", [
    ("", "", "untouched", [], False),
    ("no-touch-required ", "", "untouched", [], True),
    ("no-touch-required ", "PubkeyAuthOptions touch-required", "untouched",
     [], False),
    ("", "PubkeyAuthOptions verify-required", "", [], False),
    ("verify-required ", "", "", [], False),
    ("", f"Match User {ME}\n\tPubkeyAuthOptions verify-required", "", [],
     False)])
def test_what_the_server_asks_of_a_key(pool, make_server, before, config,
                                       how, flags, passes):
    line = (pool / "hpn-ed25519-sk.pub").read_text().strip()
    server = server_with(make_server, "hpn", [before + line], config)
    done = log_in("hpn", server, pool / "hpn-ed25519-sk", how)
    assert (done.rc == 0) == passes, done
    if not passes:
        missing = "user presence (authenticator touch) requirement not met" \
            if how == "untouched" else "user verification requirement not met"
        assert missing in server.log_text()


def test_a_login_with_a_pin(pool, tmp_path, make_server):
    line = (pool / "hpn-ed25519-sk.pub").read_text().strip()
    server = server_with(make_server, "hpn", ["verify-required " + line])
    key = pool / "hpn-ed25519-sk"
    client = Client("hpn", server, key=None, options=[
        f"SecurityKeyProvider={TOKEN}", f"IdentityFile={key}",
        "BatchMode=no"])
    with Terminal([*client.ssh_args(), "echo", "we are", "in"],
                  env=token("pin")) as shown:
        shown.expect("Confirm user presence for key ED25519-SK SHA256:")
        shown.expect(f"Enter PIN for ED25519-SK key {key}: ")
        shown.line("1234")
        shown.expect("User presence confirmed")
        shown.expect("we are in")
        assert shown.wait() == 0
    # By a program that asks in a window; and one that shows the notice.
    asked = tmp_path / "asked"
    askpass = tmp_path / "askpass"
    askpass.write_text(f'#!/bin/sh\necho "$SSH_ASKPASS_PROMPT:$1" >>{asked}\n'
                       '[ "$SSH_ASKPASS_PROMPT" = none ] && exec sleep 60\n'
                       'echo 1234\n')
    askpass.chmod(0o755)
    done = client.ssh("echo", "in", env=token(
        "pin", SSH_ASKPASS=askpass, SSH_ASKPASS_REQUIRE="force")).ok()
    assert done.text == "in\n"
    assert ":Enter PIN for ED25519-SK key" in asked.read_text()


@pytest.mark.parametrize("how", ["crash", "leave", "liar", "huge", "empty",
                                 "nodevice", "pin", "old"])
def test_a_token_that_fails_costs_its_key_only(pool, keys, make_server, how):
    line = (pool / "hpn-ed25519-sk.pub").read_text().strip()
    server = server_with(make_server, "hpn",
                         [line, keys.public("ed25519")])
    done = log_in("hpn", server, pool / "hpn-ed25519-sk", how,
                  [f"IdentityFile={keys.path('ed25519')}"])
    assert done.rc == 0 and done.text == "in\n", done
    assert log_in("hpn", server, pool / "hpn-ed25519-sk", how).rc == 255


def test_without_a_provider_the_key_is_passed_over(pool, keys, make_server):
    line = (pool / "hpn-ed25519-sk.pub").read_text().strip()
    server = server_with(make_server, "hpn", [line])
    client = Client("hpn", server, key=None, log_level="DEBUG1", options=[
        "SecurityKeyProvider=$SK_NOT_SET",
        f"IdentityFile={pool}/hpn-ed25519-sk"])
    done = client.ssh("true", env=token())
    assert done.rc == 255
    assert "Ignoring security key" in done.errors
    assert "Offering public key" not in done.errors


# ---- host keys -----------------------------------------------------------

def host_with(make_server, pool, tmp_path, names, how="", **kw):
    """A server whose host keys are these and no others."""
    server = make_server(
        f"SecurityKeyProvider {TOKEN}\n" + "".join(
            f"HostKey {pool / n}\n" for n in names) + kw.pop("config", ""),
        host_keys=kw.pop("host_keys", ()), env=token(how), **kw)
    with server.known_hosts.open("a") as known:
        for name in names:
            line = (pool / f"{name}.pub").read_text()
            known.write(f"[127.0.0.1]:{server.port} {line}")
    return server


@pytest.mark.parametrize("kind", TOOLS)
@pytest.mark.parametrize("key_type", TYPES)
def test_host_keys(pool, tmp_path, make_server, kind, key_type):
    """A host key on a token also signs rekeys, which another process answers
    than the first exchange."""
    server = host_with(make_server, pool, tmp_path, [f"stock-{key_type}"],
                       debug=True)
    client = Client(kind, server, options=["RekeyLimit=32K"],
                    log_level="DEBUG1")
    done = client.ssh("head -c 200000 /dev/zero; sleep 0.1; echo end")
    assert done.rc == 0 and done.out.endswith(b"end\n"), done
    assert done.errors.count("SSH2_MSG_NEWKEYS received") > 1
    assert "host key algorithm: sk-" in done.errors
    assert "webauthn" not in server.log_text()


@pytest.mark.parametrize("kind", TOOLS)
def test_a_host_key_is_proved(pool, keys, tmp_path, make_server, kind):
    """Clients learn it from a connection with another key."""
    server = host_with(make_server, pool, tmp_path, ["hpn-ed25519-sk"],
                       host_keys=("rsa",))
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} "
                     f"{keys.public('rsa-host')}\n")
    client = Client(kind, server, known_hosts=known, options=[
        "UpdateHostKeys=yes", "HostKeyAlgorithms=rsa-sha2-512,sk-ssh-*"])
    client.ssh("sleep 0.5").ok()
    key = (pool / "hpn-ed25519-sk.pub").read_text().split()[1]
    assert key in known.read_text()


@pytest.mark.parametrize("kind", TOOLS)
def test_a_certified_host_key(pool, keys, tmp_path, make_server, kind):
    pub = tmp_path / "host.pub"
    pub.write_text((pool / "hpn-ecdsa-sk.pub").read_text())
    keygen("hpn", "-q", "-s", keys.path("ed25519-ca"), "-I", "h", "-h", "-n",
           "127.0.0.1,localhost", pub).ok()
    server = host_with(make_server, pool, tmp_path, ["hpn-ecdsa-sk"],
                       config=f"HostCertificate {tmp_path}/host-cert.pub\n")
    known = tmp_path / "known"
    known.write_text(f"@cert-authority * {keys.public('ed25519-ca')}\n")
    Client(kind, server, known_hosts=known).ssh("true").ok()


@pytest.mark.parametrize("how, why", [
    ("crash", "the helper for security keys failed"),
    ("liar", "incorrect signature"), ("hang", "timed out")])
def test_a_host_key_that_does_not_sign(pool, keys, make_server, tmp_path,
                                       how, why):
    """Who wants another one is served; nobody waits past the grace time."""
    server = host_with(make_server, pool, tmp_path, ["hpn-ed25519-sk"], how,
                       host_keys=("rsa",), config="LoginGraceTime 2\n")
    done = Client("hpn", server,
                  options=["HostKeyAlgorithms=sk-ssh-*"]).ssh("true")
    assert done.rc == 255
    assert f"the security key of the host does not sign: {why}" \
        in server.log_text() or how == "hang" \
        and "Timeout before authentication" in server.log_text()
    Client("hpn", server, options=["HostKeyAlgorithms=rsa-sha2-512"]).ssh(
        "true").ok()
    harness.wait_for(lambda: not [
        p for p in harness.descendants(server.process.pid)
        if b"sk-helper" in cmdline(p)])


def test_a_host_key_that_nothing_signs_with(pool, keys, make_server,
                                            tmp_path):
    """It is not offered, and without another one there is no server."""
    server = make_server(
        f"SecurityKeyProvider $SK_NOT_SET\nHostKey {pool}/hpn-ed25519-sk",
        host_keys=("rsa",), env=token())
    assert "is no host key: there is no SecurityKeyProvider" \
        in server.log_text()
    done = Client("hpn", server,
                  options=["HostKeyAlgorithms=sk-ssh-*"]).ssh("true")
    assert "no matching host key type found" in done.errors
    done = run([hpn("sshd"), "-t", "-f", "none", "-h",
                pool / "hpn-ed25519-sk", "-o",
                "SecurityKeyProvider=$SK_NOT_SET"], env=token())
    assert done.rc == 1
    assert "sshd: no hostkeys available -- exiting." in done.errors


@pytest.mark.skipif(not harness.IS_ROOT,
                    reason="only root looks into what may not be dumped")
def test_the_pin_is_in_no_argument_and_no_environment():
    """While the token hangs, the helper is looked at. It goes with the
    program that started it, wherever it is."""
    with Terminal([hpn("ssh-keygen"), "-K", "-N", ""],
                  env=token("hang")) as shown:
        shown.expect("Enter PIN for authenticator: ")
        shown.line("98765432")
        shown.expect("key download")
        helpers = []

        def found():
            helpers[:] = [p for p in harness.descendants(shown.pid)
                          if b"sk-helper" in cmdline(p)]
            return helpers
        harness.wait_for(found)
        for what in ("cmdline", "environ"):
            with open(f"/proc/{helpers[0]}/{what}", "rb") as f:
                assert b"98765432" not in f.read()
        os.kill(shown.pid, signal.SIGKILL)
        # What nobody waits for is ours then.
        harness.wait_for(lambda: cmdline(helpers[0]) == b"")


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""
