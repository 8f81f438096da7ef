# SPDX-License-Identifier: ISC
"""A long path for tests: two namespaces, by what bench/ measures with."""

import contextlib
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import benchlib  # noqa: E402

import harness  # noqa: E402


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


def said(server, read):
    """What is in the server's log from there on, when all clients have gone."""
    log, text = server.dir / "log", ""

    def all_closed():
        nonlocal text
        text = log.read_text(errors="replace")[read:]
        return len(re.findall(r"^Connection from ", text, re.M)) <= len(
            re.findall(r"(?m)^(?:Connection closed by|Close session:.*"
                       r"|Disconnected from|Connection reset)", text))
    harness.wait_for(all_closed)
    return text
