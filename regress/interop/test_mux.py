# SPDX-License-Identifier: ISC
"""Connection sharing between hpnssh and the stock ssh, in both roles. Neither
could reach the host by itself: what a passenger gets, it has from the
master."""

import os
import signal
import subprocess

import pytest
from muxes import Master, control, is_socket, passenger
from terminal import Terminal

import harness
from harness import LONG, clean_env, run, start, wait_for

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd") or not harness.have("stock", "ssh"),
    reason="needs hpnssh and a stock ssh")


@pytest.fixture(params=["hpn-stock", "stock-hpn", "hpn-hpn"])
def pair(request, sshd, tmp_path):
    """(master, kind of the passengers)"""
    master_kind, kind = request.param.split("-")
    with Master(master_kind, sshd, tmp_path / "socket") as master:
        yield master, kind


def ride(pair, *command, **kw):
    master, kind = pair
    stdin = kw.pop("stdin", b"")
    return run(passenger(kind, master.path, *command, **kw), stdin=stdin)


def test_exit_status_and_streams(pair):
    done = ride(pair, "echo out; echo err >&2; exit 41")
    assert (done.rc, done.out, done.err) == (41, b"out\n", b"err\n"), done


def test_input_and_its_end(pair):
    data = os.urandom(3 << 20)
    assert ride(pair, "cat", stdin=data).ok().out == data


def test_a_shell_without_command(pair):
    assert ride(pair, stdin=b"echo in the shell\nexit 3\n").rc == 3


def test_remote_death_by_signal(pair):
    assert ride(pair, "kill -TERM $$").rc == 255


def test_subsystem(pair):
    done = ride(pair, "sftp", flags=["-s"],
                stdin=bytes([0, 0, 0, 5, 1, 0, 0, 0, 3]))
    assert done.out[4] == 2, done  # VERSION


def test_terminal(pair):
    master, kind = pair
    with Terminal(passenger(kind, master.path)) as terminal:
        before = terminal.modes()
        terminal.line("PS1='re''ady> '; stty -echo; echo on $TERM")
        terminal.expect("on xterm")
        terminal.expect("ready> ")
        assert terminal.is_raw()
        terminal.line("stty size")
        terminal.expect("24 80")
        terminal.resize(50, 132)
        terminal.line("sleep 0.3; stty size")
        terminal.expect("50 132")
        terminal.line("exit 5")
        assert terminal.wait() == 5
        assert terminal.modes() == before
        assert b"Shared connection to 127.0.0.1 closed." in terminal.shown


def test_check_stop_exit(pair):
    master, kind = pair
    done = control(kind, master.path, "check")
    assert done.rc == 0 and done.out == b""
    assert done.err == f"Master running (pid={master.process.pid})\r\n".encode()
    held = start(passenger(kind, master.path, "echo there; cat"),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    done = control(kind, master.path, "stop")
    assert done.rc == 0 and done.err == b"Stop listening request sent.\r\n"
    assert wait_for(lambda: not is_socket(master.path))
    assert control(kind, master.path, "check").rc == 255
    # the passenger that is there goes on, and is the last
    assert master.process.poll() is None
    out, _ = held.communicate(b"more", LONG)
    assert (out, held.returncode) == (b"more", 0)
    assert master.process.wait(LONG) == 255


def test_exit(pair):
    master, kind = pair
    held = start(passenger(kind, master.path, "echo there; exec sleep 600"),
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    done = control(kind, master.path, "exit")
    assert done.rc == 0 and done.err == b"Exit request sent.\r\n"
    assert master.process.wait(LONG) in (0, 255)
    held.communicate(timeout=LONG)
    assert held.returncode == 255
    assert not is_socket(master.path)


def test_ended_passenger_ends_its_session(pair, tmp_path):
    master, kind = pair
    alive = tmp_path / "alive"
    held = start(passenger(
        kind, master.path, "-tt",
        f"trap 'rm {alive}; exit' HUP; touch {alive}; echo there; "
        "while :; do sleep 0.1; done"), stdout=subprocess.PIPE)
    assert held.stdout.readline().rstrip() == b"there"
    held.send_signal(signal.SIGTERM)
    held.communicate(timeout=LONG)
    assert held.returncode == 255
    assert wait_for(lambda: not alive.exists())
    assert ride(pair, "echo again").ok().out == b"again\n"


def test_many_at_once(pair):
    master, kind = pair
    all_of_them = [
        start(passenger(kind, master.path, f"cat; exit {n}"),
              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(8)]
    for n, p in enumerate(all_of_them):
        out, _ = p.communicate(str(n).encode() * 100000, LONG)
        assert (len(out), p.returncode) == (100000, n)
