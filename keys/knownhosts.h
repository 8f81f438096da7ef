/* SPDX-License-Identifier: ISC */
/*
 * known_hosts files: plain, wildcard and hashed host names, [host]:port,
 * @revoked and @cert-authority markers.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KNOWNHOSTS_H
#define HPN_KEYS_KNOWNHOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "keys/key.h"

enum knownhosts_marker {
	KNOWNHOSTS_NONE,
	KNOWNHOSTS_REVOKED,
	KNOWNHOSTS_CA,
};

/* A parsed line. Its fields are owned; clear it with
 * knownhosts_line_clear(). */
struct knownhosts_line {
	enum knownhosts_marker marker;
	char *hosts; /* the first field as written */
	/* NULL: its type is unknown. A line with a certificate makes no key
	 * known, but may revoke. */
	struct key *key;
	char *comment;
};

int knownhosts_parse_line(const char *line,
    struct knownhosts_line *out) must_check; /* ERR_NOT_FOUND: blank, # */
void knownhosts_line_clear(struct knownhosts_line *l);
/* Does the hosts field name this host ("host" or "[host]:port")? */
bool knownhosts_hosts_match(const char *hosts, const char *host);

/* "host", or "[host]:port" unless port is 22. Lower case; caller frees. */
char *knownhosts_name(const char *host, uint16_t port);
/* "|1|salt|hash" for a name; caller frees. */
char *knownhosts_hash(const char *name);

enum knownhosts_verdict {
	KNOWNHOSTS_OK,	    /* key is known */
	KNOWNHOSTS_NEW,	    /* no key of this host */
	/* only other keys of this host are known, of any type */
	KNOWNHOSTS_CHANGED,
	KNOWNHOSTS_IS_REVOKED,
};

struct knownhosts_found {
	enum knownhosts_verdict verdict;
	char *path; /* file of the line that decided; owned */
	unsigned line;
	const char *type; /* short name of the type of this line's key */
};

/* The lines that files have for some names. The files are read once for all
 * names, at the first look-up, and again after one of them has changed; so a
 * look-up finds what reading the files would find. files is borrowed, names are
 * copied. One thread at a time. */
struct knownhosts_seen;
int knownhosts_seen_new(struct knownhosts_seen **out,
    const struct strlist *files, const struct strlist *names) must_check;
void knownhosts_seen_free(struct knownhosts_seen *s);

/* Where keys are looked up: in files, and then in lines that a program printed.
 * A file that does not exist counts as empty. All is borrowed. */
struct knownhosts_sources {
	const struct strlist *files;
	/* lines of files that were read already; NULL: the files are read */
	struct knownhosts_seen *seen;
	struct span lines;
	/* name of lines in results, in place of a path */
	const char *lines_name;
};

/* Looks for the key's identity in all sources. A certificate is also revoked if
 * the key of its authority is. */
int knownhosts_check(const struct knownhosts_sources *sources, const char *name,
    const struct key *k, struct knownhosts_found *found) must_check;
/* Finds the first line that lets the authority ca (NULL: any) certify hosts of
 * this name: KNOWNHOSTS_OK, or KNOWNHOSTS_NEW if there is none. */
int knownhosts_find_ca(const struct knownhosts_sources *sources,
    const char *name, const struct key *ca,
    struct knownhosts_found *found) must_check;
void knownhosts_found_clear(struct knownhosts_found *f);
/* Adds the types ("ssh-ed25519"...) of the keys that are known for the name,
 * and not revoked for it. The proposal of host key algorithms is ordered by
 * them. */
int knownhosts_types(const struct knownhosts_sources *sources,
    const char *name, struct strlist *types) must_check;
/* Appends a line to the file. Makes the file (0600) and its directory (0700) if
 * they are missing. ERR_ARGUMENT: the name is a pattern or a list, or not a
 * single word. */
int knownhosts_add(const char *path, const char *name, const struct key *k,
    bool hash) must_check;

/* Calls fn for each line of the name (NULL: of any) that can be parsed. Stops
 * when fn returns a value other than 0, and returns that. */
typedef int (*knownhosts_line_fn)(void *arg, const char *path,
    unsigned number, const struct knownhosts_line *line);
int knownhosts_each_line(const char *path, const char *name,
    knownhosts_line_fn fn, void *arg) must_check;
/* Calls fn for each line that has this very key, compared as text. Only hosts
 * and marker of the line that fn gets are set. */
int knownhosts_each_of_key(const char *path, const struct key *k,
    knownhosts_line_fn fn, void *arg) must_check;

/*
 * The lines of a host for those who look after a file. As with what follows
 * below, only a key's type has to be known: whether the rest is a key is not
 * looked at. line: as it is in the file; rest: in it, from the key's type on.
 * All is borrowed. Stops when fn returns a value other than 0, and returns
 * that.
 */
struct knownhosts_text {
	enum knownhosts_marker marker;
	const char *hosts, *line, *rest;
};
typedef int (*knownhosts_text_fn)(void *arg, unsigned number,
    const struct knownhosts_text *text);
int knownhosts_find(const char *path, const char *host, knownhosts_text_fn fn,
    void *arg) must_check;

/*
 * Rewriting a file: *changed counts the lines or names that were changed.
 * If there are any, what was there before is kept as path.old. Lines with a
 * marker stay as they are. ERR_FORMAT: some line is none (its key's type is not
 * known, or it is hashed in no known way), and the file stays as it was.
 */
enum knownhosts_note {
	KNOWNHOSTS_NOTE_REMOVED,
	KNOWNHOSTS_NOTE_PATTERN, /* text: a pattern, which cannot be hashed */
	KNOWNHOSTS_NOTE_BAD_LINE,
};
/* Can the line be written once for each of its names, hashed? Not if it has a
 * marker, is hashed, or (*pattern) has a pattern. */
bool knownhosts_may_be_hashed(enum knownhosts_marker marker,
    const char *hosts, bool *pattern);
/* Appends a line with a hash for each name of hosts. */
int knownhosts_hash_line(const char *hosts, struct span rest,
    struct buf *out) must_check;
typedef void (*knownhosts_note_fn)(void *arg, enum knownhosts_note note,
    unsigned number, const char *text);
int knownhosts_remove(const char *path, const char *host,
    knownhosts_note_fn fn, void *arg, unsigned *changed) must_check;
int knownhosts_hash_all(const char *path, knownhosts_note_fn fn, void *arg,
    unsigned *changed) must_check;

/*
 * Brings one file up to date with the keys that a host has now: those that
 * are not in it are appended (hash as for knownhosts_add), and lines for the
 * host alone whose keys are not among them are dropped. shown is the key the
 * host showed for this connection.
 *
 * ERR_NOT_FOUND: nothing is done, and why tells the reason. Either no line has
 * that key for this name; or somebody looks after these lines by hand: one that
 * names the host has a marker, a pattern or more than two names, or a key that
 * is to be added or dropped stands under another name.
 */
enum { KNOWNHOSTS_RENEW_MAX = 64, KNOWNHOSTS_RENEW_NAMES = 2 };
struct knownhosts_renewal {
	const char *name;
	/* Other names of the same host (NULL: none), under which its keys may
	 * stand as well. */
	const char *also[KNOWNHOSTS_RENEW_NAMES];
	const struct key *shown;
	struct key **keys; /* all, with shown; borrowed */
	size_t n;
	bool hash;
	/* The result: which of the keys had a line before, and how many lines
	 * were added and dropped. */
	bool had[KNOWNHOSTS_RENEW_MAX];
	unsigned added, dropped;
	const char *why;
};
int knownhosts_renew(const char *path, struct knownhosts_renewal *rn,
    bool only_look) must_check;

#endif
