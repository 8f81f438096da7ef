# SPDX-License-Identifier: ISC
"""hpnssh and hpnscp with servers of others."""

import os

import pytest

import harness
from harness import ME, MIB, Client, clean_env, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


# ---- stock sshd --------------------------------------------------------

@pytest.fixture
def to_stock(shared_servers):
    return Client("hpn", shared_servers("stock"))


def test_exit_status(to_stock):
    assert to_stock.ssh("exit 41").rc == 41


def test_streams_are_apart(to_stock):
    done = to_stock.ssh("echo out; echo err >&2").ok()
    assert (done.out, done.err) == (b"out\n", b"err\n")


def test_pty(to_stock):
    if harness.stock_pty_problem():
        pytest.skip(harness.stock_pty_problem())
    assert b"/dev/pts/" in to_stock.ssh("tty", flags=["-tt"]).ok().out


@pytest.mark.skipif(not harness.have("hpn", "scp"),
                    reason="hpnscp is not built")
@pytest.mark.parametrize("flags", [[], ["-C"], ["-p"]], ids=str)
def test_hpnscp_both_ways(to_stock, data_file, tmp_path, flags):
    source = data_file(9 * MIB + 17)
    to_stock.scp(source, f":{tmp_path}/up", flags=flags).ok()
    to_stock.scp(f":{tmp_path}/up", tmp_path / "down", flags=flags).ok()
    assert source.read_bytes() == (tmp_path / "down").read_bytes()
    if flags == ["-p"]:
        assert int(source.stat().st_mtime) \
            == int((tmp_path / "down").stat().st_mtime)


@pytest.mark.skipif(not harness.have("hpn", "scp"),
                    reason="hpnscp is not built")
def test_hpnscp_recursive(to_stock, tmp_path):
    for i in range(40):
        directory = tmp_path / "tree" / f"d{i % 5}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{i}").write_bytes(os.urandom(i * 997))
    to_stock.scp(tmp_path / "tree", f":{tmp_path}/copy", flags=["-r"]).ok()
    to_stock.scp(f":{tmp_path}/copy", tmp_path / "back", flags=["-r"]).ok()
    run(["diff", "-r", tmp_path / "tree", tmp_path / "back"]).ok()


def test_rsync_and_git_over_hpnssh(to_stock, tmp_path):
    shell = " ".join([harness.hpn("ssh"), *to_stock.options(), "-p",
                      str(to_stock.server.port)])
    source = tmp_path / "from"
    source.mkdir()
    (source / "f").write_bytes(os.urandom(MIB))
    if stock("rsync"):
        run([stock("rsync"), "-a", "-e", shell, f"{source}/",
             f"{ME}@127.0.0.1:{tmp_path}/there"], timeout=60).ok()
        assert (tmp_path / "there/f").read_bytes() \
            == (source / "f").read_bytes()
    if stock("git"):
        env = clean_env(GIT_SSH_COMMAND=shell, GIT_SSH_VARIANT="ssh",
                        GIT_CONFIG_GLOBAL="/dev/null")
        run([stock("git"), "init", "-q", "--bare", tmp_path / "r.git"],
            env=env).ok()
        run([stock("git"), "ls-remote",
             f"ssh://{ME}@127.0.0.1{tmp_path}/r.git"], env=env).ok()


# ---- dropbear ----------------------------------------------------------

@pytest.mark.parametrize("key", ["ed25519", "ecdsa256", "rsa"])
def test_dropbear(dropbear, dropbear_login, keys, key):
    user = dropbear_login(key)
    client = Client("hpn", dropbear, key, user=user)
    data = os.urandom(4 * MIB)
    done = client.ssh("cat; exit 7", stdin=data, timeout=60)
    assert done.rc == 7, done
    assert done.out == data
    client = Client("hpn", dropbear, key=None, user=user)
    done = client.ssh("exit 8", flags=[*wrong_keys(keys), "-i",
                                       keys.path(key)])
    assert done.rc == 8, done


def wrong_keys(keys):
    return [flag for n in range(4)
            for flag in ("-i", keys.path(f"ed25519-wrong{n}"))]


# ---- asyncssh ----------------------------------------------------------

@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", ["ed25519", "rsa"])
def test_asyncssh_server(asyncssh_server, key):
    data = os.urandom(4 * MIB)
    done = Client("hpn", asyncssh_server, key).ssh("echo", stdin=data,
                                                   timeout=60)
    assert done.rc == 7, done
    assert done.out == data


@pytest.mark.filterwarnings("ignore")
def test_asyncssh_server_after_wrong_keys(asyncssh_server, keys):
    """It gives up a request when the next one comes."""
    client = Client("hpn", asyncssh_server, key=None)
    done = client.ssh("echo", stdin=b"x", flags=[
        *wrong_keys(keys), "-i", keys.path("rsa")])
    assert (done.rc, done.out) == (7, b"x"), done


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not harness.have("hpn", "scp"),
                    reason="hpnscp is not built")
def test_hpnscp_with_asyncssh_server(asyncssh_server, data_file, tmp_path):
    source = data_file(3 * MIB + 11)
    client = Client("hpn", asyncssh_server)
    # This server ends its subsystem without an exit status, for which stock
    # scp exits with 1 too.
    done = client.scp(source, f":{tmp_path}/up", timeout=60)
    assert done.rc in (0, 1), done
    done = client.scp(f":{tmp_path}/up", tmp_path / "down", timeout=60)
    assert done.rc in (0, 1), done
    assert source.read_bytes() == (tmp_path / "down").read_bytes()


@pytest.mark.skipif(not stock("rclone") or not harness.have("hpn", "scp"),
                    reason="rclone is not installed, or hpnscp not built")
def test_hpnscp_with_rclone_server(tmp_path):
    """Its SFTP is golang's pkg/sftp."""
    tree, served = tmp_path / "tree", tmp_path / "served"
    tree.mkdir()
    served.mkdir()
    for n in range(6):
        (tree / f"f{n}").write_bytes(os.urandom(n * 700000 + n))
        os.utime(tree / f"f{n}", (1200000000, 1200000000 + n))
    server = tmp_path / "server"
    server.write_text(
        f"#!/bin/sh\nHOME={tmp_path} RCLONE_CONFIG=/dev/null exec "
        f"{stock('rclone')} -q serve sftp --stdio --vfs-cache-mode writes "
        f"--vfs-write-back 0 {served}\n")
    server.chmod(0o755)

    def state(top):
        return {p.name: (p.read_bytes(), int(p.stat().st_mtime))
                for p in top.glob("*")}

    for _ in range(2):  # also over what is there
        run([harness.hpn("scp"), "-qrp", "-D", server, tree, "x:/"]).ok()
        assert harness.wait_for(lambda: state(served / "tree") == state(tree))
    run([harness.hpn("scp"), "-qrp", "-D", server, "x:/tree",
         tmp_path / "back"]).ok()
    assert state(tmp_path / "back") == state(tree)
