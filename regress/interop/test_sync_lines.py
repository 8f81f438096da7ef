# SPDX-License-Identifier: ISC
"""Command lines of rsync as people have written them (regress/data/rsync-lines),
played by rsync and by hpnsync on equal trees: what is left is the same, or
hpnsync refuses by name and has changed nothing."""

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from harness import have, hpn, run

RSYNC = shutil.which("rsync")
LIST = Path(__file__).resolve().parent.parent / "data" / "rsync-lines"
LINES = [tuple((line.split("\t") + [""])[:3])
         for line in LIST.read_text().splitlines() if not line.startswith("#")]
GROUPS = 12
OLD = 10**9

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]

# What the rules of these lines are about.
TREE = {
    "a.txt": "one", "notes.md": "two", "photo.jpg": "three", "run.sh": "four",
    "table.csv": "five", "page.ext.php": "six", ".ssh/config": "seven",
    ".git/HEAD": "eight", ".gitignore": "*.o\nbuild/\n", ".DS_Store": "nine",
    "src/file.js": "ten", "src/file.o": "eleven", "src/deep/b.txt": "twelve",
    "node_modules/m/index.js": "m", "vendor/v.php": "v", "cache/l.cdb": "c",
    "tmp/t": "t", "dev/null": "n", "proc/1": "p", "sys/k": "k",
    "build/out": "o", "wp-config.php": "w", "psd/layer": "l", "some.pdf": "q",
    "tmp2/.svn/entries": "s"}


def write(path, text, time):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))


def mark(path, name, value):
    """An extended attribute, where the file system keeps such."""
    try:
        os.setxattr(path, name, value)
    except OSError:
        pass


def set_out(top):
    """The world that all lines find."""
    top.mkdir()
    for name, text in TREE.items():
        write(top / "SRC" / name, text, OLD)
    (top / "SRC/run.sh").chmod(0o755)
    mark(top / "SRC/a.txt", "user.note", b"kept by -X")
    mark(top / "SRC/src", "user.note", b"of a directory")
    mark(top / "SRC/notes.md", "system.posix_acl_access", bytes.fromhex(
        "02000000" "01000600ffffffff" "0200060039300000" "04000400ffffffff"
        "10000600ffffffff" "20000400ffffffff"))
    (top / "SRC/link").symlink_to("a.txt")
    (top / "SRC/hollow/below").mkdir(parents=True)
    write(top / "SRC2/other", "other", OLD)
    write(top / "FILE", "a file", OLD)
    (top / "EMPTY").mkdir()
    for target in ("DEST", "DEST/SRC"):
        write(top / target / "a.txt", "old one", OLD - 9)
        write(top / target / "run.sh", "four", OLD)
        write(top / target / "notes.md", "newer", OLD + 9)
        write(top / target / "gone/file", "gone", OLD)
        write(top / target / "gone.txt", "gone", OLD)
    for name in ("a.txt", "src/file.js", "table.csv"):
        write(top / "LAST" / name, TREE[name], OLD)
    write(top / "RULES", "*.o\n/cache\nnode_modules/\n", OLD)
    write(top / "INCLUDES", "a.txt\nsrc/***\n", OLD)
    write(top / "LIST", "a.txt\nsrc/deep/b.txt\n", OLD)
    (top / "TMP").mkdir()
    for path in sorted(top.rglob("*"), reverse=True):
        if path.is_symlink() or path.is_dir():
            os.utime(path, (OLD, OLD), follow_symlinks=False)


def state(top):
    """What is in a world: names, kinds, rights, bytes, extended attributes,
    times. Those of now are one, and those of directories do not count."""
    out = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if name == "LOG":
            continue
        st = path.lstat()
        time = int(st.st_mtime) if st.st_mtime < OLD + 10**6 else "now"
        what = (os.readlink(path) if path.is_symlink() else
                path.read_bytes() if path.is_file() else "")
        marks = {n: os.getxattr(path, n, follow_symlinks=False)
                 for n in os.listxattr(path, follow_symlinks=False)
                 if n.startswith(("user.", "system.posix_acl"))}
        out[name] = (oct(st.st_mode), what, marks,
                     "" if stat.S_ISDIR(st.st_mode) else time)
    return out


def shell_for(tmp_path):
    """In place of ssh, which nobody has to log in with: runs what the other
    host would run, whatever the options are."""
    shell = tmp_path / "shell"
    shell.write_text(f"""#!/bin/sh
case " $* " in *" sftp "*) exec {hpn("sftp-server")};; esac
while [ "$1" != h ]; do shift; done
shift
exec sh -c "$*"
""")
    shell.chmod(0o755)
    return shell


def play(line, program, top, shell):
    line = re.sub(r"^rsync\b", program, line)
    line = re.sub(r"HOST:(\w+)", rf"h:{top}/\1", line)
    line = re.sub(r"(-\w*e |--rsh=)(['\"]?)ssh\b", rf"\1\2{shell}", line)
    line = line.replace("KEY", f"{top}/RULES")
    return run(["bash", "-c", line], cwd=top,
               env={**os.environ, "RSYNC_RSH": str(shell)})


def compare(line, refused, tmp_path):
    shell = shell_for(tmp_path)
    worlds = [tmp_path / "w" / name / "w" for name in ("r", "h")]
    for world in worlds:
        world.parent.mkdir(parents=True)
        set_out(world)
    before = state(worlds[1])
    ours = play(line, hpn("sync"), worlds[1], shell)
    if refused == "differs":
        # Nothing of the source is gone for that.
        assert all(ours_is == before[name]
                   for name, ours_is in state(worlds[1]).items()
                   if name.startswith("SRC/")), ours
        return
    word = refused.split()[0] if refused else None
    if word and (not refused.endswith("?") or ours.rc != 0):
        assert ours.rc in (1, 4, 25), ours
        assert re.search(word.encode(), ours.err), ours
        assert state(worlds[1]) == before
        return
    theirs = play(line, "rsync", worlds[0], shell)
    assert (ours.rc == 0) == (theirs.rc == 0), (ours, theirs)
    mine, rsyncs = state(worlds[1]), state(worlds[0])
    assert mine == rsyncs, [
        (name, rsyncs.get(name), mine.get(name))
        for name in sorted({*mine, *rsyncs})
        if mine.get(name) != rsyncs.get(name)]


@pytest.mark.parametrize("group", range(GROUPS))
def test_lines(group, tmp_path):
    wrong = []
    for i, (line, place, refused) in enumerate(LINES[group::GROUPS]):
        top = tmp_path / str(i)
        top.mkdir()
        try:
            compare(line, refused, top)
        except AssertionError as e:
            wrong.append(f"{line}  ({place})\n{e}")
        shutil.rmtree(top)
    assert not wrong, "\n\n".join(wrong)


def test_nearly_all_lines_run():
    refused = [r for _, _, r in LINES if r and not r.endswith("?")]
    assert len(LINES) >= 200
    assert len(refused) <= len(LINES) * 5 // 100, refused
    assert len({line for line, _, _ in LINES}) == len(LINES)
