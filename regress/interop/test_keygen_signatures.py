# SPDX-License-Identifier: ISC
"""Signatures of files (-Y) by hpnssh-keygen, by the installed ssh-keygen and
through git: what one signs the other verifies, and both say the same."""

import os
import shutil

import pytest
from agents import each_agent as agent  # noqa: F401

import harness
from harness import hpn, run, stock

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh-keygen")
    or not harness.have("stock", "ssh-keygen"),
    reason="hpnssh-keygen or ssh-keygen is missing")

TOOLS = ("hpn", "stock")
KINDS = {"ed25519": ["-t", "ed25519"],
         "ecdsa256": ["-t", "ecdsa"],
         "ecdsa384": ["-t", "ecdsa", "-b", "384"],
         "ecdsa521": ["-t", "ecdsa", "-b", "521"],
         "rsa": ["-t", "rsa", "-b", "2048"]}


def keygen(tool, *args, **kw):
    program = hpn("ssh-keygen") if tool == "hpn" else stock("ssh-keygen")
    env = harness.clean_env(TZ="UTC", **kw.pop("env", {}))
    return run([program, *args], env=env, **kw)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A key of each kind with its certificate, and allowed signers."""
    top = tmp_path_factory.mktemp("sigs")
    for kind, args in {**KINDS, "ca": ["-t", "ed25519"]}.items():
        keygen("hpn", "-q", "-N", "", "-C", "c", *args, "-f", top / kind).ok()
    for kind in KINDS:
        keygen("hpn", "-q", "-s", top / "ca", "-I", "i", "-n",
               f"{kind}@ca,other", "-V", "20200101:20400101",
               top / f"{kind}.pub").ok()
    lines = [f"{kind},{kind}-two {(top / f'{kind}.pub').read_text()}"
             for kind in KINDS]
    (top / "signers").write_text(
        "# those who sign\n" + "".join(lines)
        + "*@ca cert-authority,namespaces=\"file,g*\" "
        + (top / "ca.pub").read_text())
    (top / "data").write_bytes(b"data \x00\xff\n" * 30000)
    return top


@pytest.fixture
def here(pool, tmp_path):
    for path in pool.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def said(done):
    return done.rc, done.text, done.errors.replace("\r", "")


def both(here, *args, **kw):
    """What both say, which must be the same."""
    one, two = (keygen(tool, *args, cwd=here, **kw) for tool in TOOLS)
    assert said(one) == said(two)
    return one


def data(here):
    return (here / "data").read_bytes()


# ---- signing and verifying ----------------------------------------------

@pytest.mark.parametrize("hashed", ["sha256", "sha512", None])
@pytest.mark.parametrize("kind", KINDS)
def test_every_key_both_ways(here, kind, hashed):
    options = ["-O", f"hashalg={hashed}"] if hashed else []
    for tool in TOOLS:
        for key, who, name in ((kind, kind, kind),
                               (f"{kind}.pub", f"{kind}-two", kind),
                               (f"{kind}-cert.pub", f"{kind}@ca", kind)):
            done = keygen(tool, "-Y", "sign", "-f", key, "-n", "file",
                          *options, "data", cwd=here).ok()
            assert said(done) == (0, "", "Signing file data\n"
                                  "Write signature to data.sig\n")
            good = both(here, "-Y", "verify", "-f", "signers", "-I", who,
                        "-n", "file", "-s", "data.sig", stdin=data(here))
            assert good.rc == 0, good
            assert good.text.startswith(f'Good "file" signature for {who} ')
            found = both(here, "-Y", "find-principals", "-f", "signers",
                         "-s", "data.sig")
            assert who in found.text.split("\n")
            assert both(here, "-Y", "check-novalidate", "-n", "file", "-s",
                        "data.sig", stdin=data(here)).rc == 0
            for wrong in (["-I", "zed", "-n", "file"],
                          ["-I", who, "-n", "git"]):
                assert both(here, "-Y", "verify", "-f", "signers", *wrong,
                            "-s", "data.sig", stdin=data(here)).rc == 255
            assert both(here, "-Y", "verify", "-f", "signers", "-I", who,
                        "-n", "file", "-s", "data.sig",
                        stdin=data(here) + b"x").rc == 255
            os.unlink(here / "data.sig")


def test_standard_input(here):
    for tool in TOOLS:
        done = keygen(tool, "-Y", "sign", "-f", "ed25519", "-n", "file",
                      cwd=here, stdin=data(here)).ok()
        assert done.errors == "Signing data on standard input\n"
        (here / "sig").write_bytes(done.out.replace(b"\n", b"\r\n"))
        keygen("hpn", "-Y", "verify", "-f", "signers", "-I", "ed25519", "-n",
               "file", "-s", "sig", cwd=here, stdin=data(here)).ok()
        (here / "sig").write_bytes(done.out + b"what follows\n")
        both(here, "-Y", "verify", "-f", "signers", "-I", "ed25519", "-n",
             "file", "-s", "sig", stdin=data(here)).ok()


def test_the_same_signature(here):
    """Ed25519 has no randomness, so that the files are the same."""
    files = []
    for tool in TOOLS:
        keygen(tool, "-q", "-Y", "sign", "-f", "ed25519", "-n", "file",
               "data", cwd=here).ok()
        files.append((here / "data.sig").read_bytes())
        os.unlink(here / "data.sig")
    assert files[0] == files[1]


def test_several_files_and_overwriting(here):
    (here / "two").write_text("two\n")
    for tool in TOOLS:
        keygen(tool, "-q", "-Y", "sign", "-f", "rsa", "-n", "file", "data",
               "two", cwd=here).ok()
        before = (here / "data.sig").read_bytes()
        asked = keygen(tool, "-Y", "sign", "-f", "ed25519", "-n", "file",
                       "data", cwd=here, stdin=b"n\n")
        assert "data.sig already exists." in asked.text
        assert (here / "data.sig").read_bytes() == before
        keygen(tool, "-Y", "sign", "-f", "ed25519", "-n", "file", "data",
               cwd=here, stdin=b"y\n").ok()
        assert (here / "data.sig").read_bytes() != before
        os.unlink(here / "data.sig")
        os.unlink(here / "two.sig")


def test_encrypted_key(here):
    keygen("hpn", "-q", "-p", "-a", "1", "-P", "", "-N", "secret", "-f",
           here / "rsa").ok()
    wrong = keygen("hpn", "-Y", "sign", "-f", "rsa", "-n", "file", "data",
                   "-P", "x", cwd=here)
    assert wrong.rc == 255 and not (here / "data.sig").exists()
    keygen("hpn", "-Y", "sign", "-f", "rsa", "-n", "file", "-P", "secret",
           "data", cwd=here).ok()
    both(here, "-Y", "verify", "-f", "signers", "-I", "rsa", "-n", "file",
         "-s", "data.sig", stdin=data(here)).ok()


@pytest.mark.parametrize("kind", KINDS)
def test_agent_signs(here, agent, kind):
    run([stock("ssh-add"), "-q", here / kind],
        env=harness.clean_env(**agent)).ok()
    os.unlink(here / kind)
    for flags in ([], ["-U"]):
        for key, who in ((f"{kind}.pub", kind),
                         (f"{kind}-cert.pub", f"{kind}@ca")):
            keygen("hpn", "-q", "-Y", "sign", *flags, "-f", key, "-n",
                   "file", "data", cwd=here, env=agent).ok()
            both(here, "-Y", "verify", "-f", "signers", "-I", who, "-n",
                 "file", "-s", "data.sig", stdin=data(here)).ok()
            os.unlink(here / "data.sig")


def test_agent_without_the_key(here, agent):
    done = keygen("hpn", "-Y", "sign", "-U", "-f", "rsa", "-n", "file",
                  "data", cwd=here, env=agent)
    assert done.rc == 255 and not (here / "data.sig").exists()
    keygen("hpn", "-Y", "sign", "-f", "rsa.pub", "-n", "file", "data",
           cwd=here, env=agent).ok()


# ---- who may sign -------------------------------------------------------

def public(here, name):
    return (here / f"{name}.pub").read_text().strip()


@pytest.mark.parametrize("before, key", [
    ("alice", "ed25519"), ("\"alice\"", "ed25519"), ("a*,!alice", "ed25519"),
    ("alice valid-before=\"20250101\"", "ed25519"),
    ("alice valid-after=\"20300101\"", "ed25519"),
    ("alice namespaces=\"git,f*\"", "ed25519"),
    ("alice namespaces=\"git\"", "ed25519"),
    ("alice cert-authority", "ca"), ("zed cert-authority", "ca"),
    ("alice Namespaces=\"file\",CERT-AUTHORITY", "ca"),
    ("alice cert-authority,valid-before=\"20250101\"", "ca"),
    ("alice foo", "ed25519"), ("alice valid-before=\"2025\"", "ed25519"),
    ("alice namespaces=\"a\",namespaces=\"b\"", "ed25519"),
    ("\"alice", "ed25519"), ("alice cert-authority", "ed25519"),
    ("alice valid-after=\"20300101\",valid-before=\"20200101\"", "ed25519"),
    ("alice x\nalice", "ed25519"), ("#\nalice", "ed25519"),
    ("bob", "rsa"),
])
@pytest.mark.parametrize("signer", ["ed25519", "cert"])
def test_allowed_signers(here, before, key, signer):
    (here / "signers").write_text(f"{before} {public(here, key)}\n")
    keygen("hpn", "-q", "-s", "ca", "-I", "i", "-n", "alice,bob",
           "ed25519.pub", cwd=here).ok()
    keygen("hpn", "-q", "-Y", "sign", "-f", "ed25519-cert.pub"
           if signer == "cert" else "ed25519", "-n", "file", "data",
           cwd=here).ok()
    for when in ("20240601", "20260601", "20310101Z"):
        options = ["-O", f"verify-time={when}"]
        both(here, "-Y", "verify", "-f", "signers", "-I", "alice", "-n",
             "file", "-s", "data.sig", *options, stdin=data(here))
        both(here, "-Y", "find-principals", "-f", "signers", "-s",
             "data.sig", *options)
    for who in ("alice", "bob", "zed"):
        both(here, "-Y", "match-principals", "-f", "signers", "-I", who)


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_a_certificate_in_a_line_vouches_for_itself(here, kind):
    """For signatures of this very certificate, and not of its key alone."""
    (here / "signers").write_text(
        f"alice {(here / 'rsa-cert.pub').read_text()}")
    for key, status in (("rsa", 255), ("rsa-cert.pub", 0)):
        keygen("hpn", "-q", "-Y", "sign", "-f", key, "-n", "file", "data",
               cwd=here, stdin=b"y\n").ok()
        done = keygen(kind, "-Y", "verify", "-f", "signers", "-I", "alice",
                      "-n", "file", "-s", "data.sig", cwd=here,
                      stdin=data(here))
        assert done.rc == status, done


def test_revoked_signers(here):
    keygen("hpn", "-k", "-q", "-f", "krl", "ed25519.pub", cwd=here).ok()
    keygen("hpn", "-k", "-q", "-f", "other", "rsa.pub", cwd=here).ok()
    keygen("hpn", "-k", "-q", "-f", "ca-krl", "ca.pub", cwd=here).ok()
    (here / "cut").write_bytes((here / "krl").read_bytes()[:-1])
    for key, who, lists in (
            ("ed25519", "ed25519", {"krl": 255, "other": 0, "ca-krl": 0}),
            ("ed25519-cert.pub", "ed25519@ca",
             {"krl": 255, "other": 0, "ca-krl": 255})):
        keygen("hpn", "-q", "-Y", "sign", "-f", key, "-n", "file", "data",
               cwd=here, stdin=b"y\n").ok()
        for name, status in {**lists, "ed25519.pub": 255, "rsa.pub": 0,
                             "missing": 255, "cut": 255,
                             "data": 255}.items():
            for tool in TOOLS:
                done = keygen(tool, "-Y", "verify", "-f", "signers", "-I",
                              who, "-n", "file", "-s", "data.sig", "-r",
                              name, cwd=here, stdin=data(here))
                assert done.rc == status, done
                assert ("Good" in done.text) == (status == 0)


# ---- options and errors -------------------------------------------------

@pytest.mark.parametrize("args", [
    [], ["-O", "print-pubkey"], ["-O", "foo"], ["-O", "verify-time=x"],
    ["-O", "verify-time=20200101"], ["-q"], ["-E", "md5"],
    ["-O", "verify-time=20200101Z", "-O", "print-pubkey"]])
@pytest.mark.parametrize("op", [
    ["verify", "-f", "signers", "-I", "rsa", "-n", "file"],
    ["check-novalidate", "-n", "file"], ["find-principals", "-f", "signers"]])
def test_options(here, op, args):
    keygen("stock", "-q", "-Y", "sign", "-f", "rsa", "-n", "file", "data",
           cwd=here).ok()
    one, two = (keygen(tool, "-Y", *op, "-s", "data.sig", *args, cwd=here,
                       stdin=data(here)) for tool in TOOLS)
    assert (one.rc, one.text) == (two.rc, two.text)


@pytest.mark.parametrize("args, status", [
    (["sign"], 1), (["sign", "-n", "x"], 1), (["verify"], 1),
    (["sign", "-n", "", "-f", "rsa"], 1),
    (["verify", "-n", "x"], 1), (["verify", "-n", "x", "-s", "data.sig"], 1),
    (["check-novalidate"], 1), (["check-novalidate", "-n", "x"], 1),
    (["find-principals"], 1), (["find-principals", "-s", "data.sig"], 1),
    (["match-principals"], 1), (["match-principals", "-f", "signers"], 1),
    (["foo"], 1),
    (["sign", "-n", "x", "-f", "rsa", "-O", "foo", "data"], 255),
    (["sign", "-n", "x", "-f", "rsa", "-O", "hashalg=sha1", "data"], 255),
    (["sign", "-n", "x", "-f", "missing", "data"], 255),
    (["sign", "-n", "x", "-f", "rsa", "missing"], 255),
    (["sign", "-n", "x", "-U", "-f", "rsa", "data"], 255),
    (["check-novalidate", "-n", "x", "-s", "missing"], 255),
    (["check-novalidate", "-n", "x", "-s", "signers"], 255),
    (["verify", "-n", "file", "-s", "sig", "-f", "missing", "-I", "rsa"],
     255),
    (["find-principals", "-f", "missing", "-s", "sig"], 255),
    (["match-principals", "-f", "signers", "-I", "zed"], 210),
])
def test_errors(here, args, status):
    keygen("stock", "-q", "-Y", "sign", "-f", "rsa", "-n", "file", "data",
           cwd=here).ok()
    os.rename(here / "data.sig", here / "sig")
    for tool in TOOLS:
        done = keygen(tool, "-Y", *args, cwd=here, stdin=data(here))
        assert done.rc == status, done
        assert not (here / "data.sig").exists()


@pytest.mark.parametrize("change", [
    lambda text: b"x" + text, lambda text: text[1:], lambda text: b"",
    lambda text: text.replace(b"U1NIU0lH", b"U1NIU0lX"),
    lambda text: text[:-40], lambda text: b"\n" + text])
def test_broken_signatures(here, change):
    keygen("hpn", "-q", "-Y", "sign", "-f", "rsa", "-n", "file", "data",
           cwd=here).ok()
    path = here / "data.sig"
    path.write_bytes(change(path.read_bytes()))
    for tool in TOOLS:
        for op in (["check-novalidate", "-n", "file"],
                   ["find-principals", "-f", "signers"]):
            assert keygen(tool, "-Y", *op, "-s", "data.sig", cwd=here,
                          stdin=data(here)).rc == 255


# ---- git ----------------------------------------------------------------

def git(repository, env, *args):
    # git forgets a file that it makes of a literal key in TMPDIR.
    return run(["git", "-C", repository, "-c", "user.name=A", "-c",
                "user.email=ed25519", "-c", "gpg.format=ssh", "-c",
                f"gpg.ssh.program={hpn('ssh-keygen')}", "-c",
                f"gpg.ssh.allowedSignersFile={repository}/../signers",
                *args], env=harness.clean_env(
                    TZ="UTC", HOME=str(repository), GIT_CONFIG_NOSYSTEM="1",
                    TMPDIR=str(repository.parent), **env))


@pytest.mark.skipif(not shutil.which("git"), reason="no git is installed")
@pytest.mark.parametrize("way", ["file", "agent", "certificate", "literal"])
def test_git(here, agent, way):
    repository = here / "repository"
    repository.mkdir()
    git(repository, {}, "init", "-q").ok()
    env, key, who = {}, here / "ed25519", "ed25519"
    if way in ("agent", "literal"):
        run([stock("ssh-add"), "-q", here / "ed25519"],
            env=harness.clean_env(**agent)).ok()
        os.unlink(here / "ed25519")
        env, key = agent, here / "ed25519.pub"
    if way == "literal":
        key = "key::" + key.read_text().strip()
    if way == "certificate":
        key, who = here / "ed25519-cert.pub", "ed25519@ca"
    git(repository, env, "-c", f"user.signingkey={key}", "commit", "-q",
        "--allow-empty", "-S", "-m", "signed").ok()
    shown = git(repository, env, "log", "--show-signature", "-1").ok()
    assert f'Good "git" signature for {who} with ED25519' in shown.text
    git(repository, env, "verify-commit", "HEAD").ok()
    git(repository, env, "-c", f"user.signingkey={key}", "tag", "-s", "-m",
        "signed", "one").ok()
    git(repository, env, "verify-tag", "one").ok()
    (here / "signers").write_text(f"other {public(here, 'rsa')}\n")
    assert git(repository, env, "verify-commit", "HEAD").rc != 0
