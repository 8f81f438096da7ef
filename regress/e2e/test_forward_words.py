# SPDX-License-Identifier: ISC
"""Forwards, tunnels and shared connections as keywords and flags: what is
taken and how -G and -T show it, beside a stock ssh where there is one."""

import random
import socket
import subprocess

import pytest

import harness
from harness import Client, hpn, run, start

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
HAVE_STOCK = harness.have("stock", "ssh")
HOME = "/the/home"
KEYWORDS = ["localforward", "remoteforward", "dynamicforward", "tunnel",
            "tunneldevice", "controlmaster", "controlpersist", "controlpath",
            "streamlocalbindmask", "streamlocalbindunlink", "gatewayports",
            "exitonforwardfailure", "clearallforwardings", "forwardx11",
            "forwardx11timeout", "forwardagent", "permitremoteopen",
            "proxyusefdpass"]


def ask(program, *args):
    """-G of a program: rc, the lines about forwarding, messages."""
    done = run([program, "-F", "none", "-p", "2222", "-G", *args, "host"],
               env=harness.clean_env(HOME=HOME, HPN_V="h:80"))
    lines = [line for line in done.text.splitlines()
             if line.split(" ")[0] in KEYWORDS]
    return done.rc, sorted(lines), done.errors


def ours(*args):
    return ask(hpn("ssh"), *args)


def lines_of(*args):
    rc, lines, errors = ours(*args)
    assert rc == 0, errors
    return lines


def forwards(lines):
    """The forwards among them, without what is known to differ: stock shows
    a forward to a path as a dynamic one too, and keeps "" and * in front of a
    port apart; ours shows paths as they are to be written."""
    lines = [line.replace("\\", "").replace('"', "").replace(
        "forward []:", "forward [*]:") for line in lines
        if line.split(" ")[0] in KEYWORDS[:3]]
    twice = {f"dynamicforward {line.split(' ')[1]}" for line in lines
             if line.startswith("localforward ")}
    return [line for line in lines if line not in twice]


# ---- beside stock ------------------------------------------------------

def random_spec(dice):
    """A specification that is right more often than not."""
    host = dice.choice(["h", "h.example", "[::1]", "127.0.0.1", "[fe80::1]"])
    port = dice.choice(["1", "80", "http", "65535", "8080", "0", "65536",
                        "x"])
    path = dice.choice(["/a/b", "./s", "/%h-%p", "/a\\:b", "/${HOME}/s"])
    end = [port, f"{host}:{port}", path, host, "", "${HPN_V}"]
    return ":".join(dice.choice(end) for _ in range(dice.randint(1, 3)))


def a_path_where_a_host_stands(spec):
    """-R /a:80: stock takes the path as a host."""
    return "/" in spec.rsplit(":", 1)[0]


@pytest.mark.skipif(not HAVE_STOCK, reason="no stock ssh")
@pytest.mark.parametrize("seed", range(4))
def test_specifications_beside_stock(seed):
    dice = random.Random(seed)
    right = 0
    for _ in range(40):
        flag, spec = dice.choice("LRD"), random_spec(dice)
        stock = ask(harness.stock("ssh"), f"-{flag}{spec}")
        got = ours(f"-{flag}{spec}")
        if (stock[0], got[0]) == (0, 255) and a_path_where_a_host_stands(
                spec):
            continue
        assert got[0] == stock[0], (flag, spec, got, stock)
        if stock[0] != 0:
            assert got[2].splitlines()[-1] == stock[2].splitlines()[-1]
            continue
        right += 1
        assert forwards(got[1]) == forwards(stock[1]), (flag, spec)
    assert right > 4


@pytest.mark.skipif(not HAVE_STOCK, reason="no stock ssh")
@pytest.mark.parametrize("args", [
    [], ["-M"], ["-MM"], ["-MMM"], ["-S", "none"], ["-S", "/tmp/%h-%p"],
    ["-S", "/a", "-S", "/b"], ["-oControlPath=~/%r%%", "-luser"],
    ["-oControlMaster=auto"], ["-oControlMaster=autoask"],
    ["-oControlMaster=true"], ["-oControlPersist=yes"],
    ["-oControlPersist=0"], ["-oControlPersist=1h"], ["-oControlPersist=no"],
    ["-w", "1"], ["-w", "any"], ["-w", "1:2"], ["-w", "any:3"],
    ["-w1", "-w2"], ["-oTunnel=no", "-w2"], ["-oTunnel=ethernet", "-w0:any"],
    ["-oTunnel=yes"], ["-oTunnel=true"], ["-oTunnelDevice=1:any"],
    ["-w", "2147483645"], ["-oClearAllForwardings=yes", "-w1", "-L1:h:1"],
    ["-L1:h:1", "-D5", "-L1:h:1", "-L2:h:1", "-D5"],
    ["-oLocalForward=8080 h:80"], ["-oRemoteForward=8080"],
    ["-oRemoteForward=8080 h:1"], ["-oDynamicForward=1"],
    ["-W", "a:1"], ["-W", "a:1", "-oClearAllForwardings=no", "-L1:h:1"],
    ["-W", "a:1", "-L1:h:1", "-oExitOnForwardFailure=no"],
    ["-W", "[::1]:80"], ["-g"], ["-A"], ["-a"], ["-Aa"],
    ["-aA"], ["-oForwardAgent=no", "-A"], ["-X"], ["-x"], ["-Y"], ["-xX"],
    ["-Xx"], ["-X", "-oForwardX11=no"], ["-oForwardX11Timeout=2h"],
    ["-oForwardX11Timeout=0"], ["-oStreamLocalBindMask=022"],
    ["-oStreamLocalBindUnlink=yes"], ["-oProxyUseFdpass=yes"],
    ["-oPermitRemoteOpen=a:1 [::1]:*"], ["-oPermitRemoteOpen=none"],
    ["-oPermitRemoteOpen=any"], ["-O", "check"]])
def test_flags_beside_stock(args):
    assert ours(*args)[:2] == ask(harness.stock("ssh"), *args)[:2]


@pytest.mark.skipif(not HAVE_STOCK, reason="no stock ssh")
@pytest.mark.parametrize("args", [
    ["-w", "1:"], ["-w", "x"], ["-w", "2147483646"], ["-w", "1:2:3"],
    ["-O", "nonsense"], ["-O", "check", "-W", "a:1"],
    ["-W", "a:1", "-W", "b:1"], ["-W", "a"], ["-oTunnelDevice=x"],
    ["-oLocalForward=8080:h:80"], ["-oLocalForward=8080 h"],
    ["-oRemoteForward=8080:h:80"], ["-oDynamicForward=1 2"],
    ["-oLocalForward=1 h:2 x"], ["-oControlPersist=x"]])
def test_faults_beside_stock(args):
    stock, got = ask(harness.stock("ssh"), *args), ours(*args)
    assert got[0] == stock[0] == 255
    wanted = stock[2].strip().splitlines()[-1]
    assert got[2].strip() in (wanted, f"hpnssh: {wanted}")


# ---- without stock -----------------------------------------------------

def test_master_that_asks():
    assert "controlmaster true" in lines_of("-M")
    assert "controlmaster ask" in lines_of("-M", "-M")


def test_display_and_agent():
    for flags, trusted in (("-X", "no"), ("-Y", "yes"), ("-YX", "yes")):
        done = run([hpn("ssh"), "-F", "none", "-G", flags, "host"])
        assert f"\nforwardx11trusted {trusted}\n" in done.ok().text, flags


def test_paths_are_expanded(tmp_path):
    config = tmp_path / "config"
    config.write_text('LocalForward "/s/%n %p" /t/%%${HPN_V}\n'
                      "Hostname other\nControlPath ~/%h\n")
    done = run([hpn("ssh"), "-F", config, "-p5", "-G", "host"],
               env=harness.clean_env(HPN_V="v%n"))
    text = done.ok().text
    assert "\nlocalforward /s/host 5 /t/%vhost\n" in text
    assert text.count("other") == 2  # Hostname and ControlPath
    done = run([hpn("ssh"), "-F", config, "-G", "h" * 107])
    assert done.rc == 255 and "variable" not in done.errors


def test_long_paths_are_refused_where_they_are_used(sshd, tmp_path):
    """As stock's: -G shows them; the forwarding fails, and what that means
    is said by ExitOnForwardFailure."""
    done = run([hpn("ssh"), "-F", "none", "-G", "-L", "1:/%n", "h" * 107]).ok()
    assert f"\nlocalforward 1 /{'h' * 107}\n" in done.text
    name, client = "h" * 107, Client("hpn", sshd)
    for flags, text in ((["-L", f"{tmp_path}/%n:h:1"], "too long"),
                        (["-R", f"{tmp_path}/%n:h:1"], "")):  # a warning
        flags = [*flags, "-oHostname=127.0.0.1",
                 f"-oHostKeyAlias=[127.0.0.1]:{sshd.port}"]
        args = client.ssh_args(flags=flags)
        args = [name if x == "127.0.0.1" else x for x in args]
        done = run([*args, "echo here"])
        assert done.text == "here\n", done
        assert text in done.errors, done
        done = run([*args[:-1], "-oExitOnForwardFailure=yes", args[-1],
                    "echo here"])
        assert done.rc == 255 and done.text == "", done


@pytest.mark.parametrize("text,told", [
    ("LocalForward 1\n", "line 1: Missing target argument."),
    ("Port 5\nLocalForward 1 h:x\n", "line 2: Bad forwarding specification."),
    ("ChannelTimeout session\n", "line 1: invalid channel timeout session"),
    ("ChannelTimeout a=1 none\n", "must appear alone"),
    ("TunnelDevice x\n", "line 1: Bad tun device."),
    ("StreamLocalBindMask 9\n", "line 1: Bad mask."),
    ("PermitRemoteOpen h:x\n", "bad port number in permitremoteopen"),
    ("PermitRemoteOpen none h:1\n", "must appear alone"),
    ("ObscureKeystrokeTiming interval:0\n", "interval"),
    ("ObscureKeystrokeTiming interval:1001\n", "interval")])
def test_faults_in_files(tmp_path, text, told):
    config = tmp_path / "config"
    config.write_text(text)
    done = run([hpn("ssh"), "-F", config, "-G", "host"])
    assert done.rc == 255 and told in done.errors, done


@pytest.mark.parametrize("args,wanted", [
    (["-oChannelTimeout=session:*=5m global=90"],
     "channeltimeout session:*=300 global=90"),
    (["-oChannelTimeout=none"], "channeltimeout none"),
    (["-oObscureKeystrokeTiming=interval:80"],
     "obscurekeystroketiming interval:80"),
    (["-oObscureKeystrokeTiming=interval:20"], "obscurekeystroketiming yes"),
    (["-oObscureKeystrokeTiming=no"], "obscurekeystroketiming no"),
    (["-oHappyEyes=yes", "-oHappyDelay=20"], "happydelay 20"),
    (["-oUseMPTCP=yes"], "usemptcp yes"),
    (["-oEnableEscapeCommandline=yes"], "enableescapecommandline yes")])
def test_newer_words(args, wanted):
    done = run([hpn("ssh"), "-F", "none", "-G", *args, "host"])
    assert f"\n{wanted}\n" in done.ok().text


@pytest.mark.skipif(not harness.have("stock", "sshd"),
                    reason="no stock sshd")
def test_through_a_path(make_server, tmp_path):
    """-W PATH: a socket of the server's system."""
    client = Client("hpn", make_server(kind="stock"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "sock"))
        listener.listen(1)
        listener.settimeout(harness.LONG)
        p = start(client.ssh_args(flags=["-W", tmp_path / "sock"]),
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        peer, _ = listener.accept()
        with peer:
            peer.settimeout(harness.LONG)
            peer.sendall(b"answer")
            peer.shutdown(socket.SHUT_WR)
            assert p.communicate(b"question", harness.LONG)[0] == b"answer"
            assert peer.recv(100) == b"question"
    assert p.returncode == 0
    done = client.ssh(flags=["-W", tmp_path / "none"])
    assert done.rc == 255 and "stdio forwarding failed" in done.errors


# ---- the server --------------------------------------------------------

def server(keys, *lines, match=None):
    args = [f"-o{line}" for line in lines]
    return run([hpn("sshd"), "-T", "-f", "none", "-h",
                keys.path("ed25519-host"), *args, *(match or [])])


def test_server_shows_its_defaults(keys):
    text = server(keys).ok().text
    for line in ("allowtcpforwarding yes", "allowstreamlocalforwarding yes",
                 "allowagentforwarding yes", "disableforwarding no",
                 "gatewayports no", "permitopen any", "permitlisten any",
                 "permittunnel no", "x11forwarding no", "x11displayoffset 10",
                 "x11uselocalhost yes", "xauthlocation /usr/bin/xauth",
                 "streamlocalbindmask 0177", "streamlocalbindunlink no",
                 "channeltimeout none", "unusedconnectiontimeout none",
                 "usemptcp no"):
        assert f"\n{line}\n" in text, line


def test_server_words_in_match(keys, tmp_path):
    """For one user everything else than for the others."""
    config = tmp_path / "config"
    mine = ("allowtcpforwarding local", "allowstreamlocalforwarding remote",
            "allowagentforwarding no", "disableforwarding yes",
            "gatewayports clientspecified", "permitopen h:80 [::1]:*",
            "permitlisten *:8080", "permittunnel ethernet", "x11forwarding yes",
            "x11displayoffset 20", "x11uselocalhost no",
            "streamlocalbindmask 022", "streamlocalbindunlink yes",
            "channeltimeout *=60", "unusedconnectiontimeout 60")
    config.write_text("Match user me\n" + "\n".join(mine) + "\n")
    for user, n in (("me", len(mine)), ("you", 0)):
        done = run([hpn("sshd"), "-T", "-f", config, "-h",
                    keys.path("ed25519-host"), "-C", f"user={user}"])
        lines = done.ok().text.splitlines()
        assert sum(line in lines for line in mine) == n, user


@pytest.mark.parametrize("line", [
    "PermitOpen=h", "PermitOpen=h:x", "PermitOpen=h:0", "PermitOpen=:80",
    "PermitOpen=any h:80", "PermitOpen=[::1]", "PermitListen=h:x",
    "PermitListen=x", "PermitListen=none 80", "PermitTunnel=maybe",
    "AllowTcpForwarding=some", "GatewayPorts=some", "ChannelTimeout=x",
    "StreamLocalBindMask=1000", "UnusedConnectionTimeout=soon"])
def test_server_refuses(keys, line):
    assert server(keys, line).rc != 0
