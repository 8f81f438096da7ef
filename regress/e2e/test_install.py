# SPDX-License-Identifier: ISC
"""What make install leaves is enough to start the server; what packages bring
along for other programs; what the builds leave is ignored by git."""

import configparser
import shutil
import subprocess

import pytest

import harness
from harness import BUILD, TOP, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
# Each would hold for the sessions of users, too.
HARMLESS = {
    "Type", "EnvironmentFile", "ExecStartPre", "ExecStart", "ExecReload",
    "KillMode", "Restart", "RestartPreventExitStatus", "OOMPolicy",
    "StandardInput", "StandardError", "RuntimeDirectory",
    "RuntimeDirectoryMode", "RuntimeDirectoryPreserve"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    top = tmp_path_factory.mktemp("root")
    run(["make", "-s", "-C", BUILD, "install", f"DESTDIR={top}"],
        timeout=300).ok()
    return top


def paths():
    """The paths of the build: {name: path} from its Makefile."""
    text = subprocess.run(
        ["make", "-s", "-C", BUILD, "-f", "-", "tell"], text=True, check=True,
        capture_output=True, timeout=60, input=(
            "include Makefile\ntell:\n\t@echo '$(sbindir) $(confdir) "
            "$(privsepdir) $(runstatedir) $(unitdir)'\n")).stdout.split()
    return dict(zip(("sbin", "conf", "privsep", "run", "unit"), text))


def unit(path):
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(path)
    return parser


def test_directories(installed):
    """The pid file's, and the empty one of hpnsshd-auth."""
    where = paths()
    for name in ("run", "privsep"):
        path = installed / where[name].lstrip("/")
        assert path.is_dir() and path.stat().st_mode & 0o777 == 0o755
        if name == "privsep":
            assert not list(path.iterdir())


def test_units(installed):
    """With the paths of this installation."""
    where = paths()
    directory = installed / where["unit"].lstrip("/")
    assert sorted(p.name for p in directory.iterdir()) == [
        "hpnssh.service", "hpnssh.socket", "hpnssh@.service"]
    listener = unit(directory / "hpnssh.service")
    assert listener["Service"]["ExecStart"].split()[0] == \
        f"{where['sbin']}/hpnsshd"
    assert listener["Unit"]["ConditionPathExists"] == \
        f"!{where['conf']}/sshd_not_to_be_run"
    if where["privsep"] != "/run/hpnsshd":
        assert "RuntimeDirectory" not in listener["Service"]


@pytest.mark.parametrize("name", ["hpnssh.service", "hpnssh@.service"])
def test_units_take_nothing_from_sessions(name):
    service = unit(TOP / "contrib/systemd" / name)["Service"]
    assert set(service) <= HARMLESS
    assert service["KillMode"] == "process"
    assert service["RuntimeDirectory"] == "hpnsshd"


def test_jail_of_fail2ban(tmp_path):
    """As fail2ban reads it, with and without the file that turns it on."""
    if not shutil.which("fail2ban-client"):
        pytest.skip("fail2ban is not installed")
    conf = tmp_path / "fail2ban"
    shutil.copytree("/etc/fail2ban", conf)
    for path in (conf / "jail.d").iterdir():
        path.unlink()
    shutil.copy(TOP / "contrib/fail2ban/hpnssh.conf", conf / "jail.d")

    def dump():
        return run(["fail2ban-client", "-c", conf, "-d"]).text
    assert "hpnssh" not in dump()
    (conf / "jail.d/hpnssh.local").write_text("[hpnssh]\nenabled = true\n")
    said = dump()
    assert "['add', 'hpnssh', 'systemd']" in said
    assert "['set', 'hpnssh', 'addjournalmatch', " \
        "'_SYSTEMD_UNIT=hpnssh.service', '+', " \
        "'_SYSTEMD_SLICE=system-hpnssh.slice']" in said
    assert "ssh,2222" in said


def test_what_builds_leave_is_ignored(tmp_path):
    if not shutil.which("git"):
        pytest.skip("there is no git")
    run(["git", "init", "-q", tmp_path]).ok()
    shutil.copy(TOP / ".gitignore", tmp_path)
    made = ["build/dev/config.log", "configure", "aclocal.m4", "Makefile",
            "build-aux/config.h.in", "obj/hpnssh", "obj/base/log.o",
            "obj/include/config.h", "obj/regress/logs/test-log.log",
            "debian/files", "debian/hpnssh-server.hpnssh.service",
            "debian/hpnssh-server@.hpnssh.service",
            "debian/hpnssh-server.hpnssh.socket",
            "debian/hpnssh-server.sysusers", "debian/hpnssh-server.tmpfiles",
            "debian/hpnssh-keysign/usr/x", "debian/tmp/x",
            "debian/hpnssh-server.postinst.debhelper",
            "debian/hpnssh-server.substvars", "debian/debhelper-build-stamp",
            "debian/autoreconf.before", "hpn-ssh-0.9.0.tar.gz"]
    ours = ["debian/hpnssh-server.install", "debian/hpnssh-client.docs",
            "debian/watch", "debian/rules", "hpnssh.c", "base/log.c",
            "build-aux/in-tree.mk", "regress/unit/test-log",
            "contrib/systemd/hpnssh.service", "regress/unit/test-log.c"]
    said = run(["git", "-C", tmp_path, "check-ignore", *made, *ours],
               env=harness.clean_env(HOME=tmp_path))
    assert set(said.text.split()) == set(made)
