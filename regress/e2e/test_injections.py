# SPDX-License-Identifier: ISC
"""One set of names, users and banners that would break a line, a JSON string,
a terminal or a page, fed to all that a centre reads: events, metrics, the page
of --report, --check and --json. None of them passes."""

import json
import os
import re
import socket

import pytest
import sshwire
from test_events import lines_of
from test_metrics_textfile import read
from test_report import Page

import harness
from harness import Client, hpn, run, wait_for

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "scp", "ssh", "sshd"),
    reason="hpnscp, hpnssh or hpnsshd is not built")

EVIL = ["n\nl", '","x":"y', '"}\n{"v":1,"event":"auth"}', "\x1b[2J\x1b]0;x\a",
        "\u202egpj", "\u0085\u009b31m", "<script>alert(1)<!--",
        "'\"><b>&lt;", 'a{b="c"} 1\nhpnsshd_users 99',
        os.fsdecode(b"\xff\xc0"), "$(id)`id`"]
RAW = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def is_clean(data, lines):
    """Asserts that data has that many lines, and nothing that acts on a
    terminal."""
    text = data.decode("utf-8")
    assert not RAW.search(text), text
    assert text.count("\n") == lines, text


def failed_logins(port, names):
    for name in names:
        with socket.create_connection(("127.0.0.1", port)) as sock:
            wire = sshwire.Wire(sock).handshake().ask_service()
            wire.auth_request(name, "password", False, name)
            wire.expect(sshwire.USERAUTH_FAILURE)


def test_nothing_passes(make_server, tmp_path):
    banner, folder = tmp_path / "banner", tmp_path / "from"
    banner.write_bytes(os.fsencode("\n".join(EVIL)))
    folder.mkdir()
    for name in EVIL:
        (folder / name.replace("/", "_")).write_text("x")
    names = {p.name for p in folder.iterdir()}
    client = Client("hpn", make_server(
        f"PidFile {tmp_path}/a.pid\nBanner {banner}\nEventDetail files\n"
        f"EventLog file:{tmp_path}/events\n"
        f"MetricsTextfile {tmp_path}/metrics\n"), log_level="INFO")
    users = [name for name in EVIL if "\udcff" not in name]
    failed_logins(client.server.port, users)

    done = run([hpn("scp"), *client.options(), "-r", "--json",
                f"--report={tmp_path}/page.html", "-P",
                str(client.server.port), str(folder),
                f"127.0.0.1:{tmp_path}/to"]).ok()
    assert {p.name for p in (tmp_path / "to").iterdir()} == names
    for line in done.out.splitlines():
        json.loads(line)
    is_clean(done.out, len(done.out.splitlines()))
    assert not {0x1b, 0x07} & set(done.err), done.err

    # The page: elements that are known, and names as text (Page fails else).
    assert "script" not in Page(tmp_path / "page.html").tags

    # Events: every line fits the schema, and has the names whole.
    logins = len(users) + 1
    assert wait_for(lambda: (tmp_path / "events").read_bytes().count(
        b'"event":"conn-close"') >= logins)
    events = lines_of(tmp_path / "events")
    is_clean((tmp_path / "events").read_bytes(), len(events))
    assert {e["user"] for e in events if e.get("invalid_user")} == set(users)
    assert names <= {os.path.basename(e["path"]) for e in events
                     if e["event"] == "transfer"} | {
        os.path.basename(e["to"]) for e in events if e["event"] == "rename"}

    # Metrics: read() fails at a line of another form, or one that is twice.
    assert wait_for(lambda: read(tmp_path / "metrics")["hpnsshd_users"] == 0)

    # --check takes seconds: one path has all of them.
    path = f"{tmp_path}/none/" + "".join(n.replace("/", "_") for n in EVIL)
    for flags in ([], ["--json"]):
        done = run([hpn("ssh"), "--check", *flags, *client.options(), "-p",
                    str(client.server.port), f"127.0.0.1:{path}"], timeout=90)
        assert not {0x1b, 0x07} & set(done.out + done.err), done
        assert not RAW.search((done.out + done.err).decode()), done
    told = json.loads(done.out)
    assert done.out.count(b"\n") == 1 and told["failures"]
    assert os.fsencode(told["target"]).endswith(os.fsencode(path))
