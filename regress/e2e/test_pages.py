# SPDX-License-Identifier: ISC
"""What the pages tell people to write is taken by the programs: each block of
configuration and each keyword in README.md, docs/ and the manuals' examples."""

import contextlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import sys
import textwrap
from pathlib import Path

import pytest

import harness
from harness import TOP, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
PAGES = [TOP / "README.md", TOP / "SECURITY.md", TOP / "CONTRIBUTING.md",
         *sorted((TOP / "docs").glob("*.md")),
         *(TOP / place / "README.md" for place in (
             "bench", "packaging", "regress"))]
MANUALS = sorted((TOP / "man").glob("hpn*.[158]"))
# Of these, what is not said to be a client's is the server's.
SERVER_PAGES = ("ADMINISTRATORS.md", "CENTRES.md", "SCANNERS.md")
CLIENT_WORDS = re.compile(r"client|ssh_config|users' files|~/\.ssh")


def words(side):
    rows = (TOP / "regress/data/words" / side).read_text().splitlines()
    return {row.split("\t")[0].lower() for row in rows
            if row and not row.startswith("#")}


KNOWN = {"server": words("server"), "client": words("client")}


def taken(side, text, tmp_path, key):
    """Why it is not, or None."""
    path = tmp_path / "config"
    path.write_text(text)
    if side == "server":
        done = run([hpn("sshd"), "-t", "-f", path, "-h", key])
    else:
        done = run([hpn("ssh"), "-G", "-F", path, "192.0.2.7"])
    # What a build lacks is told, and no fault of the page.
    return None if done.rc == 0 else done.errors


def blocks(text):
    """(what is behind the fence, or "" without one; the lines)"""
    for found in re.finditer(r"^```(\S*)\n(.*?)^```$", text, re.M | re.S):
        yield found[1], found[2]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for found in re.finditer(r"(?:^(?: {4,}\S.*|)\n)+", text, re.M):
        if found[0].strip():
            yield "", found[0]


def name_of(path):
    return str(path.relative_to(TOP)).replace("/", ":")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_configuration(page, tmp_path, keys):
    host_key = keys.path("ed25519-host")
    for kind, lines in blocks(page.read_text()):
        if kind in ("sshd_config", "ssh_config"):
            side = "server" if kind == "sshd_config" else "client"
            why = taken(side, lines, tmp_path, host_key)
            assert why is None, f"{page.name}: {lines}{why}"
        else:
            for line in lines.splitlines():
                word = re.match(r"\s*([A-Z][A-Za-z0-9]+)[ =]", line)
                assert word is None or word[1].lower() not in \
                    KNOWN["server"] | KNOWN["client"], \
                    f"{page.name}: {line}: say whose it is: ```sshd_config"


def spans(text):
    """Keywords in running text: (keyword, value or "", the paragraph)"""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for part in re.split(r"\n\s*\n|\n(?=\s*- )", text):
        for span in re.findall(r"`([^`]+)`", part):
            found = re.fullmatch(r"([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)"
                                 r"(?:[ =](.*))?", " ".join(span.split()))
            if found and found[1].lower() in KNOWN["server"] | KNOWN["client"]:
                yield found[1], found[2] or "", part


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_keywords_in_running_text(page, tmp_path, keys):
    host_key = keys.path("ed25519-host")
    for keyword, value, part in spans(page.read_text()):
        sides = [side for side in KNOWN if keyword.lower() in KNOWN[side]]
        if page.name in SERVER_PAGES and "server" not in sides:
            assert CLIENT_WORDS.search(part), \
                f"{page.name}: {keyword} is the client's: {part}"
        if not value or re.search(r"\.\.\.|[A-Z]{3,}$|^(exec|host|user) ", value):
            continue
        if "is refused" in part:
            continue
        first = "Match all\n" if keyword == "Match" and value == "all" else ""
        whys = [taken(side, f"{first}{keyword} {value}\n", tmp_path, host_key)
                for side in sides]
        assert None in whys, f"{page.name}: {keyword} {value}: {whys}"


@pytest.mark.parametrize("manual,side", [("hpnsshd_config.5", "server"),
                                         ("hpnssh_config.5", "client")])
def test_examples_of_manuals(manual, side, tmp_path, keys):
    text = (TOP / "man" / manual).read_text()
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", text, re.M | re.S)
    assert found
    for lines in found:
        lines = lines.replace("\\&", "").replace("\\e", "\\")
        why = taken(side, lines, tmp_path, keys.path("ed25519-host"))
        assert why is None, f"{manual}: {lines}{why}"


def literal(manual):
    """What a manual shows as it is to be typed or written: blocks and lines."""
    text = (TOP / "man" / manual).read_text()
    for block, line in re.findall(
            r"^\.Bd -literal.*?\n(.*?)^\.Ed$|^\.Dl ([^\n]*\n)", text,
            re.M | re.S):
        lines = block or line
        for escape, char in (("\\&", ""), ("\\(aq", "'"), ("\\(dq", '"'),
                             ("\\e", "\\")):
            lines = lines.replace(escape, char)
        yield lines


@pytest.mark.parametrize("manual", [m.name for m in MANUALS])
def test_configuration_in_manuals(manual, tmp_path, keys):
    """Each line that begins with a keyword, in its block, is taken by one side
    at least."""
    for lines in literal(manual):
        first = re.match(r"\s*([A-Z][A-Za-z0-9]+)\s", lines)
        if not first or first[1].lower() not in \
                KNOWN["server"] | KNOWN["client"]:
            continue
        whys = [taken(side, lines, tmp_path, keys.path("ed25519-host"))
                for side in KNOWN]
        assert None in whys, f"{manual}: {lines}{whys}"


def command_lines_of_manuals():
    for manual in MANUALS:
        for lines in literal(manual.name):
            lines = lines.replace("\\\n", " ")
            for line in re.findall(r"^\s*[$#] (hpn\w+ .*)", lines, re.M):
                yield manual.name, line


def test_command_lines_of_manuals():
    """hpnssh's are fed to -G; of the others what is behind -o."""
    count = 0
    for manual, line in command_lines_of_manuals():
        name, *args = shlex.split(line, comments=True)
        for n, word in enumerate(args):
            if word in (">", "|", "<", "&&"):
                args = args[:n]
                break
        if name != "hpnssh":
            args = [w for n, word in enumerate(args) if word == "-o"
                    for w in args[n:n + 2]] + ["host"]
            if name in ("hpnsshd", "hpnssh-keygen"):
                continue
        if "-O" in args or "-K" in args and not harness.built_with("GSSAPI"):
            continue
        done = run([hpn("ssh"), "-G", "-F", "none", *args])
        assert done.rc == 0, f"{manual}: {line}: {done.errors}"
        count += 1
    assert count > 20


def command_lines():
    for page in PAGES:
        for _, lines in blocks(page.read_text()):
            for line in lines.splitlines():
                line = re.split(r"\s+#|\s{2,}(?=\S)", line.strip())[0]
                if re.match(r"hpn(ssh|sshd) ", line) and "..." not in line:
                    yield page.name, line


@pytest.mark.parametrize("page,line", list(command_lines()),
                         ids=lambda x: x.replace("/", ":"))
def test_command_lines(page, line):
    name, *args = shlex.split(line)
    if name == "hpnsshd":
        pytest.skip("it asks about files of this machine")
    run([hpn("ssh"), "-G", "-F", "none", *args]).ok()


def test_certificates_with_serials(tmp_path, keys):
    """The commands of the page for centres, as they stand there."""
    text = (TOP / "docs/CENTRES.md").read_text()
    block, = [lines for _, lines in blocks(text) if "-s ca -z" in lines]
    first, *others = [line.strip() for line in block.splitlines() if line]
    assert first.startswith("hpnssh-keygen -t ed25519 -f ca ")
    run([hpn("ssh-keygen"), *shlex.split(first, comments=True)[1:], "-q",
         "-N", ""], cwd=tmp_path).ok()
    (tmp_path / "alice.pub").write_text(keys.public("ed25519") + "\n")
    for line in others:
        line = line.replace("hpnssh-keygen", hpn("ssh-keygen"))
        run(["sh", "-c", line], cwd=tmp_path).ok()
    said = run([hpn("ssh-keygen"), "-L", "-f", "alice-cert.pub"],
               cwd=tmp_path).ok().text
    assert "Serial: 17" in said
    done = run([hpn("ssh-keygen"), "-Q", "-f", "revoked", "alice-cert.pub"],
               cwd=tmp_path)
    assert done.rc != 0 and "REVOKED" in done.text + done.errors


def test_accounting_to_a_database(tmp_path):
    """The script of the page for centres, with names of all kinds; a log that
    is read twice counts once."""
    text = (TOP / "docs/CENTRES.md").read_text()
    script, = re.findall(r"^ +#!/usr/bin/python3\n(?: +\S.*\n)+", text, re.M)
    (tmp_path / "script").write_text(textwrap.dedent(script))
    names = ["a", "x'); drop table moved; --", "n\nl", "\udcff", "\u202e"]
    events = [{"event": "transfer", "ts": f"2026-11-0{n + 1}T00:00:00.000000Z",
               "conn": "ab", "user": "alice", "op": "put", "path": name,
               "bytes_read": 0, "bytes_written": 10 ** 12}
              for n, name in enumerate(names)]
    events += [{"event": "conn-open"}, dict(events[0], user="bob", ts="2026")]
    del events[-1]["path"]  # EventPaths no
    log = "".join(json.dumps(e) + "\n" for e in events).encode()
    for _ in range(2):
        run([sys.executable, tmp_path / "script", tmp_path / "db"],
            stdin=log).ok()
    query = re.search(r"`(select .*?)`", text)[1]
    with contextlib.closing(sqlite3.connect(tmp_path / "db")) as db:
        assert db.execute(query).fetchall() == [
            ("alice", 0, len(names) * 10 ** 12)]
        assert [os.fsdecode(row[0]) for row in db.execute(
            "select path from moved where user = 'alice' order by ts")] \
            == names


def centres(start):
    """Lines of the block of the page for centres that has this text."""
    text = (TOP / "docs/CENTRES.md").read_text()
    return textwrap.dedent(next(
        lines for _, lines in blocks(text) if start in lines)).strip()


@pytest.mark.skipif(not shutil.which("jq"), reason="no jq")
def test_who_moved_how_much(tmp_path):
    """The line of the page for centres over a log of events."""
    line = centres("jq -r")
    events = [{"event": "transfer", "user": user, "bytes_read": read,
               "bytes_written": written}
              for user, read, written in [("alice", 5, 0), ("bob", 0, 10 ** 12),
                                          ("alice", 7, 1)]]
    events.insert(1, {"event": "conn-open"})
    log = tmp_path / "events"
    log.write_text("".join(json.dumps(e) + "\n" for e in events))
    assert "/var/log/hpnsshd-events.json" in line
    line = line.replace("/var/log/hpnsshd-events.json", str(log))
    done = run(["sh", "-c", line]).ok()
    told = {user: (float(down), float(up)) for user, down, up in
            map(str.split, done.text.splitlines())}
    assert told == {"alice": (12, 1), "bob": (0, 10 ** 12)}


def test_settings_of_the_kernel():
    """This one knows each; what the page says of windows follows."""
    values = {}
    for line in centres("net.core.rmem_max").splitlines():
        key, value = line.split("#")[0].split(" = ")
        values[key] = value.strip()
        assert re.fullmatch(r"(net\.core|net\.ipv4)\.[a-z_]+", key), key
        if harness.IS_ROOT and sys.platform == "linux":
            assert Path("/proc/sys", key.replace(".", "/")).exists(), key
    # 10 Gbit/s over 100 ms, twice: the kernel counts its own part in.
    for key in ("net.core.rmem_max", "net.core.wmem_max"):
        assert int(values[key]) >= 2 * 10 ** 10 // 8 // 10
    for key in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        assert values[key].split()[2] == values["net.core.rmem_max"]


@pytest.mark.skipif(not shutil.which("oathtool"), reason="no oathtool")
def test_codes_of_an_app(tmp_path, keys):
    """The secret, its base32, and that both factors are asked for."""
    text = (TOP / "docs/CENTRES.md").read_text()
    make, = re.findall(r"`(head -c 20 /dev/urandom[^`]*)`", text)
    secret = run(["sh", "-c", make]).ok().text
    assert re.fullmatch("[0-9a-f]{40}", secret)
    show, = re.findall(r"`(oathtool --totp -v SECRET)`", text)
    shown = run(["sh", "-c", show.replace("SECRET", secret)]).ok().text
    assert re.search("^Base32 secret: [A-Z2-7]{32}$", shown, re.M), shown
    config = tmp_path / "config"
    config.write_text(centres("AuthenticationMethods publickey,keyboard"))
    ask, = re.findall(r"`hpnsshd (-T -C [^`|]*) \| grep -i methods`", text)
    told = run([hpn("sshd"), *shlex.split(ask), "-f", config, "-h",
                keys.path("ed25519-host")]).ok().text
    assert "authenticationmethods publickey,keyboard-interactive:pam\n" in told


def test_statement_for_scanners():
    """openvex.json and the page say the same; each test that they name is there,
    and each CVE once."""
    page = (TOP / "docs/SCANNERS.md").read_text()
    vex = json.loads((TOP / "docs/openvex.json").read_text())
    told = {}
    for item in re.findall(r"^- \*\*(CVE-\S+)\*\*: (.*?)(?=^- |^$)", page,
                           re.M | re.S):
        told[item[0]] = re.search(r"`(\S+)`\s*$", item[1])[1]
    stated = {}
    for one in vex["statements"]:
        name = one["vulnerability"]["name"]
        assert name not in stated
        assert one["status"] == "not_affected"
        assert one["justification"] in (
            "component_not_present", "vulnerable_code_not_present",
            "vulnerable_code_not_in_execute_path",
            "vulnerable_code_cannot_be_controlled_by_adversary",
            "inline_mitigations_already_exist")
        stated[name] = one["impact_statement"].split("test: ")[1]
    assert stated == told
    for where in told.values():
        name, _, test = where.partition("::")
        found = [path for path in TOP.glob(f"regress/*/{name}")
                 if f"\ndef {test}(" in path.read_text()] if test else \
            [TOP / name]
        assert found and found[0].exists(), where
