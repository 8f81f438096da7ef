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
	KNOWNHOSTS_FILE_MAX = 64 * 1024 * 1024, /* bytes of one to be changed */
	KNOWNHOSTS_NAMES_MAX = 32,
};

/* ---- lines (knownhosts-lines.c) ----------------------------------------- */

struct knownhosts_lines {
	int fd;		/* owned; -1: nothing is read */
	uint8_t *piece; /* owned: of the file */
	struct span all;  /* content that begin() has borrowed; or empty */
	struct span left; /* bytes of all, or of piece, that no line has yet */
	uint64_t total;	  /* bytes read of the file */
	bool ended;
	char *text; /* owned: this line, without its end; may be written to */
	size_t text_cap;
	struct span raw; /* the same bytes, before they were cleaned; of a line
			  * that is too long, a part, unless with begin() */
	unsigned number; /* from 1 */
};

/* A file is read piece by piece. Close also after an error of open. */
int knownhosts_lines_open(struct knownhosts_lines *l,
    const char *path) must_check;
int knownhosts_lines_rewind(struct knownhosts_lines *l) must_check;
/* The same with the content of a file, which is borrowed. */
void knownhosts_lines_begin(struct knownhosts_lines *l, struct span content);
/* 1: text and raw are the next line's; 0: there is none. */
int knownhosts_lines_next(struct knownhosts_lines *l) must_check;
void knownhosts_lines_close(struct knownhosts_lines *l);

/* The beginning of a line, cut off in place: hosts ends with a NUL. All is
 * borrowed. mend: the text is whole again. */
struct knownhosts_head {
	enum knownhosts_marker marker;
	char *hosts, *rest; /* rest: type and key */
	char end;	    /* what stood behind hosts: a blank or a tab */
};
int knownhosts_head_cut(char *text,
    struct knownhosts_head *h) must_check; /* ERR_NOT_FOUND: blank, # */
void knownhosts_head_mend(const struct knownhosts_head *h);
/* Parses the rest of the line, with its key. It is called for lines whose names
 * match only, as a key costs more to decode than a name to compare. */
int knownhosts_parse_rest(const struct knownhosts_head *h,
    struct knownhosts_line *out) must_check;

/* Does a line's rest begin with the type of a key, be it one that is not used
 * any more, and has it a second word? */
bool knownhosts_is_known_type(const char *rest);
/* "ssh-ed25519 AAAA...", and whether a line's rest begins with that very text.
 * Caller frees; NULL: no memory. */
char *knownhosts_key_text(const struct key *k);
bool knownhosts_is_key_text(const char *key, const char *rest);

/* ---- names (knownhosts-names.c) ----------------------------------------- */

/* Names that many lines are compared with. Clear also after an error. */
struct knownhosts_matcher {
	char *names[KNOWNHOSTS_NAMES_MAX]; /* owned; lower case */
	size_t n;
	struct digest *sha1; /* owned; NULL: no line was hashed so far */
};
int knownhosts_matcher_init(struct knownhosts_matcher *m,
    const char *const *names, size_t n) must_check;
void knownhosts_matcher_clear(struct knownhosts_matcher *m);
/* Compares a line's field of hosts with m's names. *which: a bit for each of
 * them that the field names. */
int knownhosts_match(struct knownhosts_matcher *m, const char *hosts,
    uint32_t *which) must_check;

bool knownhosts_is_hashed(const char *hosts);
bool knownhosts_is_good_hash(const char *hosts);
char *knownhosts_lower_case(const char *s); /* caller frees; NULL: no memory */

/* ---- looking for names (knownhosts-seen.c) ------------------------------ */

/* Calls fn for the lines that name one of m's names (NULL: for all), and for
 * those that are not understood: h is NULL. which: as of knownhosts_match().
 * Stops when fn returns a value other than 0, and returns that. */
typedef int (*knownhosts_match_fn)(void *arg, const struct knownhosts_lines *l,
    const struct knownhosts_head *h, uint32_t which);
int knownhosts_each_match(struct knownhosts_lines *l,
    struct knownhosts_matcher *m, knownhosts_match_fn fn,
    void *arg) must_check;

/* Parses the line and calls fn; one that is not understood is only logged. */
int knownhosts_found_line(const struct knownhosts_head *h, const char *path,
    unsigned number, knownhosts_line_fn fn, void *arg) must_check;

/* Does s cover this list of files, and this name? s may be NULL. */
bool knownhosts_seen_has(const struct knownhosts_seen *s,
    const struct strlist *files, const char *name);
/* Calls fn for the lines of the name that the files have now. */
int knownhosts_seen_each(struct knownhosts_seen *s, const char *name,
    knownhosts_line_fn fn, void *arg) must_check;

/* ---- changing (knownhosts-file.c) --------------------------------------- */

/* Appends whole lines; makes the file (0600) and its directory (0700). */
int knownhosts_append(const char *path, struct span text) must_check;
/* A file that is to be replaced: what it had when it was locked. Release it
 * also after an error. */
struct knownhosts_held {
	int fd;
	struct buf content;
};
int knownhosts_hold(struct knownhosts_held *h, const char *path) must_check;
/* Replaces the file by content, and behind it the lines that others have
 * appended since it was held. ERR_AGAIN: the file was changed in another way,
 * and is left alone. */
int knownhosts_replace(const struct knownhosts_held *h, const char *path,
    struct buf *content) must_check;
void knownhosts_release(struct knownhosts_held *h);

/* Appends a whole line. */
int knownhosts_format(const char *name, const struct key *k, bool hash,
    struct buf *out) must_check;

#endif
