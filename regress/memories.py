# SPDX-License-Identifier: ISC
"""Looks for secrets in the memory of a process."""

import re

from cryptography.hazmat.primitives import serialization


def big(number):
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def secrets_of(path, passphrase=None):
    """The numbers of a private key that nobody else may know, as bytes."""
    key = serialization.load_ssh_private_key(path.read_bytes(), passphrase)
    numbers = getattr(key, "private_numbers", None)
    if numbers is None:
        return [key.private_bytes_raw()
                if hasattr(key, "private_bytes_raw") else
                key.private_bytes(serialization.Encoding.Raw,
                                  serialization.PrivateFormat.Raw,
                                  serialization.NoEncryption())]
    n = numbers()
    if hasattr(n, "private_value"):
        return [big(n.private_value)]
    return [big(x) for x in (n.p, n.q, n.d, n.dmp1, n.dmq1, n.iqmp)]


def runs(secret):
    """Pieces of it, in both orders of bytes."""
    return [piece for order in (secret, secret[::-1])
            for piece in (order[:16], order[8:24], order[-16:])]


def memory(pid):
    with open(f"/proc/{pid}/maps") as maps, \
            open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            begin, end, rights = re.match(
                r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            if "r" not in rights or "[v" in line:
                continue
            mem.seek(int(begin, 16))
            try:
                yield mem.read(int(end, 16) - int(begin, 16))
            except OSError:
                continue


def copies(pid, text):
    """How many there are in its memory."""
    return sum(area.count(text) for area in memory(pid))


def found(pid, *texts):
    """The texts that are in the process's memory."""
    areas = list(memory(pid))
    assert sum(map(len, areas)) > 100000
    return [t for t in texts if any(t in area for area in areas)]
