# SPDX-License-Identifier: ISC
"""--help and -V of every program that people call."""

import re
from pathlib import Path

import pytest

from harness import have, hpn, run

FLAGS = Path(__file__).parents[1] / "data" / "words" / "flags"
PROGRAMS = ["ssh", "scp", "sftp", "sshd", "sftp-server", "ssh-keygen",
            "ssh-add", "ssh-agent", "ssh-keyscan"]

pytestmark = pytest.mark.skipif(not have("hpn", *PROGRAMS),
                                reason="not all is built")


def flags_of(program):
    rows = [line.split("\t") for line in FLAGS.read_text().splitlines()
            if line and not line.startswith("#")]
    return {row[1] for row in rows if row[0] == f"hpn{program}"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_help(program):
    """A line for each option, in groups, on 80 columns."""
    done = run([hpn(program), "--help"]).ok()
    lines = done.text.splitlines()
    assert lines[0].startswith(f"usage: hpn{program} ") and not done.err
    assert all(len(line) <= 80 for line in lines), done.text
    assert len([n for n in lines if re.fullmatch(r"[A-Z][^:]+:", n)]) >= 3
    told = set()
    for line in lines:
        if line.startswith("  -"):
            told.update(re.findall(r"-[\w-]+", line[:20].split("=")[0]))
    flags = flags_of(program)
    assert len(flags) > 9 and flags - told == set(), flags - told
    assert told - flags <= {"--help", "-V"}, told - flags


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_version(program, flag):
    done = run([hpn(program), flag]).ok()
    assert re.match(r"OpenSSH_[\w.]+ HPNSSH_[\d.]+", done.errors), done
    assert not done.out


def test_only_alone():
    """With anything beside it, it is what it is at stock's."""
    done = run([hpn("ssh"), "-p", "1", "--help"])
    assert done.rc == 255 and "unknown option" in done.errors
    done = run([hpn("scp"), "-V", "a", "b:"])
    assert done.rc == 1 and "unknown option" in done.errors


def test_what_others_do():
    for flag in ("--delete", "--exclude=x", "--dry-run", "--files-from=x"):
        done = run([hpn("scp"), flag, "a", "b:"])
        assert done.rc == 1 and "rsync -e hpnssh" in done.errors, done
