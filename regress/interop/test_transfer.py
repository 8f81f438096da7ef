# SPDX-License-Identifier: ISC
"""Trees of files with odd names and sizes, moved between programs of this
project and those of others: what arrives is what was sent, to the byte."""

import hashlib
import os
import random

import pytest
from callers import need

import harness
from harness import ME, MIB, Client, clean_env, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")

TAME = ["plain", "with space", " leading", "trailing ", "a;b&c|d", "-dash",
        "'single'", "name.with.dots..", "UPPER", "ümläut",
        "日本語", "%41", "#hash#", "$HOME", "(round)", "semi;colon", "x" * 200]
WILD = [*TAME, "*", "what?", "[abc]", "back\\slash", "\"double\"", "{a,b}", "tab\there",
        "new\nline", "esc\x1b[31mred", b"latin\xfc1", b"\xff\xfe", "~", "~root",
        "a:b", "y" * 253, "...", "`date`", "$(date)"]
SIZES = [0, 1, 100, 4095, 4096, 32767, 32768, 32769, 65536, 261120, 261121,
         MIB + 1]


def make_tree(top, names, seed):
    """Every name in the top directory and somewhere below, empty
    directories, and a size for each file."""
    rng = random.Random(seed)
    block = rng.randbytes(2 * MIB)
    names = [os.fsencode(n) for n in names]
    for number, name in enumerate(names):
        for below in (b"", b"sub/" + names[-1 - number][:240] + b" dir"):
            directory = os.path.join(os.fsencode(top), below)
            os.makedirs(directory, exist_ok=True)
            size = SIZES[(number + len(below)) % len(SIZES)]
            at = rng.randrange(len(block) - size)
            with open(os.path.join(directory, name + b".f"), "wb") as f:
                f.write(block[at:at + size])
    os.makedirs(os.path.join(os.fsencode(top), b"empty/emptier"))
    harness.open_up(top)
    for base, dirs, _ in os.walk(os.fsencode(top)):
        os.chmod(base, 0o777)
    return top


def digests(top):
    """{name below top: digest, or None for a directory}"""
    top = os.fsencode(top)
    found = {}
    for base, dirs, files in os.walk(top):
        for name in dirs:
            found[os.path.relpath(os.path.join(base, name), top)] = None
        for name in files:
            path = os.path.join(base, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, top)] = hashlib.sha256(
                    f.read()).hexdigest()
    return found


@pytest.fixture(scope="module")
def wild_tree(shared):
    return make_tree(shared / "wild", WILD, 1)


@pytest.fixture(scope="module")
def many_dirs(shared):
    """Directories side by side, and below each other; one has more in it than
    servers tell at once."""
    top = shared / "many"
    for i in range(450):
        place = top / (f"n{i // 100}/{i // 10 % 10}/{i}" if i % 3 else
                       f"d{i}")
        place.mkdir(parents=True)
        (place / "file").write_text(f"{i}")
    for i in range(500):
        (top / "d0" / f"f{i}").write_text(f"{i}")
    harness.open_up(top)
    for base, _, _ in os.walk(top):
        os.chmod(base, 0o777)
    return top


@pytest.fixture(scope="module")
def tame_tree(shared):
    return make_tree(shared / "tame", TAME, 2)


def there_and_back(client, tree, tmp_path, *flags):
    """hpnscp or scp: up, then down again."""
    os.chmod(tmp_path, 0o777)
    done = client.scp(tree, f":{tmp_path}/up", flags=["-r", *flags],
                      timeout=90)
    assert done.rc in (0, 1), done
    assert digests(tmp_path / "up") == digests(tree), done
    done = client.scp(f":{tree}", tmp_path / "down", flags=["-r", *flags],
                      timeout=90)
    assert done.rc in (0, 1), done
    assert digests(tmp_path / "down") == digests(tree), done
    return done


# ---- our client, servers of others -------------------------------------

def test_hpnscp_own_server(sshd, wild_tree, tmp_path):
    there_and_back(Client("hpn", sshd), wild_tree, tmp_path, "-p").ok()


def test_hpnscp_stock_server(shared_servers, wild_tree, tmp_path):
    there_and_back(Client("hpn", shared_servers("stock")), wild_tree,
                   tmp_path, "-p").ok()


def test_hpnscp_stock_sftp_server_without_ssh(wild_tree, tmp_path):
    server = "/usr/lib/openssh/sftp-server"
    if not os.access(server, os.X_OK):
        pytest.skip(f"no {server}")
    hpnscp = harness.hpn("scp")
    run([hpnscp, "-r", "-D", server, wild_tree, f"x:{tmp_path}/up"]).ok()
    assert digests(tmp_path / "up") == digests(wild_tree)


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs another user")
def test_hpnscp_dropbear(dropbear, dropbear_login, wild_tree, tmp_path):
    if not os.access("/usr/lib/sftp-server", os.X_OK):
        pytest.skip("dropbear looks for /usr/lib/sftp-server")
    user = dropbear_login("ed25519")
    there_and_back(Client("hpn", dropbear, user=user), wild_tree,
                   tmp_path).ok()


@pytest.mark.filterwarnings("ignore")
def test_hpnscp_asyncssh(asyncssh_server, tame_tree, tmp_path):
    # No exit status comes from this one's subsystem: scp ends with 1.
    there_and_back(Client("hpn", asyncssh_server), tame_tree, tmp_path)


def test_many_dirs_own_server(sshd, many_dirs, tmp_path):
    there_and_back(Client("hpn", sshd), many_dirs, tmp_path, "-p").ok()


def test_many_dirs_stock_server(shared_servers, many_dirs, tmp_path):
    there_and_back(Client("hpn", shared_servers("stock")), many_dirs,
                   tmp_path, "-p").ok()


@pytest.mark.parametrize("handles", [40, 200])
@pytest.mark.parametrize("whose", ["hpn", "stock"])
def test_many_dirs_few_handles(whose, handles, many_dirs, tmp_path):
    """As many as the limits of the server's process leave it."""
    server = (harness.hpn("sftp-server") if whose == "hpn" else
              "/usr/lib/openssh/sftp-server")
    if not server or not os.access(server, os.X_OK):
        pytest.skip(f"no {server}")
    limited = tmp_path / "limited"
    limited.write_text(f"#!/bin/sh\nulimit -n {handles}\nexec {server}\n")
    limited.chmod(0o755)
    for source, target in ((many_dirs, f"x:{tmp_path}/up"),
                           (f"x:{many_dirs}", tmp_path / "down")):
        run([harness.hpn("scp"), "-r", "-D", limited, source, target],
            timeout=90).ok()
    assert digests(tmp_path / "up") == digests(many_dirs)
    assert digests(tmp_path / "down") == digests(many_dirs)


@pytest.mark.filterwarnings("ignore")
def test_many_dirs_asyncssh(asyncssh_server, many_dirs, tmp_path):
    there_and_back(Client("hpn", asyncssh_server), many_dirs, tmp_path)


def test_many_dirs_hpnsftp(sshd, many_dirs, tmp_path):
    batch = tmp_path / "batch"
    (tmp_path / "up").mkdir()
    (tmp_path / "down").mkdir()
    batch.write_text(f"put -R {many_dirs} {tmp_path}/up\n"
                     f"get -R {many_dirs} {tmp_path}/down\n")
    client = Client("hpn", sshd)
    run([harness.hpn("sftp"), *client.options(), "-P", sshd.port, "-b", batch,
         f"{ME}@127.0.0.1"], timeout=90).ok()
    assert digests(tmp_path / "up/many") == digests(many_dirs)
    assert digests(tmp_path / "down/many") == digests(many_dirs)


# ---- clients of others, our server -------------------------------------

@pytest.mark.parametrize("flags", [[], ["-O"]], ids=["sftp", "rcp"])
def test_stock_scp(sshd, tame_tree, tmp_path, flags):
    need("scp")
    there_and_back(Client("stock", sshd), tame_tree, tmp_path, *flags).ok()


def test_stock_sftp(sshd, wild_tree, tmp_path):
    client = Client("stock", sshd)
    batch = tmp_path / "batch"
    batch.write_text(f"put -R {wild_tree} {tmp_path}/up\n"
                     f"get -R {wild_tree} {tmp_path}/down\n")
    (tmp_path / "up").mkdir()
    (tmp_path / "down").mkdir()
    run([need("sftp"), *client.options(), "-P", sshd.port, "-b", batch,
         f"{ME}@127.0.0.1"]).ok()
    assert digests(tmp_path / "up/wild") == digests(wild_tree)
    assert digests(tmp_path / "down/wild") == digests(wild_tree)


def test_psftp(sshd, keys, tame_tree, tmp_path):
    ppk, home = tmp_path / "key.ppk", tmp_path / "home"
    home.mkdir()
    env = clean_env(HOME=home)
    run([need("puttygen"), keys.path("ed25519"), "-O", "private", "-o",
         ppk], env=env).ok()
    fingerprint = run([need("ssh-keygen"), "-l", "-f",
                       f"{keys.path('ed25519-host')}.pub"]).ok()
    batch = tmp_path / "batch"
    batch.write_text(f"put -r {tame_tree} {tmp_path}/up\n"
                     f"get -r {tame_tree} {tmp_path}/down\nquit\n")
    run([need("psftp"), "-batch", "-i", ppk, "-P", sshd.port, "-l", ME,
         "-hostkey", fingerprint.text.split()[1], "-b", batch, "127.0.0.1"],
        env=env).ok()
    assert digests(tmp_path / "up") == digests(tame_tree)
    assert digests(tmp_path / "down") == digests(tame_tree)


def test_lftp(sshd, tame_tree, tmp_path):
    lftp = need("lftp")
    client = Client("stock", sshd)
    ssh = " ".join([need("ssh"), "-a", "-x", *client.options()])
    home = tmp_path / "home"
    home.mkdir()
    script = (f"set sftp:connect-program '{ssh}'; set net:max-retries 2; "
              f"open -p {sshd.port} -u {ME}, sftp://127.0.0.1; "
              f"mirror -R -P4 {tame_tree} {tmp_path}/up; "
              f"mirror -P4 {tame_tree} {tmp_path}/down; quit")
    run([lftp, "-c", script], env=clean_env(HOME=home), timeout=90).ok()
    assert digests(tmp_path / "up") == digests(tame_tree)
    assert digests(tmp_path / "down") == digests(tame_tree)


def test_rclone(sshd, keys, tame_tree, tmp_path):
    rclone = need("rclone")
    remote = (f":sftp,host=127.0.0.1,port={sshd.port},user={ME},"
              f"key_file={keys.path('ed25519')},"
              f"known_hosts_file={sshd.known_hosts}:")
    env = clean_env(HOME=tmp_path, RCLONE_CONFIG="/dev/null")
    for source, target in ((str(tame_tree), f"{remote}{tmp_path}/up"),
                           (f"{remote}{tame_tree}", f"{tmp_path}/down")):
        run([rclone, "copy", "--create-empty-src-dirs", "--transfers", "8",
             source, target], env=env, timeout=90).ok()
    assert digests(tmp_path / "up") == digests(tame_tree)
    assert digests(tmp_path / "down") == digests(tame_tree)


def test_paramiko(sshd, keys, wild_tree, tmp_path):
    paramiko = pytest.importorskip("paramiko")
    client = paramiko.SSHClient()
    client.load_host_keys(str(sshd.known_hosts))
    client.connect("127.0.0.1", sshd.port, ME, timeout=10,
                   key_filename=str(keys.path("ed25519")),
                   allow_agent=False, look_for_keys=False)
    try:
        sftp = client.open_sftp()
        for name, digest in digests(wild_tree).items():
            try:
                path = name.decode()
            except UnicodeDecodeError:
                continue  # it knows UTF-8 only
            if digest is None or len(path.encode()) > 255:
                continue
            sftp.get(f"{wild_tree}/{path}", str(tmp_path / "got"))
            sftp.put(str(tmp_path / "got"), f"{tmp_path}/put")
            with open(tmp_path / "put", "rb") as f:
                assert hashlib.sha256(f.read()).hexdigest() == digest
    finally:
        client.close()
