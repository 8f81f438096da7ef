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
    assert {"hpn-ssh", "openssl", "zlib", "libbsd"} <= names
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
        "hpn-ssh", "openssl", "zlib", "libbsd"]


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
