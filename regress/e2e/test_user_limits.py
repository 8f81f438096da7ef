# SPDX-License-Identifier: ISC
"""Limits over all connections of a user: who is refused, what they and the
log of events are told, and that what has ended does not count."""

import json
import os
import signal
from pathlib import Path

import pytest

import harness
from harness import Client, have, hpn, run, wait_for

pytestmark = pytest.mark.skipif(not have("hpn", "sshd"),
                                reason="hpnsshd is not built")


@pytest.fixture
def limited(make_server, tmp_path):
    """limited(config): a client of a server with limits and events."""
    def make(config, **kw):
        return Client("hpn", make_server(
            f"PidFile {tmp_path}/one.pid\n"
            f"EventLog file:{tmp_path}/events\n" + config, **kw))
    return make


def limits(tmp_path):
    lines = (tmp_path / "events").read_text().splitlines()
    return [e["limit"] for e in map(json.loads, lines)
            if e["event"] == "limit"]


class Long:
    """A session that stays; `user` is the process of the user's."""

    def __init__(self, client, **kw):
        self.process = harness.start(
            [*client.ssh_args(**kw), "echo $PPID; cat"], stdin=-1, stdout=-1)
        self.user = int(self.process.stdout.readline())

    def monitor(self):
        text = Path(f"/proc/{self.user}/stat").read_text()
        return int(text.rsplit(")")[1].split()[1])

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def two_and_no_third(client, place, keyword, words):
    """Two that stay; the next one is refused, with these words and an event."""
    both = Long(client), Long(client)
    done = client.ssh("true")
    assert done.rc == 255
    assert words in done.errors, done
    assert limits(place) == [keyword]
    return both


def test_connections_of_a_user(limited, tmp_path):
    client = limited("MaxConnectionsPerUser 2\n")
    first, second = two_and_no_third(
        client, tmp_path, "MaxConnectionsPerUser",
        "Too many connections: a user may have 2 to this server")
    assert "MaxConnectionsPerUser" in client.server.log_text()
    first.end()
    assert wait_for(lambda: client.ssh("true").rc == 0)
    # A monitor that is killed does not count, either.
    third = Long(client)
    os.kill(third.monitor(), signal.SIGKILL)
    client.ssh("true").ok()
    second.end()
    third.end()


def test_others_have_their_own(limited, tmp_path):
    """Match sets limits; an address without one is not counted."""
    client = limited("Match LocalPort 1\n MaxConnectionsPerUser 1\n"
                     "Match Address 127.0.0.0/8\n"
                     " MaxConnectionsPerUser 1\n")
    first = Long(client)
    assert client.ssh("true").rc == 255
    first.end()
    assert wait_for(lambda: client.ssh("true").rc == 0)


def test_a_copy_goes_on_over_one(limited, tmp_path):
    client = limited("MaxConnectionsPerUser 1\n")
    (tmp_path / "from").mkdir()
    for i in range(8):
        (tmp_path / "from" / f"f{i}").write_bytes(os.urandom(4 << 20))
    done = run([hpn("scp"), *client.options(), "-rq", "-j", "4", "-P",
                str(client.server.port), str(tmp_path / "from"),
                f"127.0.0.1:{tmp_path}/to"]).ok()
    assert len(list((tmp_path / "to").iterdir())) == 8, done


def test_sessions_of_a_user(limited, tmp_path):
    client = limited("MaxSessionsPerUser 2\n")
    first, second = two_and_no_third(
        client, tmp_path, "MaxSessionsPerUser",
        "too many sessions: a user may have 2 on this server")
    first.end()
    assert wait_for(lambda: client.ssh("true").rc == 0)
    second.end()


def test_no_file_of_counters(limited, tmp_path):
    """A file that cannot be used locks nobody out, and is told of."""
    client = limited("MaxConnectionsPerUser 1\nMaxSessionsPerUser 1\n")
    (tmp_path / "one.counters").mkdir()
    first = Long(client)
    client.ssh("true").ok()
    first.end()
    assert "counters" in client.server.log_text()


def test_values():
    for word in ("MaxConnectionsPerUser", "MaxSessionsPerUser"):
        for bad in ("0", "-1", "many"):
            done = run([hpn("sshd"), "-t", "-f", "/dev/null", "-o",
                        f"{word} {bad}"])
            assert done.rc != 0 and word in done.errors, (bad, done)
