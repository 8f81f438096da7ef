# SPDX-License-Identifier: ISC
"""How a login is judged: what keys allow together, which options a line of
authorized_keys may have, groups, PAM, passwords that must be changed."""

import shutil
import tempfile
from pathlib import Path

import ownetc
import pytest
import sshwire

import harness
from harness import Client, run
from terminal import Terminal

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


# ---- PAM ----------------------------------------------------------------

MODULE = r"""
#include <security/pam_modules.h>
#include <security/pam_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arguments: a file for the record, then words of what to do. */
static int
has(int argc, const char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return 1;
	return 0;
}

/* "right", or what is in the file that right=FILE names. */
static int
is_right(const char *password, int argc, const char **argv)
{
	static char text[65536];
	FILE *f = NULL;
	size_t n;

	for (int i = 1; i < argc && f == NULL; i++)
		if (strncmp(argv[i], "right=", 6) == 0)
			f = fopen(argv[i] + 6, "r");
	if (f == NULL)
		return strcmp(password, "right") == 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	return strcmp(password, text) == 0;
}

static void
note(pam_handle_t *h, const char *file, const char *step, const char *text)
{
	static const char *const names[] = { "SSH_CONNECTION",
		"SSH_AUTH_INFO_0" };
	FILE *f = fopen(file, "a");

	fprintf(f, "%s %s", step, text);
	for (int i = 0; i < 2; i++) {
		const char *value = pam_getenv(h, names[i]);
		size_t len = value != NULL ? strcspn(value, "\n") : 0;

		fprintf(f, " [%.*s]", (int)len, value != NULL ? value : "");
	}
	fprintf(f, "\n");
	fclose(f);
}

int
pam_sm_authenticate(pam_handle_t *h, int flags, int argc, const char **argv)
{
	const char *password = "";

	(void)flags;
	if (pam_get_authtok(h, PAM_AUTHTOK, &password, NULL) != PAM_SUCCESS)
		return PAM_AUTH_ERR;
	note(h, argv[0], "auth", password);
	if (has(argc, argv, "rename_in_auth"))
		pam_set_item(h, PAM_USER, "root");
	pam_putenv(h, "HPN_OF_PAM=1");
	pam_putenv(h, "SSH_AUTH_INFO_1=2");
	pam_putenv(h, "SSH_CONNECTION_X=3");
	pam_putenv(h, "SSH_ORIGINAL_COMMAND=4");
	pam_putenv(h, "SSH_TTY=5");
	return is_right(password, argc, argv) ? PAM_SUCCESS : PAM_AUTH_ERR;
}

int
pam_sm_acct_mgmt(pam_handle_t *h, int flags, int argc, const char **argv)
{
	(void)flags;
	note(h, argv[0], "account", "-");
	if (has(argc, argv, "rename_in_account"))
		pam_set_item(h, PAM_USER, "root");
	return has(argc, argv, "must_change") ? PAM_NEW_AUTHTOK_REQD :
						PAM_SUCCESS;
}

int
pam_sm_chauthtok(pam_handle_t *h, int flags, int argc, const char **argv)
{
	(void)flags, (void)argc;
	note(h, argv[0], "change", "-");
	return PAM_SUCCESS;
}

int
pam_sm_setcred(pam_handle_t *h, int flags, int argc, const char **argv)
{
	(void)h, (void)flags, (void)argc, (void)argv;
	return PAM_SUCCESS;
}

int
pam_sm_open_session(pam_handle_t *h, int flags, int argc, const char **argv)
{
	char file[4096];

	(void)flags;
	note(h, argv[0], "session", "-");
	snprintf(file, sizeof file, "%s.loader", argv[0]);
	if (has(argc, argv, "set_environment")) {
		setenv("LD_DEBUG", "libs", 1);
		setenv("LD_DEBUG_OUTPUT", file, 1);
	}
	return PAM_SUCCESS;
}

int
pam_sm_close_session(pam_handle_t *h, int flags, int argc, const char **argv)
{
	(void)flags, (void)argc;
	note(h, argv[0], "closed", "-");
	return PAM_SUCCESS;
}
"""


@pytest.fixture(scope="session")
def pam_module(tmp_path_factory):
    """Path of a module that takes one password, "right", and keeps record."""
    header = harness.BUILD / "include/config.h"
    if not harness.IS_ROOT or (
            header.exists()
            and "define HAVE_PAM 1" not in header.read_text()):
        pytest.skip("needs root and PAM")
    directory = tmp_path_factory.mktemp("pam")
    source, module = directory / "pam_test.c", directory / "pam_test.so"
    source.write_text(MODULE)
    run(["cc", "-shared", "-fPIC", "-o", module, source, "-lpam"]).ok()
    return module


class Pam:
    """A PAM service of the test's own, and the record of its module."""

    def __init__(self, directory, module):
        self.record = directory / "record"
        self.services = directory / "pam.d"
        shutil.copytree("/etc/pam.d", self.services)
        self.module = module

    def service(self, *words):
        line = " ".join([f"required {self.module} {self.record}", *words])
        (self.services / "hpntest").write_text("".join(
            f"{kind} {line}\n" for kind in ("auth", "account", "password",
                                             "session")))
        self.record.unlink(missing_ok=True)

    def lines(self):
        return self.record.read_text().splitlines() \
            if self.record.exists() else []

    def within(self):
        """In place of /etc/pam.d, for one command only."""
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                'mount --bind "$0" /etc/pam.d && exec "$@"', self.services]


PAM = ("UsePAM yes\nPAMServiceName hpntest\nPasswordAuthentication yes\n"
       "KbdInteractiveAuthentication yes\n")


@pytest.fixture
def pam(pam_module, tmp_path):
    made = Pam(tmp_path, pam_module)
    if run([*made.within(), "true"]).rc != 0:
        pytest.skip("no mount namespaces here")
    made.service()
    return made


def try_password(server, user, password, method="password"):
    """The server's answer to one password."""
    wire = sshwire.connect(server).handshake().ask_service()
    try:
        if method == "password":
            return wire.try_auth(user, "password", False, password)[0]
        wire.auth_request(user, method, "", "")
        wire.expect(sshwire.USERAUTH_INFO_REQUEST)
        wire.say(sshwire.USERAUTH_INFO_RESPONSE, 1, password)
        answer = wire.expect(sshwire.USERAUTH_FAILURE,
                             sshwire.USERAUTH_SUCCESS,
                             sshwire.USERAUTH_INFO_REQUEST)[0]
        if answer == sshwire.USERAUTH_INFO_REQUEST:  # only some last words
            wire.say(sshwire.USERAUTH_INFO_RESPONSE, 0)
            answer = wire.expect(sshwire.USERAUTH_FAILURE,
                                 sshwire.USERAUTH_SUCCESS)[0]
        return answer
    finally:
        wire.close()


both_ways = pytest.mark.parametrize("method", ["password",
                                               "keyboard-interactive"])


@both_ways
@pytest.mark.parametrize("password, rc", [("right", 0), ("wrong", 255)])
def test_pam_of_a_users_own_server(pam, pam_module, keys, other_user, method,
                                   password, rc):
    """A server that an ordinary user runs asks PAM as well."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for source in (pam_module, keys.path("ed25519-host")):
            shutil.copy(source, place)
        pam.record, pam.module = place / "record", place / pam_module.name
        pam.service()
        (place / "config").write_text(
            PAM + f"HostKey {place}/ed25519-host\nLogLevel VERBOSE\n")
        (place / "askpass").write_text(f"#!/bin/sh\necho {password}\n")
        (place / "askpass").chmod(0o755)
        for path in (place, *place.iterdir()):
            shutil.chown(path, other_user, other_user)
        done = run(
            [*pam.within(), "setpriv", "--reuid", other_user, "--regid",
             other_user, "--clear-groups", harness.hpn("ssh"), "-F", "none",
             "-o", f"PreferredAuthentications={method}",
             "-o", "StrictHostKeyChecking=no", "-o", "NumberOfPasswordPrompts=1",
             "-o", "UserKnownHostsFile=/dev/null", "-o",
             f"ProxyCommand={harness.hpn('sshd')} -i -e -f {place}/config",
             f"{other_user}@x", "true"],
            env=harness.clean_env(SSH_ASKPASS=place / "askpass", HOME=place,
                                  SSH_ASKPASS_REQUIRE="force"))
        assert done.rc == rc, done
        assert [line.split()[0] for line in pam.lines()][:1] == ["auth"]


@both_ways
def test_pam_password(make_server, pam, other_user, method):
    server = make_server(PAM, within=pam.within())
    assert try_password(server, other_user, "right", method) == \
        sshwire.USERAUTH_SUCCESS
    assert try_password(server, other_user, "wrong", method) == \
        sshwire.USERAUTH_FAILURE
    passwords = [line.split()[1] for line in pam.lines()
                 if line.startswith("auth")]
    assert passwords == ["right", "wrong"]


@both_ways
@pytest.mark.parametrize("rule", ["DenyUsers *\n", "PermitRootLogin no\n"])
def test_password_in_vain(make_server, pam, other_user, method, rule):
    """Modules do not see the password of somebody who is refused anyhow, but
    one of its length: they could tell whether it is right."""
    user = "root" if "Root" in rule else other_user
    server = make_server(PAM + rule, within=pam.within())
    assert try_password(server, user, "right", method) == \
        sshwire.USERAUTH_FAILURE
    line, = [line for line in pam.lines() if line.startswith("auth")]
    assert "right" not in line
    assert len(line.split(" ")[1]) == len("right")


@both_ways
@pytest.mark.parametrize("when", ["rename_in_auth", "rename_in_account"])
def test_user_that_pam_changed(make_server, pam, other_user, method, when):
    server = make_server(PAM, within=pam.within())
    pam.service(when)
    if when == "rename_in_account":  # the end, as for all refusals of it
        with pytest.raises(sshwire.Closed):
            try_password(server, other_user, "right", method)
    else:
        assert try_password(server, other_user, "right", method) == \
            sshwire.USERAUTH_FAILURE
    assert harness.wait_for(lambda: f"user {other_user} was changed to root"
                            in server.log_text())


def test_user_that_pam_changed_behind_a_key(make_server, pam, other_user):
    server = make_server(PAM, within=pam.within())
    pam.service("rename_in_account")
    assert Client("hpn", server, user=other_user).ssh("true").rc == 255
    pam.service()
    assert Client("hpn", server, user=other_user).ssh("exit 3").rc == 3


def test_what_pam_is_told(make_server, pam, keys, other_user, tmp_path):
    """Modules know the connection, and what was proven before their step;
    the session gets neither, nor what tells it about itself."""
    server = make_server(
        PAM + "AuthenticationMethods publickey,password\n", within=pam.within())
    script = tmp_path / "askpass"
    script.write_text("#!/bin/sh\necho right\n")
    script.chmod(0o755)
    client = Client("hpn", server, user=other_user,
                    options=["BatchMode=no"])
    done = client.ssh("env", env=harness.clean_env(
        SSH_ASKPASS=script, DISPLAY=":0", SSH_ASKPASS_REQUIRE="force")).ok()
    key = " ".join(keys.public("ed25519").split()[:2])
    steps = {line.split()[0]: line for line in pam.lines()}
    for step in ("auth", "account", "session"):
        assert f" {server.port}]" in steps[step], steps
        assert f"[publickey {key}]" in steps[step], steps
    env = dict(line.split("=", 1) for line in done.text.splitlines()
               if "=" in line)
    assert env["HPN_OF_PAM"] == "1"
    assert env["SSH_CONNECTION"].split()[3] == str(server.port)
    assert not {"SSH_AUTH_INFO_0", "SSH_AUTH_INFO_1", "SSH_CONNECTION_X",
                "SSH_ORIGINAL_COMMAND", "SSH_TTY"} & set(env), env


# Before PAM's own function, as the Go library's tests put one.
BEFORE_PAM = r"""
#include <dlfcn.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>

int
pam_authenticate(pam_handle_t *h, int flags)
{
	int (*fn)(pam_handle_t *, int) = dlsym(RTLD_NEXT, "pam_authenticate");
	int r = fn != NULL ? fn(h, flags) : PAM_ABORT;
	FILE *f = fopen(getenv("HPN_SEEN"), "a");

	if (f != NULL && fprintf(f, "%d\n", r) > 0)
		fclose(f);
	return r;
}
"""


@pytest.mark.skipif(harness.is_sanitized(),
                    reason="preloads a library before the sanitizer's")
def test_preloaded_library_before_pam(make_server, pam, other_user, tmp_path):
    source, library = tmp_path / "before.c", tmp_path / "before.so"
    source.write_text("#define _GNU_SOURCE\n" + BEFORE_PAM)
    run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"]).ok()
    seen = tmp_path / "seen"
    server = make_server(PAM, within=pam.within(), env=harness.clean_env(
        LD_PRELOAD=library, HPN_SEEN=seen))
    assert try_password(server, other_user, "right") == \
        sshwire.USERAUTH_SUCCESS
    assert try_password(server, other_user, "wrong") == \
        sshwire.USERAUTH_FAILURE
    assert seen.read_text().split() == ["0", "7"]  # PAM_AUTH_ERR


# ---- what a wrong password costs ------------------------------------------

# Keeps record of what is hashed with; the library's functions do the work.
COUNTER = r"""
#include <crypt.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void
note(const char *setting)
{
	FILE *f = fopen(getenv("HPN_HASHES"), "a");

	if (f != NULL && fprintf(f, "%.3s\n", setting) > 0)
		fclose(f);
}

char *
crypt(const char *phrase, const char *setting)
{
	char *(*fn)(const char *, const char *) = dlsym(RTLD_NEXT, "crypt");

	note(setting);
	return fn(phrase, setting);
}

char *
crypt_r(const char *phrase, const char *setting, struct crypt_data *data)
{
	char *(*fn)(const char *, const char *, struct crypt_data *) =
	    dlsym(RTLD_NEXT, "crypt_r");

	note(setting);
	return fn(phrase, setting, data);
}

/* What is counted here needs no pause. */
int
pam_fail_delay(void *handle, unsigned usec)
{
	(void)handle;
	(void)usec;
	return 0;
}
"""


@needs_root
@pytest.mark.skipif(harness.is_sanitized(),
                    reason="preloads a library before the sanitizer's")
@pytest.mark.parametrize("config", [
    "UsePAM no\n", "UsePAM yes\nPAMServiceName sshd\n",
    "UsePAM yes\nPAMServiceName sshd\nPermitEmptyPasswords yes\n"])
def test_same_hashes_for_all_users(keys, tmp_path, config):
    """Existing, locked, without a password, disallowed, unknown: a refusal
    costs the same. The accounts are the test's own: the listener measures anew
    when the machine's are changed."""
    if "yes" in config and not shutil.which("/sbin/unix_chkpwd"):
        pytest.skip("no PAM with pam_unix")
    source, library = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text("#define _GNU_SOURCE\n" + COUNTER)
    run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"]).ok()
    record = tmp_path / "hashes"
    env = harness.clean_env(LD_PRELOAD=library, HPN_HASHES=record)
    config += "PasswordAuthentication yes\n"
    with ownetc.entered(ownetc.OwnEtc, tmp_path, keys) as own:
        # Beside a cheap hash the modules' own work counts as one more.
        own.account(field=ownetc.DEAR_HASH)
        compare_hashes(own, record, [own.server(config + more, env=env) for more
                                     in ("", f"DenyUsers {ownetc.USER}\n")])


def compare_hashes(own, record, servers):
    def hashes(server, user):
        record.unlink(missing_ok=True)
        assert try_password(server, user, "wrong") == sshwire.USERAUTH_FAILURE
        return sorted(record.read_text().split()) if record.exists() else []

    for _ in range(2):  # at the first login the listener hashes, too
        record.unlink(missing_ok=True)
        answer = try_password(servers[0], ownetc.USER, ownetc.PASSWORD)
    if "UsePAM yes" in servers[0].config_text() \
            and answer == sshwire.USERAUTH_SUCCESS and not record.exists():
        pytest.skip("PAM hashes in unix_chkpwd, where nothing is preloaded")

    def check(server):
        """Nobody does not cost more or less than this user. How often PAM
        has hashed is judged by time, which a busy machine may distort."""
        for _ in range(20):
            both = hashes(server, ownetc.USER), hashes(server, "hpn-no-such")
            assert both[0]
            if both[0] == both[1]:
                return
        raise AssertionError(both)

    for server in servers:
        check(server)
    for locked in ("!" + ownetc.DEAR_HASH, "*"):
        own.account(field=locked)
        check(servers[0])


@needs_root
@pytest.mark.skipif(harness.is_sanitized(),
                    reason="preloads a library before the sanitizer's")
@pytest.mark.parametrize("cheap_first", [True, False])
def test_first_account_counts(keys, tmp_path, cheap_first):
    """Where its hash is cheaper than that of the account in the middle, a
    stranger's try costs that one: it is what stock's costs. As the listener
    finds the accounts."""
    if ownetc.problem():
        pytest.skip(ownetc.problem())
    source, library = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text("#define _GNU_SOURCE\n" + COUNTER)
    run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"]).ok()
    record = tmp_path / "hashes"
    own = ownetc.OwnEtc(tmp_path / "own", keys)
    try:
        accounts = [("cheap", "$5$rounds=1000$salt$" + "h" * 43)] + [
            (f"dear{n}", f"$y$j9T$salt{n}$" + "h" * 43) for n in range(3)]
        if not cheap_first:
            accounts.reverse()
        (own.etc / "shadow").write_text("".join(
            f"{name}:{field}:1::::::\n" for name, field in accounts))
        server = own.server(
            "PasswordAuthentication yes\nUsePAM no\nLogLevel DEBUG1\n",
            env=harness.clean_env(LD_PRELOAD=library, HPN_HASHES=record))
        assert harness.wait_for(
            lambda: "Accounts are hashed in" in server.log_text())
        record.unlink()  # what was measured
        assert try_password(server, "hpn-no-such", "wrong") == \
            sshwire.USERAUTH_FAILURE
        assert sorted(record.read_text().split()) == (
            ["$5$"] if cheap_first else ["$5$", "$y$"])
    finally:
        own.end()


# ---- passwords that must be changed ---------------------------------------

OLD, NEW = "correct horse 7", "battery Staple 8"
SHADOW = "UsePAM no\nPasswordAuthentication yes\n"
NO_TTY = b"Password change required but no TTY available."


@pytest.fixture
def aged_user(other_user):
    """A user whose password has to be changed."""
    harness.set_password(other_user, OLD)
    run(["chage", "-d", "0", other_user]).ok()
    yield other_user
    run(["chage", "-d", "2024-01-01", "-E", "-1", "-I", "-1", "-M", "-1",
         other_user]).ok()


def password_client(server, user, directory, password):
    """A client that is told the password by a program; its environment."""
    script = directory / "askpass"
    script.write_text(f"#!/bin/sh\necho '{password}'\n")
    script.chmod(0o755)
    client = Client("hpn", server, key=None, user=user, options=[
        "BatchMode=no", "PubkeyAuthentication=no",
        "PreferredAuthentications=password", "NumberOfPasswordPrompts=1"])
    return client, harness.clean_env(SSH_ASKPASS=script, DISPLAY=":0",
                                     SSH_ASKPASS_REQUIRE="force",
                                     TERM="xterm")


@needs_root
@pytest.mark.parametrize("config", ["", "ForceCommand echo forced\n",
                                    "ForceCommand internal-sftp\n",
                                    "PermitTTY no\n"])
def test_aged_password_without_a_terminal(make_server, aged_user, tmp_path,
                                          config):
    """Nothing runs: no command, no forced one, no subsystem."""
    server = make_server(SHADOW + config)
    client, env = password_client(server, aged_user, tmp_path, OLD)
    for flags, command in (((), ["echo asked"]), ((), []),
                           (("-s",), ["sftp"])):
        done = client.ssh(*command, flags=flags, env=env,
                          stdin=b"\0\0\0\5\1\0\0\0\3")
        assert (done.rc, done.out) == (1, b""), done
        assert NO_TTY in done.err and \
            b"WARNING: Your password has expired.\n" in done.err, done


@needs_root
def test_aged_password_on_a_terminal(make_server, aged_user, tmp_path):
    server = make_server(SHADOW)
    client, env = password_client(server, aged_user, tmp_path, OLD)
    with Terminal(client.ssh_args(flags=["-tt"]) + ["echo asked"],
                  env=env) as terminal:
        terminal.expect("WARNING: Your password has expired.")
        terminal.expect("You must change your password now and log in again!")
        terminal.expect("urrent password:")
        terminal.line(OLD)
        terminal.expect("New password:")
        terminal.line(NEW)
        terminal.expect("new password:")
        terminal.line(NEW)
        assert terminal.wait() == 0, terminal.shown
        assert b"asked" not in terminal.shown
    client, env = password_client(server, aged_user, tmp_path, NEW)
    assert client.ssh("exit 3", env=env).rc == 3


@needs_root
def test_key_beside_an_aged_password(make_server, aged_user):
    """Without PAM, its age is of no interest to who has a key."""
    server = make_server(SHADOW)
    assert Client("hpn", server, user=aged_user).ssh("exit 3").rc == 3


@needs_root
@pytest.mark.parametrize("how", ["account", "inactive"])
def test_expired_for_good(make_server, aged_user, tmp_path, how):
    """That is no password to be changed."""
    flags = ["-E", "1"] if how == "account" else \
        ["-d", "2020-01-01", "-M", "10", "-I", "10"]
    run(["chage", *flags, aged_user]).ok()
    server = make_server(SHADOW)
    client, env = password_client(server, aged_user, tmp_path, OLD)
    assert client.ssh("exit 3", env=env).rc == 255
    key = Client("hpn", server, user=aged_user).ssh("exit 3").rc
    assert key == (255 if how == "account" else 3)


def test_environment_is_not_that_of_modules(make_server, pam, other_user,
                                            tmp_path):
    """What a module sets in its process's own environment is nothing to the
    loader of a program that the superuser executes."""
    pam.service("set_environment")
    server = make_server(PAM, within=pam.within())
    assert try_password(server, other_user, "right") == \
        sshwire.USERAUTH_SUCCESS
    assert harness.wait_for(lambda: not server.connections())
    assert "session" in [line.split()[0] for line in pam.lines()]
    assert list(tmp_path.glob("record.loader*")) == []


def test_no_session_stays_open_without_its_program(make_server, pam, keys,
                                                   other_user, tmp_path):
    """A user's process that cannot be executed ends what PAM has begun."""
    broken = tmp_path / "hpnsshd-user"
    broken.write_text("no program")
    broken.chmod(0o755)
    within = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
              'mount --bind "$0" "$1" && shift && exec "$@"', broken,
              harness.BUILD / "hpnsshd-user"]
    server = make_server(PAM, within=[*pam.within(), *within])
    assert try_password(server, other_user, "right") == \
        sshwire.USERAUTH_SUCCESS
    assert harness.wait_for(lambda: not server.connections())
    steps = [line.split()[0] for line in pam.lines()]
    assert steps[-2:] == ["session", "closed"], steps


@pytest.mark.parametrize("method", ["publickey", "password"])
def test_pam_wants_a_new_password(make_server, pam, other_user, tmp_path,
                                  method):
    server = make_server(PAM + "ForceCommand echo forced\n",
                         within=pam.within())
    pam.service("must_change")
    client, env = password_client(server, other_user, tmp_path, "right")
    if method == "publickey":
        client = Client("hpn", server, user=other_user)
    for flags in ((), ("-s",)):
        done = client.ssh("sftp", flags=flags, env=env)
        assert (done.rc, done.out) == (1, b"") and NO_TTY in done.err, done
    with Terminal(client.ssh_args(flags=["-tt"]), env=env) as terminal:
        terminal.expect("You must change your password now and log in again!")
        terminal.expect("password")
        assert b"forced" not in terminal.shown


def test_pam_changes_a_password_in_the_dialogue(make_server, pam, other_user):
    server = make_server(PAM, within=pam.within())
    pam.service("must_change")
    assert try_password(server, other_user, "right",
                        "keyboard-interactive") == sshwire.USERAUTH_SUCCESS
    assert "change" in [line.split()[0] for line in pam.lines()]
    assert "has to be changed" not in server.log_text()
