# SPDX-License-Identifier: ISC
"""What the measurements share: two suites of programs side by side, private
servers, CPU time of a server's whole tree, long paths made of namespaces.

All that is made here is removed by close(), also after an exception or ^C;
what the kernel can remove by itself (namespaces, devices) ends with us even
after SIGKILL. Every command is bounded in time.
"""

import atexit
import ctypes
import functools
import math
import os
import pwd
import select
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
IS_ROOT = os.getuid() == 0
MB = 1000 * 1000
USER_PREFIX = "hpnbench"
SERVER, CLIENT = "10.77.0.2", "10.77.0.1"
LIBC = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """This machine or this user cannot measure that; the text says why."""


def die_with_parent():
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


def environment():
    env = {k: os.environ[k]
           for k in ("HOME", "USER", "LOGNAME", "LANG", "OPENSSL_ia32cap")
           if k in os.environ}
    env["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    env["XDG_STATE_HOME"] = state_directory()  # of hints
    return env


@functools.cache
def state_directory():
    """The caller's, or one for this run."""
    if "XDG_STATE_HOME" in os.environ:
        return os.environ["XDG_STATE_HOME"]
    made = tempfile.mkdtemp(prefix="hpn-state-")
    # Also of programs that are started with this process's own environment.
    os.environ["XDG_STATE_HOME"] = made
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class Ended:
    def __init__(self, rc, wall, usage, out, err):
        self.rc, self.wall = rc, wall
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss = usage.ru_maxrss * 1024  # of the largest process
        self.out, self.err = out, err


def end_process(process):
    for sig, wait in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        if process.poll() is not None:
            return
        try:
            process.send_signal(sig)
            process.wait(wait)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


class Flow:
    """Bytes that a process writes without end, as they arrive."""

    def __init__(self, process):
        self.bytes = 0
        self.process = process
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while data := os.read(self.process.stdout.fileno(), 1 << 20):
            self.bytes += len(data)

    def end(self):
        end_process(self.process)
        self.thread.join(20)


def rates(flows, seconds):
    """Bytes a second of each, over so long."""
    began, before = time.monotonic(), [f.bytes for f in flows]
    time.sleep(seconds)
    took = time.monotonic() - began
    return [(f.bytes - b) / took for f, b in zip(flows, before)]


def spawn(args, **kw):
    kw.setdefault("env", environment())
    kw.setdefault("stdin", subprocess.DEVNULL)
    kw.setdefault("stdout", subprocess.DEVNULL)
    return subprocess.Popen([str(a) for a in args],
                            preexec_fn=die_with_parent, **kw)


def timed(args, timeout, stdin=None, stdout=None, must=True):
    """Runs a command; its wall time, and CPU seconds of it and of the children
    that it waited for."""
    with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as out:
        source = open(stdin or "/dev/null", "rb")
        sink = open(stdout, "wb") if stdout else out
        began = time.monotonic()
        process = spawn(args, stdin=source, stdout=sink, stderr=err)
        source.close()
        ended = os.pidfd_open(process.pid)
        try:
            if not select.select([ended], [], [], timeout)[0]:
                raise TimeoutError(
                    f"{' '.join(map(str, args))}: no end in {timeout} s")
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            os.close(ended)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = err.read().decode(errors="replace")
        done = Ended(process.returncode, wall, usage,
                     out.read().decode(errors="replace"), text)
    if must and done.rc != 0:
        raise RuntimeError(f"{' '.join(map(str, args))}: exit {done.rc}: "
                           + text.strip()[-500:])
    return done


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


# ---- CPU time of a server and all that it starts -----------------------

class CpuMeter:
    """CPU seconds of a process tree, by a cgroup; without one, unknown."""

    def __init__(self):
        self.group = None
        for base, name in self.places():
            group = base / f"{USER_PREFIX}-{os.getpid()}-{id(self):x}"
            try:
                group.mkdir()
            except OSError:
                continue
            if (group / name).exists():
                self.group, self.file = group, group / name
                break
            group.rmdir()
        self.pid = None

    @staticmethod
    def places():
        """Mounted cgroup trees that count CPU time, and their file of it."""
        return [(Path("/sys/fs/cgroup") / base, name) for base, name in
                (("cpuacct", "cpuacct.usage"), ("", "cpu.stat"),
                 ("unified", "cpu.stat"))
                if (Path("/sys/fs/cgroup") / base / "cgroup.procs").exists()]

    @property
    def how(self):
        return ("cgroup " + self.file.name if self.group
                else "not measured, needs a cgroup (root)")

    def enter(self):  # in the child, before exec
        die_with_parent()
        if self.group:
            (self.group / "cgroup.procs").write_text("0")

    def seconds(self):
        text = self.file.read_text()
        if self.file.name == "cpu.stat":
            return int(text.split()[1]) / 1e6
        return int(text) / 1e9

    def pids(self):
        if self.group:
            return [int(p) for p in
                    (self.group / "cgroup.procs").read_text().split()]
        found, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            try:
                text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
                todo += [int(p) for p in text.split()]
            except OSError:
                pass
        return found

    def close(self):
        if not self.group:
            return
        for _ in range(50):
            for pid in self.pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                self.group.rmdir()
                self.group = None
                return
            except OSError:
                time.sleep(0.05)


# ---- the suites --------------------------------------------------------

class Suite:
    """The programs of one prefix. Ours are called hpnssh, hpnsshd..."""

    def __init__(self, name, directories, prefix=""):
        self.name, self.hpn = name, prefix == "hpn"
        self.found = {}
        for short in ("ssh", "sshd", "scp", "sync", "sftp-server",
                      "ssh-keygen"):
            for directory in directories:
                path = Path(directory) / (prefix + short)
                if path.is_file() and os.access(path, os.X_OK):
                    self.found[short] = str(path.resolve())
                    break
        for must in ("ssh", "sshd"):
            if must not in self.found:
                raise Unavailable(f"{name}: no {prefix}{must} in "
                                  + ", ".join(map(str, directories)))

    def __getitem__(self, short):
        return self.found[short]

    def version(self):
        run = subprocess.run([self["ssh"], "-V"], capture_output=True,
                             text=True, timeout=10)
        return (run.stderr + run.stdout).strip().splitlines()[0]

    def has_option(self, option):
        return subprocess.run(
            [self["ssh"], "-F", "none", "-G", "-o", option, "host"],
            capture_output=True, timeout=10).returncode == 0


def suite_of_prefix(name, prefix):
    prefix = Path(prefix)
    dirs = [prefix / "bin", prefix / "sbin", prefix / "libexec",
            prefix / "lib/openssh", prefix]
    for programs in ("hpn", ""):
        try:
            return Suite(name, dirs, programs)
        except Unavailable as missing:
            reason = missing
    raise reason


def stock_suite():
    return Suite("stock", ["/usr/local/bin", "/usr/bin", "/usr/local/sbin",
                           "/usr/sbin", "/usr/lib/openssh",
                           "/usr/libexec/openssh"])


def build_directory():
    named = os.environ.get("HPN_BUILD")
    for directory in [named] if named else [Path.cwd(), TOP / "build/release",
                                            TOP / "obj"]:
        if directory and (Path(directory) / "hpnssh").exists():
            return Path(directory).resolve()
    raise Unavailable("no build found: name it with --build or HPN_BUILD")


class Work:
    """What one run makes: a directory, keys, a user, tools, servers."""

    def __init__(self, build):
        self.build = Path(build)
        state_directory()
        remove_leftovers()
        self.dir = Path(tempfile.mkdtemp(prefix=f"{USER_PREFIX}-{os.getpid()}-",
                                         dir=self.base()))
        os.chmod(self.dir, 0o755)
        self.ours = Suite("hpn", [self.build], "hpn")
        self.stock = stock_suite()
        self.things, self.user = [], None
        self.helpers()
        self.keys()

    @staticmethod
    def base():
        shm = Path("/dev/shm")
        return shm if os.access(shm, os.W_OK) else Path(tempfile.gettempdir())

    def helpers(self):
        flags = ["-O2", "-std=c11", "-D_GNU_SOURCE"]
        for name, libs in (("netpath", ["-lm"]), ("limit", ["-lcrypto"]),
                           ("streams", [])):
            subprocess.run([os.environ.get("CC", "cc"), *flags, "-o",
                            self.dir / name, TOP / "bench" / (name + ".c"),
                            *libs], check=True, timeout=120)
        self.limit = str(self.dir / "limit")
        self.streams = str(self.dir / "streams")

    def keys(self):
        for name in ("user", "host"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                            "-C", "bench", "-f", self.dir / name],
                           check=True, timeout=20, env=environment())

    def file(self, size):
        """A file of that size, in the page cache, that does not compress."""
        path = self.dir / f"data{size}"
        if not path.exists():
            block = os.urandom(1 << 20)
            with open(path, "wb") as f:
                for _ in range(-(-size // len(block))):
                    f.write(block)
                f.truncate(size)
        return path

    def throwaway_user(self):
        """A user with /bin/sh and an empty home; ourselves if not root."""
        if self.user:
            return self.user
        if not IS_ROOT or not shutil.which("useradd"):
            self.user = pwd.getpwuid(os.getuid()).pw_name
            return self.user
        name = f"{USER_PREFIX}{os.getpid()}"
        home = self.dir / "home"
        subprocess.run(["useradd", "-M", "-d", str(home), "-s", "/bin/sh",
                        "-p", "*", name], check=True, timeout=30)
        self.user = name
        home.mkdir()
        os.chown(home, pwd.getpwnam(name).pw_uid, -1)
        return name

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def drop(self, thing):
        if thing in self.things:
            self.things.remove(thing)
        thing.close()

    def close(self):
        for thing in reversed(self.things):
            thing.close()
        self.things = []
        if self.user and self.user.startswith(USER_PREFIX):
            remove_user(self.user)
        shutil.rmtree(self.dir, ignore_errors=True)


def remove_user(name):
    subprocess.run(["userdel", name], timeout=30, stderr=subprocess.DEVNULL)


def is_stale(name):
    """Whether it was made by a run whose process, which is in the name, has
    ended."""
    number = name[len(USER_PREFIX):].lstrip("-").split("-")[0]
    return (name.startswith(USER_PREFIX) and number.isdigit()
            and not Path("/proc", number).exists())


def remove_leftovers():
    """Removes what runs that were killed have left."""
    for entry in pwd.getpwall() if IS_ROOT else []:
        if is_stale(entry.pw_name):
            remove_user(entry.pw_name)
    for group, _ in CpuMeter.places():
        for left in group.glob(USER_PREFIX + "-*"):
            if is_stale(left.name):
                try:
                    left.rmdir()
                except OSError:
                    pass
    for left in Work.base().glob(USER_PREFIX + "-*"):
        if is_stale(left.name):
            shutil.rmtree(left, ignore_errors=True)


# ---- servers and clients -----------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A private sshd, on loopback or inside the far end of a path."""

    def __init__(self, work, suite, path=None, options=(), user=None):
        self.work, self.suite, self.path = work, suite, path
        self.user = user or pwd.getpwuid(os.getuid()).pw_name
        self.port = path.next_port() if path else free_port()
        self.host = SERVER if path else "127.0.0.1"
        self.meter = CpuMeter()
        self.process = None
        self.dir = Path(tempfile.mkdtemp(dir=work.dir))
        os.chmod(self.dir, 0o755)
        if IS_ROOT and not Path("/run/sshd").exists():
            os.mkdir("/run/sshd", 0o755)
        keys = self.dir / "authorized_keys"
        shutil.copy(work.dir / "user.pub", keys)
        # The first value of a keyword counts, but the last of MaxStartups.
        given = {option.split()[0] for option in options}
        lines = [f"Port {self.port}", f"ListenAddress {self.host}",
                 f"HostKey {work.dir}/host", f"AuthorizedKeysFile {keys}",
                 f"PidFile {self.dir}/pid", "UsePAM no", "StrictModes no",
                 "PasswordAuthentication no", "PermitRootLogin yes",
                 "PrintMotd no", "PrintLastLog no", "UseDNS no",
                 "MaxStartups 200:30:300", "MaxSessions 100",
                 "Subsystem trivial /bin/true",
                 "Subsystem sftp internal-sftp", "LogLevel ERROR"]
        # Measurements break connections off; that must have no penalty.
        if subprocess.run([suite["sshd"], "-G", "-f", "/dev/null", "-o",
                           "PerSourcePenalties=no"], capture_output=True,
                          timeout=10).returncode == 0:
            lines.append("PerSourcePenalties no")
        lines = [*options, *(line for line in lines
                             if line.split()[0] not in given)]
        config = self.dir / "sshd_config"
        config.write_text("\n".join(lines) + "\n")
        key = " ".join((work.dir / "host.pub").read_text().split()[:2])
        self.known = self.dir / "known_hosts"
        self.known.write_text(f"[{self.host}]:{self.port} {key}\n")
        self.log = open(self.dir / "log", "wb")
        self.process = subprocess.Popen(
            [*self.entered("server"), suite["sshd"], "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=environment(), preexec_fn=self.meter.enter,
            start_new_session=True)
        self.meter.pid = self.process.pid
        self.wait_ready()

    def wait_ready(self):
        for _ in range(100):
            listening = subprocess.run(
                [*self.entered("server"), "ss", "-Hltn",
                 f"sport = :{self.port}"], capture_output=True,
                timeout=10).stdout
            if self.process.poll() is not None:
                break
            if listening:
                return
            time.sleep(0.05)
        text = (self.dir / "log").read_text(errors="replace")
        self.close()
        raise RuntimeError(f"{self.suite.name}: sshd does not start: {text}")

    def client_options(self, first_contact=None, config="none"):
        """first_contact: a directory for known_hosts and hints, empty at
        first; config: a file in place of none."""
        known = self.known
        if first_contact:
            known = Path(first_contact) / "known_hosts"
        return ["-F", str(config), "-p", str(self.port), "-l", self.user,
                "-i", str(self.work.dir / "user"),
                "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
                "-o", f"UserKnownHostsFile={known}",
                "-o", "GlobalKnownHostsFile=none",
                "-o", "StrictHostKeyChecking="
                + ("accept-new" if first_contact else "yes"),
                "-o", "IdentityAgent=none", "-o", "LogLevel=ERROR"]

    def entered(self, side):
        return self.path.enter(side) if self.path else []

    def command(self, client, *args, options=(), first_contact=None,
                config="none"):
        """argv of a client that runs args on the server."""
        return [*self.entered("client"), client["ssh"],
                *self.client_options(first_contact, config),
                *options, self.host, *args]

    def scp(self, client, data, there, direction):
        """argv of a client's scp that copies data to the server."""
        options = self.client_options()
        login = options.index("-l")
        del options[login:login + 2]
        options[options.index("-p")] = "-P"
        far = f"{self.user}@{self.host}:"
        ends = ([str(data), far + str(there)] if direction == "up" else
                [far + str(data), str(there)])
        # hpnscp connects by itself; with -S it would spawn a program.
        program = [] if client.hpn else ["-S", client["ssh"]]
        return [*self.entered("client"), client["scp"], "-q", *program,
                *options, "-c", "aes128-gcm@openssh.com", *ends]

    def settled_cpu(self):
        """CPU seconds, once the last connection's processes have ended. NaN
        without a cgroup: the listener does not wait for all of them."""
        if not self.meter.group:
            return math.nan
        for _ in range(100):
            if len(self.meter.pids()) <= 1:
                break
            time.sleep(0.02)
        return self.meter.seconds()

    def close(self):
        if self.process and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            end_process(self.process)
        self.meter.close()
        self.log.close()


# ---- a long path -------------------------------------------------------

@functools.lru_cache
def has_netem():
    """Can this kernel delay packets by itself?"""
    return bool(shutil.which("tc")) and subprocess.run(
        ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", "netem",
         "delay", "1ms"], capture_output=True, timeout=20).returncode == 0


def both(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * 2


class LongPath:
    """Two namespaces with a long path between them. rate in Mbit/s, rtt in
    ms, queue in bytes; each of rate and queue may be two: up, down."""

    def __init__(self, work, rate, rtt, loss=0.0, queue=None, control="cubic",
                 memory=256 << 20, send_memory=None, lifetime=900,
                 firewall=False):
        if not IS_ROOT:
            raise Unavailable("namespaces need root")
        if not os.access("/dev/net/tun", os.W_OK):
            raise Unavailable("no /dev/net/tun")
        self.rtt = rtt / 1000
        self.port = 2221
        self.rate, self.loss, self.control = both(rate), loss, control
        self.queue = both(queue) if queue is not None else tuple(
            max(self.product(r), 256 << 10) for r in self.rate)
        self.process, self.holders = None, []
        self.firewall = firewall  # only bench/netpath.c has one
        if has_netem() and not firewall:
            self.by_netem(rtt, lifetime)
        else:
            self.by_program(work, rtt, lifetime)
        try:
            self.configure(memory, send_memory or memory)
        except BaseException:
            self.close()
            raise

    def by_program(self, work, rtt, lifetime):
        self.process = subprocess.Popen(
            [work.dir / "netpath", "-r", "{}:{}".format(*self.rate),
             "-d", str(rtt / 2), "-q", "{:.0f}:{:.0f}".format(*self.queue),
             "-l", str(self.loss), "-S", "7", "-t", str(lifetime),
             *(["-1"] if self.firewall else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=die_with_parent, text=True)
        words = self.process.stdout.readline().split()
        if len(words) != 3:
            self.process.wait(5)
            raise Unavailable("netpath: " + self.process.stderr.read())
        pid = self.process.pid
        self.spaces = {"client": f"/proc/{pid}/fd/{words[1]}",
                       "server": f"/proc/{pid}/fd/{words[2]}"}

    def by_netem(self, rtt, lifetime):
        """A veth pair that the kernel shapes. It ends with the processes that
        hold the namespaces."""
        self.holders = [spawn(["unshare", "-n", "sleep", str(lifetime)])
                        for _ in range(2)]
        time.sleep(0.2)  # until both are in their namespaces
        near, far = (str(h.pid) for h in self.holders)
        self.spaces = {"client": f"/proc/{near}/ns/net",
                       "server": f"/proc/{far}/ns/net"}
        subprocess.run(["ip", "link", "add", "path0", "netns", near, "type",
                        "veth", "peer", "name", "path0", "netns", far],
                       check=True, timeout=20)
        # The limit counts packets, which GSO makes larger than segments.
        for side, rate, queue in zip(("client", "server"), self.rate,
                                     self.queue):
            packets = max(64, int(queue + self.product(rate)) // 1500)
            self.run(side, "tc", "qdisc", "add", "dev", "path0", "root",
                     "netem", "rate", f"{rate}mbit", "delay",
                     f"{rtt / 2}ms", "loss", f"{self.loss * 100}%", "limit",
                     str(packets))

    def product(self, rate):
        """Of bandwidth and delay, in bytes."""
        return rate * 1e6 / 8 * self.rtt

    def seed(self, number):
        """From now on losses are those of this seed (0 to 255). The kernel's
        netem has none."""
        if self.process:
            self.process.stdin.buffer.write(bytes([number]))
            self.process.stdin.buffer.flush()

    def next_port(self):
        self.port += 1
        return self.port

    def enter(self, side):
        return ["nsenter", f"--net={self.spaces[side]}"]

    def run(self, side, *args, must=True):
        return subprocess.run([*self.enter(side), *args], check=must,
                              timeout=20, capture_output=True)

    def configure(self, memory, send_memory):
        ends = (("client", CLIENT, SERVER), ("server", SERVER, CLIENT))
        for side, me, peer in ends:
            for name, value in (
                    ("conf/all/disable_ipv6", "1"),
                    ("tcp_rmem", f"4096 131072 {memory}"),
                    ("tcp_wmem", f"4096 16384 {send_memory}"),
                    ("tcp_no_metrics_save", "1")):
                tree = "ipv6" if "ipv6" in name else "ipv4"
                self.run(side, "sh", "-c",
                         f"echo {value} >/proc/sys/net/{tree}/{name}",
                         must=False)
            self.run(side, "ip", "link", "set", "lo", "up")
            self.run(side, "ip", "addr", "add", f"{me}/32", "dev", "path0")
            self.run(side, "ip", "link", "set", "path0", "txqueuelen",
                     "10000", "up")
            # A sysctl for this is refused in a namespace; a route's is not.
            self.run(side, "ip", "route", "replace", peer, "dev", "path0",
                     "src", me, "congctl", self.control)

    def bare(self, work, direction, size, timeout=120, control=None):
        """Seconds of a plain TCP connection, from connect to the last byte.
        direction "down" is what the client gets."""
        server = spawn([*self.enter("server"), work.limit, "serve", "9999"])
        try:
            time.sleep(0.1)
            done = timed([*self.enter("client"), work.limit,
                          "get" if direction == "down" else "put", SERVER,
                          "9999", str(size), *([control] if control else [])],
                         timeout)
            return float(done.out.split()[1])
        finally:
            end_process(server)

    def close(self):
        for holder in self.holders:
            end_process(holder)
        if self.process is None:
            return
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
                self.process.wait(3)
            except (subprocess.TimeoutExpired, OSError):
                end_process(self.process)
        self.counters = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()


def pss(pids):
    """Proportional share of memory of these processes, in bytes."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def machine():
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)),
            "kernel": os.uname().release, "load": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d %H:%M %Z")}
