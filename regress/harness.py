# SPDX-License-Identifier: ISC
"""What the tests of whole programs share: commands bounded in time, private
servers on free loopback ports, keys, and clients that know them.

Nothing here touches the configuration of the person who runs the tests.
"""

import collections
import contextlib
import ctypes
import fcntl
import functools
import grp
import os
import pwd
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path

from processes import children, descendants, is_waiting, title

TOP = Path(__file__).resolve().parent.parent
# run-tests lets tests find the programs of build-aux/programs only.
STOCK_PATH = os.environ.get(
    "HPN_PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
ME = pwd.getpwuid(os.getuid()).pw_name
IS_ROOT = os.getuid() == 0
FAST = bool(os.environ.get("HPN_FAST"))
BITS = {"ed25519": [], "rsa": ["-b", "2048"], "ecdsa256": ["-b", "256"],
        "ecdsa384": ["-b", "384"], "ecdsa521": ["-b", "521"]}
MIB = 1 << 20


def _find_build():
    named = os.environ.get("HPN_BUILD")
    tried = [named] if named else [TOP / "build/release-tests",
                                   TOP / "build/release", TOP / "obj"]
    for directory in tried:
        if (Path(directory) / "config.status").exists():
            return Path(directory).resolve()
    return Path(tried[0]).resolve()


BUILD = _find_build()


def is_sanitized():
    """True for a build with AddressSanitizer: slower, and larger."""
    header = BUILD / "include/config.h"
    return header.exists() and "define WITH_SANITIZER 1" in header.read_text()


def built_with(what):
    """Whether the build has an optional library: built_with("GSSAPI")."""
    header = BUILD / "include/config.h"
    return header.exists() and \
        f"define HAVE_{what} 1" in header.read_text()


SLOW = 4 if is_sanitized() else 1  # factor of all timeouts
# Timeout, in seconds, for events that must happen: a busy machine does not
# take as long, only a fault does. A login may take 120 s.
LONG = 90


# Another build's programs, as far as it has them: HPN_CLIENT=build/static/x86_64
# runs the tests with clients that packaging/make-static.sh makes.
CLIENT = Path(os.environ.get("HPN_CLIENT", BUILD)).resolve()


def hpn(name):
    """Path of a program of ours: hpn("ssh"), hpn("ssh-keygen")..."""
    program = CLIENT / ("hpn" + name)
    if name.startswith("sshd") or not program.exists():
        program = BUILD / ("hpn" + name)
    return str(program)


def stock(name):
    """Path of an installed program, or None."""
    return shutil.which(name, path=STOCK_PATH)


def program(kind, name):
    return hpn(name) if kind == "hpn" else stock(name)


def stock_pty_problem():
    """A stock sshd must give terminals to the group tty, which takes root
    where the file system of terminals does not do so by itself."""
    master, slave = os.openpty()
    group = os.fstat(slave).st_gid
    os.close(master)
    os.close(slave)
    try:
        if IS_ROOT or group == grp.getgrnam("tty").gr_gid:
            return None
    except KeyError:
        return None
    return "a stock sshd of an ordinary user has no terminals here"


def have(kind, *names):
    return all(program(kind, n) and os.access(program(kind, n), os.X_OK)
               for n in names)


@functools.cache
def meeting_place():
    """The directory where monitors of this build meet."""
    text = run([hpn("sshd"), "-G", "-f", "/dev/null"]).text
    pid_file = re.search(r"(?m)^pidfile (.*)$", text)[1]
    return Path(pid_file).parent / "hpnsshd-rendezvous"


def meets_alone():
    """A command line that runs a server with such a directory of its own. In
    that of all, the sessions of tests that run at the same time count as one
    user's, of which a few may be detached."""
    script = ('mkdir -m 700 -p "$1" && mount -t tmpfs -o mode=700 none "$1" && '
              'shift && exec "$@"')
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", script,
            "sh", str(meeting_place())]


class Result:
    def __init__(self, args, rc, out, err, seconds):
        self.args, self.rc, self.seconds = args, rc, seconds
        self.out, self.err = out, err  # bytes

    @property
    def text(self):
        return self.out.decode(errors="replace")

    @property
    def errors(self):
        return self.err.decode(errors="replace")

    def __repr__(self):
        command = " ".join(map(str, self.args))
        return (f"{command}\n-> {self.rc} after {self.seconds:.1f} s\n"
                f"out: {self.out[:2000]!r}\nerr: {self.errors[-4000:]}")

    def ok(self):
        assert self.rc == 0, self
        return self


def clean_env(**changes):
    """An environment of few variables; changes add to it, None removes."""
    # By name: going through os.environ fails when another thread changes it.
    env = {k: os.environ[k]
           for k in ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG",
                     "ASAN_OPTIONS", "UBSAN_OPTIONS", "PATH", "TERM",
                     "XDG_STATE_HOME")
           if k in os.environ}
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env["PATH"] = STOCK_PATH
    env["PYTHONWARNINGS"] = "ignore"
    for key, value in changes.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = str(value)
    return env


def hints_file():
    """Where clients of this run's tests keep hints."""
    return Path(os.environ["XDG_STATE_HOME"]) / "hpnssh/hints"


def kill_group(process):
    """Kills a process that start() has started, and its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass


def start(args, **kw):
    """Popen in a process group of its own."""
    kw.setdefault("env", clean_env())
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(a) for a in args], start_new_session=True,
                            **kw)


CROWD_MOST = 8


def crowd():
    """How many programs want each processor: as many times as long a limit of
    time is, for what waits for a processor makes no progress."""
    return min(CROWD_MOST, max(1, os.getloadavg()[0] / os.cpu_count()))


def communicate(process, stdin, timeout):
    """As Popen.communicate(), with a limit for a quiet machine."""
    began = time.monotonic()
    while True:
        try:
            return process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            if time.monotonic() - began > timeout * crowd():
                raise
            stdin = None


def run(args, timeout=60, stdin=b"", env=None, cwd=None, user=None,
        preexec=None, stdout=subprocess.PIPE):
    """Runs a command to its end. If it does not end, the test fails."""
    timeout *= SLOW
    began = time.monotonic()
    kw = {}
    if user and user != ME:
        account = pwd.getpwnam(user)
        kw = {"user": account.pw_uid, "group": account.pw_gid,
              "extra_groups": []}
        env = dict(env or clean_env(), HOME=account.pw_dir, USER=user,
                   LOGNAME=user)
    process = start(args, stdin=stdin if hasattr(stdin, "fileno")
                    else subprocess.PIPE, stdout=stdout,
                    stderr=subprocess.PIPE, env=env or clean_env(), cwd=cwd,
                    preexec_fn=preexec, **kw)
    try:
        out, err = communicate(
            process, None if hasattr(stdin, "fileno") else stdin, timeout)
    except subprocess.TimeoutExpired:
        waiting = what_waits()
        kill_group(process)
        try:
            out, err = process.communicate(None, 2)
        except subprocess.TimeoutExpired as e:  # others hold its output
            out, err = e.stdout, e.stderr
        late = Result(args, "no end", out or b"", err or b"", timeout)
        raise AssertionError(
            f"still running after {timeout} s: {late}\n{waiting}")
    finally:
        kill_group(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
    return Result(args, process.returncode, out or b"", err,
                  time.monotonic() - began)


def change_accounts(*args, stdin=b""):
    """Runs a tool that changes the machine's accounts. It gives up when others
    keep the lock of their files for 15 s: then it is run again."""
    for _ in range(8):
        done = run(args, stdin=stdin)
        if done.rc == 0 or "lock" not in done.errors:
            break
    return done.ok()


def set_password(user, password):
    return change_accounts("chpasswd", stdin=f"{user}:{password}".encode())


# ---- files --------------------------------------------------------------

def listing(top, times=False):
    """Everything below top that a copy of it must have too."""
    found = {}
    top = os.fsencode(top)
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.stat(path)
            content = None
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    content = f.read()
            found[os.path.relpath(path, top)] = (
                stat.S_IMODE(st.st_mode), content,
                int(st.st_mtime) if times else None)
    return found


def own_etc(path, keys):
    """Makes a directory to mount over /etc, in which a test may change all
    files and what is below OWN_BELOW. A copy of everything takes half a second
    of processor time: the tests of a worker share one for the rest."""
    common = keys.dir.parent / "etc"
    if not common.exists():
        try:
            shutil.copytree("/etc", common, symlinks=True)
        except shutil.Error:
            pass  # a temporary file of another program's has gone
        open_up(common)
    path.mkdir(parents=True)
    for entry in common.iterdir():
        mine = path / entry.name
        if entry.is_symlink() or not entry.is_dir():
            shutil.copy2(entry, mine, follow_symlinks=False)
        elif entry.name in OWN_BELOW:
            shutil.copytree(entry, mine, symlinks=True)
        else:
            mine.symlink_to(entry)


OWN_BELOW = ("pam.d", "ssh")


# linux/fs.h; chattr(1) calls the flag T.
GET_FLAGS, SET_FLAGS, TOP_DIRECTORY = 0x80086601, 0x40086602, 0x00020000


def spread_directories(directory):
    """Has ext4 put each directory that is made in this one into a part of the
    disk of its own, as it does at the root. Without a journal ext4 gives no
    inode of a file that was removed in the last minutes to a new one and looks
    at all of these first, so that tests that make and remove thousands of files
    in one part of the disk would take a quarter of their time for that. Other
    file systems do not know the flag; nothing is lost there."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = int.from_bytes(fcntl.ioctl(fd, GET_FLAGS, bytes(8))[:4],
                               sys.byteorder)
        fcntl.ioctl(fd, SET_FLAGS,
                    (flags | TOP_DIRECTORY).to_bytes(8, sys.byteorder))
    except OSError:
        pass
    finally:
        os.close(fd)


# ---- processes that outlive their parent -------------------------------

# Children that somebody here waits for: Popen objects, and ids of others.
started = weakref.WeakSet()
own_children = set()


def become_subreaper():
    """Orphans of our servers become our children, so that we can find them."""
    ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)
    begin = subprocess.Popen.__init__

    def noted(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        started.add(self)

    subprocess.Popen.__init__ = noted


def reap_orphans():
    """Takes away those that have ended. Thousands stay else, and each look at
    the processes of the machine goes past all of them."""
    try:
        if os.waitid(os.P_ALL, 0,
                     os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return  # none has ended: nobody has to be looked at
    except ChildProcessError:
        return
    kept = {p.pid for p in started if p.returncode is None} | own_children
    for pid, (state, _) in children().items():
        if state == "Z" and pid not in kept:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def signal_all(pids, signo):
    """To those that are still there: hpnsshd-auth ends behind a login."""
    for pid in pids:
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass


def is_part(name):
    """Is it a name of a part of hpnscp's? See docs/TRANSFERS.md."""
    last = os.path.basename(name)
    return last.startswith(".") and ".hpnpart" in last


def end_orphans(known=()):
    """Kills and reaps processes that were re-parented to us; their names."""
    names = []
    for pid, (state, name) in children().items():
        if pid in known:
            continue
        try:
            if state != "Z":
                names.append(name)
                for below in descendants(pid):
                    os.kill(below, signal.SIGKILL)
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError, PermissionError):
            pass
    return names


def processes_of(user):
    uid = pwd.getpwnam(user).pw_uid
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def ours_among_children():
    """How each of them calls itself, and what it waits for in the kernel."""
    return [f"{name}: {title(pid).decode(errors='replace')} "
            f"({state}, {kernel_function(pid)})"
            for pid, (state, name) in children().items()
            if state != "Z" and name.startswith("hpn")]


def _tcp_queues():
    """For each TCP socket, by its inode: bytes that its peer's end has not
    acknowledged, and bytes that its owner has not read."""
    queues = {}
    for table in "tcp", "tcp6":
        with contextlib.suppress(OSError):
            rows = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
            for fields in map(str.split, rows):
                to, come = (int(n, 16) for n in fields[4].split(":"))
                queues[fields[9]] = f"to send {to}, to read {come}"
    return queues


def what_waits():
    """A line for each thread of ours, and of stock clients: the system call
    that it is in, with its arguments, of which the first is mostly the
    descriptor (with a time limit among them), and the kernel's function. So a
    rare run that does not end tells who waits for whom."""
    lines, queues = [], _tcp_queues()
    for pid, (state, name) in descendants(os.getpid()).items():
        if not name.startswith(("hpn", "ssh", "scp", "sftp")):
            continue
        text = title(pid)[:200].decode(errors="replace")
        lines.append(f"{pid} {state} {text}")
        for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
            with contextlib.suppress(OSError):
                call = (task / "syscall").read_text().split()[:7]
                lines.append(f"  {task.name} {' '.join(call)} "
                             f"{(task / 'wchan').read_text()}")
        with contextlib.suppress(OSError):
            for fd in sorted(Path(f"/proc/{pid}/fd").iterdir())[:30]:
                to = os.readlink(fd)
                lines.append(f"  {fd.name} -> {to} "
                             f"{queues.get(to[8:-1], '')}".rstrip())
    return "\n".join(lines[:500]).replace("\0", " ")


def kernel_function(pid):
    try:
        return Path(f"/proc/{pid}/wchan").read_text() or "?"
    except OSError:
        return "?"


def leave_no_agents_directory():
    """To be called at the end: servers of this user's make ~/.ssh/agent for
    forwarded agents, and leave it. One that was not there before goes."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    made = [path for path in (home / ".ssh/agent", home / ".ssh")
            if not path.exists()]

    def leave():
        for path in made:
            with contextlib.suppress(OSError):  # it is not empty
                path.rmdir()
    return leave


# ---- network -----------------------------------------------------------

@functools.cache
def mount_problem():
    """Why a test can mount nothing here for itself alone, or None. (In a root
    that is no mount point, as below chroot(8), nothing can be.)"""
    if not IS_ROOT:
        return "needs root: mounts"
    if run(["unshare", "-m", "--propagation", "private", "mount", "--bind",
            "/etc", "/etc"]).rc != 0:
        return "mounting is not possible here"
    return None


def noise(size):
    """Bytes without a pattern, the same in every run and every worker."""
    return random.Random(size).randbytes(size)


# Ports of this worker's last tests. A name in the kernel for each keeps those of
# other workers, and of other runs on this machine, from the same ones.
ports_taken = collections.deque(maxlen=100)


def free_port():
    """A port that nobody listens on, and that no other test is given, outside
    of the ephemeral range."""
    while True:
        port = random.randrange(15000, 32000)
        name = socket.socket(socket.AF_UNIX)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                name.bind(f"\0hpn-tests port {port}")
            except OSError:
                name.close()
                continue
        if len(ports_taken) == ports_taken.maxlen:
            ports_taken.popleft().close()
        ports_taken.append(name)
        return port


DEFAULT_PORT = 2222


class OnlyRun:
    """A lock: only one run of these tests on this machine has it at a time.
    The kernel releases it when this process ends."""

    def __init__(self, what):
        self.socket = socket.socket(socket.AF_UNIX)
        self.name = f"\0hpn-tests {what}"

    def take(self):
        try:
            self.socket.bind(self.name)
            return True
        except OSError:
            return False

    def __enter__(self):
        assert wait_for(self.take, 120, 0.1), f"others keep {self.name[1:]}"

    def __exit__(self, *exc):
        self.socket.close()


def wait_for(condition, seconds=60, step=0.02):
    """The first true value of condition(), or the last false one."""
    began, seconds = time.monotonic(), seconds * SLOW
    # Shorter ones wait for what must not happen.
    least = seconds < 3
    while True:
        value = condition()
        took = time.monotonic() - began
        if value or took > seconds and (least or took > seconds * crowd()):
            return value
        time.sleep(step)


def takes_connections(path):
    """Whether somebody listens at a UNIX socket: its file is there before."""
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(str(path))
        except OSError:
            return False
    return True


# ---- keys --------------------------------------------------------------

class Keys:
    """Key pairs by type name, made by the stock ssh-keygen (or ours)."""

    def __init__(self, directory, kind=None):
        self.dir = Path(directory)
        self.dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        kind = kind or ("stock" if stock("ssh-keygen") else "hpn")
        self.keygen = program(kind, "ssh-keygen")

    def path(self, name):
        """Path of the private key `name`: a type, or type-something."""
        path = self.dir / name
        if not path.exists():
            key_type = name.split("-")[0]
            run([self.keygen, "-q", "-t", key_type.rstrip("0123456789")
                 if key_type.startswith("ecdsa") else key_type,
                 *BITS[key_type], "-N", "", "-C", name, "-f", path]).ok()
        return path

    def public(self, name):
        return Path(str(self.path(name)) + ".pub").read_text().strip()


# ---- servers -----------------------------------------------------------

# The exchange that older stock clients prefer takes them a seventh of a second
# of processor time. They do without it here, and so do our servers, as other
# programs call the installed ssh, too; the matrix of regress/interop has each
# exchange, and the one that is preferred. Our client and stock servers keep
# theirs: there it matters which one our client guesses.
QUICK_KEX = "KexAlgorithms=-sntrup761*"


@contextlib.contextmanager
def short_directory():
    """A directory with a short name: names of sockets are limited."""
    path = Path(tempfile.mkdtemp(prefix="hpn", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def open_up(directory):
    """Lets other users pass through our directories down to this one."""
    for path in (directory, *directory.parents):
        if path.stat().st_uid == os.getuid() and path != path.parent \
                and not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o711)


@functools.cache
def stock_release():
    """(10, 0) for an installed OpenSSH 10.0p2; (0, 0) without one."""
    if not stock("ssh"):
        return 0, 0
    found = re.match(r"OpenSSH_(\d+)\.(\d+)", run([stock("ssh"), "-V"]).errors)
    return int(found[1]), int(found[2])


@functools.cache
def stock_sshd_takes(line):
    """Whether the installed sshd knows this line of configuration."""
    return run([stock("sshd"), "-G", "-f", "/dev/null", "-o", line]).rc == 0


class Server:
    """A private sshd of either kind, on a free port of 127.0.0.1, that runs
    as the current user and lets the keys in `authorized` in."""

    def __init__(self, kind, directory, keys, authorized=(), config="",
                 host_keys=("ed25519", "ecdsa256", "ecdsa384", "ecdsa521",
                            "rsa"), args=(), debug=False, env=None,
                 within=(), passwords=True):
        self.kind, self.keys, self.host_keys = kind, keys, host_keys
        self.dir = Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.dir.chmod(0o755)
        open_up(self.dir)
        self.extra, self.args, self.env = config, list(args), env
        self.debug, self.passwords = debug, passwords
        self.within = list(within)  # a command line that runs another
        self.process = None
        self.authorized = self.dir / "authorized_keys"
        self.authorized.write_text(
            "".join(keys.public(k) + "\n" for k in authorized))
        self.log = self.dir / "log"

    def config_text(self):
        # the first value of a keyword counts, so the test's come first; what
        # is global must precede its Match
        first, match, last = self.extra.partition("Match ")
        lines = [first.strip(), f"Port {self.port}",
                 "ListenAddress 127.0.0.1", "PidFile none", "UsePAM no",
                 "StrictModes no", "PermitRootLogin yes",
                 # in a session bash reads the user's .bashrc, unless SHLVL
                 # says that it is a nested shell; tests must not depend on it
                 "SetEnv SHLVL=1",
                 f"AuthorizedKeysFile {self.authorized}"]
        if "Subsystem sftp " not in first:  # twice is an error to stock
            lines.append("Subsystem sftp internal-sftp")
        if self.debug:
            lines.append("LogLevel DEBUG1")
        if not self.passwords:
            lines += ["PasswordAuthentication no",
                      "KbdInteractiveAuthentication no"]
        # else it would soon refuse an address with so many failed logins;
        # tests of penalties set their own values, which come first
        if self.kind == "hpn" or stock_sshd_takes("PerSourcePenalties=no"):
            lines.append("PerSourcePenalties no")
        if self.kind == "hpn":
            lines.append(QUICK_KEX.replace("=", " "))
        lines += [f"HostKey {self.keys.path(k + '-host')}"
                  for k in self.host_keys]
        lines.append(match + last)
        return "\n".join(lines) + "\n"

    def begin(self):
        """Starts it on a free port; false if another program took that."""
        self.port = free_port()
        self.config = self.dir / "sshd_config"
        self.config.write_text(self.config_text())
        with open(self.log, "ab") as log:
            self.log_begin = log.tell()  # the log of earlier starts is kept
            self.process = start(
                [*self.within, program(self.kind, "sshd"), "-D", "-e", "-f",
                 self.config, *self.args], stdout=log, stderr=log,
                env=self.env or clean_env())
        wait_for(lambda: self.process.poll() is not None or self.answers())
        if self.process.poll() is None and self.answers():
            return True
        said = self.log.read_bytes()[self.log_begin:].decode(errors="replace")
        assert "in use" in said, f"{self.kind} sshd did not start:\n{said}"
        return False

    def start(self):
        try:
            while not self.begin():
                pass
        except BaseException:  # also when the run is terminated
            self.stop()
            raise
        self.known_hosts = self.dir / "known_hosts"
        self.known_hosts.write_text("".join(
            f"[127.0.0.1]:{self.port} "
            + " ".join(self.keys.public(k + "-host").split()[:2]) + "\n"
            for k in self.host_keys))
        return self

    def answers(self):
        return b"listening on" in self.log.read_bytes()[self.log_begin:]

    def log_text(self):
        return self.log.read_bytes().decode(errors="replace")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def connections(self):
        """Processes of connections, by id; none of those in which our listener
        looks how accounts are hashed, which end by themselves, nor of those
        that wait for a connection."""
        found = descendants(self.process.pid)
        if self.kind != "hpn":
            return found
        # One that is being executed, or has ended, has no title.
        waiting = {pid for pid in found if is_waiting(pid) or not title(pid)}
        for pid in list(waiting):
            waiting.update(descendants(pid))
        return {pid: (state, name) for pid, (state, name) in found.items()
                if name != "hpnsshd" and pid not in waiting}

    def stop(self):
        if self.process is None:
            return
        below = descendants(self.process.pid).items() if self.within else ()
        # strace as the command line outside of it would not pass it on.
        listener = [pid for pid, (_, name) in below if name == "hpnsshd"]
        for pid in [*self.connections(), *listener]:
            try:
                os.kill(pid, signal.SIGTERM)
            except (ProcessLookupError, PermissionError):
                pass
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        kill_group(self.process)
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.stop()


# ---- clients -----------------------------------------------------------

class Client:
    """Command lines of a client program of either kind for a server."""

    def __init__(self, kind, server, key="ed25519", user=ME, options=(),
                 known_hosts=None, log_level="ERROR"):
        self.kind, self.server, self.user = kind, server, user
        self.key = server.keys.path(key) if key else None
        self.known_hosts = known_hosts or server.known_hosts
        self.fixed = ["StrictHostKeyChecking=yes", "BatchMode=yes",
                      "GlobalKnownHostsFile=none", "IdentitiesOnly=yes",
                      f"LogLevel={log_level}"]
        if kind == "stock":
            self.fixed.append(QUICK_KEX)
        self.fixed = [*options, *self.fixed]

    def options(self, *more):
        args = ["-F", "none"]
        for option in (*more, *self.fixed,
                       f"UserKnownHostsFile={self.known_hosts}"):
            args += ["-o", option]
        if self.key:
            args += ["-i", str(self.key)]
        return args

    def ssh_args(self, *more, flags=()):
        return [program(self.kind, "ssh"), *self.options(*more), "-p",
                str(self.server.port), "-l", self.user, *flags, "127.0.0.1"]

    def ssh(self, *command, options=(), flags=(), **kw):
        return run([*self.ssh_args(*options, flags=flags), *command], **kw)

    def scp(self, *args, options=(), flags=(), **kw):
        """Arguments that begin with `:` are on the server."""
        paths = [f"{self.user}@127.0.0.1{a}" if str(a).startswith(":") else
                 str(a) for a in args]
        return run([program(self.kind, "scp"), *self.options(*options), "-P",
                    str(self.server.port), *flags, *paths], **kw)


def query(kind, what):
    """Names that `ssh -Q what` lists."""
    if not have(kind, "ssh"):
        return []
    done = run([program(kind, "ssh"), "-Q", what], timeout=10)
    return done.text.split() if done.rc == 0 else []


def rss_kib(pid, what="VmRSS"):
    """Resident memory of a process; 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
