# SPDX-License-Identifier: ISC
"""What is published with a release: the bill of materials of a build, and what
build-aux/release.sh refuses to publish."""
import json
import os
import platform
import re
import shutil
import subprocess
import sys

import pytest

import harness

TOP = harness.TOP
BUILD = harness.BUILD


def sbom(build, **environment):
    return subprocess.run(
        [sys.executable, TOP / "build-aux" / "sbom.py", build],
        env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=60, check=False)


@pytest.fixture(scope="module")
def bill():
    return json.loads(sbom(BUILD, SOURCE_DATE_EPOCH="86400").stdout)


def test_bill_has_what_spdx_asks_for(bill):
    assert bill["spdxVersion"] == "SPDX-2.3"
    assert bill["dataLicense"] == "CC0-1.0"
    assert bill["SPDXID"] == "SPDXRef-DOCUMENT"
    assert re.fullmatch(r"https://\S+-[0-9a-f]{32}", bill["documentNamespace"])
    assert bill["creationInfo"]["created"] == "1970-01-02T00:00:00Z"
    assert bill["creationInfo"]["creators"]
    system = platform.freedesktop_os_release()["ID"]
    for package in bill["packages"]:
        assert package["name"] and package["downloadLocation"]
        assert package["versionInfo"] and package["licenseDeclared"]
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"])
        for ref in package.get("externalRefs", ()):
            assert re.fullmatch(rf"pkg:deb/{system}/[a-z0-9.+-]+@\S+\?arch=\w+",
                                ref["referenceLocator"])


def test_bill_relates_each_package(bill):
    ids = {p["SPDXID"] for p in bill["packages"]}
    ours = "SPDXRef-Package-hpn-ssh"
    assert len(ids) == len(bill["packages"])
    related = {(r["spdxElementId"], r["relationshipType"],
                r["relatedSpdxElement"]) for r in bill["relationships"]}
    assert related == {("SPDXRef-DOCUMENT", "DESCRIBES", ours)} | {
        (ours, "DEPENDS_ON", id) for id in ids - {ours}}


def test_bill_names_what_was_built_in(bill):
    config = (BUILD / "include" / "config.h").read_text()
    names = {p["name"] for p in bill["packages"]}
    assert {"hpn-ssh", "openssl", "zlib"} <= names
    for word, name in (("PAM", "linux-pam"), ("GSSAPI", "krb5"),
                       ("SECCOMP", "libseccomp"), ("LIBEDIT", "libedit"),
                       ("PKCS11", "p11-kit"), ("LIBFIDO2", "libfido2")):
        assert (f"#define HAVE_{word} 1" in config) == (name in names)


def test_bill_of_a_bare_build(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "config.h").write_text(
        '/* #undef HAVE_PAM */\n#define VERSION "9.8.7"\n')
    made = json.loads(sbom(tmp_path).stdout)
    assert made["name"] == "hpn-ssh-9.8.7"
    assert [p["name"] for p in made["packages"]] == [
        "hpn-ssh", "openssl", "zlib"]


def test_bill_of_sources_that_came_along(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "config.h").write_text(
        '#define HAVE_PAM 1\n#define VERSION "9.8.7"\n')
    (tmp_path / "materials").write_text(
        "openssl 3.6.3 Apache-2.0 pkg:cargo/openssl-src@300.6.1%2B3.6.3\n")
    made = json.loads(sbom(tmp_path).stdout)
    assert [(p["name"], p["versionInfo"]) for p in made["packages"]] == [
        ("hpn-ssh", "9.8.7"), ("openssl", "3.6.3")]
    assert made["packages"][1]["externalRefs"][0]["referenceLocator"] == \
        "pkg:cargo/openssl-src@300.6.1%2B3.6.3"


def test_no_bill_without_a_build(tmp_path):
    done = sbom(tmp_path)
    assert done.returncode != 0 and done.stdout == ""
    assert "is no configured build" in done.stderr


class Tree:
    """A repository with nothing but what release.sh looks at."""

    def __init__(self, path):
        self.path = path
        (path / "build-aux").mkdir()
        shutil.copy(TOP / "build-aux" / "release.sh", path / "build-aux")
        self.write("configure.ac", "AC_INIT([HPN-SSH], [1.2.3], [], [x])\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## 1.2.3 (2027-01-31)\n\n"
                   "- a line\n\n## 1.2.2 (unreleased)\n\n- another\n")
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        (self.path / name).write_text(text)

    def git(self, *words):
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-c",
             "commit.gpgsign=false", "-c", "tag.gpgsign=false", *words],
            cwd=self.path, check=True, timeout=60, capture_output=True)

    def commit(self, tag="v1.2.3"):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        self.git("tag", "-f", tag)

    def check(self, tag="v1.2.3"):
        done = subprocess.run(
            ["sh", "build-aux/release.sh", "-c", tag], cwd=self.path,
            capture_output=True, text=True, timeout=60, check=False)
        return None if done.returncode == 0 else done.stderr


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_release_of_what_is_ready(tree):
    assert tree.check() is None


def test_release_refuses_a_tree_with_changes(tree):
    tree.write("more", "")
    assert "changes that are not committed" in tree.check()


def test_release_refuses_a_tag_that_is_not_there(tree):
    assert "no tag v1.2.4" in tree.check("v1.2.4")
    assert "a tag is v and the version" in tree.check("1.2.3")


def test_release_refuses_another_commit(tree):
    tree.commit("v1.2.4")
    assert "not the commit that is checked out" in tree.check()


def test_release_refuses_another_version(tree):
    tree.git("tag", "v1.2.2")
    assert "configure.ac has version 1.2.3" in tree.check("v1.2.2")


@pytest.mark.parametrize("heading, why", (
    ("## 1.2.3 (unreleased)\n\n- a line\n", "calls 1.2.3 unreleased"),
    ("## 1.2.30 (2027-01-31)\n\n- a line\n", "no heading for 1.2.3"),
    ("## 1.2.3 (2027-01-31)\n\n## 1.2.2\n- a line\n", "says nothing of 1.2.3"),
))
def test_release_refuses_without_notes(tree, heading, why):
    tree.write("CHANGELOG.md", heading)
    tree.commit()
    assert why in tree.check()


# ---- the files of a release, signed ---------------------------------------

# As the tree's: in the source it configures obj/.
CONFIGURE = """#!/bin/sh
[ ! -e ./configure ] || { mkdir obj && cd obj; }
mkdir include && : >include/config.h
"""
DIST = f"""#!/bin/sh
mkdir -p "$1/hpn-ssh-1.2.3" && cd "$1" &&
cat >hpn-ssh-1.2.3/configure <<'END' &&
{CONFIGURE}END
chmod +x hpn-ssh-1.2.3/configure &&
tar -czf hpn-ssh-1.2.3.tar.gz hpn-ssh-1.2.3 && rm -r hpn-ssh-1.2.3
"""


def release(tree, *words, **environment):
    return subprocess.run(
        ["sh", "build-aux/release.sh", *words], cwd=tree.path, text=True,
        env=harness.clean_env(SSH_KEYGEN=harness.hpn("ssh-keygen"),
                              **environment),
        capture_output=True, timeout=60, check=False)


@pytest.fixture
def published(tree, tmp_path_factory):
    """The files of a release, beside which a package lay already."""
    shutil.copy(TOP / "build-aux/provenance.py", tree.path / "build-aux")
    for name in ("recipes.sh", "conda", "homebrew", "freebsd"):
        copy = shutil.copytree if (TOP / "packaging" / name).is_dir() \
            else shutil.copy
        (tree.path / "packaging").mkdir(exist_ok=True)
        copy(TOP / "packaging" / name, tree.path / "packaging" / name)
    tree.write("build-aux/dist.sh", DIST)
    tree.write("build-aux/sbom.py", "import sys\n"
               "open(sys.argv[1] + '/include/config.h').close()\n"
               "print('{}')\n")
    tree.commit()
    files = tmp_path_factory.mktemp("files")
    (files / "hpn-ssh.deb").write_text("a package\n")
    done = release(tree, "v1.2.3", files)
    assert done.returncode == 0, done
    return files


@pytest.fixture(scope="module")
def signer(tmp_path_factory):
    """Throwaway: its key, and the file of allowed signers."""
    place = tmp_path_factory.mktemp("signer")
    for name in ("key", "other"):
        harness.run([harness.hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N",
                     "", "-f", place / name]).ok()
    (place / "signers").write_text(
        "releases@hpn-ssh " + (place / "key.pub").read_text())
    return place


def test_files_of_a_release(tree, published):
    assert sorted(p.name for p in published.iterdir()) == [
        "NOTES.md", "SHA256SUMS", "hpn-ssh-1.2.3-recipes.tar.gz",
        "hpn-ssh-1.2.3.provenance.json",
        "hpn-ssh-1.2.3.spdx.json", "hpn-ssh-1.2.3.tar.gz", "hpn-ssh.deb"]
    sums = dict(reversed(line.split("  ")) for line in
                (published / "SHA256SUMS").read_text().splitlines())
    told = json.loads(
        (published / "hpn-ssh-1.2.3.provenance.json").read_text())
    subjects = {s["name"]: s["digest"]["sha256"] for s in told["subject"]}
    assert subjects == {name: digest for name, digest in sums.items()
                        if "provenance" not in name}
    head = harness.run(["git", "-C", tree.path, "rev-parse", "HEAD"]).text
    definition = told["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"][0]["digest"] == {
        "gitCommit": head.strip()}
    assert definition["externalParameters"] == {"tag": "v1.2.3"}


def test_signed_release(tree, published, signer):
    assert release(tree, "-v", signer / "signers", published).returncode != 0
    assert release(tree, "-s", signer / "key", published).returncode == 0
    done = release(tree, "-v", signer / "signers", published)
    assert done.returncode == 0, done
    assert "releases@hpn-ssh" in done.stdout


@pytest.mark.parametrize("fault", ["file", "more", "less", "sums", "signer"])
def test_release_that_is_not_what_was_signed(tree, published, signer, fault):
    key = signer / ("other" if fault == "signer" else "key")
    assert release(tree, "-s", key, published).returncode == 0
    if fault == "file":
        (published / "hpn-ssh.deb").write_text("another\n")
    elif fault == "more":
        (published / "more.deb").write_text("")
    elif fault == "less":
        (published / "hpn-ssh.deb").unlink()
    elif fault == "sums":
        path = published / "SHA256SUMS"
        path.write_text("".join(path.read_text().splitlines(True)[:-1]))
    assert release(tree, "-v", signer / "signers", published).returncode != 0
    if fault in ("file", "less"):  # nor is it signed then
        assert release(tree, "-s", key, published).returncode != 0


def test_one_version():
    """configure.ac, the packages and CHANGELOG.md have the same."""
    def first(name, pattern):
        return re.search(pattern, (TOP / name).read_text(), re.M)[1]
    version = first("configure.ac", r"^AC_INIT\(\[HPN-SSH\], \[([^]]*)\]")
    assert version == first("debian/changelog", r"^hpn-ssh \(([\d.]+)-")
    assert version == first("packaging/hpn-ssh.spec", r"^Version: +(\S+)")
    assert version == first("packaging/hpn-ssh.spec", r"^\* .* - ([\d.]+)-1$")
    assert version == first("CHANGELOG.md", r"^## (\S+)")


def test_actions_are_named_by_hash():
    """Every action is named by a hash, and by the same one everywhere."""
    if not (TOP / ".github/workflows").exists():
        pytest.skip("the workflows are not in this tree")
    hashes = {}
    for path in (TOP / ".github/workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.*)", path.read_text()):
            if used.startswith("./"):
                continue
            assert re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+",
                                used), (path, used)
            action, pinned = used.split("@")
            assert hashes.setdefault(action, pinned) == pinned, (path, used)


# ---- artefacts ---------------------------------------------------------------

@pytest.fixture
def artefacts(tmp_path):
    """artefacts.sh in a tree where what it calls only says that it was."""
    tree = tmp_path / "tree"
    (tree / "build-aux").mkdir(parents=True)
    (tree / "packaging").mkdir()
    shutil.copy(TOP / "build-aux/artefacts.sh", tree / "build-aux")
    (tree / "configure.ac").write_text("AC_INIT([HPN-SSH], [1.2.3])\n")
    static = tree / "packaging/make-static.sh"
    static.write_text('#!/bin/sh\n'
                      '[ "$1" = -m ] && echo $2 >"$3/hpn-ssh-1.2.3-$2"\n')
    static.chmod(0o755)
    git = ["git", "-C", tree, "-c", "user.name=x", "-c", "user.email=x@y"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        harness.run([*git, *words]).ok()
    return lambda *words: harness.run(
        ["sh", tree / "build-aux/artefacts.sh", *words])


def test_artefacts_of_two_machines_have_their_sums(artefacts, tmp_path):
    for machine in ("x86_64", "aarch64"):
        artefacts("-m", machine, "static", tmp_path / "out").ok()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "SHA256SUMS", "hpn-ssh-1.2.3-aarch64", "hpn-ssh-1.2.3-x86_64"]
    done = harness.run(["sha256sum", "-c", "--strict", "SHA256SUMS"],
                       cwd=tmp_path / "out").ok()
    assert done.text.count(": OK") == 2


@pytest.mark.parametrize("kind", ["deb", "rpm", "tarball"])
def test_only_static_artefacts_are_made_for_another_machine(
        artefacts, tmp_path, kind):
    done = artefacts("-m", "another", kind, tmp_path / "out")
    assert done.rc == 1
    assert f"{kind} for another is made on such a machine" in done.errors
    assert not (tmp_path / "out").exists()
