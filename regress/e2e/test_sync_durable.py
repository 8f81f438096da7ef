# SPDX-License-Identifier: ISC
"""hpnsync --remove-source-files and --fsync: what is removed at the source is
on the target's disk, whenever the power is cut or a process killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.run import build_library
from harness import clean_env, have, hpn, run
from test_sync import OURS, STOCK, SYNC, make, names

FILTER = Path(__file__).parent / "sftp_filter.py"
KILLS = int(os.environ.get("HPN_KILLS", "8"))
WAYS = ["up-hpn", "down-hpn", "here"] + (
    ["up-stock", "down-stock"] if os.path.exists(STOCK) else [])

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture(params=WAYS)
def ends(request, tmp_path):
    """See test_sync.py; the server's process id is left in a file."""
    if request.param == "here":
        return lambda source, target: [source, target]
    way, server = request.param.split("-")
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/server.pid\n"
                     f"exec {OURS if server == 'hpn' else STOCK}\n")
    shell.chmod(0o755)

    def arguments(source, target):
        return ["-e", shell, *([source, f"h:{target}"] if way == "up" else
                               [f"h:{source}", target])]
    return arguments


@pytest.fixture(scope="session")
def powercut(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    return build_library("powercut", tmp_path_factory.mktemp("powercut"))


def fnv(data):
    digest = 0xcbf29ce484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001b3 % 2**64
    return f"{digest:x}"


class Disk:
    """What is on a disk that has nothing but what was synced."""

    def __init__(self, kept):
        """kept: a directory that is there, whatever happens."""
        self.kept = kept
        self.files, self.dirs = {}, {}

    def event(self, line):
        kind, *words = line.split(" ")
        if kind == "F":
            self.files[words[0]] = words[1]
        else:
            self.dirs[words[0]] = dict(zip(words[1::2], words[2::2]))

    def digest(self, path):
        """The digest of the file with that path below kept; None: it is not
        there."""
        ino = str(os.stat(self.kept).st_ino)
        for part in path.split("/"):
            ino = self.dirs.get(ino, {}).get(part)
        return self.files.get(ino)


def tree(top, seed, files=40):
    """Files of all sizes in directories; {name: content}."""
    dice, content = random.Random(seed), {}
    for i in range(files):
        name = "/".join(["d%d" % dice.randrange(3)] * dice.randrange(4)
                        + [f"f{i}"])
        data = dice.randbytes(dice.choice([0, 5, 3000, 40000, 300000]))
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)
        os.utime(top / name, (10**9, 10**9 + i))
        content[name] = data
    return content


def check_cut(log, target, source, content):
    """Was each file that was removed on the disk at that moment? So it is with
    any later power cut, since nothing else is removed."""
    disk, removed = Disk(target.parent), 0
    digests = {name: fnv(data) for name, data in content.items()}
    for line in log.read_text().splitlines():
        if not line.startswith("U "):
            disk.event(line)
            continue
        path = line[2:]
        if not path.startswith(f"{source}/"):
            continue
        name = path.removeprefix(f"{source}/")
        if name in digests:
            removed += 1
            assert disk.digest(f"{target.name}/{name}") == digests[name], name
    return removed


@pytest.mark.parametrize("options", [[], ["--inplace"], ["-j2"], ["-X"]],
                         ids=lambda o: "".join(o) or "plain")
def test_power_cut(request, ends, powercut, tmp_path, options):
    """What was removed is on a disk that has nothing but what was synced."""
    source, target, log = tmp_path / "from", tmp_path / "to", tmp_path / "log"
    source.mkdir()
    content = tree(source, 1)
    decorate(request, options, source)
    env = clean_env(LD_PRELOAD=powercut, HPN_POWERCUT=log)
    done = run([SYNC, "-a", "--remove-source-files", *options,
                *ends(f"{source}/", target)], env=env)
    assert done.rc == 0 and not done.err, done
    assert check_cut(log, target, source, content) == len(content)
    assert not [n for n in names(source) if (source / n).is_file()]
    assert {n: (target / n).read_bytes() for n in content} == content


def test_power_cut_after_a_copy(ends, powercut, tmp_path):
    """Copies that an earlier run has made without --fsync are synced before
    their sources go."""
    source, target, log = tmp_path / "from", tmp_path / "to", tmp_path / "log"
    content = {f"f{i}": b"%d" % i * 1000 for i in range(20)}
    source.mkdir()
    for name, data in content.items():
        (source / name).write_bytes(data)
    assert run([SYNC, "-a", *ends(f"{source}/", target)]).rc == 0
    os.sync()
    env = clean_env(LD_PRELOAD=powercut, HPN_POWERCUT=log)
    done = run([SYNC, "-a", "--remove-source-files",
                *ends(f"{source}/", target)], env=env)
    assert done.rc == 0 and not done.err, done
    # The target itself was there before.
    entry = f"D {os.stat(tmp_path).st_ino} to {os.stat(target).st_ino}\n"
    log.write_text(entry + log.read_text())
    assert check_cut(log, target, source, content) == len(content)


def test_fsync_syncs_directories(ends, powercut, tmp_path):
    """--fsync without removing: at the end all is on the disk."""
    source, target, log = tmp_path / "from", tmp_path / "to", tmp_path / "log"
    source.mkdir()
    content = tree(source, 2)
    (source / "empty/below").mkdir(parents=True)
    env = clean_env(LD_PRELOAD=powercut, HPN_POWERCUT=log)
    done = run([SYNC, "-a", "--fsync", *ends(f"{source}/", target)], env=env)
    assert done.rc == 0 and not done.err, done
    disk = Disk(tmp_path)
    for line in log.read_text().splitlines():
        if not line.startswith("U "):
            disk.event(line)
    for name, data in content.items():
        assert disk.digest(f"{target.name}/{name}") == fnv(data), name
    assert str(os.stat(target / "empty").st_ino) in disk.dirs


def decorate(request, options, source):
    """Attributes of all files, if they are kept."""
    if "-X" not in options:
        return
    if "stock" in request.node.name:
        pytest.skip("a stock server has no extended attributes")
    for path in source.rglob("*"):
        try:
            os.setxattr(path, "user.name", path.name.encode())
        except OSError:
            pytest.skip("the file system has no extended attributes")


def moved(target):
    return sum(len([f for f in files if ".hpn" not in f])
               for _, _, files in os.walk(target))


def end_by_kill(process, server, done):
    """SIGKILL of one end as soon as done() is true; the other one ends by
    itself. server: a file with the process of the server, if that is to be the
    one."""
    while process.poll() is None and not done():
        time.sleep(0.001)
    text = server.read_text() if server and server.exists() else ""
    if text.endswith("\n"):
        try:
            os.kill(int(text), signal.SIGKILL)
        except ProcessLookupError:
            pass
    else:
        process.kill()
    process.communicate(timeout=300)


def content_of(path):
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


@pytest.mark.parametrize("options", [[], ["-X"], ["--temp-dir=../tmp"]],
                         ids=lambda o: "".join(o)[:6] or "plain")
def test_kills_lose_nothing(request, ends, tmp_path, options):
    """Moves that are killed at either end, and begun again: each file is whole
    in one of both places at any time, and at last at the target."""
    source, target = tmp_path / "from", tmp_path / "to"
    source.mkdir()
    (tmp_path / "tmp").mkdir()
    content = tree(source, 3, files=20 + 5 * KILLS)
    decorate(request, options, source)
    dice = random.Random(4)
    pid = tmp_path / "server.pid"
    for turn in range(KILLS):
        pid.unlink(missing_ok=True)
        process = subprocess.Popen(
            [SYNC, "-a", "--remove-source-files", "--break-lock", *options,
             *ends(f"{source}/", target)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=clean_env())
        most = moved(target) + dice.randrange(5)
        end_by_kill(process, pid if turn % 2 else None,
                    lambda: moved(target) > most)
        for name, data in content.items():
            # The source first: it goes when the target is there.
            found = [content_of(top / name) for top in (source, target)]
            assert data in found and set(found) <= {data, None}, name
    done = run([SYNC, "-a", "--remove-source-files", "--break-lock", *options,
                *ends(f"{source}/", target)])
    assert done.rc == 0, done
    for name in content if "-X" in options else ():
        assert os.getxattr(target / name, "user.name").decode() == name[
            name.rfind("/") + 1:], name
    assert {n: (target / n).read_bytes() for n in content} == content
    assert not [n for n in names(source)
                if (source / n).is_file() and ".hpn" not in n]


def test_source_that_was_replaced_stays(tmp_path):
    """A file that has taken the name of the one that was sent is not removed,
    though it has its size and its time."""
    source = make(tmp_path / "from", {"f": "one"})
    other = make(tmp_path, {"other": "ONE"}) / "other"
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} "
                     f"source_replaced={other}:{source}/f {OURS}\n")
    shell.chmod(0o755)
    done = run([SYNC, "-a", "--remove-source-files", "-e", shell,
                f"{source}/", f"h:{tmp_path}/to"])
    assert done.rc == 23 and b"has changed" in done.err, done
    assert (source / "f").read_text() == "ONE"
    assert (tmp_path / "to/f").read_text() == "one"


def test_server_without_fsync(tmp_path):
    """A source is not removed when nobody can say that its copy is on the
    disk."""
    source = make(tmp_path / "from", {"f": "one"})
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {OURS} -P fsync\n")
    shell.chmod(0o755)
    done = run([SYNC, "-a", "--remove-source-files", "-e", shell,
                f"{source}/", f"h:{tmp_path}/to"])
    assert done.rc == 4 and b"fsync@openssh.com" in done.err, done
    assert (source / "f").exists()
