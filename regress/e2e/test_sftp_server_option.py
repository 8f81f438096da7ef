# SPDX-License-Identifier: ISC
"""--sftp-server: the host runs a command in place of its subsystem, for all
sessions of a copy."""

import pytest

from harness import have, hpn, run

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sync",
                                         "sftp-server"),
                                reason="a copying program is not built")


@pytest.fixture
def server(tmp_path):
    """A command with an argument, as sudo is; it notes that it ran."""
    command = tmp_path / "as-root"
    command.write_text(f"#!/bin/sh\n: >{tmp_path}/ran.$$\n"
                       f'[ "$1" = -n ] && exec {hpn("sftp-server")}\n')
    command.chmod(0o755)
    return f"--sftp-server={command} -n"


@pytest.mark.parametrize("program", ["scp", "sftp", "sync"])
def test_command_of_the_host(ssh, server, tmp_path, program):
    (tmp_path / "f").write_text("text")
    options, port = ssh.options(), str(ssh.server.port)
    host = f"{ssh.user}@127.0.0.1"
    if program == "scp":
        done = run([hpn("scp"), *options, "-P", port, server, tmp_path / "f",
                    f"{host}:{tmp_path}/to"])
    elif program == "sftp":
        (tmp_path / "batch").write_text(f"put {tmp_path}/f {tmp_path}/to\n")
        done = run([hpn("sftp"), *options, "-P", port, "-b",
                    tmp_path / "batch", server, host])
    else:
        shell = " ".join(["ssh", *map(str, options), "-p", port])
        done = run([hpn("sync"), "-e", shell, server, tmp_path / "f",
                    f"{host}:{tmp_path}/to"])
    assert done.rc == 0 and list(tmp_path.glob("ran.*")), done
    assert (tmp_path / "to").read_text() == "text"


def test_refused_where_it_means_nothing(server, tmp_path):
    for flag in "-O", "-R", f"-D{hpn('sftp-server')}":
        names = ["a:x", "b:y"] if flag == "-R" else ["x", "h:y"]
        done = run([hpn("scp"), flag, server, *names], cwd=tmp_path)
        assert done.rc == 1 and b"--sftp-server" in done.err, done
