/* SPDX-License-Identifier: ISC */
/*
 * Where this host has its keys: in the directory of this build, and in
 * OpenSSH's, whose keys hpnsshd shows where both are installed. Nobody but the
 * superuser writes there, and no user and no configuration adds a place.
 */
#ifndef HPN_KEYS_HOST_KEY_FILES_H
#define HPN_KEYS_HOST_KEY_FILES_H

#define OPENSSH_DIR "/etc/ssh"

enum { HOST_KEY_FILES = 7 };

/* The files of private keys. The public half has ".pub" behind it, a
 * certificate "-cert.pub". */
extern const char *const host_key_files[HOST_KEY_FILES];

#endif
