# SPDX-License-Identifier: ISC
"""Programs that call ssh, scp and sftp by these names do the same with our
links first in PATH as with the installed OpenSSH, and are given no option:
they have a configuration that names a host."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from callers import Caller, fuse_problem, need
from forwarding import free_port, reach, says, service, to_the_end

import harness
from harness import LONG, ME, wait_for

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "scp", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(harness.mount_problem() is not None,
                       reason=str(harness.mount_problem()))]


@pytest.fixture
def make_caller(short, keys, request):
    """make_caller(ssh, sshd, config): somebody in whose PATH that ssh is; at
    the end the proof that it was the one that connected."""
    made = []

    def make(ssh, sshd, config=""):
        for kind, name in (ssh, "ssh"), (sshd, "sshd"):
            if not harness.have(kind, name):
                pytest.skip(f"no {kind} {name} is here")
        links = request.getfixturevalue("installed") if ssh == "hpn" else None
        made.append((ssh, Caller(short, keys, sshd, links, config)))
        return made[-1][1].__enter__()

    yield make
    for ssh, caller in made:
        caller.__exit__()
        for program in caller.connected():
            assert Path(program).name.startswith("hpn") == (ssh == "hpn")


@pytest.fixture(params=["hpn-hpn", "hpn-stock", "stock-hpn"])
def caller(request, make_caller):
    """The ssh in PATH, and the server. It connects, if it is used at all."""
    one = make_caller(*request.param.split("-"))
    yield one
    assert one.connected() or not one.connects


# For programs that take long: what they do with a server is done by others.
TO_OURS = pytest.mark.parametrize("caller", ["hpn-hpn", "stock-hpn"],
                                  indirect=True)


@pytest.fixture(params=["hpn", "stock"])
def ssh(request):
    return request.param


def tree(top):
    """A few files to copy."""
    (top / "below").mkdir(parents=True)
    for n, size in enumerate((0, 1, 70000)):
        (top / f"file {n}").write_bytes(os.urandom(size))
        (top / "below" / f"{n}").write_bytes(os.urandom(size))
    return top


def same(one, other):
    assert harness.listing(one) == harness.listing(other)


# ---- copies ----------------------------------------------------------------

def test_rsync(caller):
    need("rsync")
    source = tree(caller.dir / "from")
    caller.run("rsync", "-a", "from/", f"there:{caller.dir}/to/").ok()
    caller.run("rsync", "-az", f"there:{caller.dir}/to/", "back/").ok()
    same(source, caller.dir / "to")
    same(source, caller.dir / "back")
    done = caller.run("rsync", "there:/nothing/there", "x")
    assert done.rc == 23 and "No such file" in done.errors, done


def test_scp(caller):
    source = tree(caller.dir / "from")
    for flag in "-s", "-O":
        to, back, third = (f"{name}{flag}" for name in ("to", "back", "third"))
        caller.run("scp", flag, "-pr", "from", f"there:{caller.dir}/{to}").ok()
        caller.run("scp", flag, "-prq", f"there:{caller.dir}/{to}", back).ok()
        caller.run("scp", flag, "-3pr", f"there:{caller.dir}/{to}",
                   f"there:{caller.dir}/{third}").ok()
        for name in to, back, third:
            same(source, caller.dir / name)
        done = caller.run("scp", flag, "there:/nothing", "x")
        assert done.rc == 1 and "No such file" in done.errors, done


def test_sftp_script(caller):
    """A script: a line that may fail, and one at which it ends."""
    (caller.dir / "file").write_bytes(os.urandom(70000))
    script = (f"# upload\n-mkdir {caller.dir}\ncd {caller.dir}\nmkdir up\n"
              "put -p file up/new\nrename up/new up/old\nls -1 up\n"
              "get up/old fetched\n!echo of the shell\nlcd /nothing\nmkdir no\n")
    done = caller.run("sftp", "-b", "-", "there", stdin=script.encode())
    assert done.rc == 1, done
    shown = [line for line in done.text.splitlines() if "sftp>" not in line]
    assert [line for line in shown if line] == ["up/old", "of the shell"]
    assert (caller.dir / "fetched").read_bytes() == \
        (caller.dir / "file").read_bytes()
    assert not (caller.dir / "no").exists()
    (caller.dir / "script").write_text("rm up/old\nrmdir up\n")
    caller.run("sftp", "-q", "-b", "script", f"there:{caller.dir}").ok()
    assert not (caller.dir / "up").exists()
    assert caller.run("sftp", "-b", "script", "there").rc == 1


def test_rclone(caller):
    """It has an SSH of its own, and asks the agent, and the file that
    ssh-keyscan has written."""
    need("rclone"), need("ssh-agent")
    source = tree(caller.dir / "from")
    remote = (f":sftp,host=127.0.0.1,port={caller.server.port},user={ME},"
              "key_use_agent=true,known_hosts_file=known:"
              f"{caller.dir}/to")
    (caller.dir / "script").write_text(
        "set -e\nssh-add -q \"$1\"\n"
        f"ssh-keyscan -p {caller.server.port} 127.0.0.1 >known 2>scanned\n"
        'rclone copy from "$2"\nrclone check --download from "$2"\n'
        'rclone check from "$2"\nrclone copy "$2" back\n')
    caller.run("ssh-agent", "sh", "script", caller.keys.path("ed25519"),
               remote, RCLONE_CONFIG="/dev/null").ok()
    same(source, caller.dir / "to")
    same(source, caller.dir / "back")
    caller.connects = False


# ---- git -------------------------------------------------------------------

def test_git(caller):
    need("git")
    url = f"there:{caller.dir}/origin"
    caller.run("git", "init", "-q", "--bare", "-b", "main", "origin").ok()
    caller.run("git", "clone", "-q", url, "one").ok()
    (caller.dir / "one/file").write_bytes(os.urandom(70000))
    caller.run("git", "-C", "one", "add", ".").ok()
    caller.run("git", "-C", "one", "commit", "-qm", "first").ok()
    caller.run("git", "-C", "one", "push", "-q", "origin", "HEAD:main").ok()
    caller.run("git", "clone", "-q", "--depth", "1", url, "two").ok()
    assert (caller.dir / "one/file").read_bytes() == \
        (caller.dir / "two/file").read_bytes()
    done = caller.run("git", "ls-remote", f"there:{caller.dir}/none")
    assert done.rc == 128 and "does not appear to be a git" in done.errors


def test_git_tries_a_program_it_does_not_know(caller):
    """By -G: one that takes it is given a port and SendEnv."""
    git = need("git")
    path = next(Path(directory) / "ssh" for directory in caller.path.split(":")
                if (Path(directory) / "ssh").exists())
    (caller.dir / "connector").symlink_to(path)
    caller.configure("127.0.0.1")
    caller.run(git, "init", "-q", "--bare", "origin").ok()
    done = caller.run(
        git, "ls-remote",
        f"ssh://127.0.0.1:{caller.server.port}{caller.dir}/origin",
        GIT_SSH=caller.dir / "connector", GIT_TRACE="1",
        GIT_TRACE_PACKET="1").ok()
    assert re.search(r"connector -G .*127\.0\.0\.1", done.errors), done
    assert re.search(r"connector -o SendEnv=GIT_PROTOCOL -p \d+", done.errors)


# ---- backups ---------------------------------------------------------------

@TO_OURS
def test_borg(caller):
    need("borg")
    source = tree(caller.dir / "from")
    env = {"BORG_BASE_DIR": caller.dir / "borg",
           "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
           "BORG_REPO": f"ssh://there{caller.dir}/backups"}
    caller.run("borg", "init", "-e", "none", **env).ok()
    caller.run("borg", "create", "::first", "from", **env).ok()
    (caller.dir / "back").mkdir()
    caller.run("sh", "-c", "cd back && borg extract ::first", **env).ok()
    same(source, caller.dir / "back/from")


@TO_OURS
def test_restic(caller):
    need("restic")
    source = tree(caller.dir / "from")
    env = {"RESTIC_REPOSITORY": f"sftp:there:{caller.dir}/backups",
           "RESTIC_PASSWORD": "secret"}

    def restic(*args):
        caller.run("restic", "--no-cache", "-q", *args, **env).ok()

    restic("init")
    restic("backup", "from")
    restic("check")
    restic("restore", "latest", "--target", "back")
    same(source, caller.dir / "back/from")


# ---- mounts ----------------------------------------------------------------

def test_sshfs(caller):
    """What is mounted is seen by those that run in the same place only."""
    need("sshfs"), need("fusermount3")
    if fuse_problem():
        pytest.skip(fuse_problem())
    source = tree(caller.dir / "from")
    (caller.dir / "exported").mkdir()
    (caller.dir / "mount").mkdir()
    (caller.dir / "script").write_text(
        'sshfs "there:$PWD/exported" mount || exit 9\n'
        "cp -pr from/. mount && cp -pr mount/. back &&\n"
        "mv 'mount/file 1' mount/moved && df mount >/dev/null\n"
        "result=$?\nfusermount3 -u mount && exit $result\n")
    done = caller.run("sh", "script")
    if done.rc == 9 and "not permitted" in done.errors:
        pytest.skip(f"mounting is not possible here: {done.errors.strip()}")
    done.ok()
    same(source, caller.dir / "back")
    assert (caller.dir / "exported/moved").stat().st_size == 1


# ---- Ansible ---------------------------------------------------------------

@TO_OURS
def test_ansible(caller):
    """With its default options: a connection that is shared and compressed,
    an interpreter that it looks for, files by sftp."""
    need("ansible")
    (caller.dir / "file").write_bytes(os.urandom(70000))
    (caller.dir / "hosts").write_text("there\n")
    (caller.dir / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "tasks": [
            {"copy": {"src": f"{caller.dir}/file",
                      "dest": f"{caller.dir}/copied"}},
            {"command": "sh -c 'echo told; exit 3'", "register": "told",
             "failed_when": "told.rc != 3 or told.stdout != 'told'"},
            {"fetch": {"src": f"{caller.dir}/copied", "flat": True,
                       "dest": f"{caller.dir}/fetched"}}]}]))
    caller.run("ansible-playbook", "-i", "hosts", "play.yml",
               ANSIBLE_NOCOLOR="1").ok()
    sockets = list((caller.home / ".ansible/cp").iterdir())
    assert len(sockets) == 1
    caller.run("ssh", "-S", sockets[0], "-O", "exit", "there").ok()
    assert caller.logins() == 1
    for name in "copied", "fetched":
        assert (caller.dir / name).read_bytes() == \
            (caller.dir / "file").read_bytes()


# ---- programs that stay ----------------------------------------------------

MOSH_CLIENT = """#!/bin/sh
[ "$1" != -c ] || { echo 256; exit; }
shift
echo "client: $* $MOSH_KEY"
"""


@TO_OURS
@pytest.mark.parametrize("how", [
    [], ["--no-ssh-pty"], ["--experimental-remote-ip=remote"]],
    ids=["", "no-pty", "remote"])
def test_mosh_logs_in(caller, how):
    """Its own proxy between, a terminal, and the line that tells where the
    server that it has started waits. What talks to that is replaced."""
    need("mosh"), need("mosh-server")
    client = caller.script("client", MOSH_CLIENT)
    known = set(harness.children())
    try:
        done = caller.run("mosh", *how, f"--client={client}", "there").ok()
        assert re.search(
            r"^client: 127\.0\.0\.1 6\d{4} [A-Za-z0-9/+]{22}$", done.text,
            re.MULTILINE), done
        waiting = servers_of_mosh(known)
        assert len(waiting) == 1
    finally:
        for pid in servers_of_mosh(known):
            os.kill(pid, signal.SIGKILL)


def servers_of_mosh(known):
    return [pid for pid, (state, name) in harness.children().items()
            if pid not in known and name == "mosh-server" and state != "Z"]


def test_autossh(caller, background, service):
    """AUTOSSH_PATH, as Debian's has a path built in. The connection is
    killed, and the forward comes back."""
    there, here = service(), free_port()
    one = background(
        caller.args(need("autossh"), "-M", "0", "-N", "-L",
                    f"{here}:127.0.0.1:{there.port}", "there"),
        env=caller.env(AUTOSSH_PATH="ssh", AUTOSSH_GATETIME="0"),
        stderr=subprocess.DEVNULL)
    for logins in 1, 2:
        assert wait_for(lambda: says(here) == b"hello", LONG)
        assert caller.logins() == logins
        if logins == 1:
            harness.signal_all(caller.server.connections(), signal.SIGKILL)
            assert wait_for(lambda: caller.logins() == 2, LONG)
    one.terminate()
    assert one.wait(LONG) == 1


# ---- the extension of Visual Studio Code for remote hosts -------------------

def test_editor_reads_the_version(make_caller, ssh):
    done = make_caller(ssh, "hpn").run("ssh", "-V").ok()
    assert re.match(r"OpenSSH_\d+\.\d+\S*[, ]", done.errors) and not done.out
    assert len(done.errors.splitlines()) == 1
    assert ("HPNSSH" in done.errors) == (ssh == "hpn")


def test_editor_reads_the_configuration(make_caller, ssh):
    """-G prints the configuration of a name, a line for each keyword."""
    caller = make_caller(ssh, "hpn")
    with open(caller.home / ".ssh/config", "a", encoding="ascii") as f:
        f.write("  ProxyJump one,two\n  ForwardAgent yes\n"
                "  RemoteForward 9000 localhost:9001\n")
    done = caller.run("ssh", "-G", "there").ok()
    lines = dict(line.split(" ", 1) for line in done.text.splitlines())
    wanted = {"hostname": "127.0.0.1", "port": str(caller.server.port),
              "user": ME, "identityfile": str(caller.keys.path("ed25519")),
              "proxyjump": "one,two", "forwardagent": "yes",
              "remoteforward": "9000 [localhost]:9001",
              "connecttimeout": "none", "controlmaster": "false"}
    assert {key: lines.get(key) for key in wanted} == wanted


def test_editor_opens_a_window(caller, background, service):
    """A shell that is told by stdin what to do and answers between marks, a
    port for SOCKS, and lines for its log of how it went."""
    there, here = service(lambda sock: sock.sendall(b"fine")), free_port()
    process = background(
        caller.args("ssh", "-v", "-T", "-D", str(here), "-o",
                    "ConnectTimeout=15", "there", "bash"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=caller.env(),
        stderr=open(caller.dir / "errors", "wb"))
    process.stdin.write(b"echo 'mark: running'\nread line\nnever read\n"
                        b"echo \"mark: $line\"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"mark: running\n"
    assert process.stdout.readline() == b"mark: never read\n"
    with reach(here) as sock:
        sock.sendall(b"\5\1\0\5\1\0\1\x7f\0\0\1"
                     + there.port.to_bytes(2, "big"))
        assert to_the_end(sock).endswith(b"fine")
    out, _ = process.communicate(b"echo end; exit 4\n", timeout=LONG)
    assert (process.returncode, out) == (4, b"end\n")
    told = (caller.dir / "errors").read_bytes().decode()
    port = caller.server.port
    for line in (
            f"debug1: Connecting to 127.0.0.1 [127.0.0.1] port {port}.",
            f"Authenticated to 127.0.0.1 ([127.0.0.1]:{port}) using "
            '"publickey".',
            f"debug1: Local forwarding listening on 127.0.0.1 port {here}.",
            "debug1: Sending command: bash"):
        assert line in told.splitlines(), told


ASKPASS = """#!/bin/sh
printf '%s\\n' "$1" >>asked
case $1 in *yes/no*) echo yes ;; *) echo wrong ;; esac
"""


def test_editor_is_asked(make_caller, ssh):
    """By the program that it names, in words that it looks for."""
    caller = make_caller(ssh, "hpn", "PasswordAuthentication yes")
    key = caller.home / ".ssh/locked"
    caller.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f",
               key).ok()
    caller.user_file("known_hosts", "")
    config = caller.configure(
        "there", "HostName 127.0.0.1", f"Port {caller.server.port}",
        "NumberOfPasswordPrompts 1", key=key)
    askpass = caller.script("askpass", ASKPASS)
    with open(caller.server.authorized, "a", encoding="ascii") as f:
        f.write(Path(f"{key}.pub").read_text(encoding="ascii"))
    done = caller.run("ssh", "-T", "there", "true", DISPLAY=":none",
                      SSH_ASKPASS=askpass, SSH_ASKPASS_REQUIRE="force")
    assert done.rc == 255 and "Permission denied" in done.errors, done
    asked = (caller.dir / "asked").read_text()
    assert "Are you sure you want to continue connecting " \
        "(yes/no/[fingerprint])? \n" in asked
    assert f"Enter passphrase for key '{key}': \n" in asked
    assert f"{ME}@127.0.0.1's password: \n" in asked
    config.chmod(0o666)
    done = caller.run("ssh", "there")
    assert done.rc == 255
    assert done.errors.rstrip() == f"Bad owner or permissions on {config}"


def test_texts_name_the_host_that_is_connected_to(make_caller, ssh):
    """HostName's, as programs that wait for a prompt know it."""
    caller = make_caller(ssh, "hpn")
    done = caller.run("ssh", "-tt", "there", "true").ok()
    assert done.errors.rstrip() == "Connection to 127.0.0.1 closed."
    done = caller.run("ssh", "-p", "1", "there")
    assert done.rc == 255 and "ssh: connect to host 127.0.0.1 port 1: " \
        "Connection refused" in done.errors, done
    share = ["-S", caller.dir / "socket", "there"]
    caller.run("ssh", "-fNM", *share).ok()
    try:
        done = caller.run("ssh", "-tt", *share, "true").ok()
        assert done.errors.rstrip() == "Shared connection to 127.0.0.1 closed."
    finally:
        caller.run("ssh", "-O", "exit", *share).ok()
