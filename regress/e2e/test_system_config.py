# SPDX-License-Identifier: ISC
"""What a site has set up in /etc/ssh for OpenSSH's client holds for hpnssh,
too, behind /etc/hpnssh, unless SystemConfig says no."""

import pathlib
import shutil

import pytest

import harness
from harness import hpn, run
from test_configurations import CONFIGS, DISTRIBUTIONS

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd") or bool(harness.mount_problem()),
    reason=harness.mount_problem() or "hpnssh and hpnsshd are not built")
ENTER = ('mkdir -p "$3" && mount --bind "$1" /etc/ssh && '
         'mount --bind "$2" "$3" && shift 3 && exec "$@"')


class Site:
    """A machine with an /etc/ssh, and an /etc/hpnssh, of its own."""

    def __init__(self, top):
        self.stock, self.own = top / "ssh", top / "hpnssh"
        self.home = top / "home"
        for path in (self.stock, self.own, self.home):
            path.mkdir(parents=True)
        shown = run([hpn("ssh"), "-F", "none", "-G", "h"]).ok().text
        line, = (x for x in shown.splitlines()
                 if x.startswith("globalknownhostsfile "))
        self.place = pathlib.Path(line.split()[1]).parent

    def run(self, *args, **kw):
        return run(["unshare", "-m", "--propagation", "private", "sh", "-c",
                    ENTER, "sh", self.stock, self.own, self.place, *args],
                   **kw)

    def shown(self, *args):
        """Values of -G: {keyword: [...]}; nothing is complained about."""
        done = self.run(hpn("ssh"), "-G", *args).ok()
        assert done.errors == "", done
        found = {}
        for line in done.text.splitlines():
            keyword, _, value = line.partition(" ")
            found.setdefault(keyword, []).append(value)
        return found

    def distribution(self, name):
        for path in (CONFIGS / name).rglob("*"):
            if path.is_file() and "sshd" not in path.name:
                copy = self.stock / path.relative_to(CONFIGS / name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(path.read_text().replace("@DIR@",
                                                         "/etc/ssh"))


@pytest.fixture
def site(tmp_path):
    if not pathlib.Path("/etc/ssh").is_dir():
        pytest.skip("no /etc/ssh to mount over")
    return Site(tmp_path / "site")


def test_behind_ours(site):
    """Ours are first, so they win; relative names are in the file's own
    directory."""
    (site.stock / "ssh_config").write_text(
        "Include more\nHost web\nHostname web.example\nUser site\n"
        "ProxyJump gate\n")
    (site.stock / "more").write_text("Host gate\nHostname gate.example\n")
    (site.own / "ssh_config").write_text("Host web\nUser ours\n")
    got = site.shown("web")
    assert got["hostname"] == ["web.example"] and got["user"] == ["ours"]
    assert got["proxyjump"] == ["gate"]
    assert site.shown("gate")["hostname"] == ["gate.example"]
    assert site.shown("-l", "me", "web")["user"] == ["me"]


def test_known_hosts(site, sshd):
    """A site's host keys are known, and those of our directory."""
    for place in (site.stock, site.own):
        (place / "ssh_known_hosts").write_text(sshd.known_hosts.read_text())
        args = [hpn("ssh"), "-p", str(sshd.port), "-oBatchMode=yes",
                "-oUserKnownHostsFile=/dev/null",
                "-oStrictHostKeyChecking=yes", "-i", sshd.keys.path("ed25519"), "127.0.0.1"]
        assert site.run(*args, "echo in").ok().text == "in\n"
        refused = site.run(*args[:1], "-oSystemConfig=no", *args[1:], "true")
        assert (refused.rc == 0) == (place == site.own), refused
        (place / "ssh_known_hosts").unlink()


@pytest.mark.parametrize("where", ["option", "file"])
def test_system_config_no(site, where):
    (site.stock / "ssh_config").write_text("User site\nnonsense\n")
    flags = []
    if where == "option":
        flags = ["-oSystemConfig=no"]
    else:
        (site.own / "ssh_config").write_text("SystemConfig no\n")
    got = site.shown(*flags, "h")
    assert got["user"] != ["site"]
    assert not any("/etc/ssh/" in x for x in got["globalknownhostsfile"])
    # Who names files has named them.
    got = site.shown(*flags, "-oGlobalKnownHostsFile=/etc/ssh/x", "h")
    assert got["globalknownhostsfile"] == ["/etc/ssh/x"]


def test_file_of_the_command_line(site, tmp_path):
    """-F is in place of all files, as with stock's."""
    (site.stock / "ssh_config").write_text("User site\n")
    config = tmp_path / "config"
    config.write_text("Port 5\n")
    assert site.shown("-F", config, "h")["user"] != ["site"]
    assert site.shown("h")["user"] == ["site"]


def test_what_is_not_for_us(site):
    """Keywords that only a later or a patched OpenSSH knows, and what this
    build lacks, are passed over without a word; wrong values are not."""
    (site.stock / "ssh_config").write_text(
        "OfTheFuture yes\nGSSAPIAuthentication yes\nGSSAPIKeyExchange yes\n"
        "PKCS11Provider none\nRhostsRSAAuthentication no\nUser site\n"
        "Host other\nOfTheFuture no\n")
    assert site.shown("h")["user"] == ["site"]
    (site.stock / "ssh_config").write_text("Port what\n")
    done = site.run(hpn("ssh"), "-G", "h")
    assert done.rc == 255
    assert done.errors.startswith("/etc/ssh/ssh_config line 1: "), done
    # In ours, what is not known stays an error.
    (site.stock / "ssh_config").write_text("")
    (site.own / "ssh_config").write_text("OfTheFuture yes\n")
    done = site.run(hpn("ssh"), "-G", "h")
    assert done.rc == 255 and "ofthefuture" in done.errors.lower()


def test_keys_of_the_site(site, sshd):
    """An IdentityFile that is not there is no complaint."""
    (site.stock / "ssh_config").write_text("IdentityFile /no/such/key\n")
    (site.stock / "ssh_known_hosts").write_text(sshd.known_hosts.read_text())
    done = site.run(hpn("ssh"), "-p", str(sshd.port), "-oBatchMode=yes",
                    "-i", sshd.keys.path("ed25519"), "127.0.0.1", "echo in")
    assert done.ok().text == "in\n" and done.errors == "", done


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_files_of_distributions(site, sshd, name):
    """Nothing is said, their values count, and a login works."""
    site.distribution(name)
    got = site.shown("host.example")
    if name == "fedora":
        assert got["forwardx11trusted"] == ["yes"]
    else:
        assert got["hashknownhosts"] == ["yes"]
        assert "LANG" in got["sendenv"]
    shutil.copy(sshd.known_hosts, site.stock / "ssh_known_hosts")
    args = [hpn("ssh"), "-p", str(sshd.port), "-oBatchMode=yes", "-i",
            sshd.keys.path("ed25519"), "127.0.0.1", "echo in"]
    done = site.run(*args).ok()
    assert done.text == "in\n" and done.errors == "", done


def test_destinations_of_agents(site, sshd):
    """hpnssh-add -h finds a site's host keys."""
    (site.stock / "ssh_known_hosts").write_text(
        "gate.example " + sshd.keys.public("ed25519-host") + "\n")
    args = [hpn("ssh-agent"), hpn("ssh-add"), "-h", "gate.example",
            sshd.keys.path("ed25519")]
    site.run(*args).ok()
    (site.stock / "ssh_known_hosts").unlink()
    failed = site.run(*args)
    assert failed.rc != 0 and "gate.example" in failed.errors
