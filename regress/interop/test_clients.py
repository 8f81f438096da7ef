# SPDX-License-Identifier: ISC
"""Programs and libraries of others that talk to hpnsshd."""

import asyncio
import filecmp
import os
import random
import shutil
import socket
import string
import subprocess
import threading

import pytest
from callers import fuse_problem, git_env, need

import harness
from harness import ME, MIB, Client, clean_env, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")


@pytest.fixture
def stock_client(sshd):
    need("ssh")
    return Client("stock", sshd)


def same(a, b):
    return filecmp.cmp(a, b, shallow=False)


# ---- the OpenSSH tools -------------------------------------------------

def test_ssh_exit_status(stock_client):
    assert stock_client.ssh("exit 41").rc == 41


def test_ssh_killed_by_signal(stock_client):
    assert stock_client.ssh("kill -TERM $$").rc == 255


def test_ssh_streams_are_apart(stock_client):
    done = stock_client.ssh("echo out; echo err >&2").ok()
    assert (done.out, done.err) == (b"out\n", b"err\n")


def test_ssh_pty(stock_client):
    done = stock_client.ssh("tty; stty size", flags=["-tt"]).ok()
    assert b"/dev/pts/" in done.out


def test_ssh_many_sessions_on_one_connection(stock_client, tmp_path):
    control = tmp_path / "c"
    args = [f"ControlPath={control}", "ControlMaster=auto",
            "ControlPersist=20"]
    try:
        assert stock_client.ssh("echo 0", options=args).ok().out == b"0\n"
        for i in range(1, 6):
            done = stock_client.ssh(f"echo {i}; exit {i}", options=args)
            assert (done.rc, done.out) == (i, f"{i}\n".encode())
    finally:
        stock_client.ssh(options=args, flags=["-O", "exit"])


def test_ssh_keyscan(sshd):
    done = run([need("ssh-keyscan"), "-p", sshd.port, "127.0.0.1"]).ok()
    found = {line.split()[1] for line in done.text.splitlines()
             if not line.startswith("#")}
    assert {"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256"} <= found


@pytest.mark.parametrize("flags", [[], ["-C"], ["-p"]], ids=str)
def test_scp_both_ways(stock_client, data_file, tmp_path, flags):
    source = data_file(5 * MIB + 17)
    stock_client.scp(source, f":{tmp_path}/up", flags=flags).ok()
    stock_client.scp(f":{tmp_path}/up", tmp_path / "down",
                     flags=flags).ok()
    assert same(source, tmp_path / "up")
    assert same(source, tmp_path / "down")


def test_scp_recursive(stock_client, tmp_path):
    for i in range(40):
        directory = tmp_path / "tree" / f"d{i % 5}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{i}").write_bytes(os.urandom(i * 997))
    stock_client.scp(tmp_path / "tree", f":{tmp_path}/copy",
                     flags=["-r"]).ok()
    stock_client.scp(f":{tmp_path}/copy", tmp_path / "back",
                     flags=["-r"]).ok()
    run(["diff", "-r", tmp_path / "tree", tmp_path / "back"]).ok()


def test_scp_old_protocol(stock_client, data_file, tmp_path):
    source = data_file(MIB)
    stock_client.scp(source, f":{tmp_path}/up", flags=["-O"]).ok()
    assert same(source, tmp_path / "up")


def test_scp_missing_file(stock_client, tmp_path):
    done = stock_client.scp(f":{tmp_path}/nothing", tmp_path / "x")
    assert done.rc == 1 and "No such file" in done.errors


SFTP_BATCH = """\
put {src} {dir}/a
ln -s a {dir}/link
ln {dir}/a {dir}/hard
rename {dir}/a {dir}/b
chmod 600 {dir}/b
mkdir {dir}/sub
ls -la {dir}
cp {dir}/b {dir}/sub/c
get {dir}/sub/c {dir}/back
df {dir}
rm {dir}/b
rm {dir}/sub/c
rmdir {dir}/sub
"""


def test_sftp_batch(stock_client, data_file, tmp_path, sshd):
    source = data_file(3 * MIB + 5)
    batch = tmp_path / "batch"
    text = SFTP_BATCH.format(src=source, dir=tmp_path)
    batch.write_text(text)
    run([need("sftp"), *stock_client.options(), "-P", sshd.port, "-b",
         batch, f"{ME}@127.0.0.1"], cwd=tmp_path).ok()
    assert same(source, tmp_path / "back")
    assert os.readlink(tmp_path / "link") == "a"
    assert same(source, tmp_path / "hard")
    assert not (tmp_path / "sub").exists()


# ---- programs that run ssh ---------------------------------------------

def ssh_command(client):
    port = ["-p", str(client.server.port)]
    return " ".join([need("ssh"), *client.options(), *port])


def test_git_clone_and_push(stock_client, tmp_path):
    git = need("git")
    env = git_env(GIT_SSH_COMMAND=ssh_command(stock_client))

    def call(*args):
        return run([git, *args], env=env, timeout=60).ok()

    bare, work = tmp_path / "bare.git", tmp_path / "work"
    call("init", "-q", "--bare", bare)
    url = f"ssh://{ME}@127.0.0.1{bare}"
    call("clone", "-q", url, work)
    (work / "big").write_bytes(os.urandom(2 * MIB))
    call("-C", work, "add", ".")
    call("-C", work, "commit", "-q", "-m", "one")
    call("-C", work, "push", "-q", "origin", "HEAD:main")
    call("clone", "-q", "-b", "main", url, tmp_path / "again")
    assert same(work / "big", tmp_path / "again/big")


def test_rsync_both_ways(stock_client, tmp_path):
    rsync = need("rsync")
    source = tmp_path / "from"
    source.mkdir()
    for i in range(30):
        (source / f"f{i}").write_bytes(os.urandom(i * 5001))
    remote = f"{ME}@127.0.0.1:{tmp_path}/there"
    shell = ssh_command(stock_client)
    run([rsync, "-a", "-e", shell, f"{source}/", remote], timeout=60).ok()
    run([rsync, "-a", "-e", shell, f"{remote}/", tmp_path / "back"],
        timeout=60).ok()
    run(["diff", "-r", source, tmp_path / "back"]).ok()


def test_sshfs(stock_client, background, data_file, tmp_path):
    sshfs, unmount = need("sshfs"), need("fusermount3")
    if fuse_problem():
        pytest.skip(fuse_problem())
    mount, exported = tmp_path / "mount", tmp_path / "exported"
    mount.mkdir()
    exported.mkdir()
    process = background(
        [sshfs, "-f", f"{ME}@127.0.0.1:{exported}", mount, "-o",
         f"ssh_command={ssh_command(stock_client)}"],
        stderr=subprocess.PIPE)
    harness.wait_for(lambda: process.poll() is not None
                     or os.path.ismount(mount))
    if process.poll() is not None:
        text = process.stderr.read().decode()
        if "not permitted" in text:
            pytest.skip(f"mounting is not possible here: {text.strip()}")
        pytest.fail(text)
    try:
        source = data_file(2 * MIB + 3)
        shutil.copy(source, mount / "file")
        (mount / "dir").mkdir()
        os.rename(mount / "file", mount / "dir/renamed")
        os.symlink("dir/renamed", mount / "link")
        assert os.listdir(mount / "dir") == ["renamed"]
        assert same(source, mount / "link")
        assert os.statvfs(mount).f_blocks > 0
        os.truncate(mount / "dir/renamed", 10)
    finally:
        run([unmount, "-u", mount])
        harness.wait_for(lambda: not os.path.ismount(mount))
    assert (exported / "dir/renamed").stat().st_size == 10


def test_curl_sftp(sshd, keys, data_file, tmp_path):
    curl = need("curl")
    if "sftp" not in run([curl, "-V"]).text:
        pytest.skip("this curl has no sftp")
    source = data_file(3 * MIB + 1)
    args = [curl, "-sS", "-k", "--key", keys.path("ed25519"), "--pubkey",
            f"{keys.path('ed25519')}.pub", "-u", f"{ME}:"]
    url = f"sftp://127.0.0.1:{sshd.port}{tmp_path}"
    run([*args, "-T", source, f"{url}/up"]).ok()
    run([*args, "-o", tmp_path / "down", f"{url}/up"]).ok()
    assert same(source, tmp_path / "down")


# ---- other clients -----------------------------------------------------

@pytest.mark.parametrize("key_type", ["ed25519", "ecdsa", "rsa"])
def test_dbclient(make_server, tmp_path, key_type):
    dbclient = need("dbclient")
    path = tmp_path / "key"
    run([need("dropbearkey"), "-t", key_type, "-f", path]).ok()
    public = run([need("dropbearkey"), "-y", "-f", path]).ok().text
    server = make_server()
    with open(server.authorized, "a") as f:
        f.write(next(line for line in public.splitlines()
                     if line.startswith(("ssh-", "ecdsa-"))) + "\n")
    data = os.urandom(4 * MIB)
    home = tmp_path / "home"
    home.mkdir()
    done = run([dbclient, "-y", "-y", "-T", "-i", path, "-p", server.port,
                "-l", ME, "127.0.0.1", "cat; exit 9"], stdin=data,
               env=clean_env(HOME=home), timeout=60)
    assert done.rc == 9, done
    assert done.out == data


@pytest.fixture
def plink(sshd, keys, tmp_path):
    """plink(command, *options): with a key in PuTTY's format."""
    need("plink")
    ppk = tmp_path / "key.ppk"
    home = tmp_path / "home"
    home.mkdir()
    env = clean_env(HOME=home)
    run([need("puttygen"), keys.path("ed25519"), "-O", "private", "-o",
         ppk], env=env).ok()
    fingerprint = run([need("ssh-keygen"), "-l", "-f",
                       f"{keys.path('ed25519-host')}.pub"]).ok()

    def call(command, *options, name="plink", **kw):
        return run([need(name), "-batch", "-i", ppk, "-P", sshd.port,
                    *(["-l", ME] if name == "plink" else []), "-hostkey",
                    fingerprint.text.split()[1], *options, *command],
                   env=env, timeout=60, **kw)
    return call


def test_plink(plink):
    data = os.urandom(4 * MIB)
    done = plink(["127.0.0.1", "cat; exit 5"], "-T", "-ssh", stdin=data)
    assert done.rc == 5, done
    assert done.out == data


def test_pscp(plink, data_file, tmp_path):
    source = data_file(3 * MIB + 1)
    plink([source, f"{ME}@127.0.0.1:{tmp_path}/up"], "-sftp", "-q",
          name="pscp").ok()
    plink([f"{ME}@127.0.0.1:{tmp_path}/up", tmp_path / "down"], "-sftp",
          "-q", name="pscp").ok()
    assert same(source, tmp_path / "down")


@pytest.fixture
def paramiko_client(sshd, keys):
    paramiko = pytest.importorskip("paramiko")
    client = paramiko.SSHClient()
    client.load_host_keys(str(sshd.known_hosts))
    client.connect("127.0.0.1", sshd.port, ME, timeout=10,
                   key_filename=str(keys.path("ed25519")),
                   allow_agent=False, look_for_keys=False)
    yield client
    client.close()


def test_paramiko_exec(paramiko_client):
    data = os.urandom(MIB)
    stdin, stdout, stderr = paramiko_client.exec_command(
        "cat; echo bad >&2; exit 6", timeout=60)
    feeder = threading.Thread(target=lambda: (
        stdin.write(data), stdin.channel.shutdown_write()))
    feeder.start()
    back = stdout.read()
    feeder.join()
    assert back == data
    assert stderr.read() == b"bad\n"
    assert stdout.channel.recv_exit_status() == 6


def test_paramiko_shell_with_pty(paramiko_client):
    channel = paramiko_client.invoke_shell(width=90, height=30)
    channel.settimeout(60)
    channel.send(b"stty size; echo do'ne'; exit 3\n")
    seen = b""
    while chunk := channel.recv(4096):
        seen += chunk
    assert b"30 90" in seen and b"done" in seen
    assert channel.recv_exit_status() == 3


def test_paramiko_sftp(paramiko_client, data_file, tmp_path):
    source = data_file(3 * MIB + 9)
    sftp = paramiko_client.open_sftp()
    sftp.put(str(source), f"{tmp_path}/up")
    sftp.get(f"{tmp_path}/up", f"{tmp_path}/down")
    sftp.chmod(f"{tmp_path}/up", 0o640)
    assert sftp.stat(f"{tmp_path}/up").st_mode & 0o777 == 0o640
    sftp.posix_rename(f"{tmp_path}/up", f"{tmp_path}/renamed")
    sftp.symlink("renamed", f"{tmp_path}/link")
    assert sftp.readlink(f"{tmp_path}/link") == "renamed"
    assert {"renamed", "down", "link"} <= set(sftp.listdir(str(tmp_path)))
    with pytest.raises(FileNotFoundError):
        sftp.stat(f"{tmp_path}/nothing")
    with pytest.raises(OSError):
        sftp.mkdir(f"{tmp_path}/renamed")
    assert same(source, tmp_path / "down")


def test_paramiko_rekey(paramiko_client):
    transport = paramiko_client.get_transport()
    for i in range(3):
        transport.renegotiate_keys()
        _, stdout, _ = paramiko_client.exec_command(f"echo {i}", timeout=60)
        assert stdout.read() == f"{i}\n".encode()
        # Its only reader waits for itself when a CLOSE comes after it has
        # sent KEXINIT: begin no rekey before the CLOSE is answered.
        assert harness.wait_for(lambda: stdout.channel.closed)
        transport.global_request("keepalive@openssh.com", wait=True)


def run_async(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60 * harness.SLOW))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", list(harness.BITS))
def test_asyncssh(sshd, keys, data_file, tmp_path, key):
    asyncssh = pytest.importorskip("asyncssh")
    source = data_file(2 * MIB)

    async def talk():
        async with asyncssh.connect(
                "127.0.0.1", sshd.port, username=ME, agent_path=None,
                config=None, client_keys=[str(keys.path(key))],
                known_hosts=str(sshd.known_hosts)) as conn:
            done = await conn.run("cat; exit 4", input=source.read_bytes(),
                                  encoding=None)
            assert done.exit_status == 4
            assert done.stdout == source.read_bytes()
            async with conn.start_sftp_client() as sftp:
                await sftp.put(str(source), f"{tmp_path}/up")
                await sftp.get(f"{tmp_path}/up", f"{tmp_path}/down")
            several = await asyncio.gather(*(conn.run(f"echo {i}")
                                             for i in range(8)))
            assert [x.stdout for x in several] == [f"{i}\n"
                                                   for i in range(8)]
    run_async(talk())
    assert same(source, tmp_path / "down")


# ---- peers with other limits -------------------------------------------

def test_long_command(stock_client):
    word = "".join(random.choices(string.ascii_letters, k=100_000))
    assert stock_client.ssh(f"printf %s {word} | wc -c").ok().text.strip() \
        == "100000"


def test_identification(sshd):
    with socket.create_connection(("127.0.0.1", sshd.port), 10) as s:
        line = s.makefile("rb").readline()
    assert line.startswith(b"SSH-2.0-OpenSSH_10.5_hpn18 HPNSSH_")
    assert line.endswith(b"\r\n")


def test_ssh_audit(sshd):
    """The newest ssh-audit of PyPI, if it is installed."""
    audit = stock("ssh-audit") or shutil.which("ssh-audit") or pytest.skip(
        "ssh-audit is not installed (pip install ssh-audit)")
    done = run([audit, "-n", "-l", "warn", "-p", sshd.port, "127.0.0.1"],
               timeout=60, env=dict(os.environ))
    assert "[fail]" not in done.text, done


def test_half_closed_stdin(sshd, stock_client):
    """A command that goes on after the end of its input."""
    done = run(stock_client.ssh_args() + ["cat; sleep 0.3; echo late"],
               stdin=b"early\n")
    assert done.ok().out == b"early\nlate\n"


def test_output_of_a_background_child(stock_client):
    """The channel stays open for a child that holds the output."""
    done = stock_client.ssh("(sleep 0.3; echo child) & echo parent").ok()
    assert done.out == b"parent\nchild\n"


def test_client_that_vanishes(sshd, stock_client):
    """Nothing of a session remains after its client was killed."""
    before = set(sshd.connections())
    process = harness.start(stock_client.ssh_args() + ["sleep 60"],
                            stderr=subprocess.DEVNULL)
    assert harness.wait_for(lambda: any(
        name == "sleep" for _, name in
        harness.descendants(sshd.process.pid).values()))
    harness.kill_group(process)
    assert harness.wait_for(lambda: not [
        name for pid, (state, name) in sshd.connections().items()
        if pid not in before and name.startswith("hpnsshd")]), \
        sshd.connections()


def test_exit_status_comes_before_close(paramiko_client):
    """A peer that has seen EOF may send CLOSE at once, as PuTTY does; it is
    answered when the command has ended, with its status first."""
    channel = paramiko_client.get_transport().open_session(timeout=60)
    channel.exec_command("exec </dev/null >/dev/null 2>&1; sleep 0.5; exit 5")
    assert channel.recv(10) == b""
    channel.close()
    harness.wait_for(lambda: channel.exit_status != -1)
    assert channel.exit_status == 5
