# SPDX-License-Identifier: ISC
"""Who may log in to hpnsshd, how, and to what."""

import os
import pathlib
import platform
import pwd
import re
import shutil
import signal
import struct
import subprocess

import pytest

import harness
from harness import IS_ROOT, ME, Client, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
needs_root = pytest.mark.skipif(
    not IS_ROOT, reason="needs root: logs in as another user")
any_client = pytest.mark.parametrize("kind", [
    "hpn", pytest.param("stock", marks=pytest.mark.skipif(
        not harness.have("stock", "ssh"), reason="no stock ssh"))])
DENIED = r"Permission denied \([a-z,-]+\)\."


def authorize(server, *lines):
    server.authorized.write_text("".join(line + "\n" for line in lines))


# ---- authorized_keys ---------------------------------------------------

def with_options(make_server, keys, options, config=""):
    server = make_server(config, authorized=[])
    authorize(server, f"{options} {keys.public('ed25519')}".strip())
    return Client("hpn", server)


def test_forced_command_of_a_key(make_server, keys):
    client = with_options(make_server, keys,
                          'command="echo forced: $SSH_ORIGINAL_COMMAND"')
    assert client.ssh("id", "-u").out == b"forced: id -u\n"


def test_quoted_quote_in_a_forced_command(make_server, keys):
    client = with_options(make_server, keys, r'command="echo \"a b\""')
    assert client.ssh("true").out == b"a b\n"


@pytest.mark.parametrize("pattern,allowed", [
    ("127.0.0.1", True), ("127.0.0.0/8", True), ("*", True),
    ("10.0.0.0/8", False), ("!127.0.0.1,*", False), ("::1", False)])
def test_from(make_server, keys, pattern, allowed):
    client = with_options(make_server, keys, f'from="{pattern}"')
    assert (client.ssh("true").rc == 0) == allowed


@pytest.mark.parametrize("when,allowed", [("20990101", True),
                                          ("19990101", False),
                                          ("202401010000Z", False)])
def test_expiry_time(make_server, keys, when, allowed):
    client = with_options(make_server, keys, f'expiry-time="{when}"')
    assert (client.ssh("true").rc == 0) == allowed


def test_environment_of_a_key(make_server, keys):
    options = 'environment="HPN_TEST=1 2"'
    client = with_options(make_server, keys, options,
                          "PermitUserEnvironment yes")
    assert client.ssh("echo $HPN_TEST").out == b"1 2\n"
    client = with_options(make_server, keys, options)
    assert client.ssh("echo $HPN_TEST").out == b"\n"


@pytest.mark.parametrize("options,allowed", [
    ("no-pty", False), ("restrict", False), ("restrict,pty", True),
    ("", True)])
def test_pty_of_a_key(make_server, keys, options, allowed):
    client = with_options(make_server, keys, options)
    done = client.ssh("tty", flags=["-tt"])
    assert (b"/dev/pts/" in done.out) == allowed, done


@pytest.mark.parametrize("line", [
    'no-such-option {key}', 'command="open {key}', 'from="" {key}',
    'ssh-ed25519 AAAA', 'expiry-time="never" {key}', '\x00\x01\x02',
    'x' * 100_000])
def test_bad_lines_are_passed_over(make_server, keys, line):
    """A line that is not understood gives no access, and hides no other."""
    server = make_server(authorized=[])
    bad = line.format(key=keys.public("ed25519"))
    authorize(server, bad)
    assert Client("hpn", server).ssh("true").rc == 255
    authorize(server, bad, "# comment", "", keys.public("ed25519"))
    assert Client("hpn", server).ssh("true").rc == 0


def test_first_matching_line_counts(make_server, keys):
    server = make_server(authorized=[])
    key = keys.public("ed25519")
    authorize(server, f'command="echo 1" {key}', f'command="echo 2" {key}')
    assert Client("hpn", server).ssh("x").out == b"1\n"


def test_key_that_is_not_authorized(make_server):
    server = make_server(authorized=["rsa"])
    done = Client("hpn", server).ssh("true")
    assert done.rc == 255 and re.search(DENIED, done.errors), done
    assert len(done.errors.strip().splitlines()) == 1, done


@any_client
def test_many_keys_and_max_auth_tries(make_server, keys, kind):
    server = make_server("MaxAuthTries 3\n", authorized=["rsa"])
    client = Client(kind, server, key=None)

    def offer(*names):
        flags = []
        for name in names:
            flags += ["-i", str(keys.path(name))]
        return client.ssh("true", flags=flags)

    assert offer("ed25519-a", "ed25519-b", "rsa").rc == 0
    # or the key that worked just now would be the first to be tried
    harness.hints_file().unlink(missing_ok=True)
    done = offer("ed25519-a", "ed25519-b", "ed25519-c", "ed25519-d", "rsa")
    assert done.rc == 255
    assert "Too many authentication failures" in done.errors, done


def test_revoked_user_key(make_server, keys, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text(keys.public("ed25519") + "\n")
    server = make_server(f"RevokedKeys {revoked}\n")
    assert Client("hpn", server).ssh("true").rc == 255
    assert Client("hpn", server, "rsa").ssh("true").rc == 0
    server = make_server(f"RevokedKeys {tmp_path}/nothing\n")
    assert Client("hpn", server).ssh("true").rc == 255  # never: yes


def make_krl(path, directory, *lines):
    """Makes a revocation list with the stock tool if there is one, so that it
    is not only our own."""
    spec = directory / "spec"
    spec.write_text("".join(f"{line}\n" for line in lines))
    program = harness.stock("ssh-keygen") or harness.hpn("ssh-keygen")
    harness.run([program, "-k", "-q", "-f", path, spec]).ok()


def test_keys_revoked_by_krls(make_server, keys, tmp_path):
    one, two = tmp_path / "one.krl", tmp_path / "two.krl"
    make_krl(one, tmp_path, f"sha256: {keys.public('ed25519')}")
    make_krl(two, tmp_path, f"key: {keys.public('rsa')}")
    server = make_server(f"RevokedKeys {one} {two}\n")
    assert Client("hpn", server).ssh("true").rc == 255
    assert Client("hpn", server, "rsa").ssh("true").rc == 255
    assert Client("hpn", server, "ecdsa256").ssh("true").rc == 0
    two.write_bytes(two.read_bytes()[:-1])  # never: yes
    assert Client("hpn", server, "ecdsa256").ssh("true").rc == 255


@any_client
def test_agent(make_server, keys, tmp_path, background, kind):
    agent = harness.stock("ssh-agent") or pytest.skip("no ssh-agent")
    address = tmp_path / "agent"
    background([agent, "-D", "-a", address], stdout=subprocess.DEVNULL)
    assert harness.wait_for(address.exists)
    env = harness.clean_env(SSH_AUTH_SOCK=address)
    for name in ("ecdsa384", "rsa"):
        run([harness.stock("ssh-add"), keys.path(name)], env=env).ok()
    server = make_server(authorized=["rsa"])
    client = Client(kind, server, key=None)
    client.fixed.remove("IdentitiesOnly=yes")
    assert client.ssh("exit 3", env=env).rc == 3


# ---- StrictModes -------------------------------------------------------

@needs_root
@pytest.mark.parametrize("trouble", [None, "file", "directory", "home",
                                     "owner"])
def test_strict_modes(make_server, keys, other_user, trouble):
    account = pwd.getpwnam(other_user)
    directory = os.path.join(account.pw_dir, ".ssh")
    path = os.path.join(directory, "authorized_keys")
    os.makedirs(directory, exist_ok=True)
    with open(path, "w") as f:
        f.write(keys.public("ed25519") + "\n")
    for name, mode in ((path, 0o600), (directory, 0o700),
                       (account.pw_dir, 0o755)):
        os.chown(name, account.pw_uid, account.pw_gid)
        os.chmod(name, mode)
    if trouble == "file":
        os.chmod(path, 0o666)
    elif trouble == "directory":
        os.chmod(directory, 0o777)
    elif trouble == "home":
        os.chmod(account.pw_dir, 0o777)
    elif trouble == "owner":
        os.chown(path, 12345, 12345)
    server = make_server("StrictModes yes\n"
                         "AuthorizedKeysFile .ssh/authorized_keys\n")
    done = Client("hpn", server, user=other_user).ssh("exit 3")
    os.chmod(account.pw_dir, 0o755)
    assert done.rc == (255 if trouble else 3), done


# ---- rules about users -------------------------------------------------

@pytest.mark.parametrize("rule,allowed", [
    ("AllowUsers nobody-else", False), (f"AllowUsers {ME}", True),
    (f"AllowUsers {ME}@127.0.0.1", True), (f"AllowUsers {ME}@10.*", False),
    (f"DenyUsers {ME}", False), (f"DenyUsers *\nAllowUsers {ME}", False),
    (f"AllowUsers {ME}@127.0.0.0/8", True), ("AllowGroups no-group-x", False),
    ("DenyGroups *", False), ("AllowGroups *", True),
    ("PubkeyAuthentication no", False), ("RefuseConnection yes", False),
    ("AuthenticationMethods publickey", True),
    ("AuthenticationMethods publickey,password", False),
    ("PubkeyAcceptedAlgorithms rsa-sha2-256", False),
    ("Match User nobody-else\n\tPubkeyAuthentication no", True),
    (f"Match User {ME}\n\tPubkeyAuthentication no", False),
    ("Match Address 127.0.0.0/8\n\tPubkeyAuthentication no",
     False),
])
def test_rules(make_server, rule, allowed):
    server = make_server(rule + "\n")
    done = Client("hpn", server).ssh("exit 3")
    assert done.rc == (3 if allowed else 255), done
    if not allowed and "RefuseConnection" not in rule:
        assert re.search(DENIED, done.errors), done


@needs_root
@pytest.mark.parametrize("value,command,plain", [
    ("yes", True, True), ("no", False, False),
    ("prohibit-password", True, True),
    ("forced-commands-only", True, False)])
def test_permit_root_login(make_server, keys, value, command, plain):
    server = make_server(f"PermitRootLogin {value}\n", authorized=[])
    authorize(server, f'command="exit 3" {keys.public("rsa")}',
              keys.public("ed25519"))
    assert (Client("hpn", server, "rsa").ssh("x").rc == 3) == command
    assert (Client("hpn", server).ssh("exit 3").rc == 3) == plain


@needs_root
def test_nologin(make_server, other_user):
    server = make_server()
    client = Client("hpn", server, user=other_user)
    if not os.environ.get("CI"):
        pytest.skip("it would lock others out of this machine; CI=true runs it")
    if os.path.exists("/etc/nologin"):
        pytest.skip("/etc/nologin is there")
    with open("/etc/nologin", "w") as f:
        f.write("closed for a test\n")
    try:
        done = client.ssh("exit 3")
    finally:
        os.unlink("/etc/nologin")
    assert done.rc != 3, done
    assert b"closed for a test" in done.out + done.err


# ---- passwords ---------------------------------------------------------

PASSWORD = "correct horse 7"


@pytest.fixture
def askpass(tmp_path):
    """askpass(answer...): environment in which a client is told these answers
    by a program, one after the other."""
    def make(*answers):
        for i, answer in enumerate(answers):
            (tmp_path / f"answer{i}").write_text(answer + "\n")
        script = tmp_path / "askpass"
        script.write_text(f"""#!/bin/sh
n=$(cat {tmp_path}/count 2>/dev/null || echo 0)
echo $((n + 1)) >{tmp_path}/count
echo "$1" >>{tmp_path}/asked
cat {tmp_path}/answer$n 2>/dev/null || exit 1
""")
        script.chmod(0o755)
        return harness.clean_env(SSH_ASKPASS=script, DISPLAY=":0",
                                 SSH_ASKPASS_REQUIRE="force")
    return make


def password_client(server, user, *methods, kind="hpn"):
    client = Client(kind, server, key=None, user=user, options=[
        "BatchMode=no", "PubkeyAuthentication=no",
        "PreferredAuthentications=" + ",".join(methods)])
    return client


@pytest.fixture
def password_user(other_user):
    harness.set_password(other_user, PASSWORD)
    return other_user


CONFIGS = {
    "shadow": "PasswordAuthentication yes\nUsePAM no\n",
    "pam": "PasswordAuthentication yes\nUsePAM yes\nPAMServiceName sshd\n",
    "kbdint": "PasswordAuthentication no\nUsePAM yes\nPAMServiceName sshd\n"
              "KbdInteractiveAuthentication yes\n",
}


def needs_pam(config):
    header = harness.BUILD / "include/config.h"
    if "UsePAM yes" in config and (
            not os.path.exists("/etc/pam.d/sshd") or header.exists()
            and "define HAVE_PAM 1" not in header.read_text()):
        pytest.skip("no PAM, or no PAM service sshd")


@needs_root
@any_client
@pytest.mark.parametrize("how", list(CONFIGS))
def test_password(make_server, password_user, askpass, how, kind, tmp_path):
    needs_pam(CONFIGS[how])
    server = make_server(CONFIGS[how])
    method = "keyboard-interactive" if how == "kbdint" else "password"
    client = password_client(server, password_user, method, kind=kind)
    done = client.ssh("id -un; exit 3", env=askpass("wrong", PASSWORD))
    assert done.rc == 3 and done.text.strip() == password_user, done
    asked = (tmp_path / "asked").read_text()
    assert len(asked.splitlines()) == 2, asked


@needs_root
@any_client
@pytest.mark.parametrize("how", list(CONFIGS))
def test_wrong_passwords(make_server, password_user, askpass, how, kind,
                         tmp_path):
    needs_pam(CONFIGS[how])
    server = make_server(CONFIGS[how])
    method = "keyboard-interactive" if how == "kbdint" else "password"
    client = password_client(server, password_user, method, kind=kind)
    done = client.ssh("exit 3", env=askpass("a", "b", "c", "d"))
    assert done.rc == 255 and re.search(DENIED, done.errors), done
    assert len((tmp_path / "asked").read_text().splitlines()) == 3


@needs_root
def test_empty_and_locked_passwords(make_server, other_user, askpass):
    server = make_server(CONFIGS["shadow"])
    client = password_client(server, other_user, "password")
    harness.change_accounts("passwd", "-d", other_user)
    assert client.ssh("exit 3", env=askpass("", "", "")).rc == 255
    lax = make_server(CONFIGS["shadow"] + "PermitEmptyPasswords yes\n")
    assert password_client(lax, other_user, "password").ssh(
        "exit 3", env=askpass("", "", "")).rc == 3
    harness.change_accounts("usermod", "-p", "!", other_user)
    assert client.ssh("exit 3", env=askpass("!", "", "")).rc == 255


@needs_root
@any_client
@pytest.mark.parametrize("methods,empty,rc", [
    ("none", "yes", 3), ("none", "no", 255), ("password", "yes", 255),
    ("none,password", "yes", 255), ("none,publickey", "yes", 3)])
def test_method_none(make_server, other_user, kind, methods, empty, rc):
    """For accounts without a password, where these are let in: and a key
    may be needed as well."""
    server = make_server(CONFIGS["shadow"] + f"PermitEmptyPasswords {empty}\n"
                         f"AuthenticationMethods {methods}\n")
    key = "ed25519" if "publickey" in methods else "ed25519-stranger"
    client = Client(kind, server, user=other_user, key=key)
    harness.change_accounts("usermod", "-p", "*", other_user)
    assert client.ssh("exit 3").rc == 255
    harness.change_accounts("passwd", "-d", other_user)
    assert client.ssh("exit 3").rc == rc
    assert ("Accepted none for" in server.log_text()) == (
        methods == "none" and rc == 3)


@needs_root
@pytest.mark.parametrize("entry", [
    "password:bsdauth", "keyboard-interactive:bsdauth"])
def test_method_by_another_device(make_server, password_user, askpass, entry,
                                  tmp_path):
    """Stock takes any name for one; nobody is asked, and nobody is in."""
    needs_pam(CONFIGS["pam"])
    server = make_server(CONFIGS["pam"] + f"AuthenticationMethods {entry}\n")
    client = password_client(server, password_user, entry.split(":")[0])
    assert client.ssh("exit 3", env=askpass(PASSWORD)).rc == 255
    assert "AuthenticationMethods leaves no way in" in server.log_text()


@needs_root
@pytest.mark.parametrize("how", ["shadow", "pam"])
@pytest.mark.parametrize("kerberos,local,rc", [
    ("no", "no", 3), ("yes", "yes", 3), ("yes", "no", 255)])
def test_passwords_that_are_not_kerberos(make_server, password_user, askpass,
                                         how, kerberos, local, rc):
    """Those that Kerberos alone may accept are right nowhere."""
    needs_pam(CONFIGS[how])
    server = make_server(CONFIGS[how] + f"KerberosAuthentication {kerberos}\n"
                         f"KerberosOrLocalPasswd {local}\n")
    client = password_client(server, password_user, "password")
    assert client.ssh("exit 3", env=askpass(*[PASSWORD] * 3)).rc == rc
    assert ("not checked by Kerberos" in server.log_text()) == (rc == 255)


@needs_root
@any_client
def test_key_and_password_together(make_server, password_user, askpass, kind):
    server = make_server(CONFIGS["shadow"] +
                         "AuthenticationMethods publickey,password\n")
    client = Client(kind, server, user=password_user,
                    options=["BatchMode=no"])
    assert client.ssh("exit 3", env=askpass(PASSWORD)).rc == 3
    client = password_client(server, password_user, "password", kind=kind)
    assert client.ssh("exit 3", env=askpass(PASSWORD)).rc == 255


@needs_root
def test_expired_account(make_server, other_user):
    server = make_server()
    client = Client("hpn", server, user=other_user)
    run(["chage", "-E", "1", other_user]).ok()
    try:
        assert client.ssh("exit 3").rc == 255
    finally:
        run(["chage", "-E", "-1", other_user]).ok()
    assert client.ssh("exit 3").rc == 3


@needs_root
def test_account_that_pam_refuses(make_server, other_user):
    """At the level that stock has, by which its line begins with "fatal:" in
    the log of the system."""
    server = make_server(
        f"UsePAM yes\nMatch User {other_user}\n\tLogLevel FATAL\n")
    client = Client("hpn", server, user=other_user)
    run(["chage", "-E", "1", other_user]).ok()
    try:
        assert client.ssh("exit 3").rc == 255
    finally:
        run(["chage", "-E", "-1", other_user]).ok()
    assert (f"Access denied for user {other_user} by PAM account "
            "configuration") in server.log_text()


# ---- what a session is -------------------------------------------------

@needs_root
def test_session_of_another_user(make_server, other_user):
    account = pwd.getpwnam(other_user)
    client = Client("hpn", make_server(), user=other_user)
    done = client.ssh("id -u; id -g; id -G; pwd; echo $HOME $USER $LOGNAME "
                      "$SHELL; grep -E '^(NoNewPrivs|Seccomp|CapEff):' "
                      "/proc/self/status; ls /proc/self/fd | wc -l").ok()
    lines = done.text.splitlines()
    assert lines[0] == str(account.pw_uid)
    assert lines[1] == str(account.pw_gid)
    assert lines[3] == account.pw_dir
    assert lines[4] == f"{account.pw_dir} {other_user} {other_user} " \
        f"{account.pw_shell}"
    assert "NoNewPrivs:\t0" in lines and "Seccomp:\t0" in lines
    assert "CapEff:\t0000000000000000" in lines
    assert int(lines[-1]) <= 4, done  # 0-2, and that of ls


def test_environment(ssh, sshd):
    done = ssh.ssh("env").ok()
    env = dict(line.split("=", 1) for line in done.text.splitlines()
               if "=" in line)
    assert env["USER"] == ME and "PATH" in env
    assert env["SSH_CLIENT"].split()[0] == "127.0.0.1"
    assert env["SSH_CONNECTION"].split()[3] == str(sshd.port)
    assert "SSH_TTY" not in env and "ASAN_OPTIONS" not in env


def test_accept_env(make_server):
    client = Client("hpn", make_server("AcceptEnv HPN_A* HPN_?\n"))
    env = harness.clean_env(HPN_AB="1", HPN_X="2", HPN_NO="3",
                            LD_PRELOAD=None)
    done = client.ssh("echo $HPN_AB$HPN_X$HPN_NO$HPN_SET", env=env,
                      options=["SendEnv=HPN_*", "SetEnv=HPN_S=4"])
    assert done.out == b"12\n", done


def test_set_env_of_the_server(make_server):
    client = Client("hpn", make_server("SetEnv HPN_S=server\n"))
    assert client.ssh("echo $HPN_S").out == b"server\n"


def test_forced_command_of_the_server(make_server):
    server = make_server("ForceCommand echo $SSH_ORIGINAL_COMMAND; exit 3\n")
    done = Client("hpn", server).ssh("rm", "-rf", "x")
    assert (done.rc, done.out) == (3, b"rm -rf x\n")


def test_force_internal_sftp(make_server):
    server = make_server("ForceCommand internal-sftp\n")
    done = Client("hpn", server).ssh("id")
    assert (done.rc, done.out) == (
        1, b"This service allows sftp connections only.\n")
    done = Client("hpn", server).ssh("sftp", flags=["-s"],
                                     stdin=b"\0\0\0\5\1\0\0\0\3")
    assert done.out[4:9] == b"\2\0\0\0\3", done


def test_banner(make_server, tmp_path):
    banner = tmp_path / "banner"
    banner.write_text("Authorized use only\n\x1b[31mred\n")
    server = make_server(f"Banner {banner}\n")
    done = Client("hpn", server, log_level="INFO").ssh("true").ok()
    assert "Authorized use only" in done.errors
    assert b"\x1b" not in done.err


def test_permit_tty(make_server):
    server = make_server("PermitTTY no\n")
    done = Client("hpn", server).ssh("tty", flags=["-tt"])
    assert b"/dev/pts" not in done.out


def test_max_sessions(make_server):
    if not harness.have("stock", "ssh"):
        pytest.skip("no stock ssh is installed")
    server = make_server("MaxSessions 2\n")
    client = Client("stock", server)
    control = f"ControlPath={server.dir}/c"
    master = harness.start(client.ssh_args(
        control, "ControlMaster=yes", flags=["-N"]))
    try:
        assert harness.wait_for((server.dir / "c").exists)
        sleepers = [harness.start(client.ssh_args(control) + ["sleep 30"])
                    for _ in range(2)]
        assert harness.wait_for(lambda: sum(
            name == "sleep" for _, name in
            server.connections().values()) == 2)
        done = run(client.ssh_args(control, "ControlMaster=no")
                   + ["echo third"])
        assert "refused" in done.errors, done
        for sleeper in sleepers:
            harness.kill_group(sleeper)
    finally:
        harness.kill_group(master)


def test_client_alive(make_server):
    """A client that is stopped is given up."""
    server = make_server("ClientAliveInterval 1\nClientAliveCountMax 2\n")
    process = harness.start(Client("hpn", server).ssh_args() + ["sleep 300"])
    try:
        assert harness.wait_for(lambda: any(
            name == "sleep" for _, name in server.connections().values()))
        os.kill(process.pid, signal.SIGSTOP)
        assert harness.wait_for(lambda: not server.connections())
    finally:
        os.kill(process.pid, signal.SIGCONT)
        harness.kill_group(process)


@needs_root
def test_login_records(make_server, other_user):
    """A terminal session is in utmp while it lasts."""
    if not os.path.exists("/var/run/utmp"):
        pytest.skip("this system has no utmp")
    client = Client("hpn", make_server(), user=other_user)
    process = harness.start(client.ssh_args(flags=["-tt"])
                            + ["tty; sleep 60"], stdout=subprocess.PIPE)
    try:
        line = os.path.relpath(process.stdout.readline().strip().decode(),
                               "/dev")
        assert harness.wait_for(
            lambda: other_user in run(["who"]).text), run(["who"])
        assert line in run(["who"]).text
    finally:
        harness.kill_group(process)
        process.stdout.close()
    assert harness.wait_for(lambda: other_user not in run(["who"]).text)


@needs_root
def test_whose_a_terminal_is(make_server, other_user):
    """The user's, and of those that may write to it."""
    client = Client("hpn", make_server(), user=other_user)
    done = client.ssh("stat -c %U:%G:%a $(tty)", flags=["-tt"]).ok()
    assert done.text.strip() in (f"{other_user}:tty:620",), done


def utmp_of(line):
    """(type, pid, user) of the record of that line; None: there is none."""
    with open("/var/run/utmp", "rb") as f:
        for record in iter(lambda: f.read(384), b""):
            kind, pid, name, _, user = struct.unpack_from("hxxi32s4s32s",
                                                          record)
            if name.rstrip(b"\0").decode() == line:
                return kind, pid, user.rstrip(b"\0").decode()
    return None


def set_utmp_pid(line, pid):
    with open("/var/run/utmp", "r+b") as f:
        for at, record in enumerate(iter(lambda: f.read(384), b"")):
            if record[8:40].rstrip(b"\0").decode() == line:
                f.seek(at * 384 + 4)
                f.write(struct.pack("i", pid))
                return


@needs_root
@pytest.mark.skipif(platform.machine() != "x86_64",
                    reason="records are read as they are on x86-64")
@pytest.mark.parametrize("taken", [False, True])
def test_end_of_a_login_record(make_server, other_user, taken):
    """The record is about the process that has the terminal, as stock's is;
    its end is not written over another login that has got the same terminal
    since."""
    if not os.path.exists("/var/run/utmp"):
        pytest.skip("this system has no utmp")
    server = make_server()
    client = Client("hpn", server, user=other_user)
    process = harness.start(client.ssh_args(flags=["-tt"])
                            + ["tty; sleep 60"], stdout=subprocess.PIPE)
    line = None
    try:
        line = os.path.relpath(process.stdout.readline().strip().decode(),
                               "/dev")
        kind, pid, user = utmp_of(line)
        assert (kind, user) == (7, other_user)  # USER_PROCESS
        assert pid in server.connections()
        uid = pwd.getpwnam(other_user).pw_uid
        assert os.stat(f"/proc/{pid}").st_uid in (uid, 0)
        if taken:
            set_utmp_pid(line, os.getpid())
    finally:
        harness.kill_group(process)
        process.stdout.close()
    assert harness.wait_for(lambda: not server.connections())
    if taken:
        assert utmp_of(line) == (7, os.getpid(), other_user)
        set_utmp_pid(line, 0)
    else:
        assert utmp_of(line)[0] == 8  # DEAD_PROCESS


@needs_root
def test_chroot(make_server, other_user, tmp_path):
    """Root-owned all the way down, or refused."""
    place = pathlib.Path("/run/hpn-test-chroot")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o755)
    (place / "inside").write_text("")
    try:
        server = make_server(f"ChrootDirectory {place}\n"
                             "ForceCommand internal-sftp\n")
        client = Client("hpn", server, user=other_user)
        client.scp(":/inside", tmp_path / "got").ok()
        place.chmod(0o777)
        assert client.ssh("x").rc != 0
    finally:
        shutil.rmtree(place)
