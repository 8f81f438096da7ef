# SPDX-License-Identifier: ISC
"""hpnsync beside rsync: random pairs of trees, flags and filter rules. What is
told (-i), with -n and without, is the same as sorted lines, and so is what is
left: names, bytes, modes, times.

HPN_STORIES=0-2000 tells those stories; HPN_STORIES=17 one of them.
HPN_WIDE=0-2000 tells wider ones: over the wire, with our server and a stock
one, with rules of directories, backups, owners, parts of seconds and several
sources."""

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


def told_stories(variable="HPN_STORIES"):
    wanted = os.environ.get(variable)
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
    # With -n rsync tells deletes of directories that it says stay.
    kept = {line.split(": ", 1)[1] + "/"
            for line in done.out.decode().splitlines()
            if line.startswith("cannot delete non-empty directory: ")}
    return sorted(line for line in done.out.decode().splitlines()
                  if not (line.startswith("*deleting") and line[12:] in kept)
                  and (line[:2] in ("<f", ">f") or line[:1] in "c.*"
                       and len(line) > 11 and line[11] == " "))


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


# ---- wider stories -------------------------------------------------------

STOCK = "/usr/lib/openssh/sftp-server"
SERVERS = {"own": hpn("sftp-server")} | (
    {"stock": STOCK} if os.path.exists(STOCK) else {})
WAYS = ["here", *(f"{way}-{server}" for way in ("up", "down")
                  for server in SERVERS)]
IDS = [0, 0, 1, 2, 4711]


def dress(dice, top, with_rules):
    """What wider trees have besides: parts of seconds (the same in the same
    second, for rsync compares no parts), owners, rules of directories."""
    for path in [top, *top.rglob("*")]:
        if with_rules and path.is_dir() and not path.is_symlink() and \
                dice.random() < 0.3:
            # What it says of itself does not count: rsync would not copy it.
            (path / ".rsync-filter").write_text("+ .rsync-filter\n" + "".join(
                f"{own_rule(dice)}\n" for _ in range(dice.randint(0, 2))))
            os.utime(path / ".rsync-filter", (OLD, OLD))
    for path in sorted([top, *top.rglob("*")], reverse=True):
        if os.geteuid() == 0:
            # rsync does not look behind links of others.
            os.chown(path, 0 if path.is_symlink() else dice.choice(IDS),
                     dice.choice(IDS), follow_symlinks=False)
        second = OLD + dice.randint(0, 2)
        ns = second * 10**9 + second % 7 * 111111111
        os.utime(path, ns=(ns, ns), follow_symlinks=False)


def own_rule(dice):
    return dice.choice(["- ", "- ", "+ ", "H ", "P ", "-! ", "!\n- "]) + \
        pattern(dice)


def wide_options(dice, with_rules):
    words = [dice.choice(["-a", "-a", "-rlt", "-rlptgo", "-rl", "-dlt"])]
    for word, chance in [("--delete", 0.6), ("-m", 0.3), ("-x", 0.1),
                         ("-u", 0.1), ("-c", 0.1), ("-O", 0.1),
                         ("--size-only", 0.1), ("--existing", 0.1),
                         ("--numeric-ids", 0.3), ("--force", 0.1),
                         ("--delete-excluded", 0.1), ("-W", 0.1)]:
        if dice.random() < chance:
            words.append(word)
    if "--delete" not in words:
        words = [w for w in words if w != "--delete-excluded"]
    if words[0] == "-dlt":
        # rsync empties the directories of which it did not look at what is in
        # them; ours deletes none of that.
        words = [w for w in words if w != "-m"]
    backup = dice.random()
    if backup < 0.25:
        # There rsync deletes the backups that it has made.
        words = [w for w in words if w != "--delete-excluded"]
    if backup < 0.15:
        words.append("--backup")
    elif backup < 0.25:
        words += ["--backup", "--suffix=.bak"]
    elif backup < 0.35:
        # Ours never deletes backups.
        words += ["--backup", "--backup-dir=kept", "--filter=P /kept"]
    if dice.random() < 0.4:
        words += [f"--filter={rule(dice)}"
                  for _ in range(dice.randint(1, 2))]
    if with_rules:
        # With --existing rsync has no files of rules at the target, and
        # --delete-after deletes the backups that it has made.
        words = [w for w in words if w != "--existing" and not (
            w == "--delete" and backup < 0.25)]
        words[1:1] = ["-F"] if dice.random() < 0.5 else []
        words += ["-F"] if "-F" not in words else []
        words.insert(1, "--filter=+ .rsync-filter")
    return words


def theirs_of(words):
    """rsync takes files of rules that are copied just now for protection only
    if it deletes last."""
    return [("--delete-after" if w == "--delete" and "-F" in words else w)
            for w in words]


def wide_state(top, exact, top_time):
    out = []
    for path in sorted([top, *top.rglob("*")]):
        st = path.lstat()
        # SFTP sets times of links in seconds.
        time = st.st_mtime_ns if exact and not path.is_symlink() else \
            int(st.st_mtime)
        if st.st_mtime > OLD + 10**6:
            time = "now"
        if path in (top, top / "s0", top / "s1") and not top_time:
            time = "any"
        kind = stat.S_IFMT(st.st_mode)
        text = (os.readlink(path) if kind == stat.S_IFLNK else
                path.read_bytes() if kind == stat.S_IFREG else "")
        name = str(path.relative_to(top))
        who = (st.st_mode, st.st_uid, st.st_gid)
        if kind == stat.S_IFDIR and name.split("/")[0] == "kept":
            # Ours lets only their owner see what is in backups.
            who = time = None
        out.append((name, who, time, text))
    return out


def wide_lines(done):
    return sorted(line.replace("<f", ">f", 1) for line in lines(done))


def arguments(way, shell, sources, target):
    if way == "here":
        return [*sources, target]
    if way.startswith("up"):
        return ["-e", shell, *sources, f"h:{target}"]
    return ["-e", shell, *(f"h:{s}" for s in sources), target]


def wide(story, tmp_path):
    dice = random.Random(f"wide {story}")
    way = dice.choice(WAYS)
    with_rules = dice.random() < 0.4
    n = dice.choice([1, 1, 1, 2])
    slash = dice.choice(["/", "/", ""])
    shell = tmp_path / "shell"
    if way != "here":
        shell.write_text(f"#!/bin/sh\nexec {SERVERS[way.split('-')[1]]}\n")
        shell.chmod(0o755)
    for i in range(n):
        grow(dice, tmp_path / f"s1{i}")
    (tmp_path / "t1").mkdir()
    for i in range(n):
        where = tmp_path / "t1" / ("" if slash else f"s{i}")
        if dice.random() < 0.7 and not (slash and i):
            shutil.copytree(tmp_path / f"s1{i}", where, symlinks=True,
                            dirs_exist_ok=True)
    if dice.random() < 0.5:
        grow(dice, tmp_path / "t1" / "more")
    for i in range(n):
        # rsync does not read the top's rules of a second source.
        dress(dice, tmp_path / f"s1{i}", with_rules and n == 1)
        # What is named without a slash has the same name for both.
        (tmp_path / "s1").mkdir(exist_ok=True)
        (tmp_path / f"s1{i}").rename(tmp_path / "s1" / f"s{i}")
    dress(dice, tmp_path / "t1", False)
    copy(tmp_path / "s1", tmp_path / "s2")
    copy(tmp_path / "t1", tmp_path / "t2")
    words = wide_options(dice, with_rules)
    if way.endswith("stock"):
        # There -c copies all.
        words = [w for w in words if w != "-c"]
    sources = [[f"{tmp_path}/s{who}/s{i}{slash}" for i in range(n)]
               for who in (1, 2)]
    for dry in (["-n"], []):
        a = run([RSYNC, "-i", *theirs_of(words), *dry, *sources[0],
                 f"{tmp_path}/t1/"])
        b = run([hpn("sync"), "-i", "--max-delete=99999", *words, *dry,
                 *arguments(way, shell, sources[1], f"{tmp_path}/t2/")])
        if a.rc != 0:
            assert b.rc != 0, (way, words, dry, a, b)
            return
        if dry and "-F" in words and "--delete" in words:
            # rsync did not copy the files of rules that protect.
            continue
        assert (b.rc, wide_lines(b)) == (0, wide_lines(a)), (way, words, dry,
                                                             a, b)
    exact = not way.endswith("stock")
    kept = words[0] in ("-a", "-rlt", "-rlptgo") and not {
        "-O", "--backup"} & {*words}
    ours, theirs = (wide_state(tmp_path / t, exact, kept)
                    for t in ("t2", "t1"))
    assert ours == theirs, (way, words, [x for x in ours if x not in theirs],
                            [x for x in theirs if x not in ours])


@pytest.mark.parametrize("tenth", range(10))
def test_wider_stories(tenth, tmp_path):
    for story in list(told_stories("HPN_WIDE"))[tenth::10]:
        top = tmp_path / str(story)
        top.mkdir()
        wide(story, top)
        shutil.rmtree(top)
