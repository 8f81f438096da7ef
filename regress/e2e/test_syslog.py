# SPDX-License-Identifier: ISC
"""Who logs to syslog, and with which facility: LOCAL3 is number 19."""

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


@pytest.mark.parametrize("lines,sftp,facility,facility_of_sftp", [
    ("SyslogFacility LOCAL3\n", "internal-sftp -l INFO", LOCAL3, AUTH),
    ("SyslogFacility LOCAL3\n", "internal-sftp -f LOCAL5 -l INFO", LOCAL3,
     LOCAL5),
    ("", "internal-sftp -f LOCAL3 -l INFO", AUTH, LOCAL3)])
def test_server(syslog, keys, tmp_path, background, lines, sftp, facility,
                facility_of_sftp):
    """Listener, monitor and the user's process; and the SFTP server, which
    has a facility of its own."""
    server = harness.Server("hpn", tmp_path / "server", keys, ["ed25519"],
                            f"{lines}Subsystem sftp {sftp}\n",
                            host_keys=["ed25519"])
    server.port = free_port()
    config = server.dir / "config"
    config.write_text(server.config_text())
    server.process = background(syslog.within(hpn("sshd"), "-D", "-f",
                                              config))
    syslog.until("Server listening on")
    key = keys.public("ed25519-host")
    server.known_hosts = tmp_path / "known"
    server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {key}\n")
    Client("hpn", server).ssh("sftp", flags=["-s"]).ok()
    for text in ("Server listening on", "Accepted publickey for",
                 "Disconnected from user"):
        assert syslog.until(text).facilities(text) == {facility}, text
    text = "session opened for local user"
    assert syslog.until(text).facilities(text) == {facility_of_sftp}


def test_sftp_server(syslog):
    args = ["-l", "INFO", "-f", "LOCAL3"]
    run(syslog.within(hpn("sftp-server"), *args), env=clean_env()).ok()
    text = "session opened for local user"
    assert syslog.until(text).facilities(text) == {LOCAL3}
