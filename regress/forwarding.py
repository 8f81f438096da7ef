# SPDX-License-Identifier: ISC
"""What tests of forwarding share: services that are forwarded to, and an
hpnssh that does nothing but forward."""

import contextlib
import os
import socket
import subprocess
import threading

import pytest

import harness
from harness import LONG, free_port, wait_for


def exactly(sock, size):
    """Reads that many bytes, or what there was before the end."""
    got = b""
    while len(got) < size and (piece := sock.recv(size - len(got))):
        got += piece
    return got


def to_the_end(sock):
    got = b""
    while piece := sock.recv(65536):
        got += piece
    return got


def echo(sock):
    """Sends back what comes, piece by piece."""
    while piece := sock.recv(65536):
        sock.sendall(piece)


def answer_at_eof(sock):
    """Reads to the end, and only then answers."""
    sock.sendall(b"heard " + to_the_end(sock))


class Service:
    """Does serve(socket) with whoever connects to a free port of the
    loopback, or to a path."""

    def __init__(self, serve=echo, path=None, address="127.0.0.1",
                 backlog=256):
        family = socket.AF_UNIX if path else \
            socket.AF_INET6 if ":" in address else socket.AF_INET
        self.serve, self.path, self.peers = serve, path, []
        self.listener = socket.socket(family)
        self.listener.bind(str(path) if path else (address, 0))
        self.port = None if path else self.listener.getsockname()[1]
        self.listener.listen(backlog)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, peer = self.listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            threading.Thread(target=self._serve, args=(sock,),
                             daemon=True).start()

    def _serve(self, sock):
        with sock, contextlib.suppress(OSError):
            sock.settimeout(LONG)
            self.serve(sock)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def reach(where, address="127.0.0.1"):
    """A connection to a port or a path."""
    if isinstance(where, int):
        sock = socket.create_connection((address, where), LONG)
    else:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(LONG)
        sock.connect(str(where))
    sock.settimeout(LONG)
    return sock


def answers(where, address="127.0.0.1"):
    """Does anybody listen there?"""
    try:
        reach(where, address).close()
        return True
    except OSError:
        return False


def is_taken(port):
    """Does anybody listen there? Asked without a connection."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
            return False
        except OSError:
            return True


def says(where, text=b"hello"):
    """What an echo behind it answers; None: nothing but an end."""
    try:
        with reach(where) as sock:
            sock.sendall(text)
            return exactly(sock, len(text)) or None
    except OSError:
        return None


class Forwarder:
    """An hpnssh that runs until it is stopped; its messages go to a file."""

    def __init__(self, client, directory, *flags, options=(), command=("-N",),
                 stdin=subprocess.DEVNULL, **kw):
        name = f"forwarder-{len(os.listdir(directory))}.err"
        self.log = directory / name
        with open(self.log, "wb") as log:
            self.process = harness.start(
                [*client.ssh_args(*options, flags=(*flags, *(
                    c for c in command if c.startswith("-")))),
                 *(c for c in command if not c.startswith("-"))],
                stdin=stdin, stdout=subprocess.PIPE, stderr=log, **kw)

    def text(self):
        return self.log.read_text(errors="replace")

    def shows(self, text):
        assert wait_for(lambda: text in self.text() or self.ended(), LONG)
        assert text in self.text(), self.text()
        return self

    def ended(self):
        return self.process.poll() is not None

    def listens(self, where):
        assert wait_for(lambda: answers(where) or self.ended(), LONG), \
            self.text()
        assert not self.ended(), self.text()
        return self

    def wait(self, seconds=LONG):
        return self.process.wait(seconds)

    def terminate(self):
        self.process.terminate()
        return self.wait()

    def close(self):
        if not self.ended():
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(3)
        harness.kill_group(self.process)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


# ---- fixtures; forward wants one that is named client -------------------

@pytest.fixture
def forward_to(tmp_path):
    """forward_to(client, *flags): an hpnssh in the background."""
    begun = []

    def begin(client, *flags, **kw):
        begun.append(Forwarder(client, tmp_path, *flags, **kw))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


@pytest.fixture
def forward(client, forward_to):
    def begin(*flags, to=client, **kw):
        return forward_to(to, *flags, **kw)
    return begin


@pytest.fixture
def service():
    """service(serve, path): something to connect to."""
    begun = []

    def begin(*args, **kw):
        begun.append(Service(*args, **kw))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


@pytest.fixture
def taken():
    """A port of the loopback that somebody else has."""
    with contextlib.ExitStack() as stack:
        s = stack.enter_context(socket.socket())
        s.bind(("127.0.0.1", 0))
        s.listen(1)
        port = s.getsockname()[1]
        with contextlib.suppress(OSError):  # no IPv6 here
            s6 = stack.enter_context(socket.socket(socket.AF_INET6))
            s6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            s6.bind(("::1", port))
            s6.listen(1)
        yield port


__all__ = ["Forwarder", "Service", "answer_at_eof", "answers", "echo",
           "exactly", "forward", "forward_to", "free_port", "reach", "says",
           "service", "taken", "to_the_end"]
