# SPDX-License-Identifier: ISC
"""Lines that scripts and editors look for in what hpnssh says."""

import re

import pytest
from terminal import Terminal

import harness
from harness import Client, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


def test_nothing_to_run_in_the_background():
    done = run([hpn("ssh"), "-F", "none", "-f", "localhost"])
    assert done.rc == 255
    assert done.errors == ("Cannot fork into background without a command "
                           "to execute.\n")


def test_key_that_is_not_there(ssh, tmp_path):
    done = ssh.ssh("true", options=["LogLevel=INFO"],
                   flags=["-i", str(tmp_path / "none")]).ok()
    assert (f"Warning: Identity file {tmp_path}/none not accessible: "
            "No such file or directory.\n") in done.errors


def test_key_that_others_may_read(sshd, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(sshd.keys.path("ed25519").read_bytes())
    key.chmod(0o644)
    client = Client("hpn", sshd, key=None)
    done = client.ssh("true", flags=["-i", str(key)])
    assert done.rc == 255
    assert f'Load key "{key}": bad permissions\n' in done.errors


def test_debug_lines(ssh):
    done = ssh.ssh("true", flags=["-v"]).ok()
    assert "debug1: Sending command: true\n" in done.errors
    assert f'Authenticated to 127.0.0.1 ([127.0.0.1]:{ssh.server.port}) ' \
        'using "publickey".\n' in done.errors
    done = ssh.ssh("nosuch", flags=["-v", "-s"])
    assert "debug1: Sending subsystem: nosuch\n" in done.errors
    done = ssh.ssh(flags=["-v"], stdin=b"exit\n").ok()
    assert "debug1: Entering interactive session.\n" in done.errors


def test_methods_that_can_continue(sshd, tmp_path):
    client = Client("hpn", sshd, key=None)
    done = client.ssh("true", flags=["-v"])
    assert done.rc == 255
    assert "debug1: Authentications that can continue: " in done.errors


def both(name, *args):
    """The first line and the exit code of ours, and of the stock program."""
    out = []
    for kind in ("hpn", "stock"):
        program = harness.program(kind, name)
        done = run([program, *args], env=dict(harness.clean_env(),
                                              SSH_AUTH_SOCK="/nonexistent"))
        out.append((done.errors.splitlines()[0], done.rc))
    return out


NEEDS_STOCK = pytest.mark.skipif(not harness.have("stock", "ssh"),
                                 reason="no stock OpenSSH")


@NEEDS_STOCK
@pytest.mark.parametrize("flags", [
    ["-p", "x"], ["-p", "0"], ["-p", "65536"], ["-c", "nosuch"],
    ["-c", "none"], ["-c", "aes128-ctr,nosuch"], ["-m", "nosuch"],
    ["-e", "xx"], ["-e", ""], ["-9"], ["--nosuch"], ["-o", "Port=x"],
    ["-L", "x"], ["-w", "x"], ["-E", "/nonexistent/x"], ["-O", "x"]], ids=str)
def test_wrong_flags_as_stock_tells_them(flags):
    ours, stock = both("ssh", "-F", "none", *flags, "h")
    assert ours == stock


@NEEDS_STOCK
@pytest.mark.parametrize("name", ["ssh", "sftp", "ssh-keygen", "ssh-agent",
                                  "ssh-keyscan"])
def test_unknown_letter(name):
    ours, stock = both(name, "-9")
    assert ours == stock
    assert ours[0] == "unknown option -- 9"


def test_add_tells_its_usage_without_an_agent():
    done = run([hpn("ssh-add"), "-?"], env=harness.clean_env())
    assert done.rc == 1
    assert done.errors.startswith("unknown option -- ?\nusage: hpnssh-add")


@pytest.fixture
def sshd_config(keys, tmp_path):
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n")
    return config


@pytest.mark.skipif(harness.stock("sshd") is None, reason="no stock sshd")
@pytest.mark.parametrize("flags, line", [
    (["-p", "x", "-t"], "Bad port number."),
    (["-p", "0", "-t"], "Bad port number."),
    (["-g", "x", "-t"], "Invalid login grace time."),
    (["-o", "Nosuch=1", "-t"],
     "command-line: line 0: Bad configuration option: Nosuch"),
    (["-E", "/nonexistent/x", "-t"],
     "Couldn't open logfile /nonexistent/x: No such file or directory"),
    (["-C", "x", "-T"], "Invalid test mode specification x"),
    (["-9"], "unknown option -- 9"),
    (["-p"], "option requires an argument -- p"),
    (["extra"], "Extra argument extra."),
    (["-f", "/nonexistent/x", "-t"],
     "/nonexistent/x: No such file or directory")], ids=str)
def test_wrong_flags_of_the_server(sshd_config, flags, line):
    ours, stock = both("sshd", "-f", sshd_config, *flags)
    assert ours == stock == (line, 1)


def test_wrong_configuration_of_the_server(sshd_config):
    sshd_config.write_text("Port x\n")
    done = run([hpn("sshd"), "-t", "-f", sshd_config])
    assert done.rc == 255


def test_debugged_server_ends_with_its_connection(make_server):
    """As stock's: with 255, also after a session that went well."""
    server = make_server(args=["-d"])
    Client("hpn", server).ssh("true").ok()
    assert server.process.wait(60) == 255


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_key_that_is_not_there_and_proxy_that_ends(tmp_path, kind):
    """The flag is looked at before anything else happens; the same word in a
    file of options is for hosts that may have such a key."""
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    line = (f"Warning: Identity file {tmp_path}/none not accessible: No such "
            "file or directory.")
    for flags, told in ((["-i", tmp_path / "none"], 1),
                        (["-o", f"IdentityFile={tmp_path}/none"], 0)):
        done = run([harness.program(kind, "ssh"), "-F", "none", "-o",
                    "ProxyCommand=false", *flags, "nohost", "true"])
        assert done.rc == 255
        assert done.errors.splitlines().count(line) == told, done


def test_proxy_that_ends():
    done = run([hpn("ssh"), "-F", "none", "-o", "ProxyCommand=echo hello",
                "-o", "LogLevel=INFO", "nohost", "true"])
    assert done.rc == 255
    assert done.errors == (
        "kex_exchange_identification: Connection closed by remote host\n"
        "hpnssh: it says: hello\n"
        "Connection closed by UNKNOWN port 65535\n")


def test_box_of_a_changed_key(sshd, tmp_path):
    files = tmp_path / "known_hosts"
    files.write_text(f"[127.0.0.1]:{sshd.port} "
                     f"{sshd.keys.public('ed25519')}\n")
    told = []
    for kind in ("hpn", "stock"):
        if not harness.have(kind, "ssh"):
            continue
        done = run([harness.program(kind, "ssh"), "-F", "none", "-p",
                    str(sshd.port), "-o", "StrictHostKeyChecking=yes", "-o",
                    "HostKeyAlgorithms=ssh-ed25519", "-o",
                    f"UserKnownHostsFile={files}", "127.0.0.1", "true"])
        assert done.rc == 255
        lines = done.errors.splitlines()
        assert lines[1] == ("@    WARNING: REMOTE HOST IDENTIFICATION HAS "
                            "CHANGED!     @")
        for line in ("IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!",
                     f"Add correct host key in {files} to get rid of this "
                     "message.",
                     f"Offending ED25519 key in {files}:1"):
            assert line in lines
        told.append(lines[:4] + lines[-2:])
    assert all(t == told[0] for t in told)


def test_debug_lines_of_a_whole_connection(ssh):
    done = ssh.ssh("exit 3", flags=["-v"])
    assert done.rc == 3
    for line in ("Local version string SSH-2.0-OpenSSH_",
                 "Remote protocol version 2.0, remote software version OpenSS",
                 "Server host key: ssh-ed25519 SHA256:", "Exit status 3\n"):
        assert f"\ndebug1: {line}" in done.errors
    found = re.search(r"^Transferred: sent (\d+), received (\d+) bytes, in "
                      r"(\d+\.\d) seconds\nBytes per second: sent \d+\.\d, "
                      r"received \d+\.\d\n", done.errors, re.M)
    assert found, done
    # the key exchange alone is more than a kilobyte in each direction
    assert 1000 < int(found[1]) < 20000 and 1000 < int(found[2]) < 20000
    assert float(found[3]) < 60
    assert "Transferred" not in ssh.ssh("true").ok().errors


def test_next_method(sshd):
    client = Client("hpn", sshd, key="rsa")
    done = client.ssh("true", flags=["-v"]).ok()
    assert "debug1: Next authentication method: publickey\n" in done.errors


def test_login_by_a_proxy(ssh):
    python = ("import socket,sys,os,threading;"
              f"s=socket.create_connection(('127.0.0.1',{ssh.server.port}));"
              "f=lambda a,b:[os.write(b,d) for d in iter("
              "lambda:os.read(a,65536),b'')];"
              "threading.Thread(target=f,args=(0,s.fileno()),daemon=True)"
              ".start();f(s.fileno(),1)")
    done = ssh.ssh("true", flags=["-v"], options=[
        f'ProxyCommand=python3 -c "{python}"']).ok()
    assert 'Authenticated to 127.0.0.1 (via proxy) using "publickey".\n' \
        in done.errors


@pytest.mark.parametrize("deny", [False, True], ids=["there", "denied"])
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_what_scp_tried(tmp_path, kind, deny):
    """The words in front of a name, as scp has them for what it asked."""
    if not harness.have(kind, "scp") or not harness.have("hpn", "sftp-server"):
        pytest.skip(f"no {kind} scp")
    server = tmp_path / "server"
    server.write_text(f"#!/bin/sh\nexec {hpn('sftp-server')} "
                      f"{'-P open' if deny else ''}\n")
    server.chmod(0o755)
    here = tmp_path / "f"
    here.write_bytes(bytes(100000))

    def line(*args):
        done = run([harness.program(kind, "scp"), "-D", server, *args])
        assert done.rc in (1, 255), done
        return done.errors.splitlines()[0].split(": ", 1)[1]

    none = f"{tmp_path}/none"
    reason = "Permission denied" if deny else "No such file or directory"
    assert line(here, f"x:{none}/x") == f'dest open "{none}/x": {reason}'
    if deny:
        assert line(f"x:{here}", none) == f'remote open "{here}": {reason}'
        return
    assert line(f"x:{here}", f"{none}/x") == f'open local "{none}/x": {reason}'
    assert line(none, f"x:{none}/x") == f'stat local "{none}": {reason}'
    assert line(f"x:{none}", here) == f"{none}: {reason}"


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_identity_file_that_is_not_there(tmp_path, kind):
    """It is told, and as if it had not been named."""
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")

    def files(*args):
        done = harness.run([harness.program(kind, "ssh"), "-F", "none", "-G",
                            *args, "host"]).ok()
        return [x for x in done.text.splitlines()
                if x.startswith("identityfile ")]
    there = tmp_path / "there"
    there.write_text("")
    assert files("-i", tmp_path / "none") == files()
    assert files("-i", tmp_path / "none", "-i", there) == files("-i", there)


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("flag", ["-t", "-tt"])
def test_terminal_that_is_refused(make_server, kind, flag):
    """It was asked for: that is an error, and nothing is shown."""
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    client = Client(kind, make_server("PermitTTY no\n"), log_level="INFO")
    with Terminal([*client.ssh_args(flags=[flag]), "echo r''an"]) as seen:
        seen.expect("PTY allocation request failed on channel 0")
        assert seen.wait() == 255
        assert b"ran" not in seen.shown
    with Terminal(client.ssh_args()) as seen:  # a shell does without
        seen.expect("PTY allocation request failed on channel 0")
        # Stock's leaves raw mode after that, and what was typed is lost.
        assert harness.wait_for(lambda: not seen.is_raw())
        seen.line("echo r''an; exit 3")
        seen.expect("ran")
        assert seen.wait() == 3
