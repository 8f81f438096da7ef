# SPDX-License-Identifier: ISC
"""The row `sync` of bench/run: hpnsync beside rsync, with and without
incremental recursion: what is unchanged and what is new, over 100 ms and on
this machine.
"""

import os
import shutil
import tempfile
from pathlib import Path

from benchlib import LongPath, Unavailable, timed
from files import make_dirs, make_tree

ENTRIES = 179000  # as /usr of a machine has


def make_like_usr(directory, entries):
    """Nine files in each of entries / 10 directories, ten of which are in one:
    the proportions of /usr."""
    top = directory / f"usr{entries}"
    if not top.exists():
        for i in range(entries // 10):
            place = top / f"a{i // 1000}" / f"b{i // 100 % 10}" / f"d{i}"
            place.mkdir(parents=True)
            for k in range(9):
                (place / f"file{k}").write_bytes(b"x")
    return top


class Sync:
    """The methods of Bench that make directories the same."""

    def sync(self):
        """hpnsync beside rsync."""
        if not shutil.which("rsync"):
            raise Unavailable("rsync is not installed")
        if "sync" not in self.work.ours.found:
            raise Unavailable("no hpnsync in that build")
        self.sync_far()
        self.sync_here()

    def shell(self, suite, server):
        """The value of -e."""
        options = server.client_options()
        login = options.index("-l")
        del options[login:login + 2]
        return " ".join([suite["ssh"], *options])

    def sync_job(self, program, client, server, tree, target):
        """A whole command, up."""
        def job():
            return timed([*server.entered("client"), *program, "-e",
                          self.shell(client, server), f"{tree}/",
                          f"{server.user}@{server.host}:{target}/"],
                         600).wall
        return job

    def sync_far(self):
        quick = self.args.quick
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path)
        for what, tree in (
                ("500 files of 10 KB", make_tree(self.work.dir, 500, 10000)),
                (f"{ENTRIES // (10 if quick else 1)} entries",
                 make_like_usr(self.work.dir,
                               ENTRIES // (10 if quick else 1)))):
            with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
                os.chmod(top, 0o777)
                target = Path(top) / "copy"
                timed(["cp", "-a", tree, target], 600)
                self.add("sync", f"{what} unchanged, over 100 ms", "s",
                         self.turns(self.far_jobs(servers, tree, target)))
        self.drop(list(servers.values()) + [path])

    def far_jobs(self, servers, tree, target):
        ours, stock = self.work.ours, self.work.stock
        sync = [ours["sync"], "-a"]
        jobs = {"hpnsync": self.sync_job(sync, ours, servers[ours.name], tree,
                                         target)}
        if stock.name in servers:
            far = servers[stock.name]
            jobs |= {
                "hpnsync to stock": self.sync_job(sync, ours, far, tree,
                                                  target),
                "rsync": self.sync_job(["rsync", "-a"], stock, far, tree,
                                       target),
                "rsync --no-i-r": self.sync_job(
                    ["rsync", "-a", "--no-i-r"], stock, far, tree, target),
                "rsync --no-i-r, hpnssh": self.sync_job(
                    ["rsync", "-a", "--no-i-r"], ours, servers[ours.name],
                    tree, target)}
        return jobs

    def sync_here(self):
        count = 1000 if self.args.quick else 10000
        tree = make_tree(self.work.dir, count, 10000)
        dirs = make_dirs(self.work.dir, count // 10, True)
        servers = self.servers()
        ours, stock = self.work.ours, self.work.stock
        for what, source in ((f"{count} files of 10 KB", tree),
                             (f"{count // 10} directories", dirs)):
            jobs = {"hpnsync": lambda: self.fresh(
                [ours["sync"], "-a"], ours, servers[ours.name], source)}
            if stock.name in servers:
                jobs["rsync"] = lambda: self.fresh(
                    ["rsync", "-aW"], stock, servers[stock.name], source)
            self.add("sync", f"{what} first, loopback", "s", self.turns(jobs))
            self.add("sync", f"{what} first, no network", "s", self.turns({
                "hpnsync": lambda: self.local([ours["sync"], "-a"], source),
                "rsync": lambda: self.local(["rsync", "-aW"], source)}))
        self.drop(servers.values())

    def fresh(self, program, client, server, tree):
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            os.chmod(top, 0o777)
            return self.sync_job(program, client, server, tree,
                                 Path(top) / "copy")()

    def local(self, program, tree):
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            return timed([*program, f"{tree}/", f"{top}/copy/"], 600).wall
