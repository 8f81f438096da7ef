# SPDX-License-Identifier: ISC
"""hpnssh proves who the user is: keys, agent, passwords, prompts."""

import asyncio
import re
import shutil
import threading

import pytest
from agents import stock_agent as agent  # noqa: F401
from terminal import Terminal

from harness import (IS_ROOT, LONG, ME, Client, clean_env, have, hpn, noise,
                     run, set_password, stock, wait_for)

KEYS = ["ed25519", "rsa", "ecdsa256", "ecdsa384", "ecdsa521"]


@pytest.fixture
def client(shared_servers):
    return Client("hpn", shared_servers("stock"))


@pytest.fixture
def encrypted_key(tmp_path, keys):
    """A key that the servers know, with a passphrase."""
    path = tmp_path / "encrypted"
    path.write_bytes(keys.path("ed25519").read_bytes())
    path.chmod(0o600)
    run([stock("ssh-keygen"), "-q", "-p", "-P", "", "-N", "secret phrase",
         "-f", path]).ok()
    return path


@pytest.fixture
def askpass(tmp_path):
    """askpass(answer...): environment in which a program answers."""
    def make(*answers, prompt_log=None):
        left = tmp_path / "answers"
        left.write_text("".join(a + "\n" for a in answers))
        script = tmp_path / "askpass"
        script.write_text(f"#!/bin/sh\necho \"$1\" >> {tmp_path}/asked\n"
                          f"head -n 1 {left}\nsed -i 1d {left}\n")
        script.chmod(0o700)
        return clean_env(SSH_ASKPASS=script, SSH_ASKPASS_REQUIRE="force")
    return make


def not_batch(args):
    at = args.index("BatchMode=yes")
    return args[:at - 1] + args[at + 1:]


# ---- keys ---------------------------------------------------------------

@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_every_key_type(shared_servers, kind, key):
    client = Client("hpn", shared_servers(kind), key=key)
    assert client.ssh("true").rc == 0


def test_right_key_after_wrong_ones(client, keys):
    wrong = [flag for n in range(3)
             for flag in ("-i", keys.path(f"ed25519-wrong{n}"))]
    assert client.ssh("true", flags=wrong).rc == 0


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("tries, before, behind", [
    (3, 0, 4), (3, 1, 1), (3, 2, 0), (4, 3, 2), (6, 5, 0), (6, 5, 3)])
def test_offers_in_a_flight_fit_every_limit(shared_servers, keys, tmp_path,
                                            kind, tries, before, behind):
    """What one offer after the other would reach is reached by several at
    once too, though every refusal counts."""
    server = shared_servers(kind, f"MaxAuthTries {tries}")
    known = tmp_path / "known_hosts"  # and no hints
    known.write_text(server.known_hosts.read_text())
    client = Client("hpn", server, key=None, known_hosts=known,
                    log_level="DEBUG1")
    named = [f"ed25519-wrong{n}" for n in range(before)] + ["ed25519"] \
        + [f"ed25519-wrong{n}" for n in range(before, before + behind)]
    done = client.ssh("true", flags=[
        flag for name in named for flag in ("-i", keys.path(name))])
    assert done.rc == 0, done
    offered = done.errors.count("Offering public key")
    assert offered <= max(3, before + 1)
    assert before + behind == 0 or offered >= min(3, before + behind + 1)


def test_no_key_is_right(client, keys):
    done = Client("hpn", client.server, key="ed25519-wrong0").ssh("true")
    assert done.rc == 255
    assert re.search(r"@127\.0\.0\.1: Permission denied \(publickey",
                     done.errors), done


@pytest.mark.parametrize("alg", ["rsa-sha2-256", "rsa-sha2-512"])
def test_rsa_algorithm_is_as_configured(client, alg):
    rsa = Client("hpn", client.server, key="rsa")
    done = rsa.ssh("true", options=[f"PubkeyAcceptedAlgorithms={alg}"],
                   flags=["-v"])
    assert done.rc == 0 and f" {alg}\n" in done.errors


def test_key_that_others_may_read(client, tmp_path, keys):
    path = tmp_path / "open"
    path.write_bytes(keys.path("ed25519").read_bytes())
    path.chmod(0o644)
    client.key = path
    done = client.ssh("true")
    assert done.rc == 255
    assert "UNPROTECTED PRIVATE KEY FILE" in done.errors
    assert "0644" in done.errors and str(path) in done.errors
    path.chmod(0o600)
    assert client.ssh("true").rc == 0


@pytest.mark.parametrize("content", [
    b"", b"garbage\n", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n",
    noise(5000)])
def test_file_that_is_no_key(client, tmp_path, content):
    path = tmp_path / "bad"
    path.write_bytes(content)
    path.chmod(0o600)
    client.key = path
    done = client.ssh("true")
    assert done.rc == 255 and str(path) in done.errors, done


def test_missing_key_file(client, tmp_path):
    client.key = tmp_path / "missing"
    done = client.ssh("true", flags=["-o", "LogLevel=INFO", "-v"])
    assert done.rc == 255 and "No such file" in done.errors


def test_passphrase_at_the_terminal(client, encrypted_key):
    client.key = encrypted_key
    with Terminal([*not_batch(client.ssh_args()), "echo it''worked"]) as t:
        t.expect(f"Enter passphrase for key '{encrypted_key}': ")
        t.line("wrong")
        t.expect("Enter passphrase for key")
        t.line("secret phrase")
        t.expect("itworked")
        assert t.wait() == 0
        assert b"secret" not in t.shown


def test_passphrase_from_askpass(client, encrypted_key, askpass, tmp_path):
    client.key = encrypted_key
    done = run([*not_batch(client.ssh_args()), "true"],
               env=askpass("secret phrase"))
    assert done.rc == 0, done
    assert (tmp_path / "asked").read_text() == \
        f"Enter passphrase for key '{encrypted_key}': \n"


def test_batch_mode_asks_nothing(client, encrypted_key, askpass):
    client.key = encrypted_key
    assert client.ssh("true", env=askpass("secret phrase")).rc == 255


def test_two_keys_are_asked_for(make_server, keys):
    server = make_server("AuthenticationMethods publickey,publickey",
                         kind="stock")
    client = Client("hpn", server)
    assert client.ssh("true").rc == 255
    done = client.ssh("true", flags=["-i", keys.path("rsa"), "-v"])
    assert done.rc == 0 and "partial success" in done.errors


def test_too_many_keys(make_server, keys):
    server = make_server("MaxAuthTries 2", kind="stock")
    client = Client("hpn", server, key="ed25519-wrong0")
    done = client.ssh("true", flags=[
        "-i", keys.path("ed25519-wrong1"), "-i", keys.path("ed25519-wrong2"),
        "-i", keys.path("ed25519")])
    assert done.rc == 255
    assert "Too many authentication failures" in done.errors


# ---- agent --------------------------------------------------------------

def add(agent, *paths):
    run([stock("ssh-add"), *paths], env=clean_env(SSH_AUTH_SOCK=agent)).ok()


@pytest.mark.parametrize("key", KEYS)
def test_agent(client, agent, keys, key):
    add(agent, keys.path(key))
    client.key = None
    client.fixed.remove("IdentitiesOnly=yes")
    done = client.ssh("true", env=clean_env(SSH_AUTH_SOCK=agent),
                      flags=["-v"], options=["IdentityFile=none"])
    assert done.rc == 0 and re.search("key: .* agent\\s", done.errors), done


@pytest.fixture
def certified(keys, tmp_path):
    """A key with a certificate beside it, as ssh-add looks for one."""
    path = tmp_path / "certified"
    shutil.copy(keys.path("ed25519"), path)
    shutil.copy(f"{keys.path('ed25519')}.pub", f"{path}.pub")
    run([keys.keygen, "-q", "-s", keys.path("ecdsa256-ca"), "-I", "id", "-n",
         ME, f"{path}.pub"]).ok()
    return path


def test_agent_with_certificate(client, agent, certified):
    """A server that does not know the authority takes the plain key."""
    add(agent, certified)
    held = run([stock("ssh-add"), "-L"], env=clean_env(SSH_AUTH_SOCK=agent))
    assert "-cert-v01" in held.ok().text
    client.key = None
    client.fixed.remove("IdentitiesOnly=yes")
    done = client.ssh("true", env=clean_env(SSH_AUTH_SOCK=agent),
                      flags=["-v"], options=["IdentityFile=none"])
    assert done.rc == 0, done
    assert re.search("Offering public key: .* ED25519-CERT .* agent",
                     done.errors)
    assert "Skipping" not in done.errors


def test_certificate_in_place_of_the_public_key(client, certified):
    shutil.copy(f"{certified}-cert.pub", f"{certified}.pub")
    client.key = certified
    client.ssh("true").ok()


def test_public_key_file_chooses_in_the_agent(client, agent, keys, tmp_path):
    add(agent, keys.path("ed25519-wrong0"), keys.path("rsa"))
    client.key = tmp_path / "chosen.pub"
    client.key.write_text(keys.public("rsa") + "\n")
    assert client.ssh("true", env=clean_env(SSH_AUTH_SOCK=agent)).rc == 0


def test_identities_only(client, agent, keys):
    add(agent, keys.path("ed25519"))
    client.key = keys.path("ed25519-wrong0")
    env = clean_env(SSH_AUTH_SOCK=agent)
    assert client.ssh("true", env=env).rc == 255
    client.fixed.remove("IdentitiesOnly=yes")
    assert client.ssh("true", env=env).rc == 0
    assert client.ssh("true", env=env,
                      options=["IdentityAgent=none"]).rc == 255
    assert client.ssh("true", options=[f"IdentityAgent={agent}"]).rc == 0


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("there", [True, False])
def test_key_for_one_destination(shared_servers, agent, keys, tmp_path, kind,
                                 there):
    """The agent lets such a key be used when it is told where to, and has
    the host's signature for that."""
    server = shared_servers(kind)
    other = tmp_path / "other"
    other.write_text(f"other.example {keys.public('ed25519-other')}\n")
    name = f"[127.0.0.1]:{server.port}" if there else "other.example"
    add(agent, "-H", server.known_hosts if there else other, "-h", name,
        keys.path("ed25519"))
    client = Client("hpn", server, key=None)
    client.fixed.remove("IdentitiesOnly=yes")
    done = client.ssh("true", env=clean_env(SSH_AUTH_SOCK=agent),
                      options=["IdentityFile=none"])
    assert done.rc == (0 if there else 255), done


def test_agent_that_is_gone(client):
    env = clean_env(SSH_AUTH_SOCK="/nonexistent/agent")
    assert client.ssh("true", env=env).rc == 0


# ---- passwords and prompts, asked by another implementation ---------------

class AsyncServer:
    """asyncssh as the server: user `me`, the passwords of `right`."""

    def __init__(self, keys, password=None, prompts=None, expired=None,
                 once=False, stays=False):
        asyncssh = pytest.importorskip("asyncssh")
        outer = self
        self.tries, self.devices = [], []

        class Auth(asyncssh.SSHServer):
            def begin_auth(self, username):
                return True

            def password_auth_supported(self):
                return password is not None

            def validate_password(self, username, given):
                outer.tries.append(given)
                if expired is not None and given == expired:
                    raise asyncssh.PasswordChangeRequired("too old\x1b[m")
                return given == password

            def change_password(self, username, old, new):
                outer.tries.append((old, new))
                return True

            def kbdint_auth_supported(self):
                return prompts is not None

            def get_kbdint_challenge(self, username, lang, submethods):
                outer.devices.append(submethods)
                return "name", "instruction\x1b[2J", "", [
                    (text, echo) for text, echo, _ in prompts]

            def validate_kbdint_response(self, username, responses):
                outer.tries.append(list(responses))
                if once and len(outer.tries) > 1:
                    return False
                return responses == [answer for _, _, answer in prompts]

        async def process(session):
            session.stdout.write("welcome\n")
            if stays:  # until the client's input ends
                await session.stdin.read()
            session.exit(5)

        async def serve():
            self.acceptor = await asyncssh.listen(
                "127.0.0.1", 0, server_factory=Auth,
                server_host_keys=[str(keys.path("ed25519-host"))],
                process_factory=process, sftp_factory=True)
            self.port = self.acceptor.sockets[0].getsockname()[1]

        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever,
                                       daemon=True)
        self.thread.start()
        # Raises what it raised.
        asyncio.run_coroutine_threadsafe(serve(), self.loop).result(LONG)

    def args(self, *flags):
        return [hpn("ssh"), *flags, "-F", "none", "-p", self.port,
                "-l", "me", "-o", "StrictHostKeyChecking=no",
                "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
                "-o", "IdentityFile=none", "-o", "IdentityAgent=none",
                "127.0.0.1", "true"]

    def close(self):
        self.loop.call_soon_threadsafe(self.acceptor.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)


@pytest.fixture
def asks(keys):
    made = []

    def make(**kw):
        made.append(AsyncServer(keys, **kw))
        return made[-1]

    yield make
    for server in made:
        server.close()


def test_password_at_the_terminal(asks):
    server = asks(password="right")
    with Terminal(server.args()) as t:
        t.expect("me@127.0.0.1's password: ")
        t.line("wrong")
        t.expect("Permission denied, please try again.")
        t.expect("password: ")
        t.line("right")
        t.expect("welcome")
        assert t.wait() == 5
        assert b"right" not in t.shown
    assert server.tries == ["wrong", "right"]


def test_password_three_times_wrong(asks, askpass):
    server = asks(password="right")
    done = run(server.args(), env=askpass("a", "b", "c", "right"))
    assert done.rc == 255 and server.tries == ["a", "b", "c"]
    assert "Permission denied (password)." in done.errors
    done = run(server.args("-o", "NumberOfPasswordPrompts=1"),
               env=askpass("d", "right"))
    assert done.rc == 255 and server.tries[3:] == ["d"]


def test_no_passwords(asks, askpass):
    server = asks(password="right")
    done = run(server.args("-o", "PasswordAuthentication=no"),
               env=askpass("right"))
    assert done.rc == 255 and server.tries == []


def test_password_change(asks, askpass):
    server = asks(password="right", expired="old")
    done = run(server.args(), env=askpass("old", "old", "new", "new"))
    assert done.rc == 5, done
    assert server.tries == ["old", ("old", "new")]
    assert "\x1b" not in done.errors


def test_password_change_at_the_terminal(asks):
    """Two that differ are asked for again; nothing is shown."""
    server = asks(password="right", expired="old")
    with Terminal(server.args("-o", "LogLevel=INFO")) as t:
        t.expect("me@127.0.0.1's password: ")
        t.line("old")
        t.expect("The server wants a new password: too old")
        for first, second in (("newer", "nower"), ("newest", "newest")):
            if first == "newer":
                t.expect("old password: ")
                t.line("old")
            t.expect("new password: ")
            t.line(first)
            t.expect("new password once more: ")
            t.line(second)
        t.expect("welcome")
        assert t.wait() == 5
        assert b"The two differ" in t.shown
        assert b"newest" not in t.shown and b"\x1b" not in t.shown
    assert server.tries == ["old", ("old", "newest")]


@pytest.mark.parametrize("answers", [
    ["old"], ["old", "old"], ["old", "old", ""], ["old", "old", "new"]])
def test_password_change_given_up(asks, askpass, answers):
    """Nothing is changed to what the user has not given twice."""
    server = asks(password="right", expired="old")
    done = run(server.args(), env=askpass(*answers))
    assert done.rc == 255 and server.tries == ["old"], done


def test_nobody_to_ask_for_a_new_password(asks, askpass, tmp_path):
    """Neither a terminal nor a program: the login fails, and does not
    wait."""
    server = asks(password="right", expired="old")
    env = askpass("old")
    script = tmp_path / "askpass"
    script.write_text(script.read_text() + f"rm {script}\n")
    done = run(["setsid", "-w", *server.args()], env=env)
    assert done.rc == 255 and server.tries == ["old"], done


def test_keyboard_interactive(asks):
    server = asks(prompts=[("Password: ", False, "right"),
                           ("Code\x1b[5m: ", True, "123")])
    with Terminal(server.args("-o", "LogLevel=INFO")) as t:
        t.expect("instruction")
        t.expect("(me@127.0.0.1) Password: ")
        t.line("right")
        t.expect("(me@127.0.0.1) Code")
        t.line("123")
        t.expect("welcome")
        assert t.wait() == 5
        assert b"123" in t.shown and b"right" not in t.shown
        assert b"\x1b" not in t.shown


def test_devices_of_a_dialogue(asks, askpass):
    """The server is asked for the devices that are named; without dialogues,
    for nothing."""
    server = asks(prompts=[("Code: ", False, "123")])
    done = run(server.args("-o", "KbdInteractiveDevices=pam,otp"),
               env=askpass("123"))
    assert done.rc == 5 and server.devices == ["pam,otp"]
    done = run(server.args("-o", "KbdInteractiveAuthentication=no"),
               env=askpass("123"))
    assert done.rc == 255 and len(server.devices) == 1


@pytest.mark.parametrize("options", [
    ["-o", "BatchMode=yes"], ["-o", "PasswordAuthentication=no"],
    ["-o", "PreferredAuthentications=publickey"]])
def test_password_is_not_asked_for(asks, askpass, options):
    server = asks(password="right")
    done = run(server.args(*options), env=askpass("right"))
    assert done.rc == 255 and server.tries == []


def test_interrupt_at_the_prompt(asks):
    server = asks(password="right")
    with Terminal(server.args()) as t:
        t.expect("password: ")
        wait_for(lambda: False, 0.3)  # now it reads
        t.type("\x03")
        assert t.wait() != 0
        assert t.modes()[3] & 8  # ECHO is on again
    assert server.tries == []


def test_wrong_host_key_gets_no_password(asks, askpass, keys, tmp_path):
    server = asks(password="right")
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} "
                     + " ".join(keys.public("ed25519-other").split()[:2])
                     + "\n")
    done = run([hpn("ssh"), "-o", f"UserKnownHostsFile={known}",
                *server.args()[1:]], env=askpass("right"))
    assert done.rc == 255 and server.tries == []
    assert "IDENTIFICATION HAS CHANGED" in done.errors


@pytest.mark.parametrize("how", ["password", "prompts"])
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_three_connections_ask_once(asks, keys, tmp_path, data_file, how, up):
    """What was answered for the first connection does for the others."""
    server = asks(**{how: "right" if how == "password" else
                     [("Password: ", False, "right")]})
    asked, script = tmp_path / "asked", tmp_path / "askpass"
    script.write_text(f'#!/bin/sh\necho "$1" >>{asked}\necho right\n')
    script.chmod(0o755)
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} " + " ".join(
        keys.public("ed25519-host").split()[:2]) + "\n")
    data, out = data_file(24_000_000), tmp_path / "out"
    far = f"scp://me@127.0.0.1:{server.port}/"
    ends = [data, f"{far}{out}"] if up else [f"{far}{data}", out]
    done = run([hpn("scp"), "-q", "-F", "none", "-j", "3", "-l", "160000",
                "-o", f"UserKnownHostsFile={known}", "-o",
                "IdentityFile=none", "-o", "IdentityAgent=none", *ends],
               env=clean_env(SSH_ASKPASS=script,
                             SSH_ASKPASS_REQUIRE="force"), timeout=60)
    assert done.rc == 0 and done.err == b"", done
    assert out.read_bytes() == data.read_bytes()
    assert asked.read_text().count("\n") == 1
    assert server.tries == 3 * ["right" if how == "password" else ["right"]]


# ---- with the whole of hpnsshd ------------------------------------------

@pytest.mark.skipif(not IS_ROOT, reason="needs root: sets a password")
def test_system_password(make_server, other_user, askpass):
    set_password(other_user, "a long word")
    server = make_server(kind="stock")
    client = Client("hpn", server, user=other_user, key=None)
    args = not_batch(client.ssh_args("IdentityFile=none"))
    done = run([*args, "id -un"], env=askpass("wrong", "a long word"))
    assert done.text.strip() == other_user, done


@pytest.mark.parametrize("size", [1, 65536, 100000, 240 * 1024])
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_banners_of_any_size(make_server, tmp_path, kind, size):
    """All of it is shown, by our client and by stock's."""
    if not have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    text = ("0123456789abcde\n" * (size // 16 + 1))[:size]
    (tmp_path / "banner").write_text(text)
    server = make_server(f"Banner {tmp_path}/banner\n")
    done = Client(kind, server, log_level="INFO").ssh("true").ok()
    assert done.errors.replace("\r", "") == text


def test_banner_that_is_too_long(make_server, tmp_path):
    (tmp_path / "banner").write_text("x" * (240 * 1024 + 1))
    server = make_server(f"Banner {tmp_path}/banner\n")
    done = Client("hpn", server, log_level="INFO").ssh("true").ok()
    assert done.errors == ""
    assert f"Banner {tmp_path}/banner is not shown" in server.log_text()
