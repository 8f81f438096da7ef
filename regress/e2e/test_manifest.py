# SPDX-License-Identifier: ISC
"""hpnscp and hpnsync --manifest, which sha256sum checks, and hpnsync --check,
with manifests of friends and of others."""

import hashlib
import os
import signal
import subprocess
import time

import pytest

import harness
from harness import clean_env, have, hpn, run, start
from test_sync import OURS, STOCK, SYNC, make

SCP = hpn("scp")
NAMES = {"a": "one", "d/b": "two" * 50000, "d/e/empty": "", "sp ace": "x",
         "new\nline": "y", "back\\slash": "z", "car\rriage": "r",
         "\xe9": "e", "-n": "dash", "d/.hidden": "h"}
HEX = hashlib.sha256(b"one").hexdigest()

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sync", "sftp-server"),
                                reason="hpnsync is not built")


def shell_for(tmp_path, command, name="shell"):
    shell = tmp_path / name
    shell.write_text(f"#!/bin/sh\nexec {command}\n")
    shell.chmod(0o755)
    return shell


@pytest.fixture
def source(tmp_path):
    top = make(tmp_path / "from", NAMES)
    (top / "link").symlink_to("a")
    return top


@pytest.fixture(params=["sync-up", "sync-down", "sync-here", "sync-stock",
                        "scp-up", "scp-down"])
def copy(request, tmp_path):
    """A function that copies what is in a directory, with options."""
    program, way = request.param.split("-")
    if way == "stock" and not os.path.exists(STOCK):
        pytest.skip("no stock server")
    shell = shell_for(tmp_path, STOCK if way == "stock" else OURS)

    def scp(source, target, *options):
        target.mkdir(exist_ok=True)
        (source / "link").unlink(missing_ok=True)
        if way == "up":
            return run([SCP, "-r", "-S", shell, *options, *source.iterdir(),
                        f"h:{target}/"])
        return run([SCP, "-r", "-S", shell, *options, f"h:{source}/*",
                    f"{target}/"])

    def sync(source, target, *options):
        names = {"here": (f"{source}/", target),
                 "down": (f"h:{source}/", target)}.get(
                     way, (f"{source}/", f"h:{target}"))
        return run([SYNC, "-a", "-e", shell, *options, *names])
    return scp if program == "scp" else sync


def sha256sum(manifest, top):
    return run(["sha256sum", "--strict", "-c", manifest], cwd=top)


def test_manifest_is_what_sha256sum_takes(copy, source, tmp_path):
    """All files and no more, whatever their names are, also when they are
    equal already; what was there stays until the end."""
    target, manifest = tmp_path / "to", tmp_path / "sums"
    for _ in range(2):
        done = copy(source, target, f"--manifest={manifest}")
        assert done.rc == 0 and not done.err, done
        assert sha256sum(manifest, target).rc == 0
        lines = manifest.read_bytes().splitlines()
        assert len(lines) == len(NAMES)
        made = run(["sha256sum", "--", *NAMES], cwd=source)
        assert sorted(lines) == sorted(made.out.splitlines())
    # What the copy had is not what the files have now.
    (target / "a").write_text("ONE")
    assert sha256sum(manifest, target).rc == 1


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("what", ["from", "from/.", "from/d/in"])
def test_manifest_of_what_gets_a_new_name(tmp_path, way, what):
    """A tree's names are those below it, a file's is its new one."""
    make(tmp_path / "from", {"a": "one", "d/in": "one", "d/e/f": "one"})
    target, sums = tmp_path / "new", tmp_path / "sums"
    ends = ([tmp_path / what, f"h:{target}"] if way == "up" else
            [f"h:{tmp_path / what}", target])
    run([SCP, "-r", "-S", shell_for(tmp_path, OURS), f"--manifest={sums}",
         *ends]).ok()
    names = {line[66:] for line in sums.read_text().splitlines()}
    assert names == ({"new"} if what.endswith("in") else
                     {"a", "d/in", "d/e/f"})
    assert sha256sum(sums, tmp_path if what.endswith("in") else
                     target).rc == 0


def test_what_fails_has_no_line(tmp_path):
    source = make(tmp_path / "from", {"good": "one", "bad": "two"})
    target = tmp_path / "to"
    (target / "bad").mkdir(parents=True)
    (target / "bad/in").write_text("way")
    done = run([SYNC, "-a", f"--manifest={tmp_path}/m", f"{source}/", target])
    assert done.rc == 23
    assert (tmp_path / "m").read_text() == f"{HEX}  good\n"


def test_manifest_that_cannot_be_made(source, tmp_path):
    """It is said before anything is copied."""
    for program in [SYNC, "-a"], [SCP, "-r", "-S", shell_for(tmp_path, OURS)]:
        done = run([*program, f"--manifest={tmp_path}/none/m", f"{source}/",
                    f"{'h:' if program[0] == SCP else ''}{tmp_path}/to"])
        assert done.rc != 0 and b"none/m" in done.err, done
        assert not (tmp_path / "to").exists()


@pytest.mark.skipif(bool(harness.mount_problem()),
                    reason=str(harness.mount_problem()))
@pytest.mark.parametrize("program", [SCP, SYNC])
def test_manifest_on_a_full_disk(source, tmp_path, program):
    """The copy is whole, the manifest of before too, and a line has the path of
    the one that is missing."""
    small, place = tmp_path / "small", tmp_path / "small/m"
    small.mkdir()
    script = ("mount -t tmpfs -o size=4k none \"$1\" && cd \"$1\" && "
              "echo old >m && shift && { \"$@\"; echo \"rc $?\"; } && "
              "ls -A . && cat m")
    flags = ["-rq", "-S"] if program == SCP else ["-a", "-e"]
    done = run(["unshare", "-m", "sh", "-ec", script, "sh", small, program,
                *flags, shell_for(tmp_path, OURS), f"--manifest={place}",
                f"{source}/", f"h:{tmp_path}/to"]).ok()
    rc, *rest = done.text.splitlines()
    assert rc != "rc 0" and rest == ["m", "old"], done
    assert f"{place}: No space left on device" in done.errors, done
    assert done.errors.count("\n") == 1, done
    assert (tmp_path / "to").is_dir()


def test_manifest_replaces_a_link(source, tmp_path):
    """A link of that name is replaced, and what it leads to stays."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "m").symlink_to("precious")
    done = run([SYNC, "-a", f"--manifest={tmp_path}/m", f"{source}/",
                tmp_path / "to"])
    assert done.rc == 0, done
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "m").is_symlink()
    assert [p for p in os.listdir(tmp_path) if "hpnpart" in p] == []


def test_dry_run_makes_none(source, tmp_path):
    done = run([SYNC, "-an", f"--manifest={tmp_path}/m", f"{source}/",
                tmp_path / "to"])
    assert done.rc == 0 and not (tmp_path / "m").exists()


# ---- --check -----------------------------------------------------------------

@pytest.fixture(params=["here", "host"])
def check(request, tmp_path):
    shell = shell_for(tmp_path, OURS, "checker")

    def call(manifest, tree, *options, **kw):
        tree = tree if request.param == "here" else f"h:{tree}"
        return run([SYNC, "-e", shell, *options, f"--check={manifest}", tree],
                   **kw)
    return call


@pytest.fixture
def manifest(source, tmp_path):
    out = run(["sha256sum", "--", *NAMES], cwd=source)
    (tmp_path / "sums").write_bytes(out.out)
    return tmp_path / "sums"


def test_check(check, source, manifest):
    done = check(manifest, source)
    assert (done.rc, done.err) == (0, b""), done
    assert done.out.decode() == \
        f"{len(NAMES)} the same, 0 different, 0 missing\n"
    (source / "d/b").write_text("two" * 49999 + "twO")
    (source / "a").unlink()
    (source / "sp ace").unlink()
    (source / "sp ace").symlink_to("new\nline")
    (source / "new\nline").write_text("longer than that")
    done = check(manifest, source)
    assert done.rc == 23
    assert set(done.out.decode().splitlines()) == {
        "d/b: different", "a: missing", "sp ace: no regular file",
        "new\\012line: different",
        f"{len(NAMES) - 4} the same, 3 different, 1 missing"}
    assert check(manifest, source, "-q").out.count(b"\n") == 4


def test_extra(check, source, manifest, tmp_path):
    """What the manifest does not have: files, links, whatever is in new
    directories; with the server's own way to list, and with OPENDIR."""
    done = check(manifest, source, "--extra")
    assert done.rc == 23, done
    assert done.out.decode().splitlines() == [
        "link: extra",
        f"{len(NAMES)} the same, 0 different, 0 missing, 1 extra"]
    (source / "link").unlink()
    assert check(manifest, source, "--extra").rc == 0
    make(source, {"d/more": "x", "z/y/x": "y", "z/empty": None, "aa": "z"})
    done = check(manifest, source, "--extra")
    assert done.rc == 23
    assert set(done.out.decode().splitlines()[:-1]) == {
        "d/more: extra", "z/y/x: extra", "aa: extra"}


@pytest.mark.parametrize("way", ["here", "host"])
def test_check_that_is_stopped(way, tmp_path):
    """What is still read when a signal comes is not told: it may be as the
    manifest says."""
    with open(tmp_path / "large", "wb") as large:
        large.truncate(1 << 32)  # seconds to read
    (tmp_path / "sums").write_text(f"{HEX}  first\n{HEX}  large\n")
    with open(tmp_path / "out", "wb") as out:
        process = start([SYNC, "-e", shell_for(tmp_path, OURS),
                         f"--check={tmp_path}/sums",
                         f"{'h:' * (way == 'host')}{tmp_path}"],
                        stdout=out, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)  # it has asked for the digests then
        process.send_signal(signal.SIGTERM)
        # A server ends when it has read the file.
        assert process.wait(120) == 75
        assert b"large" not in (tmp_path / "out").read_bytes()
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # its servers have ended, too
        process.wait()


def test_check_reads_standard_input(check, source, manifest):
    done = check("-", source, stdin=manifest.read_bytes())
    assert done.rc == 0, done


def test_stock_server_is_refused(source, manifest, tmp_path):
    if not os.path.exists(STOCK):
        pytest.skip("no stock server")
    done = run([SYNC, "-e", shell_for(tmp_path, STOCK), f"--check={manifest}",
                f"h:{source}"])
    assert done.rc == 4 and b"sha256sum -c" in done.err, done


@pytest.mark.parametrize("line", [
    "../outside", "/etc/passwd", "d/../../outside", "d/..", "./../outside"])
def test_names_that_lead_out(check, source, tmp_path, line):
    """Nothing outside of the tree is read: the digest would tell."""
    (tmp_path / "outside").write_text("one")
    (tmp_path / "m").write_text(f"{HEX}  {line}\n{HEX}  a\n")
    done = check(tmp_path / "m", source)
    assert done.rc == 23 and b":1: " in done.err, done
    assert done.out == b"1 the same, 0 different, 0 missing\n"


def test_links_that_lead_out(check, source, tmp_path):
    """Links that lead out are refused in a file's place, and in a directory's
    on the way."""
    make(tmp_path / "outside", {"f": "one"})
    (source / "dir").symlink_to(tmp_path / "outside")
    (source / "file").symlink_to(tmp_path / "outside/f")
    (tmp_path / "m").write_text(f"{HEX}  dir/f\n{HEX}  file\n")
    done = check(tmp_path / "m", source)
    assert done.rc == 23 and b"0 the same" in done.out, done


def test_pipes_do_not_hang(check, source, tmp_path):
    os.mkfifo(source / "pipe")
    (tmp_path / "m").write_text(f"{HEX}  pipe\n")
    done = check(tmp_path / "m", source, timeout=20)
    assert done.rc == 23 and b"pipe: no regular file" in done.out, done


@pytest.mark.parametrize("text", [
    b"", b"\0" * 5000, b"x" * 1000000, b"\n" * 1000, b"\\" * 70000,
    f"{HEX}  a\0b\n".encode(), f"SHA256 (a) = {HEX}\n".encode()],
    ids=["nothing", "zeros", "long", "lines", "escapes", "nul", "bsd"])
def test_what_is_no_manifest(check, source, tmp_path, text):
    """It is never taken for one whose files are all there."""
    (tmp_path / "m").write_bytes(text)
    done = check(tmp_path / "m", source)
    assert done.rc == 23 and done.err and len(done.err) < 10000, done


def memory_of_check(source, manifest, lines):
    """The most memory, in KiB, of a check of so many lines."""
    manifest.write_text(f"{HEX}  a\n" * lines)
    process = subprocess.Popen([SYNC, f"--check={manifest}", source],
                               stdout=subprocess.PIPE, env=clean_env())
    most = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                most = max([most] + [int(line.split()[1]) for line in f
                                     if line.startswith("VmHWM")])
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.01)
    out = process.stdout.read()
    assert out == b"%d the same, 0 different, 0 missing\n" % lines, out
    assert most > 0
    return most


def test_huge_manifest(source, tmp_path):
    """The memory that a manifest takes does not grow with its lines: 7 MB of
    text."""
    few = memory_of_check(source, tmp_path / "m", 1000)
    assert memory_of_check(source, tmp_path / "m", 100000) - few < 2000
