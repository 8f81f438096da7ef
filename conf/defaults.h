/* SPDX-License-Identifier: ISC */
/*
 * What client and server agree on when nobody says otherwise.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_DEFAULTS_H
#define HPN_CONF_DEFAULTS_H

/* TCP port of hpnsshd, and the one that hpnssh falls back from and to. */
#define HPN_DEFAULT_PORT 2222
#define HPN_FALLBACK_PORT 22
/* HPN_KNOWN_HOSTS_PORT: hosts on this port are written without a port in
 * known_hosts. */
#define HPN_KNOWN_HOSTS_PORT 22

/* HPN_XAUTH is where most systems have xauth. */
#define HPN_XAUTH "/usr/bin/xauth"

/* Set by the Makefile; these serve builds of single files by hand. */
#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc/hpnssh"
#endif
#ifndef LIBEXECDIR
#define LIBEXECDIR "/usr/libexec"
#endif
#ifndef LOCALSTATEDIR
#define LOCALSTATEDIR "/var"
#endif
#ifndef RUNSTATEDIR
#define RUNSTATEDIR LOCALSTATEDIR "/run"
#endif
#ifndef PRIVSEPDIR
#define PRIVSEPDIR LOCALSTATEDIR "/empty"
#endif

/* What a site has set up for OpenSSH's client holds for ours, too. */
#define STOCK_CONF_DIR "/etc/ssh"

#endif
