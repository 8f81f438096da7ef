# SPDX-License-Identifier: ISC
"""CongestionControl and the keywords about windows, both sides."""

import pytest

import harness
from harness import ME, MIB, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"


@pytest.fixture(scope="module")
def names():
    with open(ALLOWED) as f:
        return f.read().split()


def test_client_sets_it(sshd, names):
    for name in names[:2]:
        done = Client("hpn", sshd, log_level="DEBUG1").ssh(
            "true", options=[f"CongestionControl={name}"]).ok()
        assert f"congestion control is {name}" in done.errors


def test_client_goes_on_without(sshd):
    done = Client("hpn", sshd, log_level="VERBOSE").ssh(
        "echo on", options=["CongestionControl=nosuch"]).ok()
    assert done.out == b"on\n"
    assert done.errors.count("nosuch cannot be used") == 1


@pytest.mark.parametrize("name", ["", "a b", "x" * 16, "a/b"])
def test_bad_names(sshd, name):
    done = Client("hpn", sshd).ssh("true",
                                   options=[f'CongestionControl="{name}"'])
    assert done.rc == 255 and "ongestion" in done.errors, done


def test_server_sets_it(make_server, names):
    server = make_server(f"LogLevel DEBUG1\nCongestionControl {names[0]}\n"
                         f"Match User {ME}\nCongestionControl {names[-1]}")
    Client("hpn", server).ssh("true").ok()
    log = server.log_text()
    assert log.index(f"congestion control is {names[0]}") < \
        log.rindex(f"congestion control is {names[-1]}")


def test_server_goes_on_without(make_server):
    server = make_server("LogLevel VERBOSE\nCongestionControl nosuch")
    Client("hpn", server).ssh("true").ok()
    assert server.log_text().count("nosuch cannot be used") == 1


@pytest.mark.parametrize("option", ["HPNDisabled=yes", "TcpRcvBufPoll=no"])
def test_fixed_windows_carry_data(make_server, data_file, option):
    server = make_server(option.replace("=", " "))
    path = data_file(6 * MIB)
    done = Client("hpn", server).ssh("cat", options=[option],
                                     stdin=path.read_bytes()).ok()
    assert done.out == path.read_bytes()


def test_old_keywords_do_nothing(make_server):
    server = make_server("HPNBufferSize 2048\nTcpRcvBuf 4096")
    done = Client("hpn", server, log_level="INFO").ssh(
        "echo still", options=["HPNBufferSize=2048", "TcpRcvBuf=1",
                               "HPNBufferLimit=yes"])
    assert done.out == b"still\n"
    for name in ("HPNBufferSize", "TcpRcvBuf", "HPNBufferLimit"):
        assert f'"{name}" is deprecated and has no effect' in done.errors
    assert "HPNBufferSize" in server.log_text()
