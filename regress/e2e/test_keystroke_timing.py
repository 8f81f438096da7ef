# SPDX-License-Identifier: ISC
"""What somebody who watches the network sees of typing
(ObscureKeystrokeTiming)."""

import socket
import threading
import time

import pytest
from terminal import Terminal

import harness
from harness import Client, have

pytestmark = pytest.mark.skipif(not have("hpn", "sshd", "ssh"),
                                reason="hpnssh or hpnsshd is not built")


class Watcher:
    """Carries one connection to the server, and notes when the client sent
    something."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.times = self.listener.getsockname()[1], []
        threading.Thread(target=self.carry, args=(port,), daemon=True).start()

    def carry(self, port):
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", port))
        back = threading.Thread(target=self.pump, args=(far, near, None),
                                daemon=True)
        back.start()
        self.pump(near, far, self.times)
        back.join()
        self.listener.close()

    @staticmethod
    def pump(source, sink, times):
        try:
            while data := source.recv(65536):
                if times is not None:
                    times.append(time.monotonic())
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def typing(server, word, flags, command):
    """When the client sent something after a key was pressed, in 0.8 s."""
    watcher = Watcher(server.port)
    client = Client("hpn", server, options=[
        f"HostKeyAlias=[127.0.0.1]:{server.port}",
        f"ObscureKeystrokeTiming={word}"])
    args = [str(watcher.port) if a == str(server.port) else a
            for a in client.ssh_args(flags=flags)] + [command]
    person = Terminal(args)
    try:
        person.expect("ready")
        time.sleep(0.3)
        begin = time.monotonic()
        person.type("x")
        time.sleep(0.8)
        return [t - begin for t in watcher.times if begin <= t < begin + 0.8]
    finally:
        person.close()


def test_typing_is_hidden(shared_servers):
    """One key brings a stream of packets, one each tick. On a machine that is
    busy, one of several tries shows that."""
    server = shared_servers("hpn")
    for _ in range(10):
        seen = typing(server, "interval:40", ["-tt"], "echo ready; cat")
        assert len(seen) <= 24, seen
        if len(seen) >= 10 and seen[0] < 0.04:
            break
    assert 10 <= len(seen) and seen[0] < 0.04, seen
    for _ in range(10):
        seen = typing(server, "no", ["-tt"], "echo ready; cat")
        assert len(seen) <= 1, seen
        if seen:
            break
    assert len(seen) == 1


def test_nothing_is_done_without_a_terminal(shared_servers):
    server = shared_servers("hpn")
    seen = typing(server, "yes", ["-T"], "echo ready; cat")
    assert len(seen) <= 1, seen


def test_typing_arrives(shared_servers):
    """All that is typed, in order, fast or slow; and a paste."""
    client = Client("hpn", shared_servers("hpn"))
    person = Terminal(client.ssh_args(flags=["-tt"]) + [
        "stty -echo; echo ready; cat; echo over"])
    try:
        person.expect("ready")
        for i in range(20):
            person.type(f"{i},")
            time.sleep(0.01 * (i % 4))
        person.type("\r")
        person.expect("".join(f"{i}," for i in range(20)), harness.LONG)
        person.type("y" * 900 + "\r")
        person.expect("y" * 900, harness.LONG)
        person.type("\x04")
        person.expect("over", harness.LONG)
    finally:
        person.close()
