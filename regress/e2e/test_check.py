# SPDX-License-Identifier: ISC
"""hpnssh --check: what a copy will be like, before it is made."""

import json
import os
import signal
import socket

import pytest

import harness
from harness import Client, program, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
LIMITS = {"unknown", "disk", "cpu", "receive-buffer", "send-buffer",
          "ssh-window", "loss", "path", "server"}
SFTP = "Subsystem sftp internal-sftp"
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


def checked_in_time(*args, **kw):
    """The result of a check on a machine that was not so busy meanwhile that
    the disk took longer than the few seconds that a check has."""
    def done():
        nonlocal last
        last = checked(*args, **kw)
        return "it took too long" not in last.text
    last = None
    harness.wait_for(done)
    return last.ok()


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
    answer = told(checked_in_time(sshd, "--json", path=tmp_path))
    fits(answer, {**SHAPE, "disk": DISK})
    assert 0 < answer["disk"]["bytes"] <= 256 << 20
    assert list(tmp_path.iterdir()) == []


def test_disk_is_read_past_the_memory(sshd, tmp_path):
    """Our server lets the kernel forget what was written."""
    answer = told(checked_in_time(sshd, "--json", path=tmp_path))
    assert answer["disk"]["read_may_be_cached"] is False


def test_stock_server(shared_servers, tmp_path):
    """All but what the server's kernel knows, and reading from its disk."""
    server = shared_servers("stock", SFTP)
    answer = told(checked_in_time(server, "--json", path=tmp_path))
    fits(answer, {**SHAPE, "disk": DISK})
    assert answer["server"] == "openssh"
    assert "segments_down" not in answer["path"]
    assert answer["disk"]["read_may_be_cached"] is True
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["missing", "file"])
def test_no_such_folder(sshd, tmp_path, path):
    """The rest is told all the same."""
    (tmp_path / "file").write_text("kept")
    done = checked(sshd, "--json", path=tmp_path / path)
    answer = told(done)
    assert done.rc == 1 and "disk" not in answer, done
    assert [f["what"] for f in answer["failures"]] == ["the disk"]
    assert answer["expect_up"]["rate"] > 0
    assert (tmp_path / "file").read_text() == "kept"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folder_not_writable(make_server, tmp_path):
    """With -R of the server nothing is written, not even to /dev/null."""
    server = make_server("Subsystem sftp internal-sftp -R")
    folder = tmp_path / "folder"
    folder.mkdir()
    answer = told(checked(server, "--json", path=folder))
    assert answer["status"] == 1
    assert {f["what"] for f in answer["failures"]} == {"sending", "the disk"}
    assert answer["expect_down"]["rate"] > 0 and "expect_up" not in answer
    assert list(folder.iterdir()) == []


def test_forced_command(make_server):
    """No SFTP: there is no answer, and the check ends soon."""
    server = make_server("ForceCommand echo hello")
    done = checked(server, "--json", timeout=30)
    answer = told(done)
    assert done.rc == 255 and len(answer["failures"]) == 1, done
    assert answer["failures"][0]["what"] == "connecting"


def test_host_that_does_not_answer(sshd):
    """It accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client("hpn", sshd)
        done = run([program("hpn", "ssh"), "--check", "--json",
                    *client.options("ConnectTimeout=1"), "-p",
                    str(silent.getsockname()[1]), "127.0.0.1"], timeout=20)
    assert done.rc == 255 and told(done)["failures"], done


def test_texts_are_clean(sshd, tmp_path):
    """What is typed or comes from the host acts on no terminal."""
    evil = "x\x1b]0;y\x07\n\u202e\"}"
    lines = checked(sshd, path=f"{tmp_path}/{evil}")
    assert lines.rc == 1 and b"\x1b" not in lines.out, lines
    assert b"\x07" not in lines.out and b"\xe2\x80\xae" not in lines.out
    answer = told(checked(sshd, "--json", path=f"{tmp_path}/{evil}"))
    assert answer["target"].endswith(evil)


def test_interrupt_removes_the_file(sshd, tmp_path, background):
    client = Client("hpn", sshd)
    process = background([program("hpn", "ssh"), "--check",
                          *client.options(), "-p", str(sshd.port),
                          f"{client.user}@127.0.0.1:{tmp_path}"])
    harness.wait_for(lambda: list(tmp_path.iterdir()))
    process.send_signal(signal.SIGINT)
    assert process.wait(harness.LONG) == 128 + signal.SIGINT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flags", [["--json"], ["--check", "-G"],
                                   ["--check", "-W", "a:1"],
                                   ["--check", "-O", "exit"]])
def test_flags_that_do_not_fit(flags):
    done = run([program("hpn", "ssh"), *flags, "host.invalid"])
    assert done.rc == 255 and b"--" in done.err, done


def test_no_command(sshd):
    done = run([program("hpn", "ssh"), "--check", "host.invalid", "true"])
    assert done.rc == 255 and b"runs no command" in done.err, done
    late = run([program("hpn", "ssh"), "host.invalid", "--check"])
    assert late.rc == 255 and b"in front of" in late.err, late


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_full_disk(sshd, tmp_path):
    """A quarter of what is free is taken; where nothing is free, nothing
    is."""
    if run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", tmp_path]).rc:
        pytest.skip("no tmpfs can be mounted here")
    try:
        answer = told(checked(sshd, "--json", path=tmp_path))
        assert list(tmp_path.iterdir()) == []
    finally:
        run(["umount", "-l", tmp_path]).ok()
    assert answer["status"] == 1 and "disk" not in answer
    assert answer["failures"] == [{"what": "the disk", "words": "no room"}]
