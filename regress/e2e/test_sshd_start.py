# SPDX-License-Identifier: ISC
"""What root's hpnsshd needs of the machine, and what a machine that does not
answer may cost."""

import re
import socket

import pytest
from ownetc import OwnEtc, problem

import harness
from harness import LONG, Client, hpn, run

pytestmark = pytest.mark.skipif(bool(problem()), reason=problem() or "")


@pytest.fixture
def own(tmp_path, keys):
    made = OwnEtc(tmp_path / "own", keys)
    yield made
    made.end()


@pytest.mark.parametrize("users,starts", [
    (["hpnsshd", "sshd"], True), (["hpnsshd"], True), (["sshd"], True),
    ([], False)])
def test_user_of_the_process_that_talks_to_strangers(own, users, starts):
    """One of its own: nobody is many's."""
    others = re.sub(r"(?m)^(hpnsshd|sshd):.*\n", "", own.lines["passwd"])
    assert "nobody:" in others
    (own.etc / "passwd").write_text(others + "".join(
        f"{name}:x:{60900 + n}:65534::/:/bin/false\n"
        for n, name in enumerate(users)))
    done = run(["unshare", "-m", "--propagation", "private", "sh", "-c",
                'mount --bind "$0" /etc && exec "$@"', own.etc, hpn("sshd"),
                "-t", "-f", "/dev/null", "-h",
                own.keys.path("ed25519-host")])
    assert (done.rc == 0) == starts, done
    assert starts or "user hpnsshd does not exist" in done.errors, done


def test_name_server_that_does_not_answer(own):
    """The time for a login counts while UseDNS asks."""
    (own.etc / "nsswitch.conf").write_text(
        "passwd: files\ngroup: files\nshadow: files\nhosts: dns\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.53.53.53", 53))
        (own.etc / "resolv.conf").unlink(missing_ok=True)
        (own.etc / "resolv.conf").write_text(
            "nameserver 127.53.53.53\noptions timeout:30 attempts:5\n")
        server = own.server("UseDNS yes\nLoginGraceTime 2\n")
        with socket.create_connection(("127.0.0.1", server.port),
                                      5 * LONG) as client:
            silent.settimeout(LONG)
            assert silent.recv(2000), "nobody was asked"
            # It does not get as far as to greet, which it would do when it
            # has given up to ask, 150 s later.
            assert client.recv(2000) == b""
        # The monitor cannot say so: what it has called does not return.
        assert harness.wait_for(lambda: re.search(
            r"Timeout before authentication for connection from 127\.0\.0\.1 "
            r"to 127\.0\.0\.1, pid = \d+", server.log_text()))


def test_another_program_as_the_users_process(make_server):
    """One that ends well at once and says nothing: the log says it, before or
    behind the sending."""
    server = make_server(within=[
        "unshare", "-m", "--propagation", "private", "sh", "-c",
        'mount --bind /bin/true "$0" && exec "$@"',
        harness.BUILD / "hpnsshd-user"])
    assert Client("hpn", server).ssh("true").rc == 255
    assert harness.wait_for(lambda: re.search(
        r"/hpnsshd-user for 127\.0\.0\.1 port \d+ has ended without a look at "
        r"its state|the user's process does not take its state: ",
        server.log_text())), server.log_text()


def test_few_descriptors(keys, tmp_path):
    """It serves, or it says in one line why it does not start."""
    serves = []
    for limit in (10, 12, 14, 15, 16, 17, 18, 20, 24):
        server = harness.Server("hpn", tmp_path / str(limit), keys, within=[
            "sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh"])
        try:
            server.start()
            with socket.create_connection(("127.0.0.1", server.port),
                                          LONG) as sock:
                assert sock.recv(4) == b"SSH-", limit
            serves.append(limit)
        except AssertionError as e:
            assert "did not start" in str(e) and not serves, (limit, serves)
            assert len(server.log.read_text().splitlines()) == 1, limit
        finally:
            server.stop()
    assert 10 not in serves and 24 in serves
