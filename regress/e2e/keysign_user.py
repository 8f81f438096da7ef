# SPDX-License-Identifier: ISC
"""Run as an ordinary user, by test_keysign.py: starts a setuid program with a
connection as descriptor 3, in a way that a line of JSON on stdin says, sends it
what that says, and tries what a user may try on it. Prints JSON."""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
import termios
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PIDFD_GETFD, FREEBIND = 16, 438, 15
NEW_USER, NEW_NET = 0x10000000, 0x40000000


def connection(address="127.0.0.1"):
    """Both ends, of which the first is used, and what they came from."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, 0), family=family)
    ours = socket.create_connection(listener.getsockname()[:2],
                                    source_address=(address, 0))
    return [ours, listener.accept()[0], listener]


def unconnected(address):
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_IP, FREEBIND, 1)
    if address:
        one.bind((address, 0))
    return [one]


def elsewhere(address):
    """A connection from an address that only a network namespace of the
    user's own has; None if such a thing is forbidden here."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        ids = os.getuid(), os.getgid()
        if LIBC.unshare(NEW_USER | NEW_NET) == -1:
            os._exit(1)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {ids[0]} 1"),
                           ("gid_map", f"0 {ids[1]} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
        os.system("PATH=/usr/sbin:/sbin:/usr/bin:/bin; ip link set lo up && "
                  f"ip address add {address}/32 dev lo")
        made = connection(address)
        socket.send_fds(ends[1], [b"x"], [s.fileno() for s in made])
        os._exit(0)
    ends[1].close()
    data, fds, _, _ = socket.recv_fds(ends[0], 1, 3)
    os.waitpid(pid, 0)
    return [socket.socket(fileno=fd) for fd in fds] if data else None


def connect(how):
    kind, _, rest = how.partition(" ")
    if kind == "unconnected":
        return unconnected(rest)
    if kind == "elsewhere":
        return elsewhere(rest)
    if kind == "pipe":
        return [socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)[0]]
    return connection(*([rest] if rest else []))


def become_program(how, talk, errors, conn):
    """In the child. Descriptors from 20 on are out of the way of those that
    the program gets."""
    fds = [os.dup(fd) for fd in (talk, talk, errors, conn)]
    fds = [LIBC.fcntl(fd, 0, 900 + i) for i, fd in enumerate(fds)]
    os.closerange(0, 900)
    for i, fd in enumerate(fds):
        os.dup2(fd, i)
    os.closerange(900, 1024)
    for fd in how.get("closed", ()):
        os.close(fd)
    if "open" in how:
        secret = os.open(how["open"], os.O_RDONLY)
        os.set_inheritable(secret, True)
        for fd in range(how["from"], how["to"]):
            os.dup2(secret, fd)
    for name, value in how.get("limits", {}).items():
        resource.setrlimit(getattr(resource, name), (value, value))
    for number in how.get("ignored", ()):
        signal.signal(number, signal.SIG_IGN)
    os.execve(how["program"], how.get("argv", ["keysign"]), how["env"])


def begin(how, conn):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    said, errors = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            become_program(how, theirs.fileno(), errors, conn.fileno())
        finally:
            os._exit(126)
    theirs.close()
    os.close(errors)
    return pid, ours, said


def everything(read):
    out = b""
    while True:
        try:
            piece = read(65536)
        except ConnectionResetError:
            return out
        if not piece:
            return out
        out += piece


def attempt(what):
    """"no" with the error's number, or what came out."""
    try:
        return repr(what())
    except OSError as e:
        return f"no {e.errno}"


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result


def attempts(pid):
    pidfd = os.pidfd_open(pid)
    here = ctypes.create_string_buffer(8)
    vec = struct.pack("PN", ctypes.addressof(here), 8)
    there = struct.pack("PN", 0x400000, 8)
    tried = {name: attempt(lambda name=name: open(
        f"/proc/{pid}/{name}", "rb").read(1))
        for name in ("mem", "environ", "auxv", "maps")}
    tried["fd"] = attempt(lambda: os.listdir(f"/proc/{pid}/fd"))
    tried["cwd"] = attempt(lambda: os.readlink(f"/proc/{pid}/cwd"))
    tried["ptrace"] = attempt(lambda: checked(
        LIBC.ptrace(PTRACE_ATTACH, pid, None, None)))
    tried["vm"] = attempt(lambda: checked(
        LIBC.process_vm_readv(pid, vec, 1, there, 1, 0)))
    tried["getfd"] = [attempt(lambda fd=fd: checked(
        LIBC.syscall(PIDFD_GETFD, pidfd, fd, 0))) for fd in range(4, 9)]
    return tried


def wait_until_read(sock):
    """The program has what was sent, and asks for more."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        left = bytearray(4)
        fcntl.ioctl(sock, termios.TIOCOUTQ, left)
        if struct.unpack("i", left)[0] == 0:
            return
        time.sleep(0.01)
    raise AssertionError("nothing was read")


def main():
    how = json.loads(sys.stdin.readline())
    conns = connect(how.get("connection", ""))
    if conns is None:
        print(json.dumps({"skip": True}))
        return
    pid, sock, said = begin(how, conns[0])
    request, result = bytes.fromhex(how["request"]), {}
    try:
        if how.get("look"):
            sock.sendall(request[:4])
            wait_until_read(sock)
            result["pid"], result["tried"] = pid, attempts(pid)
            print(json.dumps(result), flush=True)
            sys.stdin.readline()  # the test has looked, as root
            if how["look"] != "go on":
                os.kill(pid, getattr(signal, how["look"]))
            sock.sendall(request[4:])
        else:
            sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
    except BrokenPipeError:
        pass
    result["answer"] = everything(sock.recv).hex()
    result["errors"] = everything(lambda n: os.read(said, n)).decode()
    result["rc"] = os.waitpid(pid, 0)[1]
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
