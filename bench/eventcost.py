# SPDX-License-Identifier: ISC
"""The row `events` of bench/run: what the log of events costs the server. A
tree of 10,000 files of 10 KB is copied to it by turns without EventLog, with
EventDetail summary and with files; CPU is user and system time of all its
processes.
"""

import shutil

from benchlib import IS_ROOT, Server, Unavailable, timed
from files import count_files, make_tree


class EventCost:
    """The methods of Bench for this row."""

    def events(self):
        if not IS_ROOT:
            raise Unavailable("CPU of the server needs a cgroup: root")
        count = 1000 if self.args.quick else 10000
        tree = make_tree(self.work.dir, count, 10000)
        logs = {what: self.work.dir / f"events-{what}"
                for what in ("off", "summary", "files")}
        servers = {what: self.work.keep(Server(
            self.work, self.work.ours, options=[] if what == "off" else [
                f"EventLog file:{log}", f"EventDetail {what}"]))
            for what, log in logs.items()}

        def copy(what):
            to, server = self.work.dir / "events-to", servers[what]
            before = server.settled_cpu()
            argv = server.scp(self.work.ours, tree, to, "up")
            timed([*argv[:1], "-r", *argv[1:]], 300)
            cpu = server.settled_cpu() - before
            if count_files(to) != count:
                raise RuntimeError("files are missing")
            shutil.rmtree(to)
            if what == "files":
                lines = logs[what].read_text().count('"event":"transfer"')
                logs[what].write_text("")
                if lines != count:
                    raise RuntimeError(f"{lines} lines of {count} files")
            return cpu

        got = self.turns({what: lambda what=what: copy(what)
                          for what in servers})
        self.add("events", f"{count} files of 10 KB, CPU of the server", "s",
                 got)
        for what in ("summary", "files"):
            self.add("events", f"EventDetail {what} costs", "%", {
                "hpn": [(a / b - 1) * 100
                        for a, b in zip(got[what], got["off"])]})
        self.drop(servers.values())
