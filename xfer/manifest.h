/* SPDX-License-Identifier: ISC */
/*
 * Manifests: a line for each file, with its digest and its name, in the form of
 * sha256sum(1). A name with a newline, a carriage return or a backslash has
 * these escaped ("\n", "\r", "\\"), and its line begins with a backslash.
 *
 * Threads: one at a time for a manifest.
 */
#ifndef HPN_XFER_MANIFEST_H
#define HPN_XFER_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	MANIFEST_DIGEST = 32, /* bytes of SHA-256 */
	MANIFEST_LINE_MAX = 64 * 1024, /* bytes, without the newline */
};

/* ---- writing ------------------------------------------------------------ */

/* A manifest that is written under another name in the directory of its own,
 * and gets its own at the end. */
struct manifest_out;

/* ERR_SYSTEM with errno. The path is opened as open_named() says. */
int manifest_create(struct manifest_out **out, const char *path) must_check;
void manifest_add(struct manifest_out *m, const uint8_t *digest,
    const char *name);
/* Gives it its name, if keep; an error of any call before shows here. Frees m
 * in any case. ERR_SYSTEM with errno. m may be NULL. */
int manifest_end(struct manifest_out *m, bool keep) must_check;

/* ---- reading ------------------------------------------------------------ */

struct manifest_in;

struct manifest_entry {
	uint8_t digest[MANIFEST_DIGEST];
	const char *name; /* borrowed until the next call */
};

/* ERR_SYSTEM with errno. "-": standard input. */
int manifest_open(struct manifest_in **out, const char *path) must_check;
/* 1: the next line is in *out; 0: there are no more. ERR_FORMAT: this line is
 * none, *why says how; the next call goes on behind it. ERR_SYSTEM: errno. A
 * name that is not below a directory (absolute, with "..") is no line. */
int manifest_next(struct manifest_in *m, struct manifest_entry *out,
    const char **why) must_check;
uint64_t manifest_line(const struct manifest_in *m); /* its number, from 1 */
void manifest_close(struct manifest_in *m);	     /* m may be NULL */

#endif
