# SPDX-License-Identifier: ISC
"""hpnscp as its own ssh client: what the user is asked, what the server
refuses, connections that end, and what goes on beside the data."""

import os
import re
import subprocess

import pytest

import harness
from harness import Client, clean_env, have, hpn, run
from terminal import Terminal

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sshd"),
                                reason="hpnscp is not built")
KINDS = ["hpn", "stock"]


@pytest.fixture(params=KINDS)
def kind(request):
    if not have(request.param, "sshd"):
        pytest.skip("no such sshd")
    return request.param


def children_of(process):
    return [name for _, name in harness.descendants(process.pid).values()]


def slowly(client, background, source, target, *options, rate=4000):
    """An upload that takes a while."""
    return background(
        [hpn("scp"), *client.options(*options), "-P",
         str(client.server.port), "-l", str(rate), source,
         f"127.0.0.1:{target}"], stderr=subprocess.PIPE)


def begun(target):
    """It is moving; parts have a name of their own."""
    def size():
        return any(p.stat().st_size for p in target.parent.iterdir()
                   if target.name in p.name)
    assert harness.wait_for(size)


def test_no_other_program(ssh, background, data_file, tmp_path):
    target = tmp_path / "there/out"
    target.parent.mkdir()
    scp = slowly(ssh, background, data_file(1000000), target)
    begun(target)
    assert children_of(scp) == []
    assert scp.wait(harness.LONG) == 0, scp.stderr.read()


# ---- what the user is asked ---------------------------------------------

@pytest.fixture
def encrypted(keys, tmp_path):
    key = tmp_path / "encrypted"
    key.write_bytes(keys.path("ed25519").read_bytes())
    key.chmod(0o600)
    run([hpn("ssh-keygen"), "-q", "-p", "-P", "", "-N", "a phrase", "-f",
         key]).ok()
    return key


def asking(server, key, *more):
    return [hpn("scp"), "-F", "none", "-o", "IdentitiesOnly=yes", "-o",
            "StrictHostKeyChecking=yes", "-o",
            f"UserKnownHostsFile={server.known_hosts}", "-i", key, "-P",
            str(server.port), *more]


def test_passphrase_on_the_terminal(sshd, encrypted, data_file, tmp_path):
    data = data_file(100000)
    terminal = Terminal(asking(sshd, encrypted, data,
                               f"127.0.0.1:{tmp_path}/out"))
    terminal.expect(f"Enter passphrase for key '{encrypted}': ")
    terminal.line("a phrase")
    # The progress comes behind it, and the phrase is not shown.
    assert "a phrase" not in terminal.expect("100%")
    assert terminal.wait() == 0
    assert (tmp_path / "out").read_bytes() == data.read_bytes()


def test_passphrase_from_askpass(sshd, encrypted, data_file, tmp_path):
    data, asked = data_file(1000), tmp_path / "asked"
    script = tmp_path / "askpass"
    script.write_text(f'#!/bin/sh\necho "$1" >>{asked}\necho "a phrase"\n')
    script.chmod(0o755)
    env = clean_env(SSH_ASKPASS=script, SSH_ASKPASS_REQUIRE="force")
    run(asking(sshd, encrypted, data, f"127.0.0.1:{tmp_path}/out"),
        env=env).ok()
    assert asked.read_text() == f"Enter passphrase for key '{encrypted}': \n"
    # -B: not even once
    done = run(asking(sshd, encrypted, "-B", data,
                      f"127.0.0.1:{tmp_path}/out2"), env=env)
    assert done.rc == 255 and "Permission denied" in done.errors
    assert done.errors.endswith("hpnscp: Connection closed\n"), done
    assert asked.read_text().count("\n") == 1


def test_unknown_host_key(sshd, keys, data_file, tmp_path):
    known = tmp_path / "known"
    args = [hpn("scp"), "-F", "none", "-o", f"UserKnownHostsFile={known}",
            "-o", "GlobalKnownHostsFile=none", "-o", "IdentitiesOnly=yes",
            "-i", keys.path("ed25519"), "-P", str(sshd.port),
            data_file(10), f"127.0.0.1:{tmp_path}/out"]
    terminal = Terminal(args)
    terminal.expect("(yes/no/[fingerprint])? ")
    terminal.line("no")
    terminal.expect("Host key verification failed.")
    assert terminal.wait() == 255
    terminal = Terminal(args)
    terminal.expect("(yes/no/[fingerprint])? ")
    terminal.line("yes")
    assert terminal.wait() == 0
    assert known.read_text().startswith(f"[127.0.0.1]:{sshd.port} ")


# ---- what the server refuses --------------------------------------------

def test_one_session_only(kind, make_server, data_file, tmp_path):
    user = Client("hpn", make_server("MaxSessions 1", kind))
    data = data_file(30 * harness.MIB)
    user.scp(data, f":{tmp_path}/up").ok()
    assert (tmp_path / "up").read_bytes() == data.read_bytes()


def test_no_sessions(kind, make_server, data_file, tmp_path):
    user = Client("hpn", make_server("MaxSessions 0", kind))
    done = user.scp(data_file(10), f":{tmp_path}/up")
    assert done.rc == 255 and "refused a session" in done.errors, done
    assert done.errors.endswith("hpnscp: Connection closed\n"), done


def test_no_such_subsystem(kind, make_server, data_file, tmp_path):
    server = make_server("", kind)
    server.config_text = lambda made=server.config_text: \
        made().replace("Subsystem sftp", "Subsystem other")
    server.stop()
    server.log.unlink()
    server.start()
    user = Client("hpn", server, log_level="INFO")
    for _ in range(2):  # the second time all is sent at once
        done = user.scp(data_file(10), f":{tmp_path}/up")
        assert done.rc == 255, done
        assert done.errors == "subsystem request failed on channel 0\n" \
            "hpnscp: Connection closed\n", done


def test_wrong_key_then_right(kind, shared_servers, data_file, tmp_path):
    """The session was asked for behind a request that is refused."""
    server = shared_servers(kind)
    other = server.keys.path("ed25519-stranger")
    right = server.keys.path("ecdsa256")
    hints = tmp_path / "known"
    hints.write_bytes(server.known_hosts.read_bytes())
    data = data_file(70000)

    def copy(*identities):
        return run([hpn("scp"), "-F", "none", "-o", "IdentitiesOnly=yes",
                    "-o", f"UserKnownHostsFile={hints}", "-B", "-P",
                    str(server.port),
                    *[x for i in identities for x in ("-i", i)], data,
                    f"127.0.0.1:{tmp_path}/out"])
    copy(right).ok()
    assert copy(other).rc == 255
    for _ in range(2):
        copy(other, right).ok()
    assert (tmp_path / "out").read_bytes() == data.read_bytes()


# ---- connections that end -----------------------------------------------

def test_connection_dies(kind, make_server, background, data_file, tmp_path):
    server = make_server("", kind)
    target = tmp_path / "there/out"
    target.parent.mkdir()
    scp = slowly(Client("hpn", server), background, data_file(3000000),
                 target)
    begun(target)
    for pid in server.connections():
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    assert scp.wait(harness.LONG) == 1
    errors = scp.stderr.read().decode()
    assert errors.endswith("hpnscp: Connection closed\n"), errors


def test_server_that_hangs(make_server, background, data_file, tmp_path):
    server = make_server()
    target = tmp_path / "there/out"
    target.parent.mkdir()
    scp = slowly(Client("hpn", server), background, data_file(3000000),
                 target, "ServerAliveInterval=1", "ServerAliveCountMax=1")
    begun(target)
    harness.signal_all(server.connections(), 19)
    try:
        assert scp.wait(harness.LONG) == 1
    finally:
        harness.signal_all(server.connections(), 18)
    errors = scp.stderr.read().decode()
    assert "Timeout, server 127.0.0.1 not responding." in errors, errors


def test_interrupt(ssh, background, data_file, tmp_path):
    target = tmp_path / "there/out"
    target.parent.mkdir()
    scp = slowly(ssh, background, data_file(3000000), target)
    begun(target)
    scp.send_signal(15)  # 2 is ignored where the tests run in background
    assert scp.wait(harness.LONG) == 1


def test_nobody_there(keys, data_file, tmp_path):
    done = run([hpn("scp"), "-F", "none", "-P", str(harness.free_port()),
                data_file(1), f"127.0.0.1:{tmp_path}/x"])
    assert done.rc == 255
    assert re.search(r"connect to host 127.0.0.1 port \d+: Connection refused"
                     r"\nhpnscp: Connection closed\n$", done.errors), done


# ---- beside the data ----------------------------------------------------

@pytest.mark.parametrize("cipher", ["aes128-gcm@openssh.com",
                                    "chacha20-poly1305@openssh.com",
                                    "aes128-ctr"])
def test_rekeys(kind, cipher, shared_servers, data_file, tmp_path):
    user = Client("hpn", shared_servers(kind))
    data = data_file(20 * harness.MIB + 1)
    options = (f"Ciphers={cipher}", "RekeyLimit=1M")
    user.scp(data, f":{tmp_path}/up", options=options).ok()
    assert (tmp_path / "up").read_bytes() == data.read_bytes()
    user.scp(f":{data}", tmp_path / "down", options=options).ok()
    assert (tmp_path / "down").read_bytes() == data.read_bytes()


def test_compression(kind, shared_servers, data_file, tmp_path):
    user = Client("hpn", shared_servers(kind))
    data = data_file(3 * harness.MIB)
    user.scp(data, f":{tmp_path}/up", flags=["-C"]).ok()
    assert (tmp_path / "up").read_bytes() == data.read_bytes()


def test_in_clear(make_server, ssh, data_file, tmp_path):
    data = data_file(3 * harness.MIB)
    user = Client("hpn", make_server("NoneEnabled yes"))
    done = user.scp(data, f":{tmp_path}/up", flags=["-z"]).ok()
    assert "NOT ENCRYPTED" in done.errors
    assert (tmp_path / "up").read_bytes() == data.read_bytes()
    # A server that does not allow it: one line, and nothing is copied.
    done = ssh.scp(data, f":{tmp_path}/not", flags=["-z"])
    assert done.rc == 1
    assert done.errors.splitlines() == [
        'The server does not allow the cipher "none"',
        "hpnscp: Connection closed"], done
    assert not (tmp_path / "not").exists()


def test_why_slow(ssh, data_file, tmp_path):
    done = ssh.scp(data_file(4 * harness.MIB), f":{tmp_path}/up",
                   flags=["-v", "-l", "40000"]).ok()
    assert "What held this connection back: " in done.errors, done
    assert "Authenticated to 127.0.0.1" in done.errors
    assert ssh.scp(data_file(10), f":{tmp_path}/up",
                   flags=["-q"]).ok().errors == ""


def test_remote_errors_are_shown(make_server, data_file, tmp_path):
    """What the server's program says on its standard error."""
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\necho 'a word' >&2\n"
                      f"exec {hpn('sftp-server')}\n")
    script.chmod(0o755)
    server = make_server(f"ForceCommand {script}")
    done = Client("hpn", server).scp(data_file(10), f":{tmp_path}/up").ok()
    assert done.errors == "a word\n", done


def test_through_a_proxy_command(sshd, data_file, tmp_path):
    user = Client("hpn", sshd)
    data = data_file(5 * harness.MIB)
    command = f"{hpn('sshd')} -i -f {sshd.config} -E {tmp_path}/log"
    user.scp(data, f":{tmp_path}/up",
             options=(f"ProxyCommand={command}",)).ok()
    assert (tmp_path / "up").read_bytes() == data.read_bytes()


def test_two_hosts_at_once(kind, shared_servers, data_file, tmp_path):
    """Connections to both live in one loop."""
    user, data = Client("hpn", shared_servers(kind)), data_file(9 << 20)
    run([hpn("scp"), *user.options(), data,
         f"scp://127.0.0.1:{user.server.port}/{tmp_path}/a"]).ok()
    run([hpn("scp"), *user.options(f"HostKeyAlias=[127.0.0.1]:"
                                   f"{user.server.port}"),
         f"scp://127.0.0.1:{user.server.port}/{tmp_path}/a",
         f"scp://localhost:{user.server.port}/{tmp_path}/b"]).ok()
    assert (tmp_path / "b").read_bytes() == data.read_bytes()
