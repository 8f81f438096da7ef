# SPDX-License-Identifier: ISC
"""Who logs to syslog, and with which facility: LOCAL3 is number 19."""

import re

import pytest
import syslogs

import harness
from harness import Client, clean_env, free_port, hpn, run

LOCAL3, LOCAL5, AUTH, USER = 19, 21, 4, 1
pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")


@pytest.fixture
def syslog(tmp_path):
    why = syslogs.problem()
    if why:
        pytest.skip(why)
    log = syslogs.Syslog(tmp_path / "dev")
    yield log
    log.close()


@pytest.mark.parametrize("flags,facility", [
    (["-y"], USER), (["-y", "-oSyslogFacility=LOCAL3"], LOCAL3),
    (["-oSyslogFacility=LOCAL3"], None)])
def test_client(syslog, flags, facility):
    """Only -y makes it log there, and then it says nothing here."""
    done = run(syslog.within(hpn("ssh"), "-F", "none", *flags, "-p",
                             free_port(), "127.0.0.1", "true"))
    assert done.rc == 255
    text = "connect to host 127.0.0.1 port"
    if facility is None:
        assert text in done.errors and syslog.received == []
    else:
        assert text not in done.errors
        assert syslog.until(text).facilities(text) == {facility}


def begin(syslog, keys, tmp_path, background, lines):
    """A server that logs there."""
    server = harness.Server("hpn", tmp_path / "server", keys, ["ed25519"],
                            lines, host_keys=["ed25519"])
    server.port = free_port()
    config = server.dir / "config"
    config.write_text(server.config_text())
    server.process = background(syslog.within(hpn("sshd"), "-D", "-f",
                                              config))
    syslog.until("Server listening on")
    key = keys.public("ed25519-host")
    server.known_hosts = tmp_path / "known"
    server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {key}\n")
    return server


@pytest.mark.parametrize("lines,sftp,facility,facility_of_sftp", [
    ("SyslogFacility LOCAL3\n", "internal-sftp -l INFO", LOCAL3, AUTH),
    ("SyslogFacility LOCAL3\n", "internal-sftp -f LOCAL5 -l INFO", LOCAL3,
     LOCAL5),
    ("", "internal-sftp -f LOCAL3 -l INFO", AUTH, LOCAL3)])
def test_server(syslog, keys, tmp_path, background, lines, sftp, facility,
                facility_of_sftp):
    """Listener, monitor and the user's process; and the SFTP server, which
    has a facility of its own."""
    server = begin(syslog, keys, tmp_path, background,
                   f"{lines}Subsystem sftp {sftp}\n")
    Client("hpn", server).ssh("sftp", flags=["-s"]).ok()
    for text in ("Server listening on", "Accepted publickey for",
                 "Disconnected from user"):
        assert syslog.until(text).facilities(text) == {facility}, text
    text = "session opened for local user"
    assert syslog.until(text).facilities(text) == {facility_of_sftp}


@pytest.mark.parametrize("lines,name", [
    ("", "sshd"), ("LogName hpnsshd\n", "hpnsshd"),
    ("LogName a_b.c-1\n", "a_b.c-1")])
def test_name_of_the_server(syslog, keys, tmp_path, background, lines, name):
    """The listener, the monitor, hpnsshd-auth through it, the user's process;
    and the SFTP server by its own name, with the client's address."""
    server = begin(syslog, keys, tmp_path, background,
                   f"{lines}Subsystem sftp internal-sftp -l INFO\n"
                   "LogLevel VERBOSE\n")
    Client("hpn", server).ssh("sftp", flags=["-s"]).ok()
    for text in ("Server listening on", "Connection from", "Starting session",
                 "Accepted publickey for", "Disconnected from user"):
        line, = [line for line in syslog.until(text).lines
                 if text in line and "::" not in line]
        assert re.match(rf"\S+ +\d+ \S+ host {name}\[\d+\]: ", line), line
    line, = [line for line in syslog.until("session opened for").lines
             if "session opened for local user" in line]
    assert re.search(r" internal-sftp\[\d+\]: .* from \[127\.0\.0\.1\]$", line)


@pytest.mark.parametrize("name", ["", "a b", "a:", "a[1]", "x" * 33, "é"])
def test_no_name_of_a_log(tmp_path, name):
    config = tmp_path / "config"
    config.write_text(f'LogName "{name}"\n')
    done = run([hpn("sshd"), "-G", "-f", config])
    assert done.rc == 255 and f"{config} line 1" in done.errors


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB, where other processes see it."""
    if why := harness.mount_problem():
        pytest.skip(why)
    place = tmp_path / "small"
    place.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place]).ok()
    yield place
    run(["umount", "-l", place]).ok()


def test_one_line_for_a_failed_write(make_server, small_disk, data_file):
    """When a disk is full, each of the requests that are under way fails: the
    log has one line."""
    server = make_server("Subsystem sftp internal-sftp -l ERROR -e\n")
    client = Client("hpn", server)
    done = client.scp(data_file(4 << 20), f":{small_disk}/data",
                      flags=["--no-space-check"])
    assert done.rc == 1
    said = server.log_text() + done.errors
    assert said.count("write \"") == 1, said


def test_sftp_server(syslog):
    args = ["-l", "INFO", "-f", "LOCAL3"]
    run(syslog.within(hpn("sftp-server"), *args), env=clean_env()).ok()
    text = "session opened for local user"
    assert syslog.until(text).facilities(text) == {LOCAL3}
