# SPDX-License-Identifier: ISC
"""What copies do when what they read or write fails them: a source that
changes, too few descriptors, directories of odd rights, a full disk, numbers
that a server has not. Each beside our server and stock's."""

import os
import resource
import subprocess

import pytest

from harness import (IS_ROOT, clean_env, have, hpn, run, start, stock,
                     wait_for)

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")
SCP = hpn("scp")
SERVERS = [hpn("sftp-server"), "/usr/lib/openssh/sftp-server"]
NOBODY = 65534
CHANGED = "changed while it was being read"


@pytest.fixture(params=SERVERS, ids=["own", "stock"])
def server(request):
    if not os.path.exists(request.param):
        pytest.skip(f"no {request.param}")
    return request.param


def near_far(way, source, target):
    return {"up": [source, f"h:{target}"], "down": [f"h:{source}", target],
            "between": [f"h:{source}", f"h:{target}"]}[way]


# ---- sources that change ------------------------------------------------

def while_copying(args, target, change, **kw):
    """Changes the source when some of it has arrived; the end of the copy."""
    copy = start([SCP, "-l", "4000", *args], stderr=subprocess.PIPE, **kw)
    seen = [target, target.with_name(f".{target.name}.hpnpart")]
    wait_for(lambda: copy.poll() is not None or any(
        p.exists() and p.stat().st_size > 0 for p in seen))
    assert copy.poll() is None
    change()
    said = copy.communicate(timeout=60)[1].decode()
    return copy.returncode, said


WAYS = [("up", []), ("up", ["--in-place"]), ("down", []),
        ("down", ["--in-place"]), ("between", []), ("up", ["--sparse"]),
        ("up", ["-p"])]


@pytest.mark.parametrize("way,flags", WAYS)
@pytest.mark.parametrize("what", ["empty", "shorter", "longer"])
def test_source_changes(tmp_path, server, way, flags, what):
    source, target = tmp_path / "src", tmp_path / "dst"
    data = os.urandom(1_000_000)
    source.write_bytes(data)

    def change():
        if what == "longer":
            with source.open("ab") as f:
                f.write(b"more")
        else:
            os.truncate(source, 0 if what == "empty" else 900_000)
    rc, said = while_copying(["-D", server, *flags,
                              *near_far(way, source, target)], target, change)
    if what == "longer":
        assert (rc, said) == (0, "")
        assert target.read_bytes()[:len(data)] == data
    elif what == "shorter" and way == "down":
        # It may be all of what the source is by now.
        assert rc == 1 or target.read_bytes() == source.read_bytes()
    else:
        assert rc == 1 and CHANGED in said, said
        assert flags == ["--in-place"] or way == "between" or \
            not target.exists()


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm"), reason="no /sys")
@pytest.mark.parametrize("way", ["up", "down", "between"])
@pytest.mark.parametrize("source", ["/proc/version",
                                    "/sys/kernel/mm/transparent_hugepage/"
                                    "enabled"])
def test_source_without_a_true_size(tmp_path, server, way, source):
    if not os.path.exists(source):
        pytest.skip("no " + source)
    with open(source, "rb") as f:
        wanted = f.read()
    for flags in [[], ["--verify"]] if way != "between" else [[]]:
        target = tmp_path / ("dst" + "".join(flags))
        done = run([SCP, "-q", "-D", server, *flags,
                    *near_far(way, source, target)])
        if way == "down" and flags and "/sys" in source:
            continue  # its size is told, and is wrong
        assert (done.rc, done.errors) == (0, ""), done
        assert target.read_bytes() == wanted


@pytest.fixture
def legacy(tmp_path):
    """legacy(far): an ssh that runs the far end's command here, and its
    environment."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)

    def make(far):
        where = tmp_path / "bin"
        where.mkdir()
        (where / "scp").symlink_to(far)
        env = clean_env()
        return ssh, dict(env, PATH=f"{where}:{env['PATH']}")
    return make


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("far", [SCP, stock("scp")], ids=["own", "stock"])
@pytest.mark.parametrize("longer", [True, False])
def test_legacy_source_changes(tmp_path, legacy, far, way, longer):
    if not far or not os.path.exists(far):
        pytest.skip("no stock scp")
    source, target = tmp_path / "src", tmp_path / "dst"
    source.write_bytes(bytes(2_000_000))
    ssh, env = legacy(far)
    rc, said = while_copying(
        ["-O", "-S", ssh, *near_far(way, source, target)], target,
        lambda: os.truncate(source, 2_100_000 if longer else 10), env=env)
    if longer:
        assert (rc, said) == (0, "")
    else:
        assert rc == 1 and CHANGED in said, said


# ---- descriptors --------------------------------------------------------

def few_descriptors(unusable=0):
    """Gives a program 12 descriptors besides those that are open already,
    which it cannot use."""
    for _ in range(unusable):
        os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)
    most = 12 + unusable
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("flags", [[], ["-p"]])
@pytest.mark.parametrize("unusable", [0, 80])
def test_few_descriptors(tmp_path, server, way, flags, unusable):
    source, target = tmp_path / "src", tmp_path / "dst"
    for top in ("a", "b/c/d"):
        (source / top).mkdir(parents=True)
    for i in range(303):
        (source / ("a" if i % 2 else "b/c/d") / f"f{i}").write_text(str(i))
    done = run([SCP, "-q", "-r", "-D", server, *flags,
                *near_far(way, source, target)], preexec=lambda: few_descriptors(unusable))
    assert (done.rc, done.errors) == (0, ""), done
    assert {p.name: p.read_text() for p in target.rglob("*") if p.is_file()} \
        == {f"f{i}": str(i) for i in range(303)}


# ---- directories --------------------------------------------------------

@pytest.mark.skipif(not IS_ROOT, reason="needs root, who becomes another")
def test_listed_but_not_entered(tmp_path, server):
    tmp_path.chmod(0o755)
    shut = tmp_path / "src/shut"
    shut.mkdir(parents=True)
    (shut / "f").write_text("x")
    (tmp_path / "src/empty").mkdir()
    shut.chmod(0o744)
    target = tmp_path / "dst"
    target.mkdir()
    os.chown(target, NOBODY, NOBODY)
    # Where pytest's own directories are closed to others, they are opened.
    for above in list(tmp_path.parents)[:2]:
        above.chmod(above.stat().st_mode | 0o011)

    def other():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    done = run([SCP, "-r", "-D", server, f"h:{tmp_path}/src", target],
               preexec=other)
    assert done.rc == 1, done
    lines = done.errors.splitlines()
    assert len(lines) == 1 and "/src/shut" in lines[0], done
    assert lines[0].endswith("Permission denied"), done


def add_only(path):
    """True: names can be added to that directory, and not taken from it."""
    done = subprocess.run(["chattr", "+a", path], capture_output=True)
    return done.returncode == 0


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("size", [5, 300_000])
def test_names_can_only_be_added(tmp_path, server, way, size):
    source, target = tmp_path / "src", tmp_path / "dst"
    source.write_bytes(os.urandom(size))
    target.mkdir()
    if not add_only(target):
        pytest.skip("this file system has no such directories")
    try:
        done = run([SCP, "-D", server,
                    *near_far(way, source, target / "new")])
        assert done.rc == 0, done
        assert (target / "new").read_bytes() == source.read_bytes()
        assert "cannot be removed" in done.errors, done
    finally:
        subprocess.run(["chattr", "-a", target], check=True)


# ---- what is written ----------------------------------------------------

@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_events_are_lost(tmp_path, server):
    (tmp_path / "src").write_text("x")
    args = [SCP, "--json", "-D", server, f"h:{tmp_path}/src", tmp_path / "dst"]
    with open("/dev/full", "wb") as full:
        done = run(args, stdout=full)
    assert done.rc == 1, done
    assert done.errors == \
        "hpnscp: standard output: No space left on device\n", done
    assert (tmp_path / "dst").read_text() == "x"
    # A reader that has gone does not want them.
    out, into = os.pipe()
    os.close(out)
    with open(into, "wb") as gone:
        done = run(args, stdout=gone)
    assert (done.rc, done.errors) == (0, ""), done


@pytest.mark.parametrize("seconds", [-10**8, 2**32 + 5])
def test_time_that_a_server_has_not(tmp_path, server, seconds):
    source, target = tmp_path / "src", tmp_path / "dst"
    for size in (5, 100_000):
        source.write_bytes(bytes(size))
        os.utime(source, (seconds, seconds))
        if int(source.stat().st_mtime) != seconds:
            pytest.skip("nor has this file system")
        target.unlink(missing_ok=True)
        done = run([SCP, "-p", "-D", server, source, f"h:{target}"])
        assert done.rc == 0, done
        kept = int(target.stat().st_mtime) == seconds
        assert kept == (server == SERVERS[0])
        assert kept != ("its time cannot be kept" in done.errors), done


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to mount")
@pytest.mark.parametrize("way", ["up", "down"])
def test_full_disk_leaves_no_empty_parts(tmp_path, server, way):
    source, target = tmp_path / "src", tmp_path / "dst"
    source.mkdir()
    target.mkdir()
    for i in range(20):
        (source / f"f{i}").write_bytes(os.urandom(70_000 + i))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none",
                       target], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted")
    try:
        done = run([SCP, "-r", "-D", server,
                    *near_far(way, source, target)])
        assert done.rc == 1, done
        for path in target.rglob("*"):
            if path.is_file() and path.name.startswith("."):
                assert path.stat().st_size > 0, path
            elif path.is_file():
                assert path.read_bytes() == \
                    (source / path.name).read_bytes()
    finally:
        subprocess.run(["umount", "-l", target], check=True)


def test_configuration_that_includes_itself(tmp_path):
    conf = tmp_path / "c"
    conf.write_text(f"Include {conf}\nbogus yes\n")
    done = run([hpn("ssh"), "-F", conf, "-G", "h"])
    assert done.rc == 255, done
    assert done.errors.splitlines() == \
        [f"{conf} line 1: Include: nested too deeply"], done


def test_known_hosts_is_a_directory(sshd, ssh, tmp_path):
    """As with stock: there is no key in it, and none can be noted."""
    (tmp_path / "kh").mkdir()
    no_file = [f"UserKnownHostsFile={tmp_path}/kh",
               f"GlobalKnownHostsFile={tmp_path}/kh"]
    done = ssh.ssh("echo in", options=[*no_file, "StrictHostKeyChecking=no"])
    assert (done.rc, done.text) == (0, "in\n"), done
    done = ssh.ssh("echo in", options=[*no_file,
                                       "StrictHostKeyChecking=yes"])
    assert done.rc == 255 and done.text == "", done
