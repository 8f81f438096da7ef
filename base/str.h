/* SPDX-License-Identifier: ISC */
/*
 * Strings: lists, patterns, comma lists, numbers with units, escaping.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_STR_H
#define HPN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A growing list of owned strings. Zeroed = empty. */
struct strlist {
	char **v; /* v[n] == NULL once n > 0 */
	size_t n;
};

/* Copies s. */
int strlist_add(struct strlist *l, const char *s) must_check;
int strlist_add_len(struct strlist *l, const char *s, size_t len) must_check;
/* Appends the non-empty pieces of s between any of the bytes in seps. */
int strlist_split(struct strlist *l, const char *s,
    const char *seps) must_check;
/* The same; without memory they end the process. */
void xstrlist_add(struct strlist *l, const char *s);
void xstrlist_add_len(struct strlist *l, const char *s, size_t len);
void xstrlist_split(struct strlist *l, const char *s, const char *seps);
int strlist_copy(struct strlist *to, const struct strlist *from) must_check;
bool strlist_has(const struct strlist *l, const char *s);
void strlist_clear(struct strlist *l);

/* Shell-like pattern of ssh_config(5): * and ? only. */
bool str_match(const char *s, const char *pattern);
bool str_match_nocase(const char *s, const char *pattern);
/* Comma list of patterns, ! negates: 1 match, -1 negated match, 0 none. */
int str_match_list(const char *s, const char *patterns, bool nocase);

/* Comma lists of names (RFC 4251 name-list). */
bool csv_has(const char *list, const char *name);
bool csv_has_nocase(const char *list, const char *name);
bool csv_has_span(const char *list, const char *name, size_t len);
/* First name of `mine` that is in `theirs`: copy, caller frees; NULL. */
char *csv_first_common(const char *mine, const char *theirs);
/* Names of list that match no (or any, if keep) pattern; caller frees. */
char *csv_filter(const char *list, const char *patterns, bool keep);
/* Iterates: *pos starts at list; false at the end. */
bool csv_next(const char **pos, const char **name, size_t *len);

/* Decimal number in [min, max]; ERR_SYNTAX or ERR_LIMIT. */
int str_to_int(const char *s, int64_t min, int64_t max,
    int64_t *out) must_check;
/* Seconds from "90", "1h30m", "2w"; ERR_SYNTAX, ERR_LIMIT. */
int str_to_seconds(const char *s, int64_t *seconds) must_check;
/* Bytes from "4096", "512K", "1G" (binary units); ERR_SYNTAX, ERR_LIMIT. */
int str_to_bytes(const char *s, uint64_t *bytes) must_check;

/* Copies text with control and non-ASCII-invalid bytes as \ooo octal;
 * always terminates; valid UTF-8 passes. */
void str_escape(char *out, size_t size, const char *text);
/* Escapes all of text in the same way, to memory that the caller frees; ends
 * the process if there is none. */
char *xstr_escape(const char *text);
/* A path as it is shown: of one that fills a screen, beginning and end. The
 * caller frees; NULL when out of memory, where the other ends the process. */
char *str_shorten_path(const char *path);
char *xstr_shorten_path(const char *path);
/* Bytes of the UTF-8 character (RFC 3629, strict) at p, which is *code; 0:
 * there is none. */
size_t str_utf8_len(const char *p, uint32_t *code);
/* Columns of a terminal that a character takes which str_escape() lets through.
 * Where the locale knows none of them (LANG=C) those that may be wide count as
 * wide: a line that is too short does no harm. */
int str_columns(uint32_t c);
/* ASCII case only. */
bool str_equal_nocase(const char *a, const char *b);
/* Is s the len bytes at p? */
bool str_is_span_nocase(const char *s, const char *p, size_t len);
bool str_has_prefix(const char *s, const char *prefix);

/* Base64 (RFC 4648 section 4). Encoding is NUL-terminated, caller frees.
 * Decoding is strict (no blanks, no stray bits): 0 or ERR_FORMAT; caller
 * frees *out. */
char *str_base64_encode(const void *p, size_t len);
int str_base64_decode(const char *s, size_t len, uint8_t **out,
    size_t *out_len) must_check;
/* Lower-case hexadecimal, caller frees; NULL when out of memory. */
char *str_hex(const void *p, size_t len);

/* "dir/name", with one slash between them; caller frees. NULL: no memory. */
char *str_join_path(const char *dir, const char *name);

#endif
