# SPDX-License-Identifier: ISC
"""Which of PAM's files holds: the administrator's, else that of an OpenSSH
server, else the one that comes with the packages; while packages come and go."""

import shutil
from pathlib import Path

import pytest
from otp import ACCOUNT, PAM, UNIX, Otp
from ownetc import PASSWORD, entered

import harness
from harness import have, run

SHIPPED = harness.TOP / "contrib/hpnsshd.pam"
VENDOR = Path("/usr/lib/pam.d")
OWN, THEIRS = "hpnsshd", "sshd"
# As what many modules do: they act for the service that they know.
FOR_SSHD = "account [success=ignore default=die] pam_succeed_if.so quiet " \
    "service = sshd\n"
NOBODY = "auth required pam_deny.so\n"

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


class Place(Otp):
    """With /usr/lib/pam.d as the packages leave it, and no other service."""

    def __init__(self, directory, keys):
        super().__init__(directory, keys)
        self.services = self.etc / "pam.d"
        vendor = self.dir / "vendor"
        vendor.mkdir()
        shutil.copy(SHIPPED, vendor / OWN)
        self.mounts += [vendor, VENDOR]
        for name in (OWN, THEIRS):
            self.remove(name)
        (self.services / "other").write_text(NOBODY)

    def put(self, name, text):
        (self.services / name).write_text(text)

    def remove(self, name):
        (self.services / name).unlink(missing_ok=True)

    def lets_in(self, server):
        done = run([*self.client(server).ssh_args(), "echo in"],
                   env=self.answers(PASSWORD))
        assert (done.rc, done.text) in ((0, "in\n"), (255, "")), done
        return done.rc == 0


@pytest.fixture
def place(tmp_path, keys):
    if not Path("/etc/pam.d/common-auth").exists():
        pytest.skip("the file is for Debian and its kin")
    # Some Debians have no such directory before a package brings it.
    made_it = harness.IS_ROOT and not VENDOR.exists()
    if made_it:
        VENDOR.mkdir()
    with entered(Place, tmp_path, keys) as made:
        yield made
    if made_it:
        VENDOR.rmdir()


def test_openssh_comes_and_goes(place):
    """Its rules hold while it is there, under its name; nobody is locked out
    when it is purged. No server is started anew."""
    server = place.server(PAM)
    assert place.lets_in(server)
    place.put(THEIRS, UNIX + FOR_SSHD + ACCOUNT)
    assert place.lets_in(server)
    place.put(THEIRS, UNIX + NOBODY + ACCOUNT)
    assert not place.lets_in(server)
    place.remove(THEIRS)
    assert place.lets_in(server)


def test_installed_beside_openssh(place):
    place.put(THEIRS, UNIX + NOBODY + ACCOUNT)
    server = place.server(PAM)
    assert not place.lets_in(server)
    place.remove(THEIRS)
    assert place.lets_in(server)


def test_the_administrators_file_comes_first(place):
    place.put(THEIRS, UNIX + ACCOUNT)
    place.put(OWN, UNIX + NOBODY + ACCOUNT)
    server = place.server(PAM)
    assert not place.lets_in(server)
    place.remove(OWN)
    assert place.lets_in(server)


def test_another_name_is_taken_as_it_is(place):
    place.put(THEIRS, UNIX + ACCOUNT)
    place.put("third", UNIX + NOBODY + ACCOUNT)
    assert not place.lets_in(place.server(PAM + "PAMServiceName third\n"))
    # PAM's own rule for a name without a file
    assert not place.lets_in(place.server(PAM + "PAMServiceName fourth\n"))
