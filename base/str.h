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
/* As strlist_add() and strlist_split(), but these end the process when memory
 * is out. */
void xstrlist_add(struct strlist *l, const char *s);
void xstrlist_add_len(struct strlist *l, const char *s, size_t len);
void xstrlist_split(struct strlist *l, const char *s, const char *seps);
int strlist_copy(struct strlist *to, const struct strlist *from) must_check;
bool strlist_has(const struct strlist *l, const char *s);
/* Sorts the strings by their bytes, and removes those that are there again. */
void strlist_sort_unique(struct strlist *l);
void strlist_clear(struct strlist *l);

/* Does s match the pattern of ssh_config(5), in which only * and ? are
 * special? */
bool str_match(const char *s, const char *pattern);
bool str_match_nocase(const char *s, const char *pattern);
/* Matches s against a comma list of patterns. Returns 1 if one matches, -1 if
 * one behind a ! does, else 0. */
int str_match_list(const char *s, const char *patterns, bool nocase);

/* Comma lists of names (RFC 4251 name-list). */
bool csv_has(const char *list, const char *name);
bool csv_has_nocase(const char *list, const char *name);
bool csv_has_span(const char *list, const char *name, size_t len);
/* The first name of `mine` that is in `theirs`, as a copy that the caller
 * frees; NULL: there is none. */
char *csv_first_common(const char *mine, const char *theirs);
/* A list of the names of list that match any pattern (keep), or none of them
 * (else). The caller frees it. */
char *csv_filter(const char *list, const char *patterns, bool keep);
/* Goes through a comma list: *pos is the list at first. Sets *name and *len to
 * the next name; false at the end. */
bool csv_next(const char **pos, const char **name, size_t *len);

/* Reads a decimal number from min to max; ERR_SYNTAX or ERR_LIMIT. */
int str_to_int(const char *s, int64_t min, int64_t max,
    int64_t *out) must_check;
/* Reads a time such as "90", "1h30m" or "2w"; ERR_SYNTAX, ERR_LIMIT. */
int str_to_seconds(const char *s, int64_t *seconds) must_check;
/* Reads a number of bytes such as "4096", "512K" or "1G" (binary units);
 * ERR_SYNTAX, ERR_LIMIT. */
int str_to_bytes(const char *s, uint64_t *bytes) must_check;

/* Copies text for the screen: control characters and bytes that are no valid
 * UTF-8 become \ooo (octal). out always ends with a NUL. */
void str_escape(char *out, size_t size, const char *text);
/* Escapes all of text in the same way, to memory that the caller frees; ends
 * the process if there is none. */
char *xstr_escape(const char *text);
/* A path for messages: only beginning and end of one that would fill a screen.
 * The caller frees it. NULL: out of memory; the function with an x ends the
 * process then. */
char *str_shorten_path(const char *path);
char *xstr_shorten_path(const char *path);
/* Bytes of the UTF-8 character (RFC 3629, strict) at p, which is *code; 0:
 * there is none. */
size_t str_utf8_len(const char *p, uint32_t *code);
/* How many columns of a terminal a character takes that str_escape() leaves as
 * it is. In a locale without such characters (LANG=C), all that may be wide
 * count as wide: a line that is too short does no harm. */
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
/* Compares strings by their bytes, for qsort(3) and bsearch(3). */
int str_order(const void *a, const void *b);
/* Counts the ends of lines in p. */
size_t str_count_lines(const void *p, size_t len);

/* Lower-case hexadecimal, caller frees; NULL when out of memory. */
char *str_hex(const void *p, size_t len);

/* "dir/name", with one slash between them; caller frees. NULL: no memory. */
char *str_join_path(const char *dir, const char *name);

#endif
