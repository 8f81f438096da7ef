# SPDX-License-Identifier: ISC
"""How addresses are dialled: HappyEyes, HappyDelay, UseMPTCP."""

import pathlib

import pytest

import harness
from harness import Client, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
# A network in which four addresses of a host take packets and never answer.
ENTER = """
ip link set lo up && ip route add 10.9.9.0/24 dev lo &&
mount --bind "$1" /etc/hosts && shift && exec "$@"
"""
MPTCP = pathlib.Path("/proc/sys/net/mptcp/enabled")


def silent_host(hosts, *args):
    return run(["unshare", "--net", "--mount", "--propagation", "private",
                "sh", "-c", ENTER, "sh", hosts, *args])


@pytest.fixture
def attempts(tmp_path):
    """attempts(options): how many addresses were tried within a second."""
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"10.9.9.{n} many\n" for n in range(2, 6)))
    if silent_host(hosts, "true").rc != 0:
        pytest.skip("no network of its own")

    def count(*options):
        done = silent_host(hosts, hpn("ssh"), "-F", "none", "-v", "-p",
                           "2222", "-oConnectTimeout=1", *options, "many")
        assert done.rc == 255, done
        return done.errors.count("Connecting to many ")
    return count


@pytest.mark.parametrize("options,want", [
    (["-oHappyEyes=yes", "-oHappyDelay=10"], 4),
    (["-oHappyEyes=yes", "-oHappyDelay=5000"], 1)])
def test_happy_delay(attempts, options, want):
    assert attempts(*options) == want


@pytest.mark.parametrize("options", [
    [], ["-oHappyDelay=5000"], ["-oHappyEyes=no", "-oHappyDelay=5000"],
    ["-oHappyEyes=yes", "-oHappyDelay=0"]])
def test_addresses_are_raced_in_any_case(attempts, options):
    assert attempts(*options) > 1


def mptcp_opened():
    """How many connections asked for Multipath TCP until now."""
    lines = [line.split() for line in
             pathlib.Path("/proc/net/netstat").read_text().splitlines()
             if line.startswith("MPTcpExt:")]
    return int(dict(zip(*lines)).get("MPCapableSYNTX", 0))


@pytest.mark.skipif(not MPTCP.exists() or MPTCP.read_text().strip() != "1",
                    reason="this kernel has no Multipath TCP")
@pytest.mark.parametrize("client,server", [
    ("yes", "yes"), ("yes", "no"), ("no", "yes")])
def test_mptcp(make_server, client, server):
    there = make_server(f"UseMPTCP {server}")
    before = mptcp_opened()
    done = Client("hpn", there).ssh("echo", "reached",
                                    options=[f"UseMPTCP={client}"])
    assert done.ok().out == b"reached\n"
    assert (mptcp_opened() > before) == (client == "yes")
