# SPDX-License-Identifier: ISC
"""Rows of bench/run that are asked for by name: hpnsync where there is much to
compare. `synclarge`: a million files over 100 ms, unchanged, and with 20,000
changed and 1,000 to delete; 50,000 beside rclone. `syncslow`: 100,000 entries where
each stat takes 0.5 ms. `syncmemory`: the most memory of hpnsync at 10 million
entries, which a program makes up."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from benchlib import TOP, LongPath, Unavailable, environment, spawn, timed
from sync import make_like_usr

OLD = 10**9
CHANGED, DELETED = 20000, 1000


def peak(args, env):
    """The most memory of a program itself, in MiB, and its seconds."""
    process = spawn(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    env=env)
    began, most = time.monotonic(), 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            most = max(most, int(re.search(r"VmHWM:\s+(\d+)", status)[1]))
        except (OSError, TypeError):
            pass
        time.sleep(0.05)
    if process.returncode != 0:
        raise RuntimeError(f"{args}: exit {process.returncode}")
    return most / 1024, time.monotonic() - began


class SyncMore:
    """The methods of Bench that compare much."""

    def synclarge(self):
        if not shutil.which("rsync"):
            raise Unavailable("rsync is not installed")
        entries = 110000 if self.args.quick else 1100000
        tree = make_like_usr(self.work.dir, entries)
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path)
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            os.chmod(top, 0o777)
            target = Path(top) / "copy"
            timed(["cp", "-a", tree, target], 3600)
            jobs = self.far_jobs(servers, tree, target)
            self.add("synclarge", f"{entries} entries unchanged, over 100 ms",
                     "s", self.turns(jobs))
            jobs = self.far_jobs(servers, tree, target, "--delete")
            self.add("synclarge", f"{CHANGED} of them changed, {DELETED} more "
                     "to delete, over 100 ms", "s",
                     self.turns(self.changed_jobs(jobs, tree, target)))
        shutil.rmtree(tree)
        if self.work.stock.name in servers and shutil.which("rclone"):
            self.beside_rclone(servers)
        self.drop(list(servers.values()) + [path])

    def beside_rclone(self, servers):
        """rclone asks for one directory after the other on each connection: a
        million entries would take it the better part of an hour."""
        entries = 5000 if self.args.quick else 50000
        tree = make_like_usr(self.work.dir, entries)
        far = servers[self.work.stock.name]
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            os.chmod(top, 0o777)
            target = Path(top) / "copy"
            timed(["cp", "-a", tree, target], 600)
            ours = [self.work.ours["sync"], "-a"]
            self.add("synclarge", f"{entries} entries unchanged, over 100 ms, "
                     "stock server", "s", self.turns({
                         "hpnsync": self.sync_job(ours, self.work.ours, far,
                                                  tree, target),
                         "rclone": self.rclone_job(far, tree, target)}))

    def changed_jobs(self, jobs, tree, target):
        """Each job begins with the old files at the target."""
        files = sorted(tree.rglob("file3"))
        chosen = files[::max(1, len(files) // CHANGED)][:CHANGED]
        for path in chosen:
            path.write_bytes(os.urandom(10000))

        def changed(job):
            def run():
                for path in chosen:
                    there = target / path.relative_to(tree)
                    there.write_bytes(b"x")
                    os.utime(there, (OLD, OLD))
                for i, path in enumerate(chosen[:DELETED]):
                    (target / path.relative_to(tree)).with_name(
                        f"gone{i}").write_bytes(b"x")
                return job()
            return run
        # rsync with incremental recursion is no rival here.
        return {name: changed(job) for name, job in jobs.items()
                if name != "rsync"}

    def rclone_job(self, server, tree, target):
        def job():
            return timed([*server.entered("client"), "rclone", "sync",
                          "--config", "/dev/null", "--checkers", "32",
                          "--links", str(tree), f":sftp:{target}",
                          "--sftp-host", server.host,
                          "--sftp-port", str(server.port),
                          "--sftp-user", server.user,
                          "--sftp-key-file", str(self.work.dir / "user")],
                         3600).wall
        return job

    def syncslow(self):
        """Each stat takes 0.5 ms."""
        if not shutil.which("rsync"):
            raise Unavailable("rsync is not installed")
        entries = 10000 if self.args.quick else 100000
        library = self.work.dir / "slow-stat.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2",
                        "-D_GNU_SOURCE", "-o", library,
                        TOP / "bench" / "slow-stat.c"], check=True,
                       timeout=60)
        tree = make_like_usr(self.work.dir, entries)
        slow = ["env", f"LD_PRELOAD={library}", "SLOW_STAT_US=500"]
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            timed(["cp", "-a", tree, f"{top}/copy"], 600)

            def job(*program):
                return lambda: timed([*slow, *program, f"{tree}/",
                                      f"{top}/copy/"], 1200).wall
            self.add("syncslow", f"{entries} entries unchanged, no network, "
                     "0.5 ms a stat", "s", self.turns({
                         "hpnsync": job(self.work.ours["sync"], "-a"),
                         "rsync": job("rsync", "-a")}))

    def syncmemory(self):
        """The host's side is made up: 16 million files are few on a disk."""
        entries = 100000 if self.args.quick else 10000000
        shell = self.work.dir / "walk-endless"
        for what, width in (("100 in each directory", 100),
                            ("2 in each directory", 2),
                            ("all in one directory", entries)):
            shell.write_text(f"#!/bin/sh\nexec {TOP}/bench/walk-endless "
                             f"{entries} {width}\n")
            shell.chmod(0o755)
            with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
                most, seconds = peak([self.work.ours["sync"], "-rtn", "-e",
                                      str(shell), "h:/big/", f"{top}/"],
                                     environment())
            self.add("syncmemory", f"{entries} entries, {what}", "MiB",
                     {"hpnsync": [most]})
            self.say(f"in {seconds:.1f} s")
