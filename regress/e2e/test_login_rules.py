# SPDX-License-Identifier: ISC
"""How a login is judged: what keys allow together, which options a line of
authorized_keys may have, groups, PAM, passwords that must be changed."""

import pytest

import harness
from harness import Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
needs_root = pytest.mark.skipif(
    not harness.IS_ROOT, reason="needs root: logs in as another user")
any_server = pytest.mark.parametrize("kind", [
    "hpn", pytest.param("stock", marks=pytest.mark.skipif(
        not harness.have("stock", "sshd"), reason="no stock sshd"))])


def authorize(server, *lines):
    server.authorized.write_text("".join(line + "\n" for line in lines))


# ---- options of a key's line --------------------------------------------

OPTIONS = [
    # what is acted upon, or may be some day
    ('permitlisten="8080"', True), ('permitlisten="*:8080"', True),
    ('permitlisten="h:*"', True), ('permitopen="h:ssh"', True),
    ('permitopen="[::1]:80"', True), ('permitopen="*:*"', True),
    ('tunnel="0"', True), ('tunnel="any"', True),
    ("no-touch-required", True), ("verify-required", True),
    ("restrict,no-touch-required,verify-required", True),
    # wrong: whoever wrote it wants less than what a plain key may do
    ('principals="a"', False), ('principals=""', False),
    ('permitopen="h:abc"', False), ('permitopen="h"', False),
    ('permitopen="h:65536"', False), ('permitopen="8080"', False),
    ('permitopen="h:0"', False), ('permitopen="h:-1"', False),
    ('permitlisten="abc"', False), ('permitlisten="h:abc"', False),
    ('tunnel="x"', False), ('tunnel="-1"', False), ('tunnel=""', False),
    ("no-principals", False),
]


@any_server
def test_options_of_a_line(make_server, keys, kind):
    """A line with a wrong option is no line; both servers take the same."""
    server = make_server(kind=kind, authorized=[])
    client = Client("hpn", server)
    for options, allowed in OPTIONS:
        authorize(server, f"{options} {keys.public('ed25519')}")
        done = client.ssh("exit 3")
        assert done.rc == (3 if allowed else 255), (options, done)


# ---- several keys -------------------------------------------------------

def two_keys(make_server, keys, first, second, config="", log_level=None):
    """A client that has to log in with two keys that have these options."""
    server = make_server("AuthenticationMethods publickey,publickey\n"
                         + config, authorized=[])
    authorize(server, f"{first} {keys.public('ed25519')}".strip(),
              f"{second} {keys.public('rsa')}".strip())
    return Client("hpn", server, key=None)


def with_both(client, keys, *command, swap=False, flags=()):
    names = ["rsa", "ed25519"] if swap else ["ed25519", "rsa"]
    given = [a for name in names for a in ("-i", str(keys.path(name)))]
    return client.ssh(*command, flags=[*given, *flags])


@pytest.mark.parametrize("swap", [False, True])
def test_command_of_one_of_two_keys(make_server, keys, swap):
    client = two_keys(make_server, keys, 'command="echo forced"', "")
    assert with_both(client, keys, "id", swap=swap).out == b"forced\n"


@pytest.mark.parametrize("swap", [False, True])
def test_restrictions_of_one_of_two_keys(make_server, keys, swap):
    client = two_keys(make_server, keys, "restrict", "")
    done = with_both(client, keys, "tty", swap=swap, flags=["-tt"])
    assert b"/dev/pts" not in done.out, done


def test_two_keys_that_agree(make_server, keys):
    client = two_keys(make_server, keys, 'command="echo same"',
                      'command="echo same",no-pty')
    assert with_both(client, keys, "id").out == b"same\n"


@pytest.mark.parametrize("swap", [False, True])
def test_two_commands(make_server, keys, swap):
    """Neither of them is more right than the other."""
    client = two_keys(make_server, keys, 'command="echo 1"',
                      'command="echo 2"')
    done = with_both(client, keys, "id", swap=swap)
    assert (done.rc, done.out) == (255, b""), done
    assert harness.wait_for(lambda: "two different commands are forced" in
                            client.server.log_text())


def test_environment_of_two_keys(make_server, keys):
    config = "PermitUserEnvironment HPN_*\n"
    client = two_keys(make_server, keys, 'environment="HPN_A=1"',
                      'environment="HPN_B=2",environment="OTHER=3"', config)
    done = with_both(client, keys, "echo $HPN_A$HPN_B$OTHER")
    assert done.out == b"12\n", done
    client = two_keys(make_server, keys, 'environment="HPN_A=1"',
                      'environment="HPN_A=2"', config)
    assert with_both(client, keys, "true").rc == 255


def test_one_key_is_not_two(make_server, keys):
    server = make_server("AuthenticationMethods publickey,publickey\n",
                         authorized=["ed25519"])
    assert Client("hpn", server).ssh("true").rc == 255


@needs_root
def test_key_that_root_may_not_use_leaves_no_trace(make_server, keys):
    """Permits of a key that was refused do not count for the next one."""
    server = make_server("PermitRootLogin forced-commands-only\n",
                         authorized=[])
    authorize(server, f"no-pty {keys.public('ed25519')}",
              f'command="tty" {keys.public("rsa")}')
    client = Client("hpn", server, key=None)
    done = with_both(client, keys, "id", flags=["-tt"])
    assert b"/dev/pts/" in done.out, done
