/* SPDX-License-Identifier: ISC */
/* Lists of filter rules, and how rules are read into them. */
#ifndef HPN_XFER_SYNC_SYNC_RULES_INTERNAL_H
#define HPN_XFER_SYNC_SYNC_RULES_INTERNAL_H

#include <stdint.h>

#include "base/buf.h"
#include "xfer/filter.h"
#include "xfer/rules/sync-rules.h"

/* What a rule says besides its pattern; of a file of rules, what its rules say
 * that do not say it themselves. */
enum rule_flag {
	RULE_SENDER = 1,
	RULE_RECEIVER = 2,
	RULE_NOT = 4,	     /* holds for what does not match */
	RULE_PERISHABLE = 8,
	/* Of files of rules: */
	RULE_EXCLUDES = 16,  /* only patterns of what is excluded */
	RULE_INCLUDES = 32,  /* or included */
	RULE_NOT_BELOW = 64, /* not for directories in the directory */
	RULE_WORDS = 128,    /* words, not lines */
	RULE_HIDES_FILE = 256, /* the file itself is excluded */
	RULE_CLEARS = 512,   /* "!" is no pattern, among patterns */
};
enum { RULE_SIDES = RULE_SENDER | RULE_RECEIVER };

struct rule_list {
	struct rule *v; /* owned */
	size_t count;
	bool cleared; /* what was there before does not hold any more */
};

/* One of the files that a dir-merge rule has found. */
struct rule_frame {
	char *dir; /* owned */
	unsigned source;
	struct rule_list rules;
};

/* A dir-merge rule, with its files in the directories that were entered, the
 * innermost last. */
struct rule_slot {
	char *name; /* owned */
	unsigned flags;
	struct rule_frame *frames; /* owned */
	size_t count;
};

struct rule {
	bool exclude, anchored;
	unsigned flags;
	char *pattern;	       /* owned */
	struct filter *filter; /* owned; the pattern alone */
	struct rule_slot *slot; /* owned; dir-merge: in place of all that */
};

struct sync_rules {
	struct rule_list list;
	size_t count, bytes; /* of all lists */
	bool zero_ends, sender_only;
	struct buf wire;
	/* Where the rule is that is being read, for messages; NULL: in the
	 * command line. */
	const char *file;
	unsigned line, depth;
	char why[512];
};

/* Sets what is wrong, and returns err. */
int rules_error(struct sync_rules *r, int err, const char *what);
int rules_add_pattern(struct sync_rules *r, struct rule_list *to, bool exclude,
    unsigned flags, const char *p, size_t len) must_check;
/* Adds a slot for a name. If the name has a slot already, that one stays where
 * it is, unchanged. */
int rules_add_slot(struct sync_rules *r, struct rule_list *to,
    const char *name, size_t len, unsigned flags) must_check;
void rules_clear(struct sync_rules *r, struct rule_list *list);
/* Moves all of from behind what is in to. */
int rules_move(struct rule_list *to, struct rule_list *from) must_check;

/* sync-rules-parse.c */
/* Reads the text of a file of rules. in_dir: it is that of a directory. */
int rules_read_text(struct sync_rules *r, struct rule_list *to,
    const char *text, size_t len, unsigned flags, bool in_dir) must_check;
/* sync-rules-cvs.c */
/* The patterns of names that CVS ignores. */
int rules_add_cvs(struct sync_rules *r, struct rule_list *to,
    unsigned flags) must_check;

#endif
