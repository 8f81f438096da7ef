# SPDX-License-Identifier: ISC
"""Forwards of hpnssh (-L, -R, -D, -W) through a stock sshd, and the same
through ours."""

import os
import re
import signal
import socket
import subprocess
import threading

import pytest
from forwarding import (answer_at_eof, answers, exactly, forward, forward_to,
                        free_port, reach, says, service, taken, to_the_end)

import harness
from harness import LONG, MIB, Client, run, stock, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


@pytest.fixture(params=["stock", "hpn"])
def client(request, shared_servers):
    return Client("hpn", shared_servers(request.param), log_level="INFO")


# ---- each kind, with ports and with paths ------------------------------

@pytest.mark.parametrize("target", ["port", "path"])
@pytest.mark.parametrize("listen", ["port", "path"])
@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_ports_and_paths(forward, service, tmp_path, kind, listen, target):
    there = service(path=tmp_path / "there" if target == "path" else None)
    here = free_port() if listen == "port" else tmp_path / "here"
    to = there.path or f"127.0.0.1:{there.port}"
    forward(kind, f"{here}:{to}").listens(here)
    assert says(here) == b"hello"
    assert says(here, b"again") == b"again"
    if listen == "path":
        assert here.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_half_close(forward, service, kind):
    there, here = service(answer_at_eof), free_port()
    forward(kind, f"{here}:127.0.0.1:{there.port}").listens(here)
    with reach(here) as sock:
        sock.sendall(b"a question")
        sock.shutdown(socket.SHUT_WR)
        assert to_the_end(sock) == b"heard a question"


@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_bulk_both_ways(forward, service, kind):
    there, here = service(), free_port()
    data = bytes(range(256)) * (8 * MIB // 256)
    forward(kind, f"{here}:127.0.0.1:{there.port}").listens(here)
    with reach(here) as sock:
        threading.Thread(target=sock.sendall, args=(data,)).start()
        assert exactly(sock, len(data)) == data


def test_originator(forward_to, service, make_server):
    server = make_server("LogLevel DEBUG1", kind="stock")
    there, here = service(), free_port()
    one = forward_to(Client("hpn", server), "-L",
                     f"{here}:127.0.0.1:{there.port}")
    one.listens(here)
    with reach(here) as sock:
        sock.sendall(b"x")
        assert exactly(sock, 1) == b"x"
        port = sock.getsockname()[1]
    assert f"originator 127.0.0.1 port {port}, target 127.0.0.1 port " \
        f"{there.port}" in server.log_text()


def test_nobody_at_the_target(forward):
    here, nobody = free_port(), free_port()
    one = forward("-L", f"{here}:127.0.0.1:{nobody}").listens(here)
    assert says(here) is None
    one.shows("open failed: connect failed: Connection refused")
    assert not one.ended()


def test_nobody_at_the_target_here(forward):
    here, nobody = free_port(), free_port()
    one = forward("-R", f"{here}:127.0.0.1:{nobody}").listens(here)
    assert says(here) is None
    one.shows(f"connect_to 127.0.0.1 port {nobody}: failed.")
    assert not one.ended()


def test_many_connections(forward, service):
    there, here = service(), free_port()
    forward("-L", f"{here}:127.0.0.1:{there.port}").listens(here)
    socks = [reach(here) for _ in range(200)]
    for i, sock in enumerate(socks):
        sock.sendall(b"%05d" % i)
    for i, sock in enumerate(socks):
        assert exactly(sock, 5) == b"%05d" % i
        sock.close()
    assert says(here) == b"hello"


# ---- -R ----------------------------------------------------------------

ALLOCATED = r"Allocated port (\d+) for remote forward to (\S+)"


@pytest.mark.parametrize("target, shown", [
    ("127.0.0.1:{port}", "127.0.0.1:{port}"), ("{path}", "{path}:-2"),
    ("", "socks:0")])
def test_port_that_the_server_picks(forward, service, tmp_path, target, shown):
    path = tmp_path / "there"
    there = service(path=path if "path" in target else None)
    names = {"port": there.port, "path": path}
    one = forward("-R", "0" + (":" if target else "")
                  + target.format(**names))
    one.shows("Allocated port")
    port, to = re.search(ALLOCATED, one.text()).groups()
    assert to == shown.format(**names)
    if target:
        assert says(int(port)) == b"hello"
    assert one.terminate() == 0
    assert wait_for(lambda: not answers(int(port)), LONG)


def test_remote_forward_serves_the_command(client, service):
    """What the server shall listen on is there before the command runs."""
    there, port = service(), free_port()
    for _ in range(3):  # the first may know nothing of the host
        done = client.ssh(f"exec 3<>/dev/tcp/127.0.0.1/{port};"
                          "echo hello >&3; head -n 1 <&3",
                          flags=["-R", f"{port}:127.0.0.1:{there.port}"])
        if harness.run(["getent", "passwd", harness.ME]).text.strip() \
                .endswith("bash"):
            assert done.ok().out == b"hello\n", done


# ---- -D, and -R with SOCKS ---------------------------------------------

WEB = b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine"


def web(sock):
    got = b""
    while b"\r\n\r\n" not in got:
        got += sock.recv(65536)
    sock.sendall(WEB)


@pytest.mark.parametrize("kind", ["-D", "-R"])
@pytest.mark.parametrize("scheme", ["socks4", "socks4a", "socks5",
                                    "socks5h"])
def test_curl_through_socks(forward, service, kind, scheme):
    there, here = service(web), free_port()
    forward(kind, str(here)).listens(here)
    host = "localhost" if scheme[-1] in "ah" else "127.0.0.1"
    done = run([stock("curl"), "-sS", "--noproxy", "", "--proxy",
                f"{scheme}://127.0.0.1:{here}",
                f"http://{host}:{there.port}/"]).ok()
    assert done.out == b"fine"


@pytest.mark.parametrize("kind", ["-D", "-R"])
def test_socks_that_leads_nowhere(forward, kind):
    here, nobody = free_port(), free_port()
    one = forward(kind, str(here)).listens(here)
    done = run([stock("curl"), "-sS", "--noproxy", "", "--proxy",
                f"socks5h://127.0.0.1:{here}", f"http://localhost:{nobody}/"])
    assert done.rc not in (0, 28), done
    assert not one.ended()


@pytest.mark.parametrize("kind", ["-D", "-R"])
@pytest.mark.parametrize("text", [b"GET / HTTP/1.0\r\n\r\n",
                                  b"\4\2\0\1\1\1\1\1\0", b"\5\1\2"])
def test_not_socks(forward, kind, text):
    here = free_port()
    forward(kind, str(here)).listens(here)
    with reach(here) as sock:
        sock.sendall(text)
        try:
            assert to_the_end(sock) == b""
        except ConnectionResetError:
            pass


def test_socks_on_a_path(forward, service, tmp_path):
    there, here = service(), tmp_path / "here"
    forward("-D", str(here)).listens(here)
    with reach(here) as sock:
        # the question for the method, the request and data in one piece
        sock.sendall(b"\5\1\0\5\1\0\1\x7f\0\0\1"
                     + there.port.to_bytes(2, "big") + b"data")
        assert exactly(sock, 12) == b"\5\0\5\0\0\1\0\0\0\0" \
            + there.port.to_bytes(2, "big")
        assert exactly(sock, 4) == b"data"


def test_permit_remote_open(forward, service):
    there, other, here = service(web), service(web), free_port()
    one = forward("-R", str(here),
                  options=[f"PermitRemoteOpen=localhost:{there.port}"])
    one.listens(here)

    def get(host, port):
        return run([stock("curl"), "-s", "--noproxy", "", "--proxy",
                    f"socks5h://127.0.0.1:{here}",
                    f"http://{host}:{port}/"]).out

    assert get("localhost", there.port) == b"fine"
    assert get("127.0.0.1", there.port) == b""
    assert get("localhost", other.port) == b""
    one.shows("PermitRemoteOpen")


# ---- where it listens --------------------------------------------------

def our_address():
    """An address of this machine that is not the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return None


@pytest.mark.parametrize("flags, address, outside", [
    ([], "", False), (["-g"], "", True), ([], "*:", True), ([], ":", True),
    (["-g"], "localhost:", False), (["-g"], "127.0.0.1:", False),
    (["-oGatewayPorts=yes"], "", True)])
def test_who_may_connect(forward, service, flags, address, outside):
    there, here = service(), free_port()
    mine = our_address() or pytest.skip("this machine has no address")
    forward(*flags, "-L", f"{address}{here}:127.0.0.1:{there.port}") \
        .listens(here)
    assert answers(here, mine) is outside


def test_v6_loopback(forward, service):
    try:
        there = service(address="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    here = free_port()
    forward("-L", f"{here}:[::1]:{there.port}").listens(here)
    assert answers(here, "::1")
    assert says(here) == b"hello"


# ---- what cannot be ----------------------------------------------------

def test_taken_port_here(client, taken):
    done = client.ssh("echo fine", flags=["-L", f"{taken}:127.0.0.1:1"],
                      options=["AddressFamily=inet"]).ok()
    assert done.out == b"fine\n"
    assert f"bind [127.0.0.1]:{taken}: Address already in use" in done.errors
    assert f"cannot listen to port: {taken}" in done.errors
    assert "Could not request local forwarding." in done.errors


def test_taken_port_here_and_a_free_one(client, taken):
    """Without ExitOnForwardFailure it is told only if none stands."""
    done = client.ssh("true", options=["AddressFamily=inet"], flags=[
        "-L", f"{taken}:127.0.0.1:1", "-D", str(free_port())]).ok()
    assert "Could not request" not in done.errors


@pytest.mark.parametrize("background", [[], ["-f"]])
def test_exit_on_failure_here(client, taken, tmp_path, background):
    done = client.ssh(f"touch {tmp_path}/ran", flags=[
        *background, "-L", f"{taken}:127.0.0.1:1"],
        options=["ExitOnForwardFailure=yes", "AddressFamily=inet"])
    assert done.rc == 255
    assert "Could not request local forwarding." in done.errors
    assert not (tmp_path / "ran").exists()


def test_refused_port_there(client, taken):
    done = client.ssh("echo fine", flags=["-R", f"{taken}:127.0.0.1:1"]).ok()
    assert done.out == b"fine\n"
    assert "Warning: remote port forwarding failed for listen port " \
        f"{taken}" in done.errors


@pytest.mark.parametrize("background", [[], ["-f"]])
def test_exit_on_failure_there(client, taken, tmp_path, background):
    """The command is not run: twice, because the second time what the host
    answers is expected."""
    for _ in range(2):
        done = client.ssh(f"touch {tmp_path}/ran", flags=[
            *background, "-R", f"{taken}:127.0.0.1:1"],
            options=["ExitOnForwardFailure=yes"])
        assert done.rc == 255
        assert "Error: remote port forwarding failed for listen port " \
            f"{taken}" in done.errors
    assert not wait_for((tmp_path / "ran").exists, 0.3)


def test_exit_on_failure_of_a_path_there(client, tmp_path):
    done = client.ssh("true", flags=["-R", "/nowhere/at/all:127.0.0.1:1"],
                      options=["ExitOnForwardFailure=yes"])
    assert done.rc == 255
    assert "failed for listen path /nowhere/at/all" in done.errors


def test_all_that_stands_is_no_failure(client, service):
    there = service()
    done = client.ssh("echo fine", options=["ExitOnForwardFailure=yes"],
                      flags=["-L", f"{free_port()}:127.0.0.1:{there.port}",
                             "-R", f"{free_port()}:127.0.0.1:{there.port}",
                             "-D", str(free_port())]).ok()
    assert done.out == b"fine\n"


def test_background_waits_for_the_forwards(forward, service, tmp_path):
    """When hpnssh -f has ended, the forwards stand."""
    there, here, pid = service(), free_port(), tmp_path / "pid"
    one = forward("-f", "-R", f"{here}:127.0.0.1:{there.port}",
                  options=["ExitOnForwardFailure=yes"],
                  command=[f"echo $$ > {pid}; exec sleep 60"])
    assert one.wait() == 0, one.text()
    assert says(here) == b"hello"
    assert wait_for(lambda: pid.exists() and pid.read_text(), LONG)
    os.kill(int(pid.read_text()), signal.SIGTERM)
    assert wait_for(lambda: not answers(here), LONG)


def test_clear_all_forwardings(client, taken, tmp_path):
    config = tmp_path / "config"
    config.write_text(f"LocalForward {taken} 127.0.0.1:1\n"
                      f"RemoteForward {taken} 127.0.0.1:1\n")
    done = client.ssh("true", flags=["-F", config, "-D", str(taken)],
                      options=["ClearAllForwardings=yes",
                               "ExitOnForwardFailure=yes"]).ok()
    assert done.errors == ""


def test_the_same_twice(client, service):
    there, here, far = service(), free_port(), free_port()
    client.ssh("true", options=["ExitOnForwardFailure=yes"],
               flags=["-L", f"{here}:127.0.0.1:{there.port}"] * 2
               + ["-R", f"{far}:127.0.0.1:{there.port}"] * 2).ok()


def test_local_command_follows_the_forwards(client, service):
    there, here, far = service(), free_port(), free_port()
    done = client.ssh("true", flags=[
        "-L", f"{here}:127.0.0.1:{there.port}",
        "-R", f"{far}:127.0.0.1:{there.port}"], options=[
            "ExitOnForwardFailure=yes", "PermitLocalCommand=yes",
            f"LocalCommand=for p in {here} {far}; do bash -c "
            '"exec 3<>/dev/tcp/127.0.0.1/$p" && echo $p stands; done']).ok()
    assert done.text == f"{here} stands\n{far} stands\n", done


# ---- how long it lives -------------------------------------------------

def test_terminated(forward, service):
    there, here = service(), free_port()
    one = forward("-L", f"{here}:127.0.0.1:{there.port}").listens(here)
    assert one.terminate() == 0
    assert not answers(here)


def test_stays_while_connections_are_open(forward, service):
    there, here = service(), free_port()
    one = forward("-L", f"{here}:127.0.0.1:{there.port}",
                  command=["read", "line;", "exit", "7"],
                  stdin=subprocess.PIPE).listens(here)
    first = reach(here)
    first.sendall(b"one")
    assert exactly(first, 3) == b"one"
    one.process.stdin.write(b"go\n")
    one.process.stdin.flush()
    assert one.process.stdout.read() == b""  # the session has ended
    first.sendall(b"two")
    assert exactly(first, 3) == b"two"
    second = reach(here)  # and it still listens
    first.close()
    second.sendall(b"three")
    assert exactly(second, 5) == b"three"
    assert not one.ended()
    second.close()
    assert one.wait() == 7


def test_ends_with_the_session(client, service):
    there = service()
    assert client.ssh("exit 5", flags=[
        "-L", f"{free_port()}:127.0.0.1:{there.port}"]).rc == 5


def test_server_is_gone(forward_to, service, make_server):
    server = make_server(kind="stock")
    there, here = service(), free_port()
    one = forward_to(Client("hpn", server), "-L",
                     f"{here}:127.0.0.1:{there.port}").listens(here)
    sock = reach(here)
    sock.sendall(b"x")
    assert exactly(sock, 1) == b"x"
    server.stop()
    assert one.wait() == 255
    assert sock.recv(1) == b""
    sock.close()


# ---- -W ----------------------------------------------------------------

def test_stdio_to_a_path(client, service, tmp_path):
    there = service(answer_at_eof, path=tmp_path / "there")
    done = run(client.ssh_args(flags=["-W", there.path]), stdin=b"word").ok()
    assert done.out == b"heard word"


@pytest.mark.parametrize("where, code", [
    ("127.0.0.1:{nobody}", "connect failed"), ("/nowhere", "connect failed")])
def test_stdio_refused(client, where, code):
    done = run(client.ssh_args(
        flags=["-W", where.format(nobody=free_port())]))
    assert done.rc == 255
    assert "stdio forwarding failed" in done.errors and code in done.errors


@pytest.mark.parametrize("text", ["80", "host:0", "a:b:c:d:e", ""])
def test_stdio_bad(client, text):
    done = run(client.ssh_args(flags=["-W", text]))
    assert done.rc == 255
    assert f"Bad stdio forwarding specification '{text}'" in done.errors
