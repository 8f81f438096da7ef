# SPDX-License-Identifier: ISC
"""hpnsync and files that lie on a tape: a size and no blocks, on a file system
that has such files. They are not read unless --recall is given, and that is
told; a file that is one hole on any other file system is copied."""

import hashlib
import os
import shutil

import pytest

from faults.run import build_library
from harness import clean_env, have, hpn, is_sanitized, run
from sync_ways import WAYS, arguments_of

SYNC = hpn("sync")
OWN = [way for way in WAYS if not way.startswith("down-stock")]

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(is_sanitized(), reason="no library comes before the "
                       "sanitizer's")]


@pytest.fixture(scope="session")
def tape(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    return build_library("tape", tmp_path_factory.mktemp("tape"))


@pytest.fixture(params=OWN)
def ends(request, tmp_path):
    return arguments_of(request.param, tmp_path / "shell")


@pytest.fixture
def play(tape, tmp_path):
    """Runs hpnsync where the library is; also the files that were opened."""
    def played(*words):
        log = tmp_path / "opened"
        log.unlink(missing_ok=True)
        done = run([SYNC, *words], env=clean_env(LD_PRELOAD=str(tape),
                                                 HPN_TAPE=str(log)))
        opened = log.read_text().split() if log.exists() else []
        return done, {os.path.relpath(name, tmp_path) for name in opened}
    return played


def fill(top):
    for name, size in {"d/far.tape": 200000, "d/near": 200000,
                       "small.tape": 100}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(os.urandom(size))
        os.utime(top / name, (10**9, 10**9))
    return top


def names(top):
    return {str(p.relative_to(top)) for p in top.rglob("*") if p.is_file()}


ALL = {"d/far.tape", "d/near", "small.tape"}


@pytest.mark.parametrize("words", [[], ["-c"], ["-n"]])
def test_not_read(ends, play, tmp_path, words):
    """It is told, the rest is copied, and nothing is deleted, as the file may
    be at the target by another name."""
    source, target = fill(tmp_path / "from"), tmp_path / "to"
    target.mkdir()
    (target / "old").write_text("perhaps its former name")
    done, opened = play("-a", "--delete", *words,
                        *ends(f"{source}/", f"{target}/"))
    assert done.rc == 23 and b"d/far.tape: has a size and no blocks" in \
        done.err and b"--recall" in done.err, done
    assert "from/d/far.tape" not in opened
    assert names(target) == {"old"} | (
        set() if words == ["-n"] else ALL - {"d/far.tape"})
    done, opened = play("-a", "--delete", "--recall",
                        *ends(f"{source}/", f"{target}/"))
    assert done.rc == 0 and names(target) == ALL, done
    assert "from/d/far.tape" in opened


def test_equal(ends, play, tmp_path):
    """Nothing has to be read of a file that is there, also if its attributes
    differ; that it is opened for these does not read it."""
    source = fill(tmp_path / "from")
    shutil.copytree(source, tmp_path / "to")
    (tmp_path / "to/d/far.tape").chmod(0o600)
    done, _ = play("-a", *ends(f"{source}/", f"{tmp_path / 'to'}/"))
    assert (done.rc, done.err) == (0, b""), done
    assert (tmp_path / "to/d/far.tape").stat().st_mode == \
        (source / "d/far.tape").stat().st_mode


def test_one_name(ends, play, tmp_path):
    """A file that is given by its name, as by a list."""
    source = fill(tmp_path / "from")
    (tmp_path / "list").write_text("d/far.tape\nd/near\n")
    done, opened = play("-a", f"--files-from={tmp_path / 'list'}",
                        *ends(f"{source}/", f"{tmp_path / 'to'}/"))
    assert done.rc == 23 and b"d/far.tape: has a size" in done.err, done
    assert "from/d/far.tape" not in opened and names(tmp_path / "to") == {"d/near"}


def test_moved(ends, play, tmp_path):
    """A source that was not copied stays."""
    source = fill(tmp_path / "from")
    done, _ = play("-a", "--remove-source-files",
                   *ends(f"{source}/", f"{tmp_path / 'to'}/"))
    assert done.rc == 23 and names(source) == {"d/far.tape"}, done


@pytest.mark.parametrize("host", [False, True])
def test_manifests(play, tmp_path, host):
    """--manifest has no line of it, and --check does not read it."""
    source = fill(tmp_path / "from")
    target = shutil.copytree(source, tmp_path / "to")
    ends = arguments_of("up-hpn" if host else "here", tmp_path / "shell")
    manifest = tmp_path / "manifest"
    done, opened = play("-a", f"--manifest={manifest}",
                        *ends(f"{source}/", f"{target}/"))
    assert done.rc == 23 and "from/d/far.tape" not in opened, done
    with open(manifest, "a", encoding="ascii") as out:
        assert "far.tape" not in manifest.read_text()
        digest = hashlib.sha256((source / "d/far.tape").read_bytes())
        out.write(f"{digest.hexdigest()}  d/far.tape\n")
    tree = ends("", target)[:-2] + ends("", target)[-1:]
    done, opened = play(f"--check={manifest}", *tree)
    assert done.rc == 23 and b"2 the same, 0 different, 0 missing, 1 not read" \
        in done.out and "to/d/far.tape" not in opened, done
    done, opened = play(f"--check={manifest}", "--recall", *tree)
    assert done.rc == 0 and b"3 the same" in done.out, done
    assert "to/d/far.tape" in opened


def test_holes_are_copied(ends, tmp_path):
    """Without such a file system a file that is one hole is only that."""
    (tmp_path / "from").mkdir()
    with open(tmp_path / "from/hole", "wb") as out:
        out.truncate(1 << 20)
    done = run([SYNC, "-a", *ends(f"{tmp_path / 'from'}/", tmp_path / "to")])
    assert (done.rc, done.err) == (0, b""), done
    assert (tmp_path / "to/hole").read_bytes() == bytes(1 << 20)
