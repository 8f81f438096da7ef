# SPDX-License-Identifier: ISC
"""hpnssh-keygen -F, -R and -H beside the stock tool: lines of known_hosts."""

import random
import re

import pytest

from harness import have, stock, stock_release
from test_keygen import (key_of, keygen, needs_stock, pool,  # noqa: F401
                         stock_keygen)


@pytest.fixture
def hosts(tmp_path, pool):
    """A known_hosts file with all that may be in one."""
    ed, rsa, ec = (" ".join(key_of(
        pool[k].with_suffix(".pub").read_text()))
        for k in ("ed25519", "rsa", "ecdsa256"))
    path = tmp_path / "known_hosts"
    path.write_text(f"alpha,beta {ed} c1\n"
                    f"*.wild.org {rsa}\n"
                    f"@revoked alpha {ec} rv\n"
                    f"@cert-authority *.ca.org,alpha {ed} ca\n"
                    "# comment\n\n"
                    f"[gamma]:2222 {rsa}\n"
                    f"!neg.org,*.neg.org {rsa}\n"
                    f"   lead {ec}\n")
    return path


SEARCHES = ["alpha", "ALPHA", "beta", "x.wild.org", "gamma", "[gamma]:2222",
            "neg.org", "y.neg.org", "lead", "nobody", "x.ca.org"]


@needs_stock
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("flags", [[], ["-q"], ["-l"], ["-lv"]])
def test_find(hosts, name, flags):
    ours = keygen(*flags, "-F", name, "-f", hosts)
    theirs = stock_keygen(*flags, "-F", name, "-f", hosts)
    assert (ours.rc, ours.text) == (theirs.rc, theirs.text)


@needs_stock
@pytest.mark.parametrize("name", SEARCHES)
def test_remove_like_stock(tmp_path, hosts, name):
    before = hosts.read_text()
    ours = keygen("-R", name, "-f", hosts).ok()
    result, old = hosts.read_text(), tmp_path / "known_hosts.old"
    assert old.exists() == (result != before)
    if old.exists():
        assert old.read_text() == before
        old.unlink()
    hosts.write_text(before)
    theirs = stock_keygen("-R", name, "-f", hosts).ok()
    assert ours.text == theirs.text
    assert result == hosts.read_text()


def test_hash(tmp_path, hosts):
    before = hosts.read_text()
    done = keygen("-H", "-f", hosts).ok()
    assert f"{hosts} updated." in done.text
    assert f"Original contents retained as {hosts}.old" in done.text
    assert f"WARNING: {hosts}.old contains unhashed entries" in done.errors
    text = hosts.read_text()
    assert text.count("|1|") == 4 and "beta" not in text
    assert "*.wild.org" in text and "@revoked alpha" in text
    assert (tmp_path / "known_hosts.old").read_text() == before
    for name in ("alpha", "beta", "[gamma]:2222", "lead"):
        assert "|1|" in keygen("-F", name, "-f", hosts).ok().text
        if have("stock", "ssh-keygen"):
            stock_keygen("-F", name, "-f", hosts).ok()
    keygen("-R", "beta", "-f", hosts).ok()
    assert keygen("-F", "beta", "-f", hosts).rc == 1


@needs_stock
def test_stock_hashes_are_found(hosts):
    stock_keygen("-H", "-f", hosts).ok()
    for name in ("alpha", "beta", "[gamma]:2222", "lead"):
        keygen("-F", name, "-f", hosts).ok()


@pytest.mark.parametrize("args", [["-F", "a"], ["-R", "a"], ["-H"]])
def test_no_known_hosts(tmp_path, args):
    failed = keygen(*args, "-f", tmp_path / "none")
    assert failed.rc == 255 and "No such file" in failed.errors


def test_odd_lines_survive(hosts):
    """What has the form of a key need not be one."""
    odd = "host sk-ssh-ed25519@openssh.com AAAA\nhost ssh-ed25519 !!!\n"
    hosts.write_text(odd + hosts.read_text())
    keygen("-R", "beta", "-f", hosts).ok()
    assert hosts.read_text().startswith(odd)


# Old releases of OpenSSH take such for the name of a type.
SHORT_TYPES = ["ED25519", "rsa"]


@pytest.mark.parametrize("type_name", SHORT_TYPES)
def test_short_type(hosts, type_name):
    """As by stock's from 10.0 on, the short name of a type is none."""
    hosts.write_text(f"alpha {type_name} AAAA\n" + hosts.read_text())
    failed = keygen("-R", "beta", "-f", hosts)
    assert failed.rc == 1 and f"{hosts}:1: invalid line" in failed.errors


@pytest.mark.parametrize("flags", [["-R", "beta"], ["-H"]])
def test_no_line(hosts, flags):
    """A file with a line that is none is left alone, as by stock's."""
    hosts.write_text("alpha ssh-ed25519 AAAA\nwhat is this\n" +
                     hosts.read_text())
    before = hosts.read_text()
    failed = keygen(*flags, "-f", hosts)
    assert failed.rc == 1 and "Not replacing" in failed.errors, failed
    assert f"{hosts}:2: invalid line" in failed.errors
    assert f"{hosts}:1:" not in failed.errors
    assert hosts.read_text() == before


HASH = re.compile(r"\|1\|[^ |]{28}\|[^ |]{28}")
ODD_HOSTS = ["host", "target", "TARGET", "target,b", "a,", "*.x", "!x",
             "t*", "*,!target", "|1|x|y", "|x", "[target]:22", "h" * 3000,
             "|1|bf6tiEuk6hIR7qtBSWQvvz6Faws=|CAy7Hwu5bmmFLpe5eFn96pTIpVg="]
ODD_TYPES = ["ssh-ed25519", "sk-ssh-ed25519@openssh.com", "rsa-sha2-256",
             "ssh-rsa", "ecdsa-sha2-nistp521", "is", "1024", "SSH-RSA",
             "ssh-ed25519-cert-v01@openssh.com",
             "ssh-ed25519,AAAA", "ssh-xmss@openssh.com", "#"]
ODD_KEYS = ["AAAA", "!!!", "AAAA comment here", "35 12345", "", "\t"]
ODD_LINES = ["", "  ", "# c", " # c", "target", "target ", "@revoked",
             "@revoked target", "@bogus target ssh-rsa AAAA"]
ODD_FLAGS = [["-R", "target"], ["-H"], ["-F", "target"],
             ["-H", "-F", "target"], ["-l", "-F", "target"]]


def odd_line(dice, ed):
    if dice.random() < 0.1:
        return dice.choice(ODD_LINES)
    good = dice.random() < 0.8  # else most files would be left alone
    blank = dice.choice([" ", " ", "\t", "  "])
    key = (["ssh-ed25519", dice.choice([ed, "AAAA"])] if good else
           [dice.choice(ODD_TYPES + SHORT_TYPES * (stock_release() >= (10, 0))),
            dice.choice(ODD_KEYS)])
    return (dice.choice(["", "", "", "@revoked ", "@cert-authority  ", " \t"])
            + blank.join([dice.choice(ODD_HOSTS), *key])
            + dice.choice(["", "", " c", "\r" if good else "", " "]))


def edit(tool, path, flags, text):
    path.write_bytes(text.encode())
    done = tool(*flags, "-f", path)
    errors = [line for line in done.errors.splitlines()
              if not line.startswith("Delete this file")]
    after = path.read_bytes().decode()
    return (done.rc, HASH.sub("HASH", done.text), errors,
            HASH.sub("HASH", after))


@pytest.mark.parametrize("text", ["", "# c\n", "*.x ssh-ed25519 AAAA\n",
                                  "@revoked h ssh-ed25519 AAAA"])
def test_nothing_to_hash(tmp_path, text):
    """As stock's, which replaces it by the same: a .old that tells names is
    none then."""
    path, old = tmp_path / "known_hosts", tmp_path / "known_hosts.old"
    path.write_text(text)
    old.write_text("secret.example.org ssh-ed25519 AAAA\n")
    done = keygen("-H", "-f", path).ok()
    assert done.text == (f"{path} updated.\n"
                         f"Original contents retained as {old}\n")
    assert path.read_text() == old.read_text() == text
    assert "WARNING" not in done.errors


@needs_stock
@pytest.mark.parametrize("seed", range(6))
def test_odd_lines_as_stock(tmp_path, pool, seed):
    """Files of odd lines are found in, edited and refused as by stock's."""
    dice = random.Random(seed)
    ed = key_of(pool["ed25519"].with_suffix(".pub").read_text())[1]
    for _ in range(6):
        text = "".join(odd_line(dice, ed) + "\n"
                       for _ in range(dice.randrange(1, 6)))
        for flags in ODD_FLAGS:
            path = tmp_path / "known_hosts"
            assert edit(keygen, path, flags, text) == edit(
                stock_keygen, path, flags, text), (flags, text)
