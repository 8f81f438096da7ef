# SPDX-License-Identifier: ISC
"""Host-based logins of our own programs: what lets a user of another host in,
and each reason to keep one out."""

import re

import hostbased
import pytest
from certify import certify
from hostbased import KEY, NAME, USER, give

import harness

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd", "ssh-keysign"),
    reason="hpnssh-keysign is not built")


@pytest.fixture(scope="module")
def one_place(keys, nothing_left):
    with hostbased.place(keys) as made:
        yield made


@pytest.fixture
def place(one_place):
    one_place.fresh()
    return one_place


def test_login(place):
    server = place.server()
    done = place.ssh(server)
    assert (done.rc, done.out) == (0, b"in\n"), (done, server.log_text())
    assert re.search(
        rf"Accepted ED25519 public key (SHA256:[\w+/]{{43}}) from "
        rf"{USER}@{NAME}\n(.*\n)*Accepted hostbased for {USER} from 127.0.0.1 "
        r"port \d+ ssh2: ED25519 \1\n",
        server.log_text().replace("\r", ""))


def test_keys_of_openssh(place):
    """A host whose keys are OpenSSH's has no other ones: hpnsshd shows those
    (hpnssh-keygen -A), and hpnssh-keysign signs with them."""
    for file in place.conf.glob("ssh_host_*"):
        file.unlink()
    try:
        done = place.ssh(place.server())
    finally:
        place.host_keys("ed25519")
    assert (done.rc, done.out) == (0, b"in\n"), done


def test_is_off_by_default(place):
    options = ["HostbasedAuthentication=no"]
    done = place.ssh(place.server(), options=options)
    assert done.rc == 255 and done.out == b""
    off = place.server("HostbasedAuthentication no\n")
    done = place.ssh(off)
    assert done.rc == 255 and "hostbased" not in off.log_text()


def refused(place, server, why=None, **kw):
    let_in, log = place.raw(server, **kw)
    assert not let_in, log
    assert why is None or why in log, log
    return log


def test_raw_request_is_right(place):
    let_in, log = place.raw(place.server())
    assert let_in, log


# ---- what the request says ---------------------------------------------

def test_signature_over_another_login(place):
    refused(place, place.server(), signed_user="root")


def test_user_who_is_not_listed(place):
    place.system("shosts.equiv", f"{NAME} other\n")
    server = place.server()
    refused(place, server)
    assert place.raw(server, client_user="other")[0]
    place.system("shosts.equiv", f"{NAME}\n")
    refused(place, server, client_user="other")


def test_wrong_name_in_request(place):
    """The address counts, the request's name is only logged."""
    let_in, log = place.raw(place.server(), host="elsewhere.")
    assert let_in
    assert ("userauth_hostbased mismatch: client sends elsewhere., but we "
            f"resolve 127.0.0.1 to {NAME}") in log


def test_name_of_request_only(place):
    server = place.server("HostbasedUsesNameFromPacketOnly yes\n")
    assert place.raw(server)[0]
    assert place.raw(server, host=NAME)[0]  # the dot may be missing
    refused(place, server, host="elsewhere.")
    refused(place, server, host=".")
    refused(place, server, host="")
    # the address does not count then
    place.system("shosts.equiv", "127.0.0.1\n")
    refused(place, server)


def test_without_dns_the_address_is_the_name(place):
    server = place.server("UseDNS no\n")
    refused(place, server)
    place.system("shosts.equiv", "127.0.0.1\n")
    refused(place, server, "not known")
    place.system("ssh_known_hosts", place.known("ed25519", name="127.0.0.1"))
    assert place.raw(server)[0]


def test_algorithm_that_is_not_accepted(place):
    server = place.server("HostbasedAcceptedAlgorithms rsa-sha2-512\n")
    refused(place, server, "userauth_hostbased: signature algorithm "
            "ssh-ed25519 not in HostbasedAcceptedAlgorithms")
    refused(place, server, "key of user", alg="rsa-sha2-512")


def test_old_algorithm_where_it_is_named(place, keys):
    """By both sides, as everywhere."""
    server = place.server("HostbasedAcceptedAlgorithms ssh-rsa\n")
    place.host_keys("rsa")
    place.system("ssh_known_hosts", place.known("rsa"))
    done = place.ssh(
        server, options=("HostbasedAcceptedAlgorithms=ssh-rsa",))
    place.host_keys("ed25519")
    assert done.rc == 0, (done, server.log_text())


def test_malformed_requests_end_the_connection_or_fail(place):
    server = place.server()
    refused(place, server, blob=b"")
    refused(place, server, blob=b"\0" * 70000)
    refused(place, server, alg="")
    assert place.raw(server)[0]


# ---- what is known of the host -----------------------------------------

def test_unknown_host(place):
    place.system("ssh_known_hosts", "")
    refused(place, place.server(), "not known")


def test_changed_key(place):
    refused(place, place.server(), "another one", key="ed25519-otherhost")


def test_revoked_in_known_hosts(place):
    place.system("ssh_known_hosts", place.known("ed25519") + "@revoked * "
                 + place.known("ed25519").split(" ", 1)[1])
    refused(place, place.server(), "revoked")


def test_revoked_keys(place, keys):
    listed = place.dir / "revoked"
    server = place.server(f"RevokedKeys {listed}\n")
    listed.write_text("")
    assert place.raw(server)[0]
    listed.write_text(keys.public(KEY) + "\n")
    refused(place, server, "revoked by file")


def test_known_to_the_user(place):
    place.system("ssh_known_hosts", "")
    known = place.home / ".ssh" / "known_hosts"
    place.user_file("known_hosts", place.known("ed25519"))
    server, strict = place.server(), \
        place.server("StrictModes yes\n")
    assert place.raw(server)[0] and place.raw(strict)[0]
    refused(place, place.server("IgnoreUserKnownHosts yes\n"), "not known")
    known.chmod(0o666)
    refused(place, strict, "bad ownership or modes")
    assert place.raw(server)[0]


def test_certificate(place, keys):
    """By an authority that known_hosts has for the host; with a name."""
    path = place.dir / "host-cert"
    public = f"{keys.path(KEY)}.pub"
    place.system("ssh_known_hosts", f"@cert-authority {NAME} "
                 + " ".join(keys.public("ed25519-hostca").split()[:2]) + "\n")
    server = place.server()
    for names, host, why in ((NAME, True, None), ("b.hpntest", True, "name"),
                             (NAME, False, "not a host certificate")):
        path.unlink(missing_ok=True)
        certify(keys, public, path, names, ca="ed25519-hostca", host=host)
        for at in place.places:
            (at / "ssh_host_ed25519_key-cert.pub").write_text(
                path.read_text())
        mark = server.log.stat().st_size
        done = place.ssh(server)
        log = server.log.read_bytes()[mark:].decode()
        assert done.rc == (255 if why else 0), (names, log)
        assert (f"Certificate invalid: {why}" if why else
                'Accepted certificate ID "id" signed by ED25519 CA ') in log
    for at in place.places:
        (at / "ssh_host_ed25519_key-cert.pub").unlink()
    refused(place, server, "not known")


# ---- lists of hosts ----------------------------------------------------

def test_lists_of_the_system(place):
    server = place.server()
    equiv = place.etc / "hosts.equiv"
    place.system("shosts.equiv", "")
    refused(place, server)
    equiv.write_text(f"# all\n{NAME}\n")
    assert place.raw(server)[0]
    equiv.write_text(f"-{NAME}\n{NAME}\n")
    refused(place, server)
    # what one file refuses, the next may allow
    place.system("shosts.equiv", f"+{NAME} +{USER}\n")
    assert place.raw(server)[0]
    for line in ("+", "+ +", f"+ {USER}", f"{NAME} +", "NO_PLUS"):
        equiv.unlink(missing_ok=True)
        place.system("shosts.equiv", line + "\n")
        refused(place, server)


def test_superuser_needs_a_list_of_its_own(place):
    server = place.server("PermitRootLogin yes\n")
    place.system("shosts.equiv", f"{NAME} {USER}\n{NAME} root\n{NAME}\n")
    assert place.raw(server)[0]
    refused(place, server, user="root")
    refused(place, server, user="root", client_user="root")


@pytest.mark.parametrize("mode, shosts, rhosts", [
    ("yes", False, False), ("shosts-only", True, False), ("no", True, True)])
def test_ignore_rhosts(place, mode, shosts, rhosts):
    server = place.server(f"IgnoreRhosts {mode}\n")
    place.system("shosts.equiv", "")
    for name, counts in ((".shosts", shosts), (".rhosts", rhosts)):
        give(place.home / name, f"{NAME} visitor\n")
        assert place.raw(server, client_user="visitor")[0] == counts, name
        refused(place, server)
        (place.home / name).unlink()


def test_own_list_that_others_write(place):
    place.system("shosts.equiv", "")
    strict = place.server("StrictModes yes\nIgnoreRhosts no\n")
    lax = place.server("StrictModes no\nIgnoreRhosts no\n")
    path = place.home / ".shosts"
    give(path, f"{NAME}\n", mode=0o664)
    refused(place, strict, "bad ownership or modes for file")
    assert place.raw(lax)[0]
    path.chmod(0o644)
    assert place.raw(strict)[0]
    place.home.chmod(0o777)
    refused(place, strict, "bad ownership or modes for directory")
    place.home.chmod(0o755)
    give(path, f"{NAME}\n", owner=(54799, 54799))
    refused(place, strict, "bad ownership or modes for file")
    path.unlink()
    # read with the user's rights: what the user cannot read does not count
    secret = place.dir / "secret"
    give(secret, f"{NAME}\n", owner=(0, 0), mode=0o600)
    path.symlink_to(secret)
    refused(place, lax)
    path.unlink()


# ---- with other methods ------------------------------------------------

def test_one_of_several_methods(place):
    server = place.server("AuthenticationMethods hostbased,password\n"
                          "ExposeAuthInfo yes\n")
    done = place.ssh(server)
    assert done.rc == 255
    assert "Permission denied (password)" in done.errors
    assert f"Partial hostbased for {USER}" in server.log_text()


def test_auth_info(place, keys):
    server = place.server("ExposeAuthInfo yes\n")
    done = place.ssh(server, 'cat "$SSH_USER_AUTH"')
    public = " ".join(keys.public(KEY).split()[:2])
    assert done.out.decode() == f"hostbased {public}\n"


def test_key_types(place):
    """Each by its own algorithm, and further keys where one is not known."""
    types = ("ed25519", "rsa", "ecdsa256")
    server = place.server()
    place.host_keys(*types)
    for one in types:
        place.system("ssh_known_hosts", place.known(one))
        done = place.ssh(server)
        assert done.rc == 0, (one, done, server.log_text())
    place.host_keys("ed25519")


# ---- hpnssh-keysign ----------------------------------------------------

def test_keysign_is_off_by_default(place):
    place.system("ssh_config", "")
    done = place.ssh(place.server())
    assert done.rc == 255
    assert "ssh-keysign not enabled in" in done.errors
    place.system("ssh_config", "Host other\nEnableSSHKeysign yes\n")
    assert "not enabled" in place.ssh(place.server()).errors


def test_keysign_is_not_turned_on_by_the_user(place):
    place.system("ssh_config", "")
    place.user_file("config", "EnableSSHKeysign yes\n")
    done = place.ssh(place.server(), options=["EnableSSHKeysign=yes"])
    (place.home / ".ssh" / "config").unlink()
    assert done.rc == 255 and "not enabled" in done.errors


def test_keysign_without_rights(place):
    keysign = place.helpers / "hpnssh-keysign"
    keysign.chmod(0o755)
    try:
        done = place.ssh(place.server())
    finally:
        keysign.chmod(0o4755)
    assert done.rc == 255
    assert "no hostkey could be read" in done.errors
