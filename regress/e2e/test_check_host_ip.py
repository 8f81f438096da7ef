# SPDX-License-Identifier: ISC
"""CheckHostIP: known_hosts has the address of a host beside its name. Client
and server are in a network of their own, where the server's address is not
one of the loopback."""

import pytest

import harness
from harness import ME, Client, Server, hpn, run

ADDRESS, OTHER = "192.0.2.7", "192.0.2.8"
NETWORK = f"""
ip link set lo up && ip addr add {ADDRESS}/32 dev lo &&
ip addr add {OTHER}/32 dev lo && exec "$@"
"""
NAMES = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
BOX = "WARNING: POSSIBLE DNS SPOOFING DETECTED!"
EXIT = "Exiting, you have requested strict checking."


def problem():
    if not harness.have("hpn", "ssh", "sshd"):
        return "hpnssh and hpnsshd are not built"
    if not harness.IS_ROOT:
        return "needs root: a network namespace, mounts"
    if run(["unshare", "-n", "-m", "--propagation", "private", "sh", "-c",
            NETWORK + " mount --bind /etc/hosts /etc/hosts",
            "sh", "true"]).rc != 0:
        return "no network namespace is possible here"
    return None


WHY = problem()
pytestmark = pytest.mark.skipif(WHY is not None, reason=str(WHY))


@pytest.fixture(scope="module")
def server(tmp_path_factory, keys):
    with Server("hpn", tmp_path_factory.mktemp("server"), keys,
                authorized=["ed25519"], host_keys=("ed25519", "ecdsa256"),
                config="AddressFamily inet\nListenAddress 0.0.0.0\n",
                within=["unshare", "-n", "sh", "-c", NETWORK, "sh"]) as made:
        yield made


class Visit:
    def __init__(self, server, directory):
        self.server, self.dir = server, directory
        self.file = directory / "known_hosts"
        self.name = f"[h.test]:{server.port}"
        self.address = f"[{ADDRESS}]:{server.port}"
        self.lead_to(ADDRESS)

    def lead_to(self, address):
        (self.dir / "hosts").write_text(
            f"127.0.0.1 localhost\n{address} h.test h.test.\n")

    def key(self, name="ed25519-host"):
        return " ".join(self.server.keys.public(name).split()[:2])

    def know(self, name, key="ed25519-host", mark=""):
        with open(self.file, "a", encoding="ascii") as out:
            out.write(f"{mark}{name} {self.key(key)}\n")
        return self

    def lines(self):
        return self.file.read_text().splitlines()

    def __call__(self, *options, strict="yes", host="h.test",
                 command="echo in"):
        client = Client("hpn", self.server, known_hosts=self.file, options=[
            *options, f"StrictHostKeyChecking={strict}", "CheckHostIP=yes",
            "HostKeyAlgorithms=ssh-ed25519"], log_level="INFO")
        return run([
            "nsenter", f"--net=/proc/{self.server.process.pid}/ns/net",
            "unshare", "-m", "--propagation", "private", "sh", "-c", NAMES,
            "sh", self.dir / "hosts", hpn("ssh"), *client.options(), "-p",
            str(self.server.port), "-l", ME, host, command])


@pytest.fixture
def visit(server, tmp_path):
    return Visit(server, tmp_path)


def test_new_host(visit):
    visit(strict="accept-new").ok()
    assert visit.lines() == [f"{visit.name} {visit.key()}",
                             f"{visit.address} {visit.key()}"]
    assert visit().ok().errors == ""


def test_not_unless_it_is_asked_for(visit):
    visit("CheckHostIP=no", strict="accept-new").ok()
    assert visit.lines() == [f"{visit.name} {visit.key()}"]
    visit.know(visit.address, "ed25519-other")
    assert visit("CheckHostIP=no").ok().errors == ""


@pytest.mark.parametrize("hashed", ["no", "yes"])
def test_address_of_a_known_host_is_noted(visit, hashed):
    visit.know(visit.name)
    done = visit(f"HashKnownHosts={hashed}").ok()
    assert f"Permanently added the ED25519 host key for IP address " \
        f"'{visit.address}' to the list of known hosts." in done.errors
    assert len(visit.lines()) == 2
    assert (ADDRESS in visit.file.read_text()) == (hashed == "no")
    found = run([hpn("ssh-keygen"), "-f", visit.file, "-F", visit.address])
    assert visit.key() in found.ok().text
    assert visit().ok().errors == ""


def test_host_of_a_list_that_is_not_the_users(visit, tmp_path):
    system = tmp_path / "system"
    system.write_text(f"{visit.name} {visit.key()}\n")
    visit(f"GlobalKnownHostsFile={system}").ok()
    assert visit.lines() == [f"{visit.address} {visit.key()}"]


@pytest.mark.parametrize("strict,status", [
    ("yes", 255), ("accept-new", 255), ("ask", 255), ("no", 0)])
@pytest.mark.parametrize("known", [True, False])
def test_address_with_another_key(visit, strict, status, known):
    if known:
        visit.know(visit.name)
    visit.know(visit.address, "ed25519-other")
    before = visit.file.read_text()
    done = visit(strict=strict)
    assert done.rc == status
    assert f"Warning: the ED25519 host key for '{visit.name}' differs from " \
        f"the key for the IP address '{visit.address}'\n" in done.errors
    line = 2 if known else 1
    assert f"Offending key for IP in {visit.file}:{line}\n" in done.errors
    assert (f"Matching host key in {visit.file}:1" in done.errors) == known
    assert (EXIT in done.errors) == (strict in ("yes", "accept-new"))
    if known or status:
        assert visit.file.read_text() == before


@pytest.mark.parametrize("address,box", [
    (None, True), ("ed25519-host", True), ("ed25519-other", False)])
@pytest.mark.parametrize("strict,status", [("yes", 255), ("no", 0)])
def test_name_with_another_key(visit, address, box, strict, status):
    visit.know(visit.name, "ed25519-other")
    if address:
        visit.know(visit.address, address)
    before = visit.file.read_text()
    done = visit(strict=strict)
    assert done.rc == status
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED!" in done.errors
    assert (BOX in done.errors) == box
    assert (f"Offending key for IP in {visit.file}:2\n" in done.errors) == \
        (address == "ed25519-host")
    assert visit.file.read_text() == before
    assert BOX not in visit("CheckHostIP=no", strict=strict).errors


def test_name_that_leads_to_another_known_host(visit):
    """What the keyword is for: at the new address, another machine's key is
    known, and the name would come to have it too."""
    visit.know(visit.address, "ed25519-other").lead_to(OTHER)
    visit.know(f"[{OTHER}]:{visit.server.port}", "ed25519-other")
    done = visit(strict="accept-new")
    assert done.rc == 255 and EXIT in done.errors
    assert visit.name not in visit.file.read_text()


@pytest.mark.parametrize("known", [True, False])
def test_revoked_for_the_address(visit, known):
    if known:
        visit.know(visit.name)
    visit.know(visit.address, mark="@revoked ")
    done = visit(strict="no")
    assert done.rc == 255 and "REVOKED HOST KEY DETECTED" in done.errors


def test_known_without_its_port(visit):
    visit.know("h.test")
    done = visit().ok()
    assert "ED25519 host key for IP address '" + ADDRESS + \
        "' not in list of known hosts." in done.errors
    visit.know(ADDRESS)
    assert visit().ok().errors == ""


@pytest.mark.parametrize("bare", [True, False])
def test_known_without_its_port_and_another_address(visit, bare):
    visit.know("h.test")
    visit.know(ADDRESS if bare else visit.address, "ed25519-other")
    done = visit()
    assert done.rc == 255 and EXIT in done.errors


def test_alias(visit):
    """Its address is looked at all the same."""
    visit.know("alias")
    visit("HostKeyAlias=alias").ok()
    assert visit.lines()[1:] == [f"{visit.address} {visit.key()}"]
    visit.file.unlink()
    visit.know("alias").know(visit.address, "ed25519-other")
    assert visit("HostKeyAlias=alias").rc == 255


def test_canonical_name(visit):
    visit.know(visit.name)
    visit("CanonicalizeHostname=yes", "CanonicalDomains=test", host="h").ok()
    assert visit.lines()[1:] == [f"{visit.address} {visit.key()}"]


@pytest.mark.parametrize("how", ["proxy", "number", "loopback"])
def test_when_there_is_no_address_beside_the_name(visit, how):
    host, options = "h.test", []
    if how == "proxy":
        options = ["ProxyCommand=nsenter --net=/proc/self/ns/net bash -c "
                   f"'exec 3<>/dev/tcp/{ADDRESS}/%p; cat <&3 & cat >&3; "
                   "kill $!'"]
        visit.know(visit.name).know(visit.address, "ed25519-other")
    elif how == "number":
        host = ADDRESS
        visit.know(visit.address)
    else:
        visit.lead_to("127.0.0.1")
        visit.know(visit.name).know(f"[127.0.0.1]:{visit.server.port}",
                                    "ed25519-other")
    before = visit.file.read_text()
    assert visit(*options, host=host).ok().errors == ""
    assert visit.file.read_text() == before


def test_other_keys_are_learnt_for_both(visit):
    visit.know(visit.name).know(visit.address)
    visit("UpdateHostKeys=yes",
          "HostKeyAlgorithms=ssh-ed25519,ecdsa-sha2-nistp256", command="sleep 0.3").ok()
    second = visit.key("ecdsa256-host")
    assert sorted(visit.lines()) == sorted(
        f"{name} {key}" for name in (visit.name, visit.address)
        for key in (visit.key(), second))


def test_command_is_asked_for_the_address(visit, tmp_path):
    """What it prints counts, and is noted nowhere."""
    asked, program = tmp_path / "asked", tmp_path / "kh"
    program.write_text(
        f'#!/bin/sh\necho "$1 $2" >>{asked}\n'
        f'test "$1" != HOSTNAME || echo "$2 {visit.key()}"\n'
        f'test "$1" != ADDRESS || echo "$2 {visit.key("ed25519-other")}"\n')
    program.chmod(0o755)
    done = visit(f"KnownHostsCommand={program} %I %H")
    assert done.rc == 255 and EXIT in done.errors
    assert "Offending key for IP in KnownHostsCommand-ADDRESS:1\n" in \
        done.errors
    assert asked.read_text().splitlines() == [
        f"HOSTNAME {visit.name}", f"ADDRESS {visit.address}"]
    program.write_text(f'#!/bin/sh\necho "$2 {visit.key()}"\n')
    assert visit(f"KnownHostsCommand={program} %I %H").ok().errors == ""
    program.write_text(
        f'#!/bin/sh\ntest "$1" = ADDRESS || echo "$2 {visit.key()}"\n')
    visit(f"KnownHostsCommand={program} %I %H").ok()
    assert not visit.file.exists()
