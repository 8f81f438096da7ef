# SPDX-License-Identifier: ISC
"""The server's counters and the file of metrics that is made of them: what is
counted, restarts of the listener, no listener, two instances, and the
dashboard that reads them."""

import contextlib
import json
import os
import re
import signal
import socket
import stat
from pathlib import Path

import pytest

import harness
from harness import Client, have, hpn, run, wait_for

pytestmark = pytest.mark.skipif(not have("hpn", "sshd"),
                                reason="hpnsshd is not built")

TREE = Path(__file__).parents[2]
LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[A-Za-z@.-]+",?)+)\})? (\d+)')


def read(path):
    """Metric -> value; every line is one of the text form's."""
    found, typed = {}, set()
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            assert word in ("HELP", "TYPE")
            if word == "TYPE":
                assert name not in typed and rest in ("counter", "gauge")
                typed.add(name)
            continue
        name, labels, value = LINE.fullmatch(line).groups()
        assert name in typed, line
        key = name + ("{" + labels + "}" if labels else "")
        assert key not in found, line
        found[key] = int(value)
    return found


def login(method, result):
    return f'hpnsshd_logins_total{{method="{method}",result="{result}"}}'


def sessions(kind):
    return f'hpnsshd_sessions_total{{kind="{kind}"}}'


@pytest.fixture
def prom(tmp_path):
    return tmp_path / "hpnsshd.prom"


@pytest.fixture
def counted(make_server, tmp_path, prom):
    """counted(config): a client of a server that counts."""
    def make(config="", name="one", **kw):
        return Client("hpn", make_server(
            f"PidFile {tmp_path}/{name}.pid\n"
            f"MetricsTextfile {prom.with_suffix('.' + name)}\n" + config,
            **kw))
    return make


def file_of(prom, name="one"):
    return prom.with_suffix("." + name)


def idle(path, connections):
    """All metrics, once that many connections have begun, and all ended."""
    assert wait_for(lambda: path.exists() and
                    (m := read(path))["hpnsshd_connections"] == 0 and
                    m["hpnsshd_connections_total"] == connections), \
        path.exists() and read(path)
    return read(path)


def test_what_is_counted(counted, prom, tmp_path):
    client = counted()
    assert client.ssh("exit 3").rc == 3
    for i in range(3):
        (tmp_path / f"f{i}").write_bytes(b"x" * 1000)
    (tmp_path / "to").mkdir()
    run([hpn("scp"), *client.options(), "-q", "-P", str(client.server.port),
         *(str(tmp_path / f"f{i}") for i in range(3)),
         f"127.0.0.1:{tmp_path}/to/"]).ok()
    stranger = Client("hpn", client.server, key=None)
    assert stranger.ssh("true").rc == 255
    m = idle(file_of(prom), 3)
    assert m[login("publickey", "accepted")] == 2
    assert m[sessions("exec")] == 1 and m[sessions("subsystem")] == 1
    assert m['hpnsshd_files_total{direction="written"}'] == 3
    assert m['hpnsshd_file_bytes_total{direction="written"}'] == 3000
    assert m['hpnsshd_bytes_total{direction="in"}'] > 3000
    assert m['hpnsshd_bytes_total{direction="out"}'] > 1000
    assert m["hpnsshd_sessions"] == m["hpnsshd_users"] == 0
    mode = file_of(prom).stat().st_mode
    assert stat.S_IMODE(mode) == 0o644
    counters = tmp_path / "one.counters"
    assert stat.S_IMODE(counters.stat().st_mode) == 0o600
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(
        file_of(prom).name) and p != file_of(prom)]


def test_restart(counted, prom):
    """A connection that outlives the listener is counted on, and what was
    counted before stays."""
    client = counted()
    client.ssh("true")
    idle(file_of(prom), 1)
    long = harness.start([*client.ssh_args(), "cat"], stdin=-1, stdout=-1)
    try:
        long.stdin.write(b"x")
        long.stdin.flush()
        assert long.stdout.read(1) == b"x"
        server = client.server
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
        server.start()
        client = Client("hpn", server)
        client.ssh("true")
        long.stdin.write(b"y")
        long.stdin.flush()
        assert long.stdout.read(1) == b"y"
    finally:
        long.stdin.close()
        long.wait(60)
    m = idle(file_of(prom), 3)
    assert m[login("publickey", "accepted")] == 3
    assert m[sessions("exec")] == 3


def test_no_listener(counted, prom):
    """As with socket activation: each connection has an hpnsshd -i."""
    client = counted()
    server = client.server
    server.stop()
    with socket.create_server(("127.0.0.1", server.port)) as listener:
        for _ in range(2):
            ssh = harness.start([*client.ssh_args(), "true"])
            connection, _ = listener.accept()
            with connection:
                inetd = harness.start(
                    [hpn("sshd"), "-i", "-f", server.config],
                    stdin=connection, stdout=connection)
            assert ssh.wait(60) == 0
            inetd.wait(60)
    m = idle(file_of(prom), 2)
    assert m[login("publickey", "accepted")] == 2


def test_two_instances(counted, prom, tmp_path):
    one, two = counted(), counted(name="two")
    one.ssh("true")
    two.ssh("true")
    two.ssh("true")
    assert idle(file_of(prom), 1)[sessions("exec")] == 1
    assert idle(file_of(prom, "two"), 2)[sessions("exec")] == 2
    assert (tmp_path / "two.counters").exists()


def test_a_monitor_that_is_killed(counted, prom):
    """Its connection is not open for ever."""
    client = counted()
    long = harness.start([*client.ssh_args(), "echo $PPID; cat"], stdin=-1,
                         stdout=-1)
    user = int(long.stdout.readline())
    monitor = int(Path(f"/proc/{user}/stat").read_text().rsplit(")")[1]
                  .split()[1])
    os.kill(monitor, signal.SIGKILL)
    long.stdin.close()
    long.wait(60)
    client.ssh("true")
    m = idle(file_of(prom), 2)
    assert m[login("publickey", "accepted")] == 2


def test_files_in_the_way(counted, prom, tmp_path):
    """No connection fails because the counters or the text cannot be
    written."""
    client = counted()
    (tmp_path / "one.counters").mkdir()
    assert client.ssh("exit 4").rc == 4
    assert wait_for(lambda: "counters" in client.server.log_text())
    (tmp_path / "one.counters").rmdir()

    def text_is_in_the_way():
        """A connection that ends may write it once more meanwhile."""
        with contextlib.suppress(FileNotFoundError):
            file_of(prom).unlink()
        with contextlib.suppress(FileExistsError):
            file_of(prom).mkdir()
            return True
    assert wait_for(text_is_in_the_way)
    assert client.ssh("exit 5").rc == 5
    assert wait_for(lambda: "MetricsTextfile" in client.server.log_text())


def test_broken_counters(counted, prom, tmp_path):
    client = counted()
    client.ssh("true")
    idle(file_of(prom), 1)
    counters = tmp_path / "one.counters"
    whole = counters.read_bytes()
    counters.write_bytes(os.urandom(len(whole)))
    client.ssh("true")
    idle(file_of(prom), 1)
    assert "broken" in client.server.log_text()


def test_values():
    done = run([hpn("sshd"), "-t", "-f", "/dev/null", "-o",
                "MetricsTextfile relative"])
    assert done.rc != 0 and "MetricsTextfile" in done.errors


def test_the_names(counted, prom):
    """The dashboard and the page name the metrics that there are."""
    client = counted()
    client.ssh("true")
    names = {key.split("{")[0] for key in idle(file_of(prom), 1)}
    page = (TREE / "docs/CENTRES.md").read_text()
    assert set(re.findall(r"^\| `(hpnsshd_[a-z_]+)` \|", page, re.M)) == names
    board = json.loads((TREE / "contrib/grafana/hpnsshd.json").read_text())
    used, at = set(), set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        at.add((place["x"], place["y"]))
        for target in panel["targets"]:
            used |= set(re.findall(r"hpnsshd_[a-z_]+", target["expr"]))
            for by in re.findall(r"by \(([^)]*)\)", target["expr"]):
                name = re.search(r"hpnsshd_[a-z_]+", target["expr"])[0]
                row = re.search(rf"^\| `{name}` \| ([^|]*)\|", page, re.M)[1]
                assert set(by.split(", ")) == set(
                    re.findall("`([a-z]+)`", row)), target
    assert used == names and len(at) == len(board["panels"])
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])
