# SPDX-License-Identifier: ISC
"""Certificates for tests of whole programs, by either keygen, and servers
that have them."""

import shutil

from harness import hpn, program, run

FOREVER = "always:forever"
PAST = "20200101:20200102"
FUTURE = "20400101:20410101"


def certify(keys, public, target, names, ca="ed25519-ca", host=False,
            valid=FOREVER, options=(), kind="hpn", serial=1, name="id"):
    """A certificate for the key in the file `public`, which becomes the file
    `target`. names "": none."""
    directory = target.parent / f"making-{target.name}"
    directory.mkdir()
    copy = directory / "key.pub"
    shutil.copy(public, copy)
    flags = [flag for option in options for flag in ("-O", option)]
    run([program(kind, "ssh-keygen"), "-q", "-s", keys.path(ca), "-I", name,
         *(["-h"] if host else []), *(["-n", names] if names else []),
         "-V", valid, "-z", str(serial), *flags, copy]).ok()
    shutil.move(directory / "key-cert.pub", target)
    shutil.rmtree(directory)
    return target


def authority(keys, name="ed25519-ca"):
    """As lines of known_hosts and TrustedUserCAKeys have it."""
    return " ".join(keys.public(name).split()[:2])


def takes(kind, line):
    """Whether this sshd knows a line of configuration that every stock sshd
    knows."""
    return kind == "stock" or run(
        [hpn("sshd"), "-G", "-f", "/dev/null", "-o", line]).rc == 0
