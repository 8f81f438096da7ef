# SPDX-License-Identifier: ISC
"""shortconns.py PORT COUNT WIDTH: so many connections to a `limit serve` at
this port of the loopback, WIDTH at a time, each with a question of 24 bytes
and an answer of 100. Prints the median of their seconds."""

import socket
import statistics
import sys
import threading
import time

PORT, COUNT, WIDTH = map(int, sys.argv[1:])
ASK = b"g" + bytes(15) + (100).to_bytes(8, "little")
times, todo, lock = [], iter(range(COUNT)), threading.Lock()


def one():
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", PORT), timeout=30) as sock:
        sock.sendall(ASK)
        got = 0
        while got < 100:
            piece = sock.recv(100 - got)
            if not piece:
                raise SystemExit("the connection ended early")
            got += len(piece)
    return time.monotonic() - began


def work():
    while True:
        with lock:
            if next(todo, None) is None:
                return
        took = one()
        with lock:
            times.append(took)


threads = [threading.Thread(target=work) for _ in range(WIDTH)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if len(times) != COUNT:
    raise SystemExit("some connections failed")
print(statistics.median(times))
