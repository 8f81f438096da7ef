/* SPDX-License-Identifier: ISC */
/*
 * Manifests: files with a line for each file, with its digest and its name, in
 * the form of sha256sum(1). In a name, a newline, a carriage return and a
 * backslash are escaped ("\n", "\r", "\\"); the line then begins with a
 * backslash.
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

/* A manifest being written, under a temporary name in its directory until its
 * end. */
struct manifest_out;

/* Begins a manifest. The path is opened as open_named() says. ERR_SYSTEM with
 * errno. */
int manifest_create(struct manifest_out **out, const char *path) must_check;
void manifest_add(struct manifest_out *m, const uint8_t *digest,
    const char *name);
/* Ends the manifest: renames it to its own name if keep, else removes it. An
 * error of an earlier call shows here. ERR_SYSTEM with errno. Frees m in any
 * case; m may be NULL. */
int manifest_end(struct manifest_out *m, bool keep) must_check;

/* ---- reading ------------------------------------------------------------ */

struct manifest_in;

struct manifest_entry {
	uint8_t digest[MANIFEST_DIGEST];
	const char *name; /* borrowed until the next call */
};

/* Opens a manifest to read; "-": standard input. ERR_SYSTEM with errno. */
int manifest_open(struct manifest_in **out, const char *path) must_check;
/* Reads the next line. 1: it is in *out; 0: there are no more. ERR_FORMAT: the
 * line is malformed, *why (static) says how; the next call goes on behind it.
 * ERR_SYSTEM: errno. A name that does not lead below the directory (an absolute
 * one, or one with "..") makes a line malformed. */
int manifest_next(struct manifest_in *m, struct manifest_entry *out,
    const char **why) must_check;
uint64_t manifest_line(const struct manifest_in *m); /* its number, from 1 */
void manifest_close(struct manifest_in *m);	     /* m may be NULL */

#endif
