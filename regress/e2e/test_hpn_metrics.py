# SPDX-License-Identifier: ISC
"""Metrics: TCP_INFO of both ends in two files; servers that know the request
and servers that do not."""

import os
import re
import struct

import pytest

import harness
from harness import ME, Client
from sshwire import (CHANNEL_CLOSE, CHANNEL_OPEN, CHANNEL_REQUEST,
                     GLOBAL_REQUEST, OPEN_CONFIRMATION, REQUEST_SUCCESS,
                     FakeServer, connect, load_key, string)

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
ROW = re.compile(r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d(, \d+)+")


def read(path):
    """Columns and rows of a file with one run in it."""
    lines = path.read_text().split("\n")
    kind, head, blank, *rows, end = lines
    assert kind in ("LOCAL CONNECTION", "REMOTE CONNECTION")
    assert blank == "" and end == ""
    columns = head.split(", ")
    assert columns[:2] == ["timestamp", "state"]
    for row in rows:
        assert ROW.fullmatch(row) and len(row.split(", ")) == len(columns)
    return columns, [dict(zip(columns, r.split(", "))) for r in rows]


def files(base):
    return [base.with_name(base.name + end) for end in (".local", ".remote")]


def test_both_ends_at_every_interval(sshd, tmp_path):
    base = tmp_path / "m"
    Client("hpn", sshd).ssh("sleep 2.6", options=[
        f"MetricsPath={base}", "MetricsInterval=1"]).ok()
    for path in files(base):
        columns, rows = read(path)
        assert len(rows) >= 3, path  # a timer, not traffic
        assert rows[0]["state"] == "1" and int(rows[0]["rtt"]) > 0
        if "bytes_sent" in columns:
            assert int(rows[-1]["bytes_sent"]) >= int(rows[0]["bytes_sent"])


def test_appends(sshd, tmp_path):
    base = tmp_path / "m"
    for _ in range(2):
        Client("hpn", sshd).ssh("true", options=[
            "Metrics=yes", f"MetricsPath={base}"]).ok()
    assert files(base)[0].read_text().count("LOCAL CONNECTION\n") == 2


def test_off_unless_asked_for(sshd, tmp_path):
    base = tmp_path / "m"
    Client("hpn", sshd).ssh("true", options=[
        "Metrics=no", f"MetricsPath={base}"]).ok()
    Client("hpn", sshd).ssh("true", cwd=tmp_path).ok()
    assert not list(tmp_path.iterdir())
    Client("hpn", sshd).ssh("true", options=["Metrics=yes"],
                            cwd=tmp_path).ok()
    assert (tmp_path / "ssh_stack_metrics.local").exists()


def test_server_that_does_not_know_it(shared_servers, tmp_path):
    base = tmp_path / "m"
    done = Client("hpn", shared_servers("stock")).ssh(
        "sleep 1.5", options=[f"MetricsPath={base}",
                              "MetricsInterval=1"]).ok()
    assert done.errors.count("does not tell its numbers") == 1
    local, remote = files(base)
    assert len(read(local)[1]) >= 2 and not remote.exists()


def test_file_that_cannot_be_written(sshd, tmp_path):
    done = Client("hpn", sshd).ssh("echo on", options=[
        f"MetricsPath={tmp_path}/none/m"]).ok()
    assert done.out == b"on\n" and "Metrics: " in done.errors


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_others_put_in_the_way(sshd, tmp_path, kind):
    """A link or a pipe of the file's name, as another user can leave one in a
    directory that everybody may write: not followed, not waited for."""
    if kind == "link" and os.getuid() != 0:
        pytest.skip("only root can make another user's link")
    shared, target = tmp_path / "shared", tmp_path / "target"
    shared.mkdir()
    shared.chmod(0o1777)
    name = shared / "m.local"
    if kind == "pipe":
        os.mkfifo(name)
    else:
        name.symlink_to(target)
        os.lchown(name, 65534, 65534)
    done = Client("hpn", sshd).ssh(
        "true", options=("Metrics=yes", f"MetricsPath={shared / 'm'}"))
    assert done.rc == 0 and "Metrics: " in done.errors, done
    assert not target.exists()


def entry(key, kind, data):
    return bytes([len(key)]) + key.encode() + bytes([kind]) + data


def test_blob_of_another_making(tmp_path, keys):
    """As the format says: long sizes, an older kernel, missing fields."""
    body = entry("kernel_version", 0x60, struct.pack(">I", 0x030f00)) \
        + entry("tcpi_rtt", 0x40, struct.pack(">H", 1234)) \
        + entry("tcpi_pacing_rate", 0x80, struct.pack(">Q", 1 << 40))
    blob = bytes([0xe2]) + struct.pack(">I", 0x80000000 | len(body) + 6) \
        + bytes([3]) + body

    def script(wire):
        wire.handshake(fake.host)
        wire.accept_user()
        opened = wire.expect(CHANNEL_OPEN)
        opened.string()
        channel = opened.u32()
        request = wire.expect(GLOBAL_REQUEST)
        while request.text() != "stack-metrics@hpnssh.org":
            request = wire.expect(GLOBAL_REQUEST)
        assert request.bool() and not request.rest()
        wire.say(REQUEST_SUCCESS, string(blob))
        wire.say(OPEN_CONFIRMATION, channel, 0, 1 << 21, 1 << 15)
        wire.say(CHANNEL_REQUEST, channel, "exit-status", False, 0)
        wire.say(CHANNEL_CLOSE, channel)
        wire.drain()

    base = tmp_path / "m"
    with FakeServer(tmp_path, keys, script) as fake:
        done = Client("hpn", fake).ssh("x", options=[f"MetricsPath={base}"])
    assert done.rc == 0, done
    columns, rows = read(files(base)[1])
    assert columns[-2:] == ["max_pacing_rate", "pacing_rate"]
    assert rows[0]["rtt"] == "1234" and rows[0]["state"] == "0"
    assert rows[0]["pacing_rate"] == str(1 << 40)


def test_the_servers_blob(sshd):
    """Byte by byte."""
    wire = connect(sshd).login(ME, load_key(sshd.keys.path("ed25519")))
    wire.say(GLOBAL_REQUEST, "stack-metrics@hpnssh.org", True)
    blob = wire.expect(REQUEST_SUCCESS).string()
    wire.close()
    assert blob[0] == 0xe2
    assert struct.unpack(">I", blob[1:5])[0] == 0x80000000 | len(blob)
    found, at = {}, 6
    for _ in range(blob[5]):
        size = blob[at]
        key = blob[at + 1:at + 1 + size].decode()
        kind = blob[at + 1 + size]
        width = {0x20: 1, 0x40: 2, 0x60: 4, 0x80: 8}[kind]
        at += 2 + size
        found[key] = int.from_bytes(blob[at:at + width], "big")
        at += width
    assert at == len(blob)
    assert found["kernel_version"] > 0x030000
    assert found["tcpi_state"] == 1 and found["tcpi_rtt"] > 0
