# SPDX-License-Identifier: ISC
"""Recipes of packages for other systems, with the numbers of a release, and the
repository for apt."""

import hashlib
import re
import shutil
import subprocess

import pytest

import harness
from harness import run

TOP = harness.TOP


@pytest.fixture
def recipes(tmp_path):
    tarball = tmp_path / "hpn-ssh-1.2.3.tar.gz"
    tarball.write_bytes(b"a tarball")
    run([TOP / "packaging/recipes.sh", tarball, tmp_path / "made"]).ok()
    return tmp_path / "made"


def test_recipes_have_the_numbers(recipes):
    digest = hashlib.sha256(b"a tarball").hexdigest()
    conda = (recipes / "conda/recipe.yaml").read_text()
    assert 'version: "1.2.3"' in conda and f'sha256: "{digest}"' in conda
    brew = (recipes / "homebrew/hpn-ssh.rb").read_text()
    assert f'sha256 "{digest}"' in brew and "hpn-ssh-1.2.3.tar.gz" in brew
    assert "DISTVERSION=\t1.2.3\n" in \
        (recipes / "freebsd/Makefile").read_text()
    assert (recipes / "freebsd/distinfo").read_text() == (
        f"SHA256 (hpn-ssh-1.2.3.tar.gz) = {digest}\n"
        "SIZE (hpn-ssh-1.2.3.tar.gz) = 9\n")
    for path in recipes.rglob("*"):
        if path.is_file():
            assert "0.0.0" not in path.read_text(), path


def test_no_recipe_of_another_name(tmp_path):
    (tmp_path / "other.tar.gz").write_bytes(b"x")
    done = run([TOP / "packaging/recipes.sh", tmp_path / "other.tar.gz",
                tmp_path / "made"])
    assert done.rc == 1 and not (tmp_path / "made").exists()


def test_options_of_recipes_are_those_of_configure():
    known = set(re.findall(
        r"AC_ARG_(?:WITH|ENABLE)\(\[([a-z0-9-]+)\]",
        (TOP / "configure.ac").read_text()))
    for name in ("packaging/conda/recipe.yaml", "packaging/freebsd/Makefile",
                 "packaging/homebrew/hpn-ssh.rb", "flake.nix",
                 "packaging/spack/package.py"):
        used = re.findall(r"(?:--(?:with|without|enable|disable)-"
                          r'|with_or_without\(")([a-z0-9-]+)',
                          (TOP / name).read_text())
        assert used and set(used) <= known, name


# ---- the repository for apt ------------------------------------------------

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "dpkg-scanpackages",
                               "gpg", "gpgv"))),
    reason="needs apt, dpkg-dev, gpg and gpgv")


@pytest.fixture
def gpg(short):
    """The environment of somebody who has a throwaway key."""
    home = short / "gpg"
    home.mkdir(mode=0o700)
    env = harness.clean_env(GNUPGHOME=home)
    run(["gpg", "--batch", "--quiet", "--passphrase", "",
         "--quick-generate-key", "throwaway@hpn-ssh.invalid", "ed25519",
         "sign", "never"], env=env).ok()
    yield env
    subprocess.run(["gpgconf", "--kill", "all"], env=env, check=False,
                   timeout=60)


@pytest.fixture
def repository(tmp_path, gpg):
    for name, arch in (("hpn-one", "amd64"), ("hpn-two", "arm64"),
                       ("hpn-any", "all")):
        control = tmp_path / name / "DEBIAN/control"
        control.parent.mkdir(parents=True)
        control.write_text(
            f"Package: {name}\nVersion: 1.2.3\nArchitecture: {arch}\n"
            "Maintainer: nobody <x@y.invalid>\nDescription: a test\n")
        (tmp_path / "debs").mkdir(exist_ok=True)
        run(["dpkg-deb", "--build", "--root-owner-group", tmp_path / name,
             tmp_path / "debs" / f"{name}.deb"]).ok()
    made = tmp_path / "apt"
    run(["sh", TOP / "build-aux/release.sh", "-a",
         "throwaway@hpn-ssh.invalid", tmp_path / "debs", made], env=gpg).ok()
    return made


def update(repository, root):
    """apt-get update, of a system that has this source only."""
    for name in ("etc/apt/preferences.d", "state/lists/partial",
                 "cache/archives/partial"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "sources.sources").write_text(
        f"Types: deb\nURIs: file:{repository}\nSuites: stable\n"
        f"Components: main\nSigned-By: {repository}/hpn-ssh.gpg\n")
    (root / "status").touch()
    options = [f"Dir::Etc={root}/etc/apt", "Dir::Etc::sourceparts=-",
               f"Dir::Etc::sourcelist={root}/sources.sources",
               f"Dir::State={root}/state", f"Dir::Cache={root}/cache",
               f"Dir::State::status={root}/status",
               "APT::Sandbox::User=", "APT::Architecture=amd64",
               "APT::Architectures=amd64", "APT::Update::Error-Mode=any"]
    args = [word for option in options for word in ("-o", option)]
    return run(["apt-get", *args, "update"]), args


@needs_tools
def test_apt_takes_it(repository, tmp_path):
    done, args = update(repository, tmp_path / "system")
    done.ok()
    listed = run(["apt-cache", *args, "pkgnames"]).ok().text.split()
    assert sorted(listed) == ["hpn-any", "hpn-one"]
    assert (repository / "dists/stable/main/binary-arm64/Packages").exists()
    assert "Signed-By: /usr/share/keyrings/hpn-ssh.gpg" in \
        (repository / "hpn-ssh.sources").read_text()


@needs_tools
@pytest.mark.parametrize("name", ["dists/stable/InRelease",
                                  "dists/stable/main/binary-amd64/Packages.gz"])
def test_apt_refuses_what_was_changed(repository, tmp_path, name):
    update(repository, tmp_path / "before")[0].ok()
    path = repository / name
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    if name.endswith(".gz"):  # nor is there another form of it
        path.with_suffix("").unlink()
    assert update(repository, tmp_path / "system")[0].rc != 0


@needs_tools
def test_a_repository_is_not_written_over(repository, tmp_path, gpg):
    done = run(["sh", TOP / "build-aux/release.sh", "-a",
                "throwaway@hpn-ssh.invalid", tmp_path / "debs", repository],
               env=gpg)
    assert done.rc == 1 and "is there already" in done.errors
