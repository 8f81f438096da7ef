# SPDX-License-Identifier: ISC
"""hpnsync --grant: one login for all shards of a job. A shard takes a grant, a
grant for one connection to the target's directory, and has no key of the
user's."""

import os
import signal
import time

import pytest
from direct_hosts import NEEDED
from test_sync import make

import harness
from harness import LONG, ME, Client, hpn, run, start, wait_for

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]

SYNC = hpn("sync")
GIVES = "LogLevel VERBOSE\nSubsystem sftp internal-sftp\nTransferGrants "
BARE = {**harness.clean_env(), "HOME": "/nonexistent", "SSH_AUTH_SOCK": ""}


class Job:
    """Files f0 to f9, in so many shards. The key that logs in is in a file that
    the shards can be kept from."""

    def __init__(self, make_server, tmp_path, gives="yes", shards=3, there=None,
                 options=("-a", "--delete"), more="", second=None):
        self.server = make_server(f"{GIVES}{gives}\n{more}\n",
                                  authorized=("ed25519",
                                              *([second] if second else [])))
        self.here, self.there = tmp_path / "from", tmp_path / "to"
        self.place, self.n = tmp_path / "job", shards
        self.here.mkdir()
        make(self.here, {f"d{i % 3}/f{i}": f"{i}" * 1000 for i in range(10)})
        if there is not None:
            self.there.mkdir()
            make(self.there, there)
        client = Client("hpn", self.server)
        self.key = tmp_path / "key"
        self.show_key(client.key)
        client.key = self.key
        shell = " ".join([hpn("ssh"), *map(str, client.options())])
        if second:
            shell += f" -i {client.server.keys.path(second)}"
        self.target = (f"scp://{ME}@127.0.0.1:{self.server.port}/"
                       f"{self.there}")
        self.planned = run([SYNC, "-e", shell, *options, "--plan", self.place,
                            "--shards", shards, f"{self.here}/", self.target])
        self.grants = self.place / "grants"
        self.giver = None

    def show_key(self, of):
        self.key.write_bytes(of.read_bytes())
        self.key.chmod(0o600)

    def give(self):
        self.said = self.place / "said"
        with open(self.said, "wb") as said:
            self.giver = start([SYNC, "--grant", self.place], stdout=said,
                               stderr=said)
        assert wait_for(self.ready), self.said.read_text()
        return self

    def ready(self):
        """It has taken away what an earlier one left, and made one."""
        return "may write" in self.said.read_text() and \
            list(self.grants.glob("grant-*[0-9a-f]"))

    def over(self):
        """What the giver has said, once it has ended."""
        return self.giver.wait(timeout=LONG), self.said.read_text()

    def shard(self, i, **kw):
        return run([SYNC, "--shard", f"{i}/{self.n}", "--job", self.place],
                   env=BARE, timeout=2 * LONG, **kw)

    def finish(self):
        return run([SYNC, "--finish", self.place])

    def same(self):
        return run(["diff", "-r", self.here, self.there]).rc == 0

    def there_is(self):
        return sorted(p.name for p in self.there.rglob("*") if p.is_file())

    def end(self):
        if self.giver and self.giver.poll() is None:
            self.giver.terminate()
            self.over()


@pytest.fixture
def job(make_server, tmp_path):
    made = []

    def one(**kw):
        made.append(Job(make_server, tmp_path, **kw))
        assert made[-1].planned.rc == 0, made[-1].planned
        return made[-1]
    yield one
    for j in made:
        j.end()


@pytest.mark.parametrize("gives", ["yes", "put"])
@pytest.mark.parametrize("there", [{"d0/f0": "other", "gone": "x"}, None])
def test_shards_without_keys(job, gives, there):
    """The giver ends when all are done, and takes the rest back. Only the end
    deletes."""
    j = job(gives=gives, there=there).give()
    os.rename(j.key, f"{j.key}.away")
    for i in (1, 2, 3):
        done = j.shard(i)
        assert (done.rc, done.errors) == (0, ""), done
    assert j.over() == (
        0, f"the shards may write to {j.there} until all are done\n")
    assert [p.name for p in j.grants.iterdir()] == ["giver"]
    assert not there or (j.there / "gone").exists()
    os.rename(f"{j.key}.away", j.key)
    j.finish().ok()
    assert j.same()


def test_many_at_once(job):
    """More shards than there are grants at a time; each takes its own."""
    j = job(shards=24).give()
    shards = [start([SYNC, "--shard", i, "--job", j.place], env=BARE,
                    stdout=-1, stderr=-1) for i in range(1, 25)]
    for shard in shards:
        _, errors = shard.communicate(timeout=2 * LONG)
        assert (shard.returncode, errors) == (0, b"")
    assert j.over()[0] == 0
    assert j.same()


def test_two_factors_once(job):
    """The giver's login takes two keys, a shard's one grant."""
    j = job(more="AuthenticationMethods publickey,publickey",
            second="ecdsa256").give()
    os.rename(j.key, f"{j.key}.away")
    j.shard(1).ok()
    j.end()
    os.unlink(j.grants / "giver")
    j.grants.rmdir()
    done = j.shard(2)
    assert done.rc == 75 and "Permission denied" in done.errors, done


def test_a_second_giver(job):
    j = job().give()
    done = run([SYNC, "--grant", j.place])
    assert done.rc == 11, done
    assert done.errors == "hpnsync: grants: another hpnsync --grant is at it\n"
    j.shard(1).ok()


def texts(j):
    return [grant.read_bytes() for grant in j.grants.glob("grant-*[0-9a-f]")]


def only(j, text):
    """Makes that the one grant that there is; the others are beside it."""
    for grant in j.grants.glob("grant-*[0-9a-f]"):
        grant.rename(j.grants / f"x{grant.name}")
    (j.grants / "grant-0").write_bytes(text)


def test_a_grant_is_good_once(job):
    """And with its own key only, while the giver's login lives. What fails is
    to be tried again."""
    j = job().give()
    assert wait_for(lambda: len(texts(j)) >= 4)
    j.giver.send_signal(signal.SIGSTOP)
    one, two, *_ = texts(j)
    only(j, one)
    j.shard(1).ok()
    there = j.there_is()
    key = one.index(b"ssh-ed25519", one.index(b"ssh-ed25519") + 1) - 4
    for text in (one, two[:key] + one[key:]):
        only(j, text)
        done = j.shard(2)
        assert done.rc == 75 and "Permission denied" in done.errors, done
    only(j, two)  # a wrong proof has ended it
    assert j.shard(2).rc == 75
    assert j.there_is() == there
    for grant in j.grants.glob("xgrant-*[0-9a-f]"):
        if grant.read_bytes() not in (one, two):
            grant.rename(j.grants / grant.name[1:])
    j.giver.send_signal(signal.SIGCONT)
    done = j.shard(2)
    assert done.rc == 0, (done, j.said.read_text(), j.giver.poll())


def test_after_the_giver(job):
    """It is killed, or told to end: its grants are worth nothing."""
    j = job().give()
    text = next(j.grants.glob("grant-*[0-9a-f]")).read_bytes()
    j.giver.terminate()
    assert j.over()[0] == 75
    assert not list(j.grants.glob("grant-*"))
    only(j, text)
    done = j.shard(1)
    assert done.rc == 75 and "Permission denied" in done.errors, done
    began = time.monotonic()
    done = j.shard(1)
    assert done.rc == 75 and time.monotonic() - began > 15, done
    assert "grants: there was none for 20 s: is hpnsync --grant running?" \
        in done.errors
    j.give()
    j.giver.kill()
    j.over()
    assert j.shard(1).rc == 75 and not j.there_is()
    j.give()
    j.shard(1).ok()


def test_who_may_use_grants(job, tmp_path):
    j = job().give()
    j.grants.chmod(0o710)
    done = j.shard(1)
    assert done.rc == 3 and "others than you can use them" in done.errors
    j.end()
    done = run([SYNC, "--grant", j.place])
    assert done.rc == 11 and "others than you can use them" in done.errors
    os.rename(j.grants, tmp_path / "moved")
    j.grants.symlink_to(tmp_path / "moved")
    assert j.shard(1).rc == 3
    assert run([SYNC, "--grant", j.place]).rc == 11


@pytest.mark.parametrize("change", [
    lambda text: b"", lambda text: text[:-1], lambda text: text + b"x",
    lambda text: text.replace(b"hpnsync grant", b"hpnsync gr@nt"),
    lambda text: bytes([text[0] ^ 1]) + text[1:],
    lambda text: text[:19] + b"\x02" + text[20:], lambda text: b"x" * 70_000])
def test_what_is_no_grant(job, change):
    """One line says so, and nothing is connected to."""
    j = job(shards=1).give()
    text = texts(j)[0]
    j.end()
    log = j.server.log.read_text()
    only(j, change(text))
    done = j.shard(1)
    assert done.rc == 3 and done.errors.startswith("hpnsync: grants: "), done
    assert len(done.errors.splitlines()) == 1, done
    assert j.server.log.read_text().count("Connection from") == \
        log.count("Connection from")


def test_without_grants(job):
    """Shards log in by themselves, as where nobody has ever given any."""
    j = job(shards=1).give()
    j.end()
    os.unlink(j.grants / "giver")
    j.grants.rmdir()
    j.shard(1).ok()
    assert "Accepted publickey" in j.server.log.read_text()


@pytest.mark.parametrize("gives, options, says", [
    ("no", (), "gives no grant (TransferGrants)"),
    ("get", (), "gives no grant (TransferGrants)"),
    ("put", ("--verify",), "that needs TransferGrants yes"),
    ("put", ("-c",), "that needs TransferGrants yes"),
    ("yes", ("--temp-dir=/tmp",), "--temp-dir is not here with --grant"),
    ("yes", ("--timeout=9",), "--timeout is not here with --grant"),
    ("yes", ("-z",), "-z is not here with --grant"),
    ("yes", ("-K",), "-K is not here with --grant"),
    ("yes", (f"--sftp-server={hpn('sftp-server')}",), "--sftp-server is not here")])
def test_refused(job, gives, options, says):
    j = job(gives=gives, options=("-a", *options))
    done = run([SYNC, "--grant", j.place])
    assert done.rc == 4 and says in done.errors, done
    assert len(done.errors.splitlines()) == 1 and done.out == b"", done
    assert not j.grants.exists()


def test_refused_by_kind(job, tmp_path):
    source = tmp_path / "from"
    j = job()
    run([SYNC, "-a", "--plan", tmp_path / "here", "--shards=1", f"{source}/",
         tmp_path / "to"]).ok()
    done = run([SYNC, "--grant", tmp_path / "here"])
    assert done.rc == 4 and "target on this machine" in done.errors, done
    for words in (["--grant", j.place, "-v"], ["--grant", j.place, "a", "b"],
                  ["--grant", j.place, "--finish", j.place]):
        assert run([SYNC, *words]).rc == 1
    assert run([SYNC, "--grant", tmp_path / "none"]).rc == 3


def test_data_is_compared(job):
    j = job(options=("-a", "--verify", "-o", "-g"), shards=1).give()
    j.shard(1).ok()
    assert j.over()[0] == 0 and j.same()


def test_a_giver_that_ends_amid(job):
    """It ends the shard's connection; the shard is to be tried again."""
    j = job(shards=1, options=("-a", "--bwlimit=1"))
    j.give()
    shard = start([SYNC, "--shard=1", "--job", j.place], env=BARE, stdout=-1,
                  stderr=-1)
    assert wait_for(lambda: any(j.there.rglob("*")))
    j.giver.kill()
    _, errors = shard.communicate(timeout=LONG)
    assert shard.returncode == 75, errors
