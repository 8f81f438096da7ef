#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Writes xfer/name-form-table.h: letters, their parts and their small forms.

What Unicode says of the first 65,536 code points, as this Python knows it:
canonical decompositions (but those of ideographs, and of Hangul, which follow
a rule), classes of combining marks, and small letters of capital ones.

usage: make-name-forms.py > xfer/name-form-table.h
"""

import textwrap
import unicodedata

LAST = 0xFFFF
IDEOGRAPHS = range(0xF900, 0xFB00)
HANGUL = range(0xAC00, 0xD7A4)
WIDTH = 72


def decompositions():
    for code in range(0x80, LAST + 1):
        text = unicodedata.decomposition(chr(code))
        if text and "<" not in text and code not in IDEOGRAPHS:
            parts = [int(part, 16) for part in text.split()]
            yield code, parts[0], parts[1] if len(parts) > 1 else 0


def ranges(value_of, step_max):
    """Runs of codes that have one value, as (first, last, step, value)."""
    run = None
    for code in range(0x80, LAST + 1):
        value = value_of(code)
        if not value:
            continue
        if run and run[3] == value:
            step = code - run[1]
            if step == run[2] or (run[0] == run[1] and step <= step_max):
                run = run[0], code, step, value
                continue
        if run:
            yield run
        run = code, code, 1, value
    yield run


def distance(code):
    low = chr(code).lower()
    return ord(low) - code if len(low) == 1 and ord(low) <= LAST else 0


def table(kind, name, rows):
    print(f"static const struct {kind} {name}[] = {{")
    text = " ".join("{~" + ",~".join(row) + "~}," for row in rows)
    for line in textwrap.wrap(text, WIDTH):
        print("\t" + line.replace("~", " "))
    print("};")


def main():
    print("/* SPDX-License-Identifier: ISC */")
    print("/* Letters, their parts, and their small forms: facts of Unicode "
          + unicodedata.unidata_version + ",\n * written by "
          "build-aux/make-name-forms.py. For xfer/name-form.c alone. */")
    print("#ifndef HPN_XFER_NAME_FORM_TABLE_H")
    print("#define HPN_XFER_NAME_FORM_TABLE_H\n\n#include <stdint.h>\n")
    print("/* A letter and its parts; second 0: it has one. */")
    print("struct form_parts {\n\tuint16_t whole, first, second;\n};")
    table("form_parts", "form_parts",
          ([f"0x{n:x}" for n in row] for row in decompositions()))
    print("\n/* Codes first, first + step ... last: the class of a mark. */")
    print("struct form_class {\n\tuint16_t first, last;\n"
          "\tuint8_t step, value;\n};")
    table("form_class", "form_classes",
          ([f"0x{f:x}", f"0x{la:x}", str(s), str(v)] for f, la, s, v in
           ranges(lambda c: unicodedata.combining(chr(c)), 1)))
    print("\n/* Likewise: how far a capital's small letter is. */")
    print("struct form_small {\n\tuint16_t first, last;\n\tuint8_t step;\n"
          "\tint32_t distance;\n};")
    table("form_small", "form_smalls",
          ([f"0x{f:x}", f"0x{la:x}", str(s), str(v)] for f, la, s, v in
           ranges(distance, 2)))
    print("\n#endif")


if __name__ == "__main__":
    main()
