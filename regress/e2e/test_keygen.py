# SPDX-License-Identifier: ISC
"""hpnssh-keygen: every mode, and each format in both directions with the
installed ssh-keygen."""

import base64
import os
import re
import stat
import subprocess

import pytest

from terminal import Terminal

from harness import IS_ROOT, have, hpn, run, stock

KEYGEN = hpn("ssh-keygen")

pytestmark = pytest.mark.skipif(not have("hpn", "ssh-keygen"),
                                reason="hpnssh-keygen is not built")
needs_stock = pytest.mark.skipif(not have("stock", "ssh-keygen"),
                                 reason="no stock ssh-keygen is installed")

KINDS = {"ed25519": ["-t", "ed25519"],
         "ecdsa256": ["-t", "ecdsa"],
         "ecdsa384": ["-t", "ecdsa", "-b", "384"],
         "ecdsa521": ["-t", "ecdsa", "-b", "521"],
         "rsa": ["-t", "rsa", "-b", "2048"]}
CIPHERS = ["aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-cbc",
           "aes256-cbc", "aes128-gcm@openssh.com", "aes256-gcm@openssh.com",
           "chacha20-poly1305@openssh.com"]


def keygen(*args, **kw):
    return run([KEYGEN, *args], **kw)


def stock_keygen(*args, **kw):
    return run([stock("ssh-keygen"), *args], **kw)


def make(path, *args, tool=keygen, passphrase=""):
    tool("-q", "-N", passphrase, "-a", "1", "-f", path, *args).ok()
    return path


def key_of(line):
    """Type and blob of a public line; comments may differ."""
    return line.split()[:2]


def public(tool, path, passphrase=""):
    return key_of(tool("-y", "-P", passphrase, "-f", path).ok().text)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """One key of each kind, made here, with the comment `me here`."""
    top = tmp_path_factory.mktemp("pool")
    return {kind: make(top / kind, *args, "-C", "me here")
            for kind, args in KINDS.items()}


# ---- generating ---------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
def test_generate(tmp_path, kind):
    path = tmp_path / "key"
    made = keygen(*KINDS[kind], "-N", "", "-C", "a comment", "-f", path).ok()
    name = KINDS[kind][1]
    lines = made.text.splitlines()
    assert lines[0] == f"Generating public/private {name} key pair."
    assert f"Your identification has been saved in {path}" in lines
    assert f"Your public key has been saved in {path}.pub" in lines
    at = lines.index("The key fingerprint is:")
    assert re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43} a comment", lines[at + 1])
    assert lines[at + 2] == "The key's randomart image is:"
    assert len(lines) == at + 3 + 11
    assert mode_of(path) == 0o600 and mode_of(f"{path}.pub") == 0o644
    assert (tmp_path / "key.pub").read_text().endswith(" a comment\n")
    assert made.err == b""


def test_default_is_ed25519_with_user_and_host(tmp_path):
    make(tmp_path / "key")
    line = (tmp_path / "key.pub").read_text()
    assert re.fullmatch(r"ssh-ed25519 \S+ \S+@\S+\n", line)


def test_quiet_says_nothing(tmp_path):
    done = keygen("-q", "-N", "", "-f", tmp_path / "key").ok()
    assert done.out == b"" and done.err == b""


def test_overwrite_is_asked_for(tmp_path):
    path = make(tmp_path / "key")
    before = path.read_bytes()
    for answer in (b"n\n", b"\n", b""):
        refused = keygen("-N", "", "-f", path, stdin=answer)
        assert refused.rc == 1, refused
        assert f"{path} already exists." in refused.text
        assert "Overwrite (y/n)?" in refused.text
        assert path.read_bytes() == before
    keygen("-N", "", "-f", path, stdin=b"y\n").ok()
    assert path.read_bytes() != before


def test_file_name_and_passphrase_are_asked_for(tmp_path):
    path = tmp_path / "asked"
    asked = keygen("-a", "1", stdin=f"{path}\nsecret\nsecret\n".encode()).ok()
    assert "Enter file in which to save the key (" in asked.text
    assert "Enter passphrase for" in asked.errors
    assert "Enter same passphrase again:" in asked.errors
    assert public(keygen, path, "secret")
    assert keygen("-y", "-f", path, stdin=b"wrong\n").rc == 255


def test_passphrases_that_differ_are_asked_again(tmp_path):
    path = tmp_path / "key"
    done = keygen("-a", "1", "-f", path, stdin=b"one\ntwo\ntwo\ntwo\n").ok()
    assert "Passphrases do not match.  Try again." in done.text
    assert public(keygen, path, "two")


@pytest.fixture
def asked(tmp_path):
    """A program that is asked in place of the terminal: its environment for
    answers, and the questions so far."""
    script, log = tmp_path / "askpass", tmp_path / "questions"

    def env(*answers, **more):
        left = tmp_path / "answers"
        left.write_text("".join(a + "\n" for a in answers))
        script.write_text(f'#!/bin/sh\necho "$1" >> {log}\n'
                          f'head -n 1 {left}\nsed -i 1d {left}\n')
        script.chmod(0o755)
        return {**os.environ, "SSH_ASKPASS": str(script),
                "SSH_ASKPASS_REQUIRE": "force", **more}
    env.questions = lambda: log.read_text().splitlines()
    return env


def test_passphrases_by_askpass(tmp_path, asked):
    """As stock's: each passphrase, of a script without a terminal too."""
    path = tmp_path / "key"
    keygen("-q", "-a", "1", "-f", path, stdin=b"",
           env=asked("one", "one")).ok()
    assert public(keygen, path, "one")
    keygen("-p", "-a", "1", "-f", path, stdin=b"",
           env=asked("one", "two", "two")).ok()
    assert public(keygen, path, "two")
    keygen("-y", "-f", path, stdin=b"", env=asked("two")).ok()
    assert len(asked.questions()) == 6
    assert asked.questions()[3] == "Enter new passphrase (empty for no " \
        "passphrase): "


def test_askpass_where_there_is_a_display(tmp_path, asked):
    path = make(tmp_path / "key", passphrase="one")
    env = asked("one", SSH_ASKPASS_REQUIRE="", DISPLAY=":none")
    keygen("-y", "-f", path, stdin=b"wrong\n", env=env).ok()
    env["SSH_ASKPASS_REQUIRE"] = "never"
    keygen("-y", "-f", path, stdin=b"one\n", env=env).ok()


def test_no_key_without_an_answer(tmp_path, asked):
    env = asked()
    (tmp_path / "askpass").write_text("#!/bin/sh\nexit 1\n")
    failed = keygen("-q", "-f", tmp_path / "key", stdin=b"", env=env)
    assert failed.rc == 255 and not (tmp_path / "key").exists()


@pytest.mark.parametrize("args, text", [
    (["-t", "foo"], "unknown key type foo"),
    (["-t", "dsa"], "not available"),
    (["-t", "rsa", "-b", "1023"], "minimum is 1024 bits"),
    (["-t", "rsa", "-b", "16385"], "maximum is 16384 bits"),
    (["-t", "ecdsa", "-b", "257"], "256, 384 or 521"),
    (["-b", "many"], "many"),
    (["-a", "0"], "rounds"),
    (["-Z", "rot13"], "rot13"),
    (["-Z", "none"], "none"),
    (["-m", "JSON"], "JSON"),
    (["-E", "crc32", "-l"], "crc32"),
    (["-E", "sha224", "-l"], "sha224"),
    (["-E", "blake2b-512", "-l"], "blake2b-512"),
    (["-y", "-p"], "together"),
    (["-O", "verify-required"], "-O is not available"),
    (["-h"], "-h is not available"),
    (["-I", "x"], "-I is not available"),
    (["-l", "-n", "x"], "-n is not available"),
    (["-L", "-s", "x"], "-s is not available"),
    (["-y", "-U"], "-U is not available"),
    (["-A", "-u"], "-u is not available"),
    (["-p", "-V", "+1d"], "-V is not available"),
    (["-Q", "-z", "1"], "-z is not available"),
    (["-k", "-f", "x", "-r", "y"], "-r is not available"),
])
def test_refused(tmp_path, args, text):
    refused = keygen(*args, cwd=tmp_path)
    assert refused.rc == 255, refused
    assert text in refused.errors and refused.errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("args", [["-x"], ["-f"], ["word"]])
def test_usage(args):
    wrong = keygen(*args)
    assert wrong.rc == 1 and "usage: hpnssh-keygen" in wrong.errors


def test_version():
    assert keygen("-V").ok().errors.startswith("OpenSSH_10.")


# ---- nothing is lost ----------------------------------------------------

def test_missing_directory(tmp_path):
    path = tmp_path / "no" / "key"
    failed = keygen("-q", "-N", "", "-f", path)
    assert failed.rc == 1
    assert "No such file or directory" in failed.errors


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_directory_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        failed = keygen("-q", "-N", "", "-f", tmp_path / "key")
        assert failed.rc == 1 and "Permission denied" in failed.errors
    finally:
        tmp_path.chmod(0o700)


def test_public_half_cannot_be_saved(tmp_path):
    """The private file must not stay alone."""
    (tmp_path / "key.pub").mkdir()
    failed = keygen("-q", "-N", "", "-f", tmp_path / "key")
    assert failed.rc == 1 and "key.pub" in failed.errors
    assert [p.name for p in tmp_path.iterdir()] == ["key.pub"]


def test_full_disk(tmp_path):
    """No byte may be written: as on a full disk, but without root."""
    path = make(tmp_path / "key", "-C", "old")
    before = path.read_bytes(), (tmp_path / "key.pub").read_bytes()
    args = " ".join(["ulimit -f 0; trap '' XFSZ; exec", KEYGEN])
    for change in ("-p -N new1234", "-c -C new"):
        failed = run(["sh", "-c", f"{args} {change} -f '{path}'"])
        assert failed.rc == 1, failed
        assert "File too large" in failed.errors
    failed = run(["sh", "-c", f"{args} -q -N '' -f '{tmp_path}/new'"])
    assert failed.rc == 1
    assert (path.read_bytes(), (tmp_path / "key.pub").read_bytes()) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["key", "key.pub"]


def test_full_output(pool):
    with open("/dev/full", "wb") as full:
        failed = run([KEYGEN, "-l", "-f", pool["ed25519"]], stdout=full)
    assert failed.rc == 255 and "No space left" in failed.errors


def test_key_to_stdout():
    done = keygen("-q", "-N", "", "-f", "/dev/stdout", stdin=b"y\n")
    assert "-----END OPENSSH PRIVATE KEY-----" in done.text


# ---- with the stock tool, both directions -------------------------------

@needs_stock
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("passphrase", ["", "päss wörd", "x" * 300])
def test_stock_reads_ours(tmp_path, kind, passphrase):
    path = make(tmp_path / "key", *KINDS[kind], passphrase=passphrase)
    assert public(stock_keygen, path, passphrase) == \
        key_of((tmp_path / "key.pub").read_text())


@needs_stock
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("passphrase", ["", "päss wörd", "x" * 300])
def test_ours_reads_stock(tmp_path, kind, passphrase):
    path = make(tmp_path / "key", *KINDS[kind], "-C", "from stock",
                tool=stock_keygen, passphrase=passphrase)
    shown = keygen("-y", "-P", passphrase, "-f", path).ok().text
    assert shown == (tmp_path / "key.pub").read_text()


@needs_stock
@pytest.mark.parametrize("cipher", CIPHERS)
def test_ciphers(tmp_path, cipher):
    ours = make(tmp_path / "ours", "-Z", cipher, passphrase="secret")
    theirs = make(tmp_path / "theirs", "-Z", cipher, tool=stock_keygen,
                  passphrase="secret")
    for path in (ours, theirs):
        line = key_of(path.with_suffix(".pub").read_text())
        for tool in (keygen, stock_keygen):
            assert public(tool, path, "secret") == line
        wrong = keygen("-y", "-P", "sacred", "-f", path)
        assert wrong.rc == 255
        assert f'Load key "{path}": incorrect passphrase' in wrong.errors


@needs_stock
@pytest.mark.parametrize("kind", ["ecdsa256", "ecdsa384", "ecdsa521", "rsa"])
@pytest.mark.parametrize("form", ["PEM", "PKCS8"])
@pytest.mark.parametrize("passphrase", ["", "secret"])
def test_pem(tmp_path, kind, form, passphrase):
    for tool in (keygen, stock_keygen):
        path = make(tmp_path / tool.__name__, *KINDS[kind], "-m", form,
                    tool=tool, passphrase=passphrase)
        assert "OPENSSH" not in path.read_text().splitlines()[0]
        line = key_of(path.with_suffix(".pub").read_text())
        for reader in (keygen, stock_keygen):
            assert public(reader, path, passphrase) == line
        if passphrase:
            assert keygen("-y", "-P", "wrong", "-f", path).rc == 255


def test_ed25519_as_pkcs8(tmp_path):
    path = make(tmp_path / "key", "-m", "PKCS8")
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert public(keygen, path) == key_of((tmp_path / "key.pub").read_text())


def test_short_passphrase_for_pem(tmp_path):
    refused = keygen("-q", "-m", "PEM", "-t", "rsa", "-N", "1234", "-f",
                     tmp_path / "key")
    assert refused.rc == 255 and "too short" in refused.errors
    assert not list(tmp_path.iterdir())


# ---- fingerprints -------------------------------------------------------

@needs_stock
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("digest", ["sha256", "md5", "SHA512"])
def test_fingerprint_like_stock(pool, kind, digest):
    for suffix in ("", ".pub"):
        args = ["-lv", "-E", digest, "-f", f"{pool[kind]}{suffix}"]
        assert keygen(*args).ok().text == stock_keygen(*args).ok().text


@needs_stock
def test_randomart_of_many_keys(tmp_path):
    """Pictures that touch every wall and corner."""
    lines = []
    for i in range(60):
        blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + os.urandom(32)
        text = base64.b64encode(blob).decode()
        lines.append(f"ssh-ed25519 {text} number {i}\n")
    path = tmp_path / "many"
    path.write_text("".join(lines))
    assert keygen("-lvf", path).ok().text == \
        stock_keygen("-lvf", path).ok().text


@needs_stock
def test_fingerprint_of_files_with_more_than_keys(tmp_path, pool):
    key = pool["ed25519"].with_suffix(".pub").read_text().strip()
    bare = " ".join(key.split()[:2])
    path = tmp_path / "file"
    path.write_text(f"# remark\n\n{key}\n"
                    f'command="echo \\"a b\\"",no-pty {key}\n'
                    f"  {bare} c\nhost.example.org {bare}\njunk\n")
    ours = keygen("-lf", path).ok()
    assert ours.text == stock_keygen("-lf", path).ok().text
    dos = path.read_bytes().replace(b"\n", b"\r\n")
    assert keygen("-lf", "-", stdin=dos).ok().text == ours.text


def test_fingerprint_of_an_encrypted_key(tmp_path):
    """Needs no passphrase, as the public half is in the clear."""
    path = make(tmp_path / "key", passphrase="secret")
    want = keygen("-lf", path).ok().text.split()[1]
    path.with_suffix(".pub").unlink()
    assert keygen("-lf", path).ok().text.split()[1] == want


def test_fingerprint_of_no_key(tmp_path):
    path = tmp_path / "junk"
    path.write_text("no key\n")
    failed = keygen("-lf", path)
    assert failed.rc == 255
    assert f"{path} is not a public key file." in failed.errors
    failed = keygen("-lf", tmp_path / "none")
    assert failed.rc == 255 and "No such file" in failed.errors


def test_comment_is_escaped(tmp_path, pool):
    key = pool["ed25519"].with_suffix(".pub").read_text().split()
    path = tmp_path / "evil.pub"
    path.write_text(f"{key[0]} {key[1]} \x1b]0;title\x07\n")
    assert b"\x1b" not in keygen("-lf", path).ok().out


def test_lines_of_files_on_a_terminal(tmp_path):
    """-F and -y copy lines for files; a terminal gets them escaped."""
    key = tmp_path / "k"
    make(key, "-t", "ed25519", "-C", "a\x1b[2J")
    known = tmp_path / "known"
    known.write_text("h " + (tmp_path / "k.pub").read_text())
    for args in (["-F", "h", "-f", known], ["-y", "-P", "", "-f", key]):
        assert b"\x1b[2J\n" in keygen(*args).ok().out
        with Terminal([hpn("ssh-keygen"), *map(str, args)]) as terminal:
            assert terminal.wait() == 0
            assert b"\x1b" not in terminal.shown
            assert b"a\\033[2J" in terminal.shown


# ---- changing -----------------------------------------------------------

def test_change_passphrase(tmp_path):
    path = make(tmp_path / "key", "-C", "my comment")
    line = public(keygen, path)
    done = keygen("-p", "-a", "1", "-P", "", "-N", "first", "-f", path).ok()
    assert "Key has comment 'my comment'" in done.text
    assert "Your identification has been saved with the new passphrase." \
        in done.text
    assert public(keygen, path, "first") == line
    before = path.read_bytes()
    wrong = keygen("-p", "-P", "second", "-N", "third", "-f", path)
    assert wrong.rc == 255 and "incorrect passphrase" in wrong.errors
    assert path.read_bytes() == before
    # asked for: the old one, the new one twice
    keygen("-p", "-a", "1", "-f", path, stdin=b"first\nnext\nnext\n").ok()
    assert public(keygen, path, "next") == line
    keygen("-p", "-P", "next", "-N", "", "-m", "PKCS8", "-f", path).ok()
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    keygen("-p", "-P", "", "-N", "", "-f", path).ok()
    assert public(keygen, path) == line
    assert keygen("-y", "-f", path).text.endswith(" my comment\n")
    assert mode_of(path) == 0o600


def test_change_comment(tmp_path):
    path = make(tmp_path / "key", "-C", "old one", passphrase="secret")
    line = public(keygen, path, "secret")
    done = keygen("-c", "-a", "1", "-P", "secret", "-C", "new one",
                  "-f", path).ok()
    assert done.text == "Old comment: old one\nComment 'new one' applied\n"
    assert keygen("-y", "-P", "secret", "-f", path).text == \
        " ".join([*line, "new one\n"])
    assert (tmp_path / "key.pub").read_text() == " ".join([*line, "new one\n"])


def test_comment_of_pem(tmp_path):
    path = make(tmp_path / "key", "-t", "rsa", "-m", "PEM")
    line = public(keygen, path)
    done = keygen("-c", "-C", "x", "-f", path).ok()
    assert done.text == "No existing comment\nComment 'x' applied\n"
    assert path.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY")
    assert keygen("-y", "-f", path).text == " ".join([*line, "x\n"])


def test_open_permissions(pool):
    path = pool["ed25519"]
    path.chmod(0o644)
    try:
        refused = keygen("-y", "-f", path)
    finally:
        path.chmod(0o600)
    assert refused.rc == 255 and refused.out == b""
    assert "UNPROTECTED PRIVATE KEY FILE!" in refused.errors
    assert f"Permissions 0644 for '{path}' are too open." in refused.errors


@pytest.mark.parametrize("args", [["-y"], ["-p", "-N", "x"], ["-c"], ["-e"]])
def test_no_such_key(tmp_path, args):
    failed = keygen(*args, "-f", tmp_path / "none")
    assert failed.rc == 255 and "No such file or directory" in failed.errors


def test_broken_key(tmp_path, pool):
    text = pool["ed25519"].read_text()
    path = tmp_path / "broken"
    for content in (text[:200], text.replace("A", "B", 1), "", "\0\0\0",
                    text.replace("BEGIN", "BEGUN")):
        path.write_text(content)
        path.chmod(0o600)
        failed = keygen("-y", "-P", "", "-f", path)
        assert failed.rc == 255 and failed.errors.count("\n") == 1, failed


# ---- host keys ----------------------------------------------------------

def host_key_dir(prefix):
    """Where -A writes under a prefix: told by what it complains about."""
    failed = keygen("-A", "-f", prefix)
    found = re.search(r'"(.*)/ssh_host_rsa_key"', failed.errors)
    assert failed.rc == 1 and found, failed
    return found.group(1)


def test_host_keys(tmp_path):
    directory = host_key_dir(tmp_path)
    assert directory.startswith(str(tmp_path) + "/")
    os.makedirs(directory)
    made = keygen("-A", "-f", tmp_path).ok()
    assert made.text == \
        "hpnssh-keygen: generating new host keys: RSA ECDSA ED25519 " \
        "MLDSA44-ED25519\n"
    names = [f"ssh_host_{t}_key"
             for t in ("ecdsa", "ed25519", "mldsa44_ed25519", "rsa")]
    assert sorted(os.listdir(directory)) == \
        sorted(names + [n + ".pub" for n in names])
    for name in names:
        assert mode_of(f"{directory}/{name}") == 0o600
    assert keygen("-A", "-f", tmp_path).ok().out == b""
    # an empty file is one that was never finished
    keep = open(f"{directory}/{names[0]}").read()
    open(f"{directory}/{names[1]}", "w").close()
    assert "ED25519" in keygen("-A", "-f", tmp_path).ok().text
    assert public(keygen, f"{directory}/{names[1]}")[0] == "ssh-ed25519"
    assert open(f"{directory}/{names[0]}").read() == keep


# ---- converting ---------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["RFC4716", "PKCS8", "PEM"])
def test_export_and_import(tmp_path, pool, kind, form):
    exported = keygen("-e", "-m", form, "-f", pool[kind])
    if kind == "ed25519" and form == "PEM":
        assert exported.rc == 255 and "ED25519" in exported.errors
        return
    path = tmp_path / "exported"
    path.write_bytes(exported.ok().out)
    line = key_of(pool[kind].with_suffix(".pub").read_text())
    assert key_of(keygen("-i", "-m", form, "-f", path).ok().text) == line
    if kind == "ed25519" and form == "PKCS8":
        return  # stock learned that after Debian 12
    if have("stock", "ssh-keygen"):
        # stock's -i takes PEM of RSA only, although its -e writes more
        reads = "PKCS8" if form == "PEM" and kind != "rsa" else form
        again = stock_keygen("-i", "-m", reads, "-f", path).ok()
        assert key_of(again.text) == line
        theirs = stock_keygen("-e", "-m", form, "-f", pool[kind]).ok()
        path.write_bytes(theirs.out)
        assert key_of(keygen("-i", "-m", form, "-f", path).ok().text) == line


def test_export_of_encrypted_pem(tmp_path):
    """The public half is not in the clear there."""
    path = make(tmp_path / "key", *KINDS["ecdsa256"], "-m", "PKCS8",
                passphrase="secret")
    want = keygen("-e", "-f", path).ok().text
    path.with_suffix(".pub").unlink()
    assert keygen("-e", "-P", "secret", "-f", path).ok().text == want
    assert keygen("-e", "-f", path, stdin=b"secret\n").ok().text == want
    assert keygen("-e", "-P", "wrong", "-f", path).rc == 255


SSHCOM = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"


def sshcom(numbers, cipher=b"none", end="\n", tail=""):
    """A private key as ssh.com's programs write it."""
    n, e, d, p, q, iqmp = numbers

    def text(s):
        return len(s).to_bytes(4, "big") + s

    def number(x):
        bits = x.bit_length()
        return bits.to_bytes(4, "big") + x.to_bytes((bits + 7) // 8, "big")

    body = (text(b"if-modn{sign{rsa-pkcs1-sha1},encrypt{rsa-pkcs1v2-oaep}}") +
            text(cipher) + bytes(12) +
            e.to_bytes(1 if e < 256 else 3, "big") +
            b"".join(map(number, (d, n, iqmp, q, p))))
    body = b"\x3f\x6f\xf9\xeb" + (len(body) + 8).to_bytes(4, "big") + body
    if tail:
        body += bytes(-len(body) % 3)
    coded = base64.b64encode(body).decode() + tail
    lines = [SSHCOM, "Subject: me", 'Comment: "goes on \\', 'here too"',
             *(coded[i:i + 70] for i in range(0, len(coded), 70)),
             SSHCOM.replace("BEGIN", "END"), ""]
    return end.join(lines)


def rsa_numbers(path):
    """n, e, d, p, q and the coefficient, out of PKCS#1."""
    der = base64.b64decode("".join(path.read_text().splitlines()[1:-1]))
    at, found = 4, []
    while at < len(der):
        size, at = der[at + 1], at + 2
        if size > 127:
            size, at = int.from_bytes(der[at:at + size - 128], "big"), \
                at + size - 128
        found.append(int.from_bytes(der[at:at + size], "big"))
        at += size
    return found[1:6] + [found[8]]


@pytest.fixture(scope="module")
def pkcs1(tmp_path_factory):
    path = tmp_path_factory.mktemp("pkcs1") / "rsa"
    return make(path, "-t", "rsa", "-b", "2048", "-m", "PEM")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_import_of_sshcom(tmp_path, pkcs1, end):
    numbers = rsa_numbers(pkcs1)
    assert numbers[1] == 65537
    path = tmp_path / "sshcom"
    path.write_bytes(sshcom(numbers, end=end).encode())
    done = keygen("-i", "-f", path).ok()
    assert done.text == pkcs1.read_text()
    if have("stock", "ssh-keygen"):
        assert stock_keygen("-i", "-f", path).ok().text == done.text


def test_import_of_odd_sshcom(tmp_path, pkcs1):
    """A padding that is too long; an exponent of one byte."""
    numbers = rsa_numbers(pkcs1)
    path = tmp_path / "sshcom"
    path.write_text(sshcom(numbers, tail="==="))
    assert keygen("-i", "-f", path).ok().text == pkcs1.read_text()
    n, _, _, p, q, iqmp = numbers
    e = next(x for x in range(31, 200, 2)
             if all((f - 1) % d for f in (p, q) for d in range(2, x + 1)
                    if x % d == 0))
    odd = (n, e, pow(e, -1, (p - 1) * (q - 1)), p, q, iqmp)
    path.write_text(sshcom(odd))
    pem = tmp_path / "pem"
    pem.write_text(keygen("-i", "-f", path).ok().text)
    assert rsa_numbers(pem)[:2] == [n, e]


def test_refused_sshcom(tmp_path, pkcs1):
    numbers = rsa_numbers(pkcs1)
    path = tmp_path / "sshcom"
    good = sshcom(numbers)
    broken = list(numbers)
    broken[2] += 2
    lines = good.splitlines()
    for text in (sshcom(numbers, cipher=b"3des-cbc"), sshcom(broken),
                 "\n".join(lines[:8] + lines[-1:]), "\n".join(lines[:8]),
                 good.replace("P2/5", "P2/6")):
        path.write_text(text)
        failed = keygen("-i", "-f", path)
        assert failed.rc == 255 and failed.errors.count("\n") == 1, failed
        assert not failed.text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_import_with_line_ends(tmp_path, pool, end):
    text = keygen("-e", "-f", pool["rsa"]).ok().text
    path = tmp_path / "exported"
    path.write_bytes(text.replace("\n", end).encode())
    assert key_of(keygen("-i", "-f", path).ok().text) == key_of(
        pool["rsa"].with_suffix(".pub").read_text())


def test_import_of_junk(tmp_path):
    path = tmp_path / "junk"
    path.write_text("junk\n")
    for form in ("RFC4716", "PKCS8", "PEM"):
        failed = keygen("-i", "-m", form, "-f", path)
        assert failed.rc == 255 and failed.errors.count("\n") == 1


# ---- keys at work -------------------------------------------------------

@needs_stock
@pytest.mark.parametrize("kind", KINDS)
def test_stock_signs_with_ours(tmp_path, pool, kind):
    """The private half is right, not only the public one."""
    signers = tmp_path / "signers"
    signers.write_text(
        "me " + pool[kind].with_suffix(".pub").read_text())
    data = tmp_path / "data"
    data.write_bytes(os.urandom(1000))
    stock_keygen("-Y", "sign", "-n", "test", "-f", pool[kind], data).ok()
    with open(data, "rb") as stdin:
        subprocess.run([stock("ssh-keygen"), "-Y", "verify", "-n", "test",
                        "-I", "me", "-f", signers, "-s", f"{data}.sig"],
                       stdin=stdin, check=True, timeout=30)


# ---- moduli -------------------------------------------------------------

@pytest.fixture(scope="module")
def candidates(tmp_path_factory):
    """Lines of the sieve, few enough to be tested in a test."""
    path = tmp_path_factory.mktemp("moduli") / "all"
    done = keygen("-M", "generate", "-O", "bits=640", path).ok()
    assert "candidates for safe primes of 640 bits" in done.errors
    lines = path.read_text().splitlines()
    assert len(lines) > 10000
    assert all(re.fullmatch(r"\d{14} 4 2 0 638 0 [0-9A-F]{160}", line)
               for line in lines)
    few = path.with_name("few")
    few.write_text("# a comment\n" + "\n".join(lines[:1500]) + "\n")
    return few


def primes(path):
    """Moduli of a file, each once."""
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted({line.split()[6] for line in lines})


def test_screen_moduli(candidates, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    keygen("-M", "screen", "-f", candidates, "-O", "generator=5", whole).ok()
    for line in whole.read_text().splitlines():
        fields = line.split()
        assert fields[1:6] == ["2", "6", "64", "639", "5"]
        p = int(fields[6], 16)
        assert pow(2, p - 1, p) == 1 and pow(2, p // 2 - 1, p // 2) == 1
    # In pieces, each of which goes on where the one before it ended.
    note = tmp_path / "note"
    for count in (1, 100, 700, 10000):
        keygen("-M", "screen", "-q", "-O", f"lines={count}", "-O",
               f"checkpoint={note}", "-f", candidates, out).ok()
    assert note.read_text() == "1501\n"
    assert primes(out) == primes(whole)
    # From a line on, out of a pipe.
    rest = tmp_path / "rest"
    keygen("-M", "screen", "-q", "-O", "start-line=1400", rest,
           stdin=candidates.read_bytes()).ok()
    assert set(primes(rest)) <= set(primes(whole))


# RFC 2409, 6.1. By chance the candidates may have no safe prime among them.
SAFE_768 = ("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74"
            "020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437"
            "4FE1356D6D51C245E485B576625E7EC6F44C42E9A63A3620FFFFFFFFFFFFFFFF")


@needs_stock
def test_screening_is_divided_as_by_stock(tmp_path):
    """start-line counts from 0, lines=0 is all, and trials are added up."""
    three = tmp_path / "three"
    three.write_text("".join(
        f"2024010100000{i} 2 6 100 767 2 {SAFE_768}\n" for i in range(3)))
    for start in range(4):
        for lines in range(4):
            found = []
            for tool in keygen, stock_keygen:
                out = tmp_path / f"out{len(found)}"
                out.unlink(missing_ok=True)
                tool("-M", "screen", "-f", three, "-O", f"start-line={start}",
                     "-O", f"lines={lines}", out).ok()
                found.append(out.read_text().splitlines())
            assert len(found[0]) == len(found[1]), (start, lines)
    keygen("-M", "screen", "-q", "-f", three, out).ok()
    assert {line.split()[3] for line in out.read_text().splitlines()} == {
        "164"}


@needs_stock
def test_screen_moduli_as_stock_does(candidates, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    keygen("-M", "screen", "-f", candidates, one).ok()
    stock_keygen("-M", "screen", "-f", candidates, two).ok()
    # That one leaves out primes for which it finds no small generator.
    assert set(primes(two)) <= set(primes(one))


def test_start_of_candidates(tmp_path):
    start = "5" + "0" * 159
    path = tmp_path / "out"
    keygen("-M", "generate", "-q", "-O", "bits=640", "-O", f"start={start}",
           path).ok()
    with path.open() as f:
        first = int(f.readline().split()[6], 16)
    assert 0 < first - int(start, 16) < 1 << 20


@pytest.mark.parametrize("args", [
    ["generate"], ["generate", "-O", "bits=100", "out"],
    ["generate", "-O", "bits=x", "out"], ["generate", "-O", "foo", "out"],
    ["generate", "-O", "lines=5", "out"], ["screen", "-O", "bits=640", "out"],
    ["screen", "-f", "missing", "out"], ["screen", "-O", "lines=-1", "out"],
    ["screen", "-O", "generator=4", "out"], ["foo", "out"],
    ["screen", "-O", "prime-tests=65", "out"], ["screen", "a", "b"],
    ["generate", "-O", "start=xyz", "out"], ["screen"],
    ["generate", "-O", "bits=640", "-O", "start=55", "bad/out"],
])
def test_moduli_refused(tmp_path, args):
    refused = keygen("-M", *args, cwd=tmp_path)
    assert refused.rc == 255 and refused.errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_messages_name_their_file(tmp_path):
    """One that is full, one that is no file, one that is not there."""
    for args, told in [
            (["-M", "generate", "-O", "bits=640", "/dev/full"],
             "Cannot write /dev/full: No space left on device"),
            (["-M", "screen", "-f", tmp_path, "out"],
             f"Cannot read {tmp_path}: Is a directory"),
            (["-Y", "verify", "-f", "none", "-I", "me", "-n", "file", "-s",
              "nosig"], "signature file nosig: No such file")]:
        refused = keygen(*args, cwd=tmp_path, stdin=b"")
        assert refused.rc == 255 and told in refused.errors, refused


def test_bad_candidates_and_checkpoints(tmp_path):
    note = tmp_path / "note"
    note.write_text("x\n")
    args = ["-M", "screen", "-O", f"checkpoint={note}", tmp_path / "out"]
    assert keygen(*args).rc == 255
    note.unlink()
    done = keygen(*args, stdin=b"no candidate\n" + b"1" * 9000 + b"\n").ok()
    assert "line 1 is no candidate" in done.errors
    assert "line 2 is no candidate" in done.errors
    assert (tmp_path / "out").read_text() == "" and note.read_text() == "2\n"
