# SPDX-License-Identifier: ISC
"""The rows `knownhosts` and `agentkeys` of bench/run: what a connection costs
its client when there are many known hosts, or many keys in the agent.
"""

import base64
import hashlib
import hmac
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from benchlib import Server, end_process, environment, spawn, timed

AGENT_KEYS = 2000


def base64_of(data):
    return base64.b64encode(data).decode()


def string(data):
    return len(data).to_bytes(4, "big") + data


def written(name, hashed, dice):
    if not hashed:
        return name
    salt = dice.randbytes(20)
    mac = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64_of(salt)}|{base64_of(mac)}"


def write_known(path, lines, hashed, last):
    """So many other hosts, and then the line of the one that is meant. Their
    keys are none that can be used: that shows only to who decodes them."""
    dice = random.Random(lines)
    with open(path, "w") as file:
        for i in range(lines):
            key = string(b"ssh-ed25519") + string(dice.randbytes(32))
            name = written(f"node{i}.cluster.example", hashed, dice)
            file.write(f"{name} ssh-ed25519 {base64_of(key)}\n")
        name, key = last.split(" ", 1)
        file.write(f"{written(name, hashed, dice)} {key}")


class Much:
    """The methods of Bench for these rows."""

    def knownhosts(self):
        """CPU of a client, and of keygen -F, -R and -H, by known hosts."""
        server = self.work.keep(Server(self.work, self.work.stock))
        place = Path(tempfile.mkdtemp(dir=self.work.dir))
        for lines in (1000, 100_000) if self.args.quick else (
                1000, 10_000, 100_000, 200_000):
            for hashed in (False, True):
                known = place / f"known-{lines}-{hashed}"
                write_known(known, lines, hashed, server.known.read_text())
                self.known_by(server, known, f"{lines:,} lines"
                              + (", hashed" if hashed else ""))
        shutil.rmtree(place)
        self.drop([server])

    def known_by(self, server, known, what):
        def connect(client):
            command = server.command(client, "true")
            at = command.index(f"UserKnownHostsFile={server.known}")
            command[at] = f"UserKnownHostsFile={known}"
            return timed(command, 60).cpu * 1000

        def edit(client, flags):
            copy = known.with_name("copy")
            shutil.copy(known, copy)
            return timed([client["ssh-keygen"], *flags, "-f", copy],
                         60).cpu * 1000

        suites = {name: pair[0] for name, pair in self.pairs().items()
                  if name in ("hpn", "stock")}
        self.add("knownhosts", f"connection, {what}", "ms CPU", self.turns(
            {name: (lambda c=c: connect(c)) for name, c in suites.items()}))
        for flags in (["-F", "node500.cluster.example"],
                      ["-R", "node500.cluster.example"], ["-H"]):
            self.add("knownhosts", f"keygen {flags[0]}, {what}", "ms CPU",
                     self.turns({name: (lambda c=c, f=flags: edit(c, f))
                                 for name, c in suites.items()}))

    def agentkeys(self):
        """CPU of a client by keys in its agent, of which one is asked for."""
        server = self.work.keep(Server(self.work, self.work.stock))
        place = Path(tempfile.mkdtemp(dir=self.work.dir))
        agent = spawn(["ssh-agent", "-D", "-a", place / "agent"])
        env = {**environment(), "SSH_AUTH_SOCK": str(place / "agent")}
        keys = 200 if self.args.quick else AGENT_KEYS
        try:
            self.fill_agent(place, env, keys)

            def connect(client):
                command = server.command(client, "true")
                at = command.index("IdentityAgent=none")
                command[at] = f"IdentityAgent={place}/agent"
                return timed(command, 60).cpu * 1000

            self.add("agentkeys", f"connection, {keys:,} keys", "ms CPU", self.turns(
                {name: (lambda c=pair[0]: connect(c))
                 for name, pair in self.pairs().items()
                 if name in ("hpn", "stock")}))
        finally:
            end_process(agent)
            shutil.rmtree(place)
        self.drop([server])

    def fill_agent(self, place, env, keys):
        for _ in range(100):
            if (place / "agent").exists():
                break
            time.sleep(0.05)
        names = []
        for i in range(keys):
            path = place / f"key{i}"
            subprocess.run([self.work.ours["ssh-keygen"], "-q", "-t",
                            "ed25519", "-N", "", "-f", path], check=True,
                           timeout=30)
            names.append(path)
        names.append(self.work.dir / "user")
        for at in range(0, len(names), 500):
            subprocess.run(["ssh-add", "-q", *names[at:at + 500]], env=env,
                           check=True, timeout=120)
