# SPDX-License-Identifier: ISC
"""hpnssh --check with a host whose SFTP server means no good: answers without
end, too slowly, with wrong lengths, with what acts on terminals. It ends in
its time, takes no memory, says what failed, and shows nothing raw."""

import json
import resource
import sys
import textwrap

import pytest

import harness
from harness import Client, clean_env, program, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
MEMORY = 600 << 20  # bytes of address space of the client

SERVER = textwrap.dedent(r"""
    import os, struct, sys, time
    EVIL = b"\x1b]0;owned\x07\x1b[2J\n\"}\xe2\x80\xae<b>"
    kind = sys.argv[1]

    def read(n):
        data = b""
        while len(data) < n:
            piece = os.read(0, n - len(data))
            if not piece:
                sys.exit(0)
            data += piece
        return data

    def string(b):
        return struct.pack(">I", len(b)) + b

    def put(b):
        while b:
            b = b[os.write(1, b):]

    def send(code, rest, length=None):
        body = bytes([code]) + rest
        put(struct.pack(">I", len(body) if length is None else length) + body)

    first = True
    while True:
        length, = struct.unpack(">I", read(4))
        body = read(length)
        if first:
            first = False
            names = [b"limits@openssh.com", b"fsync@openssh.com",
                     b"statvfs@openssh.com"]
            if kind == "names":
                names += [EVIL + b"%d" % i for i in range(500)]
            send(2, struct.pack(">I", 3) + b"".join(
                string(n) + string(EVIL if kind == "names" else b"1")
                for n in names))
            continue
        number = body[1:5]
        if kind == "endless":
            # A right answer, and others that nobody has asked for.
            send(101, number + struct.pack(">I", 0) + string(b"") * 2)
            while True:
                send(103, number + string(b"x" * 30000))
        elif kind == "slow":
            for c in struct.pack(">I", 17) + b"\x65" + number + bytes(12):
                put(bytes([c]))
                time.sleep(2)
        elif kind == "long":
            send(102, number + string(b"h"), 0x7fffffff)
        elif kind == "short":
            send(102, number, 1)
        elif kind == "inner":
            send(102 if body[0] == 3 else 103,
                 number + struct.pack(">I", 0x7fffffff) + b"abc")
        elif kind == "handle":
            send(102, number + string(b"h" * 100000))
        elif kind == "much" and body[0] == 5:  # more than was asked for
            send(103, number + string(b"x" * 250000))
        elif kind == "much" and body[0] == 3:
            send(102, number + string(b"h"))
        else:  # "names", and what else is asked
            send(101, number + struct.pack(">I", 4) + string(EVIL)
                 + string(EVIL))
    """)


def within_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("kind", ["endless", "slow", "long", "short", "inner",
                                  "handle", "much", "names"])
def test_hostile_server(make_server, tmp_path, kind):
    (tmp_path / "fake.py").write_text(SERVER)
    server = make_server(
        f"Subsystem sftp {sys.executable} {tmp_path}/fake.py {kind}\n"
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
