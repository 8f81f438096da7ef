# SPDX-License-Identifier: ISC
"""hpnsync beside rsync: random pairs of trees, flags and filter rules. What is
told (-i), with -n and without, is the same as sorted lines, and so is what is
left: names, bytes, modes, times.

HPN_STORIES=0-2000 tells those stories; HPN_STORIES=17 one of them."""

import os
import random
import shutil
import stat

import pytest

from harness import have, hpn, run

RSYNC = shutil.which("rsync")
STORIES = range(50)
NAMES = ["a", "b", "a.o", "b.c", "foo", "d", "d-", "e x", ".f"]
# Times in whole seconds: rsync compares no parts of them.
OLD = 10**9

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]


def told_stories():
    wanted = os.environ.get("HPN_STORIES")
    if not wanted:
        return STORIES
    first, _, last = wanted.partition("-")
    return range(int(first), int(last or first) + 1)


def grow(dice, top, depth=0):
    top.mkdir(exist_ok=True)
    for name in dice.sample(NAMES, dice.randint(0 if depth else 2, 6)):
        path = top / name
        kind = dice.choice("fffld" if depth < 3 else "fffl")
        if kind == "d":
            grow(dice, path, depth + 1)
        elif kind == "l":
            path.symlink_to(dice.choice(["a", "nowhere", "../b"]))
        else:
            path.write_text(dice.choice(["", "one", "two", "three"]))
            path.chmod(dice.choice([0o644, 0o644, 0o600, 0o755]))
        if kind != "d":
            os.utime(path, (OLD, OLD + dice.randint(0, 2)),
                     follow_symlinks=False)
    if dice.random() < 0.2:
        top.chmod(0o700)
    os.utime(top, (OLD, OLD + dice.randint(0, 2)))


def copy(source, target):
    run(["cp", "-a", source, target])


def pattern(dice):
    parts = [dice.choice(["a", "b", "*.o", "foo", "d", "d*", "?", "[ab]*", "*",
                          "**", "e x"]) for _ in range(dice.choice([1, 1, 2]))]
    return (dice.choice(["", "", "/"]) + "/".join(parts) +
            dice.choice(["", "", "/"]))


def rule(dice):
    return dice.choice(["- ", "- ", "+ ", "H ", "S ", "P ", "R ", "-p ",
                        "-! ", "-s ", "-r "]) + pattern(dice)


def options(dice):
    words = [dice.choice(["-a", "-a", "-a", "-rlt", "-rlp", "-rl", "-r"])]
    for word, chance in [("--delete", 0.5), ("-u", 0.15), ("--size-only", 0.1),
                         ("-I", 0.1), ("-c", 0.15), ("--existing", 0.1),
                         ("--ignore-existing", 0.1), ("-O", 0.1), ("-J", 0.1),
                         ("-E", 0.1), ("--modify-window=1", 0.1),
                         ("--max-size=3", 0.1), ("--min-size=4", 0.1),
                         ("--chmod=D755,Fgo-w", 0.1), ("--force", 0.2),
                         ("--delete-excluded", 0.1), ("--no-t", 0.05),
                         ("--remove-source-files", 0.05)]:
        if dice.random() < chance:
            words.append(word)
    if "--delete" not in words:
        words = [w for w in words if w != "--delete-excluded"]
    if dice.random() < 0.6:
        words += [f"--filter={rule(dice)}"
                  for _ in range(dice.randint(1, 3))]
    return words


def state(top, top_time=True):
    """What is in a tree. Times of now are all the same. That of the top may not
    count: ours puts it back when it has taken its lock away."""
    out = []
    for path in sorted([top, *top.rglob("*")]):
        st = path.lstat()
        time = int(st.st_mtime) if st.st_mtime < OLD + 10**6 else "now"
        if path == top and not top_time:
            time = "any"
        kind = stat.S_IFMT(st.st_mode)
        text = (os.readlink(path) if kind == stat.S_IFLNK else
                path.read_bytes() if kind == stat.S_IFREG else "")
        out.append((str(path.relative_to(top)), oct(st.st_mode), time, text))
    return out


def lines(done):
    return sorted(line for line in done.out.decode().splitlines()
                  if line[:2] in ("<f", ">f") or line[:1] in "c.*"
                  and len(line) > 11 and line[11] == " ")


def compare(story, tmp_path):
    dice = random.Random(story)
    grow(dice, tmp_path / "s1")
    if dice.random() < 0.5:
        grow(dice, tmp_path / "t1")
    else:
        copy(tmp_path / "s1", tmp_path / "t1")
        grow(dice, tmp_path / "s1" / "new")
    words = options(dice)
    copy(tmp_path / "s1", tmp_path / "s2")
    copy(tmp_path / "t1", tmp_path / "t2")
    # With -n first; a limit that is never reached lets ours delete anything.
    ours = [hpn("sync"), "-i", *words, *(["--max-delete=99999"]
                                         if {"--delete", "--force"} & {*words}
                                         else [])]
    theirs = [RSYNC, "-i", *words]
    told = {}
    for dry in (["-n"], []):
        a = run([*theirs, *dry, f"{tmp_path}/s1/", f"{tmp_path}/t1/"])
        b = run([*ours, *dry, f"{tmp_path}/s2/", f"{tmp_path}/t2/"])
        told[bool(dry)] = lines(b)
        if dry and "--ignore-existing" in words:
            # rsync tells what it would make below what is no directory.
            continue
        if a.rc == 0:
            assert (b.rc, lines(b)) == (0, lines(a)), (words, dry, a, b)
        elif "--ignore-existing" not in words:
            # There rsync fails on what is below a directory that is no
            # directory at the target; ours leaves it alone.
            assert b.rc != 0, (words, dry, a, b)
    if a.rc == 0:
        assert (told[True] == told[False] or
                "--ignore-existing" in words), words
        kept = words[0] in ("-a", "-rlt") and not {"-O", "--no-t"} & {*words}
        assert (state(tmp_path / "t2", kept) ==
                state(tmp_path / "t1", kept)), words
        assert (state(tmp_path / "s2", False) ==
                state(tmp_path / "s1", False)), words


@pytest.mark.parametrize("tenth", range(10))
def test_stories(tenth, tmp_path):
    for story in list(told_stories())[tenth::10]:
        top = tmp_path / str(story)
        top.mkdir()
        compare(story, top)
        shutil.rmtree(top)
