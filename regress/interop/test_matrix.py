# SPDX-License-Identifier: ISC
"""Every pair of {hpnssh, ssh} and {hpnsshd, sshd} that has one of ours, with
every algorithm that both ends have: 4 MiB both ways in one connection, with
the right bytes and exit status. Algorithms are asked of the programs, so a
new one is tested without an edit here."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import FAST, MIB, QUICK_KEX, SLOW, Client, have, query

PAIRS = [("hpn", "hpn"), ("hpn", "stock"), ("stock", "hpn")]
if not FAST:
    PAIRS.append(("stock", "stock"))  # what the harness itself is worth
USER_KEY_ALGS = {
    "ed25519": ["ssh-ed25519"],
    "ecdsa256": ["ecdsa-sha2-nistp256"],
    "ecdsa384": ["ecdsa-sha2-nistp384"],
    "ecdsa521": ["ecdsa-sha2-nistp521"],
    "rsa": ["rsa-sha2-256", "rsa-sha2-512"],
}
AEAD = ("gcm@", "poly1305@")
# What stock servers only offer on request.
SERVER_LISTS = {"KexAlgorithms": "kex", "Ciphers": "cipher", "MACs": "mac"}

PAYLOAD = os.urandom(4 * MIB - 4321) + b"0123456789" * 432 + b"x"


def is_old(name):
    """Off by default: a row for each is enough."""
    return any(old in name for old in
               ("-cbc", "md5", "sha1-96", "group1-sha1", "group14-sha1",
                "exchange-sha1"))


def both(client, server, what, old=False):
    there = query(server, what)
    return [name for name in query(client, what) if name in there
            and not name.startswith(("gss-", "none"))
            and is_old(name) == old]


def rows_of(client, server):
    """(name, client's options, user key, server's configuration)"""
    few = FAST or client == server == "stock"
    quick = "KexAlgorithms=curve25519-sha256"
    rows = [("defaults", [], "ed25519", "")]
    for kex in both(client, server, "kex"):
        rows.append((f"kex-{kex}", [f"KexAlgorithms={kex}"], "ed25519", ""))
    ciphers = both(client, server, "cipher")
    macs = both(client, server, "mac")
    for cipher in ciphers:
        if any(mark in cipher for mark in AEAD):
            rows.append((f"cipher-{cipher}", [f"Ciphers={cipher}"],
                         "ed25519", ""))
            continue
        for mac in macs[:1] if few else macs:
            rows.append((f"cipher-{cipher}-{mac}",
                         [f"Ciphers={cipher}", f"MACs={mac}"],
                         "ed25519", ""))
    if few:
        rows += [(f"mac-{mac}", ["Ciphers=aes128-ctr", f"MACs={mac}"],
                  "ed25519", "") for mac in macs]
    rows += [(f"old-{kex}", [f"KexAlgorithms={kex}"], "ed25519", "")
             for kex in both(client, server, "kex", old=True)]
    rows += [(f"old-{cipher}-{mac}", [f"Ciphers={cipher}", f"MACs={mac}"],
              "ed25519", "")
             for cipher in both(client, server, "cipher", old=True)
             for mac in ("hmac-sha2-256", "umac-64-etm@openssh.com")]
    rows += [(f"old-{mac}", ["Ciphers=aes128-ctr", f"MACs={mac}"],
              "ed25519", "") for mac in both(client, server, "mac", old=True)]
    rows += [(f"rekey-by-client-{cipher}",
              ["RekeyLimit=512K", quick, f"Ciphers={cipher}"], "ed25519", "")
             for cipher in both(client, server, "cipher", old=True)]
    for algs in USER_KEY_ALGS.values():
        rows += [(f"hostkey-{alg}", [f"HostKeyAlgorithms={alg}"],
                  "ed25519", "") for alg in algs]
    for key, algs in USER_KEY_ALGS.items():
        rows += [(f"userkey-{alg}", [f"PubkeyAcceptedAlgorithms={alg}"],
                  key, "") for alg in algs]
    rekey = "RekeyLimit 512K"
    for cipher in ciphers:
        rows.append((f"rekey-by-client-{cipher}",
                     ["RekeyLimit=512K", quick, f"Ciphers={cipher}"],
                     "ed25519", ""))
        rows.append((f"rekey-by-server-{cipher}",
                     [quick, f"Ciphers={cipher}"], "ed25519", rekey))
    for kex in both(client, server, "kex"):
        if not few:
            rows.append((f"rekey-{kex}",
                         ["RekeyLimit=1500K", f"KexAlgorithms={kex}"],
                         "ed25519", ""))
    rows.append(("rekey-by-both", ["RekeyLimit=512K"], "ed25519", rekey))
    rows.append(("compression", ["Compression=yes"], "ed25519", ""))
    rows.append(("compression-rekey",
                 ["Compression=yes", "RekeyLimit=512K"], "ed25519", rekey))
    return rows


def all_rows():
    return [pytest.param(client, server, row,
                         id=f"{client}-ssh--{server}-sshd--{row[0]}")
            for client, server in PAIRS
            if have(client, "ssh") and have(server, "sshd")
            for row in rows_of(client, server)]


ROWS = all_rows() if have("hpn", "ssh", "sshd") else []


def transfer(client_kind, server, row):
    name, options, key, _ = row
    client = Client(client_kind, server, key)
    if name == "defaults" and client_kind == "stock":
        client.fixed.remove(QUICK_KEX)
    return client.ssh("cat; exit 7", options=options, stdin=PAYLOAD)


@pytest.fixture(scope="module")
def results(shared_servers, request):
    """All connections are begun together and a few at a time; each test
    waits for its own."""
    pool = ThreadPoolExecutor(max_workers=3)
    begun = {}
    wanted = [item.callspec.params for item in request.session.items
              if item.module is request.module and hasattr(item, "callspec")]
    servers = {}
    lists = {kind: "".join(f"{keyword} {','.join(query(kind, what))}\n"
                           for keyword, what in SERVER_LISTS.items())
             for kind in ("hpn", "stock")}
    for params in wanted:
        kind, (_, _, _, config) = params["server"], params["row"]
        if (kind, config) not in servers:
            servers[kind, config] = shared_servers(kind, lists[kind] + config)
        begun[params["client"], kind, params["row"][0]] = pool.submit(
            transfer, params["client"], servers[kind, config], params["row"])
    yield begun
    pool.shutdown(cancel_futures=True)


@pytest.mark.skipif(not ROWS, reason="hpnssh and hpnsshd are not built")
@pytest.mark.parametrize("client,server,row", ROWS)
def test_moves_4_mib_both_ways(results, client, server, row):
    done = results[client, server, row[0]].result(600 * SLOW)
    assert done.rc == 7, done
    assert done.out == PAYLOAD, f"other bytes came back: {done}"
