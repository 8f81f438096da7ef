# SPDX-License-Identifier: ISC
"""SFTP message by message, over the stock ssh."""

import struct
import subprocess

import harness

OPEN, CLOSE, READ, WRITE, REMOVE, STAT, EXTENDED = 3, 4, 5, 6, 13, 17, 200
STATUS, HANDLE, DATA, ATTRS, EXTENDED_REPLY = 101, 102, 103, 105, 201


def string(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    return struct.pack(">I", len(data)) + data


class Raw:
    """An SFTP session of the stock ssh, message by message."""

    def __init__(self, client, *options):
        self.process = subprocess.Popen(
            [str(a) for a in client.ssh_args(*options, flags=["-s"])]
            + ["sftp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=harness.clean_env(),
            start_new_session=True)
        self.ids = 0
        self.put(struct.pack(">BI", 1, 3))
        self.version = self.take()

    def put(self, body):
        self.process.stdin.write(string(body))
        self.process.stdin.flush()

    def ask(self, kind, *fields):
        self.ids += 1
        self.put(struct.pack(">BI", kind, self.ids) + b"".join(fields))
        return self.ids

    def take(self):
        """Type, id, rest."""
        length, = struct.unpack(">I", self.process.stdout.read(4))
        body = self.process.stdout.read(length)
        return body[0], struct.unpack(">I", body[1:5])[0], body[5:]

    def call(self, kind, *fields):
        sent = self.ask(kind, *fields)
        got, of, rest = self.take()
        assert of == sent
        return got, rest

    def open(self, path, flags=1):
        kind, rest = self.call(OPEN, string(path),
                               struct.pack(">II", flags, 0))
        assert kind == HANDLE
        return rest

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(harness.LONG), rest

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
