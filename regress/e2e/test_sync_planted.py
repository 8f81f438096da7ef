# SPDX-License-Identifier: ISC
"""hpnsync where somebody has planted links for the files that a command line
names, and where a server lies about names."""

import os

import pytest

from copies import executable, sftp_end
from harness import have, hpn, run
from sync_ways import WAYS, arguments_of

SYNC = hpn("sync")
OTHER = 12345

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture
def place(tmp_path):
    """A source, and a directory in which somebody else has put links."""
    if os.geteuid() != 0:
        pytest.skip("making another user's link needs root")
    (tmp_path / "from").mkdir()
    (tmp_path / "from/f").write_text("x")
    (tmp_path / "secret").write_text("f\n+ secret words\n")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "file").symlink_to(tmp_path / "secret")
    (shared / "dir").symlink_to(tmp_path)
    for link in ("file", "dir"):
        os.chown(shared / link, OTHER, OTHER, follow_symlinks=False)
    return tmp_path


@pytest.mark.parametrize("way", ["file", "dir/secret"])
@pytest.mark.parametrize("option", [
    "--files-from=", "--exclude-from=", "--include-from=",
    "--filter=merge ", "--filter=. ", "--log-file="])
def test_planted_links(place, option, way):
    """A link of another user is not followed, whatever option names it, and
    nothing of what it leads to is shown or changed."""
    before = (place / "secret").read_text()
    done = run([SYNC, "-r", f"{option}{place}/shared/{way}",
                f"{place}/from/", f"{place}/to/"])
    assert done.rc in (1, 3, 11), done
    assert b"words" not in done.err + done.out
    assert (place / "secret").read_text() == before
    assert not (place / "to").exists()


@pytest.mark.parametrize("option", ["--files-from=", "--exclude-from="])
def test_links_of_root_count(place, option):
    """One's own links, and root's, are followed."""
    (place / "mine").symlink_to(place / "secret")
    done = run([SYNC, "-r", f"{option}{place}/mine", f"{place}/from/",
                f"{place}/to/"])
    assert done.rc in (0, 1, 23) and b"symbolic" not in done.err, done


def test_log_is_a_regular_file(place):
    """A log in a shared directory is no pipe, which would wait for ever."""
    os.mkfifo(place / "shared/log")
    done = run([SYNC, "-r", f"--log-file={place}/shared/log",
                f"{place}/from/", f"{place}/to/"])
    assert done.rc == 11 and not (place / "to").exists(), done


@pytest.mark.skipif(os.geteuid() != 0, reason="links of others need root")
@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("way", ["here", "up", "down"])
@pytest.mark.parametrize("more", [[], ["--delete"], ["-n"]])
def test_target_is_a_link(tmp_path, way, slash, more):
    """A link as the target counts only if root or the user owns it."""
    ends = arguments_of(way if way == "here" else f"{way}-hpn",
                        tmp_path / "shell")
    for name in ("from", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"f-{name}").write_text("x")
    (tmp_path / "to").symlink_to("outside")
    words = [SYNC, "-rt", *more,
             *ends(f"{tmp_path}/from/", f"{tmp_path}/to{slash}")]
    os.chown(tmp_path / "to", 4711, 4711, follow_symlinks=False)
    done = run(words)
    assert done.rc == 3, done
    assert os.listdir(tmp_path / "outside") == ["f-outside"]
    os.chown(tmp_path / "to", 0, 0, follow_symlinks=False)
    assert run(words).rc == 0
    assert ("f-from" in os.listdir(tmp_path / "outside")) == (more != ["-n"])


def test_control_characters(tmp_path):
    """No name reaches the terminal or the log with what could steer it."""
    source = tmp_path / "from"
    source.mkdir()
    for name in ("a\x1b[2Jb", "c\rd", "e\nf", "g\x9bh"):
        (source / name).write_text("x")
    (source / "bad\x1b]0;t\x07").symlink_to("x\x1b[31m")
    log = tmp_path / "log"
    for more in ([], ["--delete"], ["-n"]):
        done = run([SYNC, "-aivv", f"--log-file={log}", *more, f"{source}/",
                    f"{tmp_path}/to/"])
        assert done.rc == 0, done
        for text in (done.out, done.err, log.read_bytes()):
            assert not set(text) & (set(range(32)) - {10} | {127}), text
            assert b"\xc2\x9b" not in text
        for path in source.iterdir():
            os.unlink(path)
            (source / "left").write_text("x")


# ---- a server that lies --------------------------------------------------

@pytest.mark.skipif(os.geteuid() != 0, reason="links of others need root")
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("target,more", [
    ("a/there", []), ("a/there/", ["--delete"]), ("a/new/", ["-n"]),
    ("a/new", []), ("a/.", []), ("a/", []), ("a/there/../new", []),
    ("a/new/far", ["--mkpath"]), ("a/there", ["--link-dest=../../old"])])
def test_link_on_the_way_to_the_target(tmp_path, name, target, more):
    """A link counts wherever it stands in the target's path, and nothing is
    made where another user's leads."""
    ends = arguments_of(name, tmp_path / "shell")
    for made in ("from", "real/there", "way", "old"):
        (tmp_path / made).mkdir(parents=True)
    (tmp_path / "from/f").write_text("x")
    link = tmp_path / "way/a"
    link.symlink_to("../real")
    words = [SYNC, "-rt", *more,
             *ends(f"{tmp_path}/from/", f"{tmp_path}/way/{target}")]
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    done = run(words)
    assert done.rc == 3 and b"another user's link" in done.err, done
    assert os.listdir(tmp_path / "real") == ["there"]
    assert not os.listdir(tmp_path / "real/there")
    os.chown(link, 0, 0, follow_symlinks=False)
    assert run(words).rc == 0
    assert more == ["-n"] or list((tmp_path / "real").rglob("f"))


@pytest.mark.skipif(os.geteuid() != 0, reason="links of others need root")
def test_link_in_a_link_on_the_way(tmp_path):
    """Our server looks at each link that it comes to, also behind another."""
    ends = arguments_of("up-hpn", tmp_path / "shell")
    for made in ("from", "real"):
        (tmp_path / made).mkdir()
    (tmp_path / "from/f").write_text("x")
    (tmp_path / "a").symlink_to("b/")
    (tmp_path / "b").symlink_to("real")
    words = [SYNC, "-rt", *ends(f"{tmp_path}/from/", f"{tmp_path}/a/new/")]
    os.chown(tmp_path / "b", OTHER, OTHER, follow_symlinks=False)
    done = run(words)
    assert done.rc == 3 and b"another user's link" in done.err, done
    assert not os.listdir(tmp_path / "real")
    os.chown(tmp_path / "b", 0, 0, follow_symlinks=False)
    assert run(words).rc == 0


LIAR = r"""
def attrs(mode):
    return struct.pack(">IQIIIII", 15, 5, 0, 0, mode, 10**9, 10**9)

told = set()
for kind, rest in requests():
    if kind in (7, 17):
        path = first_string(rest)
        if path.endswith(b"top") or path.endswith(b"top/"):
            send(105, rid + attrs(0o40755))
        else:
            status(2)
    elif kind == 11:
        send(102, rid + string(rest[4:]))
    elif kind == 12:
        if rest in told:
            status(1)
        else:
            told.add(rest)
            send(104, rid + u32(len(NAMES)) + b"".join(
                string(n) + string(b"") + attrs(0o100644) for n in NAMES))
    elif kind == 5:
        send(103, rid + string(b"evil!"))
    elif kind == 3:
        send(102, rid + string(b"h"))
    else:
        status(0 if kind == 4 else 8)
"""


@pytest.mark.parametrize("names", [
    [b"ok", b"../out"], [b"ok", b"a/b"], [b"/etc/x"], [b"a\0b"], [b""],
    [b"ok", b"x" * 300], [b".."], [b"twice", b"twice"]])
def test_lying_listing(tmp_path, names):
    """Names that lead out of their directory end the copy of it; nothing is
    written outside, and nothing deleted."""
    liar = sftp_end(tmp_path / "liar", f"NAMES = {names!r}\n{LIAR}")
    shell = executable(tmp_path / "shell", f"exec {liar}\n")
    target = tmp_path / "deep/to"
    target.mkdir(parents=True)
    (target / "mine").write_text("x")
    done = run([SYNC, "-r", "--delete", "--max-delete=9", "-e", shell,
                "h:/top/", f"{target}/"], timeout=60)
    there = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")}
    allowed = {"liar", "shell", "deep", "deep/to", "deep/to/mine",
               "deep/to/ok", "deep/to/twice"}
    assert there <= allowed, done
    if names not in ([b".."], [b"twice", b"twice"]):
        assert done.rc == 23 and "deep/to/mine" in there, done
