# SPDX-License-Identifier: ISC
"""hpnsftp: what each command does and says, batch rules, the terminal
(editing, completion, ^C); the same lines through the installed sftp give the
same output and the same trees."""

import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from copies import sftp_end
from harness import (LONG, ME, Client, clean_env, have, hpn, run, stock,
                     wait_for)
from terminal import Terminal

SFTP = hpn("sftp")
OUR_SERVER = hpn("sftp-server")
STOCK_SERVER = "/usr/lib/openssh/sftp-server"
SERVERS = [OUR_SERVER] + ([STOCK_SERVER] if os.path.exists(STOCK_SERVER)
                          else [])

pytestmark = pytest.mark.skipif(not have("hpn", "sftp", "sftp-server"),
                                reason="hpnsftp is not built")
needs_stock = pytest.mark.skipif(not stock("sftp"),
                                 reason="no stock sftp is installed")
not_root = pytest.mark.skipif(os.getuid() == 0, reason="root may do it all")
both_servers = pytest.mark.parametrize("server", SERVERS)


def sftp(*lines, flags=(), server=OUR_SERVER, program=None, batch=True,
         **kw):
    """Lines to a client with a server behind it."""
    return run([program or SFTP, *(["-b", "-"] if batch else []), *flags,
                "-D", server], stdin="".join(f"{line}\n" for line in lines)
               .encode(errors="surrogateescape"), **kw)


@pytest.fixture
def place(tmp_path):
    """The directory that both sides begin in."""
    top = tmp_path / "place"
    (top / "dir/sub").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "files").mkdir()
    for i, (name, size) in enumerate((
            ("a", 6), ("b", 3), ("big", 100000), ("sp ace", 2), ("st*r", 1),
            ("dir/f", 12), ("dir/sub/g", 70000), (".hidden", 4),
            ("files/x", 7), ("files/y", 3000), ("files/z", 20),
            ("quo\"te's", 9), ("back\\slash", 10))):
        (top / name).write_bytes(os.urandom(size))
        os.utime(top / name, (1000000000 + i, 1234567890 + 1000 * i))
    (top / "link").symlink_to("a")
    (top / "dlink").symlink_to("dir")
    return top


def contents(top):
    """Names with what is in them; links as such."""
    found = {}
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            key = os.path.relpath(path, top)
            if os.path.islink(path):
                found[key] = "-> " + os.readlink(path)
            elif os.path.isdir(path):
                found[key] = oct(os.stat(path).st_mode)
            else:
                with open(path, "rb") as f:
                    found[key] = oct(os.stat(path).st_mode), f.read()
    return found


# ---- the same as stock -------------------------------------------------

def normal(text):
    """Without the blanks that columns end with, and what stock marks; stock
    does not know how many links a file has."""
    return [re.sub(r"^([-dlps][-rwxsStT]{9}) [0-9]+ ", r"\1 ? ",
                   re.sub(r" +", " ", line)).rstrip()
            for line in text.splitlines()]


LISTINGS = """ls
ls -1
ls -l
ls -la
ls -a
ls -lh
ls -r
ls -1S files
ls -1rS files
ls -1t files
ls -lt files
ls -lrt files
ls -1S [ab]*
ls -1t [ab]*
ls -1 dir
ls -1 dir/
ls -l dir
ls -1 ./dir
ls -1 ..
ls -1 dlink
ls -l dir/f
ls -1 dir/*
ls -1 */f
ls -1 [ab]*
ls -l [ab]*
ls -1 [!ab]*
ls -1 "sp ace"
ls -1 'sp ace'
ls -1 sp\\ ace
ls -1 s"p a"ce
ls -1 "st*r"
ls -1 st\\*r
ls -1 s*
ls -1 {a,dir/f}
ls -l {dir,a}
ls -1 dir/{f,f}
ls -1 "{a,dir}"
LS -1 a
dir -1 a
ls -1 empty
ls -1 a # b
# ls
pwd
cd dir
pwd
ls -1
ls -1 ../a
cd ..
chdir /
pwd
cd
PWD
df /proc
df -h /proc
df -i /proc
df -hi /proc
version
@pwd
-@ls -1 nosuch
@-ls -1 nosuch
- rm nosuch
--rm nosuch
lpwd
lcd dir
lpwd
!echo out
lls
lcd ..
progress
help me not""".splitlines()


@needs_stock
@both_servers
def test_output_as_stock(place, server):
    shown = []
    for program in (stock("sftp"), SFTP):
        done = sftp(*LISTINGS[:-1], program=program, server=server,
                    cwd=place).ok()
        shown.append(normal(done.text))
    assert shown[0] == shown[1]


COMMANDS = """get a /OUT/a1
get [ab]* /OUT
get -r dir /OUT/dir1
get -r dir /OUT
get "sp ace" st\\*r /OUT/star
get st\\*r /OUT/star
get -p big /OUT/kept
mget big /OUT/mgot
get -f a /OUT/synced
put a up
put [ab]* empty
put -r dir up.dir
put -r dir empty
put -p big kept
put -P big kept2
put "sp ace" 'sp ace 2'
put -f b synced
mput b mput
mkdir new
mkdir "with blank"
mkdir st*
rmdir "with blank"
rename up upped
rename -l upped up
rename a b
ln -s nowhere/else dangling
symlink big tobig
ln big hard
cp big copied
copy big copied2
chmod 600 big
chmod 0640 [c]opied*
rm mput
rm hard*
-rm nosuch
-mkdir new
-rmdir dir
-rename nosuch x
-rename -l copied copied2
-get nosuch
-put nosuch
-ln kept kept2
lmkdir /OUT/made
lumask 077
get copied /OUT/masked
lcd /OUT
get copied
put a1 from_out""".splitlines()


@needs_stock
@both_servers
def test_trees_as_stock(place, tmp_path, server):
    trees = []
    for number, program in enumerate((stock("sftp"), SFTP)):
        here = tmp_path / f"run{number}"
        out = tmp_path / f"out{number}"
        shutil.copytree(place, here, symlinks=True)
        out.mkdir()
        done = sftp(*(c.replace("/OUT", str(out)) for c in COMMANDS),
                    program=program, server=server, cwd=here)
        assert done.rc == 0, done
        trees.append((contents(here), contents(out)))
        assert int((here / "kept").stat().st_mtime) == int(
            (place / "big").stat().st_mtime)
        assert int((out / "kept").stat().st_mtime) == int(
            (place / "big").stat().st_mtime)
    assert trees[0] == trees[1]


STATUSES = """ls nosuch
get
get nosuch
get nosuch*
get -x a
get dir
get [ab]* nosuch
put
put nosuch
put a /nosuch/x
put dir
put [ab] nosuch
reget big b
reput big nosuch/x
rm nosuch
rm dir
rm -f a
rmdir dir
mkdir dir
mkdir
rename nosuch x
rename a
ln a b
ln -s a b
ln a
symlink a
cp nosuch x
cp dir x
cp a
chmod 600 nosuch
chmod 9 a
chmod 600
chmod
chown x a
chown -h 4294967296 a
cd nosuch
cd a
lcd /nosuch
lmkdir dir
df nosuch
lumask 9
lumask
foo
"ls
-foo
-get
-rm nosuch
-"ls
@foo
@-foo
!false
!exit 3
lls /nosuch
bye
exit
quit""".splitlines()


@pytest.mark.skipif(not os.path.exists(STOCK_SERVER),
                    reason="no stock sftp-server is installed")
@pytest.mark.parametrize("denied, rc", [("lstat", 1), ("stat", 1),
                                        ("readlink", 0)])
def test_get_where_names_may_not_be_looked_at(place, tmp_path, denied, rc):
    """As stock's: get fails where a name may not be looked at."""
    server = tmp_path / "server"
    server.write_text(f'#!/bin/sh\nexec {STOCK_SERVER} -P {denied} "$@"\n')
    server.chmod(0o755)
    programs = [SFTP] + ([stock("sftp")] if stock("sftp") else [])
    for program in programs:
        done = sftp("get a x1", server=server, program=program, cwd=place)
        assert done.rc == rc and (place / "x1").exists() == (rc == 0), done
        (place / "x1").unlink(missing_ok=True)


def test_braces(place):
    """With names that are not there, at which stock's may end by SIGSEGV."""
    (place / "{c,d}").write_text("")
    for word, want in (("{dir,no/such}", ["dir/f", "dir/sub"]), ("{a,nope}", ["a"]),
                       ("{a*,di{r,x}}", ["a", "dir/"]),
                       (r"\{c,d}", ["{c,d}"])):
        done = sftp(f"@ls -1 {word}", cwd=place).ok()
        assert done.text.splitlines() == want, done
    done = sftp("ls -1 {no,nope}", cwd=place)
    assert done.rc == 1 and f'"{place}/{{no,nope}}" not found' in done.errors


@needs_stock
def test_statuses_as_stock(place):
    """One line each, then one that shows whether it went on."""
    for line in STATUSES:
        ends = [sftp(line, "@version", program=program, cwd=place)
                for program in (stock("sftp"), SFTP)]
        assert ends[0].rc == ends[1].rc, (line, ends)
        went_on = ["SFTP protocol version 3" in e.text for e in ends]
        assert went_on[0] == went_on[1], (line, ends)
        if ends[1].rc:
            assert ends[1].errors.strip(), line


# ---- beyond stock --------------------------------------------------------

@pytest.mark.parametrize("server", [OUR_SERVER, STOCK_SERVER])
def test_ls_of_several(place, server):
    if not os.path.exists(server):
        pytest.skip("no server")
    (place / "two").hardlink_to(place / "a")
    with open(place / "large", "wb") as f:
        f.truncate(12345678901)
    done = sftp("ls -1 nothere [ab]* dir", "ls -l a large", "ls -l",
                batch=False, cwd=place, server=server)
    assert f"Can't ls: \"{place}/nothere\" not found" in done.errors
    lines = done.text.splitlines()
    names = [n for n in lines if n in ("a", "b", "dir/f")]
    assert names[:2] == ["a", "dir/f"] or "b" in names, lines
    sizes = {line.split()[-1]: line for line in lines
             if line.startswith("-rw") and line.split()[-1] in
             ("a", "large")}
    if server == OUR_SERVER:
        # the number of links; and columns stay columns
        assert sizes["a"].split()[1] == "2", done
        at = [sizes[n].index(sizes[n].split()[4]) +
              len(sizes[n].split()[4]) for n in ("a", "large")]
        assert at[0] == at[1], sizes


@pytest.mark.parametrize("server", [OUR_SERVER, STOCK_SERVER])
def test_rm_of_trees(place, tmp_path, server):
    if not os.path.exists(server):
        pytest.skip("no server")
    safe = tmp_path / "safe"
    safe.mkdir()
    (safe / "kept").touch()
    tree = place / "tree"
    (tree / "sub" / "sub").mkdir(parents=True)
    for i in range(200):
        (tree / "sub" / f"f{i}").touch()
    (tree / "link").symlink_to(safe)
    (place / "top").symlink_to(safe)
    done = sftp("rm tree", "rm -r tree/.", "rm -r tree/sub/..", "rm -r /",
                batch=False, cwd=place, server=server)
    assert (tree / "sub" / "f0").exists() and done.errors.count(
        "a directory is removed by its name") == 3, done
    sftp("rm -r tree/", "rm -r top", cwd=place, server=server).ok()
    assert not tree.exists() and not (place / "top").is_symlink()
    assert (safe / "kept").exists()
    # What cannot be removed is told, and fails a batch.
    done = sftp("rm -r nosuch", cwd=place, server=server)
    assert done.rc == 1 and "remote delete" in done.errors


# ---- what is said ------------------------------------------------------

def test_the_servers_reason(place):
    """Version 3 has one word for most of what can go wrong; the server says
    more, and a person is told that."""
    (place / "full").mkdir()
    (place / "full" / "x").touch()
    done = sftp("rmdir full", "put a /dev/full", "rename a full",
                batch=False, cwd=place)
    assert f'remote rmdir "{place}/full": Directory not empty' in done.errors
    assert "/dev/full: No space left on device" in done.errors
    assert f'to "{place}/full": Is a directory' in done.errors, done
    # A server that says nothing.
    if os.path.exists(STOCK_SERVER):
        done = sftp("rmdir full", batch=False, cwd=place,
                    server=STOCK_SERVER)
        assert f'remote rmdir "{place}/full": Failure' in done.errors, done


def test_batch_that_cannot_be_read(tmp_path):
    """That is no end of the file: the commands have not all been done."""
    done = run([SFTP, "-D", OUR_SERVER, "-b", tmp_path])
    assert done.rc == 1, done
    assert done.errors == f"hpnsftp: {tmp_path}: Is a directory\n", done


def test_lines_that_scripts_read(place, tmp_path):
    done = sftp("get a x1", "put a x2", "rm x2", "chmod 600 a", "get nosuch",
                batch=False, cwd=place)
    top = str(place)
    assert done.rc == 0
    assert f"Attached to {OUR_SERVER}." in done.errors
    for line in (f"Fetching {top}/a to x1", f"Uploading a to {top}/x2",
                 f"Removing {top}/x2", f"Changing mode on {top}/a",
                 "sftp> get a x1"):
        assert line in done.text.splitlines()
    assert f'File "{top}/nosuch" not found.' in done.errors
    # A batch is quiet, unless told otherwise; -q always is.
    for flags, told in (((), False), (["-N"], True), (["-q"], False)):
        done = sftp("get a x1", flags=flags, cwd=place).ok()
        assert ("Fetching" in done.text) == told, done
    done = sftp("get -r dir y1", "put -r dir y2", batch=False, cwd=place).ok()
    for line in (f"Retrieving {top}/dir", "Entering dir"):
        assert line in done.text.splitlines(), done
    assert "Entering" not in sftp("put -r dir y3", cwd=place).ok().text
    assert "sftp> pwd" in sftp("pwd", cwd=place).ok().text
    assert "sftp> pwd" not in sftp("@pwd", cwd=place).ok().text


@pytest.mark.skipif(not os.path.exists(STOCK_SERVER),
                    reason="no stock sftp-server is installed")
def test_notes_that_are_of_no_file(place):
    """Such as that a server has no digests; each is told in a line that has
    no place for a name, before what is told of the part."""
    for command, there in (("get -a big x", "x"), ("reget big x", "x"),
                           ("put -a big y", "y"), ("reput big y", "y")):
        (place / f".{there}.hpnpart").write_bytes(b"begun")
        done = sftp(command, server=STOCK_SERVER, cwd=place).ok()
        note, of_part = done.errors.splitlines()
        assert of_part.endswith(
            f"{there}: a file that has the name of its part is left alone")
        assert note == ("the server has no digests: what is there is trusted "
                        "by size and time"), done
        (place / there).unlink()
        (place / f".{there}.hpnpart").unlink()


def test_help_names_every_command(place):
    shown = sftp("help", "?", cwd=place).ok().text
    for name in """bye cd chgrp chmod chown copy df exit get help lcd lls
            lmkdir ln lpwd ls lumask mkdir progress put pwd quit reget
            rename reput rm rmdir symlink version ! ?""".split():
        assert len(re.findall(rf"^{re.escape(name)} ", shown, re.M)) == 2
    assert max(map(len, shown.splitlines())) < 80


def test_escapes_are_not_for_the_terminal(place):
    (place / "c\x1b[31mx").write_text("x")
    (place / "new\nline").write_text("x")
    done = sftp("ls", "ls -l", "ls -1", "get c* out", "get new*",
                "-rm \x1b[2J", "-\x1b]0;x", flags=["-N"], cwd=place).ok()
    assert b"\x1b" not in done.err
    assert b"\x1b" not in done.out.replace(b"sftp> -rm \x1b[2J", b"")
    assert b"\\033[31m" in done.out
    assert "line" not in done.text.splitlines()
    assert (place / "out").exists()


def test_batch_file(place, tmp_path):
    batch = tmp_path / "batch"
    batch.write_bytes(b"mkdir one\r\n\n# comment\n-rmdir two\nrmdir three\n"
                      b"mkdir four")
    done = run([SFTP, "-b", batch, "-D", OUR_SERVER], cwd=place)
    assert done.rc == 1
    assert (place / "one").exists() and not (place / "four").exists()
    batch.write_bytes(b"mkdir five")  # no end of line
    run([SFTP, "-b", batch, "-D", OUR_SERVER], cwd=place).ok()
    assert (place / "five").exists()
    assert run([SFTP, "-b", "/none", "-D", OUR_SERVER]).rc == 255
    assert run([SFTP, "-b", "-", "-b", "-", "-D", OUR_SERVER]).rc == 255
    # Without -b a failure does not end it.
    done = sftp("rmdir nosuch", "mkdir six", batch=False, cwd=place)
    assert done.rc == 0 and (place / "six").exists()
    (place / "seven").mkdir()
    done = sftp("bye", "rmdir seven", cwd=place).ok()
    assert (place / "seven").exists()


# ---- transfers ---------------------------------------------------------

@both_servers
def test_nothing_of_a_device_is_stored(place, server):
    """fsync is refused then, as by pipes; the device keeps its time."""
    device = place / "device"
    if os.getuid() == 0:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.stat("/dev/null").st_rdev)
    else:
        device = "/dev/null"
    before = os.stat(device).st_mtime
    for command in ("put", "get"):
        sftp(f"{command} -f a {device}", server=server, cwd=place).ok()
    assert os.stat(device).st_mtime >= before


@both_servers
def test_resume(place, server):
    whole = (place / "big").read_bytes()
    (place / "part").write_bytes(whole[:5000])
    sftp("reget big part", server=server, cwd=place).ok()
    assert (place / "part").read_bytes() == whole
    sftp("reget big part", server=server, cwd=place).ok()
    # It is what was there that is kept.
    (place / "other").write_bytes(b"x" * 5000)
    sftp("reput big other", server=server, cwd=place).ok()
    assert (place / "other").read_bytes() == b"x" * 5000 + whole[5000:]
    sftp("get -a big fresh", server=server, cwd=place).ok()
    assert (place / "fresh").read_bytes() == whole
    for line in ("reget a big", "get -a a big", "reput a big", "put -a a big"):
        done = sftp(line, server=server, cwd=place)
        assert done.rc == 1 and "larger" in done.errors, done
        assert (place / "big").read_bytes() == whole
    (place / "part").write_bytes(whole[:9])
    sftp("get big part", flags=["-a"], server=server, cwd=place).ok()
    assert (place / "part").read_bytes() == whole


@both_servers
def test_resume_of_a_tree(place, server, tmp_path):
    (tmp_path / "out/dir/sub").mkdir(parents=True)
    g = (place / "dir/sub/g").read_bytes()
    (tmp_path / "out/dir/sub/g").write_bytes(g[:1000])
    sftp(f"reget -r dir {tmp_path}/out", server=server, cwd=place).ok()
    assert (tmp_path / "out/dir/sub/g").read_bytes() == g
    assert (tmp_path / "out/dir/f").exists()
    (place / "up/dir/sub").mkdir(parents=True)
    (place / "up/dir/sub/g").write_bytes(g[:2000])
    sftp("reput -r dir up", server=server, cwd=place).ok()
    assert contents(place / "up/dir") == contents(place / "dir")


@both_servers
def test_links_in_trees_are_told_not_followed(place, server):
    (place / "dir/loop").symlink_to("..")
    (place / "dir/out").symlink_to("/etc/passwd")
    done = sftp("get -r dir got", "put -r dir sent", server=server,
                cwd=place).ok()
    for top in ("got", "sent"):
        assert not os.path.lexists(place / top / "loop")
        assert not os.path.lexists(place / top / "out")
        assert (place / top / "sub/g").exists()
    assert done.errors.count("not a regular file") == 4


@not_root
def test_permissions(place):
    (place / "a").chmod(0)
    for line in ("get a x", "put a x", "chown 0 b"):
        done = sftp(line, cwd=place)
        assert done.rc == 1 and "Permission denied" in done.errors, done


def test_owner_and_group(place):
    uid, gid = os.getuid(), os.getgid()
    sftp(f"chown {uid} a", f"chgrp {gid} [ab]", f"chown -h {uid} link",
         cwd=place).ok()
    assert (place / "a").stat().st_gid == gid
    assert "? 0 " in normal(sftp("@ls -n a", cwd=place).text)[0] or uid != 0


def test_rename_replaces_or_not(place):
    sftp("rename a b", cwd=place).ok()
    assert not (place / "a").exists()
    assert sftp("rename -l b big", cwd=place).rc == 1
    assert (place / "b").exists()


def test_server_without_extensions(place):
    done = sftp("-cp a x", "-ln a x", "-chmod -h 600 link", "-df", "ls -l a",
                "rename a aa", "ls -l",
                server=f"{OUR_SERVER} -P copy-data,hardlink,lsetstat,statvfs,"
                "users-groups-by-id,posix-rename", cwd=place).ok()
    assert done.errors.count("Operation not supported") == 4, done
    assert (place / "aa").exists() and not (place / "x").exists()


def test_limit_and_tuning(place, tmp_path):
    (place / "300k").write_bytes(os.urandom(300000))
    done = sftp("get 300k x", flags=["-l", "2000"], cwd=place).ok()
    assert 0.7 < done.seconds < 30, done
    sftp("get 300k y", "put 300k z", flags=["-R", "1", "-B", "1000"],
         cwd=place).ok()
    assert (place / "y").read_bytes() == (place / "300k").read_bytes()
    assert (place / "z").read_bytes() == (place / "300k").read_bytes()


HOSTILE = r"""
def attrs(mode):
    return struct.pack(">IQI", 5, 3, mode)

listed = False
for kind, rest in requests():
    path = first_string(rest)
    if kind == 16:
        send(104, rid + u32(1) + string(b"/h") + string(b"") + attrs(0o40755))
    elif kind in (7, 17):
        send(105, rid + attrs(0o40755 if path.endswith((b"h", b"top")) else 0o100644))
    elif kind in (3, 11):
        send(102, rid + string(b"x"))
        listed = False
    elif kind == 12 and not listed:
        listed = True
        names = [b"../evil", b"/tmp/evil", b"..", b"a/b", b"", b"n\0ul", b"good"]
        send(104, rid + u32(len(names)) + b"".join(
            string(n) + string(b"l " + n) + attrs(0o100644) for n in names))
    elif kind == 5 and rest[4 + 1:4 + 9] == bytes(8):
        send(103, rid + string(b"abc"))
    else:
        status({4: 0, 5: 1, 12: 1}.get(kind, 8))
"""


def test_hostile_server(tmp_path):
    server = sftp_end(tmp_path / "server.py", HOSTILE)
    where = tmp_path / "in/here"
    where.mkdir(parents=True)
    sftp("-get -r top", "-get *", "-get /h/*", "ls", "ls -l", "-ls *",
         server=server, cwd=where)
    assert (where / "good").read_bytes() == b"abc"
    assert (where / "top/good").read_bytes() == b"abc"
    assert sorted(os.listdir(where)) == ["good", "top"]
    assert os.listdir(where / "top") == ["good"]
    assert os.listdir(tmp_path / "in") == ["here"]


# ---- the command line --------------------------------------------------

@pytest.fixture
def fake_ssh(tmp_path):
    """A program that notes its arguments, and is a server."""
    log, fake = tmp_path / "args", tmp_path / "fake ssh"
    fake.write_text(f'#!/bin/sh\nfor a; do echo "$a" >>{log}; done\n'
                    f"exec {OUR_SERVER}\n")
    fake.chmod(0o755)

    def go(*args, lines=b"", cwd=None):
        if log.exists():
            log.unlink()
        done = run([SFTP, "-S", fake, *args], stdin=lines, cwd=cwd)
        done.args = log.read_text().splitlines() if log.exists() else []
        return done
    return go


def test_ssh_arguments(fake_ssh):
    args = fake_ssh("-4", "-A", "-C", "-c", "aes128-ctr", "-F", "none", "-i",
                    "key", "-J", "jump", "-o", "A=b", "-P", "77", "-q",
                    "me@[::1]").ok().args
    assert args[args.index("-4"):] == [
        "-4", "-A", "-C", "-c", "aes128-ctr", "-F", "none", "-i", "key", "-J",
        "jump", "-o", "A=b", "-q", "-p", "77", "-l", "me", "-s", "--", "::1",
        "sftp"]
    for option in ("-oPermitLocalCommand=no", "-oClearAllForwardings=yes",
                   "-oControlMaster=no", "-oForwardAgent=no"):
        assert option in args
    args = fake_ssh("-P", "1", "sftp://you@host:88").ok().args
    assert args[-9:] == ["-oForwardAgent=no", "-p", "88", "-l", "you", "-s",
                         "--", "host", "sftp"]
    assert "-oBatchMode=yes" in fake_ssh("-b", "-", "host").ok().args
    assert fake_ssh("-s", "name", "host").ok().args[-4:] == [
        "-s", "--", "host", "name"]
    assert fake_ssh("-s", "/a/server", "host").ok().args[-3:] == [
        "--", "host", "/a/server"]


def test_destination(fake_ssh, place):
    top = str(place)
    done = fake_ssh("host", cwd=place).ok()
    assert "Connected to host." in done.errors
    assert "Connected" not in fake_ssh("-q", "host").ok().errors
    for where in (f"host:{top}/dir", f"sftp://host/{top}/dir", "host:dir",
                  "sftp://host/dir"):
        done = fake_ssh(where, lines=b"pwd\n", cwd=place).ok()
        assert f"Changing to: {top}/dir" in done.text
        assert f"Remote working directory: {top}/dir" in done.text
    # A file is fetched, and that is all.
    done = fake_ssh(f"host:{top}/big", "got", lines=b"mkdir no\n",
                    cwd=place).ok()
    assert (place / "got").read_bytes() == (place / "big").read_bytes()
    assert not (place / "no").exists()
    fake_ssh(f"host:{top}/[ab]", f"{top}/empty").ok()
    assert sorted(os.listdir(place / "empty")) == ["a", "b"]
    fake_ssh("-r", "host:dir", "copy", cwd=place).ok()
    assert (place / "copy/sub/g").exists()
    fake_ssh("-p", "host:big", "kept", cwd=place).ok()
    assert int((place / "kept").stat().st_mtime) == int(
        (place / "big").stat().st_mtime)
    assert fake_ssh("host:nosuch", cwd=place).rc == 1
    assert fake_ssh("host:dir", "x", cwd=place).rc == 1
    assert fake_ssh("host:a", "/nosuch/x", cwd=place).rc == 1


@pytest.mark.parametrize("args,rc", [
    ([], 1), (["-y", "h"], 1), (["h", "a", "b"], 1), (["-o"], 1),
    (["sftp://h:99999/x"], 1), (["-oX=y:z", "--", "-h"], 1),
    (["-P", "0", "h"], 255), (["-B", "0", "h"], 255),
    (["-R", "x", "h"], 255), (["-l", "x", "h"], 1),  # as stock
    (["-X", "what=1", "h"], 255), (["-D", "/none/at/all"], 255),
    (["-D", "/bin/false"], 255), (["-D", "/bin/echo hello"], 255),
    (["-S", "/bin/false", "h"], 255)])
def test_bad_arguments(args, rc):
    done = run([SFTP, *args])
    assert done.rc == rc and done.err, done


def test_connection_ends_in_the_middle(place, background):
    server = place / "server"
    server.write_text(f"#!/bin/sh\necho $$ >pid\nexec {OUR_SERVER}\n")
    server.chmod(0o755)
    before = {*os.listdir(place), "pid"}
    process = background([SFTP, "-l", "100", "-D", server], cwd=place,
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, env=clean_env())
    process.stdin.write(b"get big x\nls\n")
    process.stdin.flush()
    assert wait_for(lambda: any(  # under whatever name it goes first
        p.stat().st_size for p in place.iterdir()
        if p.is_file() and p.name not in before), 20)
    os.kill(int((place / "pid").read_text()), 9)
    assert process.wait(LONG) == 255
    said = process.stderr.read().decode()
    assert "Connection closed" in said
    assert re.search(r"^[\d.]+[KM]?B of [\d.]+[KM]B are kept; the same "
                     r"command with -a goes on$", said, re.M), said
    # What looks complete is.
    assert not (place / "x").exists()
    sftp("reget big x", cwd=place).ok()
    assert (place / "x").read_bytes() == (place / "big").read_bytes()


# ---- over connections --------------------------------------------------

@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_connection(kind, shared_servers, place, tmp_path):
    user = Client("hpn", shared_servers(kind))
    (place / "batch").write_text(
        f"cd {place}\nget -rp dir {tmp_path}/down\nput -r dir up\nls -l\n"
        f"get big {tmp_path}/big\ndf -h\n")
    run([SFTP, *user.options(), "-P", str(user.server.port), "-b",
         place / "batch", f"{ME}@127.0.0.1"], cwd=place).ok()
    for copy in (tmp_path / "down", place / "up"):
        assert (copy / "sub/g").read_bytes() == \
            (place / "dir/sub/g").read_bytes()
    assert stat.S_ISREG((tmp_path / "big").stat().st_mode)
    done = run([SFTP, *user.options(), "-P", "1", f"{ME}@127.0.0.1"])
    assert done.rc == 255 and done.err, done


RELAY = """
import os, socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def out():
    while data := s.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=out).start()
while data := os.read(0, 65536):
    s.sendall(data)
os._exit(0)
"""


@pytest.mark.parametrize("proxy", [False, True])
def test_interrupt_over_a_connection(ssh, place, tmp_path, proxy):
    """The connection outlives ^C, with all the processes that carry it."""
    (tmp_path / "relay.py").write_text(RELAY)
    (place / "large").write_bytes(os.urandom(3000000))
    options = [f"ProxyCommand={sys.executable} {tmp_path}/relay.py "
               f"{ssh.server.port}"] if proxy else []
    with Terminal([SFTP, *ssh.options(*options), "-l", "800", "-P",
                   str(ssh.server.port), f"{ME}@127.0.0.1:{place}"]) as t:
        t.expect("Changing to")
        t.expect("sftp> ")
        t.line(f"get large {tmp_path}/down")
        t.expect("ETA")
        t.type("\x03")
        t.expect("sftp> ", 15)
        t.line("pwd")
        t.expect(f"Remote working directory: {place}")
        t.expect("sftp> ")
        t.line("bye")
        assert t.wait() == 0
    assert not (tmp_path / "down").exists()
