# SPDX-License-Identifier: ISC
"""The configurations that distributions install, and lines that people and
programs write: what is taken, with which messages, and what is refused.

The files under data/configs/ have the directives of what the distributions
install; @DIR@ is where a copy of them is, and NAME.parts is their NAME.d."""

import os
import pathlib
import pwd
import re

import pytest

import harness
from harness import ME, Client, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
CONFIGS = pathlib.Path(__file__).parent.parent / "data" / "configs"
DISTRIBUTIONS = sorted(p.name for p in CONFIGS.iterdir())
every_distribution = pytest.mark.parametrize("name", DISTRIBUTIONS)


@pytest.fixture
def configs(tmp_path):
    """configs(name): a directory with the files of a distribution."""
    def make(name):
        top = tmp_path / name
        for path in (CONFIGS / name).rglob("*"):
            if path.is_file():
                copy = top / path.relative_to(CONFIGS / name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(path.read_text().replace("@DIR@", str(top)))
                copy.chmod(0o644)
        return top
    return make


def dumped(done):
    assert done.rc == 0, done
    return {line.split(" ", 1)[0]: line.split(" ", 1)[1]
            for line in done.text.splitlines() if " " in line}


def ssh(*args, **kw):
    return run([hpn("ssh"), *args], **kw)


def read_server(path, keys, *args):
    return run([hpn("sshd"), "-T", "-f", path, "-h",
                keys.path("ed25519-host"), *args])


# ---- what distributions install ----------------------------------------

GSSAPI = harness.built_with("GSSAPI")
LOGINS = [] if GSSAPI else ["gssapiauthentication"]
UNSUPPORTED = {
    "debian12": LOGINS,
    "debian13": LOGINS,
    "ubuntu2404": LOGINS,
    "fedora": ([] if GSSAPI else ["gssapikexalgorithms"]) + LOGINS,
}


@every_distribution
def test_client_file(configs, name):
    done = ssh("-G", "-F", configs(name) / "ssh_config", "host")
    got = dumped(done)
    lines = done.errors.splitlines()
    assert [line.split("Unsupported option ")[-1] for line in lines] == [
        f'"{keyword}"' for keyword in UNSUPPORTED[name]], done
    assert all(".conf line " in line or "config line " in line
               for line in lines)
    if name == "fedora":
        assert got["requiredrsasize"] == "2048"
        assert got["ciphers"].startswith("aes256-gcm@openssh.com,chacha")
        assert got["ciphers"].endswith("aes128-ctr,aes128-cbc")
        assert "ssh-ed25519-cert-v01@openssh.com" in got[
            "pubkeyacceptedalgorithms"]
    else:
        assert got["hashknownhosts"] == "yes"
        assert "sendenv LC_*\n" in done.text


@every_distribution
def test_client_connects(configs, name, sshd):
    client = Client("hpn", sshd, log_level="INFO")
    args = client.ssh_args()
    args[args.index("none")] = str(configs(name) / "ssh_config")
    done = run([*args, "echo", "there"])
    assert done.ok().out == b"there\n"
    assert done.errors.count("Unsupported option") == len(UNSUPPORTED[name])


@every_distribution
def test_server_file(configs, keys, name):
    path = configs(name) / "sshd_config"
    done = read_server(path, keys, "-o", "Subsystem=sftp internal-sftp")
    got = dumped(done)
    assert got["x11forwarding"] == "yes" and got["printmotd"] == "no"
    assert got["usepam"] == "yes"
    assert got["kbdinteractiveauthentication"] == "no"
    lines = done.errors.splitlines()
    want = []
    if name == "fedora":
        if not GSSAPI:
            want = ["Unsupported option GSSAPIKexAlgorithms",
                    "Unsupported option GSSAPIAuthentication",
                    "Unsupported option GSSAPICleanupCredentials"]
        assert got["syslogfacility"] == "AUTHPRIV"
        assert "ssh-ed25519-cert-v01@openssh.com" in got[
            "hostkeyalgorithms"]
    if not harness.built_with("PAM"):
        want.append("Unsupported option UsePAM")
    if name == "ubuntu2404":
        assert got["passwordauthentication"] == "yes"
    assert [re.sub(r"^\S+ line \d+: ", "", line) for line in lines] == want
    tested = run([hpn("sshd"), "-t", "-f", path, "-h",
                  keys.path("ed25519-host")])
    assert tested.rc == 0 and tested.errors == done.errors


@pytest.fixture
def configured(make_server, configs, tmp_path):
    """configured(name): a server with that distribution's file."""
    def make(name):
        server = tmp_path / "server0"
        return make_server(
            f"Include {configs(name) / 'sshd_config'}\n", args=[
                "-o", "UsePAM=no", "-o", "Subsystem=sftp internal-sftp",
                "-o", f"AuthorizedKeysFile={server}/authorized_keys"])
    return make


@every_distribution
def test_server_serves(configured, name, tmp_path):
    client = Client("hpn", configured(name))
    assert client.ssh("echo", "served").ok().out == b"served\n"
    (tmp_path / "file").write_bytes(b"moved")
    client.scp(tmp_path / "file", f":{tmp_path}/copy").ok()
    assert (tmp_path / "copy").read_bytes() == b"moved"


# ---- lines that programs look for --------------------------------------

def test_faults_are_told_as_stock_tells_them(tmp_path, keys):
    config = tmp_path / "config"
    config.write_text("NoSuch 1\nPort 5\nOther 2\n")
    assert ssh("-F", config, "host").errors.splitlines() == [
        f"{config}: line 1: Bad configuration option: nosuch",
        f"{config}: line 3: Bad configuration option: other",
        f"{config}: terminating, 2 bad configuration options"]
    done = read_server(config, keys)
    assert done.rc != 0 and done.errors.splitlines() == [
        f"{config}: line 1: Bad configuration option: NoSuch",
        f"{config}: line 3: Bad configuration option: Other",
        f"{config}: terminating, 2 bad configuration options"]
    done = ssh("-F", "none", "-oNoSuch=1", "host")
    assert (done.rc, done.errors) == (
        255, "command-line: line 0: Bad configuration option: nosuch\n")
    done = read_server("none", keys, "-oNoSuch=1")
    assert done.errors == ("command-line: line 0: Bad configuration option: "
                           "NoSuch\n")


def test_question_of_ansible():
    """It asks whether there is connection sharing, and would do without it
    if the line were that of an unknown keyword."""
    done = ssh("-o", "ControlPersist")
    assert done.rc == 255 and "missing argument" in done.errors
    assert "Bad configuration option" not in done.errors


def test_options_of_ansible(tmp_path):
    got = dumped(ssh("-G", "-F", "none", "-C", "-o", "ControlMaster=auto",
                     "-o", "ControlPersist=60s", "-o",
                     f"ControlPath={tmp_path}/%C", "host"))
    assert got["controlmaster"] == "auto" and got["controlpersist"] == "60"
    assert re.fullmatch(re.escape(str(tmp_path)) + "/[0-9a-f]{40}",
                        got["controlpath"])


@pytest.mark.parametrize("option", ["GSSAPIEnablek5users=yes"])
def test_what_would_act_is_refused_by_the_server(keys, option):
    done = read_server("none", keys, "-o", option)
    assert done.rc != 0 and done.out == b""
    assert "is not supported by this version" in done.errors


# ---- what would be forwarded -------------------------------------------

@pytest.mark.parametrize("flag", [
    ["-A"], ["-X"], ["-Y"], ["-g"], ["-K"], ["-k"], ["-S", "none"],
    ["-oForwardAgent=yes"], ["-oForwardX11=yes"],
    ["-oLocalForward=1 h:2", "-oClearAllForwardings=yes"]])
def test_what_has_nothing_to_act_on_is_taken(ssh, flag):
    done = ssh.ssh("echo", "on", flags=flag)
    assert (done.rc, done.out, done.errors) == (0, b"on\n", "")


def test_last_flag_and_no_session(ssh, tmp_path):
    env = harness.clean_env(SSH_AUTH_SOCK=str(tmp_path), DISPLAY=":99")
    for flags in (["-A", "-a"], ["-X", "-x"], ["-oForwardAgent=yes", "-a"]):
        assert ssh.ssh("true", flags=flags, env=env).rc == 0, flags
    done = ssh.ssh(flags=["-A", "-X", "-oLocalForward=1 h:2", "-W",
                          f"127.0.0.1:{ssh.server.port}"], env=env)
    assert "is not available in this version" not in done.errors


def test_copies_forward_nothing(ssh, tmp_path):
    """As in stock: what the configuration forwards is not for them."""
    config = tmp_path / "config"
    config.write_text("LocalForward 8080 h:80\nForwardAgent yes\n"
                      "ForwardX11 yes\nTunnel yes\nControlMaster auto\n"
                      f"ControlPath {tmp_path}/%C\n")
    (tmp_path / "from").write_bytes(b"x")
    env = harness.clean_env(SSH_AUTH_SOCK=str(tmp_path), DISPLAY=":99")
    args = [hpn("scp"), *ssh.options()]
    args[args.index("none")] = str(config)
    done = run([*args, "-P", str(ssh.server.port), tmp_path / "from",
                f"{ME}@127.0.0.1:{tmp_path}/to"], env=env)
    assert done.rc == 0 and (tmp_path / "to").read_bytes() == b"x", done


# ---- values ------------------------------------------------------------

def test_first_set_env_wins(make_server):
    server = make_server("SetEnv HPN_S=1 HPN_T=2\nSetEnv HPN_U=3\n"
                         "AcceptEnv HPN_C*\n")
    config = server.dir / "config"
    config.write_text("Host nobody\nSetEnv HPN_C0=0\nHost *\n"
                      "SetEnv HPN_C1=4 HPN_C2=5\nSetEnv HPN_C3=6\n")
    args = Client("hpn", server).ssh_args()
    args[args.index("none")] = str(config)
    done = run([*args, "echo $HPN_S-$HPN_T-$HPN_U-$HPN_C0-$HPN_C1-$HPN_C2-"
                "$HPN_C3"])
    assert done.ok().out == b"1-2---4-5-\n"


def test_tokens_of_user():
    me = pwd.getpwuid(os.getuid()).pw_name
    got = dumped(ssh("-G", "-F", "none", "-oUser=%u-%n", "host"))
    assert got["user"] == f"{me}-host"
    assert dumped(ssh("-G", "-F", "none", "-l", "%u", "host"))["user"] == "%u"
    assert dumped(ssh("-G", "-F", "none", "%u@host"))["user"] == "%u"
    done = ssh("-G", "-F", "none", "-oUser=%C", "host")
    assert done.rc == 255 and "unknown token %C" in done.errors


def test_local_command(ssh, tmp_path):
    done = ssh.ssh("true", flags=[
        "-oPermitLocalCommand=yes",
        f"-oLocalCommand=echo %T > {tmp_path}/told"])
    assert done.rc == 0, done
    assert (tmp_path / "told").read_text() == "NONE\n"
    done = ssh.ssh("echo", "on", flags=["-oPermitLocalCommand=yes",
                                        "-oLocalCommand=echo %q"])
    assert (done.rc, done.out) == (255, b""), done
    assert "LocalCommand: unknown token %q" in done.errors
    assert ssh.ssh("true", flags=["-oLocalCommand=echo %q"]).rc == 0


@pytest.mark.parametrize("name", ["yes", "unbound", "host-bound"])
@pytest.mark.parametrize("kind", ["hpn", pytest.param(
    "stock", marks=pytest.mark.skipif(not harness.have("stock", "sshd"),
                                      reason="no stock sshd"))])
def test_pubkey_authentication(make_server, kind, name):
    client = Client("hpn", make_server(kind=kind))
    done = client.ssh("echo", "in", flags=[f"-oPubkeyAuthentication={name}"])
    assert done.ok().out == b"in\n"


def test_no_prompts(make_server, keys):
    """No password is asked for, and so none is refused."""
    server = make_server(authorized=[])
    done = ssh("-F", "none", "-p", str(server.port), "-l", ME, "-o",
               "NumberOfPasswordPrompts=0", "-o", "PubkeyAuthentication=no",
               "-o", f"UserKnownHostsFile={server.known_hosts}", "127.0.0.1",
               env=harness.clean_env(SSH_ASKPASS="/bin/false",
                                     SSH_ASKPASS_REQUIRE="force"))
    assert done.rc == 255 and "Permission denied (" in done.errors
    assert "Failed password" not in server.log_text()


def test_names_of_services(keys):
    assert dumped(ssh("-G", "-F", "none", "-p", "ssh", "h"))["port"] == "22"
    got = dumped(read_server("none", keys, "-oPort=ssh"))
    assert got["port"] == "22"


@pytest.mark.parametrize("flags", [
    ["-2"], ["-X", "nrequests=70000"], ["-X", "buffer=262144"]])
def test_flags_of_copies(ssh, tmp_path, flags):
    (tmp_path / "from").write_bytes(bytes(300000))
    ssh.scp(tmp_path / "from", f":{tmp_path}/to", flags=flags).ok()
    assert (tmp_path / "to").read_bytes() == bytes(300000)


def test_flags_of_copies_that_stock_refuses(ssh, tmp_path):
    for flags in (["-1"], ["-X", "buffer=262145"],
                  ["-X", "nrequests=1000000000"], ["-X", "nrequests=0"]):
        assert ssh.scp(tmp_path, f":{tmp_path}/to", flags=flags).rc != 0
    done = run([hpn("scp"), "-1", "a", "b"])
    assert done.rc == 255 and "no longer supported" in done.errors


def test_flags_of_old_start_scripts(keys):
    done = read_server("none", keys, "-b", "1024", "-k", "3600", "-Q", "-r",
                       "-u", "1000")
    assert done.rc == 0 and done.errors == ""


def test_end_of_a_block(make_server):
    server = make_server("Match user nobody-here\nForceCommand false\n"
                         "Match all\nPrintMotd no\nMaxSessions 1\n")
    assert Client("hpn", server).ssh("echo", "in").ok().out == b"in\n"
    got = dumped(run([hpn("sshd"), "-G", "-f", server.config]))
    assert got["maxsessions"] == "1" and got["printmotd"] == "no"


def test_many_blocks(make_server):
    """More than 4096, as a site makes them for each of its users."""
    lines = "".join(f"Match user nobody{i}\nForceCommand echo {i}\n"
                    for i in range(10000))
    server = make_server(lines + f"Match user {ME}\nForceCommand echo last\n")
    for kind in "hpn", "stock":
        if harness.have(kind, "ssh"):
            done = Client(kind, server).ssh("true")
            assert done.ok().text == "last\n"


def test_too_many_blocks(tmp_path, keys):
    config = tmp_path / "config"
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n" +
                      "Match user a\n" * 65537)
    done = run([hpn("sshd"), "-t", "-f", config])
    assert done.rc == 255
    assert "line 65538: too many Match blocks" in done.errors


@pytest.mark.parametrize("name", [
    "HostbasedAcceptedAlgorithms", "HostbasedKeyTypes",
    "hostbasedacceptedkeytypes", "PubkeyAcceptedAlgorithms",
    "HostKeyAlgorithms", "KexAlgorithms"])
def test_lists_by_keyword(name):
    """-Q takes names of keywords, in any case; what stock lists is there."""
    ours = run([hpn("ssh"), "-Q", name]).ok().text.splitlines()
    if harness.have("stock", "ssh"):
        theirs = harness.query("stock", name)
        assert theirs and set(theirs) - set(ours) <= {
            "ssh-dss", "ssh-dss-cert-v01@openssh.com",
            "sntrup761x25519-sha512"}
