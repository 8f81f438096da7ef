# SPDX-License-Identifier: ISC
"""Forwarding through hpnsshd with clients of others: stock ssh, paramiko,
asyncssh."""

import asyncio
import os
import re
import subprocess
import threading

import pytest
from forwarding import (Forwarder, answer_at_eof,  # noqa: F401
                        answers, exactly, free_port, reach, says, service,
                        to_the_end)

import harness
from harness import LONG, ME, MIB, Client, stock, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
needs_stock = pytest.mark.skipif(not stock("ssh"), reason="no stock ssh")


@pytest.fixture
def client(sshd):
    return Client("stock", sshd, log_level="INFO")


@pytest.fixture
def forward(client, tmp_path):
    begun = []

    def begin(*flags, to=client, **kw):
        begun.append(Forwarder(to, tmp_path, *flags, **kw))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


# ---- stock ssh -------------------------------------------------------------

@needs_stock
@pytest.mark.parametrize("target", ["port", "path"])
@pytest.mark.parametrize("listen", ["port", "path"])
@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_ports_and_paths(forward, service, tmp_path, kind, listen, target):
    there = service(path=tmp_path / "there" if target == "path" else None)
    here = free_port() if listen == "port" else tmp_path / "here"
    to = there.path or f"127.0.0.1:{there.port}"
    forward(kind, f"{here}:{to}").listens(here)
    assert says(here) == b"hello"
    data = os.urandom(8 * MIB)
    with reach(here) as sock:
        sender = threading.Thread(target=sock.sendall, args=(data,))
        sender.start()
        assert exactly(sock, len(data)) == data
        sender.join()


@needs_stock
@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_half_close(forward, service, kind):
    there, here = service(answer_at_eof), free_port()
    forward(kind, f"{here}:127.0.0.1:{there.port}").listens(here)
    with reach(here) as sock:
        sock.sendall(b"a question")
        sock.shutdown(1)
        assert to_the_end(sock) == b"heard a question"


@needs_stock
def test_any_port(forward, service):
    there = service()
    one = forward("-R", f"0:127.0.0.1:{there.port}")
    one.shows("Allocated port")
    port = int(re.search(r"Allocated port (\d+)", one.text())[1])
    assert says(port) == b"hello"
    one.close()
    assert wait_for(lambda: not answers(port))


@needs_stock
def test_dynamic_at_the_server(forward, service):
    """-R without a target: the client decodes SOCKS on each connection."""
    there, here = service(), free_port()
    forward("-R", str(here)).listens(here)
    with reach(here) as sock:
        sock.sendall(b"\4\1" + there.port.to_bytes(2, "big")
                     + b"\x7f\0\0\1\0")
        assert exactly(sock, 8)[:2] == b"\0\x5a"
        sock.sendall(b"through")
        assert exactly(sock, 7) == b"through"


@needs_stock
def test_standard_streams(client, service):
    there = service(answer_at_eof)
    done = client.ssh(flags=["-W", f"127.0.0.1:{there.port}"],
                      stdin=b"a question").ok()
    assert done.out == b"heard a question"


@needs_stock
@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_what_is_not_allowed(make_server, forward, service, kind):
    there, here = service(), free_port()
    client = Client("stock", make_server("AllowTcpForwarding no\n"),
                    log_level="VERBOSE")
    if kind == "-L":
        one = forward(kind, f"{here}:127.0.0.1:{there.port}", to=client)
        one.listens(here)
        assert says(here) is None
        one.shows("open failed: administratively prohibited: open failed")
    else:
        done = client.ssh("echo ran", flags=[
            kind, f"{here}:127.0.0.1:{there.port}"],
            options=["ExitOnForwardFailure=yes"])
        assert done.rc == 255 and done.text == ""
        assert f"remote port forwarding failed for listen port {here}" in \
            done.errors


@needs_stock
def test_many_at_once(forward, service):
    there, here = service(), free_port()
    forward("-L", f"{here}:127.0.0.1:{there.port}").listens(here)
    socks = [reach(here) for _ in range(60)]
    for n, sock in enumerate(socks):
        sock.sendall(bytes([n]) * 1000)
    for n, sock in enumerate(socks):
        assert exactly(sock, 1000) == bytes([n]) * 1000
        sock.close()


@needs_stock
def test_through_a_jump(client, sshd, tmp_path):
    """-J: a connection of ssh inside of one that hpnsshd forwards."""
    jump = subprocess.list2cmdline(
        [str(a) for a in client.ssh_args(flags=["-W", "%h:%p"])])
    assert client.ssh("echo there", options=[f"ProxyCommand={jump}"]).ok(
        ).text == "there\n"


# ---- others ----------------------------------------------------------------

def test_paramiko(sshd, keys, service):
    paramiko = pytest.importorskip("paramiko")
    there = service()
    with paramiko.SSHClient() as client:
        client.load_host_keys(str(sshd.known_hosts))
        client.connect("127.0.0.1", sshd.port, ME, timeout=10,
                       key_filename=str(keys.path("ed25519")),
                       allow_agent=False, look_for_keys=False)
        transport = client.get_transport()
        channel = transport.open_channel(
            "direct-tcpip", ("127.0.0.1", there.port), ("192.0.2.1", 99),
            timeout=LONG)
        channel.sendall(b"over there")
        assert channel.recv(100) == b"over there"
        channel.close()
        with pytest.raises(paramiko.ChannelException):
            transport.open_channel(
                "direct-tcpip", ("127.0.0.1", free_port()), ("", 0),
                timeout=LONG)
        port = transport.request_port_forward("127.0.0.1", 0)
        with reach(port) as sock:
            accepted = transport.accept(LONG)
            accepted.sendall(b"from here")
            assert exactly(sock, 9) == b"from here"
            sock.sendall(b"from there")
            assert accepted.recv(100) == b"from there"
            accepted.close()
        transport.cancel_port_forward("127.0.0.1", port)
        assert wait_for(lambda: not answers(port))


@pytest.mark.filterwarnings("ignore")
def test_asyncssh(sshd, keys, service, tmp_path):
    asyncssh = pytest.importorskip("asyncssh")
    port, path = service(), service(path=tmp_path / "there")

    async def check(where):
        text = await asyncio.get_running_loop().run_in_executor(
            None, says, where)
        assert text == b"hello"

    async def talk():
        async with asyncssh.connect(
                "127.0.0.1", sshd.port, username=ME, agent_path=None,
                config=None, client_keys=[str(keys.path("ed25519"))],
                known_hosts=str(sshd.known_hosts)) as conn:
            local = await conn.forward_local_port(
                "127.0.0.1", 0, "127.0.0.1", port.port)
            await check(local.get_port())
            remote = await conn.forward_remote_port(
                "localhost", 0, "127.0.0.1", port.port)
            await check(remote.get_port())
            far = str(tmp_path / "far")
            listener = await conn.forward_remote_path(far, str(path.path))
            await check(far)
            listener.close()
            reader, writer = await conn.open_unix_connection(str(path.path))
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
            with pytest.raises(asyncssh.ChannelOpenError):
                await conn.open_connection("127.0.0.1", free_port())
    asyncio.run(asyncio.wait_for(talk(), LONG * harness.SLOW))
