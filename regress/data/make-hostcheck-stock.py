#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Writes hostcheck-stock.inc: what OpenSSH's client does with a host's key, by
what its known_hosts has. Each row is a name that is reached, the lines that
are on file, the key that is shown, and one answer for each mode.

Names: h is reached at port 22 and [h]:2222 at that port; h+a and [h]:2222+a are
the same with CheckHostIP. In a line, H is the reached name as known_hosts
spells it, h the name alone, N and n the same of the address, o another name;
|H is the hashed H. Keys: e, c, r are Ed25519, ECDSA and RSA, 1 the server's and
2 somebody else's; A and B are authorities. The server shows e1, c1, r1, or
e1@A, a certificate of A for h; e1@A! is one for another host.

Answers, a letter for each mode: A accept (nothing is noted), I accept and note
the address, N note the name, B note both, D go on without passwords, ? ask,
R refuse. The last column is what stands behind "Offending" in the mode yes: the
type and number of a line, or ip and the number.

usage: make-hostcheck-stock.py > hostcheck-stock.inc
       as root, with OpenSSH's client and server; a quarter of an hour
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

ADDRESS = "192.0.2.7"
MODES = {"yes": (), "no": (), "accept-new": (), "ask": (),
         "batch": ("BatchMode=yes",)}
SHOWN = {"e1": "ssh-ed25519", "c1": "ecdsa-sha2-nistp256",
         "r1": "rsa-sha2-512",
         "e1@A": "ssh-ed25519-cert-v01@openssh.com",
         "e1@A!": "ssh-ed25519-cert-v01@openssh.com"}
NAMES = ["h", "[h]:2222"]
LINES = """
-
H e1
H e2
H c1
H c2
H r2
H e2; H c2
H e2; H e1
H c2; H e1
H e1; H c2
H c1; H e1
H r2; H c2
|H e1
|H e2
|H c2
H,o e1
H,o c2
H e1@A
H e1@A; H e1
* e1
* e2
* c2
!H,* c2
o e1
o c2
@revoked H e1
@revoked * e1
@revoked * c2
@revoked H e1; H e1
H e1; @revoked * e1
@revoked H e2; H c2
@revoked H A; @cert-authority H A
@cert-authority H A
@cert-authority H B
@cert-authority o A
@cert-authority * A
@cert-authority H e1
@cert-authority H A; H e1
@cert-authority H A; H e2
@cert-authority H A; H c2
@cert-authority H B; H e1
@cert-authority H B; H e2
@cert-authority H B; H c2
""".split("\n")[1:-1]
OF_PORTS = """
h e1
h e2
h c2
|h e1
|h c2
h e1; H e2
h e1; H c2
h e2; H e1
h c2; H e1
@revoked h e1
@revoked h e1; h e1
@cert-authority h A
@cert-authority h A; h c2
[h]:2223 e1
[h]:2223 c2
""".split("\n")[1:-1]
OF_ADDRESSES = """
-
H e1
H e2
H c2
N e1
N e2
N c2
H e1; N e1
H e1; N e2
H e1; N c2
H e2; N e1
H c2; N e1
H e2; N e2
H c2; N c2
H c2; N e2
H e1; N c2; N e1
H e1; @revoked N e1
H e1; |N c2
@cert-authority H A
@cert-authority H A; N c2
""".split("\n")[1:-1]
OF_BOTH = """
h e1
h e1; n e1
h e1; n e2
h e1; n c2
h e1; N c2
""".split("\n")[1:-1]


def rows():
    for name in NAMES:
        ported = name != "h"
        for line in LINES + (OF_PORTS if ported else []):
            yield name, line
        for line in OF_ADDRESSES + (OF_BOTH if ported else []):
            yield name + "+a", line


def quiet(*args):
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)


class Lab:
    def __init__(self, directory):
        self.dir = directory
        self.file = f"{directory}/known_hosts"
        self.asked = f"{directory}/asked"
        self.showing = None
        self.public = {}
        for name in ("e1", "e2", "c1", "c2", "r1", "r2", "A", "B"):
            kind = {"c": "ecdsa", "r": "rsa"}.get(name[0], "ed25519")
            quiet("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "",
                  "-f", self.path(name))
            with open(self.path(name) + ".pub", encoding="ascii") as f:
                self.public[name] = f.read().strip()
        self.certify("e1@A", "h")
        self.certify("e1@A!", "x")
        for shown in SHOWN:
            self.configure(shown)
        with open(f"{directory}/askpass", "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\necho >>{self.asked}\necho no\n")
        os.chmod(f"{directory}/askpass", 0o700)
        for port in (22, 2222):
            listener = socket.create_server((ADDRESS, port))
            threading.Thread(target=self.serve, args=(listener,),
                             daemon=True).start()

    def path(self, name):
        return f"{self.dir}/{name}"

    def certify(self, name, principal):
        quiet("ssh-keygen", "-q", "-s", self.path("A"), "-I", "id", "-h",
              "-n", principal, self.path("e1.pub"))
        os.rename(self.path("e1-cert.pub"), self.path(name + ".pub"))
        with open(self.path(name) + ".pub", encoding="ascii") as f:
            self.public[name] = f.read().strip()

    def configure(self, shown):
        with open(self.path(f"{shown}.conf"), "w", encoding="ascii") as f:
            f.write(f"HostKey {self.path(shown[:2])}\nUsePAM no\n")
            if "@" in shown:
                f.write(f"HostCertificate {self.path(shown)}.pub\n")

    def serve(self, listener):
        """As inetd does."""
        while True:
            s, _ = listener.accept()
            process = subprocess.Popen(
                ["/usr/sbin/sshd", "-i", "-e", "-f",
                 self.path(f"{self.showing}.conf")],
                stdin=s, stdout=s, stderr=subprocess.DEVNULL)
            s.close()
            threading.Thread(target=process.wait, daemon=True).start()

    def spell(self, line, name):
        host, *rest = line.rsplit(" ", 1)[0].split(" ")[::-1]
        mark = "".join(word + " " for word in rest)
        hashed = host.startswith("|")
        port = "" if name == "h" else name.split("]")[1]
        with_port = f"[{ADDRESS}]{port}" if port else ADDRESS
        host = ",".join(
            part[:-1] + {"H": name, "N": with_port, "n": ADDRESS}.get(
                part[-1], part[-1]) if part[-1:] in "HNn" else part
            for part in host.lstrip("|").split(","))
        text = f"{mark}{host} {self.public[line.rsplit(' ', 1)[1]]}\n"
        if not hashed:
            return text
        scratch = self.path("scratch")
        with open(scratch, "w", encoding="ascii") as f:
            f.write(text)
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", scratch], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(scratch, encoding="ascii") as f:
            return f.read()

    def visit(self, name, text, shown, mode):
        reached = name.removesuffix("+a")
        with open(self.file, "w", encoding="ascii") as f:
            f.write(text)
        if os.path.exists(self.asked):
            os.unlink(self.asked)
        self.showing = shown
        strict = "ask" if mode == "batch" else mode
        options = [f"StrictHostKeyChecking={strict}", *MODES[mode],
                   f"UserKnownHostsFile={self.file}",
                   "GlobalKnownHostsFile=none", "UpdateHostKeys=no",
                   f"CheckHostIP={'yes' if name.endswith('+a') else 'no'}",
                   f"HostKeyAlgorithms={SHOWN[shown]}",
                   "PreferredAuthentications=none", "LogLevel=INFO"]
        done = subprocess.run(
            ["ssh", "-F", "none", "-p", "22" if reached == "h" else "2222",
             *[word for o in options for word in ("-o", o)], "h", "true"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "HOME": self.dir,
                 "SSH_ASKPASS": f"{self.dir}/askpass", "DISPLAY": ":0",
                 "SSH_ASKPASS_REQUIRE": "force"}, check=False)
        return self.answer(done.stderr, text), self.offending(done.stderr)

    def answer(self, told, text):
        with open(self.file, encoding="ascii") as f:
            added = [host for line in f.read().removeprefix(text).splitlines()
                     for host in line.split()[0].split(",")]
        if os.path.exists(self.asked):
            return "?"
        if "Host key verification failed." in told:
            return "R"
        if "Permission denied" not in told:
            sys.exit(f"what is this? {told}")
        if "assword authentication is disabled" in told:
            return "D"
        noted = {ADDRESS in host for host in added}
        return {(): "A", (True,): "I", (False,): "N",
                (False, True): "B"}[tuple(sorted(noted))]

    @staticmethod
    def offending(told):
        found = re.search(r"Offending (\S+) key in \S+:(\d+)", told)
        if found:
            return f"{found[1]}:{found[2]}"
        found = re.search(r"Offending key for IP in \S+:(\d+)", told)
        return f"ip:{found[1]}" if found else "-"


def main():
    if os.environ.get("HOSTCHECK_LAB") is None:
        network = (f"ip link set lo up; ip addr add {ADDRESS}/32 dev lo; "
                   "hosts=$(mktemp); echo " + ADDRESS + " h >$hosts; "
                   "mount --bind $hosts /etc/hosts; rm $hosts; "
                   "mkdir -p /run/sshd; exec \"$@\"")
        os.environ["HOSTCHECK_LAB"] = "yes"
        os.execvp("unshare", ["unshare", "-n", "-m", "--propagation",
                              "private", "sh", "-c", network, "sh",
                              sys.executable, *sys.argv])
    print("/* SPDX-License-Identifier: ISC */\n"
          "/* Written by make-hostcheck-stock.py, which tells what it means, "
          "with\n * " + subprocess.run(
              ["ssh", "-V"], capture_output=True, text=True,
              check=True).stderr.split(",")[0] + ". Modes: "
          + " ".join(MODES) + ". */")
    with tempfile.TemporaryDirectory() as directory:
        lab = Lab(directory)
        for name, lines in rows():
            text = "".join(lab.spell(line, name.removesuffix("+a"))
                           for line in lines.split("; ") if line != "-")
            for shown in SHOWN:
                got = {mode: lab.visit(name, text, shown, mode)
                       for mode in MODES}
                answers = "".join(got[m][0] for m in MODES)
                print(f'{{ "{name}", "{lines}", "{shown}", "{answers}", '
                      f'"{got["yes"][1]}" }},', flush=True)


main()
