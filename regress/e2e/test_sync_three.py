# SPDX-License-Identifier: ISC
"""hpnsync --direct, both ways, and the shards of hpnsync --grant, between three
machines: the user's, and two that have no key of the user's."""

import os
import signal

import pytest
from direct_hosts import NEEDED, three_of  # noqa: F401
from test_sync import make, names

import harness
from harness import LONG, ME, Client, hpn, run, start, wait_for

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]
SYNC = hpn("sync")


@pytest.fixture(params=["push", "pull"])
def three(request, three_of):  # noqa: F811
    t = three_of(request.param)
    make(t.here, {f"d{i % 3}/f{i}": str(i) * 1000 for i in range(20)})
    make(t.there, {"d0/f0": "old", "gone": "x"})
    return t


def shell(t):
    client = Client("hpn", t.a, known_hosts=t.known)
    return " ".join([hpn("ssh"), *map(str, client.options())])


def end_of(t, server, host, path):
    return f"scp://{ME}@{host}:{server.port}/{path}"


def direct(t, *options):
    return ["ip", "netns", "exec", t.spaces[0], SYNC, "-e", shell(t),
            f"--direct={t.way}", "-a", "--delete", *options,
            end_of(t, t.a, t.hosts[0], f"{t.here}/"),
            end_of(t, t.b, t.hosts[1], t.there)]


def same(t):
    return names(t.here) == names(t.there) and \
        run(["diff", "-r", t.here, t.there]).rc == 0


def test_from_host_to_host(three):
    """The data does not come by the user's machine."""
    t = three
    (t.here / "large").write_bytes(os.urandom(8 << 20))
    counter = ["ip", "netns", "exec", t.spaces[0], "cat",
               "/sys/class/net/br0/statistics/rx_bytes"]
    run(direct(t, "--verify")).ok()
    assert same(t)
    assert int(run(counter).ok().out) < 4 << 20
    assert (f"Accepted ticket@hpnssh.org for {ME} from "
            f"{t.hosts[t.taker - 1]}") in t.gives.log_text()


def test_hosts_that_do_not_reach_each_other(three):
    """The last line says so, nothing has changed, and no stage is left."""
    t = three
    t.lines(f"netns exec {{{t.taker}}} ip route add unreachable "
            f"{t.hosts[t.giver - 1]}/32")
    done = run(direct(t), timeout=2 * LONG)
    assert done.rc == 255, done
    assert "has no connection to the" in done.errors.splitlines()[-1], done
    assert t.there_is() == {"d0/f0": b"old", "gone": b"x"}
    assert not list(t.there.glob(".hpnsync*"))


def test_the_user_is_gone(three):
    """Killed amid the data: nothing comes any more, and nothing has its place
    that is not whole."""
    t = three
    (t.here / "large").write_bytes(os.urandom(4 << 20))
    held = start(direct(t, "--bwlimit=500"), stdout=-1, stderr=-1)
    assert wait_for(lambda: any(
        f.stat().st_size for f in t.there.glob(".hpnsync*/*/*")))
    held.send_signal(signal.SIGKILL)
    held.communicate(timeout=LONG)
    sizes = [None]

    def stands_still():
        sizes.append(sum(f.stat().st_size
                         for f in t.there.glob(".hpnsync*/*/*")))
        return sizes[-1] == sizes[-2]
    assert wait_for(stands_still, step=1), sizes
    assert (t.there / "gone").exists() and not (t.there / "large").exists()
    # The numbers in the stage are names that are to be deleted, too.
    run(direct(t, "--break-lock", "--max-delete=100")).ok()
    assert same(t) and not list(t.there.glob(".hpnsync*"))


def test_shards_on_another_machine(three_of, tmp_path):  # noqa: F811
    """The user logs in from his machine; a node has the job's directory, and
    neither his configuration nor a key."""
    t = three_of("push", more="TransferGrants put\n")
    make(t.here, {f"d{i % 3}/f{i}": str(i) * 1000 for i in range(20)})
    make(t.there, {"d0/f0": "old", "gone": "x"})
    user = ["ip", "netns", "exec", t.spaces[0]]
    node = ["ip", "netns", "exec", t.spaces[1]]
    job = tmp_path / "job"
    run([*user, SYNC, "-e", shell(t), "-a", "--delete", "--plan", job,
         "--shards=2", f"{t.here}/",
         end_of(t, t.b, t.hosts[1], t.there)]).ok()
    giver = start([*user, SYNC, "--grant", job], stdout=-1, stderr=-1)
    try:
        assert wait_for(lambda: (job / "grants/giver").exists())
        bare = {**harness.clean_env(), "HOME": "/nonexistent"}
        for i in (1, 2):
            done = run([*node, SYNC, f"--shard={i}", "--job", job], env=bare)
            assert (done.rc, done.errors) == (0, ""), done
        _, errors = giver.communicate(timeout=LONG)
        assert (giver.returncode, errors) == (0, b"")
    finally:
        giver.kill()
    run([*user, SYNC, "--finish", job]).ok()
    assert same(t)
    log = t.b.log_text()
    assert log.count(f"Accepted ticket@hpnssh.org for {ME} from "
                     f"{t.hosts[0]}") == 2, log
    assert f"Accepted publickey for {ME} from {t.hosts[0]}" not in log
