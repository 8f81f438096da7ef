# SPDX-License-Identifier: ISC
"""What every program opens while it has rights that its caller, or whoever it
works for, does not have: only files that nobody but the superuser could have
put there. And nobody's program opens anything in the directory that it is
started in. Seen by strace(1)."""

import os
import re
import shutil
import stat
import sys

import hostbased
import pytest
from ownetc import UID
from test_keysign import Caller

import harness
from harness import IS_ROOT, Client, clean_env, hpn, run

pytestmark = [
    pytest.mark.skipif(not IS_ROOT, reason="only root sees what root opens"),
    pytest.mark.skipif(shutil.which("strace") is None,
                       reason="there is no strace"),
    pytest.mark.skipif(harness.is_sanitized(),
                       reason="a sanitizer opens files of its own")]
CALLS = "open,openat,openat2,creat,execve,execveat"
IDS = "setuid,setreuid,setresuid"
FORKS = "fork,vfork,clone,clone3"
KERNEL = ("/proc/", "/sys/", "/dev/")


def strace(prefix, *command):
    return ["strace", "-ff", "-y", "-qq", "-s", "4096", "-o", prefix, "-e",
            f"trace={CALLS},{IDS},{FORKS}", *command]


def new_uid(call, arguments, euid):
    """Whose rights a process has behind a call that changes them."""
    asked = [int(n) for n in re.findall(r"-?\d+", arguments)]
    one = asked[1] if call != "setuid" else asked[0]
    return euid if one == -1 else one


def path_of(arguments):
    """The first argument that is a path, from the root."""
    there = re.match(r"(?:[A-Z_0-9]+<(.*?)>, )?\"((?:[^\"\\]|\\.)*)\"",
                     arguments)
    assert there, arguments
    base, name = there[1] or "/relative", there[2]
    name = name.encode().decode("unicode_escape")
    return os.path.normpath(os.path.join(base, name)) if name else base


def calls(prefix, pid):
    text = prefix.with_name(f"{prefix.name}.{pid}").read_text()
    return re.findall(r"^(\w+)\((.*)\) += (\S+)", text, re.M)


def begins_as_root(path):
    return path.endswith("/hpnssh-keysign")


def opened(prefix, pid, euid):
    """(path, effective uid) of what a process and its children opened."""
    for call, arguments, result in calls(prefix, pid):
        if call in IDS.split(","):
            if result == "0":
                euid = new_uid(call, arguments, euid)
        elif call in FORKS.split(","):
            if result.isdigit() and prefix.with_name(
                    f"{prefix.name}.{result}").exists():
                yield from opened(prefix, result, euid)
        else:
            path = path_of(arguments)
            yield path, euid
            if call == "execve" and result == "0" and begins_as_root(path):
                euid = 0


def everything_opened(prefix, euid=0):
    """Beginning with the process that no other one has made."""
    pids = {f.suffix[1:] for f in prefix.parent.glob(f"{prefix.name}.*")}
    made = {result for pid in pids for call, _, result in calls(prefix, pid)
            if call in FORKS.split(",")}
    first, = pids - made
    return list(opened(prefix, first, euid))


def is_roots_alone(path):
    """Nobody else could have put it, or a link on the way, there."""
    if path.startswith(KERNEL):
        return True
    at = "/"
    for name in path.strip("/").split("/"):
        st = os.lstat(at)
        if st.st_uid != 0 or (st.st_mode & 0o022 and st.st_gid >= 1000) or \
                st.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            return False
        at = os.path.join(at, name)
        if not os.path.lexists(at):
            return True
        if os.path.islink(at):
            return os.lstat(at).st_uid == 0 and \
                is_roots_alone(os.path.realpath(path))
    return os.stat(at).st_uid == 0 and not os.stat(at).st_mode & 0o002


def check(seen):
    by_root = sorted({path for path, euid in seen if euid == 0})
    assert any("ld.so.cache" in path for path in by_root), by_root
    assert [p for p in by_root if not is_roots_alone(p)] == []


def test_rule_itself(tmp_path, other_user):
    """The rule holds for a directory, a file and a link of somebody else."""
    uid = run(["id", "-u", other_user]).ok().text.strip()
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.mkdir()
    link.symlink_to(theirs)
    assert is_roots_alone(str(theirs / "file"))
    assert is_roots_alone(str(link / "file"))
    os.chown(theirs, int(uid), -1)
    assert not is_roots_alone(str(theirs / "file"))
    assert not is_roots_alone(str(link / "file"))


@pytest.mark.parametrize("pam", ["no", "yes"])
def test_server(make_server, keys, other_user, tmp_path, pam):
    """hpnsshd, hpnsshd-session, hpnsshd-auth: with a login, a command, SFTP,
    by the keys of a user."""
    if pam == "yes" and "define HAVE_PAM 1" not in (
            harness.BUILD / "include/config.h").read_text():
        pytest.skip("built without PAM")
    prefix = tmp_path / "trace"
    server = make_server(
        f"UsePAM {pam}\nPAMServiceName sshd\n"
        "AuthorizedKeysFile .ssh/authorized_keys\n",
        within=strace(prefix))
    home = os.path.expanduser(f"~{other_user}")
    ssh = os.path.join(home, ".ssh")
    os.makedirs(ssh, exist_ok=True)
    authorized = os.path.join(ssh, "authorized_keys")
    with open(authorized, "w") as f:
        f.write(keys.public("ed25519") + "\n")
    run(["chown", "-R", other_user, ssh]).ok()
    client = Client("hpn", server, user=other_user)
    try:
        client.ssh("true").ok()
        client.scp("/etc/hostname", f":{home}/copied").ok()
        Client("hpn", server, user=other_user,
               key="ed25519-wrong0").ssh("true")
    finally:
        shutil.rmtree(ssh)
    server.stop()
    seen = everything_opened(prefix)
    check(seen)
    assert any(p == authorized and euid != 0 for p, euid in seen)
    assert any(p.endswith("hpnsshd-auth") for p, _ in seen)
    assert any(p.endswith("copied") or ".copied" in p
               for p, euid in seen if euid != 0), seen


def test_keysign(keys, nothing_left, tmp_path):
    """Started by a user, with the bit."""
    prefix = tmp_path / "trace"
    with hostbased.place(keys) as place:
        caller = Caller(place)
        harness.open_up(tmp_path)
        command = place.own_command(*strace(
            prefix, "-u", hostbased.USER, sys.executable, "-I",
            caller.script), user=0, group=0)
        done = run(command, stdin=caller.order({}).encode()).ok()
        assert caller.is_signed(caller.read(done.out))
        seen = everything_opened(prefix, UID)
        check(seen)
        by_root = [p for p, euid in seen if euid == 0]
        assert any(p.endswith("ssh_host_ed25519_key") for p in by_root)
        assert not any("openssl.cnf" in p for p in by_root)
        assert any("openssl.cnf" in p for p, euid in seen if euid == UID)


@pytest.fixture
def here(tmp_path, other_user):
    """A directory of somebody else, to be started in."""
    path = tmp_path / "here"
    path.mkdir()
    run(["chown", other_user, path]).ok()
    return path


PROGRAMS = {
    "hpnssh": lambda client: [*client.ssh_args(), "true"],
    "hpnscp": lambda client: [
        hpn("scp"), *client.options(), "-P", str(client.server.port),
        "127.0.0.1:/etc/hostname", "/dev/null"],
    "hpnsftp": lambda client: [
        hpn("sftp"), *client.options(), "-P", str(client.server.port),
        "127.0.0.1"],
    "hpnssh-keygen": lambda client: [hpn("ssh-keygen"), "-l", "-f",
                                     client.key],
    "hpnssh-add": lambda _: [hpn("ssh-add"), "-l"],
    "hpnssh-agent": lambda _: [hpn("ssh-agent"), "-D", "-a", "/dev/null/x"],
    "hpnssh-keyscan": lambda client: [
        hpn("ssh-keyscan"), "-p", str(client.server.port), "127.0.0.1"],
    "hpnssh-sk-helper": lambda _: [hpn("ssh-sk-helper")],
    "hpnssh-pkcs11-helper": lambda _: [hpn("ssh-pkcs11-helper")],
    "hpnsftp-server": lambda _: [hpn("sftp-server")],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_directory_of_somebody_else(sshd, here, tmp_path, name):
    """Nothing that a user's program needs is looked for where it happens to
    be started."""
    command = PROGRAMS[name](Client("hpn", sshd))
    if not os.path.exists(command[0]):
        pytest.skip(f"{name} is not built")
    prefix = tmp_path / "trace"
    run(strace(prefix, *command), cwd=here, env=clean_env(HOME=tmp_path))
    seen = [path for path, _ in everything_opened(prefix)]
    assert any("ld.so.cache" in path for path in seen)
    assert [path for path in seen if path.startswith("/relative") or (
        path + "/").startswith(f"{here}/")] == []
