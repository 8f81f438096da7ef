#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Writes crypto/kdf-pi.c: the fraction of pi, 1042 words of 32 bits.

Blowfish starts from them. They are computed here by Machin's formula,
pi = 16 arctan(1/5) - 4 arctan(1/239), in integers.

usage: make-pi-words.py > crypto/kdf-pi.c
"""

WORDS = 18 + 4 * 256
BITS = 32 * WORDS
GUARD = 64


def arctan_inverse(n):
    """arctan(1/n), scaled by 2^(BITS + GUARD)."""
    term = (1 << (BITS + GUARD)) // n
    total, k, sign = term, 1, 1
    while term:
        term //= n * n
        k += 2
        sign = -sign
        total += sign * (term // k)
    return total


def main():
    pi = (16 * arctan_inverse(5) - 4 * arctan_inverse(239)) >> GUARD
    assert pi >> BITS == 3
    words = ["0x%08x" % (pi >> (BITS - 32 * (i + 1)) & 0xffffffff)
             for i in range(WORDS)]
    assert words[0] == "0x243f6a88"
    print("/* SPDX-License-Identifier: ISC */")
    print("/* Made by build-aux/make-pi-words.py: do not edit. */")
    print('#include "crypto/kdf-pi.h"\n')
    print("const uint32_t pi_words[PI_WORDS] = {")
    for i in range(0, WORDS, 6):
        print("\t%s," % ", ".join(words[i:i + 6]))
    print("};")


if __name__ == "__main__":
    main()
