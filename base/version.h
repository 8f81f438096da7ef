/* SPDX-License-Identifier: ISC */
/*
 * How both sides introduce themselves (RFC 4253 section 4.2). Peers choose
 * their behaviour by the software version, so that one is a compatibility
 * token; the comment behind it says who we really are.
 */
#ifndef HPN_BASE_VERSION_H
#define HPN_BASE_VERSION_H

#include "config.h"

#define HPN_SOFTWARE "OpenSSH_10.5_hpn18"
#define HPN_TRUE_NAME " HPNSSH_" /* in the comment of the identification */
/* VersionAddendum, if any, follows after a blank. */
#define HPN_IDENT "SSH-2.0-" HPN_SOFTWARE HPN_TRUE_NAME VERSION

#endif
