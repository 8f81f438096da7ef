#%Module1.0
# SPDX-License-Identifier: ISC
# Environment Modules: put it into a directory of MODULEPATH as hpn-ssh/VERSION,
# with the prefix that configure or the tarball had.
set prefix /opt/hpn-ssh

proc ModulesHelp { } {
    puts stderr "hpnssh, hpnscp, hpnsftp, hpnsync and the programs for keys. To have"
    puts stderr "git, rsync and sshfs run through them: export PATH=\$HPNSSH_LINKS:\$PATH"
}
module-whatis "SSH suite for large data and long paths"

# man finds ../share/man by PATH; a MANPATH would hide the system's own pages.
prepend-path PATH $prefix/bin
setenv HPNSSH_LINKS $prefix/libexec/hpnssh/links
setenv SSH_SK_HELPER $prefix/libexec/hpnssh/hpnssh-sk-helper
setenv SSH_PKCS11_HELPER $prefix/libexec/hpnssh/hpnssh-pkcs11-helper
