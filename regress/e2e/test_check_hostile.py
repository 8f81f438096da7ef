# SPDX-License-Identifier: ISC
"""hpnssh --check with a host whose SFTP server means no good: answers without
end, too slowly, with wrong lengths, with what acts on terminals. It ends in
its time, takes no memory, says what failed, and shows nothing raw."""

import json
import resource

import pytest

import harness
from copies import sftp_end
from harness import Client, clean_env, program, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
MEMORY = 600 << 20  # bytes of address space of the client

SERVER = r"""
import time

EVIL = b"\x1b]0;owned\x07\x1b[2J\n\"}\xe2\x80\xae<b>"
way = sys.argv[1]
names = [b"limits@openssh.com", b"fsync@openssh.com", b"statvfs@openssh.com"]
if way == "names":
    names += [EVIL + b"%d" % i for i in range(500)]

for kind, rest in requests(b"".join(
        string(n) + string(EVIL if way == "names" else b"1") for n in names)):
    if way == "endless":
        # A right answer, and others that nobody has asked for.
        status(0)
        while True:
            send(103, rid + string(b"x" * 30000))
    elif way == "slow":
        for c in u32(17) + b"\x65" + rid + bytes(12):
            put(bytes([c]))
            time.sleep(2)
    elif way == "long":
        put(u32(0x7fffffff) + b"\x66" + rid + string(b"h"))
    elif way == "short":
        put(u32(1) + b"\x66" + rid)
    elif way == "inner":
        send(102 if kind == 3 else 103, rid + u32(0x7fffffff) + b"abc")
    elif way == "handle":
        send(102, rid + string(b"h" * 100000))
    elif way == "much" and kind == 5:  # more than was asked for
        send(103, rid + string(b"x" * 250000))
    elif way == "much" and kind == 3:
        send(102, rid + string(b"h"))
    else:  # "names", and what else is asked
        send(101, rid + u32(4) + string(EVIL) + string(EVIL))
"""


def within_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("kind", ["endless", "slow", "long", "short", "inner",
                                  "handle", "much", "names"])
def test_hostile_server(make_server, tmp_path, kind):
    fake = sftp_end(tmp_path / "fake.py", SERVER)
    server = make_server(
        f"Subsystem sftp {fake} {kind}\n"
        f"Banner {tmp_path}/banner\n")
    (tmp_path / "banner").write_bytes(b"\x1b]0;owned\x07<b>\n")
    client = Client("hpn", server, log_level="INFO")
    outs = []
    for flags in ([], ["--json"]):
        preexec = {} if harness.is_sanitized() else {
            "preexec_fn": within_memory}
        process = harness.start(
            [program("hpn", "ssh"), "--check", *flags, *client.options(),
             "-p", str(server.port),
             f"{client.user}@127.0.0.1:{tmp_path}"], stdout=-1, stderr=-1,
            env=clean_env(), **preexec)
        # --check takes at most 20 s of its own.
        out, err = process.communicate(timeout=60 * harness.SLOW)
        assert process.returncode in (1, 255), (kind, out, err)
        for text in (out, err):
            assert not set(text) & {0x1b, 0x07}, (kind, text)
            assert b"\xe2\x80\xae" not in text
        outs.append(out)
    answer = json.loads(outs[1])
    assert outs[1].count(b"\n") == 1 and answer["failures"], answer
    assert not list(tmp_path.glob(".hpn*"))
    assert Client("hpn", server).ssh("true").rc == 0
