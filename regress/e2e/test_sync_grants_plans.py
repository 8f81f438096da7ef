# SPDX-License-Identifier: ISC
"""hpnsync --grant, of plans with all kinds of options and targets: shards with
a grant do what they do with a login of their own, or it is refused."""

import json
import os
import resource

import pytest
import test_sync_grants
from direct_hosts import NEEDED
from test_sync_grants import BARE, SYNC, Job

import harness
from harness import ME, Client, hpn, run, start, wait_for

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]


class Planned(Job):
    def plan(self, *options, url=None, more=""):
        client = Client("hpn", self.server)
        client.key = self.key
        shell = " ".join([hpn("ssh"), *map(str, client.options())])
        run(["rm", "-rf", self.place]).ok()
        run([SYNC, "-e", f"{shell} -p {self.server.port} {more}".rstrip(),
             *options, "--plan", self.place, "--shards", self.n,
             f"{self.here}/", url or f"{ME}@127.0.0.1:{self.there}"]).ok()
        return self

    def ready(self):
        assert self.giver.poll() is None, self.said.read_text()
        return list(self.grants.glob("grant-*[0-9a-f]"))

    def all(self):
        for i in range(1, self.n + 1):
            done = self.shard(i)
            assert (done.rc, done.errors) == (0, ""), done
        status, said = self.over()
        assert status == 0, said
        return said


@pytest.fixture
def job(make_server, tmp_path):
    made = []

    def one(shards=1, **kw):
        made.append(Planned(make_server, tmp_path, shards=shards, **kw))
        return made[-1]
    yield one
    for j in made:
        j.end()


def test_directories_above(job):
    j = job()
    j.there = j.there / "x" / "y"
    j.plan("-a", "--mkpath").give().all()
    assert j.same()


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_target_that_is_a_link(job, tmp_path, slash):
    j = job()
    (tmp_path / "real").mkdir()
    j.there.symlink_to("real")
    j.plan("-a", url=f"{ME}@127.0.0.1:{j.there}{slash}").give().all()
    assert j.there.is_symlink() and j.same()


def test_targets_in_the_home(job, tmp_path):
    j = job(shards=2)
    below = os.path.relpath(j.there, os.path.expanduser("~"))
    for path in (below, f"~/{below}"):
        run(["rm", "-rf", j.there]).ok()
        j.plan("-a", url=f"{ME}@127.0.0.1:{path}").give().all()
        assert j.same()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_odd_name(job, tmp_path, options):
    """No control character comes to a terminal, and no text between JSON."""
    j = job()
    j.there = tmp_path / "a\x1b[31m b'\"$x"
    said = j.plan("-a", *options).give().all()
    assert "\x1b" not in said and ("may write" in said) == (not options)
    assert j.same()
    if options:
        for line in said.splitlines():
            json.loads(line)


@pytest.mark.parametrize("verify", ["yes", "no"])
def test_verify_of_the_configuration(job, monkeypatch, verify):
    """Shards do not read it: the giver tells them. This server refuses what
    they need for it."""
    monkeypatch.setattr(
        test_sync_grants, "GIVES", test_sync_grants.GIVES.replace(
            "internal-sftp", "internal-sftp -P check-file-handle,read"))
    j = job().plan("-a", more=f"-oCopyVerify={verify}").give()
    done = j.shard(1)
    assert (done.rc == 0) == (verify == "no"), done
    assert bool(done.errors) == (verify == "yes"), done


def test_verify_of_the_configuration_without_reading(job):
    j = job(gives="put").plan("-a", more="-oCopyVerify=yes")
    done = run([SYNC, "--grant", j.place])
    assert done.rc == 4 and "needs TransferGrants yes" in done.errors, done


@pytest.mark.parametrize("gives", ["yes", "put"])
@pytest.mark.parametrize("options", [
    "-aAXHS --fsync", "-ay --delete --detect-renames", "-rt --chmod=u+rwx,go=",
    "-aL --numeric-ids --chown=root:root", "-ak -4 -j4 --retry=2 -u"])
def test_options(job, gives, options):
    j = job(shards=2, gives=gives, there={"d0/f0": "other", "gone": "x",
                                          "d1/f1": "1" * 999 + "x"})
    os.link(j.here / "d0/f0", j.here / "d0/hard")
    (j.here / "d0/link").symlink_to("f0")
    (j.here / "dlink").symlink_to("d0")
    j.plan(*options.split()).give().all()
    assert (j.there / "d2/f2").read_text() == "2" * 1000
    j.finish().ok()


RELAY = """#!/usr/bin/python3
import os, socket, threading
s = socket.create_connection(("127.0.0.1", {}))
def there():
    while data := os.read(0, 65536):
        s.sendall(data)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=there, daemon=True).start()
while data := s.recv(65536):
    os.write(1, data)
"""


def test_a_proxy(job, tmp_path):
    j = job()
    relay = tmp_path / "relay"
    relay.write_text(RELAY.format(j.server.port))
    relay.chmod(0o755)
    j.plan("-a", more=f"-oProxyCommand={relay}").give()
    assert "shards connect to the host itself" in j.all()
    assert j.same()


def test_no_room_for_grants(job, tmp_path):
    """What runs goes on, and what is to begin waits."""
    j = job(shards=2).plan("-a")
    j.said = tmp_path / "said"
    with open(j.said, "wb") as said:
        # Python ignores SIGXFSZ; so the signal does not end the giver.
        j.giver = start([SYNC, "--grant", j.place], stdout=said, stderr=said,
                        restore_signals=False)
    assert wait_for(lambda: len(j.ready()) == 6)
    none = (200, resource.RLIM_INFINITY)
    old = resource.prlimit(j.giver.pid, resource.RLIMIT_FSIZE, none)
    j.shard(1).ok()
    for grant in j.ready():
        grant.unlink()
    assert wait_for(lambda: "grants: File too large" in j.said.read_text())
    assert not list(j.grants.glob("grant-*")) and j.giver.poll() is None
    resource.prlimit(j.giver.pid, resource.RLIMIT_FSIZE, old)
    j.shard(2).ok()
    assert j.over()[0] == 0 and j.same()


def test_a_directory_that_goes(job, tmp_path):
    j = job().plan("-a").give()
    assert wait_for(lambda: run(["rm", "-rf", j.grants]).rc == 0)
    status, said = j.over()
    assert status == 11 and "grants: No such file" in said


def test_a_server_that_goes(job):
    j = job().plan("-a").give()
    j.server.stop()
    status, said = j.over()
    assert status == 12 and "connection lost" in said
    assert not list(j.grants.glob("grant-*"))


def test_shards_that_are_killed(job):
    """Each goes on with the part that the last one has left, and no second one
    is made, which would stay for ever."""
    j = job()
    run(["rm", "-rf", *j.here.iterdir()]).ok()
    (j.here / "d").mkdir()
    (j.here / "d/big").write_bytes(os.urandom(6 << 20))
    j.plan("-a", "--bwlimit=1M").give()
    parts = []
    for size in (0, 1 << 20, 2 << 20):
        shard = start([SYNC, "--shard=1", "--job", j.place], env=BARE,
                      stdout=-1, stderr=-1)
        assert wait_for(lambda: any(
            part.stat().st_size > size
            for part in j.there.glob("d/.*part*"))), shard.communicate()
        shard.kill()
        assert shard.communicate()[1] == b""
        parts = [part.name for part in j.there.glob("d/.*part*")]
        assert parts == [".big.hpnpart"]
        assert wait_for(lambda: len(j.server.connections()) <= 2)
    j.all()
    assert j.same()
