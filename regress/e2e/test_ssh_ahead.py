# SPDX-License-Identifier: ISC
"""hpnssh tells a host that it knows everything at once, and goes step by
step where that was wrong: nobody sees a difference but in time."""

import base64
import hmac
import re

import pytest

from sshwire import (CHANNEL_CLOSE, CHANNEL_REQUEST, DISCONNECT, FakeServer)

from harness import Client, hints_file, stock_pty_problem


@pytest.fixture(params=["hpn", "stock"])
def server(request, shared_servers):
    return shared_servers(request.param)


@pytest.fixture
def client(server, tmp_path):
    """A client with a known_hosts file, and so hints, of its own."""
    hints_file().unlink(missing_ok=True)
    known = tmp_path / "known_hosts"
    # one host key: the server's first algorithm is then the known one's
    known.write_text("".join(
        line for line in server.known_hosts.read_text().splitlines(True)))
    return Client("hpn", server, known_hosts=known, log_level="DEBUG2")


def hashed(port, known_hosts=None):
    """A server of this machine, as the file of hints names it. known_hosts: a
    file that is not the usual one. Names are hashed in lower case, so its path
    is, too."""
    salt = b"s" * 20
    behind = f" {known_hosts}" if known_hosts else ""
    name = hmac.new(salt, f"[127.0.0.1]:{port}{behind}".lower().encode(),
                    "sha1").digest()
    return "|1|{}|{}".format(*(base64.b64encode(b).decode()
                               for b in (salt, name)))


def hints(client):
    return hints_file()


def set_hint(client, column, value):
    path = hints(client)
    fields = path.read_text().split()
    fields[column] = value
    path.write_text(" ".join(fields) + "\n")


def test_second_contact_is_ahead(client):
    first = client.ssh("echo one; exit 3")
    assert (first.rc, first.out) == (3, b"one\n"), first
    assert "guessed" not in first.errors
    assert hints(client).stat().st_mode & 0o777 == 0o600
    second = client.ssh("echo two; exit 4")
    assert (second.rc, second.out) == (4, b"two\n"), second
    assert "guessed key exchange packet sent" in second.errors
    assert "guess was wrong" not in second.errors
    assert "it was not asked before the signature" in second.errors


def test_nothing_beside_a_file_that_somebody_names(client, tmp_path):
    """In one place of the user's, and by that file: another one is of other
    hosts."""
    assert client.ssh("true").rc == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["known_hosts"]
    other = tmp_path / "others"
    other.write_text(client.known_hosts.read_text())
    again = Client("hpn", client.server, known_hosts=other,
                   log_level="DEBUG2")
    assert "guessed" not in again.ssh("true").errors
    assert len(hints_file().read_text().splitlines()) == 2
    assert "guessed" in again.ssh("true").errors


@pytest.mark.parametrize("lines", [1, 2])
def test_hints_of_an_earlier_version(client, lines):
    """Hints of an earlier version are read, and moved."""
    assert client.ssh("true").rc == 0
    old = client.known_hosts.with_name("known_hosts.hints")
    value = hints_file().read_text().split(" ", 1)[1]
    other = f"{hashed(1)} {value}"
    old.write_text(f"{hashed(client.server.port)} {value}"
                   + other * (lines - 1))
    hints_file().unlink()
    done = client.ssh("true", options=["KexAlgorithms=curve25519-sha256"])
    assert done.rc == 0  # the hint is another now, and written
    assert hints_file().exists()
    assert old.read_text() == other if lines > 1 else not old.exists()
    hints_file().unlink()
    old.write_text(f"{hashed(client.server.port)} {value}")
    assert "guessed" in client.ssh("true").errors


@pytest.mark.parametrize("column, value", [
    (1, "ecdh-sha2-nistp256"),      # not the server's first method
    (1, "sntrup761x25519-sha512@openssh.com"),
    (1, "no-such-method"),
    (2, "ecdsa-sha2-nistp384"),     # not its first host key algorithm
    (2, "no-such-algorithm"),
    (3, "SHA256:nobodyskey"),
    (3, "-"),
])
def test_wrong_hints_do_no_harm(client, column, value):
    assert client.ssh("true").rc == 0
    right = hints(client).read_text().split()
    set_hint(client, column, value)
    assert hints(client).read_text().split() != right
    done = client.ssh("cat; exit 5", stdin=b"bytes")
    assert (done.rc, done.out) == (5, b"bytes"), done
    # and they are put right; "-": nothing is sent ahead
    now = hints(client).read_text().split()
    assert now == right or column == 1 and now[1] == "-"


def test_a_server_that_falls_over_a_guess(tmp_path, keys):
    """It takes the wrong guess for the real thing: once, and not again."""
    def script(w):
        w.identify()
        w.send_kexinit()
        w.read_kexinit()
        if w.theirs[-5]:  # first_kex_packet_follows
            w.say(DISCONNECT, 3, "what is that?", "")
            w.drain()  # else its end is a reset, which may overtake the words
            return
        w.server_exchange(fake.host)
        w.send_newkeys()
        w.read_newkeys()
        w.accept_user()
        number = w.accept_session()
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 7)
        w.say(CHANNEL_CLOSE, number)
        w.drain()

    with FakeServer(tmp_path, keys, script) as fake:
        client = Client("hpn", fake)
        path = hints_file()
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{hashed(fake.port, fake.known_hosts)} "
                        "mlkem768x25519-sha256 ssh-ed25519 -\n")
        assert client.ssh("true").rc == 255
        assert path.read_text() == ""
        assert client.ssh("true").rc == 7


def test_a_server_that_has_no_time(tmp_path, keys):
    """As a stock one that locks this address out for a while: it says so
    without reading what it was told all at once, and why is shown."""
    def script(w):
        w.raw(b"Not allowed at this time\r\n")

    with FakeServer(tmp_path, keys, script) as fake:
        path = hints_file()
        path.parent.mkdir(exist_ok=True)
        line = (f"{hashed(fake.port, fake.known_hosts)} "
                "mlkem768x25519-sha256 ssh-ed25519 -\n")
        path.write_text(line)
        done = Client("hpn", fake).ssh("true")
        assert done.rc == 255
        # What it did not read makes its end a reset, seen sooner or later.
        assert re.search(r"kex_exchange_identification: (Connection closed by "
                         r"remote host|read: Connection reset by peer)\n"
                         r"hpnssh: it says: Not allowed at this time\n",
                         done.errors), done
        assert path.read_text() == line


def test_refused_key_of_a_hint(client, server):
    """The session was asked for ahead of a key that is refused now: it runs
    once, after the key that is good."""
    assert client.ssh("true").rc == 0
    fingerprint = re.search(r"SHA256:\S+", hints(client).read_text())[0]
    stranger = server.keys.path("ed25519-stranger")
    two = Client("hpn", server, known_hosts=client.known_hosts,
                 log_level="DEBUG2", options=(f"IdentityFile={stranger}",))
    from harness import run, hpn
    print_fp = run([hpn("ssh-keygen"), "-l", "-f", stranger]).text
    set_hint(client, 3, print_fp.split()[1])
    done = two.ssh("echo once; exit 6")
    assert (done.rc, done.out) == (6, b"once\n"), done
    assert fingerprint in hints(client).read_text()


def test_host_key_is_checked_first(client, server):
    """A known host that shows another key gets nothing of the user's."""
    assert client.ssh("true").rc == 0
    text = client.known_hosts.read_text()
    other = server.keys.public("ed25519-other").split()[1]
    client.known_hosts.write_text("".join(
        " ".join([line.split()[0], "ssh-ed25519", other]) + "\n"
        for line in text.splitlines() if "ssh-ed25519" in line))
    before = server.log_text()
    done = client.ssh("true", options=("HostKeyAlgorithms=ssh-ed25519",))
    assert done.rc == 255
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED!" in done.errors
    assert "Offering" not in done.errors
    assert "Accepted" not in server.log_text()[len(before):]


def test_hints_of_a_first_contact(server, tmp_path):
    """known_hosts itself is made by it, and the next contact is ahead."""
    client = Client("hpn", server, known_hosts=tmp_path / "known_hosts",
                    log_level="DEBUG2",
                    options=("StrictHostKeyChecking=accept-new",
                             "HostKeyAlgorithms=ssh-ed25519"))
    assert client.ssh("true").rc == 0
    fields = hints(client).read_text().split()
    # the server's first, whatever was agreed on
    assert fields[2] != "-" and fields[3].startswith("SHA256:")
    assert client.ssh("true").rc == 0


def test_no_name_in_clear(client):
    """A user who hashes the names in known_hosts has hints too, and none of
    them tells a name."""
    for _ in range(2):
        done = client.ssh("true", options=("HashKnownHosts=yes",))
        assert done.rc == 0
    assert "guessed key exchange packet sent" in done.errors
    assert "127.0.0.1" not in hints(client).read_text()


def test_compressed_session(client):
    for _ in range(2):
        done = client.ssh("cat", flags=("-C",), stdin=b"x" * 100000)
        assert done.out == b"x" * 100000, done


def test_terminal(client):
    if client.server.kind == "stock" and stock_pty_problem():
        pytest.skip(stock_pty_problem())
    for _ in range(2):
        done = client.ssh("tty", flags=("-tt",))
        assert done.rc == 0 and done.out.startswith(b"/dev/"), done
