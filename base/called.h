/* SPDX-License-Identifier: ISC */
/*
 * What this program was called as: links lead to it under the names of
 * OpenSSH's programs, and its messages begin with the name that was typed.
 *
 * Threads: set before there are any.
 */
#ifndef HPN_BASE_CALLED_H
#define HPN_BASE_CALLED_H

/* The base name of argv[0]; usual, if argv[0] has no base name. Borrowed from
 * either. argv0 may be NULL. */
const char *called_as(const char *argv0, const char *usual);

/* What called_as() has found, or usual before it is called. */
const char *called_name(const char *usual);

/* The name for messages of hpnssh, also where hpnscp or hpnsftp connects:
 * "hpnssh", or "ssh" if this program was called by a name of OpenSSH's. */
const char *called_ssh(void);

#endif
