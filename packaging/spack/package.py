# SPDX-License-Identifier: ISC
"""Spack recipe, for users without root: copy it to hpn_ssh/package.py in a
repository of your own (spack repo create, spack repo add), then
spack install hpn-ssh."""

from spack.package import *


class HpnSsh(AutotoolsPackage):
    """SSH suite for large data and long paths: hpnssh, hpnscp, hpnsftp,
    hpnsync."""

    homepage = "https://hpn-ssh.invalid/"
    git = "https://hpn-ssh.invalid/hpn-ssh.git"

    license("ISC")

    version("main", branch="main")

    variant("gssapi", default=True, description="Kerberos logins")
    variant("libedit", default=True, description="editing of lines in hpnsftp")
    variant("fido2", default=False, description="security keys")
    variant("pkcs11", default=False, description="keys of tokens")
    variant("unbound", default=False, description="DNSSEC of its own")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openssl@3:")
    depends_on("zlib-api")
    depends_on("krb5", when="+gssapi")
    depends_on("libedit", when="+libedit")
    depends_on("libfido2", when="+fido2")
    depends_on("p11-kit", when="+pkcs11")
    depends_on("unbound", when="+unbound")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def configure_args(self):
        # PAM and the filter of system calls are for a server that root starts.
        args = ["--without-pam", "--without-seccomp", "--without-ipsec-mb",
                "--disable-werror"]
        args += self.with_or_without("gssapi")
        args += self.with_or_without("libedit")
        args += self.with_or_without("libfido2", variant="fido2")
        args += self.with_or_without("pkcs11")
        args += self.with_or_without("libunbound", variant="unbound")
        if self.spec.satisfies("+unbound"):
            library = self.spec["unbound"].libs[0]
            args.append(f"UNBOUND_LIBRARY={library}")
        return args

    def setup_run_environment(self, env):
        # Take links/ too, and git, rsync and sshfs run through these programs:
        # spack load hpn-ssh, then PATH=$HPNSSH_LINKS:$PATH
        env.set("HPNSSH_LINKS", self.prefix.libexec.hpnssh.links)
