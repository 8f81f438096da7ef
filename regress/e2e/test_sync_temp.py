# SPDX-License-Identifier: ISC
"""hpnsync --temp-dir: parts are made elsewhere, in a directory that only this
user may enter, and runs that are killed, disks and neighbours change nothing
of what is there at the end."""

import hashlib
import os
import shutil
import stat

import pytest

from harness import have, hpn, is_part, run, start, wait_for
from sync_ways import ends, fill, mounts  # noqa: F401

SYNC, RSYNC = hpn("sync"), shutil.which("rsync")

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def content(top):
    return {str(p.relative_to(top)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in top.rglob("*") if p.is_file()}


def private(target, number=1):
    """The name of the directory of parts."""
    digest = hashlib.sha256(str(target).encode()).digest()[:8]
    return f".hpnsync-{int.from_bytes(digest, 'little'):016x}-{number}"


def parts(top):
    return [p for p in top.rglob(".*") if is_part(p.name)]


def kill_amid(arguments, place):
    """Runs hpnsync slowly, and kills it when a part has data."""
    process = start([SYNC, "--bwlimit=200", *arguments])
    wait_for(lambda: any(p.stat().st_size > 0 for p in parts(place)))
    process.kill()
    process.wait()


@pytest.mark.parametrize("named", ["in/tmp", "../beside", "outside"])
def test_parts_are_there(ends, tmp_path, named):
    """While a file is copied its part is in the named directory, and nowhere
    else; the run after one that was killed goes on with it, leaves nothing,
    and does not delete the directory."""
    source = fill(tmp_path / "from", {"d/big": 3 << 20, "small": 10,
                                      "empty": 0, "e/big": 1 << 20})
    target = fill(tmp_path / "to", {"small": 9, "gone": 1})
    place = {"in/tmp": target / "in/tmp", "../beside": tmp_path / "beside",
             "outside": tmp_path / "outside"}[named]
    place.mkdir(parents=True)
    named = str(place) if named == "outside" else named
    words = ["-a", "--delete", "--break-lock", f"--temp-dir={named}",
             *ends(f"{source}/", f"{target}/")]
    kill_amid(words, place)
    found = parts(tmp_path)
    assert found and all(place in p.parents for p in found)
    made = found[0].parent
    assert made.parent == place
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    done = run([SYNC, *words])
    # Without digests, sizes and times of parts are trusted, which is told.
    assert done.rc == 0 and (not done.err or b"no digests" in done.err), done
    assert content(source) == content(target)
    assert place.is_dir() and not any(place.iterdir())
    done = run([SYNC, "-i", *words])
    assert (done.rc, content(target)) == (0, content(source)), done


def test_one_name_many_targets(ends, tmp_path):
    """Files of one name in many directories, large and small."""
    source = fill(tmp_path / "from", {f"d{i}/f": 1000 * i * i
                                      for i in range(40)})
    (tmp_path / "tmp").mkdir()
    done = run([SYNC, "-a", "-T", tmp_path / "tmp",
                *ends(f"{source}/", tmp_path / "to")])
    assert (done.rc, done.err) == (0, b""), done
    assert content(tmp_path / "to") == content(source)
    assert not any((tmp_path / "tmp").iterdir())


def test_beside_other_options(ends, tmp_path):
    """Backups, further directories, holes, and in place."""
    source = fill(tmp_path / "from", {"a": 300000, "b": 10})
    (tmp_path / "tmp").mkdir()
    for words in (["-b"], ["--backup-dir=old"], ["-S"], ["--inplace"],
                  ["--link-dest=../day"], ["--copy-dest=../day"],
                  ["--fsync"], ["-W"], ["--verify"]):
        shutil.rmtree(tmp_path / "to", ignore_errors=True)
        target = fill(tmp_path / "to", {"a": 300001, "b": 9})
        shutil.copytree(source, tmp_path / "day", dirs_exist_ok=True)
        done = run([SYNC, "-a", *words, "-T../tmp",
                    *ends(f"{source}/", f"{target}/")])
        assert (done.rc, done.err) == (0, b""), (words, done)
        assert content(source).items() <= content(target).items(), words
        assert not any((tmp_path / "tmp").iterdir()), words


def test_nothing_with_n(ends, tmp_path):
    source = fill(tmp_path / "from", {"a": 10})
    target = fill(tmp_path / "to", {"b": 10})
    (target / "tmp").mkdir()
    done = run([SYNC, "-an", "-Ttmp", *ends(f"{source}/", f"{target}/")])
    assert (done.rc, done.err) == (0, b""), done
    assert not any((target / "tmp").iterdir())


@pytest.mark.parametrize("named", ["no", "/no-such/place", "b", "a-link"])
def test_no_directory(ends, tmp_path, named):
    """What is no directory ends the run before anything is done, with rsync's
    status."""
    source = fill(tmp_path / "from", {"a": 10})
    target = fill(tmp_path / "to", {"b": 10})
    (target / "a-link").symlink_to("nowhere")
    words = ["-a", f"--temp-dir={named}"]
    done = run([SYNC, *words, *ends(f"{source}/", f"{target}/")])
    assert done.rc == 1 and b"--temp-dir" in done.err, done
    assert set(content(target)) == {"b"}
    if RSYNC and named != "b":  # rsync asks only whether something is there
        assert run([RSYNC, *words, f"{source}/", f"{target}/"]).rc == 1


@pytest.mark.parametrize("named", [".", "d/..", "{}"])
def test_the_target_itself(ends, tmp_path, named):
    source = fill(tmp_path / "from", {"a": 10})
    target = fill(tmp_path / "to", {"d/b": 10})
    done = run([SYNC, "-a", f"--temp-dir={named.format(target)}",
                *ends(f"{source}/", f"{target}/")])
    assert done.rc == 4 and b"is the target" in done.err, done
    assert set(content(target)) == {"d/b"}


def test_open_to_all(ends, tmp_path):
    """A directory whose names others may take away is refused; with a sticky
    bit it is none."""
    source = fill(tmp_path / "from", {"a": 10})
    place = tmp_path / "tmp"
    place.mkdir()
    place.chmod(0o777)
    words = [SYNC, "-a", f"--temp-dir={place}",
             *ends(f"{source}/", f"{tmp_path / 'to'}/")]
    done = run(words)
    assert done.rc == 4 and b"sticky" in done.err, done
    place.chmod(0o1777)
    done = run(words)
    assert (done.rc, done.err) == (0, b""), done
    assert content(tmp_path / "to") == content(source)


@AS_ROOT
@pytest.mark.parametrize("all_names", [False, True])
def test_planted(ends, tmp_path, all_names):
    """A neighbour has put something under the name of the directory of parts:
    it is left alone, another name is taken, and if none is left the run is
    refused."""
    source = fill(tmp_path / "from", {"a": 300000, "b": 10})
    target = tmp_path / "to"
    target.mkdir()
    place, outside = tmp_path / "tmp", tmp_path / "outside"
    place.mkdir()
    place.chmod(0o1777)
    outside.mkdir(0o700)
    for n in range(1, 10 if all_names else 6):
        planted = place / private(target, n)
        if n % 4 == 0:
            planted.symlink_to(outside)
        elif n % 4 == 1:
            planted.mkdir(0o700)
        elif n % 4 == 2:
            planted.write_text("a file")
        else:
            planted.mkdir()
            planted.chmod(0o777)
        if n % 4 != 3:  # of another user, but one that is open to all
            os.lchown(planted, 12345, 12345)
    before = sorted(os.listdir(place))
    done = run([SYNC, "-a", f"--temp-dir={place}",
                *ends(f"{source}/", f"{target}/")])
    assert done.rc == (3 if all_names else 0), done
    assert content(target) == ({} if all_names else content(source))
    assert sorted(os.listdir(place)) == before
    assert not any(outside.iterdir())
    assert not any(p.is_dir() and any(p.iterdir()) for p in place.iterdir())


@AS_ROOT
def test_on_another_file_system(ends, mounts, tmp_path):
    """It is of no use there, which is told."""
    source = fill(tmp_path / "from", {"a": 300000, "b": 10})
    place = mounts.make(tmp_path / "tmp")
    done = run([SYNC, "-a", f"--temp-dir={place}",
                *ends(f"{source}/", f"{tmp_path / 'to'}/")])
    assert done.rc == 0 and b"another file system" in done.err, done
    assert content(tmp_path / "to") == content(source)
    assert not any(place.iterdir())


@AS_ROOT
@pytest.mark.parametrize("words", [[], ["-b"], ["-W", "-j2"]])
def test_another_file_system_in_the_target(ends, mounts, tmp_path, words):
    """What cannot be renamed there has its part beside it."""
    sizes = {f"{d}/f{i}": 1 + i * 70000 for d in ("m/sub", "n", "m")
             for i in range(6)}
    source = fill(tmp_path / "from", sizes)
    target = tmp_path / "to"
    mounts.make(target / "m", "9m")
    fill(target, {"m/f1": 400000, "n/f1": 400000})
    (tmp_path / "tmp").mkdir()
    done = run([SYNC, "-a", "-T../tmp", *words,
                *ends(f"{source}/", f"{target}/")])
    assert (done.rc, done.err) == (0, b""), done
    assert content(source).items() <= content(target).items()
    assert not any((tmp_path / "tmp").iterdir()) and not parts(target)


@AS_ROOT
def test_full(ends, mounts, tmp_path):
    """No room for a part: the target stays as it is, and with room the next
    run ends right."""
    source = fill(tmp_path / "from", {"a": 1000, "big": 3 << 20})
    top = mounts.make(tmp_path / "disk")
    target = fill(top / "to", {"big": 1000})
    (top / "tmp").mkdir()
    before = content(target)["big"]
    words = [SYNC, "-a", "-T../tmp", *ends(f"{source}/", f"{target}/")]
    done = run(words)
    assert done.rc == 11 and content(target)["big"] == before, done
    mounts.change(top, "size=9m")
    done = run(words)
    assert done.rc == 0 and content(target) == content(source), done
    assert not any((top / "tmp").iterdir())
