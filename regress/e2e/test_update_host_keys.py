# SPDX-License-Identifier: ISC
"""UpdateHostKeys: known_hosts follows the keys a host proves to have, in both
roles with stock peers, and nothing that a hostile server says gets in."""

import base64
import os
import tempfile

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_REQUEST, GLOBAL_REQUEST,
                     REQUEST_FAILURE, REQUEST_SUCCESS, FakeServer, Host, Wire,
                     connect, load_key, string)
from terminal import Terminal

from harness import ME, Client, have

HOST_KEYS = ("ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa")
ANNOUNCE, PROVE = "hostkeys-00@openssh.com", "hostkeys-prove-00@openssh.com"


def key_of(server, name):
    return " ".join(server.keys.public(name).split()[:2])


def host_keys(server, names=HOST_KEYS):
    return {key_of(server, f"{name}-host") for name in names}


class Known:
    """A client with a known_hosts file of its own."""

    def __init__(self, kind, server, path, update="yes"):
        self.path, self.server = path, server
        self.name = f"[127.0.0.1]:{server.port}"
        self.client = Client(kind, server, known_hosts=path,
                             log_level="DEBUG2",
                             options=(f"UpdateHostKeys={update}",))

    def note(self, key, name=None, mark=""):
        with open(self.path, "a") as f:
            f.write(f"{mark}{name or self.name} {key}\n")

    def keys(self):
        """The keys of the lines that are for this host alone."""
        lines = [line.split() for line in self.path.read_text().splitlines()]
        return {" ".join(f[1:3]) for f in lines if f[0] == self.name}

    def visit(self, *command, **kw):
        # stock clients are done before the proof comes if they may
        done = self.client.ssh(*(command or ("sleep 0.3",)), **kw)
        assert done.rc == 0, done
        return done


@pytest.fixture
def known(shared_servers, tmp_path):
    def make(client="hpn", server="hpn", **kw):
        if not have(client, "ssh"):
            pytest.skip(f"no {client} ssh")
        return Known(client, shared_servers(server),
                     tmp_path / "known_hosts", **kw)
    return make


@pytest.mark.parametrize("client, server", [
    ("hpn", "hpn"), ("hpn", "stock"), ("stock", "hpn")])
@pytest.mark.parametrize("first", ["ed25519", "rsa"])
def test_all_keys_are_learnt(known, client, server, first):
    k = known(client, server)
    k.note(key_of(k.server, f"{first}-host"))
    k.visit()
    assert k.keys() == host_keys(k.server)


@pytest.mark.parametrize("server", ["hpn", "stock"])
def test_what_was_learnt_makes_the_guess_right(known, server):
    """The server's first key type is not the one that was known."""
    k = known("hpn", server)
    k.note(key_of(k.server, "rsa-host"))
    k.visit()
    assert k.keys() == host_keys(k.server)
    done = k.visit("true")
    if "guessed" in done.errors:  # the first method is one we prefer, too
        assert "guess was wrong" not in done.errors
    else:
        assert server == "stock"


@pytest.mark.parametrize("strict", ["no", "accept-new"])
@pytest.mark.parametrize("client", ["hpn", "stock"])
def test_first_contact(known, client, strict):
    """A key that nobody has looked at does not vouch for others."""
    k = known(client)
    k.client.fixed[1] = f"StrictHostKeyChecking={strict}"
    k.visit()
    assert len(k.keys()) == 1
    k.visit()
    assert k.keys() == host_keys(k.server)


def test_first_contact_that_the_user_has_agreed_to(known):
    k = known()
    args = k.client.ssh_args("StrictHostKeyChecking=ask", "BatchMode=no")
    with Terminal([*args, "sleep 0.3"]) as terminal:
        terminal.expect("(yes/no/[fingerprint])? ")
        terminal.line("yes")
        assert terminal.wait() == 0
    assert k.keys() == host_keys(k.server)


@pytest.mark.parametrize("update, given", [
    ("no", True), ("yes", False)])  # a file of one's own: not by default
def test_only_if_wanted(known, update, given):
    k = known(update=update)
    if not given:
        k.client.fixed = [o for o in k.client.fixed if "Update" not in o]
    k.note(key_of(k.server, "ed25519-host"))
    k.visit()
    assert k.keys() == host_keys(k.server, ["ed25519"])


@pytest.mark.parametrize("server", ["hpn", "stock"])
def test_old_keys_go(known, server):
    k = known("hpn", server)
    old = key_of(k.server, "ed25519-old")
    k.note(key_of(k.server, "ed25519-host"))
    k.note(old)
    k.note(old, name=f"{k.name},other.example")
    k.visit()
    assert k.keys() == host_keys(k.server)
    assert f"{k.name},other.example {old}\n" in k.path.read_text()


@pytest.mark.parametrize("client", ["hpn", "stock"])
@pytest.mark.parametrize("key, name, mark", [
    ("ed25519-host", "other.example", ""),  # it was shown
    ("rsa-host", "other.example", ""),      # it would come
    ("ed25519-old", "other.example", ""),   # it would go
    ("rsa-host", "other.example", "@revoked "),
    ("ed25519-other", "*", "@revoked "),
    ("ed25519-other", "{}", "@cert-authority "),
    ("ed25519-other", "{},a,b", "")])
def test_lines_that_somebody_looks_after(known, client, key, name, mark):
    """Keys of other names, and lines of the host that no program writes: as
    stock's client, ours changes nothing then."""
    k = known(client)
    k.note(key_of(k.server, "ed25519-host"))
    k.note(key_of(k.server, "ed25519-old"))
    k.note(key_of(k.server, key), name=name.format(k.name), mark=mark)
    before = k.path.read_text()
    k.visit()
    assert k.path.read_text() == before


@pytest.mark.parametrize("algorithms", [
    "ssh-ed25519", "ssh-ed25519,rsa-sha2-256", "-ecdsa*"])
def test_keys_that_are_not_accepted(known, algorithms):
    """What the client would not accept from a host is passed over, without a
    word, and keeps it from learning nothing else."""
    k = known()
    k.note(key_of(k.server, "ed25519-host"))
    done = k.client.ssh("sleep 0.3", options=[
        f"HostKeyAlgorithms={algorithms}", "LogLevel=INFO"])
    assert done.rc == 0 and "could not prove" not in done.errors, done
    names = ["ed25519"] if algorithms == "ssh-ed25519" else ["ed25519", "rsa"]
    assert k.keys() == host_keys(k.server, names)


def test_who_is_known_by_a_pattern_stays(known):
    k = known()
    k.note(key_of(k.server, "ed25519-host"), name="[127.0.0.*]:*")
    before = k.path.read_text()
    k.visit()
    assert k.path.read_text() == before


def test_revoked_keys_stay_out(known, tmp_path):
    k = known()
    k.note(key_of(k.server, "ed25519-host"))
    revoked = tmp_path / "revoked"
    revoked.write_text(key_of(k.server, "rsa-host") + "\n")
    done = k.client.ssh("sleep 0.3", options=[f"RevokedHostKeys={revoked}"])
    assert done.rc == 0, done
    assert k.keys() == host_keys(k.server) - host_keys(k.server, ["rsa"])


def test_a_link_stays_one(known, tmp_path):
    k = known()
    k.note(key_of(k.server, "ed25519-host"))
    real = tmp_path / "real"
    k.path.rename(real)
    k.path.symlink_to(real)
    real.chmod(0o640)
    k.visit()
    assert k.path.is_symlink() and k.keys() == host_keys(k.server)
    assert real.stat().st_mode & 0o777 == 0o640


QUESTION = "Accept updated hostkeys? (yes/no): "


@pytest.mark.parametrize("answers", [
    ["yes"], ["no"], ["hm", "", "yes"], ["hm", "y", "n"]])
def test_ask(known, answers):
    k = known(update="ask")
    k.note(key_of(k.server, "ed25519-host"))
    with Terminal(k.client.ssh_args("BatchMode=no")) as terminal:
        for answer in answers:
            terminal.expect(QUESTION)
            terminal.line(answer)
        terminal.line("exit")
        assert terminal.wait() == 0
    want = HOST_KEYS if answers[-1] == "yes" else ["ed25519"]
    assert k.keys() == host_keys(k.server, want)


@pytest.fixture
def short():
    """A directory for sockets, whose paths must be short."""
    with tempfile.TemporaryDirectory(prefix="hpn", dir="/tmp",
                                     ignore_cleanup_errors=True) as path:
        yield path


@pytest.mark.parametrize("client", ["hpn", "stock"])
@pytest.mark.parametrize("how", [
    ["-oBatchMode=yes"], ["-oRequestTTY=no"],
    ["-oControlPersist=1", "-oControlMaster=yes", "-oControlPath={dir}/s"],
    ["-oLogLevel=ERROR"], ["-oRemoteCommand=sleep 0.3; exit"],
    ["-tt", "sleep 0.3; exit"]])
def test_nobody_to_ask(known, client, how, short):
    """There is a terminal, but what uses it is not to be disturbed."""
    how = [word.format(dir=short) for word in how]
    flags = [word for word in how if word.startswith("-")]
    k = known(client, update="ask")
    k.note(key_of(k.server, "ed25519-host"))
    program, *rest = k.client.ssh_args("BatchMode=no")
    with Terminal([program, *flags, *rest, *how[len(flags):]]) as terminal:
        terminal.line("sleep 0.3; exit")
        assert terminal.wait() == 0
        assert QUESTION.encode() not in terminal.shown
    assert k.keys() == host_keys(k.server, ["ed25519"])


# ---- servers that lie ----------------------------------------------------

def line(blob):
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


def proof(w, host, **change):
    data = {"what": PROVE, "session": w.session_id, "blob": host.blob}
    data.update(change)
    return string(host.sign(string(data["what"]) + string(data["session"])
                            + string(data["blob"])))


NEW, OTHER = Host(), Host()
LIES = {
    "nothing": lambda w: b"",
    "other key": lambda w: proof(w, OTHER),
    "for another key": lambda w: proof(w, NEW, blob=OTHER.blob),
    "other session": lambda w: proof(w, NEW, session=b"s" * 32),
    "other purpose": lambda w: proof(w, NEW, what="ssh-connection"),
    "empty": lambda w: string(b""),
    "cut": lambda w: proof(w, NEW)[:-3],
    "too much": lambda w: proof(w, NEW) + b"x",
    "no signature": lambda w: string(string("ssh-ed25519") + string(b"")),
    "no algorithm": lambda w: string(os.urandom(80)),
}


@pytest.fixture
def lying(tmp_path, keys):
    """lying(act): a server that announces, and then act(wire, request)."""
    made = []

    def make(act, announce=None):
        def script(w):
            host = made[0].host
            w.handshake(host)
            w.accept_user()
            blobs = announce(host) if announce else [host.blob, NEW.blob]
            number = w.accept_session()
            w.say(GLOBAL_REQUEST, ANNOUNCE, False,
                  b"".join(b if b[:1] == b"!" else string(b) for b in blobs))
            act(w, number)
        made.append(FakeServer(tmp_path, keys, script))
        return Known("hpn", made[0], made[0].known_hosts)

    yield make
    for one in made:
        one.__exit__(None)


def end(w, number):
    w.say(CHANNEL_REQUEST, number, "exit-status", False, 0)
    w.say(CHANNEL_CLOSE, number)
    w.drain()


def await_prove(w):
    while True:
        r = w.expect(GLOBAL_REQUEST)
        if r.text() == PROVE:
            assert r.bool()
            return r


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_bad_proof_changes_nothing(lying, lie):
    def act(w, number):
        assert await_prove(w).string() == NEW.blob
        w.say(REQUEST_SUCCESS, LIES[lie](w))
        end(w, number)

    k = lying(act)
    k.note(line(OTHER.blob))  # would be dropped
    before = k.path.read_text()
    k.visit()
    assert k.path.read_text() == before


def test_a_good_proof_from_the_same_server(lying):
    def act(w, number):
        assert await_prove(w).string() == NEW.blob
        w.say(REQUEST_SUCCESS, proof(w, NEW))
        end(w, number)

    k = lying(act)
    k.note(line(OTHER.blob))
    k.visit()
    assert k.keys() == {line(k.server.host.blob), line(NEW.blob)}


# Of a key and a CA of their own making.
CERTIFICATE = base64.b64decode(
    "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIC3q/wYmosUlA3jjr4iR"
    "f9FUbd5QnTBo47yVaqfTMUNhAAAAIBo1xFDz3pfeaBrXRsUYBwiJ7Pu8uc8P72rpmCQO1xxq"
    "AAAAAAAAAE0AAAABAAAACnZlY3RvciBvbmUAAAAQAAAABWFsaWNlAAAAA2JvYgAAAAAAAAAQ"
    "AAAAAAAAACAAAABEAAAADWZvcmNlLWNvbW1hbmQAAAALAAAAB2VjaG8gaGkAAAAOc291cmNl"
    "LWFkZHJlc3MAAAAOAAAACjEwLjAuMC4wLzgAAAASAAAACnBlcm1pdC1wdHkAAAAAAAAAAAAA"
    "ADMAAAALc3NoLWVkMjU1MTkAAAAg9aqkRC+9LcAz1+/n2Aft7n1RGK7S7jqkkEtyeDGwurYA"
    "AABTAAAAC3NzaC1lZDI1NTE5AAAAQMowWljEUqgKL2uzDlwsi5XRzozntIvu61ZRcsGzCxUH"
    "8R2vnzqHTsO4L13UIwdQhrBsxKwT/5MFMdxu+LqKmQE=")


def test_certificates_are_not_learnt(lying):
    """known_hosts lists plain keys; the others are learnt all the same."""
    def act(w, number):
        asked = await_prove(w)
        assert asked.string() == NEW.blob and asked.at == len(asked.data)
        w.say(REQUEST_SUCCESS, proof(w, NEW))
        end(w, number)

    k = lying(act, lambda host: [CERTIFICATE, host.blob, NEW.blob])
    k.visit()
    assert k.keys() == {line(k.server.host.blob), line(NEW.blob)}


def test_refusal_to_prove(lying):
    def act(w, number):
        await_prove(w)
        w.say(REQUEST_FAILURE)
        end(w, number)

    k = lying(act)
    before = k.path.read_text()
    k.visit()
    assert k.path.read_text() == before


@pytest.mark.parametrize("announce", [
    lambda host: [NEW.blob],             # not the key it showed
    lambda host: [],
    lambda host: [host.blob, b"!" + b"\xff" * 8],
    lambda host: [host.blob] + [Host().blob for _ in range(100)],
    lambda host: [host.blob, string("ssh-what") + string(b"?"), b""],
], ids=["another", "none", "garbage", "many", "odd"])
def test_odd_announcements(lying, announce):
    def act(w, number):
        end(w, number)

    k = lying(act, announce)
    before = k.path.read_text()
    k.visit()
    assert k.path.read_text() == before


# ---- our server ----------------------------------------------------------

def test_only_our_keys_are_proved(sshd, keys):
    w = Wire.login(connect(sshd), ME, load_key(keys.path("ed25519")))
    announced = w.expect(GLOBAL_REQUEST)
    assert announced.text() == ANNOUNCE and not announced.bool()
    blobs = []
    while announced.at < len(announced.data):
        blobs.append(announced.string())
    assert {b64(b) for b in blobs} \
        == {key.split()[1] for key in host_keys(sshd)}
    for asked, answer in (([blobs[0]], REQUEST_SUCCESS),
                          (blobs, REQUEST_SUCCESS),
                          ([NEW.blob], REQUEST_FAILURE),
                          ([blobs[0], b""], REQUEST_FAILURE),
                          (blobs + blobs, REQUEST_FAILURE),
                          ([], REQUEST_FAILURE)):
        w.say(GLOBAL_REQUEST, PROVE, True, b"".join(map(string, asked)))
        w.expect(answer)
    for _ in range(20):
        w.say(GLOBAL_REQUEST, PROVE, True, string(blobs[0]))
        last, _ = w.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
    assert last == REQUEST_FAILURE  # signatures cost time
    w.open_session()


def b64(blob):
    return base64.b64encode(blob).decode()


@pytest.mark.parametrize("client", ["hpn", "stock"])
def test_types_that_the_user_leaves_out(known, client):
    """Keys of such types are passed over, and what the file has of them goes,
    as with stock; the next connection brings them back."""
    k = known(client)
    for key in host_keys(k.server):
        k.note(key)
    k.visit(options=["HostKeyAlgorithms=ssh-ed25519,rsa-sha2-256"])
    assert k.keys() == host_keys(k.server, ("ed25519", "rsa"))
    k.visit()
    assert k.keys() == host_keys(k.server)


@pytest.mark.parametrize("proves", [True, False])
def test_a_command_that_is_over_before_the_proof(lying, proves):
    """The connection lasts until the proof is there, or some time; the
    command's status is that of the client."""
    def act(w, number):
        assert await_prove(w).string() == NEW.blob
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 0)
        w.say(CHANNEL_CLOSE, number)
        w.expect(CHANNEL_CLOSE)
        if proves:
            w.say(REQUEST_SUCCESS, proof(w, NEW))
        w.drain()

    k = lying(act)
    k.visit("true")
    assert k.keys() == {line(k.server.host.blob),
                        *([line(NEW.blob)] if proves else [])}


@pytest.mark.parametrize("server", ["hpn", "stock"])
def test_quick_commands_learn_as_well(known, server):
    for n in range(3):
        k = known("hpn", server)
        k.path.write_text("")
        k.note(key_of(k.server, "ed25519-host"))
        k.visit("true")
        assert k.keys() == host_keys(k.server)
