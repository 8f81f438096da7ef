# SPDX-License-Identifier: ISC
"""What happens before and around a login, one event each, and the lines that
the server's log is to have of it: the words are those of OpenSSH's sshd, which
other programs look for. Lines that stand behind a LEVEL are logged from that
level on, others from INFO on; {a} is the client's address, {p} a port, {u} the
user of the test, {n} a number. Lines of HPN-SSH itself are left out."""

import dataclasses
import re
import socket
import struct
from pathlib import Path

from rawssh import BANNER, Raw, kexinit
from sshwire import (CHANNEL_CLOSE, CHANNEL_REQUEST, CHANNEL_SUCCESS,
                     DISCONNECT, USERAUTH_FAILURE,
                     USERAUTH_INFO_REQUEST, USERAUTH_INFO_RESPONSE,
                     USERAUTH_PK_OK, USERAUTH_SUCCESS, Closed, Wire, load_key,
                     string)

from harness import BUILD, IS_ROOT, LONG, ME

NOBODY = "nobody-of-that-name"
VERBOSE = "VERBOSE "


class Peer:
    """The client of an event, at its own address in 127.0.0.0/8."""

    def __init__(self, server, keys, address):
        self.server, self.keys, self.address = server, keys, address

    def socket(self):
        return socket.create_connection(
            ("127.0.0.1", self.server.port), LONG,
            source_address=(self.address, 0))

    def key(self, name="ed25519"):
        return load_key(self.keys.path(name))

    def wire(self):
        return Wire(self.socket()).handshake().ask_service()


def fails(wire, user, method, *fields):
    wire.auth_request(user, method, *fields)
    wire.expect(USERAUTH_FAILURE)


def password(wire, user, text="wrong"):
    fails(wire, user, "password", False, string(text))


def offer(wire, user, key):
    fails(wire, user, "publickey", False, "ssh-ed25519", string(key.blob))


# ---- the events -----------------------------------------------------------

def connect_only(peer):
    with peer.socket() as sock:
        Raw(sock).line()


def reset(peer):
    with peer.socket() as sock:
        Raw(sock).line()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))


def say(*lines):
    def event(peer):
        with peer.socket() as sock:
            raw = Raw(sock)
            raw.line()
            raw.send(b"".join(lines))
            raw.ends()
    return event


def no_match(**lists):
    def event(peer):
        with peer.socket() as sock:
            raw = Raw(sock)
            raw.line()
            raw.send(BANNER)
            raw.put(kexinit(**lists))
            raw.ends()
    return event


def wait_for_the_end(peer):
    """Waits for the end of LoginGraceTime."""
    with peer.socket() as sock:
        raw = Raw(sock)
        raw.line()
        raw.ends()


def none_only(user):
    def event(peer):
        w = peer.wire()
        fails(w, user, "none")
        w.close()
    return event


def passwords(user, count=1, text="wrong"):
    def event(peer):
        w = peer.wire()
        fails(w, user, "none")
        try:
            for _ in range(count):
                password(w, user, text)
        except Closed:
            pass
        w.close()
    return event


def keys_refused(user, count):
    def event(peer):
        w = peer.wire()
        fails(w, user, "none")
        for i in range(count):
            offer(w, user, peer.key(("ed25519-a", "ed25519-b", "ed25519-c")
                                    [i]))
        w.close()
    return event


def change_of_name(peer):
    w = peer.wire()
    fails(w, NOBODY, "none")
    w.auth_request("somebody-else", "none")
    w.was_ended()


def disconnect(reason, text):
    def event(peer):
        w = peer.wire()
        fails(w, ME, "none")
        w.say(DISCONNECT, reason, text, "")
        w.was_ended()
    return event


def log_in(peer):
    """As clients do it: the methods are asked for, a key that is of no use
    is offered, then one that is."""
    w = peer.wire()
    fails(w, ME, "none")
    offer(w, ME, peer.key("ed25519-a"))
    good = peer.key()
    w.auth_request(ME, "publickey", False, "ssh-ed25519", string(good.blob))
    w.expect(USERAUTH_PK_OK)
    w.send(w.signed_request(ME, good))
    w.expect(USERAUTH_SUCCESS)
    return w


def session(what, *fields):
    def event(peer):
        w = log_in(peer)
        channel, _, _ = w.open_session()
        w.say(CHANNEL_REQUEST, channel, what, True, *fields)
        w.expect(CHANNEL_SUCCESS)
        while w.recv()[0] != CHANNEL_CLOSE:
            pass
        w.say(CHANNEL_CLOSE, channel)
        w.say(DISCONNECT, 11, "disconnected by user", "")
        w.was_ended()
    return event


def root_with_a_key(peer):
    """With PermitRootLogin no."""
    w = peer.wire()
    w.send(w.signed_request("root", peer.key()))
    w.expect(USERAUTH_FAILURE)
    w.close()


def kbdint(user, answer="wrong"):
    """By PAM, with one question."""
    def event(peer):
        w = peer.wire()
        w.auth_request(user, "keyboard-interactive", string(""), string(""))
        w.expect(USERAUTH_INFO_REQUEST)
        w.say(USERAUTH_INFO_RESPONSE, 1, string(answer))
        w.expect(USERAUTH_FAILURE)
        w.close()
    return event


# ---- the table ------------------------------------------------------------

@dataclasses.dataclass
class Event:
    act: object  # with a Peer
    lines: list
    config: str = ""
    # the mildest mode of fail2ban's filter that is to see an attack; None:
    # no mode is
    attack: str = None
    skip: object = None  # gives the reason not to try


P = "{a} port {p}"
BEGIN = VERBOSE + f'Connection from {P} on 127.0.0.1 port {{p}} rdomain ""'
CLOSED = f"Connection closed by authenticating user {{u}} {P} [preauth]"
INVALID = f"Invalid user {NOBODY} from {P}"
INVALID_CLOSED = f"Connection closed by invalid user {NOBODY} {P} [preauth]"
REFUSED_CLOSED = f"Connection closed by invalid user {{u}} {P} [preauth]"
ACCEPTED_KEY = VERBOSE + "Accepted key ED25519 SHA256:{f} found at {k}:{n}"
TOO_MANY = "Too many authentication failures [preauth]"
LOGIN = [
    BEGIN, VERBOSE + f"Failed publickey for {{u}} from {P} ssh2: "
    "ED25519 SHA256:{f}", ACCEPTED_KEY, ACCEPTED_KEY,
    VERBOSE + f"Postponed publickey for {{u}} from {P} ssh2 [preauth]",
    f"Accepted publickey for {{u}} from {P} ssh2: ED25519 SHA256:{{f}}",
    VERBOSE + "User child is on pid {n}",
    VERBOSE + f"Close session: user {{u}} from {P} id {{n}}",
    f"Received disconnect from {P}:11: disconnected by user",
    f"Disconnected from user {{u}} {P}",
    VERBOSE + f"Closing connection to {P}"]


def started(what):
    return [*LOGIN, VERBOSE + f"Starting session: {what} for {{u}} from {P} "
            "id {n}"]


def no_match_lines(what, offer):
    return [BEGIN, f"Unable to negotiate with {P}: no matching {what} found. "
            f"Their offer: {offer} [preauth]"]


def not_allowed(why, lines=""):
    return Event(passwords(ME), [
        BEGIN, f"User {ME} from {{a}} not allowed because {why}",
        f"Failed password for invalid user {ME} from {P} ssh2",
        REFUSED_CLOSED], lines, "normal")


def pam_is_missing():
    header = BUILD / "include/config.h"
    if not IS_ROOT or not Path("/etc/pam.d/sshd").exists() or (
            header.exists()
            and "define HAVE_PAM 1" not in header.read_text()):
        return "needs root, PAM and its service sshd"
    return None


def not_root():
    return None if IS_ROOT else "needs root"


BAD_FORMAT = [BEGIN, f"banner exchange: Connection from {P}: invalid format "
              "[preauth]"]
DENIALS = {
    "DenyUsers": (f"DenyUsers {ME}", "listed in DenyUsers"),
    "AllowUsers": ("AllowUsers no-such-user", "not listed in AllowUsers"),
    "DenyGroups": ("DenyGroups *", "a group is listed in DenyGroups"),
    "AllowGroups": ("AllowGroups no-such-group", "none of user's groups are "
                    "listed in AllowGroups"),
}

EVENTS = {
    "port scan": Event(connect_only, [
        BEGIN, VERBOSE + "kex_exchange_identification: Connection closed by "
        "remote host [preauth]", f"Connection closed by {P} [preauth]"],
        attack="ddos"),
    "reset": Event(reset, [
        BEGIN, "kex_exchange_identification: read: Connection reset by peer "
        "[preauth]", f"Connection reset by {P} [preauth]"], attack="ddos"),
    "http": Event(say(b"GET / HTTP/1.0\r\n"), BAD_FORMAT, attack="ddos"),
    "no version": Event(say(b"SSH-x\r\n"), BAD_FORMAT, attack="ddos"),
    "protocol 1": Event(say(b"SSH-1.5-old\r\n"), [
        BEGIN, "Protocol major versions differ: 2 vs. 1 [preauth]",
        f"banner exchange: Connection from {P}: could not read protocol "
        "version [preauth]"]),
    "kex": Event(no_match(kex="a,b"),
                 no_match_lines("key exchange method", "a,b"),
                 attack="aggressive"),
    "host key": Event(no_match(hostkey="ssh-x"),
                      no_match_lines("host key type", "ssh-x"),
                      attack="aggressive"),
    "cipher": Event(no_match(cipher="x-cbc"),
                    no_match_lines("cipher", "x-cbc"), attack="aggressive"),
    "mac": Event(no_match(mac="hmac-x"), no_match_lines("MAC", "hmac-x"),
                 attack="aggressive"),
    "compression": Event(no_match(compression="bzip"),
                         no_match_lines("compression method", "bzip"),
                         attack="aggressive"),
    "grace time": Event(wait_for_the_end, [
        BEGIN, "Timeout before authentication for connection from {a} to "
        "127.0.0.1, pid = {n}"], "LoginGraceTime 1\n"),

    "none": Event(none_only(ME), [BEGIN, CLOSED], attack="ddos"),
    "invalid none": Event(none_only(NOBODY), [BEGIN, INVALID, INVALID_CLOSED],
                          attack="normal"),
    "password": Event(passwords(ME), [
        BEGIN, f"Failed password for {{u}} from {P} ssh2", CLOSED],
        attack="normal"),
    "invalid password": Event(passwords(NOBODY), [
        BEGIN, INVALID, f"Failed password for invalid user {NOBODY} from {P} "
        "ssh2", INVALID_CLOSED], attack="normal"),
    "empty passwords": Event(passwords(ME, 2, ""), [
        BEGIN, VERBOSE + f"Failed none for {{u}} from {P} ssh2",
        f"Failed password for {{u}} from {P} ssh2", CLOSED], attack="normal"),
    "invalid empty password": Event(passwords(NOBODY, 1, ""), [
        BEGIN, INVALID, f"Failed none for invalid user {NOBODY} from {P} "
        "ssh2", INVALID_CLOSED], attack="normal"),
    "too many": Event(passwords(ME, 3), [
        BEGIN, *[f"Failed password for {{u}} from {P} ssh2"] * 2,
        f"maximum authentication attempts exceeded for {{u}} from {P} "
        "ssh2 [preauth]", f"Disconnecting authenticating user {{u}} {P}: "
        + TOO_MANY], "MaxAuthTries 2\n", "normal"),
    "too many of an invalid user": Event(passwords(NOBODY, 3), [
        BEGIN, INVALID, *[f"Failed password for invalid user {NOBODY} from "
                          f"{P} ssh2"] * 2,
        "maximum authentication attempts exceeded for invalid user "
        f"{NOBODY} from {P} ssh2 [preauth]", f"Disconnecting invalid user "
        f"{NOBODY} {P}: {TOO_MANY}"], "MaxAuthTries 2\n", "normal"),
    **{name: not_allowed(why, line + "\n")
       for name, (line, why) in DENIALS.items()},
    # half of MaxAuthTries is 2: the third is worth a line
    "keys": Event(keys_refused(ME, 3), [
        BEGIN, *[VERBOSE + f"Failed publickey for {{u}} from {P} ssh2: "
                 "ED25519 SHA256:{f}"] * 2,
        f"Failed publickey for {{u}} from {P} ssh2: ED25519 SHA256:{{f}}",
        CLOSED], "MaxAuthTries 4\n", "ddos"),
    "invalid key": Event(keys_refused(NOBODY, 1), [
        BEGIN, INVALID, f"Failed publickey for invalid user {NOBODY} from {P} "
        "ssh2: ED25519 SHA256:{f}", INVALID_CLOSED], attack="normal"),
    "other name": Event(change_of_name, [
        BEGIN, INVALID, f"Disconnecting invalid user {NOBODY} {P}: Change of "
        f"username or service not allowed: ({NOBODY},ssh-connection) -> "
        "(somebody-else,ssh-connection) [preauth]"], attack="normal"),
    "no methods": Event(
        disconnect(14, "No supported authentication methods available"), [
            BEGIN, f"Received disconnect from {P}:14: No supported "
            "authentication methods available [preauth]",
            f"Disconnected from authenticating user {{u}} {P} [preauth]"],
        attack="ddos"),
    "auth fail": Event(
        disconnect(3, "com.jcraft.jsch.JSchException: Auth fail"), [
            BEGIN, f"Received disconnect from {P}:3: "
            "com.jcraft.jsch.JSchException: Auth fail [preauth]",
            f"Disconnected from authenticating user {{u}} {P} [preauth]"],
        attack="normal"),
    "root": Event(root_with_a_key, [
        BEGIN, ACCEPTED_KEY, f"ROOT LOGIN REFUSED FROM {P}",
        VERBOSE + f"Failed publickey for root from {P} ssh2: ED25519 "
        "SHA256:{f}", CLOSED], "PermitRootLogin no\n", "normal", not_root),
    "dialogue": Event(kbdint(ME), [
        BEGIN, f"PAM: Authentication failure for {{u}} from {{a}}",
        VERBOSE + f"Failed keyboard-interactive/pam for {{u}} from {P} ssh2",
        CLOSED], "UsePAM yes\nPAMServiceName sshd\n", "normal",
        pam_is_missing),

    # Logins. None of them is an attack.
    "command": Event(session("exec", "exit 3"), started("command")),
    "subsystem": Event(session("subsystem", "true"),
                       started("subsystem 'true'"),
                       "Subsystem true /bin/true\n"),
    "forced": Event(session("exec", "exit 3"),
                    started("forced-command (config) 'exit 4'"),
                    "ForceCommand exit 4\n"),
}


# ---- comparing ------------------------------------------------------------

def expected(event, level, address, authorized):
    """Patterns of the lines, in no order."""
    known = {"{a}": re.escape(address), "{u}": re.escape(ME), "{p}": r"\d+",
             "{n}": r"\d+", "{f}": "[A-Za-z0-9+/]{43}",
             "{k}": re.escape(str(authorized))}
    found = []
    for line in event.lines:
        if line.startswith(VERBOSE):
            if level != "VERBOSE":
                continue
            line = line[len(VERBOSE):]
        pattern = re.escape(line)
        for name, value in known.items():
            pattern = pattern.replace(re.escape(name), value)
        found.append(pattern)
    return found


def missing_and_unexpected(event, level, address, authorized, lines):
    lines = list(lines)
    missing = []
    for pattern in expected(event, level, address, authorized):
        hit = next((x for x in lines if re.fullmatch(pattern, x)), None)
        if hit is None:
            missing.append(pattern)
        else:
            lines.remove(hit)
    return missing, lines
