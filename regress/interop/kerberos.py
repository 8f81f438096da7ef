# SPDX-License-Identifier: ISC
"""A Kerberos of the tests' own: two realms that trust each other one way, and
their KDC on a loopback port. Nothing of the machine's own is read."""

import os
import selectors
import socket
import struct
import threading
import time
from pathlib import Path

import harness
from harness import ME, clean_env, run, stock

REALM, OTHER = "HPN.TEST", "OTHER.TEST"
PASSWORD = "secret"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "kvno", "klist")


def have_kerberos():
    return all(stock(name) for name in PROGRAMS)


class Kerberos:
    """`hosts`: names that have a key for the service "host"."""

    def __init__(self, directory, hosts):
        self.dir = Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        harness.open_up(self.dir)
        self.keytab = self.dir / "keytab"
        self.config = self.dir / "krb5.conf"
        self.process = None
        self.port = harness.free_port()
        self.write_config()
        for realm in (REALM, OTHER):
            self.run("kdb5_util", "-r", realm, "create", "-s", "-P",
                     PASSWORD)
        user = f"add_principal -pw {PASSWORD} {ME}"
        self.admin(REALM, user)
        self.admin(OTHER, user)
        for realm in (REALM, OTHER):  # who is of OTHER is known in REALM
            self.admin(realm, f"add_principal -pw {PASSWORD} "
                       f"krbtgt/{REALM}@{OTHER}")
        for host in hosts:
            self.admin(REALM, f"add_principal -randkey host/{host}")
            self.admin(REALM, f"ktadd -k {self.keytab} host/{host}")

    def write_config(self, name="krb5.conf", **more):
        """Path of a configuration; more: further values of libdefaults."""
        values = {"default_realm": REALM, "dns_lookup_kdc": "false",
                  "dns_lookup_realm": "false", "rdns": "false",
                  "dns_canonicalize_hostname": "false",
                  "udp_preference_limit": "1", **more}
        defaults = "".join(f"  {k} = {v}\n" for k, v in values.items())
        realms = "".join(
            f"  {r} = {{\n    kdc = 127.0.0.1:{self.port}\n  }}\n"
            for r in (REALM, OTHER))
        path = self.dir / name
        # every host is in REALM, whoever asks
        path.write_text(f"[libdefaults]\n{defaults}[realms]\n{realms}"
                        f"[domain_realm]\n  127.0.0.1 = {REALM}\n"
                        f"  {socket.gethostname()} = {REALM}\n")
        kdc = "".join(
            f"  {r} = {{\n    database_name = {self.dir}/{r}\n"
            f"    key_stash_file = {self.dir}/{r}.stash\n"
            f"    acl_file = {self.dir}/acl\n  }}\n" for r in (REALM, OTHER))
        (self.dir / "kdc.conf").write_text(
            f"[kdcdefaults]\n  kdc_listen = 127.0.0.1:{self.port}\n"
            f"  kdc_tcp_listen = 127.0.0.1:{self.port}\n[realms]\n{kdc}")
        return path

    def env(self, ccache=None, **more):
        """What programs find this Kerberos, and this user's tickets, by."""
        return clean_env(KRB5_CONFIG=self.config,
                         KRB5_KDC_PROFILE=self.dir / "kdc.conf",
                         KRB5_KTNAME=self.keytab, KRB5RCACHEDIR=self.dir,
                         KRB5CCNAME=f"FILE:{ccache or self.dir / 'none'}",
                         **more)

    def run(self, name, *args, **kw):
        kw.setdefault("env", self.env())
        return run([stock(name), *args], **kw).ok()

    def admin(self, realm, query):
        return self.run("kadmin.local", "-r", realm, "-q", query)

    def start(self):
        with open(self.dir / "kdc.log", "ab") as log:
            self.process = harness.start(
                [stock("krb5kdc"), "-n", "-r", REALM, "-r", OTHER],
                stdout=log, stderr=log,
                env=self.env())
        assert harness.wait_for(self._listens), \
            (self.dir / "kdc.log").read_text()
        return self

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
            harness.kill_group(self.process)
        self.process = None

    def ticket(self, path, *args, principal=f"{ME}@{REALM}"):
        """A ccache with a first ticket; its path."""
        self.run("kinit", *args, principal, env=self.env(path),
                 stdin=f"{PASSWORD}\n".encode())
        return path


def set_offset(ccache, seconds):
    """Whoever uses these tickets believes that its clock is wrong by so
    much: the first tag (DeltaTime) of a FILE ccache's header."""
    data = Path(ccache).read_bytes()
    version, length = struct.unpack(">HH", data[:4])
    assert version == 0x0504, hex(version)
    tag = struct.pack(">HHii", 1, 8, seconds, 0)
    Path(ccache).write_bytes(struct.pack(">HH", version, len(tag)) + tag
                             + data[4 + length:])
    os.chmod(ccache, 0o600)


class Relay:
    """Carries one connection after another, each way with a delay; counts
    how often the server answers something: the round trips."""

    DELAY = 0.05

    def __init__(self, port):
        self.to, self.answers = port, []
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            with client, socket.create_connection(
                    ("127.0.0.1", self.to)) as server:
                self.carry(client, server)

    def carry(self, client, server):
        way, due, last = {client: server, server: client}, [], None
        self.answers.append(0)
        with selectors.DefaultSelector() as ready:
            for s in way:
                ready.register(s, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                while due and due[0][0] <= now:
                    _, source, data = due.pop(0)
                    if source is server and last is client:
                        self.answers[-1] += 1
                    last = source
                    way[source].sendall(data)
                for key, _ in ready.select(
                        due[0][0] - now if due else None):
                    try:
                        data = key.fileobj.recv(1 << 20)
                    except OSError:
                        data = b""
                    if not data:
                        return
                    due.append((time.monotonic() + self.DELAY, key.fileobj,
                                data))

    def close(self):
        self.listener.close()


def answers_of_a_login(server, client_of, krb, ticket, directory, method):
    """How often an answer is waited for until `true` has run, by key and by
    ticket, at a host that is known."""
    relay = Relay(server.port)
    try:
        counts = []
        for key, env in (("ed25519", krb.env()), (None, krb.env(ticket))):
            known = directory / f"known-{key}"
            known.write_text(server.known_hosts.read_text().replace(
                f":{server.port}", f":{relay.port}"))
            client = client_of("hpn", server, key, known_hosts=known)
            line = client.ssh_args()
            line[line.index("-p") + 1] = str(relay.port)
            # Then it knows the host. On a busy machine an answer may come in
            # two pieces, with something of the client between them.
            for _ in range(4):
                done = run([*line, "true"], env=env).ok()
            assert f'using "{"publickey" if key else method}"' \
                in done.errors
            harness.wait_for(lambda: server.connections() == {})
            counts.append(min(relay.answers[-3:]))
    finally:
        relay.close()
    return counts
