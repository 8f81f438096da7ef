# SPDX-License-Identifier: ISC
"""Copies in which one call fails (regress/faults): a sample of them, and those
that have shown a fault once.

All of them, some thousands: regress/faults/run.py --all."""

import pytest

from faults import inject, run as faults
from harness import have, is_sanitized

# A sanitizer has its own malloc, and is loaded before anything else.
pytestmark = [
    pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                       reason="hpnscp is not built"),
    pytest.mark.skipif(is_sanitized(), reason="preloads a library")]

SAMPLE, PARTS, SEED = 200, 4, "1"


@pytest.fixture
def place(tmp_path):
    return faults.place_in(tmp_path)


def play(place, injections):
    """How many met a call."""
    _, hits, problems = faults.play(place, injections, faults.Notes(None))
    assert not problems
    return hits


@pytest.mark.parametrize("part", range(PARTS))
def test_sample(place, part):
    hits = play(place, faults.sample(place, SAMPLE // PARTS, f"{SEED} {part}",
                                     scenes=3))
    # Some calls are not made in each run, by workers and clocks.
    assert hits > SAMPLE // PARTS * 3 // 4


def scene(text):
    return next(s for s in inject.scenes() if str(s) == text)


def every(place, where, kind, error, onwards, last=1000):
    """Each call of a kind, or the last of them."""
    most = place.count(where)[kind]
    for n in range(max(1, most - last + 1), most + 1):
        yield where, inject.Fault(kind, n, error, onwards)


@pytest.mark.parametrize("text, kind, error, onwards, last", [
    # What was there before was longer, and kept its end.
    ("rcp-up own server small old", "stat", "EIO", False, 30),
    ("down own client small old --in-place", "stat", "EIO", False, 99),
    # An empty part was left: of the file that -Z had begun with a guess at
    # its handle, and of one that begins with a hole.
    ("up stock server small new -pZ", "write", "EFBIG", True, 9),
    ("down own server odd old --sparse", "read", "EIO", True, 30),
    # Nothing was said.
    ("up own client small old -pZ", "malloc", "ENOMEM", False, 60),
    ("rcp-down own server one_big old", "malloc", "ENOMEM", False, 12),
    ("rcp-down stock server odd old", "malloc", "ENOMEM", True, 30),
], ids=["end-stays", "end-stays-in-place", "guess", "hole", "unsaid",
        "unsaid-far", "unsaid-stock"])
def test_found_before(place, text, kind, error, onwards, last):
    where = scene(text)
    if not faults.usable(where):
        pytest.skip("no stock server")
    assert play(place, every(place, where, kind, error, onwards, last)) > 0
