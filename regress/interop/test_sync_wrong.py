# SPDX-License-Identifier: ISC
"""Wrong command lines beside rsync's: the same exit status, and one line that
says what is wrong. Nothing is copied. Where the status is another one, the
table has ours, and why."""

import shutil

import pytest

from harness import have, hpn, run

RSYNC = shutil.which("rsync")

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]

SAME = """
--no-such-option from/ to/
-Q from/ to/
-aQ from/ to/
--delete=yes -r from/ to/
--archive=1 from/ to/
--size-only=1 -r from/ to/
--existing=1 -r from/ to/
--no-delete=1 -r from/ to/
--nonsense=3 -r from/ to/
--no-nonsense -r from/ to/
--no-a from/ to/
--no-b=1 -r from/ to/
--no-max-size -r from/ to/
--no-e -r from/ to/
--no-exclude=x -r from/ to/
--max-alloc=x -r from/ to/
--bwlimit -r from/ to/
--bwlimit=x -r from/ to/
--bwlimit=-1 -r from/ to/
--bwlimit=1X -r from/ to/
--max-size=big -r from/ to/
--max-size=-1 -r from/ to/
--min-size=1Q -r from/ to/
--min-size -r from/ to/
--timeout=x -r from/ to/
--modify-window=x -r from/ to/
-r -@x from/ to/
--max-delete=x -r from/ to/
--compress-level=x -r from/ to/
--stop-after=x -r from/ to/
--stop-after=0 -r from/ to/
--stop-after=-1 -r from/ to/
--chmod=zz -r from/ to/
--chmod= -r from/ to/
--chmod=u+rwxq -r from/ to/
--chmod=8 -r from/ to/
--chmod=u+r,,g+r -r from/ to/
--filter=nonsense -r from/ to/
--filter=-/ -r from/ to/
--filter=merge -r from/ to/
--filter=. -r from/ to/
--temp-dir=no-such -r from/ to/
--filter=.,no-such-file -r from/ to/
--filter=!x -r from/ to/
--filter=+ -r from/ to/
-f -r from/ to/
--info=nonsense -r from/ to/
--exclude-from=no-such-file -r from/ to/
--include-from=no-such-file -r from/ to/
--files-from=no-such-file -r from/ to/
--files-from=from/f -r from/ from/ to/
--files-from
--suffix= -b -r from/ to/
--suffix=a/b -b -r from/ to/
--backup-dir= -r from/ to/
--delete from/ to/
--del from/ to/
--delete-excluded from/ to/
--delete-during --delete-after -r from/ to/
--delete-delay --delete-after -r from/ to/
--link-dest=x --copy-dest=y -r from/ to/
--compare-dest=x --link-dest=y -r from/ to/
--checksum-choice=none2 -r from/ to/
--compress-choice=foo -z -r from/ to/
--iconv=nonsense -r from/ to/
-r h:from/ h2:to/
-r h:from/ h:to/
-r h:from/ h2:from/ to/
-r h:from/ from/ to/
-r from/ h:to/ to/
-r rsync://h/m/ h2:to/
-r
-rR --no-implied-dirs
-r from/ no-such-dir/to/
-r no-such-source to/
-r no-such-source/ to/
-r from/../no-such/ to/
-r from/ from/f
-r -- -x to/
""".strip().splitlines()

REFUSED = """
--delete-before --delete-after -r from/ to/
--inplace --partial-dir=x -r from/ to/
--inplace --delay-updates -r from/ to/
--block-size=x -r from/ to/
--port=x -r from/ to/
--daemon --delete
-r -M --foo from/ to/
--outbuf=x -r from/ to/
--usermap=x -r from/ to/
--write-batch=x --read-batch=y -r from/ to/
--protocol=5 -r from/ to/
""".strip().splitlines()

STRICTER = """
--bwlimit= -r from/ to/
--max-size= -r from/ to/
--timeout= -r from/ to/
--timeout=-1 -r from/ to/
--modify-window= -r from/ to/
--max-delete= -r from/ to/
--rsh= -r from/ to/
--info=progress9 -r from/ to/
--chown=no-such-user -r from/ to/
--chown=:no-such-group -r from/ to/
--chown=a:b:c -r from/ to/
--help extra
--version extra
""".strip().splitlines()

# A daemon is refused at once (rsync looks for it), and SFTP tells of a name
# below a file only that it is not there.
OWN = {"-r from/ h::m/": 1, "-r h::m/ to/": 1, "-r from/ to/f/x": 11}


@pytest.fixture
def ours(tmp_path):
    """Runs a line; what hpnsync answered."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from/f").write_text("new")

    def told(line, program=hpn("sync")):
        shutil.rmtree(tmp_path / "to", ignore_errors=True)
        (tmp_path / "to").mkdir()
        (tmp_path / "to/f").write_text("old")
        return run([program, *line.split()], cwd=tmp_path)

    def ran(line, want):
        done = told(line)
        assert done.rc == want, (line, done)
        assert (tmp_path / "to/f").read_text() == "old", line
        lines = done.err.decode().splitlines()
        assert len(lines) == 1 and lines[0].startswith("hpnsync: "), (line,
                                                                      done)
        assert len(lines[0]) < 160, line
    ran.told = told
    return ran


@pytest.mark.parametrize("quarter", range(4))
def test_as_rsync(ours, quarter):
    for line in SAME[quarter::4]:
        theirs = ours.told(line, RSYNC)
        assert theirs.rc != 0, (line, theirs)
        ours(line, theirs.rc)


def test_refused(ours):
    """What hpnsync does not have has a status of its own, whatever its value,
    and whatever stands beside it."""
    for line in REFUSED:
        ours(line, 4)


def test_stricter(ours):
    """Values that rsync takes for none, or passes over with a warning."""
    for line in STRICTER:
        ours(line, 1)


def test_others(ours):
    for line, status in OWN.items():
        ours(line, status)
