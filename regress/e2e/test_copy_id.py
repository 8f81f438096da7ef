# SPDX-License-Identifier: ISC
"""hpnssh-copy-id: keys come to where the server looks for them, once, and
nothing that was there is lost; with our server and the stock one."""

import os
import re
import shlex
import shutil

import pytest
from agents import Agent
from sshwire import load_key

from harness import BUILD, ME, TOP, clean_env, have, run, stock

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "sftp"),
                                reason="hpnssh is not built")
SCRIPT = TOP / "contrib/hpnssh-copy-id"


class Account:
    """A home here, whose key is to come to the file `there`. The first login
    is by another key, in place of a password."""

    def __init__(self, server, keys, tmp_path):
        self.server, self.keys = server, keys
        self.there = tmp_path / "there dir/authorized_keys"
        self.home = tmp_path / "home"
        (self.home / ".ssh").mkdir(mode=0o700, parents=True)
        self.config = tmp_path / "config"
        self.config.write_text(
            f"UserKnownHostsFile {server.known_hosts}\n"
            "GlobalKnownHostsFile none\nStrictHostKeyChecking yes\n"
            "BatchMode yes\n")

    def add_home_key(self, name="ed25519-new"):
        for suffix in ("", ".pub"):
            to = self.home / f".ssh/id_{name.split('-')[0]}{suffix}"
            shutil.copy(f"{self.keys.path(name)}{suffix}", to)
            to.chmod(0o600)
        return to

    def copy(self, *args, password=True, env=(), **kw):
        """password: what logs in where the new key does not."""
        env = clean_env(HOME=self.home, PATH=f"{BUILD}:{os.environ['PATH']}",
                        **dict(env))
        wrapped = self.home / "bin"
        wrapped.mkdir(exist_ok=True)
        for name in ("hpnssh", "hpnsftp"):
            tool = wrapped / name
            # the one that asks for the "password" is not the one that tries
            tool.write_text(
                "#!/bin/sh\ncase \"$*\" in *PreferredAuth*) ;; *) "
                + (f"set -- -o IdentitiesOnly=yes -i "
                   f"{self.keys.path('rsa')} \"$@\" ;; " if password
                   else ":;; ")
                + f"esac\nexec {BUILD}/{name} \"$@\"\n")
            tool.chmod(0o755)
        shutil.copy(SCRIPT, wrapped / "hpnssh-copy-id")
        return run([wrapped / "hpnssh-copy-id", "-F", self.config, "-p",
                    self.server.port, "-t", self.there, *args,
                    f"{ME}@127.0.0.1"], env=env, **kw)

    def lines(self):
        return self.there.read_text().splitlines()


@pytest.fixture(params=["hpn", "stock"])
def account(request, make_server, keys, tmp_path):
    there = tmp_path / "there dir/authorized_keys"
    first = keys.dir / "first"
    first.write_text(keys.public("rsa") + "\n")
    server = make_server(f'AuthorizedKeysFile {first} "{there}"\n',
                         kind=request.param)
    return Account(server, keys, tmp_path)


WAYS = pytest.mark.parametrize("way", [(), ("-s",)], ids=["shell", "sftp"])


@WAYS
def test_key_comes_and_opens_the_door(account, way):
    account.add_home_key()
    done = account.copy(*way)
    assert done.rc == 0 and "Number of key(s) added: 1" in done.text, done
    assert account.lines() == [account.keys.public("ed25519-new")]
    assert account.there.stat().st_mode & 0o777 == 0o600
    again = account.copy(*way, password=False)
    assert again.rc == 0 and "are there already" in again.errors, again
    assert len(account.lines()) == 1
    forced = account.copy("-f", *way)
    assert forced.rc == 0 and len(account.lines()) == 2


def test_its_last_line_is_a_command_that_works(account):
    """With the port, the configuration and the options that were given, as a
    shell reads them."""
    account.add_home_key()
    done = account.copy("-o", 'SetEnv=TWO="two words"')
    assert done.rc == 0, done
    command, = re.findall('Check with "hpnssh (.*)" that', done.text)
    words = shlex.split(command)
    assert words == ["-F", str(account.config), "-o",
                     f"Port={account.server.port}", "-o",
                     'SetEnv=TWO="two words"', f"{ME}@127.0.0.1"], done


def test_help(account):
    done = run([SCRIPT, "--help"]).ok()
    assert done.text.startswith("usage: hpnssh-copy-id ") and not done.err
    for letter in "finstFopxh":
        assert f" -{letter}" in done.text, letter
    assert "--help" in done.text


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_version(flag):
    """The version is that of the program that it calls, so nobody is left
    without an answer."""
    done = run([SCRIPT, flag], env=clean_env(
        PATH=f"{BUILD}:{os.environ['PATH']}")).ok()
    assert done.errors == run([BUILD / "hpnssh", "-V"]).errors


@WAYS
@pytest.mark.parametrize("before", [b"# mine\nssh-rsa AAAA x", b"a\n", b""])
def test_nothing_is_lost(account, way, before):
    """Neither lines nor the end of the last one."""
    account.there.parent.mkdir()
    account.there.write_bytes(before)
    account.add_home_key()
    assert account.copy(*way).rc == 0
    if before and not before.endswith(b"\n"):
        before += b"\n"
    assert account.there.read_bytes() == before + (
        account.keys.public("ed25519-new") + "\n").encode()


@WAYS
def test_what_cannot_be_read_is_not_overwritten(account, way):
    """A directory in place of the file: nothing is put over it."""
    account.there.mkdir(parents=True)
    account.add_home_key()
    done = account.copy(*way)
    assert done.rc == 1 and "could not be added" in done.errors, done
    assert account.there.is_dir() and not list(account.there.iterdir())


def test_dry_run(account):
    account.add_home_key()
    done = account.copy("-n")
    assert done.rc == 0 and account.keys.public("ed25519-new") in done.text
    assert not account.there.exists()


@pytest.mark.parametrize("suffix", ["", ".pub"])
def test_named_key(account, tmp_path, suffix):
    account.add_home_key()
    key = account.keys.path("ecdsa256-named")
    assert account.copy("-i", f"{key}{suffix}").rc == 0
    assert account.lines() == [account.keys.public("ecdsa256-named")]


def test_public_half_alone_needs_force(account, tmp_path):
    public = tmp_path / "other.pub"
    public.write_text(account.keys.public("ed25519-other") + "\n")
    done = account.copy("-i", public)
    assert done.rc == 1 and "is not there" in done.errors
    assert account.copy("-fi", public).rc == 0
    assert account.lines() == [account.keys.public("ed25519-other")]


@pytest.mark.skipif(not stock("ssh-add"), reason="no ssh-add is installed")
def test_keys_of_the_agent(account, tmp_path):
    account.add_home_key()
    with Agent(tmp_path / "agent",
               load_key(account.keys.path("ed25519-held")), "held"):
        env = {"SSH_AUTH_SOCK": tmp_path / "agent"}
        assert account.copy(env=env).rc == 0
        held = account.keys.public("ed25519-held").split()[1]
        assert [x.split()[1] for x in account.lines()] == [held]
        done = account.copy(env=env, password=False)
        assert "are there already" in done.errors, done
        # -i without a name: not the agent's
        assert account.copy("-i", env=env).rc == 0
        assert account.lines()[1:] == [account.keys.public("ed25519-new")]


def test_newest_file_and_no_certificate(account):
    old = account.add_home_key("ecdsa256-old")
    new = account.add_home_key("ed25519-new")
    os.utime(old, (1, 1))
    cert = new.parent / "id_rsa-cert.pub"
    cert.write_text("ssh-rsa-cert-v01@openssh.com AAAA x\n")
    assert account.copy().rc == 0
    assert account.lines() == [account.keys.public("ed25519-new")]
    done = account.copy("-f", "-i", cert)
    assert done.rc == 1 and "no plain public key" in done.errors


def test_other_troubles_than_a_refusal_end_it(account):
    account.add_home_key()
    account.config.write_text(account.config.read_text().replace(
        str(account.server.known_hosts), "/dev/null"))
    done = account.copy()
    assert done.rc == 1 and "Host key verification failed" in done.errors
    assert not account.there.exists()


@pytest.mark.parametrize("args", [
    ["-z"], ["-p"], ["-t", ""], ["-t", "dir/"], ["second"]], ids=str)
def test_bad_arguments(account, args):
    account.add_home_key()
    done = account.copy(*args)
    assert done.rc == 1 and not done.out, done


def test_hostile_names(account, tmp_path):
    """A name of a file is never a command, here or there."""
    account.add_home_key()
    mark = tmp_path / "mark"
    for way in ((), ("-s",)):
        name = tmp_path / f"a'b $(touch {mark.name}) \"c\" ; touch x{len(way)}"
        done = account.copy("-t", name, *way)
        assert done.rc == 0, done
        assert name.read_text() == account.keys.public("ed25519-new") + "\n"
    assert not mark.exists()
