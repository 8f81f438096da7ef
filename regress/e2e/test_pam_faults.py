# SPDX-License-Identifier: ISC
"""PAM modules that fail, end the process or hang, in each phase of a login;
beside stock's server."""

import subprocess

import pytest
from otp import PAM, Otp
from ownetc import PASSWORD, entered, kind

import harness
from harness import LONG, have, run, start, wait_for

MODULE = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <security/pam_modules.h>

static int
act(const char *phase, int n, const char **args)
{
	if (n < 2 || strcmp(args[0], phase) != 0)
		return PAM_SUCCESS;
	while (strcmp(args[1], "hang") == 0)
		pause();
	if (strcmp(args[1], "crash") == 0)
		abort();
	return PAM_SYSTEM_ERR;
}

#define PHASE(name, phase)                                           \\
	int pam_sm_##name(pam_handle_t *h, int flags, int n,         \\
	    const char **args)                                       \\
	{                                                            \\
		(void)h;                                             \\
		return act(flags & PAM_DELETE_CRED ? "forget" : phase, \\
		    n, args);                                        \\
	}
PHASE(authenticate, "auth")
PHASE(setcred, "credentials")
PHASE(acct_mgmt, "account")
PHASE(open_session, "open")
PHASE(close_session, "close")
"""
# What a login by password, and one by a key, end with.
ENDS = {"auth": (255, 0), "account": (255, 255), "credentials": (255, 0),
        "open": (255, 255), "close": (0, 0), "forget": (0, 0)}

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


class Place(Otp):
    def __init__(self, directory, keys):
        super().__init__(directory, keys)
        source = self.dir / "module.c"
        source.write_text(MODULE)
        self.module = self.dir / "pam_fault.so"
        built = subprocess.run(["cc", "-shared", "-fPIC", "-o", self.module,
                                source], capture_output=True)
        if built.returncode != 0:
            pytest.skip("no headers of PAM")

    def fault(self, phase, mode):
        line = f"required {self.module} {phase} {mode}\n"
        self.service(f"auth required pam_unix.so nodelay\nauth {line}",
                     f"account {line}session {line}")

    def login(self, server, by_key):
        client = self.client(server, key="ed25519" if by_key else None)
        return run([*client.ssh_args(), "echo in"],
                   env=self.answers(*[PASSWORD] * 3))


@pytest.fixture
def place(tmp_path, keys):
    with entered(Place, tmp_path, keys) as made:
        yield made


def nothing_is_left(server):
    return wait_for(lambda: not server.connections())


def test_fails(place, kind):
    server = place.server(PAM, kind)
    for phase, ends in ENDS.items():
        for by_key, end in enumerate(ends):
            place.fault(phase, "fail")
            done = place.login(server, by_key)
            # Stock opens a session without one of PAM's, and ends it then.
            assert done.rc == end or (phase, done.rc) == ("open", 254), \
                (phase, by_key, done)
            assert done.text == ("in\n" if end == 0 else ""), (phase, done)
    assert nothing_is_left(server)


def test_ends_the_process(place, kind):
    """Nobody is let in by that, and the listener goes on."""
    server = place.server(PAM, kind)
    for phase in ENDS:
        place.fault(phase, "crash")
        done = place.login(server, False)
        end = 0 if phase in ("close", "forget") else 255
        assert done.rc == end, (phase, done)
        assert done.text == ("in\n" if end == 0 else ""), (phase, done)
    assert nothing_is_left(server)


@pytest.mark.parametrize("phase", ("auth", "account"))
def test_hangs(place, kind, phase):
    """LoginGraceTime ends it."""
    server = place.server(PAM + "LoginGraceTime 1\n", kind)
    place.fault(phase, "hang")
    client = place.client(server, key="ed25519" if phase == "account" else
                          None)
    login = start([*client.ssh_args(), "echo in"],
                  env=place.answers(PASSWORD), stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE)
    out, _ = login.communicate(timeout=LONG)
    assert (login.returncode, out) == (255, b"")
    assert nothing_is_left(server)
