# SPDX-License-Identifier: ISC
"""--help and -V of every program."""

import re
import shutil
from pathlib import Path

import pytest

from harness import have, hpn, is_sanitized, run

MANUALS = Path(__file__).parents[2] / "man"
FLAGS = Path(__file__).parents[1] / "data" / "words" / "flags"
PROGRAMS = ["ssh", "scp", "sftp", "sshd", "sftp-server", "ssh-keygen",
            "ssh-add", "ssh-agent", "ssh-keyscan"]

# What other programs start.
INNER = ["ssh-keysign", "ssh-pkcs11-helper", "ssh-sk-helper", "sshd-auth",
         "sshd-session", "sshd-user"]

pytestmark = pytest.mark.skipif(not have("hpn", *PROGRAMS, *INNER),
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


@pytest.mark.skipif(not have("hpn", "sync"), reason="hpnsync is not built")
def test_help_of_sync():
    """What the manual lists, it lists, in the same form."""
    done = run([hpn("sync"), "--help"]).ok()
    lines = done.text.splitlines()
    assert lines[0].startswith("usage: hpnsync ") and not done.err
    assert all(len(line) <= 80 for line in lines), done.text
    assert len([n for n in lines if re.fullmatch(r"[A-Z][^:]+:", n)]) >= 3
    told = set()
    for line in lines:
        if line.startswith("  -"):
            told.update(re.findall(r"(?<![\w-])--?\w[\w-]*", line[2:]))
    manual = {f"-{flag}" for row in re.findall(
        r"^\.It (Fl .*)", (MANUALS / "hpnsync.1").read_text(), re.M)
        for flag in re.findall(r"Fl (-?\w[\w-]*)", row)}
    assert len(manual) > 90 and manual - told == set(), manual - told


@pytest.mark.parametrize("program", INNER)
def test_help_of_an_inner_program(program):
    """Whoever types its name learns who starts it, and what for."""
    done = run([hpn(program), "--help"]).ok()
    lines = done.text.splitlines()
    assert lines[0].startswith(f"usage: hpn{program} ") and not done.err
    assert all(len(line) <= 80 for line in lines), done.text
    assert re.search(r"^hpn\w+.* start", done.text, re.M), done.text
    assert "By hand it is of no use." in done.text
    manual = re.search(r"man (hpn[\w-]+)$", done.text)[1]
    assert (MANUALS / f"{manual}.8").exists(), manual
    told = re.findall(r"^  (-\w)", done.text, re.M)
    assert flags_of(program) - set(told) == set(), told


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="there is no strace")
@pytest.mark.skipif(is_sanitized(),
                    reason="a sanitizer opens files of its own")
def test_keysign_answers_as_its_caller(tmp_path):
    """It is setuid root: not even a file is opened before or after."""
    trace = tmp_path / "trace"
    for flag in ("--help", "-V"):
        run(["strace", "-o", trace, "-e",
             "trace=execve,open,openat,setresuid,getresuid,write",
             hpn("ssh-keysign"), flag]).ok()
        calls = [n for n in trace.read_text().splitlines()
                 if not re.search(r"/lib|/ld\.so|ELF|exited", n)]
        names = [n.split("(")[0] for n in calls]
        assert names[:3] == ["execve", "setresuid", "getresuid"], calls
        assert set(names[3:]) == {"write"}, calls


@pytest.mark.parametrize("program", [*PROGRAMS, "sync", *INNER])
@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_version(program, flag):
    if not have("hpn", program):
        pytest.skip(f"no hpn{program}")
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
    """What hpnscp names, hpnsync knows."""
    for flag in ("--delete", "--exclude=x", "--dry-run", "--files-from=x",
                 "--include=x", "--update"):
        done = run([hpn("scp"), flag, "a", "b:"])
        assert done.rc == 1 and "hpnsync -a --" in done.errors, done
        done = run([hpn("sync"), "-a", flag, "no-such-dir", "b"])
        assert "option" not in done.errors, done
