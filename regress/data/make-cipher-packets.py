#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Writes cipher-packets.inc: sealed packets of every cipher with every MAC.

All algorithms are written out here from their standards, slowly and without
a library, so that the C code is checked against something independent. Each
is first tried on the standard's own example.

usage: make-cipher-packets.py > cipher-packets.inc
       make-cipher-packets.py umac      a case for test-umac.c
"""

import hashlib
import struct
import sys


# ---- AES (FIPS 197) ----------------------------------------------------

def gf_times(a, b):
    r = 0
    while b:
        if b & 1:
            r ^= a
        a = a << 1 ^ (0x11b if a & 0x80 else 0)
        b >>= 1
    return r


def make_sbox():
    box = []
    for x in range(256):
        inverse = next((y for y in range(256) if gf_times(x, y) == 1), 0)
        v = 0x63
        for turn in range(5):
            v ^= (inverse << turn | inverse >> (8 - turn)) & 0xff
        box.append(v)
    return box


SBOX = make_sbox()
DOUBLE = [gf_times(2, x) for x in range(256)]


class Aes:
    def __init__(self, key):
        nk = len(key) // 4
        self.rounds = nk + 6
        words = [list(key[4 * i:4 * i + 4]) for i in range(nk)]
        rcon = 1
        for i in range(nk, 4 * (self.rounds + 1)):
            w = list(words[-1])
            if i % nk == 0:
                w = [SBOX[b] for b in w[1:] + w[:1]]
                w[0] ^= rcon
                rcon = gf_times(rcon, 2)
            elif nk > 6 and i % nk == 4:
                w = [SBOX[b] for b in w]
            words.append([a ^ b for a, b in zip(w, words[i - nk])])
        flat = [b for w in words for b in w]
        self.keys = [flat[16 * i:16 * i + 16]
                     for i in range(self.rounds + 1)]

    def block(self, data):
        s = [a ^ b for a, b in zip(data, self.keys[0])]
        for r in range(1, self.rounds + 1):
            s = [SBOX[s[(i + 4 * (i % 4)) % 16]] for i in range(16)]
            if r < self.rounds:
                mixed = []
                for c in range(0, 16, 4):
                    col = s[c:c + 4]
                    whole = col[0] ^ col[1] ^ col[2] ^ col[3]
                    for i in range(4):
                        pair = col[i] ^ col[(i + 1) % 4]
                        mixed.append(col[i] ^ whole ^ DOUBLE[pair])
                s = mixed
            s = [a ^ b for a, b in zip(s, self.keys[r])]
        return bytes(s)


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def ctr(aes, counter, data, bits=128):
    """Counter mode that steps the last `bits` of the counter block."""
    number = int.from_bytes(counter, "big")
    low = 1 << bits
    out = b""
    for i in range(0, len(data), 16):
        block = number - number % low + (number + i // 16) % low
        out += xor(aes.block(block.to_bytes(16, "big")), data[i:i + 16])
    return out


# ---- GCM (SP 800-38D) --------------------------------------------------

def ghash(h, data):
    h = int.from_bytes(h, "big")
    y = 0
    for i in range(0, len(data), 16):
        y ^= int.from_bytes(data[i:i + 16], "big")
        z, v = 0, h
        for bit in range(127, -1, -1):
            if y >> bit & 1:
                z ^= v
            v = v >> 1 ^ (0xe1 << 120 if v & 1 else 0)
        y = z
    return y.to_bytes(16, "big")


def pad16(data):
    return data + bytes(-len(data) % 16)


def gcm(key, nonce, aad, data):
    aes = Aes(key)
    first = nonce + b"\0\0\0\1"
    text = ctr(aes, nonce + b"\0\0\0\2", data, 32)
    lengths = struct.pack(">QQ", 8 * len(aad), 8 * len(text))
    tag = ghash(aes.block(bytes(16)), pad16(aad) + pad16(text) + lengths)
    return text, xor(tag, aes.block(first))


# ---- ChaCha20 and Poly1305 (RFC 8439), with an 8 byte nonce ------------

def rotate(v, n):
    return (v << n | v >> (32 - n)) & 0xffffffff


def quarter(s, a, b, c, d):
    for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12),
                          (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & 0xffffffff
        s[z] = rotate(s[z] ^ s[x], turn)


def chacha_block(key, tail):
    """tail: the last 16 bytes of the state, counter and nonce."""
    start = list(struct.unpack("<16I", b"expand 32-byte k" + key + tail))
    s = list(start)
    for _ in range(10):
        for i in range(4):
            quarter(s, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4,
                    12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & 0xffffffff
                                 for a, b in zip(s, start)))


def chacha(key, nonce, counter, data):
    out = b""
    for i in range(0, len(data), 64):
        tail = struct.pack("<Q", counter + i // 64) + nonce
        out += xor(chacha_block(key, tail), data[i:i + 64])
    return out


def poly1305(key, data):
    r = int.from_bytes(key[:16], "little")
    r &= 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for i in range(0, len(data), 16):
        total += int.from_bytes(data[i:i + 16] + b"\1", "little")
        total = total * r % ((1 << 130) - 5)
    total += int.from_bytes(key[16:], "little")
    return (total % (1 << 128)).to_bytes(16, "little")


# ---- HMAC (RFC 2104), UMAC (RFC 4418) ----------------------------------

def hmac(name, key, data):
    size = hashlib.new(name).block_size
    key = key.ljust(size, b"\0")
    inner = hashlib.new(name, bytes(b ^ 0x36 for b in key) + data).digest()
    return hashlib.new(name, bytes(b ^ 0x5c for b in key) + inner).digest()


def umac_derive(aes, index, length):
    blocks = (length + 15) // 16
    out = b"".join(aes.block(struct.pack(">QQ", index, i + 1))
                   for i in range(blocks))
    return out[:length]


def umac_nh(key, data):
    k = struct.unpack(">256I", key)
    padded = data + bytes(-len(data) % 32 if data else 32)
    m = struct.unpack("<%dI" % (len(padded) // 4), padded)
    y = 8 * len(data)
    for i in range(0, len(m), 8):
        for j in range(i, i + 4):
            y += (((m[j] + k[j]) & 0xffffffff) *
                  ((m[j + 4] + k[j + 4]) & 0xffffffff))
    return y % (1 << 64)


def umac_stream(l1, l2, l3, mask, data):
    sums = [umac_nh(l1, data[i:i + 1024])
            for i in range(0, max(len(data), 1), 1024)]
    y = sums[0]
    if len(data) > 1024:
        p = (1 << 64) - 59
        k = int.from_bytes(l2[:8], "big") & 0x01ffffff01ffffff
        y = 1
        for m in sums:
            if m >= (1 << 64) - (1 << 32):
                y = (y * k + p - 1) % p
                m -= 59
            y = (y * k + m) % p
    p = (1 << 36) - 5
    total = 0
    for i, m in enumerate(struct.unpack(">8H", y.to_bytes(16, "big"))):
        total += m * (int.from_bytes(l3[8 * i:8 * i + 8], "big") % p)
    return (total % p % (1 << 32)) ^ int.from_bytes(mask, "big")


def umac(size, key, nonce, data):
    aes = Aes(key)
    n = size // 4
    l1 = umac_derive(aes, 1, 1024 + 16 * (n - 1))
    l2 = umac_derive(aes, 2, 24 * n)
    l3 = umac_derive(aes, 3, 64 * n)
    mask = umac_derive(aes, 4, 4 * n)
    tag = b"".join(struct.pack(">I", umac_stream(
        l1[16 * i:16 * i + 1024], l2[24 * i:24 * i + 24],
        l3[64 * i:64 * i + 64], mask[4 * i:4 * i + 4], data))
        for i in range(n))
    half = nonce % (16 // size)
    pad = Aes(umac_derive(aes, 0, 16)).block(
        struct.pack(">Q", nonce ^ half).ljust(16, b"\0"))
    return xor(tag, pad[half * size:half * size + size])


# ---- the standards' own examples ---------------------------------------

def check(got, want):
    if got != bytes.fromhex(want):
        sys.exit("self-check failed: %s is not %s" % (got.hex(), want))


def self_check():
    h = bytes.fromhex
    check(Aes(bytes(range(16))).block(h("00112233445566778899aabbccddeeff")),
          "69c4e0d86a7b0430d8cdb78070b4c55a")
    check(Aes(bytes(range(32))).block(h("00112233445566778899aabbccddeeff")),
          "8ea2b7ca516745bfeafc49904b496089")
    text, tag = gcm(h("feffe9928665731c6d6a8f9467308308"),
                    h("cafebabefacedbaddecaf888"),
                    h("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
                    h("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da"
                      "2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                      "b16aedf5aa0de657ba637b39"))
    check(tag, "5bc94fbc3221a5db94fae95ae7121a47")
    check(text[:16], "42831ec2217774244b7221b784d0d49c")
    check(chacha_block(bytes(range(32)), h("01000000000000090000004a00000000")
                       )[:16], "10f1e7e4d13b5915500fdd1fa32071c4")
    check(poly1305(h("85d6be7857556d337f4452fe42d506a8"
                     "0103808afb0db2fd4abff6af4149f51b"),
                   b"Cryptographic Forum Research Group"),
          "a8061dc1305136c6c22b8baf0c0127a9")
    check(hmac("sha256", b"Jefe", b"what do ya want for nothing?"),
          "5bdcc146bf60754e6a042426089575c7"
          "5a003f089d2739839dec58b964ec3843")
    nonce = int.from_bytes(b"bcdefghi", "big")
    check(umac(8, b"abcdefghijklmnop", nonce, b"a" * 1024),
          "26bf2f5d60118bd9")
    check(umac(8, b"abcdefghijklmnop", nonce, b"abc" * 500),
          "d4cf26ddefd5c01a")


# ---- packets -----------------------------------------------------------

CIPHERS = (
    ("chacha20-poly1305@openssh.com", 64, 0),
    ("aes128-gcm@openssh.com", 16, 12),
    ("aes256-gcm@openssh.com", 32, 12),
    ("aes128-ctr", 16, 16),
    ("aes192-ctr", 24, 16),
    ("aes256-ctr", 32, 16),
)
MACS = (
    ("umac-64", 16, lambda k, n, d: umac(8, k, n, d), "@openssh.com"),
    ("umac-128", 16, lambda k, n, d: umac(16, k, n, d), "@openssh.com"),
    ("hmac-sha2-256", 32, lambda k, n, d: seq_hmac("sha256", k, n, d), ""),
    ("hmac-sha2-512", 64, lambda k, n, d: seq_hmac("sha512", k, n, d), ""),
    ("hmac-sha1", 20, lambda k, n, d: seq_hmac("sha1", k, n, d), ""),
)
# Sequence number, packets and blocks before. The IVs below end in ff, so
# that the counters carry.
POSITIONS = ((0, 0, 0), (7, 7, 3), (0xffffffff, 0x100000003, 1 << 63))
LENGTHS = (32, 1600)


def seq_hmac(name, key, seqnr, data):
    return hmac(name, key, struct.pack(">I", seqnr) + data)


def fill(seed, length):
    out = b""
    while len(out) < length:
        out += hashlib.sha256(b"%s %d" % (seed, len(out))).digest()
    return out[:length]


def seal(cipher, mac, etm, key, iv, mac_key, pos, pkt):
    seqnr, packet, block = pos
    if cipher.startswith("chacha20"):
        nonce = struct.pack(">Q", seqnr)
        out = chacha(key[32:], nonce, 0, pkt[:4])
        out += chacha(key[:32], nonce, 1, pkt[4:])
        return out + poly1305(chacha(key[:32], nonce, 0, bytes(32)), out)
    if "gcm" in cipher:
        count = (int.from_bytes(iv[4:], "big") + packet) % (1 << 64)
        text, tag = gcm(key, iv[:4] + count.to_bytes(8, "big"), pkt[:4],
                        pkt[4:])
        return pkt[:4] + text + tag
    counter = (int.from_bytes(iv, "big") + block) % (1 << 128)
    counter = counter.to_bytes(16, "big")
    if etm:
        out = pkt[:4] + ctr(Aes(key), counter, pkt[4:])
        return out + mac(mac_key, seqnr, out)
    return ctr(Aes(key), counter, pkt) + mac(mac_key, seqnr, pkt)


def rows():
    for cipher, key_len, iv_len in CIPHERS:
        if not cipher.endswith("ctr"):
            yield cipher, key_len, iv_len, "", 0, None, False
            continue
        for name, mac_len, mac, domain in MACS:
            yield (cipher, key_len, iv_len, name + "-etm@openssh.com",
                   mac_len, mac, True)
            yield cipher, key_len, iv_len, name + domain, mac_len, mac, False


def print_marked_umac():
    """A message with a block whose NH is 2^64 - 2^32 and more: by chance
    that would be one block in 2^32."""
    key = b"abcdefghijklmnop"
    k = struct.unpack(">8I", umac_derive(Aes(key), 1, 32))
    sums = (0xffffffff, 0xffffffff, 0, 0, 0xffffffff, 1, 0, 0)
    block = struct.pack("<8I", *((s - w) % (1 << 32)
                                 for s, w in zip(sums, k)))
    nonce = int.from_bytes(b"bcdefghi", "big")
    print(block.hex())
    for size in (8, 16):
        print(umac(size, key, nonce, b"a" * 1024 + block).hex())


def quote(text):
    lines = [text[i:i + 72] for i in range(0, max(len(text), 1), 72)]
    return "\n".join('  "%s"' % line for line in lines)


def main():
    self_check()
    if sys.argv[1:] == ["umac"]:
        print_marked_umac()
        return
    print("/* SPDX-License-Identifier: ISC */")
    print("/* Made by make-cipher-packets.py: do not edit. */")
    for cipher, key_len, iv_len, name, mac_len, mac, etm in rows():
        key = fill(b"key " + cipher.encode(), key_len)
        iv = fill(b"iv", iv_len)
        if iv_len:
            iv = iv[:4] + bytes([255]) * (iv_len - 5) + b"\xfe"
        mac_key = fill(b"mac key " + name.encode(), mac_len)
        for i, pos in enumerate(POSITIONS):
            size = LENGTHS[0] if i < 2 else LENGTHS[1]
            length = size - 4 if mac and not etm else size
            body = fill(b"packet %d" % i, length)
            pkt = struct.pack(">I", length) + body
            out = seal(cipher, mac, etm, key, iv, mac_key, pos, pkt)
            print('{ "%s", "%s",' % (cipher, name))
            print("  { %#x, %#xull, %#xull }, %d," % (pos + (length,)))
            # Of the long packet only the end: the tag depends on all of it.
            shown = out if i < 2 else out[-96:]
            print(",\n".join(quote(what.hex())
                             for what in (key, iv, mac_key, shown)) + " },")


if __name__ == "__main__":
    main()
