# SPDX-License-Identifier: ISC
"""hpnsshd -i as a client's ProxyCommand: on pipes, without any socket."""

import hashlib

import pytest

from harness import MIB, hpn, have, run


@pytest.mark.skipif(not have("stock", "ssh"), reason="no stock ssh")
def test_proxy_command(sshd, keys, tmp_path, data_file):
    data = data_file(2 * MIB)
    log = tmp_path / "log"
    done = run(["ssh", "-F", "none", "-i", keys.path("ed25519"),
                "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=no",
                "-o", "UserKnownHostsFile=/dev/null",
                "-o", f"ProxyCommand={hpn('sshd')} -i -f {sshd.config} "
                      f"-E {log}",
                "127.0.0.1", "cat; exit 3"], stdin=data.read_bytes())
    assert done.rc == 3, done
    assert hashlib.sha256(done.out).digest() == \
        hashlib.sha256(data.read_bytes()).digest()
    assert "Accepted publickey for" in log.read_text()
