# SPDX-License-Identifier: ISC
"""On a kernel without the system calls that only newer kernels have, or only
Linux, programs do the same in another way. Calls are refused one by one, and
all of them at once."""

import os
import subprocess

import pytest
from faults.proxy import Proxy
from muxes import mux_client
from refusing import CALLS, refusing
from sync_ways import fill

import harness
from harness import LONG, MIB, Client, hpn, run, start, wait_for

pytestmark = pytest.mark.skipif(not CALLS, reason="the numbers of this "
                                "machine's system calls are not known")


class Old(Client):
    """A client on a kernel without any of these calls."""

    def ssh_args(self, *more, flags=()):
        return refusing(CALLS, super().ssh_args(*more, flags=flags))

    def tool(self, name, *args):
        return run(refusing(CALLS, [hpn(name), *self.options(), "-P",
                                   self.server.port, *args]), timeout=LONG)


@pytest.fixture
def tree(tmp_path):
    """A tree of files for which the calls are used: links, holes and so on."""
    top = fill(tmp_path / "tree", {
        "a": 5, "sub/large": 3 * MIB + 1, "sub/other": 70_000})
    (top / "link").symlink_to("sub/large")
    os.link(top / "a", top / "sub/again")
    with open(top / "holes", "wb") as f:
        f.seek(2 * MIB)
        f.write(b"end")
    try:
        os.setxattr(top / "a", "user.hpn", b"value")
    except OSError:
        pass  # not on this file system
    return top


def state_of(top):
    """What a copy with attributes and hard links must have."""
    names = sorted(p.relative_to(top) for p in top.rglob("*"))
    return harness.listing(top), [
        (name, os.lstat(top / name).st_nlink if not (top / name).is_dir()
         else 0, os.listxattr(top / name, follow_symlinks=False))
        for name in names]


def sync(calls, tree, target, *flags):
    run(refusing(calls, [hpn("sync"), "-aHX", *flags, f"{tree}/", target]),
        timeout=LONG).ok()
    assert state_of(target) == state_of(tree)


@pytest.mark.parametrize("call", sorted(CALLS))
def test_one_call(tree, tmp_path, call):
    """A tree is copied here, and then what has changed of a large file."""
    sync([call], tree, tmp_path / "to")
    with open(tree / "sub/large", "r+b") as f:
        f.seek(MIB)
        f.write(b"changed")
    sync([call], tree, tmp_path / "to", "--no-whole-file")


def test_every_call(tree, tmp_path):
    sync(CALLS, tree, tmp_path / "to")
    (tree / "sub/other").unlink()
    sync(CALLS, tree, tmp_path / "to", "--delete")


@pytest.mark.parametrize("error", ["ENOSYS", "EPERM"])
def test_below_one_directory(tree, tmp_path, error):
    """Filters of containers have refused openat2 in both ways."""
    run(refusing([f"openat2={error}"], [hpn("sync"), "-a", "--temp-dir",
                                      tmp_path, f"{tree}/", tmp_path / "to"]),
        timeout=LONG).ok()
    assert harness.listing(tmp_path / "to") == harness.listing(tree)


# ---- servers and clients -------------------------------------------------

@pytest.fixture
def old_server(make_server):
    return make_server(within=refusing(CALLS))


def test_server(old_server, tree, tmp_path):
    """The host keys reach each session, though no file is in memory."""
    client = Client("hpn", old_server)
    assert client.ssh("cat", stdin=b"text").ok().text == "text"
    client.scp(tree, f":{tmp_path}/up", flags=["-rp"]).ok()
    assert harness.listing(tmp_path / "up") == harness.listing(tree)
    shell = " ".join(map(str, [hpn("ssh"), *client.options(), "-p",
                               old_server.port]))
    run([hpn("sync"), "-aHX", "-e", shell, f"127.0.0.1:{tree}/",
         tmp_path / "down"], timeout=LONG).ok()
    assert state_of(tmp_path / "down") == state_of(tree)


def test_server_copies_and_renames(old_server, tree, tmp_path):
    batch = tmp_path / "batch"
    batch.write_text(f"copy {tree}/sub/large {tree}/copied\n"
                     f"rename -l {tree}/copied {tree}/renamed\n"
                     f"-rename -l {tree}/a {tree}/renamed\n")
    client = Client("hpn", old_server)
    run([hpn("sftp"), *client.options(), "-P", old_server.port, "-b", batch,
         "127.0.0.1"], timeout=LONG).ok()
    assert not (tree / "copied").exists()
    assert (tree / "renamed").read_bytes() == \
        (tree / "sub/large").read_bytes()
    assert (tree / "a").exists()


def test_client(sshd, tree, tmp_path):
    client = Old("hpn", sshd)
    assert client.ssh("cat", stdin=b"text").ok().text == "text"
    client.tool("scp", "-rp", tree, f"127.0.0.1:{tmp_path}/up").ok()
    assert harness.listing(tmp_path / "up") == harness.listing(tree)
    client.tool("scp", "-rp", f"127.0.0.1:{tree}", tmp_path / "down").ok()
    assert harness.listing(tmp_path / "down") == harness.listing(tree)


def test_master(sshd, short):
    path = short / "mux"
    master = start(Old("hpn", sshd).ssh_args(
        "ControlMaster=yes", f"ControlPath={path}", flags=["-N"]))
    try:
        assert wait_for(path.exists, LONG)
        guest = refusing(CALLS, mux_client("hpn", path, "echo in"))
        assert run(guest).ok().text == "in\n"
    finally:
        master.terminate()
        master.wait(LONG)


@pytest.mark.skipif(not harness.IS_ROOT,
                    reason="Survive needs a server of the superuser's")
def test_session_survives_unwatched(make_server):
    """Nobody tells the client of changes of the network: it finds out by
    itself that its connection is lost."""
    server = make_server("LogLevel VERBOSE\nSurvive yes\n")
    with Proxy(("127.0.0.1", server.port), lambda number: []) as proxy:
        known = server.dir / "known-by-proxy"
        known.write_text("".join(
            f"[{proxy.host}]:{proxy.port} " + line.split(" ", 1)[1] + "\n"
            for line in server.known_hosts.read_text().splitlines()))
        client = Old("hpn", server, known_hosts=known, options=(
            "Survive=yes", "ServerAliveInterval=1", "ServerAliveCountMax=1",
            f"Port={proxy.port}"))
        process = start(client.ssh_args() + [
            f"until grep -q 'session survives' {server.log}; do sleep .05; "
            f"done; touch {server.dir}/there; sleep 2; exit 37"],
            stderr=subprocess.DEVNULL)
        assert wait_for((server.dir / "there").exists, LONG)
        for connection in proxy.alive():
            connection.stalled = True
        assert process.wait(LONG) == 37
        assert len(proxy.connections) == 2


@pytest.mark.skipif(bool(harness.mount_problem()),
                    reason=str(harness.mount_problem()))
@pytest.mark.parametrize("by", ["path", "name"])
def test_without_proc(tree, tmp_path, by):
    """As in a minimal root: a program finds those that lie beside it."""
    program = hpn("sync")
    here, command = tmp_path, program
    if by == "name":
        here, command = os.path.dirname(program), "./hpnsync"
    script = ('mount -t tmpfs none /proc && cd "$1" && shift && exec "$@"')
    run(["unshare", "-m", "sh", "-c", script, "sh", here, command, "-aH",
         f"{tree}/", tmp_path / "to"], timeout=LONG).ok()
    assert state_of(tmp_path / "to")[0] == state_of(tree)[0]
