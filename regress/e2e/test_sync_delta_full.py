# SPDX-License-Identifier: ISC
"""hpnsync where the disk is full while a delta is put together, by copies of
the old target or by what was sent: the old target stays, or the new one is
whole, and the next run ends right."""

import os
import random
import shutil
import struct

import pytest

from faults.run import build_library
from harness import clean_env, have, hpn, is_sanitized, run

SYNC, OURS = hpn("sync"), hpn("sftp-server")
KINDS = 20  # of calls, in regress/faults/shim.c
ENOSPC = 28

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(is_sanitized(), reason="no library comes before the "
                       "sanitizer's")]


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    return build_library("shim", tmp_path_factory.mktemp("shim"))


def play(shim, place, way, fault):
    """Runs hpnsync where a write below the target fails; also how many did.
    The server of the target writes, or this program a download."""
    shell = place / "shell"
    shell.write_text(f"#!/bin/sh\nexec {OURS}\n")
    shell.chmod(0o755)
    counts = place / "counts"
    counts.write_bytes(bytes(4 * (KINDS + 1)))
    ends = {"up": [f"{place}/from/", f"h:{place}/to/"],
            "down": [f"h:{place}/from/", f"{place}/to/"]}[way]
    env = clean_env() if fault is None else clean_env(
        LD_PRELOAD=str(shim), HPN_FAULT=fault,
        HPN_FAULT_BELOW=str(place / "to"), HPN_FAULT_COUNTS=str(counts),
        HPN_FAULT_PROGRAM=os.path.basename(OURS if way == "up" else SYNC))
    done = run([SYNC, "-a", "-e", shell, *ends], env=env)
    return done, struct.unpack(f"{KINDS + 1}I", counts.read_bytes())[KINDS]


@pytest.mark.parametrize("mode", ["", ":on"])
@pytest.mark.parametrize("way", ["up", "down"])
def test_full_amid_a_delta(shim, tmp_path, way, mode):
    dice = random.Random(3)
    old = dice.randbytes(4 << 20)
    new = old[:1 << 20] + dice.randbytes(100000) + old[1 << 20:]
    for top in ("from", "to"):
        (tmp_path / top).mkdir()
    (tmp_path / "from/f").write_bytes(new)
    target = tmp_path / "to/f"
    ends = set()
    for n in (1, 2, 3, 5, 8, 13, 21, 34, 55):
        target.write_bytes(old)
        os.utime(target, (10**9, 10**9))
        done, failed = play(shim, tmp_path, way, f"write:{n}:{ENOSPC}{mode}")
        if failed == 0:
            break  # so many writes there are not
        assert done.rc in (0, 11), done
        assert target.read_bytes() == (old if done.rc else new), done
        ends.add(done.rc)
        done, _ = play(shim, tmp_path, way, None)
        assert done.rc == 0 and target.read_bytes() == new, done
    # What failed once is sent instead.
    assert ends == {11} if mode else 0 in ends, ends
