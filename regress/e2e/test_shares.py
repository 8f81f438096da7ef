# SPDX-License-Identifier: ISC
"""Rates that are limited: of a user, of a group, of the machine. Rates are so
low that a busy machine reaches them."""

import grp
import os
import time

import pytest

import harness
from farpath import benchlib
from harness import Client, have, hpn, run, wait_for
from terminal import Terminal

pytestmark = pytest.mark.skipif(not have("hpn", "sshd"),
                                reason="hpnsshd is not built")

MB = 1000 * 1000
GROUP = grp.getgrgid(os.getgid()).gr_name


@pytest.fixture
def limited(make_server, tmp_path):
    def make(config, **kw):
        return Client("hpn", make_server(
            f"PidFile {tmp_path}/one.pid\n" + config, **kw))
    return make


def flow_of(client, command="cat /dev/zero", flags=()):
    """What a session of the client sends."""
    return benchlib.Flow(harness.start(
        [*client.ssh_args(flags=flags), command], stdout=-1))


@pytest.mark.parametrize("keyword", [
    "UserRateMax 4MB", "TransferCapacity 32Mbit", f"GroupRateMax {GROUP}=4MB",
    "Match Address 127.0.0.0/8\n UserRateMax 4MB"])
def test_a_cap_holds(limited, tmp_path, data_file, keyword):
    """In each direction, over two connections as over one. On a busy machine
    each connection begins with a part of a second's worth at once."""
    client, data = limited(keyword + "\n"), data_file(24 * MB)
    for source, target in ((data, f":{tmp_path}/up"),
                           (f":{data}", tmp_path / "down")):
        began = time.monotonic()
        client.scp("-q", "-j", "2", source, target).ok()
        took = time.monotonic() - began
        assert took > (24 - 4) / 4, (source, took)
    assert (tmp_path / "up").read_bytes() == data.read_bytes()
    assert (tmp_path / "down").read_bytes() == data.read_bytes()


def test_users_have_equal_shares(limited, other_user, keys):
    """One with three connections, another with one; what one leaves the other
    has."""
    client = limited("TransferCapacity 4MB\n")
    other = Client("hpn", client.server, user=other_user)
    mine = [flow_of(client) for _ in range(3)]
    theirs = flow_of(other)
    try:
        assert wait_for(lambda: theirs.bytes > MB)
        for _ in range(5):  # until the machine has had time for both
            *three, one = benchlib.rates([*mine, theirs], 2)
            assert sum(three) + one < 4.4 * MB
            if abs(sum(three) - one) < 0.2 * one and one > 1.5 * MB:
                break
        else:
            pytest.fail(f"{three} beside {one}")
        for flow in mine:
            flow.end()
        assert wait_for(lambda: benchlib.rates([theirs], 1)[0] > 3 * MB)
    finally:
        for flow in (*mine, theirs):
            flow.end()


def test_groups(limited, other_user):
    """Users of a group together have its rate; others are not bound."""
    client = limited(f"GroupRateMax nosuchgroup=1kB {other_user}=1MB\n")
    flow = flow_of(Client("hpn", client.server, user=other_user))
    free = flow_of(client)
    try:
        assert wait_for(lambda: flow.bytes > 0 and free.bytes > 50 * MB)
        assert benchlib.rates([flow], 3)[0] < 1.2 * MB
    finally:
        flow.end()
        free.end()


def test_a_keystroke_passes(limited, tmp_path):
    """On a connection of which bulk data has used up the rate for seconds."""
    client = limited("UserRateMax 8kB\n")
    control = tmp_path / "c"
    master = harness.start([*client.ssh_args(
        "ControlMaster=yes", f"ControlPath={control}"), "cat /dev/zero"],
        stdout=-1)
    try:
        # More than one packet: after it the rate is used up for seconds.
        assert wait_for(control.exists)
        got = 0
        while got < 64 * 1024:
            got += len(os.read(master.stdout.fileno(), 65536))
        with Terminal([*client.ssh_args(f"ControlPath={control}",
                                        flags=["-tt"]),
                       "stty -echo; echo ready; exec cat"]) as shell:
            shell.expect("ready")
            began = time.monotonic()
            for i in range(5):
                shell.type(f"key{i}\n")
                shell.expect(f"key{i}\r\n")
            assert time.monotonic() - began < 4
    finally:
        master.terminate()
        master.wait(60)


def test_a_terminal_is_no_way_round(limited, data_file):
    """Bulk through a terminal counts, out and in."""
    client, data = limited("UserRateMax 2MB\n"), data_file(6 * MB)
    flow = flow_of(client, f"stty raw; cat {data}", flags=["-tt"])
    try:
        assert wait_for(lambda: flow.bytes > 0)
        began = time.monotonic()
        assert wait_for(lambda: flow.bytes >= 5 * MB)
        assert time.monotonic() - began > 1.8
    finally:
        flow.end()
    began = time.monotonic()
    run([*client.ssh_args(flags=["-tt"]),
         "stty raw -echo; head -c 5000000 | tail -c 1; exit 0"],
        stdin=b"x\n" * 2_600_000).ok()
    assert time.monotonic() - began > 1.8


def test_a_window_is_no_way_round(limited, data_file):
    """What short connections move keeps to the rate, too."""
    client, data = limited("UserRateMax 1MB\n"), data_file(MB)
    began = time.monotonic()
    for _ in range(3):
        run([*client.ssh_args(), "cat >/dev/null"],
            stdin=data.read_bytes()).ok()
    assert time.monotonic() - began > 2


def test_no_file_of_counters(limited, tmp_path):
    """Each connection then has the least of the limits for itself."""
    client = limited("UserRateMax 1MB\nTransferCapacity 5MB\n")
    (tmp_path / "one.counters").mkdir()
    flow = flow_of(client)
    try:
        assert wait_for(lambda: flow.bytes > 0)
        assert benchlib.rates([flow], 2)[0] < 1.3 * MB
    finally:
        flow.end()


def test_values():
    for word, bad in (("UserRateMax", ("5", "5M", "-1MB", "1.5GB", "MB",
                                       "999bit", "0GB", "9999999999MB")),
                      ("TransferCapacity", ("0", "10 Gbit s", "yes")),
                      ("GroupRateMax", ("2GB", "=2GB", "a=", "a=2G",
                                        "a=1MB none"))):
        for value in bad:
            done = run([hpn("sshd"), "-t", "-f", "/dev/null", "-o",
                        f"{word} {value}"])
            assert done.rc != 0 and word in done.errors, (word, value, done)


def test_match(tmp_path, keys):
    """-T tells what holds for whom; the capacity is one for all."""
    config = tmp_path / "config"
    config.write_text(
        f"HostKey {keys.path('ed25519-host')}\n"
        "TransferCapacity 9Gbit\nUserRateMax 500mb\nGroupRateMax a=1MB b=2MB\n"
        "Match User x\n UserRateMax none\n GroupRateMax none\n")

    def shown(user):
        lines = run([hpn("sshd"), "-T", "-f", config, "-C",
                     f"user={user},addr=192.0.2.1"]).ok().text.splitlines()
        return [line for line in lines if "rate" in line
                or "capacity" in line]

    assert sorted(shown("y")) == ["groupratemax a=1MB b=2MB",
                                  "transfercapacity 9Gbit",
                                  "userratemax 500mb"]
    assert sorted(shown("x")) == ["groupratemax none",
                                  "transfercapacity 9Gbit",
                                  "userratemax none"]
    with config.open("a") as f:
        f.write(" TransferCapacity 1Gbit\n")
    done = run([hpn("sshd"), "-t", "-f", config])
    assert done.rc != 0 and "TransferCapacity" in done.errors
