# SPDX-License-Identifier: ISC
"""The hosts of hpnscp --direct, and a source's host that does what it likes."""

import hashlib
import os
import sys

import pytest
from copies import executable

import harness
from harness import ME, Client, have, hpn, run

NEEDED = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd", "scp"),
                       reason="hpnscp and hpnsshd are not built"),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="grants need a server of the superuser's"),
]

GIVES = "LogLevel VERBOSE\nTransferGrants put\nSubsystem sftp internal-sftp\n"
BIN = os.path.dirname(hpn("scp"))


class Pair:
    """The source's host, on which hpnscp is in PATH, and the target's."""

    hosts = ("127.0.0.1", "127.0.0.1")

    def __init__(self, make_server, tmp_path, target=GIVES, path=BIN):
        self.b = make_server(target, kind="hpn" if target else "stock")
        self.a = make_server(f"SetEnv PATH={path}:/usr/bin:/bin SHLVL=1\n")
        self.lay(tmp_path)

    def lay(self, tmp_path):
        self.here, self.there = tmp_path / "a", tmp_path / "b"
        self.here.mkdir()
        self.there.mkdir()
        self.known = tmp_path / "known"
        self.known.write_text("".join(
            s.known_hosts.read_text().replace("127.0.0.1", host)
            for s, host in zip((self.a, self.b), self.hosts)))

    def words(self, sources, target, *flags):
        client = Client("hpn", self.a, known_hosts=self.known)
        ends = [f"scp://{ME}@{host}:{s.port}/"
                for s, host in zip((self.a, self.b), self.hosts)]
        return [hpn("scp"), *client.options(), "--direct", *flags,
                *(f"{ends[0]}{self.here / s}" for s in sources),
                f"{ends[1]}{self.there / target}"]

    def scp(self, sources, target, *flags, **kw):
        return run(self.words(sources, target, *flags), **kw)

    def there_is(self):
        """All that is below the target."""
        return {str(f.relative_to(self.there)): f.read_bytes()
                for f in self.there.rglob("*") if f.is_file()}


@pytest.fixture
def pair(make_server, tmp_path):
    return lambda **kw: Pair(make_server, tmp_path, **kw)


def went_directly(done):
    assert done.rc == 0, done
    assert "the copy went from host to host" in done.errors
    assert len(done.errors.splitlines()) == 1, done


LIAR = r"""
import faulthandler, os, struct, sys
faulthandler.dump_traceback_later(20, exit=True)  # if nobody answers
sys.path.insert(0, {e2e!r})
sys.path.insert(0, {regress!r})
import grants, socket
from sshwire import Host, Reader, USERAUTH_SUCCESS, USERAUTH_FAILURE, Wire, string
from sshwire import EXT_INFO
key = Host()
def say(body):
    os.write(1, struct.pack(">I", len(body)) + body)
def take():
    size, = struct.unpack(">I", sys.stdin.buffer.read(4))
    return sys.stdin.buffer.read(size)
say(b"" + string(key.blob))
r = Reader(take())
assert r.take(1) == b""
name, host, user = r.string(), r.text(), r.text()
port = struct.unpack(">H", r.take(2))[0]
wire = Wire(socket.create_connection((host, port)))
wire.handshake()
wire.say(EXT_INFO, 1, "ext-info-in-auth@openssh.com", "0")
wire.ask_service()
grant = grants.Grant(None, name, key)
wire.send(grants.request(wire, grant, user=user))
wire.expect(USERAUTH_SUCCESS)
sftp = grants.Sftp(wire)
{code}
"""


def lying(tmp_path, code):
    """A directory with an hpnscp that does this with the session."""
    where = tmp_path / "liar"
    where.mkdir()
    text = LIAR.format(e2e=os.path.dirname(__file__),
                       regress=os.path.dirname(harness.__file__), code=code)
    (where / "lie.py").write_text(text)
    executable(where / "hpnscp", f"exec {sys.executable} {where}/lie.py\n")
    return str(where)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def sum_of(path, digest_, size=32):
    return f'say(b"\\1" + string({path!r}) + string({digest_!r}[:{size}]))'


RIGHT = hashlib.sha256(b"right").digest()
