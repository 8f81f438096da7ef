# SPDX-License-Identifier: ISC
"""Servers of others, and an installation of ours, for the tests in this
directory."""

import asyncio
import contextlib
import os
import pathlib
import pwd
import socket
import threading

import pytest

import harness
from harness import BUILD, clean_env, run, stock


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The directory of links of an installation below a directory."""
    top = tmp_path_factory.mktemp("installed")
    run(["make", "-s", "-C", BUILD, "install", f"DESTDIR={top}"],
        timeout=600, env=clean_env(PATH=os.environ["PATH"])).ok()
    (links,) = top.rglob("hpnssh/links")
    return links


class Foreign:
    """What Client asks of a server, for one that was started elsehow."""

    def __init__(self, port, keys, known_hosts):
        self.port, self.keys, self.known_hosts = port, keys, known_hosts


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


@pytest.fixture
def dropbear_login(other_user, keys):
    """authorise(key): lets a key log in to other_user's account there."""
    account = pwd.getpwnam(other_user)
    directory = pathlib.Path(account.pw_dir) / ".ssh"

    def authorise(key):
        directory.mkdir(mode=0o700, exist_ok=True)
        authorized = directory / "authorized_keys"
        authorized.write_text(keys.public(key) + "\n")
        authorized.chmod(0o600)
        for path in (directory, authorized):
            os.chown(path, account.pw_uid, account.pw_gid)
        return other_user
    return authorise


@contextlib.contextmanager
def asyncssh_with(keys, directory, factory, handle, **kw):
    """A server of asyncssh in a thread; handle(process) is its session."""
    asyncssh = pytest.importorskip("asyncssh")
    authorized = directory / "authorized"
    authorized.write_text(keys.public("ed25519") + "\n"
                          + keys.public("rsa") + "\n")
    started, box = threading.Event(), {}

    async def serve():
        server = await asyncssh.create_server(
            factory or asyncssh.SSHServer, "127.0.0.1", 0,
            server_host_keys=[str(keys.path("ed25519-host")),
                              str(keys.path("rsa-host"))],
            authorized_client_keys=str(authorized),
            process_factory=handle, **kw)
        box["port"] = server.sockets[0].getsockname()[1]
        box["stop"] = asyncio.Event()
        box["loop"] = asyncio.get_running_loop()
        started.set()
        await box["stop"].wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),),
                              daemon=True)
    thread.start()
    assert started.wait(60)
    known_hosts = directory / "known_hosts"
    known_hosts.write_text("".join(
        f"[127.0.0.1]:{box['port']} "
        + " ".join(keys.public(k + "-host").split()[:2]) + "\n"
        for k in ("ed25519", "rsa")))
    yield Foreign(box["port"], keys, known_hosts)
    box["loop"].call_soon_threadsafe(box["stop"].set)
    thread.join(10)


@pytest.fixture
def asyncssh_server(keys, tmp_path):
    """Echoes its input, exit status 7; SFTP."""
    async def handle(process):
        while chunk := await process.stdin.read(65536):
            process.stdout.write(chunk)
            await process.stdout.drain()
        process.exit(7)

    with asyncssh_with(keys, tmp_path, None, handle, encoding=None,
                       sftp_factory=True, allow_scp=True) as server:
        yield server  # it breaks RFC 4253 7.1 when it rekeys
