# SPDX-License-Identifier: ISC
"""The commands of docs/CENTRES.md: each is fed to a test, or the page says that
it was not tried. What it tells to write into configurations is looked at in
test_pages.py."""

import configparser
import os
import re
import shlex
import sys
import xml.etree.ElementTree as Xml

import otp as codes
import pytest
from otp import otp  # noqa: F401

import harness
from harness import TOP, hpn, run

PAGE = (TOP / "docs/CENTRES.md").read_text()
NFT = "/usr/sbin/nft"

# A part of each command, and the test that runs it as it stands there; or, where
# that cannot be done here, what the page says to its reader.
COMMANDS = {
    "net.core.rmem_max = ": "test_settings_of_the_kernel",
    "ping -M do": "test_jumbo_frames",
    "lfs setstripe": "not tried with a Lustre here",
    "hpnssh --check dtn.example": "test_own_server",
    "path     round trip": "test_lines_for_people",
    "bench/run --rows foresee": "test_rows_of_bench",
    "bench/run --rows events": "test_rows_of_bench",
    "bench/run --cells": "test_rows_of_bench",
    "./configure && make": "test_install",
    "nft add rule": "test_filter_that_rejects",
    "firewall-cmd": "test_names_of_firewalls",
    "ufw allow": "test_names_of_firewalls",
    "semanage port": "not run here, and neither are those of firewalld",
    "enabled = true": "test_jail_of_fail2ban",
    "account required pam_slurm_adopt.so": "Not yet tried with a Slurm here",
    "auth required pam_oath.so": "test_lines_of_pam_oath",
    "@include common-auth": "test_lines_of_pam_oath",
    "HOTP/T30/6 alice": "test_lines_of_pam_oath",
    "head -c 20 /dev/urandom": "test_codes_of_an_app",
    "oathtool --totp": "test_codes_of_an_app",
    "hpnsshd -T -C": "test_codes_of_an_app",
    "publickey,keyboard-interactive:pam publickey,ticket":
        "test_methods_with_tickets",
    "hpnscp -j 8": "test_one_dialogue_for_several",
    "@cert-authority": "test_authority_of_the_page",
    "hpnssh-keygen -t ed25519 -f ca": "test_certificates_with_serials",
    "-z +1": "test_certificates_with_serials",
    "step ssh login": "Neither service was tried here",
    "hpnssh-keygen -q -s ca": "test_none_there_is_got",
    "$1 $2": "test_none_there_is_got",
    "%t %K": "test_none_there_is_got",
    "jq -r": "test_who_moved_how_much",
    "#!/usr/bin/python3": "test_accounting_to_a_database",
    "select user": "test_accounting_to_a_database",
    "hpnsync --grant=job": "test_shards_without_keys",
    "hpnssh -tt host cat big": "test_a_terminal_is_no_way_round",
    "hpnscp --direct": "test_three_machines",
    "hpnscp --report": "test_copies",
    "hpnsync --report": "test_copies",
}
# What is no command: what the log says.
TEXTS = ("Accepted ", "Starting session: ", "SSH: Server;LType:")


def blocks_and_spans():
    """Indented blocks, and what is in backquotes with a blank in it."""
    text = re.sub(r"^ *```.*?^ *```$", "", PAGE, flags=re.M | re.S)
    block = r"(?:^(?: {4,}\S.*|)\n)+"
    for found in re.findall(block, text, re.M):
        if found.strip():
            yield found
    for span in re.findall(r"`([^`]+)`", re.sub(block, "\n", text, flags=re.M)):
        if re.search("[^ ] [^ ]", span) and span[:2] != "-c":
            yield " ".join(span.split())


def is_configuration(text):
    return re.fullmatch(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]* .*", text)


def test_each_is_tried_or_said_not_to_be():
    tests = "".join(path.read_text() for path in
                    (TOP / "regress").rglob("test_*.py"))
    page, seen = " ".join(PAGE.split()), set()
    for text in blocks_and_spans():
        found = [part for part in COMMANDS if part in text]
        assert found or text.startswith(TEXTS) or is_configuration(text), text
        seen.update(found)
    assert seen == set(COMMANDS)
    for part, why in COMMANDS.items():
        assert f"def {why}(" in tests if why.startswith("test_") \
            and why != "test_install" else \
            why == "test_install" or why in page, (part, why)


def span(start):
    found, = {text for text in blocks_and_spans() if text.startswith(start)}
    return found


# ---- frames and filters --------------------------------------------------

# A datagram has as much before its data as what ping sends.
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: do
s.sendto(bytes(int(sys.argv[1])), ("127.0.0.1", 9))
"""


def test_jumbo_frames():
    """The data of that ping fills a frame of the size that the page names."""
    words = shlex.split(span("ping "))
    size = words[words.index("-s") + 1]
    mtu, = re.findall(r"an MTU of (\d+) from end to end", PAGE)

    def goes(mtu):
        done = run(["unshare", "-n", "sh", "-c", f"ip link set lo mtu {mtu} up "
                    "&& echo made && exec \"$@\"", "sh", sys.executable, "-c",
                    SEND, size])
        if "made" not in done.text:
            pytest.skip("no network of one's own: " + done.errors)
        return done.rc == 0

    assert goes(int(mtu))
    assert not goes(int(mtu) - 1)


# Both ports answer; which one is reached says what the filter does.
LISTEN = """
import socket, subprocess, sys, threading
def serve(port):
    s = socket.create_server(("127.0.0.1", port))
    def answer():
        c, _ = s.accept()
        print("reached", port, flush=True)
        c.close()
    threading.Thread(target=answer, daemon=True).start()
for port in 22, 2222:
    serve(port)
if sys.argv[1] != "none":
    try:
        socket.create_connection(("127.0.0.1", 2222), 2)
    except ConnectionRefusedError:
        print("refused", flush=True)
    except TimeoutError:
        print("no answer", flush=True)
subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL)
"""


@pytest.mark.skipif(not os.path.exists(NFT) or os.getuid() != 0,
                    reason="nft is not there, or not for us")
@pytest.mark.skipif(not harness.have("hpn", "ssh"), reason="no hpnssh")
@pytest.mark.parametrize("what", ["as it stands", "drop", "none"])
def test_filter_that_rejects(what):
    line, = [b.strip() for b in blocks_and_spans() if b.strip().startswith(
        "nft add rule")]
    verdict, = re.findall(r" reject with tcp reset$", line)
    if what == "drop":
        line = line.replace(verdict, " drop")
    run([NFT, "-c", "add table inet filter"]).ok()
    script = ("ip link set lo up\n"
              f"{NFT} add table inet filter\n"
              f"{NFT} 'add chain inet filter input {{ type filter hook input "
              "priority 0 ; }'\n"
              + ("" if what == "none" else line.replace("nft", NFT, 1))
              + "\nexec \"$@\"\n")
    done = run(["unshare", "-n", "sh", "-ec", script, "sh", sys.executable,
                "-c", LISTEN, what, hpn("ssh"), "-F", "none", "-o", "BatchMode=yes",
                "127.0.0.1"])
    told = {"as it stands": ["refused", "reached 22"],
            "drop": ["no answer", "reached 22"], "none": ["reached 2222"]}
    assert done.text.splitlines() == told[what], done
    assert what != "drop" or done.seconds > float(
        re.search(r"login takes ([0-9.]+) s longer", PAGE)[1])


def test_names_of_firewalls():
    """The firewall services that we bring are called what the page calls them,
    and name the port of hpnsshd."""
    service = re.search(r"--add-service=(\S+)", span("firewall-cmd "))[1]
    port, = Xml.parse(
        TOP / f"contrib/firewalld/{service}.xml").getroot().iter("port")
    assert port.attrib == {"protocol": "tcp", "port": "2222"}
    profiles = configparser.ConfigParser()
    profiles.read(TOP / "debian/ufw/hpnssh-server")
    name = span("ufw allow ").split()[-1]
    assert profiles[name]["ports"] == "2222/tcp"
    assert span("semanage port ").split()[-2:] == ["tcp", "2222"]


# ---- measuring -----------------------------------------------------------

def test_rows_of_bench():
    """Each row is there, and a path is written as --cells wants it."""
    shown = " ".join(run([sys.executable, TOP / "bench/run", "--help"]
                         ).ok().text.split())
    rows = re.search(r"which of: ([a-z0-9, ]+);", shown)[1].split(", ")
    for text in blocks_and_spans():
        for row in re.findall(r"^bench/run --rows (\S+)", text):
            assert row in rows, text
    form = re.search(r"--cells \[?(MBIT:\S+?)(?:\]| )", shown)[1]
    cell = span("bench/run --cells ").split()[-1]
    assert len(cell.split(":")) == len(form.split(":"))
    assert [bool(re.fullmatch(r"[\d.]+", v)) for v in cell.split(":")] == [
        True, True, True, False, True]


# ---- logins --------------------------------------------------------------

def test_methods_with_tickets(tmp_path, keys):
    methods = span("publickey,keyboard-interactive:pam publickey,ticket")
    config = tmp_path / "config"
    config.write_text(f"LoginTickets yes\nAuthenticationMethods {methods}\n")
    told = run([hpn("sshd"), "-T", "-f", config, "-h",
                keys.path("ed25519-host")]).ok().text
    assert f"authenticationmethods {methods}\n" in told


@pytest.mark.skipif(codes.missing() is not None, reason=str(codes.missing()))
def test_lines_of_pam_oath(otp):  # noqa: F811
    """The worked example, as it stands: files, their mode, both factors."""
    texts = [text.strip() for text in blocks_and_spans()]
    auth, = [t for t in texts if t.startswith("auth required pam_oath.so")]
    users, = [t for t in texts if t.startswith("HOTP/T30/6 ")]
    secret = users.split()[-1]
    place = re.search(r"usersfile=/etc/(\S+)", auth)[1]
    (otp.etc / place).write_text(users.replace("alice", codes.USER) + "\n")
    (otp.etc / place).chmod(0o600)
    otp.service(auth + "\n", codes.ACCOUNT)
    config, = [block for block in re.findall(
        r"^```sshd_config\n(.*?)^```$", PAGE, re.M | re.S)
        if "keyboard-interactive:pam" in block]
    server = otp.server(config)
    otp.user_file("authorized_keys", otp.keys.public("ed25519") + "\n")
    client = otp.client(server, key="ed25519")

    def visit(code):
        return run([*client.ssh_args(), "echo there"], env=otp.answers(code))

    assert visit("000000").rc == 255
    code = run(["oathtool", "--totp", secret]).ok().text.strip()
    assert visit(code).ok().text == "there\n"


def test_authority_of_the_page(make_server, keys, tmp_path):
    """Nobody who has the line is asked about a node with a certificate."""
    line = span("@cert-authority ")
    assert line.split() == ["@cert-authority", "*.centre.example"]
    ca, key = tmp_path / "ca", tmp_path / "node"
    for path in (ca, key):
        run([hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f",
             path]).ok()
    run([hpn("ssh-keygen"), "-q", "-s", ca, "-h", "-I", "node", "-n",
         "dtn1.centre.example", key.with_suffix(".pub")]).ok()
    server = make_server(f"HostKey {key}\nHostCertificate {key}-cert.pub\n")
    known = tmp_path / "known_hosts"
    client = harness.Client("hpn", server)
    options = [f"UserKnownHostsFile={known}",
               "StrictHostKeyChecking=yes", "HostKeyAlgorithms="
               "ssh-ed25519-cert-v01@openssh.com"]

    def visit(name):
        known.write_text(f"{line} {ca.with_suffix('.pub').read_text()}")
        return run([*client.ssh_args(*options, f"HostKeyAlias={name}"),
                    "echo there"])

    assert visit("dtn1.centre.example").ok().text == "there\n"
    assert visit("dtn2.centre.example").rc == 255
