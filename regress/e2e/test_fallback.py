# SPDX-License-Identifier: ISC
"""The second port of hpnssh: tried once, never in a loop, never when the port
was given; known_hosts under the port that was really used."""

import time

import pytest

import harness
from harness import Client, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")


@pytest.fixture
def to_ports(sshd):
    """to_ports(port, fallback, *options): hpnssh without -p if port is
    None."""
    def connect(port, fallback, *options, config="none"):
        client = Client("hpn", sshd, log_level="INFO")
        args = [harness.hpn("ssh"), *client.options(
            f"FallbackPort={fallback}", *options), "-F", str(config)]
        if port is not None:
            args += ["-p", str(port)]
        return run([*args, "-l", client.user, "127.0.0.1", "echo reached"])
    return connect


needs_free_default = pytest.mark.usefixtures("default_port")


@needs_free_default
def test_falls_back(to_ports, sshd):
    """The key in known_hosts is that of the port really used, so a strict
    client gets through."""
    done = to_ports(None, sshd.port)
    assert done.rc == 0 and done.out == b"reached\n", done
    assert done.errors == ""  # a batch


@needs_free_default
def test_fallback_is_told_once(to_ports, sshd, tmp_path):
    """The fallback is told once for a host; later it is known, and told with
    -v."""
    known = tmp_path / "known_hosts"
    known.write_bytes(sshd.known_hosts.read_bytes())

    def visit(*options):
        return to_ports(None, sshd.port, "BatchMode=no",
                        f"UserKnownHostsFile={known}", *options).errors

    line = ("HPNSSH server not available on default port 2222, falling back "
            f"to user defined port {sshd.port}\n")
    assert visit() == line
    assert visit() == ""
    assert line in visit("LogLevel=VERBOSE")


@needs_free_default
def test_switched_off(to_ports, sshd):
    done = to_ports(None, sshd.port, "Fallback=no")
    assert done.rc == 255 and "refused" in done.errors, done


@pytest.mark.parametrize("where", ["command line", "file"])
def test_port_that_was_given_never_falls_back(to_ports, sshd, tmp_path,
                                              where):
    port = harness.free_port()
    if where == "file":
        config = tmp_path / "config"
        config.write_text(f"Port {port}\n")
        done = to_ports(None, sshd.port, config=config)
    else:
        done = to_ports(port, sshd.port)
    assert done.rc == 255 and "refused" in done.errors, done


@needs_free_default
@pytest.mark.parametrize("fallback", [2222, "closed"])
def test_no_loop(to_ports, fallback):
    began = time.monotonic()
    done = to_ports(None, harness.free_port() if fallback == "closed"
                    else fallback)
    assert done.rc == 255 and "refused" in done.errors, done
    assert time.monotonic() - began < 30
    assert len(done.errors.splitlines()) <= 2, done


@needs_free_default
@pytest.mark.parametrize("strict", ["accept-new", "no"])
@pytest.mark.parametrize("mark, kind", [
    ("", "ed25519"), ("", "rsa"), ("@revoked ", "ed25519")])
def test_a_known_host_is_not_new_under_the_other_port(
        to_ports, sshd, tmp_path, mark, kind, strict):
    """Who keeps the client from one default port, where the host's key is
    known, can not pass as the host on the other, with no type of key."""
    known = tmp_path / "known_hosts"
    right = " ".join(sshd.keys.public("ed25519-host").split()[:2])
    other = " ".join(sshd.keys.public(f"{kind}-other").split()[:2])
    name = "[127.0.0.1]:2222"
    options = [f"UserKnownHostsFile={known}", "PasswordAuthentication=yes"]

    def visit():
        return to_ports(None, sshd.port, f"StrictHostKeyChecking={strict}",
                        *options)

    known.write_text(f"{mark}{name} {right if mark else other}\n")
    before = known.read_text()
    options += ["HostKeyAlgorithms=ssh-ed25519"]
    done = visit()
    if mark or strict == "accept-new":
        assert done.rc == 255, done
        assert mark or name in done.errors
    assert ("REVOKED" if mark else "HAS CHANGED") in done.errors
    assert known.read_text() == before
    known.write_text(f"{name} {right}\n")  # the same key: the same host
    assert visit().out == b"reached\n"
    known.write_text(f"{name} {other}\n[127.0.0.1]:{sshd.port} {right}\n")
    assert visit().out == b"reached\n"  # known under the very name
