# SPDX-License-Identifier: ISC
"""What a person sees of a copy that does not go well: no room, ^C, a part that
an earlier copy has left, sums at the end; and what programs are told."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from harness import IS_ROOT, LONG, clean_env, free_port, have, hpn, run
from terminal import Terminal

SCP = hpn("scp")
OUR_SERVER = hpn("sftp-server")
STOCK_SERVER = "/usr/lib/openssh/sftp-server"
SERVERS = [OUR_SERVER] + ([STOCK_SERVER] if os.path.exists(STOCK_SERVER)
                          else [])
MB = 1 << 20

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")


def scp(*args, server=OUR_SERVER):
    return run([SCP, "-D", server, *args])


def names(source, target, up):
    return (source, f"x:{target}") if up else (f"x:{source}", target)


# ---- room ----------------------------------------------------------------

@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=40M", "none", place]).rc != 0:
        pytest.skip("cannot mount")
    yield place
    run(["umount", "-l", place])


def make_large(path):
    """Larger than what is free, and all of it a hole."""
    v = os.statvfs(path.parent)
    size = v.f_bfree * v.f_frsize + (1 << 30)
    try:
        with open(path, "wb") as f:
            f.truncate(size)
    except OSError as why:
        pytest.skip(f"no file of {size} bytes can be made here: {why}")
    return size


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_what_does_not_fit_is_not_begun(tmp_path, server, up):
    out, large = tmp_path / "out", tmp_path / "large"
    size = make_large(large)
    out.mkdir()
    done = scp(*names(large, out / "x", up), server=server)
    assert done.rc == 1 and re.search(
        r"/out/x: does not fit: .* are needed, and .* are free "
        r"\(--no-space-check copies all the same\)\n", done.errors), done
    assert done.errors.count("\n") == 1, done
    assert os.listdir(out) == []
    # A tree is known when it is listed; what has moved until then stays.
    (tmp_path / "tree").mkdir()
    large.rename(tmp_path / "tree" / "large")
    done = scp("-r", *names(tmp_path / "tree", out, up), server=server)
    assert done.rc == 1 and "/tree: does not fit: " in done.errors, done
    (tmp_path / "tree" / "large").rename(large)
    # Holes that stay holes take nothing. (Cut, as all of it is hashed.)
    if server == OUR_SERVER:
        done = scp("--sparse", *names(large, out / "s", up), server=server)
        assert done.rc == 0 and os.stat(out / "s").st_size == size, done
        (out / "s").unlink()
    # Programs are told the kind of it.
    done = scp("--json", *names(large, out / "x", up), server=server)
    errors = [e for e in map(json.loads, done.out.splitlines())
              if e["event"] == "error"]
    assert [e["class"] for e in errors] == ["space"], done


def test_what_is_there_needs_no_room(tmp_path):
    """-Z counts what is missing only."""
    source, out = tmp_path / "source", tmp_path / "out"
    out.mkdir()
    size = make_large(source)
    part = out / ".x.hpnpart"
    with open(part, "wb") as f:
        f.truncate(size - MB)
    done = scp("-Z", source, f"x:{out}/x").ok()  # no hole is read
    assert os.stat(out / "x").st_size == size and not part.exists()
    (out / "x").unlink()
    done = scp("-Z", source, f"x:{out}/x")
    assert done.rc == 1 and "does not fit" in done.errors, done


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to mount")
@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_what_replaces_has_its_room(tmp_path, small_disk, server, up):
    """Twice all of it is more than the disk has, but no file is."""
    tree, out = tmp_path / "tree", small_disk / "tree"
    tree.mkdir()
    for name in "ab":
        (tree / name).write_bytes(os.urandom(12 * MB))
    for flags, source, target in (
            (["-r"], [tree], small_disk), ([], [tree / "a", tree / "b"], out)):
        for _ in range(2):
            ends = source + [f"x:{target}"] if up else [
                f"x:{s}" for s in source] + [target]
            scp(*flags, *ends, server=server).ok()
        for name in "ab":
            assert (out / name).read_bytes() == (tree / name).read_bytes()
    new = small_disk / "new"
    done = scp("-r", *names(tree, new, up), server=server)
    assert done.rc == 1 and "does not fit" in done.errors, done


def moves(*args):
    """Data of a copy moves: then it is ended. What it said."""
    proc = subprocess.Popen(
        [SCP, "--json", "-l", "16000", "-D", OUR_SERVER, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    for line in proc.stdout:
        event = json.loads(line)
        if event["event"] == "progress" and event["bytes"] > 0:
            break
    proc.kill()
    _, err = proc.communicate(timeout=LONG)
    return event["event"], err


def test_what_may_fit_is_begun(tmp_path):
    """A device is no part of the file system that it is named in; and the user
    may know better."""
    source = tmp_path / "source"
    make_large(source)
    for up in (True, False):
        assert moves(*names(source, "/dev/null", up)) == ("progress", b"")
    assert moves("--no-space-check", source, f"x:{tmp_path}/out") == (
        "progress", b"")


# ---- ^C, and the next time ---------------------------------------------------

def interrupted(*args, out):
    """What it says; a part is there when it is interrupted."""
    proc = subprocess.Popen([SCP, "-l", "16000", "-D", OUR_SERVER, *args],
                            stderr=subprocess.PIPE, env=clean_env(),
                            start_new_session=True)
    end = time.monotonic() + LONG
    while not any(p.stat().st_size > MB for p in out.glob(".*.hpnpart")):
        assert time.monotonic() < end and proc.poll() is None
        time.sleep(0.05)
    os.kill(proc.pid, signal.SIGINT)
    _, err = proc.communicate(timeout=LONG)
    assert proc.returncode == 1
    return err.decode()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_interrupt(tmp_path, data_file, up):
    out, source = tmp_path / "out", data_file(20 * MB, "big")
    out.mkdir()
    said = interrupted(*names(source, out / "x", up), out=out)
    assert re.fullmatch(
        r"hpnscp: interrupted: [\d.]+[KM]B of 20\.0MB are kept; the same "
        r"command with -Z goes on\n", said), said
    # The next one tells what is there.
    done = scp(*names(source, out / "x", up)).ok()
    assert re.fullmatch(
        r"hpnscp: .*/out/x: a part of \d\d:\d\d is here \([\d.]+MB\), and "
        r"left alone; -Z uses it\n", done.errors), done
    (out / "x").unlink()
    done = scp("-Z", *names(source, out / "x", up)).ok()
    assert done.errors == "" and os.listdir(out) == ["x"], done
    os.truncate(source, 0)
    said = interrupted("-Z", *names(data_file(20 * MB, "two"), out / "y", up),
                       out=out)
    assert said.endswith("; the same command goes on\n"), said


def test_a_full_disk_ends_a_tree(tmp_path):
    """Nothing of a later file is tried. (/dev/full is what is full here.)"""
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    out.mkdir()
    for i in range(2000):
        (tree / f"f{i:04}").write_bytes(bytes(100))
    for i in range(2000):
        (out / f"f{i:04}").symlink_to("/dev/full")
    done = scp("-r", f"{tree}/.", f"x:{out}")
    told = done.errors.count("No space left on device")
    assert done.rc == 1 and 1 <= told < 1500, done.errors[-2000:]


# ---- the last line --------------------------------------------------------

def last_line(*args):
    terminal = Terminal([SCP, "-D", OUR_SERVER, *args])
    status = terminal.wait()
    return terminal.shown.decode().splitlines()[-1], status


def test_sums(tmp_path):
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    for i in range(20):
        (tree / f"f{i}").write_bytes(bytes(10 + i))
    os.mkfifo(tree / "fifo")
    (tree / "nowhere").symlink_to("none")
    assert last_line("-rp", tree, f"x:{out}") == (
        "20 copied, 2 not copied (listed above)", 1)
    (tree / "fifo").unlink()
    (tree / "nowhere").unlink()
    (tree / "new").write_text("x")
    assert last_line("-rpZ", f"{tree}/.", f"x:{out}") == (
        "1 copied, 20 already there", 0)
    assert last_line("-rZ", "--verify", f"{tree}/.", f"x:{out}") == (
        "0 copied, 21 already there, 21 verified", 0)
    # One file has its line.
    line, status = last_line(tree / "new", f"x:{out}/one")
    assert line.startswith("new ") and "100%" in line and status == 0
    # Programs that run scp read nothing.
    done = scp("-r", tree, f"x:{tmp_path}/2").ok()
    assert done.out == b"" and done.errors == ""
    done = scp("-r", "--verify", tree, f"x:{tmp_path}/3").ok()
    assert done.errors == "hpnscp: 21 copied, 21 verified\n"
    assert scp("-qr", "--verify", tree, f"x:{tmp_path}/4").ok().errors == ""


# ---- programs ---------------------------------------------------------------

def end_of(*args):
    """The last error: its class and text."""
    done = run([SCP, "--json", "-B", "-F", "none", *args])
    errors = [e for e in map(json.loads, done.out.splitlines())
              if e["event"] == "error"]
    assert done.rc == 255 and len(errors) == 1, done
    return errors[0]["class"], errors[0]["text"]


def test_class_of_a_failure(tmp_path, data_file):
    f = data_file(10)
    kind, text = end_of(f, "no-such-host.invalid:")
    assert kind == "resolve" and "no-such-host.invalid" in text
    kind, text = end_of("-P", free_port(), f, "127.0.0.1:")
    assert kind == "connect" and text.endswith("Connection refused")


def test_class_of_a_refusal(ssh, tmp_path, data_file):
    f = data_file(10)

    def failed(*options):
        done = ssh.scp(f, f":{tmp_path}/x", options=options,
                       flags=["--json"])
        errors = [e for e in map(json.loads, done.out.splitlines())
                  if e["event"] == "error"]
        assert done.rc == 255 and len(errors) == 1, done
        return errors[0]["class"], errors[0]["text"]

    kind, text = failed("UserKnownHostsFile=/dev/null",
                        "GlobalKnownHostsFile=/dev/null",
                        "StrictHostKeyChecking=yes")
    assert (kind, text) == ("hostkey", "Host key verification failed.")
    kind, text = failed("PreferredAuthentications=none")
    assert kind == "auth" and "Permission denied" in text
    kind, text = failed("MACs=hmac-md5-96", "Ciphers=3des-cbc")
    assert kind == "algorithms" and "no matching" in text


# ---- defaults by host -----------------------------------------------------

def connections(done):
    """The further ones that were made."""
    return set(re.findall(r"connection (\d+) is ready", done.errors))


def test_defaults_by_host(ssh, tmp_path, data_file):
    """A person sets them once, in a block of the host; the command line and -o
    win."""
    f, out = data_file(20 * MB, "f"), tmp_path / "out"
    os.utime(f, (1, 1000000000))
    conf = tmp_path / "conf"
    conf.write_text("Host mine\n\tHostname 127.0.0.1\n\tCopyVerify yes\n"
                    "\tCopyResume yes\n\tCopyPreserve yes\n"
                    "\tCopyConnections 3\n\tCopyRetry 2\n"
                    f"Host *\n\tUserKnownHostsFile {ssh.known_hosts}\n"
                    f"\tIdentityFile {ssh.key}\n")

    def copy(host, *flags, code=0, name="out"):
        done = run([SCP, "-F", conf, "-B", "-P", ssh.server.port, *flags, f,
                    f"{ssh.user}@{host}:{tmp_path}/{name}"])
        assert done.rc == code, done
        return done

    done = copy("mine", "--progress=plain")
    assert done.text.splitlines()[-1] == "1 copied, 1 verified"
    assert out.stat().st_mtime == 1000000000
    done = copy("mine", "--progress=plain")
    assert "1 already there, 1 verified" in done.text
    done = copy("127.0.0.1", "--progress=plain")
    assert "verified" not in done.text and "already" not in done.text
    assert out.stat().st_mtime != 1000000000
    done = copy("mine", "--progress=plain", "-oCopyVerify=no",
                "-oCopyResume=no", "-oCopyPreserve=no")
    assert "verified" not in done.text and "already" not in done.text
    assert out.stat().st_mtime != 1000000000
    # How many connections, and tries.
    assert connections(copy("mine", "-v", "-oCopyResume=no",
                            name="2")) == {"1", "2"}
    assert connections(copy("mine", "-v", "-oCopyResume=no", "-j1",
                            name="3")) == set()


def test_retries_by_host(tmp_path, data_file):
    def tries(*flags):
        done = run([SCP, "-F", "none", "-B", "-o", "ProxyCommand=false",
                    *flags, data_file(10), "x:"])
        assert done.rc == 255, done
        return re.findall(r"trying again in (\d) s \((\d) of (\d)\)",
                          done.errors)

    assert tries() == []
    assert tries("-oCopyRetry=2") == [("1", "1", "2"), ("2", "2", "2")]
    assert tries("-oCopyRetry=2", "--retry=1") == [("1", "1", "1")]
    assert tries("-oCopyRetry=2", "--retry=0") == []
