-- SPDX-License-Identifier: ISC
-- Lmod: put it into a directory of MODULEPATH as hpn-ssh/VERSION.lua, with the
-- prefix that configure or the tarball had.
local prefix = "/opt/hpn-ssh"

whatis("Name: HPN-SSH")
whatis("Description: SSH suite for large data and long paths")
help([[hpnssh, hpnscp, hpnsftp, hpnsync and the programs for keys. To have git, rsync
and sshfs run through them: export PATH=$HPNSSH_LINKS:$PATH]])

-- man finds ../share/man by PATH; a MANPATH would hide the system's own pages.
prepend_path("PATH", pathJoin(prefix, "bin"))
setenv("HPNSSH_LINKS", pathJoin(prefix, "libexec/hpnssh/links"))
setenv("SSH_SK_HELPER", pathJoin(prefix, "libexec/hpnssh/hpnssh-sk-helper"))
setenv("SSH_PKCS11_HELPER", pathJoin(prefix, "libexec/hpnssh/hpnssh-pkcs11-helper"))
