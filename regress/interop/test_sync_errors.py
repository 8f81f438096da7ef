# SPDX-License-Identifier: ISC
"""--delete beside rsync where sources cannot be read, with --ignore-errors and
without."""

import os
import pathlib
import pwd
import shutil
import tempfile

import pytest

from harness import have, hpn, run, stock
from sync_ways import WAYS, arguments_of

RSYNC = shutil.which("rsync")
NOBODY = pwd.getpwnam("nobody")

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(os.geteuid() != 0, reason="root makes what others "
                       "cannot read")]


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o777)
        yield pathlib.Path(top)


def make(top, names, owner=None):
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for path in [top, *top.rglob("*")]:
        if owner:
            os.chown(path, owner, owner)


def left(top):
    return sorted(str(p.relative_to(top)) for p in top.rglob("*")
                  if p.is_file())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bad", ["file", "directory"])
def test_unreadable(place, way, bad):
    ends = arguments_of(way, place / "shell")
    make(place / "from", ["a", "secret", "d/in", "k/in"])
    (place / "from" / ("secret" if bad == "file" else "d")).chmod(0)
    for words in (["--delete-after"], ["--delete-after", "--ignore-errors"]):
        told = []
        for program, to in ((RSYNC, "to1"), (hpn("sync"), "to2")):
            make(place / to, ["extra", "d/in", "k/old"], NOBODY.pw_uid)
            source, target = f"{place}/from/", f"{place}/{to}/"
            done = run([stock("setpriv"), f"--reuid={NOBODY.pw_uid}",
                        f"--regid={NOBODY.pw_gid}", "--clear-groups", program,
                        "-r", *words, *([source, target] if program == RSYNC
                                        else ends(source, target))])
            found = left(place / to)
            # What is in a directory of which nothing is known stays, with us.
            told.append((done.rc, [name for name in found if name != "d/in"]))
            if program != RSYNC or bad == "file":
                assert "d/in" in found
            shutil.rmtree(place / to)
        assert told[1] == told[0], words
        assert ("extra" in told[1][1]) == (len(words) == 1)
