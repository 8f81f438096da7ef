# SPDX-License-Identifier: ISC
"""The row `worst` of bench/run: copies to a stock server over a long path
where further connections, or additional channels, are refused. hpnscp with
its defaults should never be slower than with one connection, nor than stock.
"""

import os
import shlex
import tempfile
from pathlib import Path

from benchlib import MB, LongPath, Server, timed

UNKNOWN = ["-o", "UserKnownHostsFile=/dev/null",
           "-o", "StrictHostKeyChecking=no"]
PHRASE = "a phrase"


class Situation:
    """What prevents further connections: options of the server and of the
    client (the first counts), of the path, or a question to the user."""

    def __init__(self, what, config=(), client=lambda _: (), firewall=False,
                 asked=False):
        self.what, self.config, self.client = what, config, client
        self.firewall, self.asked = firewall, asked


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


SITUATIONS = (
    Situation("nothing in the way"),
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


class Worst:
    """The methods of Bench for this row."""

    def worst(self):
        """Must not be slower where further connections are refused."""
        for situation in SITUATIONS:
            size = (50 if self.args.quick else 150) * MB
            path = self.work.keep(LongPath(self.work, 1000, 100,
                                           firewall=situation.firewall))
            server = self.work.keep(Server(self.work, self.work.stock, path,
                                           options=situation.config))
            for direction in ("up", "down"):
                self.worst_cell(situation, server, size, direction)
            self.drop([server, path])

    def worst_cell(self, situation, server, size, direction):
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
        self.add("worst", what, "s", got)

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
                argv = ["env", f"SSH_ASKPASS={self.work.dir}/ask",
                        "SSH_ASKPASS_REQUIRE=force", *self.without_key(argv)]
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
