# SPDX-License-Identifier: ISC
"""A long path for tests: two namespaces, by what bench/ measures with."""

import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import benchlib  # noqa: E402


@contextlib.contextmanager
def far_path(mbit, rtt_ms):
    """What benchlib works with, and the path. Skips where none can be made."""
    try:
        work = benchlib.Work(benchlib.build_directory())
    except (benchlib.Unavailable, OSError) as why:
        pytest.skip(str(why))
    try:
        try:
            yield work, work.keep(benchlib.LongPath(work, mbit, rtt_ms))
        except benchlib.Unavailable as why:
            pytest.skip(str(why))
    finally:
        work.close()
