# SPDX-License-Identifier: ISC
"""hpnssh-keyscan: the same lines as the stock one finds on the same servers,
many hosts at a time, and servers that mean no good."""

import re
import socket
import threading
import time

import pytest
from sshwire import FakeServer, Host

from harness import hpn, program, run, stock

FOUND = ("rsa", "ecdsa", "ed25519")
needs_stock = pytest.mark.skipif(not stock("ssh-keyscan"),
                                 reason="no stock ssh-keyscan is installed")


def scan(*args, kind="hpn", **kw):
    return run([program(kind, "ssh-keyscan"), *map(str, args)], **kw)


def keys_of(done):
    """The lines without comments, sorted: connections end in any order."""
    return sorted(x for x in done.text.splitlines() if x[:1] not in "#;")


@pytest.mark.parametrize("server", ["hpn", "stock"])
@pytest.mark.parametrize("flags", [
    (), ("-t", "rsa"), ("-t", "rsa-sha2-256"), ("-t", "rsa-sha2-512"),
    ("-t", "ecdsa-sha2-nistp384"), ("-t", "ecdsa-sha2-nistp521,rsa"),
    ("-t", "ed25519,ecdsa"), ("-t", "ssh-ed25519"),
    ("-D",), ("-4",), ("-c",)], ids=" ".join)
@needs_stock
def test_same_keys_as_stock(shared_servers, server, flags):
    s = shared_servers(server)
    ours = scan("-p", s.port, *flags, "127.0.0.1,localhost")
    theirs = scan("-p", s.port, *flags, "127.0.0.1,localhost", kind="stock")
    assert keys_of(ours) == keys_of(theirs)
    assert ours.rc == theirs.rc


def test_types_in_any_case(shared_servers):
    """As stock's since 10."""
    s = shared_servers("hpn")
    assert keys_of(scan("-p", s.port, "-t", "RSA,Ecdsa-sha2-nistp521",
                        "127.0.0.1")) == keys_of(
        scan("-p", s.port, "-t", "rsa,ecdsa", "127.0.0.1"))


@needs_stock
def test_certificates(make_server, keys, tmp_path):
    copy = tmp_path / "k.pub"
    copy.write_text(keys.public("ed25519-host") + "\n")
    run([hpn("ssh-keygen"), "-q", "-s", keys.path("ed25519-ca"), "-I", "x",
         "-h", "-n", "localhost", copy]).ok()
    s = make_server(f"HostCertificate {tmp_path / 'k-cert.pub'}")
    ours = scan("-c", "-p", s.port, "127.0.0.1").ok()
    theirs = scan("-c", "-p", s.port, "127.0.0.1", kind="stock")
    assert keys_of(ours) == keys_of(theirs)
    words = (tmp_path / "k-cert.pub").read_text().split()
    assert keys_of(ours) == [" ".join(words[:2])]


@needs_stock
def test_hashed_names_are_found(sshd, tmp_path):
    done = scan("-H", "-q", "-t", "ed25519", "-p", sshd.port,
                "127.0.0.1,LocalHost").ok()
    known = tmp_path / "known"
    known.write_text(done.text)
    assert "localhost" not in done.text.lower()
    for name in ("127.0.0.1", "localhost"):
        found = run([stock("ssh-keygen"), "-F", f"[{name}]:{sshd.port}",
                     "-f", known]).ok()
        assert sshd.keys.public("ed25519-host").split()[1] in found.text


def test_lines(sshd):
    done = scan("-p", sshd.port, "127.0.0.1").ok()
    comments = [x for x in done.text.splitlines() if x.startswith("# ")]
    # A connection for each type, also for the three that are not there.
    assert len(comments) == len(FOUND) + 3
    assert comments[0].startswith(f"# 127.0.0.1:{sshd.port} SSH-2.0-")
    assert not done.errors
    assert "\n#" not in scan("-q", "-p", sshd.port, "127.0.0.1").ok().text
    want = {" ".join(sshd.keys.public(f"{k}-host").split()[:2])
            for k in ("rsa", "ecdsa256", "ed25519")}
    assert {x.split(" ", 1)[1] for x in keys_of(done)} == want


def test_the_log_tells_of_a_scan(make_server):
    s = make_server(debug=True)
    scan("-p", s.port, "-t", "ed25519", "127.0.0.1").ok()
    assert "OpenSSH-keyscan" in s.log_text()


@pytest.mark.parametrize("text, names", [
    ("127.0.0.1 One.Example,two rest", ["one.example", "two"]),
    ("# a comment\n\n127.0.0.1 # another", ["127.0.0.1"]),
    ("localhost\n127.0.0.1 b", ["localhost", "b"]),
    ("127.0.0.0/31", ["127.0.0.0", "127.0.0.1"]),
    ("127.0.0.0/31 both", ["both", "both"]),
    ("nosuch.invalid,127.0.0.1", ["nosuch.invalid", "127.0.0.1"])])
@pytest.mark.parametrize("way", ["file", "stdin", "arguments"])
def test_what_to_scan(make_server, tmp_path, text, names, way):
    s = make_server("ListenAddress 127.0.0.0\n")
    args = ["-q", "-t", "ed25519", "-p", s.port]
    path = tmp_path / "hosts"
    path.write_text(text)
    if way == "file":
        done = scan(*args, "-f", path)
    elif way == "stdin":
        done = scan(*args, "-f", "-", stdin=text.encode())
    else:
        done = scan(*args, *text.splitlines())
    assert done.rc == 0, done
    assert sorted(x.split()[0] for x in keys_of(done)) == sorted(
        f"[{n}]:{s.port}" for n in names)


def test_address_list_goes_on_to_who_answers(sshd):
    """127.0.0.2 refuses, since the server listens on one address."""
    done = scan("-t", "ed25519", "-p", sshd.port, "127.0.0.2,127.0.0.1 x")
    assert done.rc == 0, done
    assert f"# 127.0.0.1:{sshd.port} " in done.text
    assert [x.split()[0] for x in keys_of(done)] == [f"[x]:{sshd.port}"]


def test_default_port_is_that_of_ssh():
    done = scan("-v", "-T", "2", "-t", "rsa", "127.99.99.99")
    assert " port 22: " in done.errors or "127.99.99.99:22 " in done.text


@pytest.mark.parametrize("args, rc, said", [
    (["-t", "foo", "x"], 255, 'Unknown key type "foo"'),
    (["-T", "0", "x"], 1, "Bad timeout '0'"),
    (["-T", "-1", "x"], 1, "Bad timeout '-1'"),
    (["-p", "0", "x"], 1, "Bad port '0'"),
    (["-p", "65536", "x"], 1, "Bad port '65536'"),
    (["-O", "nonsense", "x"], 255, "Unsupported -O"),
    (["-O", "hashalg=md5", "x"], 255, "Unsupported hash"),
    (["-c", "-D", "x"], 255, "-c and -D"),
    (["-f", "/nonexistent/x"], 255, "No such file"),
    (["-t", "", "127.0.0.1"], 1, ""),
    (["nosuch.invalid"], 1, "getaddrinfo nosuch.invalid: "),
    (["-6", "127.0.0.1"], 1, "getaddrinfo 127.0.0.1: "),
    (["x" * 2000], 1, "name is too long"),
    ([], 1, "usage: "), (["-z"], 1, "usage: ")])
def test_refusals(args, rc, said):
    done = scan(*args)
    assert done.rc == rc and said in done.errors and not done.out, done


# ---- servers that mean no good -------------------------------------------

class Bad:
    """A server that does what act(socket) says with each connection."""

    def __init__(self, act):
        self.act, self.seen, self.over = act, 0, False
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(300)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.seen += 1
            threading.Thread(target=self._one, args=(sock,),
                             daemon=True).start()

    def _one(self, sock):
        with sock:
            sock.settimeout(30)
            try:
                self.act(self, sock)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def wait_for_end(bad, sock):
    while not bad.over and sock.recv(1 << 16):
        pass


def send_for_ever(what):
    def act(bad, sock):
        while not bad.over:
            sock.sendall(what)
            time.sleep(0.001)
    return act


def send_once(what):
    def act(bad, sock):
        sock.sendall(what)
        wait_for_end(bad, sock)
    return act


def drip(what):
    def act(bad, sock):
        sock.sendall(what)
        while not bad.over:
            sock.sendall(b"x")
            time.sleep(0.2)
    return act


IDENT = b"SSH-2.0-bad\r\n"
SILENT = {
    "nothing": wait_for_end,
    "only the identification": send_once(IDENT),
    "drips before": drip(b""),
    "drips after": drip(IDENT + b"\0\0\xff\xf4"),
    "half a packet": send_once(IDENT + b"\0\0\1\4\4"),
}
BROKEN = {
    "endless line": send_for_ever(b"x" * 60000),
    "endless lines": send_for_ever(b"hello\r\n" * 3000),
    "garbage": send_once(b"\0\xff\n" * 2000),
    "huge packet": send_once(IDENT + b"\x7f\xff\xff\xff" + b"\4" * 1000),
    "no packets": send_once(IDENT + b"GET / HTTP/1.0\r\n\r\n" * 100),
    "protocol 1": send_once(b"SSH-1.5-old\r\n"),
    "endless ignores": send_for_ever(
        IDENT + b"\0\0\0\x0c\4\2\0\0\0\0\0\0\0\0\0\0" * 1000),
    "huge KEXINIT": send_once(
        IDENT + (lambda p: (len(p) + 9).to_bytes(4, "big") + b"\x08" + p
                 + b"\0" * 8)(
            b"\x14" + b"c" * 16 + b"\0\x02\0\0" + b"a," * 65536
            + b"\0\0\0\0" * 9 + b"\0" * 5)),
}


@pytest.mark.parametrize("how", SILENT)
def test_silent_servers_are_given_up(how):
    with Bad(SILENT[how]) as bad:
        done = scan("-T", "1", "-p", bad.port, "127.0.0.1")
        assert done.rc == 1 and not keys_of(done), done
        assert 0.8 < done.seconds < 50


@pytest.mark.parametrize("how", BROKEN)
def test_broken_servers_are_given_up(how):
    with Bad(BROKEN[how]) as bad:
        done = scan("-T", "50", "-p", bad.port, "127.0.0.1")
        assert done.rc == 1 and not keys_of(done), done
        assert done.seconds < 49, "that was the time limit"
        assert re.search(r"^127\.0\.0\.1: ", done.errors, re.M), done


def test_closed_connection_is_told():
    # Read first: what lies unread would make the close a reset.
    with Bad(lambda bad, sock: sock.recv(1 << 16)) as bad:
        done = scan("-t", "rsa", "-p", bad.port, "127.0.0.1")
    assert done.rc == 1
    assert "127.0.0.1: Connection closed by remote host" in done.errors


def test_key_without_its_private_half(tmp_path, keys):
    """A server that shows a key of somebody else's."""
    def script(w):
        w.host_blob = b""
        w.handshake(Forger(server[0].host))

    class Forger:
        def __init__(self, host):
            self.name, self.blob = host.name, host.blob

        def sign(self, data):
            return Host().sign(data)

    server = []
    with FakeServer(tmp_path, keys, script) as fake:
        server.append(fake)
        done = scan("-t", "ed25519", "-p", fake.port, "127.0.0.1")
    assert done.rc == 1 and not keys_of(done)
    assert "127.0.0.1: incorrect signature" in done.errors


def test_escapes_of_a_banner_are_shown_as_text():
    with Bad(send_once(b"SSH-2.0-x\033[2J\rforged ssh-rsa AAAA\r\n")) as bad:
        done = scan("-T", "1", "-t", "rsa", "-p", bad.port, "127.0.0.1")
    assert b"\033" not in done.out and b"\r" not in done.out
    assert not keys_of(done)


# ---- many ------------------------------------------------------------------

def test_slow_hosts_do_not_stop_others(sshd):
    """More silent servers than there may be connections at a time."""
    with Bad(wait_for_end) as bad:
        lines = [f"127.1.0.{i}" for i in range(1, 250)]
        began = time.monotonic()
        done = scan("-T", "1", "-t", "ed25519", "-q", "-p", bad.port,
                    *lines, *["127.0.0.1"] * 100)
        assert done.rc == 1
        assert bad.seen >= 100
        assert time.monotonic() - began < 50  # one by one takes 349


def test_many_hosts(make_server, tmp_path):
    s = make_server("ListenAddress 127.2.0.0\nMaxStartups 1000\n")
    done = scan("-t", "ed25519", "-q", "-p", s.port, *["127.0.0.1"] * 300)
    assert done.rc == 0 and len(keys_of(done)) == 300, done
