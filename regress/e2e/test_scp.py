# SPDX-License-Identifier: ISC
"""hpnscp: what it copies, what it says and how it ends, over a connection
and straight to a server program (-D)."""

import os
import stat
import subprocess
import time

import pytest

from harness import LONG, Client, have, hpn, listing, run, stock
from terminal import Terminal

SCP = hpn("scp")
OUR_SERVER = hpn("sftp-server")
STOCK_SERVER = "/usr/lib/openssh/sftp-server"
SERVERS = [OUR_SERVER] + ([STOCK_SERVER] if os.path.exists(STOCK_SERVER)
                          else [])

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")
not_root = pytest.mark.skipif(os.getuid() == 0, reason="root may do it all")


def scp(*args, server=OUR_SERVER, **kw):
    return run([SCP, "-D", server, *args], **kw)


def refused(result, line, status=1):
    """Ended with exactly this line."""
    assert result.rc == status, result
    assert result.errors.strip() == f"hpnscp: {line}", result
    return result


@pytest.fixture
def tree(tmp_path):
    """Odd names, odd sizes, modes and times."""
    top = tmp_path / "tree"
    for name in ("a", "a/b", "a/b/c", "empty", "sp ace", "-dash"):
        (top / name).mkdir(parents=True, exist_ok=True)
    sizes = (0, 1, 4095, 32768, 32769, 261120, 261121, 1000003)
    for i, size in enumerate(sizes):
        (top / f"size{size}").write_bytes(os.urandom(size))
        (top / "a/b" / f"f{i}").write_bytes(os.urandom(i * 100))
    for name in (b"new\nline", b"\xff\xfe", "ü€𝄞".encode(), b"*?[x]",
                 b"'\"\\$`", b"-r", b"~", b"a:b", b"\x1b[31m"):
        with open(os.fsencode(top) + b"/sp ace/" + name, "wb") as f:
            f.write(name)
    for i in range(300):
        (top / "a/b/c" / str(i)).write_text(str(i))
    (top / "a/run").write_text("#!/bin/sh\n")
    (top / "a/run").chmod(0o755)
    (top / "a/private").write_text("x")
    (top / "a/private").chmod(0o600)
    os.utime(top / "a/private", (1000000000, 1234567890))
    os.utime(top / "empty", (1000000000, 1000000001))
    return top


@pytest.mark.parametrize("server", SERVERS)
def test_tree_up_and_down(tmp_path, tree, server):
    scp("-r", tree, f"x:{tmp_path}/up", server=server).ok()
    assert listing(tmp_path / "up") == listing(tree)
    scp("-r", f"x:{tree}", tmp_path / "down", server=server).ok()
    assert listing(tmp_path / "down") == listing(tree)
    scp("-r", f"x:{tree}", f"y:{tmp_path}/over", server=server).ok()
    assert listing(tmp_path / "over") == listing(tree)


@pytest.mark.parametrize("server", SERVERS)
def test_preserve(tmp_path, tree, server):
    scp("-rp", tree, f"x:{tmp_path}/up", server=server).ok()
    assert listing(tmp_path / "up", True) == listing(tree, True)
    scp("-rp", f"x:{tree}", tmp_path / "down", server=server).ok()
    assert listing(tmp_path / "down", True) == listing(tree, True)
    scp("-rp", f"x:{tree}", f"y:{tmp_path}/over", server=server).ok()
    assert listing(tmp_path / "over", True) == listing(tree, True)


def test_mode_without_preserve(tmp_path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o4777)
    before = os.umask(0o027)
    try:
        scp(tmp_path / "f", f"x:{tmp_path}/up").ok()
        scp(f"x:{tmp_path}/f", tmp_path / "down").ok()
    finally:
        os.umask(before)
    for name in ("up", "down"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o750


def test_into_directory_and_existing(tmp_path, data_file):
    one, two = data_file(1000, "one"), data_file(500, "two")
    (tmp_path / "dir").mkdir()
    scp(one, two, f"x:{tmp_path}/dir").ok()
    assert (tmp_path / "dir/one").read_bytes() == one.read_bytes()
    # The longer one does not show behind the end of the shorter one.
    scp(two, f"x:{tmp_path}/dir/one").ok()
    assert (tmp_path / "dir/one").read_bytes() == two.read_bytes()
    scp(f"x:{two}", tmp_path / "dir/one").ok()
    assert (tmp_path / "dir/one").read_bytes() == two.read_bytes()
    # A directory into one that exists goes below it; "." does not.
    scp("-r", f"{tmp_path}/dir", f"x:{tmp_path}/dir2").ok()
    scp("-r", f"{tmp_path}/dir", f"x:{tmp_path}/dir2").ok()
    assert (tmp_path / "dir2/dir/two").exists()
    scp("-r", f"x:{tmp_path}/dir/.", tmp_path / "dir2").ok()
    assert not (tmp_path / "dir2/dir/dir").exists()


def test_globs(tmp_path):
    for name in ("a1", "a2", "b1", "a*", "with space"):
        (tmp_path / name).write_text(name)
    (tmp_path / "out").mkdir()
    scp(f"x:{tmp_path}/a[0-9]", tmp_path / "out").ok()
    assert sorted(os.listdir(tmp_path / "out")) == ["a1", "a2"]
    scp(f"x:{tmp_path}/a\\*", f"x:{tmp_path}/with space",
        tmp_path / "out").ok()
    assert sorted(os.listdir(tmp_path / "out")) == ["a*", "a1", "a2",
                                                    "with space"]
    refused(scp(f"x:{tmp_path}/none*", tmp_path / "out"),
            f"{tmp_path}/none*: No such file or directory")


@pytest.mark.parametrize("server", SERVERS)
def test_home(tmp_path, server):
    """The server knows where ~ is; what a file is called, we know."""
    home = os.path.expanduser("~")
    name = f".hpnscp-test-{os.getpid()}"
    (tmp_path / "f").write_text("x")
    try:
        run([SCP, "-D", server, tmp_path / "f", f"x:~/{name}"],
            cwd=home).ok()
        assert os.path.exists(f"{home}/{name}")
        run([SCP, "-D", server, f"x:~/{name}", f"{tmp_path}/"],
            cwd=home).ok()
        assert (tmp_path / name).read_text() == "x"
    finally:
        if os.path.exists(f"{home}/{name}"):
            os.unlink(f"{home}/{name}")
    assert scp("x:~no-such-user-here/x", tmp_path, server=server).rc == 1


def test_local_to_local(tmp_path, tree):
    run([SCP, "-rp", tree, tmp_path / "copy"]).ok()
    assert listing(tmp_path / "copy", True) == listing(tree, True)
    assert run([SCP, tmp_path / "none", tmp_path / "x"]).rc == 1


def test_what_is_wrong_is_said(tmp_path, data_file):
    f = data_file(10)
    d = tmp_path / "dir"
    d.mkdir()
    refused(scp(tmp_path / "none", f"x:{d}"),
            f'stat local "{tmp_path}/none": No such file or directory', 255)
    refused(scp(f"x:{tmp_path}/none", d),
            f"{tmp_path}/none: No such file or directory")
    refused(scp(f, f"x:{tmp_path}/none/x"),
            f'dest open "{tmp_path}/none/x": No such file or directory')
    refused(scp(f"x:{f}", tmp_path / "none/x"),
            f'open local "{tmp_path}/none/x": No such file or directory')
    refused(scp(d, f"x:{tmp_path}/x"), f"{d}: is a directory (use -r)")
    refused(scp(f"x:{d}", tmp_path / "x"),
            f"{d}: is a directory (use -r)")
    refused(scp(f, f, f"x:{f}"), f"{f}: Not a directory", 255)
    refused(scp(f"x:{f}", f"x:{f}", f), f"{f}: Not a directory")
    refused(scp(f, f, f"x:{tmp_path}/none/x"),
            f"{tmp_path}/none/x: No such file or directory", 255)
    # An escape sequence in a name is not for the terminal.
    bad = scp(tmp_path / "\x1b[2Jx", f"x:{d}")
    assert bad.rc == 255 and b"\x1b" not in bad.err


def test_between(tmp_path, data_file):
    """From one host to another: what is copied, and what is said."""
    one, two = data_file(3000000, "one"), data_file(10, "two")
    tree, out = tmp_path / "tree", tmp_path / "out"
    (tree / "below").mkdir(parents=True)
    (tree / "below/one").write_bytes(b"another")
    (tree / "one").write_bytes(b"one more")
    out.mkdir()
    scp(f"x:{one}", f"x:{two}", f"y:{out}").ok()
    assert (out / "one").read_bytes() == one.read_bytes()
    assert (out / "two").read_bytes() == two.read_bytes()
    # Two of the same name: the last one stays, and is whole.
    scp(f"x:{tree}/*/one", f"x:{tree}/one", f"y:{out}").ok()
    assert (out / "one").read_bytes() == b"one more"
    # On one host, and to where a longer file was.
    scp(f"x:{two}", f"x:{out}/one").ok()
    assert (out / "one").read_bytes() == two.read_bytes()
    assert not list(out.glob(".*"))
    refused(scp(f"x:{tmp_path}/none", f"y:{out}"),
            f"{tmp_path}/none: No such file or directory")
    refused(scp(f"x:{two}", f"y:{tmp_path}/none/x"),
            f'dest open "{tmp_path}/none/x": No such file or directory')
    refused(scp(f"x:{tree}", f"y:{out}"),
            f"{tree}: is a directory (use -r)")
    (tree / "broken").symlink_to("nowhere")
    refused(scp("-r", f"x:{tree}", f"y:{out}"),
            f"{tree}/broken: No such file or directory")
    assert listing(out / "tree/below") == listing(tree / "below")


def test_goes_on_after_a_failure(tmp_path, data_file):
    f = data_file(10)
    (tmp_path / "out").mkdir()
    refused(scp(tmp_path / "none", f, f"x:{tmp_path}/out"),
            f'stat local "{tmp_path}/none": No such file or directory', 255)
    assert (tmp_path / "out/data").exists()


@not_root
def test_permissions(tmp_path, data_file):
    f = data_file(10)
    f.chmod(0)
    refused(scp(f, f"x:{tmp_path}/x"), f'open local "{f}": Permission denied')
    refused(scp(f"x:{f}", tmp_path / "x"),
            f'remote open "{f}": Permission denied')


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_full_disk(data_file):
    f = data_file(1000000)
    refused(scp(f"x:{f}", "/dev/full"),
            "/dev/full: No space left on device")
    refused(scp(f, "x:/dev/full"), "/dev/full: No space left on device")


def test_bad_arguments(tmp_path):
    assert scp("only-one").rc == 1
    assert b"usage" in scp("-y", "a", "b").err
    refused(scp("-P", "0", "a", "b:"), "0: bad port", 255)
    refused(scp("-X", "what=1", "a", "b:"), "what=1: bad -X option", 255)
    refused(scp("-oProxyCommand=x:y", "--", "-oX=y:z", tmp_path),
            "-oX=y:z: not a path, nor [user@]host:path")


def test_server_that_ends(data_file):
    for server in ("/bin/false", "/bin/cat /dev/null", "/bin/echo hello"):
        done = scp(data_file(10), "x:/tmp/never", server=server)
        assert done.rc == 255 and done.errors.startswith(
            "hpnscp: Connection"), done
    assert scp(data_file(10), "x:/y", server="/none/at/all").rc == 255


def test_ssh_arguments(tmp_path, data_file):
    log = tmp_path / "args"
    fake = tmp_path / "fake ssh"
    fake.write_text(f'#!/bin/sh\nfor a; do echo "$a" >>{log}; done\n'
                    f"exec {OUR_SERVER}\n")
    fake.chmod(0o755)
    run([SCP, "-S", fake, "-P", "2200", "-i", "key", "-c", "aes128-ctr",
         "-F", "none", "-o", "User=nobody", "-C", "-4", "-B", "-q", "-A",
         data_file(10), f"me@[::1]:{tmp_path}/out"]).ok()
    args = log.read_text().splitlines()
    assert args == [
        "-x", "-oPermitLocalCommand=no", "-oClearAllForwardings=yes",
        "-oRemoteCommand=none", "-oRequestTTY=no", "-oControlMaster=no",
        "-oForwardAgent=no",
        "-i", "key", "-c", "aes128-ctr", "-F", "none", "-o", "User=nobody",
        "-C", "-4", "-oBatchMode=yes", "-q", "-A", "-p", "2200", "-l", "me",
        "-s", "--", "::1", "sftp"]
    log.unlink()
    run([SCP, "-S", fake, f"scp://you@host:77/{tmp_path}/out",
         tmp_path / "back"]).ok()
    assert log.read_text().splitlines()[7:] == [
        "-p", "77", "-l", "you", "-s", "--", "host", "sftp"]


def test_limit(tmp_path, data_file):
    f = data_file(300000)
    for args in ((f, f"x:{tmp_path}/up"), (f"x:{f}", tmp_path / "down"),
                 (f"x:{f}", f"y:{tmp_path}/over")):
        done = scp("-l", "2000", *args).ok()
        # 250 KB a second, of which some may come at once
        assert 0.7 < done.seconds < 30, done


def test_tuning(tmp_path, data_file):
    f = data_file(100000)
    scp("-X", "nrequests=1", "-X", "buffer=1K", f, f"x:{tmp_path}/up").ok()
    assert (tmp_path / "up").read_bytes() == f.read_bytes()


def test_progress_on_a_terminal(tmp_path, data_file):
    data_file(300000, "with\x1b[31m colour")
    terminal = Terminal([SCP, "-l", "4000", "-D", OUR_SERVER,
                         tmp_path / "with\x1b[31m colour",
                         f"x:{tmp_path}/out"])
    assert terminal.wait() == 0, terminal.shown
    shown = terminal.shown
    assert b"\x1b[31m" not in shown
    assert b"ETA" in shown and b"100%" in shown and b"colour" in shown
    # No terminal, no progress; and -q.
    assert scp(tmp_path / "out", f"x:{tmp_path}/again").ok().out == b""


# ---- over connections --------------------------------------------------

def test_connection(ssh, tmp_path, tree):
    ssh.scp(tree, f":{tmp_path}/up", flags=["-r"]).ok()
    assert listing(tmp_path / "up") == listing(tree)
    ssh.scp(f":{tree}", tmp_path / "down", flags=["-rp"]).ok()
    assert listing(tmp_path / "down", True) == listing(tree, True)
    ssh.scp(f":{tree}", f":{tmp_path}/over", flags=["-rp"]).ok()
    assert listing(tmp_path / "over", True) == listing(tree, True)


@pytest.mark.parametrize("client,server", [("hpn", "stock"),
                                           ("stock", "hpn")])
def test_with_stock(client, server, shared_servers, tmp_path, tree):
    if not have(client, "ssh", "scp"):
        pytest.skip(f"no {client} scp")
    user = Client(client, shared_servers(server))
    user.scp(tree, f":{tmp_path}/up", flags=["-rp"]).ok()
    assert listing(tmp_path / "up", True) == listing(tree, True)
    user.scp(f":{tree}", tmp_path / "down", flags=["-rp"]).ok()
    assert listing(tmp_path / "down", True) == listing(tree, True)


def test_connection_refused_and_broken(ssh, tmp_path, data_file, background):
    f = data_file(10)
    done = run([SCP, *ssh.options(), "-P", "1", f, "127.0.0.1:x"])
    assert done.rc == 255 and done.err, done
    # ssh dies in the middle of it
    big = data_file(3000000)
    wrapper = tmp_path / "ssh"
    wrapper.write_text(f'#!/bin/sh\necho $$ >{tmp_path}/pid\n'
                       f'exec {hpn("ssh")} "$@"\n')
    wrapper.chmod(0o755)
    scp_process = background(
        [SCP, "-S", wrapper, *ssh.options(), "-P",
         str(ssh.server.port), "-l", "800", big,
         f"127.0.0.1:{tmp_path}/out"], stderr=subprocess.PIPE)
    part = tmp_path / ".out.hpnpart"
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline and not (
            part.exists() and part.stat().st_size > 0):
        time.sleep(0.05)
    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert scp_process.wait(LONG) == 1
    assert b"hpnscp: Connection closed" in scp_process.stderr.read()


@pytest.mark.skipif(not stock("scp"), reason="no stock scp")
def test_stock_scp_runs_our_ssh(ssh, tmp_path, data_file):
    f = data_file(1000000)
    run([stock("scp"), "-S", hpn("ssh"), *ssh.options(), "-P",
         str(ssh.server.port), f, f"127.0.0.1:{tmp_path}/out"]).ok()
    assert (tmp_path / "out").read_bytes() == f.read_bytes()
