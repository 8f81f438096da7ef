# SPDX-License-Identifier: ISC
"""hpnssh-keygen and the stock ssh-keygen on the same files: what they print,
what they write and how they end is the same."""

import shutil

import pytest

from harness import have, hpn, run, stock

pytestmark = pytest.mark.skipif(
    not have("hpn", "ssh-keygen") or not have("stock", "ssh-keygen"),
    reason="both keygens are needed")
OURS, THEIRS = hpn("ssh-keygen"), stock("ssh-keygen")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """Keys of each kind and in each format, lists of keys, and no keys."""
    d = tmp_path_factory.mktemp("pool")

    def make(*args):
        return run([THEIRS, "-q", *args], cwd=d)
    for name, args in {"rsa": ["-t", "rsa", "-b", "2048"],
                       "ecdsa": ["-t", "ecdsa"],
                       "ecdsa521": ["-t", "ecdsa", "-b", "521"],
                       "ed25519": ["-t", "ed25519"]}.items():
        make(*args, "-N", "", "-C", f"com ment {name}", "-f", name).ok()
    make("-t", "ed25519", "-N", "secret", "-C", "enc", "-f", "locked").ok()
    for kind in ("rsa", "ecdsa"):
        for form in ("PEM", "PKCS8"):
            name = f"{kind}.{form}"
            shutil.copy(d / kind, d / name)
            make("-p", "-m", form, "-N", "", "-P", "", "-f", name).ok()
    for kind in ("rsa", "ecdsa", "ed25519"):
        shutil.copy(d / kind, d / f"{kind}.alone")  # without a .pub
        for form in ("RFC4716", "PKCS8", "PEM"):
            done = make("-e", "-m", form, "-f", kind)
            (d / f"{kind}.{form}.public").write_bytes(done.out)
    make("-s", "ed25519", "-I", "id", "-n", "a,b", "-V",
         "20200101:20300101", "rsa.pub").ok()
    make("-s", "ed25519", "-h", "-I", "id", "-n", "a,b", "ecdsa.pub").ok()
    lines = {k: (d / f"{k}.pub").read_text() for k in ("rsa", "ecdsa",
                                                       "ed25519")}
    (d / "list").write_text(
        f"{lines['rsa']}# comment\n\ncommand=\"x y\",no-pty "
        f"{lines['ecdsa']}bad line\ncert-authority {lines['ed25519']}")
    (d / "certs").write_text(lines["rsa"] + "".join(
        (d / f"{k}-cert.pub").read_text() for k in ("ecdsa", "rsa")))
    (d / "garbage").write_text("garbage\n")
    (d / "empty").write_text("")
    return d


FILES = ("rsa", "rsa.pub", "ecdsa", "ecdsa521.pub", "ed25519",
         "ed25519.alone", "locked", "locked.pub", "rsa.PEM", "rsa.PKCS8",
         "ecdsa.PEM", "ecdsa.PKCS8", "rsa-cert.pub", "ecdsa-cert.pub",
         "list", "certs", "garbage", "empty", "missing",
         "rsa.RFC4716.public")
SHOW = ("-l", "-B", "-lB", "-lBv", "-l -E md5", "-lv", "-L", "-y -P ''",
        "-e -m PEM", "-r host", "-r Host.x -g")
PUBLIC = [f"{k}.{f}.public" for k in ("rsa", "ecdsa", "ed25519")
          for f in ("RFC4716", "PKCS8", "PEM")]
# What ours reads or refuses on purpose.
BETTER = {
    ("-i -m PEM", "rsa.PKCS8.public"), ("-i -m PEM", "ecdsa.PEM.public"),
    ("-i -m PEM", "ecdsa.PKCS8.public"),
    # stock ends with 0 where there is no such record, and takes no PEM
    *((s, f) for s in SHOW if s.startswith("-r")
      for f in ("rsa-cert.pub", "ecdsa-cert.pub", "rsa.PEM", "rsa.PKCS8",
                "ecdsa.PEM", "ecdsa.PKCS8"))}


def both(pool, tmp_path, args):
    """Results and directories of both, each with files of its own."""
    out = []
    for tool in (THEIRS, OURS):
        d = tmp_path / tool.rsplit("/", 1)[-1]
        shutil.copytree(pool, d)
        out.append((run([tool, *args], cwd=d), d))
    return out


def same(pool, args):
    """Asserts that both tools say the same where neither writes a file."""
    theirs, ours = (run([tool, *args], cwd=pool) for tool in (THEIRS, OURS))
    assert ours.rc == theirs.rc, (ours, theirs)
    assert ours.out == theirs.out


def words(flags):
    return [w.replace("''", "") for w in flags.split()]


@pytest.mark.parametrize("flags", SHOW)
def test_shows_the_same(pool, flags):
    for name in FILES:
        if (flags, name) not in BETTER:
            same(pool, [*words(flags), "-f", name])


@pytest.mark.parametrize("flags", ["-i", "-X", "-i -m RFC4716",
                                   "-i -m PKCS8", "-X -m PKCS8", "-i -m PEM"])
def test_reads_the_same(pool, flags):
    for name in [*PUBLIC, "rsa.pub", "rsa", "garbage"]:
        if (flags, name) not in BETTER:
            same(pool, [*words(flags), "-f", name])


@pytest.mark.parametrize("name", [
    "rsa", "ecdsa", "ed25519", "locked", "rsa.PEM", "rsa.PKCS8", "ecdsa.PEM",
    "ed25519.alone", "missing", "garbage"])
@pytest.mark.parametrize("phrase", ["", "secret", "wrong"])
def test_comments_change_the_same(pool, tmp_path, name, phrase):
    """The private files differ in random bytes, so they are read again."""
    (theirs, a), (ours, b) = both(
        pool, tmp_path, ["-c", "-C", "new one", "-P", phrase, "-f", name])
    assert ours.rc == theirs.rc and ours.out == theirs.out, (ours, theirs)
    assert {p.name for p in a.iterdir()} == {p.name for p in b.iterdir()}
    if ours.rc == 0:
        public = (a / f"{name}.pub").read_bytes()
        assert (b / f"{name}.pub").read_bytes() == public
        for d in (a, b):
            (d / f"{name}.pub").unlink()
            for tool in (THEIRS, OURS):
                shown = run([tool, "-y", "-P", phrase, "-f", name], cwd=d)
                assert shown.text.rstrip().endswith(" new one"), shown


@pytest.mark.parametrize("args", [
    ["-m", "foo", "-e", "-f", "rsa"], ["-E", "foo", "-l", "-f", "rsa"],
    ["-l", "-f", "rsa", "extra"], ["-t", "foo", "-N", "", "-f", "new"],
    ["-t", "rsa", "-b", "100", "-N", "", "-f", "new"],
    ["-t", "ecdsa", "-b", "300", "-N", "", "-f", "new"],
    ["-p", "-N", "", "-P", "wrong", "-f", "locked"],
    ["-F", "nobody", "-f", "list"], ["-R", "h", "-f", "missing"],
    ["-r", "h", "-f", "missing"]], ids=" ".join)
def test_ends_the_same(pool, tmp_path, args):
    (theirs, _), (ours, _) = both(pool, tmp_path, args)
    assert ours.rc == theirs.rc, (ours, theirs)
    assert bool(ours.errors) == bool(theirs.errors)


@pytest.mark.parametrize("flags", [[], ["-g"]], ids=["own", "generic"])
@pytest.mark.parametrize("name", ["rsa", "ecdsa", "ecdsa521", "ed25519"])
def test_records(pool, name, flags):
    args = ["-r", "h.test", *flags, "-f", name]
    theirs = run([THEIRS, *args], cwd=pool).ok()
    assert run([OURS, *args], cwd=pool).ok().text == theirs.text


@pytest.mark.parametrize("name, number", [("sha1", 1), ("sha256", 2)])
def test_records_of_one_digest(pool, name, number):
    """The installed one is too old for the option."""
    every = run([THEIRS, "-r", "h", "-f", "rsa"], cwd=pool).text
    done = run([OURS, "-r", "h", "-O", f"hashalg={name}", "-f", "rsa"],
               cwd=pool).ok()
    assert done.text.splitlines() == [
        x for x in every.splitlines() if f" SSHFP 1 {number} " in x]


def test_records_need_a_digest_that_has_a_number(pool):
    done = run([OURS, "-r", "h", "-O", "hashalg=md5", "-f", pool / "rsa"])
    assert done.rc == 255 and "Unsupported hash algorithm" in done.errors
    done = run([OURS, "-r", "h", "-f", pool / "rsa-cert.pub"])
    assert done.rc == 255 and "no records of RSA-CERT" in done.errors
