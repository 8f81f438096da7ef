# SPDX-License-Identifier: ISC
"""The rows `worst` and `codes` of bench/run: copies to a stock server over a
long path where further connections, or additional channels, are refused, or
would take a code that is good once. hpnscp with its defaults should never be
slower than with one connection, nor than stock.
"""

import glob
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from benchlib import MB, LongPath, Server, Unavailable, timed

UNKNOWN = ["-o", "UserKnownHostsFile=/dev/null",
           "-o", "StrictHostKeyChecking=no"]
PHRASE = "a phrase"
HEX = "3132333435363738393031323334353637383930"  # of the codes


class Situation:
    """What prevents further connections: options of the server and of the
    client (the first counts), of the path, or a question to the user."""

    def __init__(self, what, config=(), client=lambda _: (), firewall=False,
                 asked=False, server=Server):
        self.what, self.config, self.client = what, config, client
        self.firewall, self.asked, self.server = firewall, asked, server


def proxied(once):
    """A proxy command through stock's ssh, as -J runs it; or one that fails
    while another instance of it runs."""
    def options(server):
        ssh = server.command(server.work.stock, options=["-W", "%h:%p"])
        line = shlex.join(map(str, ssh[ssh.index(server.work.stock["ssh"]):]))
        if once:
            line = f"flock -n {server.dir}/once {line}"
        return ["-o", f"ProxyCommand={line}"]
    return options


class CodeServer(Server):
    """Wants a password and a code (pam_oath), by PAM services of its own."""

    def __init__(self, work, *args, **kw):
        if not shutil.which("oathtool") or not glob.glob(
                "/lib/*/security/pam_oath.so"):
            raise Unavailable("pam_oath or oathtool is not installed")
        self.pam = Path(tempfile.mkdtemp(dir=work.dir))
        (self.pam / "pam.d").mkdir()
        users, check = self.pam / "users", self.pam / "check"
        check.write_text(f"#!/bin/sh\ntest \"$(tr -d '\\0')\" = '{PHRASE}'\n")
        check.chmod(0o755)
        (self.pam / "pam.d" / "sshd").write_text(
            f"auth required pam_exec.so expose_authtok quiet {check}\n"
            f"auth required pam_oath.so usersfile={users} window=20\n"
            "account required pam_permit.so\n"
            "session required pam_permit.so\n")
        (self.pam / "count").write_text("0")
        self.ask = self.pam / "ask"
        self.ask.write_text(
            f"#!/bin/sh\ncd {self.pam}\ncase $1 in\n*One-time*)"
            " n=$(cat count)\n echo $((n + 1)) >count\n"
            f" exec oathtool --hotp -c $n {HEX};;\nesac\necho '{PHRASE}'\n")
        self.ask.chmod(0o755)
        super().__init__(work, *args, **kw)
        users.write_text(f"HOTP {self.user} - {HEX}\n")
        users.chmod(0o600)

    def entered(self, side):
        mount = 'mount --bind "$1" /etc/pam.d && shift && exec "$@"'
        return super().entered(side) if side != "server" else [
            *super().entered(side), "unshare", "-m", "--propagation",
            "private", "sh", "-c", mount, "sh", str(self.pam / "pam.d")]


CODES = Situation(
    "a password and a code that is good once are asked for",
    ["UsePAM yes", "KbdInteractiveAuthentication yes",
     "AuthenticationMethods keyboard-interactive"],
    client=lambda _: ["-o", "BatchMode=no", "-o", "PubkeyAuthentication=no"],
    server=CodeServer)
TICKETS = Situation(
    "the same, with tickets", [*CODES.config, "LoginTickets yes"],
    client=lambda s: [*CODES.client(s), "-o", "LoginTickets=yes"],
    server=CodeServer)
FREE = Situation("nothing in the way")
SITUATIONS = (
    FREE,
    Situation("host key not on file", client=lambda _: UNKNOWN),
    Situation("MaxStartups 1", ["MaxStartups 1"]),
    Situation("MaxSessions 1", ["MaxSessions 1"]),
    Situation("MaxSessions 1, MaxStartups 1",
              ["MaxSessions 1", "MaxStartups 1"]),
    Situation("a firewall drops further SYNs", firewall=True),
    Situation("a passphrase is asked for", asked=True),
    Situation("through ssh -W (-J)", client=proxied(False)),
    Situation("through a proxy that works once", client=proxied(True)),
)


def answered(ask, argv):
    return ["env", f"SSH_ASKPASS={ask}", "SSH_ASKPASS_REQUIRE=force", *argv]


class Worst:
    """The methods of Bench for this row."""

    def worst(self):
        """Must not be slower where further connections are refused."""
        for situation in SITUATIONS:
            self.situation("worst", situation)

    def codes(self):
        """One question, one connection, as fast as one can be; and with
        tickets one question for eight, as fast as with keys."""
        cells = self.args.cells or ("stock", "tickets")
        if "stock" in cells:
            self.situation("codes", CODES)
        if "tickets" in cells:
            self.tickets()

    def tickets(self):
        size = (50 if self.args.quick else 150) * MB
        path = self.work.keep(LongPath(self.work, 1000, 100))
        ours, data = self.work.ours, self.work.file(size)
        ends = {"codes": (TICKETS, TICKETS.server), "keys": (FREE, Server)}
        ends = {name: (situation, self.work.keep(server(
                    self.work, ours, path, options=situation.config)))
                for name, (situation, server) in ends.items()}
        for direction in ("up", "down"):
            for situation, server in ends.values():
                self.hindered(situation, server, ours, self.work.file(1),
                              direction, ())
            got = self.turns({
                name + what: (lambda ends=ends, source=source, n=n:
                              self.hindered(*ends, ours, source, direction,
                                            ("-j", n)))
                for name, ends in ends.items()
                for what, source, n in (("", data, "8"),
                                        (", 1 byte", self.work.file(1), "1"))})
            got["codes / keys"] = [
                a / b for a, b in zip(got["codes"], got["keys"])]
            # A byte takes what the two logins take.
            got["the same, less the dialogue"] = [
                (a - c + d) / b for a, b, c, d in zip(
                    got["codes"], got["keys"], got["codes, 1 byte"],
                    got["keys, 1 byte"])]
            self.add("codes", f"{size // MB} MB over 1 Gbit/s x 100 ms, "
                     f"{direction}: -j 8 with tickets, and with keys", "s",
                     got)
        self.drop([*(server for _, server in ends.values()), path])

    def situation(self, row, situation):
        size = (50 if self.args.quick else 150) * MB
        path = self.work.keep(LongPath(self.work, 1000, 100,
                                       firewall=situation.firewall))
        server = self.work.keep(situation.server(
            self.work, self.work.stock, path, options=situation.config))
        for direction in ("up", "down"):
            self.worst_cell(row, situation, server, size, direction)
        self.drop([server, path])

    def worst_cell(self, row, situation, server, size, direction):
        ours, stock, data = self.work.ours, self.work.stock, \
            self.work.file(size)
        jobs = {name: (lambda c=c, more=more: self.hindered(
                    situation, server, c, data, direction, more))
                for name, c, more in (("auto", ours, ()),
                                      ("-j 1", ours, ("-j", "1")),
                                      ("stock", stock, ()))}
        self.hindered(situation, server, ours, self.work.file(1), direction,
                      ())  # from now on the host is known, if that is kept
        got = self.turns(jobs)
        what = (f"{size // MB} MB over 1 Gbit/s x 100 ms, {direction}: "
                + situation.what)
        for other in ("-j 1", "stock"):
            got[f"auto / {other}"] = [
                a / b for a, b in zip(got["auto"], got[other])]
        self.add(row, what, "s", got)

    def hindered(self, situation, server, client, data, direction, more):
        """Seconds of one copy, whose result is compared."""
        with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
            os.chmod(fresh, 0o777)
            target = Path(fresh) / "target"
            more = [*more, *situation.client(server)]
            if situation.asked:
                more += ["-o", "BatchMode=no", "-i", self.locked_key()]
            argv = self.copy_command(client, server, data, target, direction,
                                     *more)
            if situation.asked:
                argv = answered(self.work.dir / "ask", self.without_key(argv))
            if situation.server is CodeServer:
                argv = answered(server.ask, argv)
            wall = timed(argv, 240).wall
            if target.stat().st_size != data.stat().st_size:
                raise RuntimeError("not whole")
            return wall

    def without_key(self, argv):
        """Only a key with a passphrase is offered."""
        at = argv.index(str(self.work.dir / "user"))
        return argv[:at - 1] + argv[at + 1:]

    def locked_key(self):
        key, ask = self.work.dir / "locked", self.work.dir / "ask"
        if not key.exists():
            key.write_bytes((self.work.dir / "user").read_bytes())
            key.chmod(0o600)
            timed([self.work.stock["ssh-keygen"], "-q", "-p", "-P", "", "-N",
                   PHRASE, "-f", key], 30)
            ask.write_text(f"#!/bin/sh\necho '{PHRASE}'\n")
            ask.chmod(0o755)
        return str(key)
