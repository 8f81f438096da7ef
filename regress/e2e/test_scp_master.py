# SPDX-License-Identifier: ISC
"""hpnscp and hpnsftp as mux clients of a shared connection: what moves, moves
over the master's; and what happens without one, or when it goes."""

import os
import re
import signal
import socket
import subprocess

import pytest
from muxes import Master, is_socket, mux_client

import harness
from harness import LONG, Client, clean_env, hpn, listing, run, start, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")
MB = 1 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "socket"


@pytest.fixture
def master(sshd, path):
    with Master("hpn", sshd, path) as m:
        yield m


def scp(path, *args, options=(), port=1, program="scp"):
    """Nothing answers at the port: what works is the master's work."""
    fixed = [x for o in (*options, f"ControlPath={path}", "BatchMode=yes",
                         "ConnectTimeout=1") for x in ("-o", o)]
    return [hpn(program), "-F", "none", *fixed, "-P", str(port),
            *map(str, args)]


def there(path):
    return f"127.0.0.1:{path}"


def logins(server):
    return server.log_text().count("Accepted publickey")


def parts(directory):
    return [p for p in directory.iterdir() if ".hpnpart" in p.name]


# ---- with a master ------------------------------------------------------

@pytest.mark.parametrize("flags", [[], ["-O"], ["-j", "4"]])
def test_both_ways(master, path, data_file, tmp_path, flags):
    data, up, down = data_file(5 * MB), tmp_path / "up", tmp_path / "down"
    before = logins(master.client.server)
    assert run(scp(path, *flags, data, there(up))).ok().err == b""
    assert run(scp(path, *flags, there(up), down)).ok().err == b""
    assert down.read_bytes() == data.read_bytes()
    assert logins(master.client.server) == before


def test_tree(master, path, tmp_path):
    tree = tmp_path / "tree"
    for n in range(30):
        (tree / f"d{n % 5}/e").mkdir(parents=True, exist_ok=True)
        (tree / f"d{n % 5}/e/{n}").write_bytes(os.urandom(n * 1000))
    run(scp(path, "-rp", tree, there(tmp_path / "up"))).ok()
    run(scp(path, "-rp", there(tmp_path / "up"), tmp_path / "down")).ok()
    assert listing(tmp_path / "down") == listing(tree)


def test_from_host_to_host(master, path, data_file, tmp_path):
    data, target = data_file(MB), tmp_path / "out"
    run(scp(path, "-3", there(data), f"localhost:{target}")).ok()
    assert target.read_bytes() == data.read_bytes()


def test_sftp_batch(master, path, data_file, tmp_path):
    data = data_file(3 * MB)
    done = run(scp(path, "-b", "-", "127.0.0.1", program="sftp"),
               stdin=f"cd {tmp_path}\nput {data} up\nls up\n"
                     f"get up {tmp_path}/down\n".encode())
    assert done.ok().err == b""
    assert (tmp_path / "down").read_bytes() == data.read_bytes()


@pytest.mark.parametrize("role", ["no", "yes", "auto", "ask"])
def test_roles(master, path, data_file, tmp_path, role):
    """It is never a master itself, and uses one in any case."""
    target = tmp_path / "out"
    run(scp(path, data_file(1), there(target),
            options=[f"ControlMaster={role}", "ControlPersist=yes"])).ok()
    assert target.exists() and is_socket(path)


def test_sessions_of_the_master(make_server, path, data_file, tmp_path):
    """-j makes sessions, as many as there can be, of a master that does not
    tell what its connection leads to."""
    if not harness.have("stock", "ssh"):
        pytest.skip("no stock ssh is installed")
    server = make_server("LogLevel VERBOSE\nMaxSessions 3", "stock")
    data, target = data_file(4 * MB), tmp_path / "out"
    with Master("stock", server, path):
        before = server.log_text().count("Connection from")
        done = run(scp(path, "-l", "40000", "-j", "6", data, there(target),
                       port=server.port)).ok()
        assert done.err == b""
        assert target.read_bytes() == data.read_bytes()
        log = server.log_text()
        assert log.count("Connection from") == before
        assert log.count("subsystem 'sftp'") == 3


def test_resume(master, path, data_file, tmp_path):
    data, target = data_file(8 * MB), tmp_path / "out/data"
    target.parent.mkdir()
    half = start(scp(path, "-l", "16000", data, there(target)),
                 stderr=subprocess.PIPE)
    assert wait_for(lambda: [p for p in parts(target.parent)
                             if p.stat().st_blocks * 512 > MB])
    half.send_signal(signal.SIGINT)
    half.communicate(timeout=LONG)
    assert not target.exists()
    run(scp(path, "-Z", data, there(target))).ok()
    assert target.read_bytes() == data.read_bytes()
    assert not parts(target.parent)


def test_status_of_the_program(master, path, tmp_path):
    done = run(scp(path, "-b", "-", "-s", "/bin/false", "127.0.0.1",
                   program="sftp"))
    assert done.rc == 255 and "Connection" in done.errors


def test_its_errors_are_shown(master, path, tmp_path):
    """What the server's program says on standard error."""
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\necho from the server >&2\n"
                      f"exec {hpn('sftp-server')}\n")
    script.chmod(0o755)
    done = run(scp(path, "-b", "-", "-s", script, "127.0.0.1",
                   program="sftp"), stdin=b"pwd\n").ok()
    assert done.err == b"from the server\n"


def test_blocking_streams(master, path, data_file, tmp_path):
    """The flag of a socket that others have too."""
    ours, theirs = socket.socketpair()
    copy = start(scp(path, data_file(MB), there(tmp_path / "out")),
                 stderr=theirs)
    assert copy.wait(LONG) == 0
    assert os.get_blocking(theirs.fileno())


# ---- when it goes -------------------------------------------------------

@pytest.mark.parametrize("up", [True, False])
def test_master_dies(master, path, data_file, tmp_path, up):
    data, target = data_file(8 * MB), tmp_path / "out/data"
    target.parent.mkdir()
    names = (data, there(target)) if up else (there(data), target)
    copy = start(scp(path, "-l", "16000", *names), stderr=subprocess.PIPE)
    assert wait_for(lambda: [p for p in parts(target.parent)
                             if p.stat().st_blocks * 512 > MB])
    master.process.kill()
    _, errors = copy.communicate(timeout=LONG)
    assert copy.returncode == 1
    kept, why = errors.decode().splitlines()
    assert why == "hpnscp: Connection closed"
    assert re.match(r"hpnscp: the copy was broken off: .* are kept", kept)
    assert not target.exists() and parts(target.parent)
    with Master("hpn", master.client.server, tmp_path / "other"):
        run(scp(tmp_path / "other", "-Z", *names)).ok()
    assert target.read_bytes() == data.read_bytes()
    assert not parts(target.parent)


def test_client_is_killed(master, path, data_file, tmp_path):
    """Its session ends with it, and the others' stay."""
    data = data_file(8 * MB)
    copy = start(scp(path, "-l", "16000", data, there(tmp_path / "out")))
    assert wait_for(lambda: parts(tmp_path))
    copy.kill()
    copy.wait(LONG)
    channels = [hpn("ssh"), "-F", "none", "-S", str(path), "-O", "channels",
                "127.0.0.1"]
    assert wait_for(lambda: "[session]" not in run(channels).ok().text)
    assert run(mux_client("hpn", path, "echo on")).ok().out == b"on\n"


# ---- with a connection of its own ---------------------------------------

def own(server, path, *args, options=()):
    client = Client("hpn", server)
    return client.scp(*args, options=[f"ControlPath={path}", *options])


def test_no_master(sshd, path, data_file, tmp_path):
    before = logins(sshd)
    done = own(sshd, path, data_file(10), f":{tmp_path}/out",
               options=["ControlMaster=auto", "ControlPersist=yes"]).ok()
    assert done.err == b"" and logins(sshd) == before + 1
    assert not path.exists()
    own(sshd, path, "-O", data_file(10), f":{tmp_path}/out",
        options=["ControlMaster=auto", "ControlPersist=yes"]).ok()
    assert not path.exists()


def test_stale_socket(sshd, path, data_file, tmp_path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))
    done = own(sshd, path, data_file(10), f":{tmp_path}/out",
               options=["ControlMaster=auto"]).ok()
    assert done.errors == \
        f"Control socket connect({path}): Connection refused\n"
    assert (tmp_path / "out").exists()
    assert is_socket(path)  # who will not be a master leaves it alone


def test_path_is_too_long(sshd, tmp_path, data_file):
    done = own(sshd, tmp_path / ("x" * 100), data_file(10),
               f":{tmp_path}/out")
    assert "ControlPath too long" in done.errors


@pytest.mark.parametrize("flags", [[], ["-O"]])
def test_refused_session(make_server, path, data_file, tmp_path, flags):
    server = make_server("MaxSessions 1")
    with Master("hpn", server, path):
        held = start(mux_client("hpn", path, "echo held; cat"),
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert held.stdout.readline() == b"held\n"
        before, data = logins(server), data_file(10)
        done = own(server, path, *flags, data, f":{tmp_path}/out").ok()
        assert re.fullmatch(r".*session request failed: Session open refused "
                            r"by peer\n", done.errors), done
        assert logins(server) == before + 1
        assert (tmp_path / "out").read_bytes() == data.read_bytes()
        held.communicate(b"", LONG)


def test_denied_session(sshd, path, data_file, tmp_path):
    """By who was asked (ControlMaster=ask)."""
    script = tmp_path / "askpass"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    client = Client("hpn", sshd)
    asking = start(client.ssh_args("ControlMaster=ask", f"ControlPath={path}",
                                   flags=["-N"]),
                   env=clean_env(SSH_ASKPASS=script,
                                 SSH_ASKPASS_REQUIRE="force"))
    assert wait_for(lambda: is_socket(path))
    done = own(sshd, path, data_file(10), f":{tmp_path}/out").ok()
    assert "Master refused session request: Permission denied" in done.errors
    asking.terminate()
    asking.wait(LONG)


@pytest.mark.parametrize("flags", [["-z"], ["--retry"]])
def test_what_a_master_cannot_give(make_server, path, data_file, tmp_path,
                                   flags):
    """No encryption, or a connection that is made again."""
    server = make_server("NoneEnabled yes")
    with Master("hpn", server, path):
        before = logins(server)
        own(server, path, *flags, data_file(10), f":{tmp_path}/out").ok()
        assert logins(server) == before + 1
