# SPDX-License-Identifier: ISC
"""An hpnsshd-auth that its client has taken over. It stands between the real
one and the monitor, and asks the monitor for what it likes, in any order and
any number (server/monitor-wire.h)."""

import json
import os
import random
import socket
import stat
import struct
import sys
import time
from pathlib import Path

# Of enum monitor_request.
(LOG, SIGN, USER, TRY, TRY_ANSWER, HAND_OVER, SIGN_REKEY, PTY, PTY_END, PROVE,
 GSS_STEP, GSS_SIGN, GSS_STEP_REKEY, GSS_SIGN_REKEY, EVENT, TICKETS, LOST,
 SURVIVE, SESSION, SHARES, GRANT, GRANT_END, RECEIPT) = range(1, 24)
UNANSWERED = LOG, HAND_OVER, EVENT, LOST, RECEIPT
OF_THE_SESSION = SIGN_REKEY, PTY, PTY_END, PROVE, GSS_STEP_REKEY, \
    GSS_SIGN_REKEY, EVENT, TICKETS, LOST, SURVIVE, SESSION, SHARES, GRANT, \
    GRANT_END, RECEIPT


# ---- what a test does ----------------------------------------------------

class Rogue:
    """Where the test says what it does next, and reads what it did."""

    def __init__(self, place, real):
        self.place = place
        place.mkdir()
        self.program = place / "hpnsshd-auth"
        self.program.write_text(
            f"#!{sys.executable} -I\n"
            f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            f"import rogue_auth\nrogue_auth.main({str(real)!r}, "
            f"{str(place)!r})\n")
        self.program.chmod(0o755)
        self.plan()

    def plan(self, at=None, before=(), instead=None, after=(), then=None,
             script=None, seed=None):
        """For connections from now on. Requests are bytes.
        at: the kind of request at which something happens, once; others pass.
        before, instead, after: requests that are made, of which the real one
        hears nothing, but for the answer to the last of `instead`.
        then: "end" or "hang".
        script: the requests of a connection without the real one.
        seed: chance decides what happens."""
        def texts(requests):
            return [r.hex() for r in requests]
        (self.place / "said").unlink(missing_ok=True)
        new = self.place / "plan.new"
        new.write_text(json.dumps({
            "at": at, "before": texts(before), "after": texts(after),
            "instead": None if instead is None else texts(instead),
            "then": then, "seed": seed,
            "script": None if script is None else texts(script)}))
        new.replace(self.place / "plan")

    def said(self):
        """The requests of a connection that has ended or hangs, as they were
        made, each with its answer, or None; of the last one since plan()."""
        lines = (self.place / "said").read_text().splitlines()
        return [(bytes.fromhex(request), bytes.fromhex(answer)
                 if answer != "-" else None)
                for request, answer in map(str.split, lines)]

    def requests(self):
        return [request for request, _ in self.said()]


# ---- the program ---------------------------------------------------------

class Ended(Exception):
    """Of the monitor, or of the real program."""


class Messages:
    def __init__(self, sock):
        self.sock = sock

    def take(self, n):
        got = b""
        while len(got) < n:
            try:
                piece = self.sock.recv(n - len(got))
            except OSError as e:
                raise Ended from e
            if not piece:
                raise Ended
            got += piece
        return got

    def receive(self):
        return self.take(struct.unpack(">I", self.take(4))[0])

    def send(self, body):
        try:
            self.sock.sendall(struct.pack(">I", len(body)) + body)
        except OSError as e:
            raise Ended from e


def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False


class Program:
    def __init__(self, real, place):
        self.place = Path(place)
        self.monitor = Messages(socket.socket(fileno=4))
        waits = not is_socket(3)
        mine, its = socket.socketpair()
        self.child = os.fork()
        if self.child == 0:
            os.dup2(its.fileno(), 4)
            os.execv(real, ["hpnsshd-auth: [waiting]" if waits else real])
        its.close()
        if waits:
            self.pass_connection(mine)
        else:
            os.close(3)
        self.real = Messages(mine)
        self.log = []

    def pass_connection(self, real):
        """One that was started in advance gets its connection later."""
        data, fds, _, _ = socket.recv_fds(self.monitor.sock, 1, 1)
        if not fds:
            sys.exit(0)
        socket.send_fds(real, [data], fds)
        os.close(fds[0])

    def ask(self, request):
        """The answer, or None."""
        self.log.append([request, None])
        self.monitor.send(request)
        if not request or request[0] in UNANSWERED:
            return None
        self.log[-1][1] = self.monitor.receive()
        return self.log[-1][1]

    def end(self):
        new = self.place / f"said.{os.getpid()}"
        new.write_text("".join(f"{r.hex()} {'-' if a is None else a.hex()}\n"
                               for r, a in self.log))
        new.replace(self.place / "said")
        os.kill(self.child, 9)

    def relay(self):
        self.real.send(self.monitor.receive())
        request = self.real.receive()
        plan = json.loads((self.place / "plan").read_text())
        if plan["script"] is not None:
            for line in plan["script"]:
                self.ask(bytes.fromhex(line))
            return
        chance = None if plan["seed"] is None else random.Random(plan["seed"])
        while True:
            if chance:
                self.gamble(chance, request)
            elif request[0] == plan["at"]:
                plan["at"] = None
                if self.act(plan, request):
                    return
            else:
                self.pass_on(request)
            request = self.real.receive()

    def pass_on(self, request):
        answer = self.ask(request)
        if answer is not None:
            self.real.send(answer)

    def act(self, plan, request):
        for line in plan["before"]:
            self.ask(bytes.fromhex(line))
        answer = None
        for line in [request.hex()] if plan["instead"] is None else \
                plan["instead"]:
            answer = self.ask(bytes.fromhex(line))
        for line in plan["after"]:
            self.ask(bytes.fromhex(line))
        if plan["then"] == "hang":
            self.end()
            time.sleep(600)
        if plan["then"] is None and answer is not None:
            self.real.send(answer)
        return plan["then"] is not None

    def gamble(self, chance, request):
        if chance.random() < .5:
            self.pass_on(request)
            return
        for twisted in self.twist(chance, bytearray(request)):
            answer = self.ask(bytes(twisted))
        if request[0] not in UNANSWERED:
            self.real.send(answer or b"\1" + chance.randbytes(64))

    def twist(self, chance, request):
        what = chance.randrange(8)
        if what < 2:
            request[chance.randrange(len(request))] ^= 1 << chance.randrange(8)
        elif what == 2:
            del request[chance.randrange(1, len(request) + 1):]
        elif what == 3:
            request += chance.randbytes(chance.randrange(1, 40))
        elif what == 4:
            request[0] = chance.randrange(1, RECEIPT + 2)
        elif what == 5:
            return [request, request]
        elif what == 6:
            return [bytes([chance.choice(OF_THE_SESSION)])
                    + chance.randbytes(chance.randrange(40)), request]
        else:
            return [bytes(chance.choice(self.log)[0]) if self.log else request]
        return [request]


def main(real, place):
    program = Program(real, place)
    try:
        program.relay()
    except Ended:
        pass
    program.end()
