# SPDX-License-Identifier: ISC
"""hpnssh --check: what a copy will be like, before it is made."""

import json

import pytest

import harness
from harness import Client, program, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
LIMITS = {"unknown", "disk", "cpu", "receive-buffer", "send-buffer",
          "ssh-window", "loss", "path", "server"}
# Each object with the types of what it always has.
SHAPE = {
    "path": {"rtt_us": int, "loaded_rtt_us": int, "mss": int, "mtu": int,
             "segments_up": int, "retransmitted_up": int,
             "congestion_control": str, "send_buffer_max": int,
             "receive_buffer_max": int, "bandwidth_delay_bytes": int},
    "cipher": {"encrypts": int, "up": str, "down": str, "decrypts": int,
               "best": str, "best_encrypts": int},
    "up": {"rate": int, "bytes": int, "seconds": float,
           "start_seconds": float, "connections": int, "channels": int,
           "refused": bool, "cpu_percent": int},
    "expect_up": {"rate": int, "limit": str, "why": str},
}
SHAPE["down"] = SHAPE["up"]
SHAPE["expect_down"] = SHAPE["expect_up"]
DISK = {"bytes": int, "write": int, "synced": bool, "sync": int,
        "read": int, "read_may_be_cached": bool}


def checked(server, *flags, path="", options=(), host="127.0.0.1", **kw):
    client = Client("hpn", server)
    return run([program("hpn", "ssh"), "--check", *flags,
                *client.options(*options), "-p", str(server.port), "-l",
                client.user, host + (f":{path}" if path else "")], **kw)


def told(done):
    lines = done.out.splitlines()
    assert len(lines) == 1, done
    answer = json.loads(lines[0])
    assert answer["version"] == 1 and answer["status"] == done.rc, answer
    return answer


def fits(answer, shape):
    for name, fields in shape.items():
        for field, kind in fields.items():
            assert type(answer[name][field]) is kind, (name, field, answer)


def test_own_server(sshd):
    """Both directions are measured, and something is said to limit each."""
    answer = told(checked(sshd, "--json").ok())
    fits(answer, SHAPE)
    assert answer["server"] == "hpnssh" and answer["failures"] == []
    assert answer["path"]["segments_down"] > 0
    for direction in ("up", "down"):
        expected = answer[f"expect_{direction}"]
        assert expected["rate"] == answer[direction]["rate"] > 0
        assert expected["limit"] in LIMITS and expected["why"]
        assert answer[direction]["bytes"] > 0
    assert "disk" not in answer


def test_lines_for_people(sshd):
    done = checked(sshd).ok()
    heads = [line.split(" ")[0] for line in done.text.splitlines()]
    for head in ("host", "path", "tcp", "cipher", "up", "down", "expect"):
        assert head in heads, done
    assert "disk" not in heads and "failed" not in heads


def test_disk(sshd, tmp_path):
    answer = told(checked(sshd, "--json", path=tmp_path).ok())
    fits(answer, {**SHAPE, "disk": DISK})
    assert 0 < answer["disk"]["bytes"] <= 256 << 20
    assert list(tmp_path.iterdir()) == []
