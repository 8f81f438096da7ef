# SPDX-License-Identifier: ISC
"""Copies where a login takes what can be given once only (a code): the user is
asked once, the server never hears of a further connection, and the one that
there is does all."""

import pytest
from otp import (PAM, PASSWORD, UNIX, USER, google,  # noqa: F401
                 logins, missing, oath, otp)

import harness
from harness import have, hpn, run

pytestmark = [
    pytest.mark.skipif(not have("hpn", "scp", "sftp", "sshd"),
                       reason="hpnscp or hpnsshd is not built"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
SIZE = 12_000_000
ALONE = "everything goes over one connection"


# AuthenticationMethods, lines of PAM, answers, is there a key?
CASES = {
    "key, code": ("publickey,keyboard-interactive", lambda o: o.oath,
                  lambda: [oath(0)], "ed25519"),
    "code, key": ("keyboard-interactive,publickey",
                  lambda o: o.google_line(), lambda: [google(1)], "ed25519"),
    "code": ("keyboard-interactive", lambda o: o.oath, lambda: [oath(0)],
             None),
    "password and code": ("keyboard-interactive", lambda o: UNIX + o.oath,
                          lambda: [PASSWORD, oath(0)], None),
    "password, code": ("password,keyboard-interactive",
                       lambda o: o.either("password", o.oath, UNIX),
                       lambda: [PASSWORD, oath(0)], None),
    # the dialogue that fails must not hide that there was a password
    "password, code at the second try": (
        "password,keyboard-interactive",
        lambda o: o.either("password", o.oath, UNIX),
        lambda: [PASSWORD, "000000", oath(0)], None),
}


def begin(otp, name, kind="hpn"):
    methods, auth, answers, key = CASES[name]
    otp.service(auth(otp))
    server = otp.server(f"{PAM}PasswordAuthentication yes\n"
                        f"AuthenticationMethods {methods}\n", kind)
    return server, answers(), key


def copy(otp, server, key, answers, data, target, *flags, program="scp"):
    client = otp.client(server, key=key, log_level="VERBOSE")
    ends = [data, f"{USER}@127.0.0.1:{target}"]
    if program == "sftp":
        batch = otp.dir / "batch"
        batch.write_text(f"put {data} {target}\n")
        flags, ends = [*flags, "-b", batch], ends[1:]
        ends = [f"{USER}@127.0.0.1"]
        client.fixed.insert(0, "BatchMode=no")
    return run([hpn(program), *client.options(), "-P", server.port, *flags,
                *ends], env=otp.answers(*answers), timeout=120)


@pytest.fixture
def target(otp):
    return otp.home / "target"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_one_connection(otp, data_file, target, kind, name):
    if not have(kind, "sshd"):
        pytest.skip(f"no {kind} sshd")
    server, answers, key = begin(otp, name, kind)
    data = data_file(SIZE)
    done = copy(otp, server, key, answers, data, target, "-j", "4")
    assert done.rc == 0 and target.read_bytes() == data.read_bytes(), done
    assert len(otp.asked()) == len(answers)
    came, welcome, failed = logins(server)
    assert (came, welcome) == (1, 1), server.log_text()
    # A key that comes before its turn is no failed login to anybody.
    failed = [line for line in failed if "Failed publickey" not in line]
    assert bool(failed) == ("000000" in answers), failed
    assert done.errors.count(ALONE) == 1, done.errors


@pytest.mark.parametrize("program", ["scp", "sftp"])
def test_again(otp, data_file, target, program):
    """Where the host is known already, too, nothing begins beside the first
    login."""
    server, _, key = begin(otp, "key, code")
    data = data_file(SIZE)
    for turn in range(2):
        flags = ["-j", "4"] if program == "scp" else []
        done = copy(otp, server, key, [oath(turn)], data, target, *flags,
                    program=program)
        assert done.rc == 0 and target.read_bytes() == data.read_bytes(), done
        assert len(otp.asked()) == 1
        assert logins(server)[0] == turn + 1, server.log_text()
    assert not logins(server)[2]


def test_many_files(otp, target):
    server, answers, key = begin(otp, "key, code")
    tree = otp.dir / "tree"
    for i in range(60):
        file = tree / f"d{i % 4}" / f"f{i}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes([i]) * 100_000)
    done = copy(otp, server, key, answers, tree, target, "-r", "-j", "8")
    assert done.rc == 0, done
    assert harness.listing(tree) == harness.listing(target)
    assert len(otp.asked()) == 1
    assert logins(server) == (1, 1, []), server.log_text()


def test_password_by_pam_serves_again(otp, data_file, target):
    """Where the dialogue asks for a password only, it is asked for once, and
    all connections have it."""
    otp.service(UNIX)
    server = otp.server(f"{PAM}AuthenticationMethods keyboard-interactive\n")
    data = data_file(SIZE)
    done = copy(otp, server, None, [PASSWORD], data, target, "-j", "3", "-l",
                "80000")
    assert done.rc == 0 and target.read_bytes() == data.read_bytes(), done
    assert len(otp.asked()) == 1
    assert logins(server) == (3, 3, []), server.log_text()
    assert ALONE not in done.errors
