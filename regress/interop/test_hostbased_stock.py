# SPDX-License-Identifier: ISC
"""Host-based logins between our programs and the installed OpenSSH's, each of
the client, its setuid helper and the server."""

import re
import shutil
import sys
from pathlib import Path

import pytest

import harness

sys.path.append(str(Path(harness.__file__).parent / "e2e"))
import hostbased  # noqa: E402
from hostbased import NAME, USER  # noqa: E402

KEYSIGN = Path("/usr/lib/openssh/ssh-keysign")

pytestmark = [
    pytest.mark.skipif(not harness.have("stock", "ssh", "sshd"),
                       reason="no stock OpenSSH"),
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd", "ssh-keysign"),
                       reason="hpnssh-keysign is not built"),
    pytest.mark.skipif(not KEYSIGN.exists(), reason="no stock ssh-keysign")]


@pytest.fixture(scope="module")
def place(keys, nothing_left):
    with hostbased.place(keys) as made:
        yield made


@pytest.mark.parametrize("client, server", [
    ("hpn", "stock"), ("stock", "hpn"), ("stock", "stock")])
@pytest.mark.parametrize("key", ["ed25519", "ecdsa256", "rsa"])
def test_login(place, client, server, key):
    place.host_keys(key)
    place.system("ssh_known_hosts", place.known(key))
    sshd = place.server(kind=server)
    mark = sshd.log.stat().st_size
    done = place.ssh(sshd, kind=client)
    log = sshd.log.read_bytes()[mark:].decode().replace("\r", "")
    assert (done.rc, done.out) == (0, b"in\n"), (done, log)
    # the same lines from both servers
    kind = re.sub(r"\d+", "", key).upper() if key != "ed25519" else "ED25519"
    assert re.search(
        rf"Accepted {kind} public key (SHA256:[\w+/]{{43}}) from "
        rf"{USER}@{NAME}\n(.*\n)*?Accepted hostbased for {USER} from 127.0.0.1 "
        rf"port \d+ ssh2: {kind} \1\n", log), log


@pytest.mark.parametrize("program, helper", [
    ("stock", "hpn"), ("hpn", "stock")])
def test_client_with_the_others_helper(place, program, helper):
    place.host_keys("ed25519")
    place.fresh()
    ours = place.helpers / "hpnssh-keysign"
    source = ours if helper == "hpn" else KEYSIGN
    target = KEYSIGN if program == "stock" else \
        place.helpers_place / "hpnssh-keysign"
    copy = place.dir / "other-keysign"
    shutil.copy(source, copy)
    copy.chmod(0o4755)
    try:
        done = place.ssh(place.server(), kind=program,
                         over=(copy, target))
    finally:
        copy.unlink()
    assert (done.rc, done.out) == (0, b"in\n"), done


@pytest.mark.parametrize("server", ["hpn", "stock"])
def test_refusals(place, server):
    """Both servers refuse the same requests."""
    place.host_keys("ed25519")
    place.fresh()
    sshd = place.server(kind=server)
    assert place.raw(sshd)[0]
    assert not place.raw(sshd, signed_user="root")[0]
    let_in, log = place.raw(sshd, client_user="visitor")
    assert not let_in
    assert re.search(rf"Failed hostbased for {USER} from 127.0.0.1 port \d+ "
                     r"ssh2: ED25519 SHA256:[\w+/]{43}, client user "
                     rf'"visitor", client host "{NAME}\.?"\n', log), log
    assert not place.raw(sshd, key="ed25519-otherhost")[0]
    assert place.raw(sshd, host="elsewhere.")[0]
    for lines, let_in in ((f"-{NAME}\n{NAME}\n", False), ("+\n", False),
                          (f"+ {USER}\n", False), (f"{NAME} +\n", False),
                          (f"+{NAME}\n", True), (f"{NAME} +{USER}\n", True),
                          (f"{NAME} {USER} x\n", False),
                          ("NO_PLUS\n127.0.0.1\n", True)):
        place.system("shosts.equiv", lines)
        assert place.raw(sshd)[0] == let_in, lines
