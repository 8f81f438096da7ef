# SPDX-License-Identifier: ISC
"""A PKCS#11 token in software (SoftHSM), for tests."""

import os

from harness import clean_env, hpn, run

LIBRARY = next((p for p in (
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so")
    if os.path.exists(p)), None)

PIN = "31415926"
TYPES = {"rsa": "rsa:2048", "p256": "EC:secp256r1", "p384": "EC:secp384r1",
         "p521": "EC:secp521r1", "ed25519": "EC:edwards25519"}


class Token:
    """A token of SoftHSM; env: for programs that use it."""

    def __init__(self, base):
        self.base = base
        (base / "tokens").mkdir()
        conf = base / "softhsm2.conf"
        conf.write_text(f"directories.tokendir = {base}/tokens\n"
                        "objectstore.backend = file\nlog.level = ERROR\n")
        self.env = {"SOFTHSM2_CONF": conf,
                    "SSH_PKCS11_HELPER": hpn("ssh-pkcs11-helper")}
        self._run("softhsm2-util", "--init-token", "--free", "--label",
                  "my token", "--pin", PIN, "--so-pin", "5678")
        for i, (name, kind) in enumerate(TYPES.items(), 1):
            self.tool("-l", "--pin", PIN, "--keypairgen", "--key-type", kind,
                      "--id", f"0{i}", "--label", name)
        self.lines = self.keygen("-D", LIBRARY).ok().text.splitlines()

    def _run(self, *args):
        run(args, env=clean_env(SOFTHSM2_CONF=self.env["SOFTHSM2_CONF"])).ok()

    def tool(self, *args):
        self._run("pkcs11-tool", "--module", LIBRARY, *args)

    def keygen(self, *args, **env):
        return run([hpn("ssh-keygen"), *args],
                   env=clean_env(**{**self.env, **env}))

    def line(self, name):
        return next(x for x in self.lines if x.split()[2] == name)

    def public(self, path, name):
        path.write_text(self.line(name) + "\n")
        return path
