# SPDX-License-Identifier: ISC
"""Key exchange by GSSAPI and gssapi-keyex, by every pair of our programs and
the installed ones, against a KDC of the tests' own."""

import os
import socket
from pathlib import Path

import pytest

import agents
import harness
import kerberos
from harness import ME, Client, Server, stock

KINDS = ["hpn", "stock"]
PREFIXES = ["gss-curve25519-sha256-", "gss-nistp256-sha256-",
            "gss-group16-sha512-", "gss-group14-sha256-",
            "gss-group14-sha1-", "gss-gex-sha1-"]
SUFFIX = "toWM5Slw5Ew8Mqkay+al2g=="

pytestmark = [
    pytest.mark.skipif(not harness.built_with("GSSAPI"),
                       reason="built without GSSAPI"),
    pytest.mark.skipif(not kerberos.have_kerberos(),
                       reason="no krb5-kdc and krb5-user are installed"),
]


def stock_has(name):
    return "gss-" in harness.run([stock("ssh"), "-Q", "kex-gss"]).text


@pytest.fixture(scope="module")
def krb(tmp_path_factory):
    made = kerberos.Kerberos(tmp_path_factory.mktemp("krb"),
                             ["127.0.0.1", "localhost",
                              socket.gethostname()])
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def ticket(krb):
    return krb.ticket(krb.dir / "ccache", "-f")


@pytest.fixture(scope="module")
def servers(krb, tmp_path_factory, keys):
    """get(kind, config): a server with a keytab, which lets a key in too."""
    running = {}

    def get(kind, config=""):
        if kind == "stock" and not stock_has("sshd"):
            pytest.skip("the installed OpenSSH has no key exchange by GSSAPI")
        if (kind, config) not in running:
            lines = (f"{config}\nGSSAPIKeyExchange yes\n"
                     "GSSAPIAuthentication yes\n"
                     "GSSAPIKexAlgorithms " + ",".join(PREFIXES) + "\n"
                     "GSSAPIStrictAcceptorCheck no\n"
                     f"SetEnv SHLVL=1 KRB5_CONFIG={krb.config}\n"
                     "LogLevel VERBOSE\n")
            running[kind, config] = Server(
                kind, tmp_path_factory.mktemp("gss-server"), keys,
                ["ed25519"], lines, env=krb.env()).start()
        return running[kind, config]

    yield get
    for server in running.values():
        server.stop()


def client_of(kind, server, key=None, options=(), **kw):
    if kind == "stock" and not stock_has("ssh"):
        pytest.skip("the installed OpenSSH has no key exchange by GSSAPI")
    return Client(kind, server, key=key, log_level="DEBUG1",
                  options=("GSSAPIKeyExchange=yes",
                           "GSSAPIAuthentication=yes", *options), **kw)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("server_kind", KINDS)
@pytest.mark.parametrize("client_kind", KINDS)
def test_login(krb, ticket, servers, client_kind, server_kind, prefix,
               tmp_path):
    """Nobody knows the host's key, and nobody is asked about it."""
    server = servers(server_kind)
    known = tmp_path / "known"
    known.write_text("")
    client = client_of(client_kind, server, known_hosts=known,
                       options=[f"GSSAPIKexAlgorithms={prefix}"])
    before = len(server.log_text())
    done = client.ssh("echo in; exit 3", env=krb.env(ticket))
    assert (done.rc, done.out) == (3, b"in\n"), (done, server.log_text())
    assert f"kex: algorithm: {prefix}{SUFFIX}" in done.errors
    assert 'using "gssapi-keyex"' in done.errors
    assert known.read_text() == ""
    log = server.log_text()[before:]
    principal = f"{ME}@{kerberos.REALM}"
    assert f"Authorized to {ME}, krb5 principal {principal} (krb5_kuserok)" \
        in log
    assert f"Accepted gssapi-keyex for {ME} from 127.0.0.1 " in log


def test_off_by_default(krb, ticket, servers):
    """Not without the keyword; and then the method that needs it is not
    offered either."""
    server = servers("hpn")
    client = Client("hpn", server, key="ed25519", log_level="DEBUG1",
                    options=["GSSAPIAuthentication=yes",
                             "PreferredAuthentications=publickey"])
    done = client.ssh("true", env=krb.env(ticket)).ok()
    assert "kex: algorithm: gss-" not in done.errors
    assert "gssapi-keyex" not in done.errors
    assert 'using "publickey"' in done.errors
    client = Client("hpn", server, key=None, log_level="DEBUG1")
    done = client.ssh("true", env=krb.env(ticket))
    assert done.rc == 255
    assert "Permission denied (publickey,gssapi-with-mic" in done.errors


@pytest.mark.parametrize("config,method", [
    ("GSSAPIKexAlgorithms gss-group16-sha512-", "gss-group16-sha512-"),
    ("GSSAPIKexAlgorithms gss-nistp256-sha256-,gss-group14-sha256-",
     "gss-nistp256-sha256-"), ("GSSAPIKeyExchange no", None)])
def test_what_the_server_wants(krb, ticket, servers, config, method):
    """The server takes a method of its own list, of all that the client
    proposes."""
    client = client_of("hpn", servers("hpn", config), "ed25519", options=[
        "GSSAPIKexAlgorithms=" + ",".join(PREFIXES)])
    done = client.ssh("true", env=krb.env(ticket)).ok()
    if method is None:
        assert "kex: algorithm: gss-" not in done.errors
    else:
        assert f"kex: algorithm: {method}{SUFFIX}" in done.errors


@pytest.mark.parametrize("client_kind", KINDS)
def test_server_without_host_keys(krb, ticket, tmp_path, keys, client_kind):
    config = (f"HostKey {tmp_path}/none\nGSSAPIKeyExchange yes\n"
              "GSSAPIAuthentication yes\nGSSAPIStrictAcceptorCheck no\n"
              "RekeyLimit 1M")
    with Server("hpn", tmp_path / "server", keys, ["ed25519"], config,
                host_keys=(), env=krb.env()) as server:
        client = client_of(client_kind, server)
        done = client.ssh("head -c 3M /dev/zero", env=krb.env(ticket))
        assert done.rc == 0 and len(done.out) == 3 << 20, done
        assert "kex: host key algorithm: null" in done.errors
        # who has no ticket has no way in
        done = client_of(client_kind, server, "ed25519").ssh(
            "true", env=krb.env())
        assert done.rc == 255, done
        assert "no matching host key type found" in done.errors


@pytest.mark.parametrize("kind", KINDS)
def test_keys_for_some_destinations(krb, ticket, servers, keys, tmp_path,
                                    kind):
    """No key of the host signs, so the agent is not told which host it is: it
    refuses a key that it may use for that host only."""
    server = servers("hpn")
    known = tmp_path / "known"
    known.write_text("there " + " ".join(
        keys.public(f"{server.host_keys[0]}-host").split()[:2]) + "\n")
    with agents.Running() as agent:
        client = client_of(kind, server, options=[
            "PreferredAuthentications=publickey", "IdentityFile=none"])
        client.fixed.remove("IdentitiesOnly=yes")

        def log_in(*options):
            return agent.run(*client.ssh_args(*options), "echo in", env={
                **krb.env(ticket), **agent.environ()})
        agent.add(keys.path("ed25519")).ok()
        done = log_in()
        assert (done.rc, done.out) == (0, b"in\n"), done
        assert "kex: algorithm: gss-" in done.errors
        agent.add("-D").ok()
        agent.add("-H", known, "-h", "there", keys.path("ed25519")).ok()
        done = log_in()
        assert done.rc == 255 and done.out == b"", done
        assert "kex: algorithm: gss-" in done.errors
        done = log_in("GSSAPIKeyExchange=no")
        assert (done.rc, done.out) == (0, b"in\n"), done


# ---- tickets that are of no use ------------------------------------------

def test_no_ticket(krb, servers):
    """Nothing of it is proposed: the host's key is looked up."""
    done = client_of("hpn", servers("hpn"), "ed25519").ssh(
        "true", env=krb.env()).ok()
    assert "GSSAPI key exchange: no ticket for 127.0.0.1" in done.errors
    assert "kex: algorithm: gss-" not in done.errors
    assert 'using "publickey"' in done.errors


def test_expired_ticket(krb, servers, tmp_path):
    old = krb.ticket(tmp_path / "cc", "-l", "60s")
    kerberos.set_offset(old, 3600)
    done = client_of("hpn", servers("hpn"), "ed25519").ssh(
        "true", env=krb.env(old)).ok()
    assert "kex: algorithm: gss-" not in done.errors
    assert "expired" in done.errors


def test_wrong_realm(krb, servers, tmp_path):
    """The host is proven, the user is somebody else."""
    server = servers("hpn")
    other = krb.ticket(tmp_path / "cc", principal=f"{ME}@{kerberos.OTHER}")
    done = client_of("hpn", server).ssh("true", env=krb.env(other))
    assert done.rc == 255 and "Permission denied" in done.errors, done
    assert "kex: algorithm: gss-" in done.errors
    assert f"Failed gssapi-keyex for {ME} from" in server.log_text()
    done = client_of("hpn", server, "ed25519").ssh("true",
                                                   env=krb.env(other)).ok()
    assert 'using "publickey"' in done.errors


@pytest.mark.parametrize("client_kind", KINDS)
def test_clock_skew(krb, servers, tmp_path, client_kind):
    """The connection ends, with the server's reason on both sides."""
    server = servers("hpn")
    cache = krb.ticket(tmp_path / "cc")
    krb.run("kvno", "host/127.0.0.1", env=krb.env(cache))
    kerberos.set_offset(cache, 3600)
    done = client_of(client_kind, server, "ed25519").ssh(
        "true", env=krb.env(cache))
    assert done.rc == 255, done
    assert "GSSAPI key exchange: " in server.log_text()
    assert "Clock skew too great" in server.log_text()
    if client_kind == "hpn":
        assert "Clock skew too great" in done.errors


def test_unknown_user(krb, ticket, servers):
    server = servers("hpn")
    done = client_of("hpn", server, user="nobody-of-that-name").ssh(
        "true", env=krb.env(ticket))
    assert done.rc == 255 and "Permission denied" in done.errors, done
    assert "Failed gssapi-keyex for invalid user nobody-of-that-name" in \
        server.log_text()


def test_server_with_another_key(krb, ticket, tmp_path, keys):
    """It has a key for the host's name, but not the one that the KDC knows:
    whoever that is, it is not the host. With none it offers nothing."""
    keytab = tmp_path / "keytab"
    krb.admin(kerberos.OTHER, "add_principal -randkey host/127.0.0.1")
    krb.admin(kerberos.OTHER, f"ktadd -k {keytab} host/127.0.0.1")
    config = ("GSSAPIKeyExchange yes\nGSSAPIAuthentication yes\n"
              "GSSAPIStrictAcceptorCheck no\nLogLevel VERBOSE")
    for path, offered in (keytab, True), (tmp_path / "none", False):
        env = dict(krb.env(), KRB5_KTNAME=str(path))
        with Server("hpn", tmp_path / f"server-{path.name}", keys,
                    ["ed25519"], config, env=env) as server:
            done = client_of("hpn", server, "ed25519").ssh(
                "true", env=krb.env(ticket))
        if offered:
            assert done.rc == 255, done
            assert "the server" in done.errors
        else:
            assert done.rc == 0 and 'using "publickey"' in done.errors, done
            assert "GSSAPI: no key for a service" in server.log_text()


# ---- more exchanges --------------------------------------------------------

def rekeys(done):
    return done.errors.count("kex: algorithm: ")


@pytest.mark.parametrize("server_kind", KINDS)
@pytest.mark.parametrize("client_kind", KINDS)
def test_rekey(krb, ticket, servers, client_kind, server_kind, tmp_path):
    """Each by Kerberos, with a ticket that is asked for then."""
    known = tmp_path / "known"
    known.write_text("")
    client = client_of(client_kind, servers(server_kind), known_hosts=known,
                       options=["RekeyLimit=1M"])
    done = client.ssh("head -c 16M /dev/zero", env=krb.env(ticket))
    assert done.rc == 0 and len(done.out) == 16 << 20, done
    assert rekeys(done) >= 3
    assert done.errors.count("kex: algorithm: gss-") == rekeys(done)


@pytest.mark.parametrize("server_kind", KINDS)
def test_servers_own_rekey(krb, ticket, servers, server_kind, tmp_path):
    known = tmp_path / "known"
    known.write_text("")
    client = client_of("hpn", servers(server_kind, "RekeyLimit 1M"),
                       known_hosts=known)
    done = client.ssh("head -c 16M /dev/zero", env=krb.env(ticket))
    assert done.rc == 0 and len(done.out) == 16 << 20, done
    assert done.errors.count("kex: algorithm: gss-") == rekeys(done) >= 3


def test_rekey_without_a_ticket(krb, servers, tmp_path):
    """It was destroyed meanwhile: the host proves itself with the key that
    it has shown, which nobody knew before."""
    cache = krb.ticket(tmp_path / "cc")
    known = tmp_path / "known"
    known.write_text("")
    client = client_of("hpn", servers("hpn"), known_hosts=known,
                       options=["RekeyLimit=1M"])
    done = client.ssh(f"rm {cache}; head -c 16M /dev/zero",
                      env=krb.env(cache))
    assert done.rc == 0 and len(done.out) == 16 << 20, done
    assert done.errors.count("kex: algorithm: gss-") == 1 < rekeys(done)
    assert known.read_text() == ""


# ---- credentials -----------------------------------------------------------

@pytest.mark.parametrize("server_kind", KINDS)
@pytest.mark.parametrize("client_kind", KINDS)
def test_delegation(krb, ticket, servers, client_kind, server_kind):
    client = client_of(client_kind, servers(server_kind),
                       options=["GSSAPIDelegateCredentials=yes"])
    done = client.ssh("klist -s && echo $KRB5CCNAME",
                      env=krb.env(ticket)).ok()
    path = Path(done.text.strip().removeprefix("FILE:"))
    assert path.name.startswith("krb5cc_"), done
    assert harness.wait_for(lambda: not path.exists())
    client = client_of(client_kind, servers(server_kind))
    done = client.ssh("echo ${KRB5CCNAME-none}", env=krb.env(ticket)).ok()
    assert done.out == b"none\n"


def test_second_hop(krb, ticket, servers, tmp_path):
    """From a session the user goes on, by GSSAPI again, with what was
    delegated; and without it nowhere."""
    known = tmp_path / "known"
    known.write_text("")
    first, second = servers("hpn"), servers("hpn", "MaxSessions 9")
    hop = client_of("hpn", second, known_hosts=known).ssh_args(
        "IdentityAgent=none")
    command = " ".join([f"XDG_STATE_HOME='{os.environ['XDG_STATE_HOME']}'",
                        *(f"'{word}'" for word in hop), "'echo there'"])
    done = client_of("hpn", first).ssh(command, flags=["-K"],
                                       env=krb.env(ticket))
    assert (done.rc, done.out) == (0, b"there\n"), done
    done = client_of("hpn", first).ssh(command, env=krb.env(ticket))
    assert done.rc == 255 and b"there" not in done.out, done


# Says which file it has and when the ticket ends; puts the new ticket of $2
# in the place of the client's own, $1; and says it again when that has come, or
# after $3 seconds.
RENEW = """
end() { klist | awk '/krbtgt/ {print $3, $4}'; }
old=$(end); echo $KRB5CCNAME; echo $old
mv $2 $1
for i in $(seq $3); do
    sleep 1; new=$(end); [ -n "$new" ] && [ "$new" != "$old" ] && break
done
echo $KRB5CCNAME; echo $new
stat -c '%a %u' ${KRB5CCNAME#FILE:}
"""


def renewed(krb, server, tmp_path, wait_s, client_kind="hpn"):
    """Name and end before, and after; the mode of the file."""
    cache = krb.ticket(tmp_path / "cc", "-f", "-l", "1h")
    fresh = krb.ticket(tmp_path / "fresh", "-f", "-l", "5h")
    script = tmp_path / "script"
    script.write_text(RENEW)
    client = client_of(client_kind, server, options=[
        "GSSAPIRenewalForcesRekey=yes", "GSSAPIDelegateCredentials=yes"])
    done = client.ssh(f"sh {script} {cache} {fresh} {wait_s}",
                      env=krb.env(cache)).ok()
    assert done.errors.count("kex: algorithm: gss-") == 2, done
    return done.text.splitlines()


@pytest.mark.parametrize("server_kind", KINDS)
def test_renewed_credentials(krb, servers, server_kind, tmp_path):
    """A renewed ticket makes new keys, and the session has it then, in the
    same file."""
    server = servers(server_kind, "GSSAPIStoreCredentialsOnRekey yes")
    name, end, name_after, end_after, mode = renewed(krb, server, tmp_path,
                                                     60)
    assert name == name_after and name.startswith("FILE:/tmp/krb5cc_")
    assert end != end_after != ""
    assert mode == f"600 {os.getuid()}"


def test_renewed_credentials_are_not_wanted(krb, servers, tmp_path):
    name, end, name_after, end_after, _ = renewed(
        krb, servers("hpn"), tmp_path, 13)
    assert (name, end) == (name_after, end_after)


# ---- names -----------------------------------------------------------------

def test_server_identity(krb, ticket, servers):
    """The name of the service is not the name that is connected to."""
    server = servers("hpn")
    client = client_of("hpn", server, options=[
        "GSSAPIServerIdentity=" + socket.gethostname()])
    client.ssh("true", env=krb.env(ticket)).ok()
    tickets = krb.run("klist", "-c", ticket).text
    assert f"host/{socket.gethostname()}@" in tickets
    client = client_of("hpn", server, "ed25519", options=[
        "GSSAPIServerIdentity=no.such.host"])
    done = client.ssh("true", env=krb.env(ticket)).ok()
    assert "no ticket for" in done.errors and "publickey" in done.errors


def test_trust_dns(krb, servers, tmp_path):
    """The address's own name: as /etc/hosts has it here."""
    cache = krb.ticket(tmp_path / "cc")
    done = client_of("hpn", servers("hpn"), options=[
        "GSSAPITrustDns=yes"]).ssh("true", env=krb.env(cache))
    assert done.rc == 0, done
    name = socket.gethostbyaddr("127.0.0.1")[0]
    assert f"host/{name}@" in krb.run("klist", "-c", cache).text


def test_client_identity(krb, servers, tmp_path):
    """One of several principals whose tickets are there."""
    krb.admin(kerberos.REALM, f"add_principal -pw {kerberos.PASSWORD} second")
    directory = tmp_path / "caches"
    directory.mkdir()
    env = dict(krb.env(), KRB5CCNAME=f"DIR:{directory}")
    for name in "second", ME:  # the last one is the default
        krb.run("kinit", f"{name}@{kerberos.REALM}", env=env,
                stdin=f"{kerberos.PASSWORD}\n".encode())
    server = servers("hpn")
    assert client_of("hpn", server).ssh("true", env=env).rc == 0
    before = len(server.log_text())
    done = client_of("hpn", server, options=[
        f"GSSAPIClientIdentity=second@{kerberos.REALM}"]).ssh("true", env=env)
    assert done.rc == 255, done
    assert f"Failed gssapi-keyex for {ME} " in server.log_text()[before:]
    assert f"second@{kerberos.REALM}" in server.log_text()[before:]


# ---- several connections, and time -----------------------------------------

def test_copy_over_several_connections(krb, ticket, servers, tmp_path):
    """Each proves itself; the host's key stays the same, and nobody knows
    it."""
    known = tmp_path / "known"
    known.write_text("")
    source = tmp_path / "source"
    source.write_bytes(os.urandom(1 << 20) * 48)
    server = servers("hpn")
    before = server.log_text().count("Accepted gssapi-keyex")
    client = client_of("hpn", server, known_hosts=known)
    client.scp("-j", "4", source, f":{tmp_path}/target",
               env=krb.env(ticket)).ok()
    assert server.log_text().count("Accepted gssapi-keyex") > before + 1
    assert (tmp_path / "target").read_bytes() == source.read_bytes()
    assert known.read_text() == ""


def test_no_more_round_trips_than_by_key(krb, ticket, servers, tmp_path):
    """One for the token and the value, one for the MIC of the login."""
    by_key, by_ticket = kerberos.answers_of_a_login(
        servers("hpn"), client_of, krb, ticket, tmp_path, "gssapi-keyex")
    assert 0 < by_ticket <= by_key, (by_key, by_ticket)
