# SPDX-License-Identifier: ISC
"""hpnssh and hpnscp with servers of others."""

import asyncio
import os
import pathlib
import pwd
import socket
import threading

import pytest

import harness
from harness import ME, MIB, Client, clean_env, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


class Foreign:
    """What Client asks of a server, for one that was started elsehow."""

    def __init__(self, port, keys, known_hosts):
        self.port, self.keys, self.known_hosts = port, keys, known_hosts


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

@pytest.fixture
def dropbear(tmp_path, keys, background):
    """A dropbear of its own. It reads ~/.ssh/authorized_keys only, so its
    tests log in to a user whose home is ours to fill."""
    program = stock("dropbear") or pytest.skip("dropbear is not installed")
    host_key = tmp_path / "host_key"
    run([stock("dropbearkey"), "-t", "ed25519", "-f", host_key]).ok()
    public = next(line for line in run(
        [stock("dropbearkey"), "-y", "-f", host_key]).ok().text.splitlines()
        if line.startswith("ssh-ed25519"))
    port = harness.free_port()
    with open(tmp_path / "dropbear.log", "wb") as log:
        process = background(
            [program, "-F", "-E", "-R", "-r", host_key, "-p",
             f"127.0.0.1:{port}", "-P", tmp_path / "pid"],
            stdout=log, stderr=log)
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{port} "
                           + " ".join(public.split()[:2]) + "\n")
    assert harness.wait_for(lambda: process.poll() is not None or b"forking"
                            in (tmp_path / "dropbear.log").read_bytes()
                            or _listens(port))
    return Foreign(port, keys, known_hosts)


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


@pytest.mark.parametrize("key", ["ed25519", "ecdsa256", "rsa"])
def test_dropbear(dropbear, other_user, keys, key):
    account = pwd.getpwnam(other_user)
    directory = pathlib.Path(account.pw_dir) / ".ssh"
    directory.mkdir(mode=0o700, exist_ok=True)
    authorized = directory / "authorized_keys"
    authorized.write_text(keys.public(key) + "\n")
    authorized.chmod(0o600)
    for path in (directory, authorized):
        os.chown(path, account.pw_uid, account.pw_gid)
    client = Client("hpn", dropbear, key, user=other_user)
    data = os.urandom(4 * MIB)
    done = client.ssh("cat; exit 7", stdin=data, timeout=60)
    assert done.rc == 7, done
    assert done.out == data


# ---- asyncssh ----------------------------------------------------------

@pytest.fixture
def asyncssh_server(keys, tmp_path):
    """A server in a thread: echoes its input, exit status 7; SFTP."""
    asyncssh = pytest.importorskip("asyncssh")
    authorized = tmp_path / "authorized"
    authorized.write_text(keys.public("ed25519") + "\n"
                          + keys.public("rsa") + "\n")
    started, box = threading.Event(), {}

    async def handle(process):
        while chunk := await process.stdin.read(65536):
            process.stdout.write(chunk)
            await process.stdout.drain()
        process.exit(7)

    async def serve():
        server = await asyncssh.create_server(
            asyncssh.SSHServer, "127.0.0.1", 0,
            server_host_keys=[str(keys.path("ed25519-host")),
                              str(keys.path("rsa-host"))],
            authorized_client_keys=str(authorized),
            process_factory=handle, encoding=None, sftp_factory=True,
            allow_scp=True)  # it breaks RFC 4253 7.1 when it rekeys
        box["port"] = server.sockets[0].getsockname()[1]
        box["stop"] = asyncio.Event()
        box["loop"] = asyncio.get_running_loop()
        started.set()
        await box["stop"].wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(10)
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text("".join(
        f"[127.0.0.1]:{box['port']} "
        + " ".join(keys.public(k + "-host").split()[:2]) + "\n"
        for k in ("ed25519", "rsa")))
    yield Foreign(box["port"], keys, known_hosts)
    box["loop"].call_soon_threadsafe(box["stop"].set)
    thread.join(10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", ["ed25519", "rsa"])
def test_asyncssh_server(asyncssh_server, key):
    data = os.urandom(4 * MIB)
    done = Client("hpn", asyncssh_server, key).ssh("echo", stdin=data,
                                                   timeout=60)
    assert done.rc == 7, done
    assert done.out == data


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
