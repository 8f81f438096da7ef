# SPDX-License-Identifier: ISC
"""AuthorizedKeysCommand and AuthorizedPrincipalsCommand: programs that say who
may log in. They have to lie where only root can write, so the servers have an
/etc of their own. What holds for both servers is asked of the installed sshd,
too."""

import os
import time

import ownetc
import pytest
from ownetc import USER, OwnEtc
from usercerts import CERT_ALG, ID, SERIAL, Authority, RawClient, blob_of

import harness
from harness import Client, run

PROBLEM = None if harness.have("hpn", "sshd", "ssh", "ssh-keygen") else \
    "hpnsshd is not built"
pytestmark = pytest.mark.skipif(bool(PROBLEM or ownetc.problem()),
                                reason=str(PROBLEM or ownetc.problem()))
servers = pytest.mark.parametrize("kind", [
    "hpn", pytest.param("stock", marks=pytest.mark.skipif(
        not harness.have("stock", "sshd"), reason="no stock sshd"))])
PLACE = "/etc/hpncommands"
KEY = "ed25519"


@pytest.fixture
def own(tmp_path, keys):
    harness.open_up(tmp_path)
    etc = OwnEtc(tmp_path, keys)
    (etc.etc / "hpncommands").mkdir(mode=0o755)
    etc.notes = tmp_path / "notes"
    etc.notes.write_text("")
    etc.notes.chmod(0o666)
    yield etc
    etc.end()


def script(own, text, name="command", mode=0o755):
    """A script for the command; its path as the server sees it."""
    path = own.etc / "hpncommands" / name
    path.write_text("#!/bin/sh\n" + text.replace("NOTES", str(own.notes)))
    path.chmod(mode)
    return f"{PLACE}/{name}"


def serve(own, kind, keyword, command, user="nobody", more=""):
    server = own.server(
        f"LogLevel VERBOSE\n{keyword} {command}\n"
        + (f"{keyword}User {user}\n" if user else "") + more, kind)
    server.authorized.write_text("")
    return server


def login(server, own, *command, key=KEY, user=USER):
    return Client("hpn", server, key=key, user=user).ssh(
        *(command or ("exit 3",)))


def plain(keys, name=KEY):
    return "ssh-ed25519", blob_of(keys.path(name).with_suffix(".pub"))


# ---- what it is run with -------------------------------------------------

@servers
def test_words_and_environment(own, keys, kind):
    """Both commands get the same words, tokens, identity, environment and
    descriptors."""
    words = "'a b' \"c\\\"d\" # $HOME %% %u %U %h %t %f %k"
    command = script(own, '''
{ for word; do echo "[$word]"; done; id -un; id -Gn; pwd
  env | grep -v ^_= | sed 's/=.*//' | sort; } >>NOTES
''')
    server = serve(own, kind, "AuthorizedKeysCommand", f"{command} {words}")
    login(server, own)
    public = keys.public(KEY).split()
    print_ = run([harness.hpn("ssh-keygen"), "-lf",
                  keys.path(KEY)]).text.split()[1]
    lang = ["LANG"] if "LANG" in harness.clean_env() else []
    assert own.notes.read_text().splitlines() == [
        "[a b]", '[c"d]', "[#]", "[$HOME]", "[%]", f"[{USER}]",
        f"[{ownetc.UID}]", f"[{own.home}]", "[ssh-ed25519]", f"[{print_}]",
        f"[{public[1]}]", "nobody", "nogroup", "/", "HOME", *lang, "LOGNAME",
        "PATH", "PWD", "USER"]


@servers
def test_endpoints(own, kind):
    command = script(own, 'echo "$1" "[$2]" >>NOTES\n')
    server = serve(own, kind, "AuthorizedKeysCommand", f"{command} %C %D"
                   if kind == "hpn" else f"{command} x y")
    login(server, own)
    said = own.notes.read_text().split()
    if kind == "hpn":
        assert said[0] == said[2] == "127.0.0.1" and said[4] == "[]"
        assert said[3] == str(server.port) and said[1].isdigit()


@servers
def test_without_words(own, kind):
    """The command for keys gets the name, that for principals nothing."""
    command = script(own, 'echo "$#" "$@" >>NOTES\n')
    server = serve(own, kind, "AuthorizedKeysCommand", command)
    login(server, own)
    assert own.notes.read_text() == f"1 {USER}\n"


@servers
def test_words_of_principals(own, tmp_path, keys, kind):
    ca = Authority(tmp_path, "hpn")
    cert = ca.certify(keys.public(KEY), names="ops")
    command = script(own, 'echo "$#" "$@" >>NOTES\necho ops\n')
    for words in ("", " %F %K %T %i %s %t %u"):
        own.notes.write_text("")
        server = serve(own, kind, "AuthorizedPrincipalsCommand",
                       command + words,
                       more=f"TrustedUserCAKeys {ca.key}.pub\n")
        raw = RawClient(server, USER)
        assert raw.offer(CERT_ALG, blob_of(cert))
        raw.close()
        said = own.notes.read_text()
        if not words:
            assert said == "0\n"
            continue
        print_ = run([harness.hpn("ssh-keygen"), "-lf",
                      f"{ca.key}.pub"]).text.split()[1]
        assert said == (
            f"7 {print_} {ca.public.split()[1]} ssh-ed25519 {ID} {SERIAL} "
            f"{CERT_ALG} {USER}\n")


# ---- what its output does ---------------------------------------------------

OUTPUTS = {
    "key": ("echo '{key}'", b"me\n"),
    "options": ("echo 'command=\"echo forced\" {key}'", b"forced\n"),
    "others": ("echo nonsense; echo; echo '# x'; echo '{other}'; echo '{key}'",
               b"me\n"),
    "other": ("echo '{other}'", None),
    "nothing": ("true", None),
    "from": ("echo 'from=\"10.0.0.1\" {key}'", None),
    "fails": ("echo '{key}'; exit 1", None),
    "killed": ("echo '{key}'; kill -9 $$", None),
    "standard error": ("echo '{key}' >&2", None),
    "no newline": ("printf %s '{key}'", b"me\n"),
}


@servers
def test_output(own, keys, kind):
    command = script(own, "")
    server = serve(own, kind, "AuthorizedKeysCommand", command)
    for case, (text, want) in OUTPUTS.items():
        script(own, text.format(key=keys.public(KEY),
                                other=keys.public("ed25519-other")) + "\n")
        done = login(server, own, "echo me")
        assert (done.rc, done.out) == ((0, want) if want else (255, b"")), \
            (case, done, server.log_text())
    log = server.log_text()
    for line in (f"AuthorizedKeysCommand {command} {USER} failed, status 1",
                 f"AuthorizedKeysCommand {command} {USER} exited on signal 9",
                 f"found at {command}:1"):
        assert line in log, (line, log)


@servers
def test_files_are_asked_first(own, keys, kind):
    command = script(own, "echo asked >>NOTES\n")
    server = serve(own, kind, "AuthorizedKeysCommand", command)
    server.authorized.write_text(keys.public(KEY) + "\n")
    assert login(server, own).rc == 3
    assert own.notes.read_text() == ""


@servers
def test_certificates_by_command(own, tmp_path, keys, kind):
    """Lines with cert-authority, as in a file."""
    ca = Authority(tmp_path, "hpn")
    command = script(own, f"echo 'cert-authority {ca.public}'\n")
    server = serve(own, kind, "AuthorizedKeysCommand", command)
    for names, want in ((USER, True), ("other", False)):
        raw = RawClient(server, USER)
        cert = blob_of(ca.certify(keys.public(KEY), names=names))
        assert raw.offer(CERT_ALG, cert) == want
        raw.close()


@servers
def test_principals_by_command(own, tmp_path, keys, kind):
    """Asked only if the file names none; its failure refuses."""
    ca = Authority(tmp_path, "hpn")
    listed = tmp_path / "names"
    listed.write_text("file\n")
    command = script(own, "")
    server = serve(own, kind, "AuthorizedPrincipalsCommand", command, more=(
        f"TrustedUserCAKeys {ca.key}.pub\nAuthorizedPrincipalsFile {listed}\n"
        ))
    for text, names, want, asked in [
            ("echo ops", "ops", True, True),
            ("echo ops", "file", True, False),
            ("echo ops", USER, False, True),
            ("echo ops; exit 1", "ops", False, True),
            ("echo '*'", "ops", False, True),
            ("", "ops", False, True)]:
        own.notes.write_text("")
        script(own, f"echo asked >>NOTES\n{text}\n")
        raw = RawClient(server, USER)
        cert = blob_of(ca.certify(keys.public(KEY), names=names))
        assert raw.offer(CERT_ALG, cert) == want, (text, names)
        raw.close()
        assert (own.notes.read_text() != "") == asked, (text, names)


# ---- what programs are run ------------------------------------------------------

@servers
@pytest.mark.parametrize("case", ["file", "directory", "owner", "missing",
                                  "no user", "elsewhere"])
def test_unsafe_programs(own, tmp_path, keys, kind, case):
    text = f"echo '{keys.public(KEY)}'\n"
    command = script(own, text)
    place, user = own.etc / "hpncommands", "nobody"
    if case == "file":
        (place / "command").chmod(0o757)
    elif case == "directory":
        place.chmod(0o777)
    elif case == "owner":
        os.chown(place / "command", ownetc.UID, -1)
    elif case == "missing":
        command += "-not"
    elif case == "no user":
        user = "no-such-user"
    else:
        other = tmp_path / "command"
        other.write_text("#!/bin/sh\n" + text)
        other.chmod(0o755)
        (place / "command").unlink()
        (place / "command").symlink_to(other)  # below /tmp
    server = serve(own, kind, "AuthorizedKeysCommand", command, user)
    assert login(server, own).rc == 255
    log = server.log_text()
    assert ("AuthorizedKeysCommandUser \"no-such-user\" not found" if
            case == "no user" else f'AuthorizedKeysCommand "{command}"') in log


@servers
@pytest.mark.parametrize("lines", [
    "AuthorizedKeysCommand /bin/true", "AuthorizedPrincipalsCommand /bin/true",
    "AuthorizedKeysCommand true\nAuthorizedKeysCommandUser nobody"])
def test_configurations_that_are_refused(tmp_path, keys, kind, lines):
    config = tmp_path / "config"
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n{lines}\n")
    done = run([harness.program(kind, "sshd"), "-t", "-f", config])
    assert done.rc != 0
    assert ("must be an absolute path" if "true\n" in lines else
            "set without Authorized") in done.errors


# ---- bounds ------------------------------------------------------------------------

def test_time(own, keys):
    """It ends with LoginGraceTime, and what it has started, too."""
    command = script(own, "sleep 3600 &\necho $! $$ >>NOTES\nwait\n")
    server = serve(own, "hpn", "AuthorizedKeysCommand", command,
                   more="LoginGraceTime 2\n")
    began = time.monotonic()
    assert login(server, own).rc == 255
    assert time.monotonic() - began < 30 * harness.SLOW
    pids = [int(pid) for pid in own.notes.read_text().split()]
    assert len(pids) == 2

    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat") as f:
                return f.read().rsplit(")")[-1].split()[0] == "Z"
        except FileNotFoundError:
            return True
    assert harness.wait_for(lambda: all(gone(pid) for pid in pids))
    assert harness.wait_for(
        lambda: "Timeout before authentication" in server.log_text())
    assert f"AuthorizedKeysCommand {command} was killed" in server.log_text()


def test_output_without_end(own, keys):
    command = script(own, f"echo '{keys.public(KEY)}'\nexec yes\n")
    server = serve(own, "hpn", "AuthorizedKeysCommand", command)
    assert login(server, own).rc == 255
    assert "was killed: it writes too much" in server.log_text()


def test_nobody_is_told_apart(own, keys):
    """A name that does not exist, or may not log in, reaches no command; but
    the answer takes as long."""
    command = script(own, 'echo "$1" >>NOTES\nsleep 1\n')
    server = serve(own, "hpn", "AuthorizedKeysCommand", command + " %u",
                   more="DenyUsers daemon\n")
    for user, said in [(USER, USER), ("no-such-user", "nobody"),
                       ("$(id)", "nobody"), ("daemon", "nobody")]:
        own.notes.write_text("")
        raw = RawClient(server, user)
        began = time.monotonic()
        assert not raw.offer(*plain(keys))
        assert time.monotonic() - began > 0.9, user
        raw.close()
        assert own.notes.read_text() == said + "\n", user
    assert "no-such-user failed" not in server.log_text()


def test_nobody_is_let_in_by_the_answer_for_another(own, keys):
    command = script(own, f"echo '{keys.public(KEY)}'\n")
    server = serve(own, "hpn", "AuthorizedKeysCommand", command,
                   more="DenyUsers daemon\n")
    for user in ("no-such-user", "daemon"):
        raw = RawClient(server, user)
        assert not raw.offer(*plain(keys))
        assert raw.login(keys.path(KEY), *plain(keys)) == "no"
        raw.close()
    assert "Accepted" not in server.log_text()


# ---- those that many have ---------------------------------------------------------

def test_instance_connect(own, keys):
    """The line of EC2 Instance Connect: the user's name and the fingerprint;
    a script that asks another one, and writes more than keys."""
    script(own, f'''
[ $# -eq 2 ] || exit 1
id -u "$1" >/dev/null 2>&1 || exit 0
case $2 in SHA256:*) ;; *) exit 1 ;; esac
printf '#Timestamp=%s\\n#Instance=i-1\\n#Caller=c\\n#Request=r\\n' 2000000000
printf '%s\\n\\n' '{keys.public(KEY)}'
''', "eic_parse_authorized_keys")
    command = script(own, f'''
set -e
out=$(timeout 5s {PLACE}/eic_parse_authorized_keys "$@")
echo "$out"
''', "eic_run_authorized_keys")
    server = serve(own, "hpn", "AuthorizedKeysCommand", command + " %u %f",
                   "daemon")
    assert login(server, own).rc == 3
    assert login(server, own, key="ed25519-other").rc == 255


def test_sssd(own, keys):
    """The line of SSSD: the name alone, as nobody."""
    command = script(own, f'''
[ $# -eq 1 ] && [ "$(id -un)" = nobody ] || exit 1
[ "$1" = {USER} ] && printf '%s\\n' '{keys.public("rsa")}' \\
    '{keys.public(KEY)}' || true
''', "sss_ssh_authorizedkeys")
    server = serve(own, "hpn", "AuthorizedKeysCommand", command)
    for key, rc in ((KEY, 3), ("rsa", 3), ("ed25519-other", 255)):
        assert login(server, own, key=key).rc == rc
