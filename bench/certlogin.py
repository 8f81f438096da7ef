# SPDX-License-Identifier: ISC
"""The row `certlogin` of bench/run: as `connect`, but the host and the user
are known by certificates alone. It must cost no round trip more.
"""

import subprocess
import tempfile
from pathlib import Path

from benchlib import LongPath, Server, timed


def run_keygen(*args):
    subprocess.run(["ssh-keygen", "-q", *args], check=True, timeout=30)


class CertLogin:
    """The methods of Bench for this row."""

    def certify(self, user, host):
        """Certificates for the keys of users and hosts; their directory."""
        place = Path(tempfile.mkdtemp(dir=self.work.dir))
        place.chmod(0o755)
        run_keygen("-t", "ed25519", "-N", "", "-f", place / "ca")
        for key, names, flags in (("user", user, []), ("host", host, ["-h"])):
            copy = place / f"{key}.pub"
            copy.write_bytes((self.work.dir / copy.name).read_bytes())
            run_keygen("-s", place / "ca", "-I", key, "-n", names, *flags,
                       copy)
        return place

    def certlogin(self):
        """Round trips until `true` has been answered, by certificates."""
        path = self.work.keep(LongPath(self.work, 1000, 100))
        user = self.work.throwaway_user()
        place = self.certify(user, "*")
        options = [f"HostCertificate {place}/host-cert.pub",
                   f"TrustedUserCAKeys {place}/ca.pub",
                   "AuthorizedKeysFile none"]
        servers = {name: self.work.keep(Server(self.work, suite, path,
                                               options=options, user=user))
                   for name, suite in {p[1].name: p[1] for p in
                                       self.pairs().values()}.items()}
        ca = (place / "ca.pub").read_text().strip()

        def fresh(directory):
            (Path(directory) / "known_hosts").write_text(
                f"@cert-authority * {ca}\n")
            return directory

        def contact(client, server, directory):
            done = timed(server.command(
                client, "true", first_contact=directory, options=[
                    "-o", f"CertificateFile={place}/user-cert.pub"]), 30)
            return done.wall / path.rtt

        def first(client, server):
            with tempfile.TemporaryDirectory(dir=self.work.dir) as directory:
                return contact(client, server, fresh(directory))

        firsts, seconds = {}, {}
        for name, (client, suite) in self.pairs().items():
            server = servers[suite.name]
            known = fresh(tempfile.mkdtemp(dir=self.work.dir))
            contact(client, server, known)
            firsts[name] = (lambda c=client, s=server: first(c, s))
            seconds[name] = (lambda c=client, s=server, d=known:
                             contact(c, s, d))
        for what, jobs in (("first", firsts), ("second", seconds)):
            self.add("certlogin", f"`true` over 100 ms by certificates, "
                     f"{what} contact", "RTT", self.turns(jobs))
        self.drop(list(servers.values()) + [path])
