/* SPDX-License-Identifier: ISC */
/*
 * Inside of keys/: reading known_hosts files line by line, comparing names, and
 * changing them.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KNOWNHOSTS_INTERNAL_H
#define HPN_KEYS_KNOWNHOSTS_INTERNAL_H

#include "base/buf.h"
#include "keys/knownhosts.h"

enum {
	/* bytes of a file that is to be changed */
	KNOWNHOSTS_FILE_MAX = 64 * 1024 * 1024,
	KNOWNHOSTS_NAMES_MAX = 32,
};

/* ---- lines (knownhosts-lines.c) ----------------------------------------- */

struct knownhosts_lines {
	int fd;		/* owned; -1: nothing is read */
	uint8_t *piece; /* owned: the part of the file that was read last */
	struct span all;  /* content that begin() has borrowed; or empty */
	struct span left; /* bytes of all, or of piece, that no line has yet */
	uint64_t total;	  /* bytes read of the file */
	bool ended;
	/* owned: the present line, without its end; may be written to */
	char *text;
	size_t text_cap;
	/* the line as it is in the file; only a part of a line that is too
	 * long, except after knownhosts_lines_begin() */
	struct span raw;
	unsigned number; /* number of the line, from 1 */
};

/* Open a file, which is then read piece by piece; read it again from its
 * beginning. The caller calls knownhosts_lines_close(), also after an error. */
int knownhosts_lines_open(struct knownhosts_lines *l,
    const char *path) must_check;
int knownhosts_lines_rewind(struct knownhosts_lines *l) must_check;
/* Reads lines of `content`, which is borrowed, instead of a file. */
void knownhosts_lines_begin(struct knownhosts_lines *l, struct span content);
/* Goes to the next line. 1: text and raw have it; 0: there is none. */
int knownhosts_lines_next(struct knownhosts_lines *l) must_check;
void knownhosts_lines_close(struct knownhosts_lines *l);

/* The beginning of a line. knownhosts_head_cut() cuts the text in place, so
 * that hosts ends with a NUL; knownhosts_head_mend() makes the text whole
 * again. All is borrowed. */
struct knownhosts_head {
	enum knownhosts_marker marker;
	char *hosts, *rest; /* rest: type and key */
	char end;	    /* what stood behind hosts: a blank or a tab */
};
int knownhosts_head_cut(char *text,
    struct knownhosts_head *h) must_check; /* ERR_NOT_FOUND: blank, # */
void knownhosts_head_mend(const struct knownhosts_head *h);
/* Parses the rest of the line, with its key. It is called only for lines whose
 * names match, because decoding a key takes longer than comparing names. */
int knownhosts_parse_rest(const struct knownhosts_head *h,
    struct knownhosts_line *out) must_check;

/* Does the rest of a line begin with a type of keys, perhaps one that is not
 * used any more, and has it a second word? */
bool knownhosts_is_known_type(const char *rest);
/* knownhosts_key_text(): the text "ssh-ed25519 AAAA..." of k; the caller frees
 * it; NULL: out of memory. knownhosts_is_key_text(): does the rest of a line
 * begin with that text? */
char *knownhosts_key_text(const struct key *k);
bool knownhosts_is_key_text(const char *key, const char *rest);

/* ---- names (knownhosts-names.c) ----------------------------------------- */

/* Names that many lines are compared with. The caller clears it, also after an
 * error. */
struct knownhosts_matcher {
	char *names[KNOWNHOSTS_NAMES_MAX]; /* owned; lower case */
	size_t n;
	struct digest *sha1; /* owned; NULL: no line was hashed so far */
};
int knownhosts_matcher_init(struct knownhosts_matcher *m,
    const char *const *names, size_t n) must_check;
void knownhosts_matcher_clear(struct knownhosts_matcher *m);
/* Compares a line's field of hosts with m's names. *which has a bit for each
 * name that matches. */
int knownhosts_match(struct knownhosts_matcher *m, const char *hosts,
    uint32_t *which) must_check;

bool knownhosts_is_hashed(const char *hosts);
bool knownhosts_is_good_hash(const char *hosts);
char *knownhosts_lower_case(const char *s); /* caller frees; NULL: no memory */

/* ---- looking for names (knownhosts-seen.c) ------------------------------ */

/* Calls fn for each line that has one of m's names (m NULL: for each line), and
 * with h NULL for lines that cannot be parsed. which is as in
 * knownhosts_match(). Stops when fn returns a value other than 0, and returns
 * that. */
typedef int (*knownhosts_match_fn)(void *arg, const struct knownhosts_lines *l,
    const struct knownhosts_head *h, uint32_t which);
int knownhosts_each_match(struct knownhosts_lines *l,
    struct knownhosts_matcher *m, knownhosts_match_fn fn,
    void *arg) must_check;

/* Parses the line and calls fn. A line that cannot be parsed is only logged. */
int knownhosts_found_line(const struct knownhosts_head *h, const char *path,
    unsigned number, knownhosts_line_fn fn, void *arg) must_check;

/* Has s read this list of files for this name? s may be NULL. */
bool knownhosts_seen_has(const struct knownhosts_seen *s,
    const struct strlist *files, const char *name);
/* Calls fn for each line of the name in the files, as they are now. */
int knownhosts_seen_each(struct knownhosts_seen *s, const char *name,
    knownhosts_line_fn fn, void *arg) must_check;

/* ---- changing (knownhosts-file.c) --------------------------------------- */

/* Appends whole lines to the file. Makes the file (0600) and its directory
 * (0700) if they are missing. */
int knownhosts_append(const char *path, struct span text) must_check;
/* A file that is to be replaced: its lock, and its content when it was locked.
 * The caller releases it, also after an error. */
struct knownhosts_held {
	int fd;
	struct buf content;
};
int knownhosts_hold(struct knownhosts_held *h, const char *path) must_check;
/* Replaces the file by content, and appends to that the lines that others have
 * appended since knownhosts_hold(). ERR_AGAIN: the file was changed in another
 * way, and stays as it is. */
int knownhosts_replace(const struct knownhosts_held *h, const char *path,
    struct buf *content) must_check;
void knownhosts_release(struct knownhosts_held *h);

/* Appends a whole line for the name and the key. */
int knownhosts_format(const char *name, const struct key *k, bool hash,
    struct buf *out) must_check;

#endif
