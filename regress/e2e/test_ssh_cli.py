# SPDX-License-Identifier: ISC
"""hpnssh's command line: what it tells, and what it refuses."""

import pytest

from harness import hpn, run


def ssh(*args, **kw):
    return run([hpn("ssh"), *args], **kw)


def test_version():
    done = ssh("-V")
    assert done.rc == 0 and done.out == b""
    assert done.errors.startswith("OpenSSH_10.5_hpn18 HPNSSH_")
    assert "OpenSSL" in done.errors


@pytest.mark.parametrize("what,has", [
    ("cipher", "aes128-gcm@openssh.com"),
    ("Ciphers", "chacha20-poly1305@openssh.com"),
    ("cipher-auth", "aes256-gcm@openssh.com"),
    ("mac", "umac-128-etm@openssh.com"),
    ("kex", "mlkem768x25519-sha256"),
    ("KexAlgorithms", "curve25519-sha256"),
    ("key", "ssh-ed25519"),
    ("key-plain", "ssh-rsa"),
    ("key-sig", "rsa-sha2-512"),
    ("sig", "ecdsa-sha2-nistp521"),
    ("compression", "zlib@openssh.com"),
    ("protocol-version", "2"),
    ("help", "cipher"),
])
def test_queries(what, has):
    done = ssh("-Q", what)
    assert done.rc == 0
    names = done.text.split()
    assert has in names
    assert ("none" in names) == (what == "compression")


def test_auth_ciphers_only():
    assert "aes128-ctr" not in ssh("-Q", "cipher-auth").text.split()
    assert ssh("-Q", "nothing").rc == 255


@pytest.mark.parametrize("args", [
    [], ["-?"], ["-p"], ["@host"], ["user@"], ["ssh://"], ["ssh://h:0"]])
def test_usage(args):
    done = ssh(*args)
    assert done.rc == 255 and "usage: hpnssh" in done.errors


@pytest.mark.parametrize("args", [
    ["-1", "host"], ["-p", "0", "host"], ["-p", "70000", "host"],
    ["-c", "rot13", "host"], ["-m", "none", "host"],
    ["-o", "NoSuchKeyword=1", "host"], ["-o", "Port", "host"],
    ["-F", "/nonexistent/config", "host"], ["-e", "xy", "host"],
    ["-s", "-F", "none", "host"], ["-f", "-F", "none", "host"],
    ["-l", "", "host"]])
def test_bad_arguments(args):
    done = ssh(*args)
    assert done.rc == 255 and done.out == b""
    assert 1 <= done.errors.count("\n") <= 2, done


@pytest.mark.parametrize("name", [
    "-oProxyCommand=x@host", "a;b@host", "$(id)@host", "user@-host",
    "user@h$(id)", "user@h;id"])
def test_names_that_a_shell_would_run(name):
    done = ssh("-G", "--", name)
    assert done.rc == 255, done


def dump(*args):
    done = ssh("-G", "-F", "none", *args)
    assert done.rc == 0, done
    return dict(line.split(" ", 1) for line in done.text.splitlines()
                if " " in line)


def test_dump():
    got = dump("host")
    assert got["hostname"] == "host" and got["port"] == "2222"
    assert got["fallbackport"] == "22"
    got = dump("-p", "77", "-l", "me", "-4", "-C", "host")
    assert (got["port"], got["user"]) == ("77", "me")
    assert got["addressfamily"] == "inet" and got["compression"] == "yes"


@pytest.mark.parametrize("args,key,value", [
    (["me@host"], "user", "me"),
    (["-l", "one", "two@host"], "user", "one"),
    (["ssh://me@host:99"], "port", "99"),
    (["-p", "1", "ssh://host:99"], "port", "1"),
    (["-o", "Port=5", "-p", "6", "host"], "port", "5"),
    (["host", "-p", "8"], "port", "8"),
    (["-oHostname=%h.example", "host"], "hostname", "host.example"),
    (["-t", "host"], "requesttty", "true"),
    (["-tt", "host"], "requesttty", "force"),
    (["-T", "host"], "requesttty", "false"),
    (["-v", "-oLogLevel=ERROR", "host"], "loglevel", "DEBUG"),
    (["-vvv", "host"], "loglevel", "DEBUG3"),
    (["-q", "host"], "loglevel", "SILENT"),
    (["-N", "host"], "sessiontype", "none"),
    (["-e", "^B", "host"], "escapechar", "^B"),
])
def test_precedence(args, key, value):
    assert dump(*args)[key].lower() == value.lower()


@pytest.mark.parametrize("program", ["ssh", "sshd"])
def test_hashes_of_fingerprints(program):
    """The hashes are those of stock, and not all that are known for other
    ends."""
    def refused(name):
        option = f"FingerprintHash={name}"
        if program == "ssh":
            return "FingerprintHash" in ssh("-G", "-F", "none", "-o", option,
                                            "host").errors
        return "FingerprintHash" in run(
            [hpn("sshd"), "-T", "-f", "/dev/null", "-o", option]).errors

    for name in ("md5", "sha1", "SHA256", "sha384", "sha512"):
        assert not refused(name), name
    for name in ("sha224", "blake2b-512", "sha"):
        assert refused(name), name


def test_dump_to_a_full_disk():
    with open("/dev/full", "wb") as full:
        done = ssh("-G", "-F", "none", "host", stdout=full)
    assert done.rc == 255 and "No space left" in done.errors


def test_configuration_file(tmp_path):
    config = tmp_path / "config"
    config.write_text("Host short\n  Hostname long.example\n  Port 99\n")
    done = ssh("-G", "-F", config, "short")
    assert "hostname long.example\n" in done.text
    config.write_text("Port 22\nNonsense 1\n")
    done = ssh("-F", config, "short")
    assert done.rc == 255
    assert f"{config}: line 2: Bad configuration option: " in done.errors
    config.write_text("Port 22\n")
    config.chmod(0o666)
    assert ssh("-F", config, "-G", "short").rc in (0, 255)


def test_lines_about_the_configuration_are_in_the_log(tmp_path):
    """The log of -E is open before a configuration is read."""
    config, log = tmp_path / "config", tmp_path / "log"
    config.write_text("Host nowhere\n\tPort 1\n\tUseRsh no\n")
    done = ssh("-v", "-E", log, "-F", config, "-oProxyCommand=false",
               "nowhere")
    assert (done.rc, done.errors) == (255, "")
    told = log.read_text()
    assert f"debug1: Reading configuration data {config}" in told
    assert "Applying options for nowhere" in told


@pytest.mark.parametrize("name", ["ssh", "hpnssh"])
def test_messages_begin_with_the_name_that_was_typed(tmp_path, name):
    (tmp_path / name).symlink_to(hpn("ssh"))

    def said(*args):
        return run([tmp_path / name, "-T", "-F", "none", *args]).errors
    assert said("-p", "1", "127.0.0.1").startswith(
        f"{name}: connect to host 127.0.0.1 port 1: ")
    assert said("no.such.host.invalid").startswith(
        f"{name}: Could not resolve hostname no.such.host.invalid: ")
    assert said("-oSessionType=subsystem", "h") == \
        f"{name}: which subsystem?\n"
