/* SPDX-License-Identifier: ISC */
/* The options of hpnsync, one row each. */
#ifndef HPN_CLIENT_SYNCOPTS_SYNC_OPTIONS_H
#define HPN_CLIENT_SYNCOPTS_SYNC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct sync_args;

enum sync_option_kind {
	SYNC_OPT_FLAG,	/* sets the bool at `at`; with --no- clears it */
	SYNC_OPT_NOT,	/* clears it; with --no- sets it */
	SYNC_OPT_COUNT, /* adds 1 to the unsigned at `at`; --no- sets it to 0 */
	SYNC_OPT_TEXT,	/* its value is the const char * at `at` */
	SYNC_OPT_CALL,	/* take() does it; value NULL: it has none */
	SYNC_OPT_TRUE,	/* asks for what is always so here */
	SYNC_OPT_REFUSED, /* text says what to write instead */
};

struct sync_option {
	const char *name; /* without dashes; NULL: a letter only */
	char letter;	  /* 0: none */
	bool has_value;
	enum sync_option_kind kind;
	size_t at; /* offset in struct sync_args */
	/* NULL, or what is wrong with the value. */
	const char *(*take)(struct sync_args *a, const char *value);
	const char *text;
};

extern const struct sync_option sync_options[];
extern const size_t sync_option_count;

#endif
