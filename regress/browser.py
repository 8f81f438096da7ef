# SPDX-License-Identifier: ISC
"""A real browser without a screen, Debian's chromium, which is told what to do
over a pair of pipes (the DevTools protocol)."""

import base64
import json
import os
import select
import subprocess
import time

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu",
         "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update",
         "--disable-extensions", "--hide-scrollbars",
         "--remote-debugging-pipe"]


def problem():
    """Why there is none; or None."""
    return None if os.path.exists(CHROMIUM) else \
        "no browser is here: apt-get install chromium"


class Browser:
    """One page in one browser. What it has asked for, and what it has
    complained about, are in `requests` and `complaints`."""

    def __init__(self, directory):
        self.requests, self.complaints, self.last = [], [], 0
        self.seen, self.rest = [], b""
        down, self.out = os.pipe()
        self.back, up = os.pipe()

        def place():  # they are its descriptors 3 and 4
            a, b = os.dup(down), os.dup(up)
            os.dup2(a, 3)
            os.dup2(b, 4)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(directory),
               "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={directory}/profile"],
            env=env, preexec_fn=place, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(down)
        os.close(up)
        target = self.call("Target.createTarget", url="about:blank")
        self.session = None
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for domain in "Page", "Network", "Log", "Runtime":
            self.call(f"{domain}.enable")

    session = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.back)

    def _message(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("the browser says nothing")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.rest += data
        one, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(one)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, params):
        if method is None:
            return
        self.seen.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method in ("Runtime.consoleAPICalled",
                        "Runtime.exceptionThrown"):
            self.complaints.append(str(params))

    def call(self, method, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 120
        while True:
            answer = self._message(until)
            if answer.get("id") == self.last:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url):
        self.seen.clear()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + 120
        while "Page.loadEventFired" not in self.seen:
            self._message(until)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True)
        return result["result"]["value"]

    def picture(self, width, height):
        """A PNG of the top of the page."""
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)
        return base64.b64decode(
            self.call("Page.captureScreenshot", format="png")["data"])
