# SPDX-License-Identifier: ISC
"""A host of its own for host-based logins: name, host keys, lists of hosts and
setuid program are in directories that only a mount namespace shows as the
system's."""

import os
import shutil
from pathlib import Path

from ownetc import (OWN_GROUP, UID, USER, MountPoint, OwnEtc, problem,
                    short_place)
from sshwire import (USERAUTH_FAILURE, USERAUTH_REQUEST, USERAUTH_SUCCESS,
                     connect, load_key, message, string)

import harness
from harness import hpn, program, run

NAME = "client.hpntest"
KEY = "ed25519-client"  # key of the host that the client runs on
ON = "UseDNS yes\nLogLevel VERBOSE\nHostbasedAuthentication yes\n"
ENTER = """
mount --bind "$1" /etc && mount --bind "$2" "$3" && mount --bind "$4" "$5" &&
shift 5 && exec "$@"
"""
MOUNT = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


def why_not():
    if problem():
        return problem()
    with open("/proc/self/status") as f:
        if "NoNewPrivs:\t1" in f.read():
            return "setuid programs are forbidden here"
    if os.statvfs("/tmp").f_flag & os.ST_NOSUID:
        return "/tmp has no setuid programs"
    return None


def give(path, text, owner=(UID, OWN_GROUP), mode=0o644):
    path.write_text(text)
    os.chown(path, *owner)
    path.chmod(mode)


class Place(OwnEtc):
    def __init__(self, directory, keys):
        super().__init__(directory, keys)
        self.running = {}
        (self.etc / "hosts").write_text(f"127.0.0.1 {NAME} localhost\n")
        done = run([hpn("sshd"), "-T", "-f", "/dev/null", "-h",
                    keys.path("ed25519-host")])
        path, = [line.split()[1] for line in done.ok().text.splitlines()
                 if line.startswith("sshdsessionpath ")]
        self.helpers_place = Path(path).parent
        self.mount_points.append(MountPoint(self.helpers_place))
        self.helpers = self.dir / "helpers"
        self.helpers.mkdir()
        keysign = self.helpers / "hpnssh-keysign"
        shutil.copy(hpn("ssh-keysign"), keysign)
        keysign.chmod(0o4755)
        # Of both kinds of programs.
        self.places = [self.conf, self.etc / "ssh"]
        self.host_keys("ed25519")
        self.fresh()

    def host_keys(self, *types):
        for place in self.places:
            for old in place.glob("ssh_host_*"):
                old.unlink()
            for one in types:
                name = f"ssh_host_{one.rstrip('0123456789')}_key" \
                    if one != "ed25519" else "ssh_host_ed25519_key"
                key = self.keys.path(f"{one}-client")
                shutil.copy(key, place / name)
                (place / name).chmod(0o600)
                shutil.copy(f"{key}.pub", place / f"{name}.pub")

    def system(self, name, text):
        for place in self.places:
            (place / name).write_text(text)

    def fresh(self):
        """Everything as it lets USER of NAME in."""
        (self.etc / "hosts.equiv").unlink(missing_ok=True)
        for name in (".shosts", ".rhosts", ".ssh/known_hosts"):
            (self.home / name).unlink(missing_ok=True)
        self.home.chmod(0o755)
        self.system("ssh_config", "EnableSSHKeysign yes\n")
        self.system("shosts.equiv", f"{NAME}\n")
        self.system("ssh_known_hosts", self.known("ed25519"))

    def known(self, *types, name=NAME):
        return "".join(
            f"{name} " + " ".join(
                self.keys.public(f"{t}-client").split()[:2]) + "\n"
            for t in types)

    def server(self, config="", kind="hpn"):
        """One server for all tests that want the same. Of a keyword, the
        first value counts."""
        if (kind, config) not in self.running:
            self.running[kind, config] = super().server(
                config + ON, kind=kind)
        return self.running[kind, config]

    def setpriv(self, user, group):
        return ["setpriv", "--reuid", user, "--regid", group,
                "--clear-groups"]

    def own_command(self, *command, user=UID, group=OWN_GROUP, over=None):
        """What runs a command on this host, as its user. over: a file, and
        the one in whose place it is shown."""
        if over:
            command = ["sh", "-c", MOUNT, "sh", *over, *self.setpriv(
                user, group), *command]
        else:
            command = [*self.setpriv(user, group), *command]
        return ["unshare", "-m", "--propagation", "private", "sh", "-c",
                ENTER, "sh", self.etc, self.conf, self.conf_place,
                self.helpers, self.helpers_place, *command]

    def own(self, *command, user=UID, group=OWN_GROUP, over=None, **kw):
        return run(self.own_command(*command, user=user, group=group,
                                    over=over),
                   env=harness.clean_env(HOME=self.home), **kw)

    def ssh(self, server, *command, kind="hpn", user=USER, options=(), **kw):
        known = self.dir / "known_server"
        shutil.copy(server.known_hosts, known)
        args = []
        for option in (*options, "HostbasedAuthentication=yes",
                       "PreferredAuthentications=hostbased",
                       "StrictHostKeyChecking=yes", "BatchMode=yes",
                       "GlobalKnownHostsFile=none", "IdentityFile=none",
                       f"UserKnownHostsFile={known}"):
            args += ["-o", option]
        return self.own(program(kind, "ssh"), "-F", "none", *args, "-p",
                        server.port, "-l", user, "127.0.0.1",
                        *(command or ("echo", "in")), **kw)

    def raw(self, server, user=USER, host=f"{NAME}.", client_user=USER,
            key=KEY, signed_user=None, alg="ssh-ed25519", blob=None):
        """Whether a request that no client would make lets one in, and what
        the server logs."""
        mark = server.log.stat().st_size
        wire = connect(server).handshake().ask_service()
        host_key = load_key(self.keys.path(key))

        def body(login):
            return message(USERAUTH_REQUEST, login, "ssh-connection",
                           "hostbased", alg, string(
                               host_key.blob if blob is None else blob),
                           host, client_user)
        signature = host_key.sign(string(wire.session_id)
                                  + body(signed_user or user))
        wire.send(body(user) + string(signature))
        kind, _ = wire.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS)
        wire.close()
        harness.wait_for(lambda: not server.connections())
        return kind == USERAUTH_SUCCESS, \
            server.log.read_bytes()[mark:].decode().replace("\r", "")


def place(keys):
    return short_place(Place, "h", keys, why_not())
