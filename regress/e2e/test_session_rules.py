# SPDX-License-Identifier: ISC
"""What runs for a user, and as whom: the rules that a user who may do less
than others must not get around. Where the stock server keeps the same rule
it is asked too, so that the test is known to be right."""

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from descriptors import copy_of
from ownetc import GROUP, OWN_GROUP, PASSWORD, UID, USER, Opened, own
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_FAILURE,
                     CHANNEL_OPEN, CHANNEL_REQUEST, CHANNEL_SUCCESS,
                     OPEN_CONFIRMATION, connect, load_key)

import harness
from harness import Client, have

pytestmark = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(not harness.stock("ssh"), reason="no stock ssh"),
]
either_server = pytest.mark.parametrize("kind", ["hpn", pytest.param(
    "stock", marks=pytest.mark.skipif(
        harness.FAST or not harness.stock("sshd"),
        reason="the stock server is only asked in a full run"))])
ONLY_SFTP = b"This service allows sftp connections only."
INIT, VERSION = b"\0\0\0\5\1\0\0\0\3", b"\2\0\0\0\3"


def client_of(server, **kw):
    return Client("stock", server, user=USER, **kw)


def speak_sftp(client, *command, flags=()):
    """(the reply to INIT, or as much as came; exit status). Input stays open
    until there is an answer."""
    process = subprocess.Popen(
        [str(a) for a in client.ssh_args(flags=flags)] + list(command),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=harness.clean_env(),
        start_new_session=True)
    try:
        if "-tt" not in flags:  # where it is an interrupt
            with contextlib.suppress(BrokenPipeError):  # refused already
                os.write(process.stdin.fileno(), INIT)
        got = process.stdout.read(9)
        process.stdin.close()
        got += process.stdout.read()
        return got, process.wait(harness.LONG)
    finally:
        harness.kill_group(process)
        process.stdout.close()


def serves_sftp(client):
    got, rc = speak_sftp(client, "sftp", flags=["-s"])
    return got[4:9] == VERSION and rc == 0


def log_in(server, keys):
    """A connection of whom keeps no rule of a client's."""
    return connect(server).login(USER, load_key(keys.path("ed25519")))


def ask(w, channel, request, *fields, answer=CHANNEL_SUCCESS):
    w.say(CHANNEL_REQUEST, channel, request, True, *fields)
    w.expect(answer)


# ---- internal-sftp -----------------------------------------------------

@either_server
@pytest.mark.parametrize("shell,status", [("/usr/sbin/nologin", 1),
                                          ("/bin/sh", 127)])
def test_command_of_that_name(own, kind, shell, status):
    """A command is the shell's to run, also one called internal-sftp."""
    own.account(shell)
    client = client_of(own.server("Subsystem sftp internal-sftp", kind))
    for command in ("internal-sftp", "internal-sftp -R"):
        got, rc = speak_sftp(client, command)
        assert rc == status and VERSION not in got, got
    assert serves_sftp(client)  # the subsystem needs no shell


@either_server
@pytest.mark.parametrize("by", ["config", "key"])
def test_forced_internal_sftp(own, kind, by):
    """Who asks for anything else is told, and gets nothing."""
    forced = {"config": {"config": "ForceCommand internal-sftp -R"},
              "key": {"key_options": 'command="internal-sftp -R"'}}[by]
    client = client_of(own.server(kind=kind, **forced))
    for command in (["id"], ["internal-sftp"], []):
        for flags in ([], ["-tt"]):
            got, rc = speak_sftp(client, *command, flags=flags)
            assert VERSION not in got
            if flags and kind == "hpn":
                # No terminal is made for who may do SFTP only.
                assert rc in (1, 255)
                continue
            # a line of the log may come before it
            assert got.replace(b"\r", b"").endswith(ONLY_SFTP + b"\n")
            assert rc == 1
    assert serves_sftp(client)


@either_server
def test_forced_arguments_of_internal_sftp(own, kind, tmp_path):
    """The arguments of the forced command count, not those of the
    subsystem."""
    server = own.server("Subsystem sftp internal-sftp\n"
                        "ForceCommand internal-sftp -R", kind)
    done = harness.run(
        [harness.stock("sftp"), "-b", "-", *client_of(server).options(),
         "-P", server.port, f"{USER}@127.0.0.1"],
        stdin=f"-mkdir {own.home}/x\nls /\n".encode()).ok()
    assert "denied" in done.errors.lower(), done
    assert not (own.home / "x").exists()


@either_server
def test_forced_command_instead_of_a_subsystem(own, kind):
    server = own.server("ForceCommand echo forced $SSH_ORIGINAL_COMMAND",
                        kind)
    got, rc = speak_sftp(client_of(server), "sftp", flags=["-s"])
    assert (got, rc) == (b"forced internal-sftp\n", 0)


# ---- ~/.ssh/rc and sshrc -----------------------------------------------

@pytest.fixture
def rc(own):
    """rc(kind): an rc of the user and an sshrc of the system, which tell."""
    def make(kind, user=True, system=True):
        if user:
            own.user_file("rc", f"echo user >>{own.home}/ran\n")
        if system:
            own.system_rc(kind, f"echo system >>{own.home}/ran\n")
        return lambda: (own.home / "ran").read_text().split() \
            if (own.home / "ran").exists() else []
    return make


@either_server
@pytest.mark.parametrize("config,key_options,expected", [
    ("", "", "user"), ("", 'command="true"', "user"),
    ("ForceCommand true", "", "system"),
    ("ForceCommand internal-sftp", "", "system"),
    ("ForceCommand true", 'command="true"', "system"),
    ("PermitUserRC no", "", "system"), ("", "no-user-rc", "system"),
    ("", "restrict", "system")])
def test_which_rc(own, rc, kind, config, key_options, expected):
    ran = rc(kind)
    server = own.server(config, kind, key_options)
    client_of(server).ssh("true")
    assert ran() == [expected]


@either_server
@pytest.mark.parametrize("config", [
    "Subsystem sftp internal-sftp", "Subsystem sftp /bin/cat",
    "ForceCommand internal-sftp"])
def test_rc_of_a_subsystem(own, rc, kind, config):
    """Only the system's."""
    ran = rc(kind)
    client = client_of(own.server(config, kind))
    speak_sftp(client, "sftp", flags=["-s"])
    assert ran() == ["system"]


def test_no_rc_of_the_user_with_a_forced_command(own, rc):
    """With a forced command neither the user's rc file nor the system's is
    run: an upload to .ssh/rc runs nothing."""
    ran = rc("hpn", system=False)
    for config in ("ForceCommand internal-sftp", "ForceCommand true",
                   "Match User *\n\tForceCommand internal-sftp"):
        client = client_of(own.server(config))
        client.ssh("true")
        client.ssh("true", flags=["-tt"])
        client.ssh()
        speak_sftp(client, "sftp", flags=["-s"])
    assert ran() == []


@either_server
@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false",
                                   "/usr/bin/rbash", "/usr/bin/git-shell"])
def test_shell_that_runs_little(own, rc, kind, shell):
    """It does not run ~/.ssh/rc either."""
    if not os.path.exists(shell):
        pytest.skip(f"there is no {shell}")
    own.account(shell)
    ran = rc(kind, system=False)
    client = client_of(own.server("", kind))
    for flags in ([], ["-tt"]):
        client.ssh("true", flags=flags)
        client.ssh(flags=flags, stdin=b"exit\n")
    assert ran() == []


def test_environment_and_place_of_an_rc(own):
    """As the session has them; input is not the session's."""
    own.user_file("rc", f"{{ pwd; echo $USER; cat; }} >{own.home}/ran\n")
    done = client_of(own.server()).ssh("cat", stdin=b"input").ok()
    assert done.out == b"input"
    assert (own.home / "ran").read_text().split() == [str(own.home), USER]


@pytest.mark.parametrize("config,request_of,answer", [
    ("", ("exec", "exec sleep 1000"), CHANNEL_SUCCESS),
    ("Subsystem s exec sleep 1000", ("subsystem", "s"), CHANNEL_FAILURE),
    ("ForceCommand exec sleep 1000", ("exec", "x"), CHANNEL_FAILURE)])
def test_signals(make_server, keys, config, request_of, answer):
    """To what was the client's choice, and to nothing else."""
    w = connect(make_server(config)).login(
        harness.ME, load_key(keys.path("ed25519")))
    channel = w.open_session()[0]
    ask(w, channel, *request_of)
    ask(w, channel, "signal", "TERM", answer=answer)
    w.close()


# ---- as whom: ChrootDirectory ------------------------------------------

@pytest.fixture
def root_directory(own):
    """A root directory of which the user owns what libraries read."""
    top = Path(f"/run/hpn-test-root-{os.getpid()}")
    shutil.rmtree(top, ignore_errors=True)
    (top / "etc").mkdir(parents=True)
    (top / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n"
                                    f"{USER}:x:0:0::/:/bin/sh\n")
    (top / "etc/group").write_text(
        f"root:x:0:{USER}\nshadow:x:42:{USER}\ndisk:x:6:{USER}\n")
    (top / "etc/nsswitch.conf").write_text("group: files\npasswd: files\n")
    for path in (top / "etc", *(top / "etc").iterdir()):
        os.chown(path, UID, OWN_GROUP)
    top.chmod(0o755)
    yield top
    shutil.rmtree(top)


def identity(pid):
    """Real, effective, saved and file system's ids; the further groups."""
    fields = dict(line.split(":\t", 1) for line in
                  Path(f"/proc/{pid}/status").read_text().splitlines()
                  if ":\t" in line)
    return (fields["Uid"].split(), fields["Gid"].split(),
            sorted(map(int, fields["Groups"].split())), fields["CapEff"])


def askpass(tmp_path):
    script = tmp_path / "askpass"
    script.write_text(f"#!/bin/sh\necho '{PASSWORD}'\n")
    script.chmod(0o755)
    return harness.clean_env(SSH_ASKPASS=script, DISPLAY=":0",
                             SSH_ASKPASS_REQUIRE="force")


def by_password(server):
    return Client("stock", server, key=None, user=USER, options=[
        "BatchMode=no", "PubkeyAuthentication=no",
        "PreferredAuthentications=password"])


class Sftp:
    """A session that has answered once, with its process."""

    def __init__(self, client, env=None):
        self.client = client
        self.process = subprocess.Popen(
            [str(a) for a in client.ssh_args(flags=["-s"])] + ["sftp"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=env or harness.clean_env(),
            start_new_session=True)
        os.write(self.process.stdin.fileno(), INIT)
        assert self.process.stdout.read(9)[4:] == VERSION

    def users_processes(self):
        """Without those that ask for names, outside of its root."""
        found = []
        for pid in self.client.server.connections():
            try:
                if identity(pid)[0][0] == str(UID) and \
                        b"[names]" not in harness.title(pid):
                    found.append(pid)
            except (FileNotFoundError, ProcessLookupError):
                pass  # hpnsshd-auth, which ends behind the login
        return found

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        harness.kill_group(self.process)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.mark.parametrize("pam", ["no", "yes"])
@pytest.mark.parametrize("how", ["key", "password"])
def test_groups_are_those_outside(own, root_directory, tmp_path, how, pam):
    """What stands in the new root directory gives no group, and takes none."""
    if pam == "yes" and not own.pam_service():
        pytest.skip("a build or a system without PAM")
    server = own.server(f"ChrootDirectory {root_directory}\nUsePAM {pam}\n"
                        "PasswordAuthentication yes")
    client = client_of(server) if how == "key" else by_password(server)
    with Sftp(client, askpass(tmp_path)) as session:
        pid, = session.users_processes()
        assert os.path.realpath(f"/proc/{pid}/root") == str(root_directory)
        assert identity(pid) == ([str(UID)] * 4, [str(OWN_GROUP)] * 4,
                                 [OWN_GROUP, GROUP], "0" * 16)


def test_nothing_is_read_inside(own, root_directory, tmp_path):
    """Neither accounts nor time zones nor modules: neither a login nor a
    listing reads a file of the user's root."""
    (root_directory / "etc/localtime").write_bytes(b"TZif")
    server = own.server(f"ChrootDirectory {root_directory}\n"
                        "PasswordAuthentication yes")
    with Opened(root_directory / "etc") as opened:
        with Sftp(by_password(server), askpass(tmp_path)):
            pass
        assert harness.wait_for(lambda: not server.connections())
        assert opened.names() == []
        # A listing's names come from outside; its times are known before.
        harness.run([harness.stock("sftp"), "-b", "-",
                     *client_of(server).options(), "-P", server.port,
                     f"{USER}@127.0.0.1"], stdin=b"ls -l /\n").ok()
        assert opened.names() == []


@pytest.mark.parametrize("wrong", ["mode", "owner", "parent", "link", "none",
                                   "file", "link to another's",
                                   "another's link"])
def test_root_directory_of_another(own, root_directory, wrong):
    """Every directory on the way is the superuser's alone."""
    place = root_directory / "a/b"
    place.mkdir(parents=True)
    value = place
    if wrong == "mode":
        place.chmod(0o775)
    elif wrong == "owner":
        os.chown(place, UID, -1)
    elif wrong == "parent":
        os.chown(place.parent, UID, -1)
    elif wrong == "none":
        value = place / "c"
    elif wrong == "file":
        value = place / "c"
        value.write_text("")
    elif wrong == "link":
        value = root_directory / "c"
        value.symlink_to("a/b")
    elif wrong == "link to another's":
        # whoever owns what is above it could put another in its place
        os.chown(place.parent, UID, -1)
        value = root_directory / "c"
        value.symlink_to("a/b")
    else:
        value = root_directory / "etc/c"  # "etc" is the user's
        value.symlink_to("../a/b")
    client = client_of(own.server(f"ChrootDirectory {value}"))
    assert serves_sftp(client) == (wrong == "link")


@pytest.mark.parametrize("chrooted", [False, True])
def test_nologin(own, root_directory, chrooted):
    """The file outside counts, for who cannot see it as well."""
    server = own.server(f"ChrootDirectory {root_directory}" if chrooted
                        else "")
    client = client_of(server)
    assert serves_sftp(client)
    (own.etc / "nologin").write_text("closed for a test\n")
    assert speak_sftp(client, "sftp", flags=["-s"]) == (b"", 254)
    done = client.ssh("true")
    assert (done.rc, done.err) == (254, b"closed for a test\n")
    assert Client("stock", server, user="root").ssh("true").rc == \
        (126 if chrooted else 0)  # there is no shell


# ---- environment -------------------------------------------------------

BASIC = ("USER", "LOGNAME", "HOME", "PATH", "SHELL", "MAIL")


def environment(client, flags=(), **kw):
    done = client.ssh("env", flags=flags, **kw).ok()
    return dict(line.split("=", 1) for line in
                done.text.replace("\r", "").splitlines() if "=" in line)


@either_server
def test_client_does_not_choose_who_it_is(own, kind):
    """AcceptEnv lets variables in, but none of the account's own."""
    client = client_of(own.server("AcceptEnv *", kind))
    plain = environment(client)
    names = (*BASIC, "SSH_CLIENT", "SSH_CONNECTION", "HPN_OTHER")
    sent = environment(client, options=[
        "SetEnv=" + " ".join(f"{name}=theirs" for name in names)])
    assert sent.pop("HPN_OTHER") == "theirs"
    for name in BASIC:
        assert sent[name] == plain[name] != "theirs"
    assert "theirs" not in sent.values()


# From the weakest to the strongest.
LAYERS = ["client", "key", "file", "pam", "admin"]


@either_server
@pytest.mark.parametrize("upper", range(1, len(LAYERS)))
def test_order_of_the_environment(own, kind, upper):
    """Each layer is above all that come before it; variables of the
    connection are above all."""
    pam = own.pam_service()
    if LAYERS[upper] == "pam" and not pam:
        pytest.skip("a build or a system without PAM")
    layers = [name for name in LAYERS[:upper + 1] if name != "pam" or pam]
    names = ["HPN_ORDER"]
    if len(layers) > 1:  # all but the client may change these
        names += ["HOME", "USER"]
    text = {who: [f"{name}=/{who}" for name in names] for who in layers}
    for lines in text.values():
        lines += ["SSH_CONNECTION=x", "SSH_ORIGINAL_COMMAND=x"]
    config = ["AcceptEnv *", "PermitUserEnvironment yes"]
    options = ""
    if pam:
        config.append("UsePAM yes")
    if "key" in layers:
        options = ",".join(f'environment="{one}"' for one in text["key"])
    if "file" in layers:
        own.user_file("environment", "".join(
            one + "\n" for one in text["file"]))
    if "pam" in layers:
        (own.etc / "hpnown.env").write_text("".join(
            one + "\n" for one in text["pam"]))
    if "admin" in layers:
        config.append("SetEnv " + " ".join(text["admin"]))
    config.append("ForceCommand env")
    server = own.server("\n".join(config), kind, options)
    got = environment(client_of(server), options=[
        "SetEnv=" + " ".join(text["client"])])
    assert {got[name] for name in names} == {"/" + layers[-1]}
    assert len(got["SSH_CONNECTION"].split()) == 4
    assert got["SSH_ORIGINAL_COMMAND"] == "env"


@either_server
@pytest.mark.parametrize("config,expected", [
    ("AcceptEnv *", b"vt100"), ("AcceptEnv *\nSetEnv TERM=admin", b"admin")])
def test_terminal_type(own, keys, kind, config, expected):
    """That of the terminal, not that of a variable beside it."""
    w = log_in(own.server(config, kind), keys)
    channel = w.open_session()[0]
    ask(w, channel, "env", "TERM", "theirs")
    ask(w, channel, "pty-req", "vt100", 80, 24, 0, 0, "")
    ask(w, channel, "exec", "echo term=$TERM,")
    assert b"term=" + expected + b"," in w.output()
    w.close()


# ---- sessions that the client gives up ---------------------------------

def open_terminal(w, number, command):
    """(the server's number of the channel, its window)."""
    w.say(CHANNEL_OPEN, "session", number, 1 << 21, 1 << 15)
    reply = w.expect(OPEN_CONFIRMATION)
    assert reply.u32() == number
    channel = reply.u32()
    ask(w, channel, "pty-req", "vt100", 80, 24, 0, 0, "")
    ask(w, channel, "exec", command)
    return channel


def fill_terminal(w, channel):
    """More than a terminal takes while nobody reads it."""
    for _ in range(64):
        w.say(CHANNEL_DATA, channel, "x" * 8192)


@pytest.mark.parametrize("end", ["close", "after its command"])
def test_unread_input_of_a_terminal(make_server, keys, end):
    """It keeps no session: MaxSessions counts those that are there."""
    server = make_server("MaxSessions 2")
    w = connect(server).login(harness.ME, load_key(keys.path("ed25519")))
    for number in range(5):
        if end == "close":
            command = "stty raw -echo; echo ready; exec sleep 1000"
        else:  # somebody else still has the terminal
            command = ("stty raw -echo; trap '' HUP; sleep 1000 & echo ready;"
                       " read x; kill -0 $! && exit 0")
        channel = open_terminal(w, number, command)
        got = b""
        while b"ready" not in got:
            reply = w.expect(CHANNEL_DATA)
            reply.u32()
            got += reply.string()
        if end == "close":
            fill_terminal(w, channel)
        else:
            w.say(CHANNEL_DATA, channel, "\n")
            fill_terminal(w, channel)
            while w.expect(CHANNEL_DATA, CHANNEL_REQUEST,
                           CHANNEL_CLOSE)[0] != CHANNEL_CLOSE:
                pass
        w.say(CHANNEL_CLOSE, channel)
        if end == "close":
            while w.expect(CHANNEL_DATA, CHANNEL_REQUEST,
                           CHANNEL_CLOSE)[0] != CHANNEL_CLOSE:
                pass
    w.close()


# ---- IPQoS -------------------------------------------------------------

def type_of_service(server, w):
    """The type of service of what the server sends to w, from its socket."""
    for pid in server.connections():
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError), \
                    socket.socket(fileno=copy_of(pid, int(fd))) as s:
                if s.getpeername() == w.sock.getsockname():
                    return s.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)
    return None


@pytest.mark.parametrize("config,terminal,other", [
    ("IPQoS af21 cs1", 0x48, 0x20), ("IPQoS cs1", 0x20, 0x20),
    ("", 0xb8, 0)])
def test_type_of_service(make_server, keys, config, terminal, other):
    """That of a terminal as long as there is one."""
    if not harness.IS_ROOT:
        pytest.skip("needs root: looks into another process")
    server = make_server(config)
    w = connect(server).login(harness.ME, load_key(keys.path("ed25519")))

    def marked():
        return type_of_service(server, w)

    bulk = w.open_session(0)[0]
    ask(w, bulk, "exec", "exec sleep 1000")
    assert marked() == other
    channel = open_terminal(w, 1, "read x")
    assert marked() == terminal
    w.say(CHANNEL_DATA, channel, "x\n")
    while w.expect(CHANNEL_DATA, CHANNEL_REQUEST,
                   CHANNEL_CLOSE)[0] != CHANNEL_CLOSE:
        pass
    w.say(CHANNEL_CLOSE, channel)
    assert harness.wait_for(lambda: marked() == other), marked()
    w.close()


@either_server
def test_bad_lines_of_a_users_environment(own, kind):
    """Bad lines are told to the user whose file it is; the others count."""
    own.user_file("environment",
                  "# text\n\nHPN_A=1\nno assignment\n  HPN_B=2\n")
    server = own.server("PermitUserEnvironment yes", kind)
    done = client_of(server).ssh("echo $HPN_A$HPN_B").ok()
    assert done.text == "12\n"
    told = [x for x in done.errors.splitlines() if "Bad line" in x]
    assert len(told) == 1 and told[0].startswith("Bad line 4 in ") \
        and told[0].endswith("/.ssh/environment"), done
