#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""An SFTP server on a file system that keeps the parts of accented letters
apart, as HFS+ of Macs does: it finds a name in either form, and lists the one.
It hands requests on to another server (argv), with their paths in that form.
"""

import struct
import subprocess
import sys
import threading
import unicodedata

# Which of the strings of a request are paths.
PATHS = {3: [0], 7: [0], 9: [0], 11: [0], 13: [0], 14: [0], 15: [0], 16: [0],
         17: [0], 18: [0, 1], 19: [0], 20: [1]}
EXTENDED = {b"posix-rename@openssh.com": [0, 1],
            b"hardlink@openssh.com": [0, 1], b"lsetstat@openssh.com": [0],
            b"statvfs@openssh.com": [0]}


def apart(path):
    try:
        return unicodedata.normalize("NFD", path.decode()).encode()
    except UnicodeDecodeError:
        return path


def take(data):
    size = struct.unpack(">I", data[:4])[0]
    return data[4:4 + size], data[4 + size:]


def put(data):
    return struct.pack(">I", len(data)) + data


def changed(packet):
    kind, number, rest = packet[:1], packet[1:5], packet[5:]
    which = PATHS.get(kind[0], [])
    if kind[0] == 200:
        name, rest = take(rest)
        number += put(name)
        which = EXTENDED.get(name, [])
    out = b""
    for i in range(max(which, default=-1) + 1):
        text, rest = take(rest)
        out += put(apart(text) if i in which else text)
    return kind + number + out + rest


def main():
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)

    def answers():
        while data := server.stdout.read1(65536):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    back = threading.Thread(target=answers)
    back.start()
    while len(head := sys.stdin.buffer.read(4)) == 4:
        packet = sys.stdin.buffer.read(struct.unpack(">I", head)[0])
        server.stdin.write(put(changed(packet)))
        server.stdin.flush()
    server.stdin.close()
    back.join()
    sys.exit(server.wait())


if __name__ == "__main__":
    main()
