/* SPDX-License-Identifier: ISC */
/*
 * The configuration engine. Keywords are rows of a const table, one table for
 * the client and one for the server. Parsing, defaults, dumps, transfer to
 * another process and the check of the man pages all use the rows.
 *
 * A struct that is filled through a table begins with struct conf_marks. Errors
 * are logged with file and line where they are found; error codes tell only the
 * kind.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONF_CONF_H
#define HPN_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"

enum {
	CONF_ROWS_MAX = 192,
	CONF_LINE_MAX = 65536,	   /* bytes of a line */
	CONF_FILE_MAX = 0x1000000, /* bytes of a file: 16 MiB */
	CONF_DEPTH_MAX = 16,	   /* Include in Include */
	CONF_WORDS_MAX = 4096,	   /* words of a line, items of a list */
	CONF_FIELD_MAX = 128,	   /* bytes of a field */
};

/* Which rows were given a value, by their index. First member of every
 * struct that a table describes. */
struct conf_marks {
	bool set[CONF_ROWS_MAX];
};

/* RekeyLimit; 0: only the built-in limit */
struct conf_rekey {
	uint64_t bytes;
	int seconds;
};

/* IPQoS: values of the TOS byte; -1: leave it unchanged. */
struct conf_qos {
	int interactive;
	int bulk;
};

struct conf_enum {
	const char *name; /* the first name of a value is used in dumps */
	int value;	  /* name NULL ends the table */
};

/* FingerprintHash: values are of enum digest_alg. */
extern const struct conf_enum conf_fingerprint_hashes[];

/* Where a line is, for messages about it. */
struct conf_location {
	const char *file; /* NULL: the command line */
	unsigned line;
	bool quiet; /* log no messages about unsupported keywords */
	bool again; /* the keyword was given before: log its notice only once */
};

/* The message for a keyword that is accepted but has no field: BEFORE, the
 * keyword, AFTER. */
struct conf_notice {
	int level; /* enum log_level */
	const char *before, *after;
	bool lower; /* the keyword in lower case */
};

struct conf_row;

/* How a kind of value is read, written as words, and freed. Reading the
 * words that format gave yields an equal value. */
struct conf_type {
	/* Parses words (at least one; exactly one if `one` is set) into the
	 * field. Appends if the row has CONF_APPEND; sets only parts without a
	 * value if it has CONF_PARTS. On error it logs with conf_error() and
	 * leaves the field unchanged. */
	int (*parse)(const struct conf_row *row, void *field,
	    const struct strlist *words, const struct conf_location *at);
	/* Appends the words of the value; it appends none if the value is
	 * unset, or "none". */
	int (*format)(const struct conf_row *row, const void *field,
	    struct strlist *words);
	void (*clear)(void *field);
	/* Sets the default value in place of row->def; NULL for most. */
	int (*set_default)(const struct conf_row *row, void *field);
	bool one; /* takes exactly one word */
};

enum conf_row_flag {
	CONF_APPEND = 1,    /* each line adds to the list; implies CONF_LINES */
	CONF_RAW = 2,	    /* rest of the line is one word, quotes kept */
	CONF_NONE = 4,	    /* "none" means no value */
	CONF_GLOBAL = 8,    /* server: not allowed inside Match */
	CONF_ONE = 16,	    /* one word a line, though the field is a list */
	CONF_IN_BLOCK = 32, /* client: in files only inside Host or Match */
	CONF_LINES = 64,    /* dumped as one line for each item */
	CONF_ALONE = 128,   /* "none" stands alone or not at all */
	CONF_PARTS = 256,   /* each line may add parts; dumped as one line */
	CONF_HIDDEN = 512,  /* left out of dumps while it is empty */
};

struct conf_row {
	const char *name;    /* as documented, CamelCase */
	const char *aliases; /* comma list or NULL */
	const struct conf_type *type;
	size_t offset; /* of the field */
	unsigned flags;
	const char *def; /* default, as in a file; NULL: a zeroed field */
	int64_t min, max; /* limits of a number; of a list: max is the number of
			   * items; 0: no limit */
	const struct conf_enum *values;
	int param; /* parameter for the type */
	/* Checks a word of a parsed value. Returns NULL, or a text that says
	 * what is wrong with it. */
	const char *(*check)(const char *word);
	/* For conf_unbuilt: the words must be a value of this type; NULL:
	 * anything. */
	const struct conf_type *as;
	/* For rows without a field: logged when the keyword is given; may be
	 * NULL. For conf_fixed: logged instead of the usual line when a value
	 * is refused. */
	const struct conf_notice *notice;
};

struct conf_table {
	const struct conf_row *rows;
	size_t count;
	bool omit_none; /* dumps leave out texts that are unset */
	bool lower; /* messages name unknown keywords in lower case */
};

/* Types that client and server use, with the C type of their fields. */
extern const struct conf_type conf_flag;   /* int: 0 or 1 */
extern const struct conf_type conf_int;	   /* int in [min, max] */
extern const struct conf_type conf_port;   /* int: number or service */
extern const struct conf_type conf_octal;  /* int: bits of a mode */
extern const struct conf_type conf_time;   /* int: seconds */
extern const struct conf_type conf_choice; /* int: row->values */
/* char *: NULL is no, "yes", or a text that has a meaning of its own. */
extern const struct conf_type conf_flag_text;
extern const struct conf_type conf_string; /* char *, NULL = unset */
extern const struct conf_type conf_list;   /* struct strlist */
extern const struct conf_type conf_env;	   /* struct strlist NAME=value */
extern const struct conf_type conf_algs;   /* char *; param: enum algs_kind */
extern const struct conf_type conf_bytes_time; /* struct conf_rekey */
extern const struct conf_type conf_dscp;       /* struct conf_qos */
extern const struct conf_type conf_log_level;  /* int: enum log_level */
extern const struct conf_type conf_facility;   /* int: LOG_* of syslog */
/* No field. Only the values in row->def (comma list, first = shown) are
 * accepted, because these say what happens anyway. */
extern const struct conf_type conf_fixed;
/* No field: other implementations know the keyword; it is refused here. */
extern const struct conf_type conf_refused;
/* No field: the keyword belongs to a function that is not built, and has no
 * effect. The words are checked by row->as. Values in row->def (comma list, the
 * first is shown, may be NULL) are accepted without a notice. */
extern const struct conf_type conf_unbuilt;
extern const struct conf_type conf_unbuilt_kept; /* int, as conf_flag */
/* No field: no implementation has the keyword any more. Any words are
 * accepted. */
extern const struct conf_type conf_deprecated;
/* No field: Host, Match, Include: handled by the reader. */
extern const struct conf_type conf_structure;

/* The port that the word names, 1 to 65535; -1: it is neither a number nor a
 * TCP service. */
int conf_port_number(const char *word);

/* Checks for rows: a pattern for names of environment variables; the name of
 * a congestion control. */
const char *conf_check_env_pattern(const char *word);
const char *conf_check_congestion(const char *word);

/* Log "FILE line N: text"; return ERR_SYNTAX and ERR_UNSUPPORTED. */
int conf_error(const struct conf_location *at, const char *fmt, ...)
    printf_like(2, 3);
int conf_unsupported(const struct conf_location *at, const char *fmt, ...)
    printf_like(2, 3);
/* Logs such a line at any level. */
void conf_tell(int level, const struct conf_location *at, const char *fmt, ...)
    printf_like(3, 4);

/* Creation and end of a struct of fields; init zeroes size bytes. */
void conf_init(void *fields, size_t size);
void conf_clear(const struct conf_table *t, void *fields);
/* Gives the rows without a value their default. */
int conf_set_defaults(const struct conf_table *t, void *fields) must_check;
/* Rows that have no value in `to` get that of `from`: all values, or
 * (marked_only) only those that were given. With marked_only a list of a
 * CONF_APPEND row gets the items of `from` appended. */
int conf_merge(const struct conf_table *t, void *to, const void *from,
    bool marked_only) must_check;

/* The row with this name or alias, ignoring case; NULL if there is none. */
const struct conf_row *conf_find(const struct conf_table *t,
    const char *keyword);
/* Like conf_find(), and logs an error if there is none. */
const struct conf_row *conf_find_or_log(const struct conf_table *t,
    const char *keyword, const struct conf_location *at);
size_t conf_index(const struct conf_table *t, const struct conf_row *row);
/* Has the row a field, and so a value of its own? */
bool conf_row_has_field(const struct conf_row *row);

/* A line as its parts. Blank lines and comments give keyword NULL. */
struct conf_line {
	char *keyword;
	char *rest; /* all behind keyword and separator, trimmed */
};
int conf_line_split(struct conf_line *line, const char *text,
    const struct conf_location *at) must_check;
void conf_line_clear(struct conf_line *line);
/* Splits the rest of a line into words, without quotes and comments. */
int conf_words(const char *rest, struct strlist *words,
    const struct conf_location *at) must_check;

/* Parses into the field unless it has a value already (then the line is
 * only checked). ERR_UNSUPPORTED: refused keyword or value. */
int conf_apply(const struct conf_table *t, void *fields,
    const struct conf_row *row, const char *rest,
    const struct conf_location *at) must_check;
/* Like conf_apply(), with one word that is used as it is, without unquoting. */
int conf_apply_word(const struct conf_table *t, void *fields,
    const struct conf_row *row, const char *word,
    const struct conf_location *at) must_check;
/* Checks the line as conf_apply() does, and sets no field. */
int conf_try(const struct conf_row *row, const char *rest,
    const struct conf_location *at) must_check;

/* Calls fn for each line of a file that has a keyword. ERR_NOT_FOUND: there is
 * no such file, which is not logged; other errors are. The file is refused if
 * other users than `writers` could have written it. */
enum conf_writers { CONF_BY_ANYONE, CONF_BY_USER_OR_ROOT, CONF_BY_ROOT };
typedef int (*conf_line_fn)(void *arg, const struct conf_line *line,
    const struct conf_location *at);
int conf_read(const char *path, enum conf_writers writers, conf_line_fn fn,
    void *arg) must_check;
/* Logs that Include is nested too deeply: a file includes itself, perhaps. fn
 * returns the result, which ends the reading of all files. */
int conf_too_deep(const struct conf_location *at) must_check;
/* Files that Include's words name: globs, relative to dir (or ~). Sorted. */
int conf_include_paths(const struct strlist *words, const char *dir,
    struct strlist *paths, const struct conf_location *at) must_check;

/* Appends "name value" lines in lower case. */
int conf_dump(const struct conf_table *t, const void *fields,
    struct buf *out) must_check;
/* Pass values to and from another process of ours: all rows, or (marked_only)
 * those that were given a value. conf_import() needs an initialised struct. */
int conf_export(const struct conf_table *t, const void *fields,
    bool marked_only, struct buf *out) must_check;
/* conf_export() of one row. ERR_NOT_FOUND: no row has that name. */
int conf_export_one(const struct conf_table *t, const void *fields,
    const char *keyword, struct buf *out) must_check;
int conf_import(const struct conf_table *t, void *fields,
    struct rd *in) must_check;
/* Reads a number, and as many words. */
int conf_import_words(struct rd *in, struct strlist *words) must_check;

#endif
