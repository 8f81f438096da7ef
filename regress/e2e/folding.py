# SPDX-License-Identifier: ISC
"""A file system in which capital and small letters are one name, files have no
modes that last, and there is no link: as Windows' disks are in WSL, or a stick
in a Mac. It is NTFS in a file, mounted by FUSE."""

from contextlib import contextmanager

import pytest

from harness import IS_ROOT, run

SIZE = 64 << 20


def problem():
    """Why there can be none; None: there can."""
    if not IS_ROOT:
        return "needs root: mounts a file system"
    try:
        with open("/dev/fuse", "rb"):
            return None
    except OSError as e:
        return f"there is no FUSE here ({e.strerror})"


OPTIONS = "ignore_case,fmask=0,dmask=0"


def mount_anew(place):
    """The kernel knows a file by all names that it was found by, also when one
    of them has got another file: it forgets them here."""
    run(["umount", place]).ok()
    run(["lowntfs-3g", "-o", OPTIONS, place.parent / "image", place]).ok()


@contextmanager
def mounted(directory, options=OPTIONS):
    """The file system, below the directory."""
    image, place = directory / "image", directory / "disk"
    place.mkdir()
    with open(image, "wb") as f:
        f.truncate(SIZE)
    run(["mkntfs", "-QFq", image]).ok()
    run(["lowntfs-3g", "-o", options, image, place]).ok()
    try:
        yield place
    finally:
        run(["umount", place]).ok()
        image.unlink()


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """One of a module's own; skips where there can be none."""
    why = problem()
    if why is not None:
        pytest.skip(why)
    with mounted(tmp_path_factory.mktemp("folding")) as place:
        yield place
