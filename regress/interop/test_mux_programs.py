# SPDX-License-Identifier: ISC
"""Shared connections of hpnssh as other programs use them: those that find or
make a master by the options they give, and those that are led to one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from callers import fuse_problem, git_env, need
from forwarding import answers, free_port, reach, says, service, to_the_end
from muxes import Master, control, is_socket, mux_client

import harness
from harness import LONG, ME, MIB, Client, clean_env, run, start, stock, \
    wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
SERVERS = pytest.mark.parametrize("kind", ["hpn", "stock"])


@pytest.fixture
def server(make_server):
    return make_server()


def logins(server):
    return server.log_text().count("Accepted publickey")


class Shared:
    """The options that share a connection of hpnssh, made when it is first
    wanted, and its end."""

    def __init__(self, server, path, *options):
        self.client, self.path = Client("hpn", server), path
        self.args = [harness.hpn("ssh"), *self.client.options(
            "ControlMaster=auto", "ControlPersist=60", f"ControlPath={path}",
            *options), "-p", str(server.port)]
        self.command = " ".join(self.args)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if is_socket(self.path):
            control("hpn", self.path, "exit")
        assert wait_for(lambda: not is_socket(self.path))


@pytest.fixture
def auto(server, short):
    with Shared(server, short / "socket") as one:
        yield one


# ---- Ansible ---------------------------------------------------------------

class Ansible:
    """ansible with its default arguments for ssh, but for our program."""

    def __init__(self, kind, server, directory):
        client = Client("hpn", server)
        self.path = directory / "cp"
        self.command = [
            need("ansible"), "all", "-i", "127.0.0.1,", "-e",
            f"ansible_port={server.port} ansible_user={ME} "
            "ansible_python_interpreter=/usr/bin/python3"]
        self.env = clean_env(
            HOME=directory, ANSIBLE_SSH_EXECUTABLE=harness.hpn("ssh"),
            ANSIBLE_SFTP_EXECUTABLE=harness.program(kind, "sftp"),
            ANSIBLE_SSH_TRANSFER_METHOD="sftp",
            ANSIBLE_SSH_CONTROL_PATH_DIR=self.path, ANSIBLE_NOCOLOR="1",
            ANSIBLE_REMOTE_TEMP=directory / "remote",
            ANSIBLE_LOCAL_TEMP=directory / "local",
            ANSIBLE_SSH_COMMON_ARGS=" ".join(client.options()))

    def module(self, *args):
        return run([*self.command, *args], env=self.env, timeout=LONG).ok()

    @property
    def socket(self):
        one, = self.path.iterdir()
        return one


@pytest.mark.parametrize("sftp", ["hpn", "stock"])
def test_ansible(server, short, sftp):
    """Its ssh and sftp of one task share a connection, the next task has it
    too."""
    if not harness.have(sftp, "sftp"):
        pytest.skip("no such sftp")
    ansible = Ansible(sftp, server, short)
    assert '"ping": "pong"' in ansible.module("-m", "ping").text
    first = logins(server)
    master = control("hpn", ansible.socket, "check").ok().errors
    assert '"ping": "pong"' in ansible.module("-m", "ping").text
    assert control("hpn", ansible.socket, "check").ok().errors == master
    again = logins(server) - first
    assert (first, again) == (1, 0)
    done = ansible.module("-m", "command", "-a", "echo twice")
    assert "rc=0" in done.text and "twice" in done.text
    assert control("hpn", ansible.socket, "stop").rc == 0
    assert wait_for(lambda: not list(ansible.path.iterdir()))
    pid = int(re.search(r"pid=(\d+)", master)[1])
    assert wait_for(lambda: not os.path.exists(f"/proc/{pid}")
                    or "State:\tZ" in Path(f"/proc/{pid}/status").read_text())


# ---- git, rsync, OpenSSH's sftp and scp, lftp, sshfs -----------------------

def test_git(auto, server, tmp_path):
    """clone, push and fetch, of which the first makes the connection."""
    git = need("git")
    env = git_env(GIT_SSH_COMMAND=auto.command, GIT_SSH_VARIANT="ssh")

    def call(*args):
        return run([git, *args], env=env).ok().text

    there, one, two = (tmp_path / name for name in ("there", "one", "two"))
    call("init", "-q", "--bare", "-b", "main", there)
    url = f"ssh://{ME}@127.0.0.1{there}"
    call("clone", "-q", url, one)
    call("clone", "-q", url, two)
    for n in range(3):
        (one / "file").write_bytes(os.urandom(MIB))
        call("-C", one, "add", ".")
        call("-C", one, "commit", "-q", "-m", f"{n}")
        call("-C", one, "push", "-q", "origin", "HEAD:main")
        call("-C", two, "fetch", "-q", "origin")
        assert call("-C", two, "rev-parse", "origin/main") \
            == call("-C", one, "rev-parse", "HEAD")
    call("-C", two, "merge", "-q", "--ff-only", "origin/main")
    assert (one / "file").read_bytes() == (two / "file").read_bytes()
    assert logins(server) == 1


def test_rsync_beside_others(auto, server, tmp_path):
    """Two that copy at once, and short commands all the while."""
    rsync = need("rsync")
    run([*auto.args, "127.0.0.1", "true"]).ok()
    source = tmp_path / "from"
    source.mkdir()
    for n in range(10):
        (source / str(n)).write_bytes(os.urandom(MIB))
    copies = [start([rsync, "-a", "-e", auto.command, f"{source}/",
                     f"{ME}@127.0.0.1:{tmp_path}/to{n}/"]) for n in range(2)]
    for n in range(10):
        done = run([*auto.args, "127.0.0.1", f"echo {n}; exit {n}"])
        assert (done.rc, done.text) == (n, f"{n}\n"), done
    for n, copy in enumerate(copies):
        assert copy.wait(LONG) == 0
        assert harness.listing(source) == harness.listing(tmp_path / f"to{n}")
    assert logins(server) == 1


def test_stock_sftp_and_scp(auto, server, data_file, tmp_path):
    """-S: they run our program in place of ssh."""
    need("sftp"), need("scp")
    # From release 10.0 on they forbid it to become a master.
    run([*auto.args, "127.0.0.1", "true"]).ok()
    source = data_file(3 * MIB + 1)
    flags = ["-S", auto.args[0], *auto.args[1:-2], "-P", auto.args[-1]]
    run([stock("scp"), *flags, source, f"{ME}@127.0.0.1:{tmp_path}/up"]).ok()
    done = run([stock("sftp"), *flags, "-b", "-", f"{ME}@127.0.0.1"],
               stdin=f"get {tmp_path}/up {tmp_path}/down\n".encode())
    assert source.read_bytes() == (tmp_path / "down").read_bytes(), done.ok()
    run([stock("scp"), "-O", *flags, f"{ME}@127.0.0.1:{tmp_path}/up",
         tmp_path / "old"]).ok()
    assert source.read_bytes() == (tmp_path / "old").read_bytes()
    assert logins(server) == 1


def test_lftp(auto, server, data_file, tmp_path):
    lftp = need("lftp")
    source = data_file(3 * MIB + 1)
    home = tmp_path / "home"
    home.mkdir()
    script = (
        f'set net:max-retries 1; set sftp:connect-program "{auto.command} -a -x"; '
        f"open sftp://{ME}:@127.0.0.1:{server.port}; "
        f"put {source} -o {tmp_path}/up; get {tmp_path}/up -o "
        f"{tmp_path}/down")
    for _ in range(2):
        (tmp_path / "down").unlink(missing_ok=True)
        run([lftp, "-c", script], env=clean_env(HOME=home)).ok()
        assert source.read_bytes() == (tmp_path / "down").read_bytes()
    assert logins(server) == 1


def test_sshfs(auto, server, background, data_file, tmp_path):
    """A master is there, and goes on when the mount is gone."""
    sshfs, unmount = need("sshfs"), need("fusermount3")
    if fuse_problem():
        pytest.skip(fuse_problem())
    run([*auto.args, "127.0.0.1", "true"]).ok()
    mount, exported = tmp_path / "mount", tmp_path / "exported"
    mount.mkdir()
    exported.mkdir()
    process = background(
        [sshfs, "-f", f"{ME}@127.0.0.1:{exported}", mount, "-o",
         f"ssh_command={auto.command}"], stderr=subprocess.PIPE)
    wait_for(lambda: process.poll() is not None or os.path.ismount(mount))
    if process.poll() is not None:
        text = process.stderr.read().decode()
        if "not permitted" in text:
            pytest.skip(f"mounting is not possible here: {text.strip()}")
        pytest.fail(text)
    try:
        source = data_file(4 * MIB + 3)
        shutil.copy(source, mount / "file")
        assert (exported / "file").read_bytes() == source.read_bytes()
        done = run([*auto.args, "127.0.0.1", "echo beside it"]).ok()
        assert done.text == "beside it\n"
        assert (mount / "file").read_bytes() == source.read_bytes()
    finally:
        run([unmount, "-u", mount])
        wait_for(lambda: not os.path.ismount(mount))
    assert process.wait(LONG) == 0
    assert control("hpn", auto.path, "check").rc == 0
    assert logins(server) == 1


# ---- forwards through a master ---------------------------------------------

@SERVERS
def test_editor(shared_servers, short, service, kind):
    """An editor's window: a shell by stdin with -D at the master of another;
    the port stays when the shell ends."""
    client, here, there = Client("hpn", shared_servers(kind)), free_port(), \
        service(lambda sock: sock.sendall(b"fine"))
    with Master("hpn", client.server, short / "socket"):
        done = run(mux_client("hpn", short / "socket", "bash",
                             flags=["-T", "-D", str(here)]),
                   stdin=b"echo one\nread x\ntwo\necho $x; exit 4\n")
        assert (done.rc, done.out) == (4, b"one\ntwo\n"), done
        with reach(here) as sock:
            sock.sendall(b"\4\1" + there.port.to_bytes(2, "big")
                         + b"\x7f\0\0\1\0")
            assert to_the_end(sock)[8:] == b"fine"
    assert wait_for(lambda: not answers(here))


def test_autossh_finds_a_master(auto, server, background, service):
    """A forward of autossh, which is a mux client, is added to the master;
    when the connection is killed, it makes one of its own."""
    there, here = service(), free_port()
    run([*auto.args, "127.0.0.1", "true"]).ok()
    background([need("autossh"), "-M", "0", *auto.args[1:], "-N", "-L",
                f"{here}:127.0.0.1:{there.port}", "127.0.0.1"],
               env=clean_env(AUTOSSH_PATH=harness.hpn("ssh"),
                             AUTOSSH_GATETIME="0"), stderr=subprocess.DEVNULL)
    assert wait_for(lambda: says(here) == b"hello", LONG)
    assert logins(server) == 1
    harness.signal_all(server.connections(), 9)
    assert wait_for(lambda: not is_socket(auto.path) or logins(server) == 2)
    assert wait_for(lambda: says(here) == b"hello", LONG)
    assert logins(server) == 2
