# SPDX-License-Identifier: ISC
"""Forwards as other programs use them: their clients with hpnsshd, hpnssh with
their servers, and programs that run hpnssh."""

import asyncio
import glob
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from callers import need
from conftest import Foreign, asyncssh_with
from forwarding import (Service, answer_at_eof, answers, exactly, forward_to,
                        free_port, reach, says, service, to_the_end)
from muxes import Master, mux_client

import harness
from harness import LONG, ME, MIB, Client, clean_env, run, stock, wait_for

sys.path.append(str(Path(harness.__file__).parent / "e2e"))
import private_forwards  # noqa: E402
from ownetc import USER  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.filterwarnings("ignore")]
HERE = Path(__file__).parent


@pytest.fixture
def running(background, tmp_path):
    """running(args, where): a program, once somebody listens there."""
    def begin(args, *where, **kw):
        log = tmp_path / f"{Path(str(args[0])).name}-{len(os.listdir(tmp_path))}"
        with open(log, "wb") as f:
            process = background(args, stdout=f, stderr=f, **kw)
        for place in where:
            assert wait_for(lambda: answers(place)
                            or process.poll() is not None, LONG)
            assert process.poll() is None, log.read_text(errors="replace")
        return process
    return begin


def web(sock):
    got = b""
    while b"\r\n\r\n" not in got:
        got += sock.recv(65536)
    sock.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine")


def curl(proxy, url, *flags):
    return run([need("curl"), "-sS", "--noproxy", "", "--proxy", proxy,
                *flags, url]).ok().out


def bulk(where):
    """4 MiB there and back at once."""
    data = os.urandom(4 * MIB)
    with reach(where) as sock:
        sender = threading.Thread(target=sock.sendall, args=(data,))
        sender.start()
        assert exactly(sock, len(data)) == data
        sender.join()


# ---- dbclient and plink with hpnsshd ---------------------------------------

class Dbclient:
    """Command lines of dropbear's client."""
    name, stdio = "dbclient", "-B"

    def __init__(self, server, keys, directory, user):
        path, home = directory / "dropbear", directory / "dropbear-home"
        home.mkdir()
        run([need("dropbearkey"), "-t", "ed25519", "-f", path]).ok()
        public = run([need("dropbearkey"), "-y", "-f", path]).ok().text
        with open(server.authorized, "a", encoding="ascii") as f:
            f.write(next(line for line in public.splitlines()
                         if line.startswith("ssh-")) + "\n")
        self.env = clean_env(HOME=home)
        self.server, self.user = server, user
        self.fixed = [need("dbclient"), "-y", "-y", "-T", "-i", path]

    def args(self, *flags, command=()):
        return [*self.fixed, "-p", self.server.port, "-l", self.user, *flags,
                "127.0.0.1", *command]


class Plink:
    """Command lines of PuTTY's."""
    name, stdio = "plink", "-nc"

    def __init__(self, server, keys, directory, user):
        ppk, home = directory / "key.ppk", directory / "putty-home"
        home.mkdir()
        self.env = clean_env(HOME=home)
        run([need("puttygen"), keys.path("ed25519"), "-O", "private", "-o",
             ppk], env=self.env).ok()
        told = run([need("ssh-keygen"), "-l", "-f",
                    f"{keys.path('ed25519-host')}.pub"]).ok()
        self.fixed = [need("plink"), "-ssh", "-batch", "-noagent", "-T", "-i",
                      ppk, "-P", server.port, "-l", user, "-hostkey",
                      told.text.split()[1]]

    def args(self, *flags, command=()):
        return [*self.fixed, *flags, "127.0.0.1", *command]


@pytest.fixture(params=[Dbclient, Plink], ids=lambda c: c.name)
def peer(request, make_server, keys, tmp_path):
    need(request.param.name)
    return request.param(make_server(), keys, tmp_path, ME)


@pytest.mark.parametrize("kind", ["-L", "-R"])
def test_port(peer, running, service, kind):
    there, slow, here, other = service(), service(answer_at_eof), \
        free_port(), free_port()
    running(peer.args("-N", kind, f"{here}:127.0.0.1:{there.port}", kind,
                      f"{other}:127.0.0.1:{slow.port}"), here, other,
            env=peer.env)
    assert says(here) == b"hello"
    bulk(here)
    with reach(other) as sock:
        sock.sendall(b"a question")
        sock.shutdown(1)
        assert to_the_end(sock) == b"heard a question"
    socks = [reach(here) for _ in range(20)]
    for n, sock in enumerate(socks):
        sock.sendall(b"%05d" % n)
    for n, sock in enumerate(socks):
        assert exactly(sock, 5) == b"%05d" % n
        sock.close()


def test_nobody_there(peer, running):
    here = free_port()
    one = running(peer.args("-N", "-L", f"{here}:127.0.0.1:{free_port()}"),
                  here, env=peer.env)
    assert says(here) is None
    assert says(here) is None
    assert one.poll() is None


def test_standard_streams(peer, service):
    there = service(answer_at_eof)
    done = run(peer.args(peer.stdio, f"127.0.0.1:{there.port}"),
               stdin=b"a question", env=peer.env)
    assert done.out == b"heard a question", done


def test_plink_dynamic(sshd, keys, tmp_path, running, service):
    need("plink")
    peer, there, here = Plink(sshd, keys, tmp_path, ME), service(web), \
        free_port()
    running(peer.args("-N", "-D", f"127.0.0.1:{here}"), here, env=peer.env)
    for scheme in ("socks4", "socks4a", "socks5", "socks5h"):
        assert curl(f"{scheme}://127.0.0.1:{here}",
                    f"http://127.0.0.1:{there.port}/") == b"fine"


def test_dbclient_through_hosts(make_server, keys, tmp_path):
    """Its own chain of hosts, and a program in place of the connection."""
    need("dbclient")
    server = make_server()
    peer = Dbclient(server, keys, tmp_path, ME)
    hop = f"{ME}@127.0.0.1/{server.port}"
    env = dict(peer.env, PATH=f"{Path(stock('dbclient')).parent}:"
               + peer.env["PATH"])
    done = run([*peer.fixed, f"{hop},{hop}", "echo there"], env=env)
    assert done.out == b"there\n", done
    assert server.log_text().count("Accepted publickey") == 2
    jump = Client("hpn", server).ssh_args(
        flags=["-W", f"127.0.0.1:{server.port}"])
    done = run(peer.args("-J", subprocess.list2cmdline(map(str, jump)),
                         command=["echo there"]), env=env)
    assert done.out == b"there\n", done


def test_ssh_through_hosts(shared_servers, keys, tmp_path):
    """-J of the stock ssh through hpnsshd, twice."""
    need("ssh")
    servers = {"one": shared_servers("hpn"), "two": shared_servers("hpn", (
        "MaxSessions 9")), "end": shared_servers("hpn", "MaxSessions 8")}
    known = tmp_path / "known_hosts"
    known.write_text("".join(s.known_hosts.read_text()
                             for s in servers.values()))
    config = tmp_path / "config"
    config.write_text("".join(
        f"Host {name}\nHostname 127.0.0.1\nPort {s.port}\n"
        for name, s in servers.items()) + f"Host *\nUser {ME}\n"
        f"IdentityFile {keys.path('ed25519')}\nIdentitiesOnly yes\n"
        f"UserKnownHostsFile {known}\nGlobalKnownHostsFile none\n"
        "BatchMode yes\nLogLevel ERROR\n")
    data = os.urandom(MIB)
    done = run([stock("ssh"), "-F", config, "-J", "one,two", "end",
                "cat; exit 5"], stdin=data)
    assert (done.rc, done.out) == (5, data), done.errors


# ---- libraries with hpnsshd ------------------------------------------------

def test_curl_sftp_through_socks(sshd, keys, forward_to, data_file, tmp_path):
    """libssh2 through a forward of ours."""
    if "sftp" not in run([need("curl"), "-V"]).text:
        pytest.skip("this curl has no sftp")
    here, source = free_port(), data_file(3 * MIB + 1)
    forward_to(Client("hpn", sshd), "-D", str(here)).listens(here)
    curl(f"socks5h://127.0.0.1:{here}",
         f"sftp://127.0.0.1:{sshd.port}{tmp_path}/up", "-k", "--key",
         keys.path("ed25519"), "--pubkey", f"{keys.path('ed25519')}.pub",
         "-u", f"{ME}:", "-T", source)
    assert source.read_bytes() == (tmp_path / "up").read_bytes()


def test_asyncssh_socks_and_paths(sshd, keys, service, tmp_path):
    asyncssh = pytest.importorskip("asyncssh")
    there, site, far = service(), service(web), tmp_path / "far"

    def aside(function, *args):
        return asyncio.get_running_loop().run_in_executor(
            None, function, *args)

    async def talk():
        async with asyncssh.connect(
                "127.0.0.1", sshd.port, username=ME, agent_path=None,
                config=None, client_keys=[str(keys.path("ed25519"))],
                known_hosts=str(sshd.known_hosts)) as conn:
            socks = await conn.forward_socks("127.0.0.1", 0)
            for scheme in ("socks4a", "socks5h"):
                assert await aside(
                    curl, f"{scheme}://127.0.0.1:{socks.get_port()}",
                    f"http://localhost:{site.port}/") == b"fine"
            service(path=far)
            await conn.forward_local_path(str(tmp_path / "near"), str(far))
            assert await aside(says, tmp_path / "near") == b"hello"
            ports = [await conn.forward_remote_port(
                "", 0, "127.0.0.1", there.port) for _ in range(3)]
            for port in ports:
                assert await aside(says, port.get_port()) == b"hello"
                port.close()
                await port.wait_closed()
            assert not await aside(wait_for, lambda: any(
                answers(port.get_port()) for port in ports), 0.2)
    asyncio.run(asyncio.wait_for(talk(), LONG * harness.SLOW))


def go_problem(go):
    modules = run([go, "env", "GOMODCACHE"]).text.strip()
    crypto = sorted(glob.glob(f"{modules}/golang.org/x/crypto@*/ssh"))
    system = sorted(glob.glob(f"{modules}/golang.org/x/sys@*"))
    return crypto and system and (Path(crypto[-1]).parent, Path(system[-1]))


@pytest.fixture(scope="module")
def go_program(tmp_path_factory):
    """forwards.go, built without a network."""
    go = next((p for p in (stock("go"), "/usr/local/go/bin/go")
               if p and os.access(p, os.X_OK)), None)
    if not go:
        pytest.skip("go is not installed")
    found = go_problem(go)
    if not found:
        pytest.skip("golang.org/x/crypto is not here")
    directory = tmp_path_factory.mktemp("go")
    place = directory / "src/golang.org/x"
    place.mkdir(parents=True)
    for path in found:
        (place / path.name.partition("@")[0]).symlink_to(path)
    run([go, "build", "-o", directory / "forwards", HERE / "forwards.go"],
        timeout=300, env=clean_env(GO111MODULE="off", GOPATH=directory,
                                   GOTOOLCHAIN="local")).ok()
    return directory / "forwards"


def go_client(program, server, user=ME):
    return [program, "client", f"127.0.0.1:{server.port}", user,
            server.keys.path("ed25519"),
            f"{server.keys.path('ed25519-host')}.pub"]


def test_go(go_program, sshd, service, tmp_path):
    there, slow = service(path=tmp_path / "there"), service(answer_at_eof)
    args = go_client(go_program, sshd)
    done = run([*args, "dial", "tcp", f"127.0.0.1:{slow.port}"])
    assert done.out == b"heard hello", done
    done = run([*args, "dial", "unix", there.path])
    assert done.out == b"hello", done
    done = run([*args, "dial", "tcp", f"127.0.0.1:{free_port()}"])
    assert done.rc == 1 and "Connection refused" in done.errors, done


@pytest.mark.parametrize("network", ["tcp", "unix"])
def test_go_listens(go_program, background, sshd, tmp_path, network):
    place = "127.0.0.1:0" if network == "tcp" else tmp_path / "listen"
    process = background([*go_client(go_program, sshd), "listen", network,
                          place], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    told = process.stdout.readline().decode().strip()
    where = int(told.rpartition(":")[2]) if network == "tcp" else place
    assert says(where) == b"hello"
    bulk(where)
    process.stdin.close()
    assert process.wait(LONG) == 0
    assert wait_for(lambda: not answers(where))


# ---- hpnssh with their servers ---------------------------------------------

@pytest.fixture
def dropbear_peer(request, keys):
    server = request.getfixturevalue("dropbear")
    user = request.getfixturevalue("dropbear_login")("ed25519")
    return Client("hpn", server, user=user, log_level="INFO")


@pytest.fixture
def go_peer(request, background, keys, tmp_path):
    program = request.getfixturevalue("go_program")
    process = background([program, "server", keys.path("ed25519-host")],
                         stdout=subprocess.PIPE)
    port = int(process.stdout.readline())
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {keys.public('ed25519-host')}\n")
    return Client("hpn", Foreign(port, keys, known), log_level="INFO")


@pytest.fixture
def asyncssh_peer(keys, tmp_path):
    asyncssh = pytest.importorskip("asyncssh")

    class Lets(asyncssh.SSHServer):
        """Everything be forwarded."""

        def connection_requested(self, *args):
            return True

        def server_requested(self, *args):
            return True

        def unix_connection_requested(self, *args):
            return True

        def unix_server_requested(self, *args):
            return True

    async def handle(process):
        """ssh-add -l: as a session would."""
        env = clean_env(SSH_AUTH_SOCK=process.get_agent_path())
        done = await asyncio.create_subprocess_shell(
            process.command, env=env, stdout=subprocess.PIPE)
        process.stdout.write((await done.communicate())[0].decode())
        process.exit(done.returncode)

    Lets.get_agent_path = None
    with asyncssh_with(keys, tmp_path, Lets, handle) as server:
        yield Client("hpn", server, log_level="INFO")


@pytest.fixture(params=["dropbear", "asyncssh", "go"])
def to_peer(request):
    return request.getfixturevalue(request.param + "_peer")


def test_to_local(to_peer, forward_to, service):
    there, slow, here, other = service(), service(answer_at_eof), \
        free_port(), free_port()
    forward_to(to_peer, "-L", f"{here}:127.0.0.1:{there.port}", "-L",
               f"{other}:127.0.0.1:{slow.port}").listens(other)
    assert says(here) == b"hello"
    bulk(here)
    with reach(other) as sock:
        sock.sendall(b"a question")
        sock.shutdown(1)
        assert to_the_end(sock) == b"heard a question"


def test_to_remote(to_peer, forward_to, service):
    there, site, here, other = service(), service(web), free_port(), \
        free_port()
    one = forward_to(to_peer, "-R", f"{here}:127.0.0.1:{there.port}", "-R",
                     str(other))
    one.listens(here).listens(other)
    assert says(here) == b"hello"
    bulk(here)
    assert curl(f"socks5h://127.0.0.1:{other}",
                f"http://127.0.0.1:{site.port}/") == b"fine"
    one.terminate()
    assert wait_for(lambda: not answers(here) and not answers(other))


@pytest.mark.parametrize("name", ["dropbear", "go"])  # asyncssh then opens
def test_to_any_port(request, forward_to, service, name):  # those of port 0
    there = service()
    one = forward_to(request.getfixturevalue(name + "_peer"), "-R",
                     f"0:127.0.0.1:{there.port}").shows("Allocated port")
    port = int(re.search(r"Allocated port (\d+)", one.text())[1])
    assert says(port) == b"hello"
    one.terminate()
    assert wait_for(lambda: not answers(port))


def test_to_dynamic(to_peer, forward_to, service):
    site, here = service(web), free_port()
    one = forward_to(to_peer, "-D", str(here)).listens(here)
    assert curl(f"socks5h://127.0.0.1:{here}",
                f"http://localhost:{site.port}/") == b"fine"
    done = run([need("curl"), "-s", "--noproxy", "", "--proxy",
                f"socks5h://127.0.0.1:{here}",
                f"http://localhost:{free_port()}/"])
    assert done.rc not in (0, 28), done
    assert not one.ended()


def test_to_standard_streams(to_peer, service):
    there = service(answer_at_eof)
    done = to_peer.ssh(flags=["-W", f"127.0.0.1:{there.port}"],
                       stdin=b"a question")
    assert (done.rc, done.out) == (0, b"heard a question"), done


def test_to_a_host_behind(to_peer, sshd):
    """hpnsshd, by a connection through them."""
    jump = subprocess.list2cmdline(map(str, to_peer.ssh_args(
        flags=["-W", f"127.0.0.1:{sshd.port}"])))
    data = os.urandom(MIB)
    done = Client("hpn", sshd).ssh("cat; exit 5", stdin=data, options=[
        f"ProxyCommand={jump}"])
    assert (done.rc, done.out) == (5, data), done.errors


def test_to_asyncssh_paths(asyncssh_peer, forward_to, service, tmp_path):
    there, near, far = service(path=tmp_path / "there"), tmp_path / "near", \
        tmp_path / "far"
    forward_to(asyncssh_peer, "-L", f"{near}:{there.path}", "-R",
               f"{far}:{there.path}").listens(far)
    assert says(near) == b"hello"
    assert says(far) == b"hello"


# ---- programs that run hpnssh ----------------------------------------------

@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_editor(shared_servers, background, service, kind):
    """As Visual Studio Code installs its server: a shell that gets its lines
    by stdin and answers between marks, and a SOCKS port beside it."""
    client = Client("hpn", shared_servers(kind))
    site, here = service(web), free_port()
    process = background(
        [*client.ssh_args(flags=["-T", "-D", str(here)]), "bash"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)

    def line(text):
        process.stdin.write(text.encode() + b"\n")
        process.stdin.flush()
        return process.stdout.readline().decode().strip()

    assert line("echo 'mark: running'") == "mark: running"
    assert curl(f"socks5h://127.0.0.1:{here}",
                f"http://127.0.0.1:{site.port}/") == b"fine"
    assert line("read -r -d '' text <<'END' || :\none\ntwo\nEND\n"
                'echo "${#text}"') == "7"
    assert line("echo $((6 * 7)); exec 2>&1") == "42"
    process.stdin.write(b"echo 'mark: end'; exit 4\n")
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out, err) == (4, b"mark: end\n", b"")


def test_autossh(make_server, background, service, tmp_path):
    """The connection is killed twice, and the forwards come back."""
    program = need("autossh")
    server = make_server()
    there, here, far = service(), free_port(), free_port()
    one = background(
        [program, "-M", "0", *Client("hpn", server).ssh_args(
            "ExitOnForwardFailure=yes", "ServerAliveInterval=5", flags=[
                "-N", "-L", f"{here}:127.0.0.1:{there.port}", "-R",
                f"{far}:127.0.0.1:{there.port}"])[1:]],
        env=clean_env(AUTOSSH_PATH=harness.hpn("ssh"), AUTOSSH_GATETIME="0"),
        stderr=subprocess.DEVNULL)
    for logins in (1, 2, 3):
        assert wait_for(lambda: says(here) == says(far) == b"hello", LONG)
        assert server.log_text().count("Accepted publickey") >= logins
        if logins < 3:
            harness.signal_all(server.connections(), 9)
    one.terminate()
    assert one.wait(LONG) == 1
    assert wait_for(lambda: not answers(here) and not answers(far))


# ---- agents ----------------------------------------------------------------

@pytest.fixture(scope="module")
def place(nothing_left, keys):
    with private_forwards.place(keys) as made:
        yield made


@pytest.fixture
def agent(background, keys):
    """Environment of a stock agent that has the user's key."""
    with tempfile.TemporaryDirectory(prefix="hpn", dir="/tmp") as directory:
        path = f"{directory}/agent"
        background([need("ssh-agent"), "-D", "-a", path],
                   stdout=subprocess.DEVNULL)
        assert wait_for(lambda: os.path.exists(path))
        env = clean_env(SSH_AUTH_SOCK=path)
        run([need("ssh-add"), keys.path("ed25519")], env=env).ok()
        yield env


LIST = "ssh-add -l; sleep 0.1"  # there is one, and somebody may close it


@pytest.mark.parametrize("kind", [Dbclient, Plink], ids=lambda c: c.name)
def test_agent(place, keys, agent, tmp_path, kind):
    need(kind.name)
    peer = kind(place.server(), keys, tmp_path, USER)
    env = dict(peer.env, SSH_AUTH_SOCK=agent["SSH_AUTH_SOCK"])
    done = run(peer.args("-A", command=[LIST]), env=env)
    assert "ED25519" in done.text, done
    assert "ED25519" not in run(peer.args(command=[LIST]), env=env).text


def test_agent_of_go(place, go_program, agent):
    done = run([*go_client(go_program, place.server(), USER), "agent", LIST],
               env=agent)
    assert "ED25519" in done.text, done


def test_agent_of_paramiko(place, keys, agent, monkeypatch):
    paramiko = pytest.importorskip("paramiko")
    monkeypatch.setenv("SSH_AUTH_SOCK", agent["SSH_AUTH_SOCK"])
    server = place.server()
    with paramiko.SSHClient() as client:
        client.load_host_keys(str(server.known_hosts))
        client.connect("127.0.0.1", server.port, USER, timeout=10,
                       key_filename=str(keys.path("ed25519")),
                       allow_agent=False, look_for_keys=False)
        session = client.get_transport().open_session()
        lent = paramiko.agent.AgentRequestHandler(session)
        session.settimeout(LONG)
        session.exec_command(LIST)
        assert b"ED25519" in session.recv(1000)
        lent.close()


def test_agent_of_asyncssh(place, keys, agent):
    asyncssh = pytest.importorskip("asyncssh")
    server = place.server()

    async def talk():
        async with asyncssh.connect(
                "127.0.0.1", server.port, username=USER, config=None,
                client_keys=[str(keys.path("ed25519"))],
                agent_path=agent["SSH_AUTH_SOCK"], agent_forwarding=True,
                known_hosts=str(server.known_hosts)) as conn:
            assert "ED25519" in (await conn.run(LIST)).stdout
    asyncio.run(asyncio.wait_for(talk(), LONG * harness.SLOW))


def test_agent_at_dropbear(dropbear_peer, agent):
    done = dropbear_peer.ssh(LIST, flags=["-A"], env=agent)
    assert "ED25519" in done.text, done
    assert "ED25519" not in dropbear_peer.ssh(LIST, env=agent).text


# ---- displays --------------------------------------------------------------

class Display:
    """The display of an Xvfb, which lets nobody in without its cookie. It
    keeps what it has made for -X when its last client leaves, as in a desktop
    there is always one."""

    def __init__(self, background, directory):
        self.authority = directory / "Xauthority"
        cookie = os.urandom(16).hex()
        self.know(":0", cookie)
        process = background(
            [need("Xvfb"), "-displayfd", "1", "-screen", "0", "320x240x8",
             "-nolisten", "tcp", "-noreset", "-auth", self.authority],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.name = ":" + process.stdout.readline().decode().strip()
        self.know(self.name, cookie)
        self.env = clean_env(DISPLAY=self.name, XAUTHORITY=self.authority)

    def know(self, name, cookie):
        run([need("xauth"), "-f", self.authority, "add", name, ".",
             cookie]).ok()


@pytest.fixture
def display(background, tmp_path):
    need("xdpyinfo")
    return Display(background, tmp_path)


def extensions(text):
    return set(re.search(r"number of extensions: .*\n((?: {4}\S.*\n)+)",
                         text)[1].splitlines())


def shown(done):
    """The name of the display, and its extensions."""
    return re.search(r"name of display: +(\S+)", done.ok().text)[1], \
        extensions(done.text)


@pytest.mark.parametrize("flag", ["-X", "-Y"])
@pytest.mark.parametrize("client, server", [
    ("hpn", "hpn"), ("hpn", "stock"), ("stock", "hpn")])
def test_display(place, display, client, server, flag):
    """The display lets strangers do less than friends."""
    if not harness.have(server, "sshd") or not harness.have(client, "ssh"):
        pytest.skip("no stock ssh or sshd is installed")
    program = os.path.realpath(stock("xdpyinfo"))
    _, own = shown(run([program], env=display.env))
    to = Client(client, place.server("X11Forwarding yes", kind=server),
                user=USER, log_level="INFO",
                options=["ForwardX11Trusted=no"] if flag == "-X" else [])
    name, lent = shown(to.ssh(program, flags=[flag], env=display.env))
    assert name.startswith("localhost:")
    assert (lent < own if flag == "-X" else lent == own), (lent, own)
    assert "unable to open display" in to.ssh(program, env=display.env).errors


def test_display_of_plink(place, keys, display, tmp_path):
    need("plink")
    program = os.path.realpath(stock("xdpyinfo"))
    peer = Plink(place.server("X11Forwarding yes"), keys, tmp_path, USER)
    env = dict(peer.env, DISPLAY=display.name, XAUTHORITY=display.authority)
    name, lent = shown(run(peer.args("-X", command=[program]), env=env))
    assert name.startswith("localhost:") and lent


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_display_through_a_master(place, display, tmp_path, kind):
    """Two mux clients have the master's display, one after the other; one that
    does not want it has none."""
    if not harness.have(kind, "ssh"):
        pytest.skip("no stock ssh is installed")
    program = os.path.realpath(stock("xdpyinfo"))
    path = tmp_path / "socket"
    with Master("hpn", place.server("X11Forwarding yes"), path, flags=["-Y"],
                env=display.env, user=USER):
        for _ in range(2):
            name, lent = shown(run(mux_client(kind, path, program,
                                             flags=["-Y"]), env=display.env))
            assert name.startswith("localhost:") and lent
        done = run(mux_client(kind, path, program), env=display.env)
        assert done.rc == 1 and "unable to open display" in done.errors
