# SPDX-License-Identifier: ISC
"""An SFTP server that misbehaves: sftp_filter.py MODE SERVER stands before an
honest one, whose requests and replies a MODE may drop, change or answer by
itself. MODE is one of the functions below, with an argument behind '='."""

import itertools
import os
import struct
import subprocess
import sys
import threading
import time

OPEN, CLOSE, READ, WRITE, LSTAT, FSTAT = 3, 4, 5, 6, 7, 8
OPENDIR, READDIR, REMOVE, STAT, RENAME = 11, 12, 13, 17, 18
VERSION, STATUS, HANDLE, DATA, NAME, ATTRS = 2, 101, 102, 103, 104, 105
EXTENDED, EXTENDED_REPLY = 200, 201
OK, EOF, DENIED, FAILURE, BAD = 0, 1, 3, 4, 5


def text(s):
    return struct.pack(">I", len(s)) + s


def status(ident, code):
    return bytes([STATUS]) + ident + struct.pack(">I", code) + text(b"") * 2


def first_text(message, at=5):
    n = struct.unpack_from(">I", message, at)[0]
    return message[at + 4:at + 4 + n]


def extension(message):
    return first_text(message) if message[0] == EXTENDED else None


# ---- modes: a function (request) that gives None to let it pass, the answer,
# ---- or in a tuple the request that passes instead; and one (request, reply) that gives the reply ----------------

def refuse(what, code, when=lambda m: True):
    code = int(code)

    def on_request(m):
        kind = extension(m) or m[0]
        if kind in what and when(m):
            return status(m[1:5], code)
    return on_request, None


def rename(code):
    return refuse((RENAME, b"posix-rename@openssh.com"), code)


def old_rename(code):
    return rename(code)


def no_links(_):
    """The file system has no hard links."""
    return refuse((b"hardlink@openssh.com",), FAILURE)


def bare(_):
    """A server of the draft, without any extension."""
    return None, None


def parts(code):
    return refuse((OPEN,), code, lambda m: b".hpnpart" in first_text(m))


def source_replaced(names):
    """When a part gets its name, NEW takes that of OLD: NEW:OLD."""
    new, old = names.split(":")

    def on_request(m):
        if extension(m) == b"rename-part@hpnssh.org" and os.path.exists(new):
            os.rename(new, old)
    return on_request, None


def close(code):
    return refuse((CLOSE,), code)


def handles_forgotten(n):
    """After n requests every handle is unknown."""
    count = itertools.count()
    return refuse((READ, WRITE, CLOSE, FSTAT, 10), FAILURE,
                  lambda m: next(count) >= int(n))


def handles(n):
    """No more than that many at a time."""
    opened = set()

    def on_request(m):
        if m[0] in (OPEN, OPENDIR) and len(opened) + waiting[0] >= int(n):
            return status(m[1:5], FAILURE)
        if m[0] in (OPEN, OPENDIR):
            waiting[0] += 1
        if m[0] == CLOSE:
            opened.discard(first_text(m))
        elif extension(m) == b"rename-part@hpnssh.org":  # closes it, too
            name = first_text(m)
            opened.discard(first_text(m, 5 + 4 + len(name)))

    def on_reply(request, m):
        if request[0] in (OPEN, OPENDIR):
            waiting[0] -= 1
            if m[0] == HANDLE:
                opened.add(first_text(m))
        return m
    waiting = [0]
    return on_request, on_reply


def with_limit(n):
    """The same, and says so."""
    on_request, inner = handles(n)

    def on_reply(request, m):
        if extension(request) == b"limits@openssh.com":
            return m[:5] + struct.pack(">4Q", 0, 0, 0, int(n))
        return inner(request, m)
    return on_request, on_reply


def limits(numbers):
    """packet/read/write/handles; or fewer bytes than that."""
    values = [int(n) for n in numbers.split("/")]

    def on_reply(request, m):
        if extension(request) == b"limits@openssh.com":
            return m[:5] + struct.pack(f">{len(values)}Q", *values)
        return m
    return None, on_reply


def digests(how):
    def on_reply(request, m):
        if not (extension(request) or b"").startswith(b"check-file"):
            return m
        if m[0] != EXTENDED_REPLY:
            return m
        name = first_text(m)
        data = m[9 + len(name):]
        if how == "other":
            data = bytes(len(data))
        elif how == "short":
            data = data[:-1]
        elif how == "none":
            data = b""
        elif how == "many":
            data *= 3
        elif how == "name":
            name = b"md5"
        elif how == "ok":
            return status(m[1:5], OK)
        elif how == "eof":
            return status(m[1:5], EOF)
        elif how == "cut":
            return m[:7]
        return m[:5] + text(name) + data
    return None, on_reply


def listings(how):
    """Answers to readdir-ns are cut, or empty, or promise too much."""
    def on_reply(request, m):
        if extension(request) != b"readdir-ns@hpnssh.org" or \
                m[0] != EXTENDED_REPLY:
            return m
        if how == "cut":
            return m[:len(m) // 2]
        if how == "many":
            return m[:5] + b"\xff" * 4 + m[9:]
        return m[:int(how)]
    return None, on_reply


def reads(how):
    def on_reply(request, m):
        if request[0] != READ or m[0] != DATA:
            return m
        data = first_text(m)
        if how == "empty":
            data = b""
        elif how == "one":
            data = data[:1]
        elif how == "more":
            data += bytes(100)
        elif how == "ok":
            return status(m[1:5], OK)
        elif how == "flip":
            data = bytes(255 - b for b in data)
        return m[:5] + text(data)
    return None, on_reply


def late_opens(seconds):
    """OPEN for writing alone, as of a further handle, is answered late."""
    def on_reply(request, m):
        if request[0] == OPEN and struct.unpack_from(
                ">I", request, 9 + len(first_text(request)))[0] == 2:
            time.sleep(float(seconds))
        return m
    return None, on_reply


def writes(how):
    """Takes data, and loses it."""
    count = itertools.count()

    def on_request(m):
        if m[0] == WRITE and (how == "lost" or next(count) % 5 == 3):
            return status(m[1:5], OK if how == "lost" else FAILURE)
    return on_request, None


def sizes(n):
    """All files are so large."""
    def on_reply(request, m):
        if m[0] == ATTRS and request[0] != FSTAT:
            flags, = struct.unpack_from(">I", m, 5)
            if flags & 1:
                return m[:9] + struct.pack(">Q", int(n)) + m[17:]
        return m
    return None, on_reply


def one_extent(n):
    """All files are so large, and full of data."""
    inner = sizes(n)[1]

    def on_reply(request, m):
        if extension(request) == b"sparse-map@hpnssh.org":
            return bytes([EXTENDED_REPLY]) + m[1:5] + struct.pack(
                ">IQQB", 1, 0, int(n), 0)
        return inner(request, m)
    return None, on_reply


def ids(_):
    """Answers what was never asked."""
    count = itertools.count()

    def on_reply(request, m):
        if request[0] in (READ, WRITE) and next(count) == 3:
            return m[:1] + b"\xff\xff\xff\xfe" + m[5:]
        return m
    return None, on_reply


def twice(_):
    def on_reply(request, m):
        if request[0] in (READ, WRITE):
            return [m, m]
        return m
    return None, on_reply


def strange(kind):
    """Another type of reply."""
    def on_reply(request, m):
        if request[0] in (OPEN, READ, WRITE, EXTENDED):
            return bytes([int(kind)]) + m[1:5] + text(b"x" * 20)
        return m
    return None, on_reply


def dies(n):
    """After so many requests."""
    count = itertools.count()

    def on_request(m):
        if next(count) >= int(n):
            os._exit(1)
    return on_request, None


def exchanged(uid):
    """A part is somebody else's by the time that it is opened again."""
    def on_request(m):
        path = first_text(m) if m[0] == OPEN else b""
        if path.endswith(b".hpnpart") and not \
                struct.unpack_from(">I", m, 9 + len(path))[0] & 8:
            size = os.path.getsize(path)
            os.unlink(path)
            with open(path, "wb") as theirs:
                theirs.truncate(size)
                os.fchown(theirs.fileno(), int(uid), int(uid))
    return on_request, None


def neighbour(what, does):
    """Does something at the client's when a request of such a kind names
    something: KIND[,KIND]:NAME:ARGUMENT..."""
    kinds, name, *rest = what.split(":")
    kinds, name = [int(k) for k in kinds.split(",")], os.fsencode(name)
    count = itertools.count()

    def on_request(m):
        if m[0] in kinds and name in m and next(count) == 0:
            does(*rest)
    return on_request, None


def swap(what):
    """Puts a link in place of something."""
    def does(path, link):
        os.rename(path, path + ".away")
        os.symlink(link, path)
    return neighbour(what, does)


def renew(what):
    """Puts another file in place of one."""
    def does(path):
        with open(path + ".new", "w", encoding="ascii") as other:
            other.write("newer than that")
        os.rename(path + ".new", path)
    return neighbour(what, does)


def endless(name):
    """However often links of that name follow each other in a path."""
    link = b"/" + os.fsencode(name)

    def on_request(m):
        if m[0] not in (OPEN, LSTAT, OPENDIR, STAT) or 2 * link not in m:
            return None
        path = first_text(m)
        rest = m[9 + len(path):]
        while 2 * link in path:
            path = path.replace(2 * link, link)
        return (m[:5] + text(path) + rest,)
    return on_request, None


def parallel(_):
    """Like that of golang's pkg/sftp: WRITE is done beside what follows it,
    in the worst case behind it; only CLOSE waits."""
    return None, None


def honest(_):
    return None, None


# ---- between the two -----------------------------------------------------

def read_message(stream):
    head = stream.read(4)
    if len(head) < 4:
        return None
    return stream.read(struct.unpack(">I", head)[0])


class Filter:
    def __init__(self, mode, server):
        name, _, argument = mode.partition("=")
        self.on_request, self.on_reply = globals()[name](argument)
        self.bare = name in ("old_rename", "bare")  # of the bare draft
        self.parallel = name == "parallel"
        self.held, self.flusher = [], None
        self.server = subprocess.Popen(server, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.asked = {}
        self.lock, self.out_lock = threading.Lock(), threading.Lock()

    def reply(self, message):
        with self.out_lock:
            sys.stdout.buffer.write(text(message))
            sys.stdout.buffer.flush()

    def requests(self):
        while m := read_message(sys.stdin.buffer):
            answer = self.on_request(m) if self.on_request and m[0] != 1 \
                else None
            if isinstance(answer, tuple):
                m = answer[0]
            elif answer:
                self.reply(answer)
                continue
            self.asked[m[1:5]] = m
            self.pass_on(m)
        self.pass_on(None)

    def pass_on(self, m):
        """To the server; what is held back first, if that has to be."""
        with self.lock:
            if self.flusher:
                self.flusher.cancel()
            if m and m[0] == WRITE and self.parallel:
                self.held.append(m)
            elif not m or m[0] == CLOSE:
                self.flush()
            if m and not (m[0] == WRITE and self.parallel):
                self.server.stdin.write(text(m))
                self.server.stdin.flush()
            elif not m:
                self.server.stdin.close()
            if self.held:  # nobody may be waiting for more
                self.flusher = threading.Timer(0.2, self.flush_later)
                self.flusher.daemon = True
                self.flusher.start()

    def flush(self):
        for m in self.held:
            self.server.stdin.write(text(m))
        self.held = []
        self.server.stdin.flush()

    def flush_later(self):
        with self.lock:
            self.flush()

    def replies(self):
        while m := read_message(self.server.stdout):
            answer = m
            if m[0] == VERSION and self.bare:
                answer = m[:5]
            elif m[0] == VERSION and self.parallel:
                answer = m[:5] + b"".join(text(word) for word in (
                    b"hardlink@openssh.com", b"1",
                    b"posix-rename@openssh.com", b"1",
                    b"statvfs@openssh.com", b"2"))
            elif m[0] != VERSION and self.on_reply:
                answer = self.on_reply(self.asked.pop(m[1:5]), m)
            for one in answer if isinstance(answer, list) else [answer]:
                self.reply(one)

    def run(self):
        thread = threading.Thread(target=self.replies)
        thread.start()
        try:
            self.requests()
        except BrokenPipeError:
            pass
        thread.join(10)
        self.server.kill()
        os._exit(0)


if __name__ == "__main__":
    try:
        Filter(sys.argv[1], sys.argv[2:]).run()
    except BrokenPipeError:
        os._exit(1)
