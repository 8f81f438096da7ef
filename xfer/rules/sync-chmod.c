/* SPDX-License-Identifier: ISC */
#include "xfer/rules/sync-chmod.h"

#include <stdlib.h>
#include <string.h>

#include "compat/bsd-mem.h"

enum {
	/* Shifted by 9 they are set-user-ID, set-group-ID and sticky. */
	WHO_USER = 4,
	WHO_GROUP = 2,
	WHO_OTHERS = 1,
	ALL_BITS = 07777,
};

struct item {
	bool no_dirs, no_files;
	bool absolute; /* `set` is all there is */
	char op;       /* '+', '-' or '=' */
	uint32_t clear; /* bits that go first */
	uint32_t set;	/* bits that come, or go with '-' */
	uint32_t if_executable; /* the same, by "X" */
	/* Whose permissions are copied, as their shift; -1: nobody's. */
	int from;
	uint32_t to; /* to these bits */
};

struct sync_chmod {
	struct item *items; /* owned */
	size_t count;
	uint32_t mask;
};

struct sync_chmod *
sync_chmod_new(uint32_t mask)
{
	struct sync_chmod *rules = calloc(1, sizeof *rules);

	if (rules != NULL)
		rules->mask = mask;
	return rules;
}

void
sync_chmod_free(struct sync_chmod *rules)
{
	if (rules == NULL)
		return;
	free(rules->items);
	free(rules);
}

/* The bits of one permission (4, 2, 1) for all whom `who` names. */
static uint32_t
spread(unsigned who, uint32_t bits)
{
	return ((who & WHO_USER) != 0 ? bits << 6 : 0) |
	    ((who & WHO_GROUP) != 0 ? bits << 3 : 0) |
	    ((who & WHO_OTHERS) != 0 ? bits : 0);
}

static unsigned
read_who(const char **p)
{
	unsigned who = 0;

	for (;; (*p)++)
		switch (**p) {
		case 'u': who |= WHO_USER; break;
		case 'g': who |= WHO_GROUP; break;
		case 'o': who |= WHO_OTHERS; break;
		case 'a': who |= WHO_USER | WHO_GROUP | WHO_OTHERS; break;
		default: return who;
		}
}

/* The bits that the letter s stands for: that of the user, unless the group is
 * named. */
static uint32_t
set_id_bits(unsigned who)
{
	uint32_t bits = ((who & WHO_USER) != 0 ? 04000 : 0) |
	    ((who & WHO_GROUP) != 0 ? 02000 : 0);

	return bits != 0 ? bits : 04000;
}

/* Reads what is behind the operator: letters of permissions. may: the bits that
 * the item is about. */
static int
read_letters(struct item *it, const char *p, const char *end, unsigned who,
    uint32_t may)
{
	for (; p < end; p++)
		switch (*p) {
		case 'r': it->set |= 0444 & may; break;
		case 'w': it->set |= 0222 & may; break;
		case 'x': it->set |= 0111 & may; break;
		case 'X': it->if_executable |= 0111 & may; break;
		case 's': it->set |= set_id_bits(who); break;
		case 't': it->set |= 01000; break;
		default: return ERR_SYNTAX;
		}
	return 0;
}

/* Permissions as another one has them ("g=u"). A copy with "=" also takes away
 * the special bit of each who gets it. */
static void
copy_from(struct item *it, char from, unsigned whose, uint32_t may)
{
	it->from = from == 'u' ? 6 : from == 'g' ? 3 : 0;
	it->to = may;
	if (it->op == '=')
		it->clear |= (uint32_t)whose << 9;
}

static int
read_symbols(struct item *it, const char *p, const char *end, uint32_t mask)
{
	unsigned who = read_who(&p), whose = who != 0 ? who : 7;
	uint32_t may = spread(whose, 7) & ~(who == 0 ? mask : 0);

	if (p >= end || strchr("+-=", *p) == NULL)
		return ERR_SYNTAX;
	it->op = *p++;
	if (it->op == '=')
		it->clear = spread(whose, 7);
	if (end - p != 1 || strchr("ugo", *p) == NULL)
		return read_letters(it, p, end, who, may);
	copy_from(it, *p, whose, may);
	return 0;
}

static int
read_octal(struct item *it, const char *p, const char *end)
{
	it->absolute = true;
	for (; p < end; p++) {
		if (*p < '0' || *p > '7')
			return ERR_SYNTAX;
		it->set = it->set << 3 | (uint32_t)(*p - '0');
		if (it->set > ALL_BITS)
			return ERR_SYNTAX;
	}
	return 0;
}

static int
read_item(struct item *it, const char *p, const char *end, uint32_t mask)
{
	*it = (struct item){ .from = -1 };
	if (p < end && (*p == 'D' || *p == 'F')) {
		it->no_files = *p == 'D';
		it->no_dirs = *p == 'F';
		p++;
	}
	if (p == end)
		return ERR_SYNTAX;
	return *p >= '0' && *p <= '9' ? read_octal(it, p, end) :
	    read_symbols(it, p, end, mask);
}

static int
add_items(struct sync_chmod *c, const char *text)
{
	const char *end;
	struct item *grown;
	int err;

	for (;; text = end + 1) {
		end = text + strcspn(text, ",");
		if (c->count == SYNC_CHMOD_ITEMS_MAX)
			return ERR_LIMIT;
		grown = recallocarray(c->items, c->count, c->count + 1,
		    sizeof *grown);
		if (grown == NULL)
			return ERR_NOMEM;
		c->items = grown;
		err = read_item(&c->items[c->count], text, end, c->mask);
		if (err < 0)
			return err;
		c->count++;
		if (*end == '\0')
			return 0;
	}
}

int
sync_chmod_add(struct sync_chmod *rules, const char *text, const char **why)
{
	size_t before = rules->count;
	int err = add_items(rules, text);

	if (err == 0)
		return 0;
	rules->count = before;
	*why = err == ERR_LIMIT ? "too many items" :
	    err == ERR_NOMEM ? "out of memory" :
	    "is no octal number, and not of chmod's form";
	return err;
}

static uint32_t
apply_item(const struct item *it, uint32_t mode, bool executable)
{
	uint32_t bits = it->set | (executable ? it->if_executable : 0);

	if (it->absolute)
		return it->set;
	if (it->from >= 0)
		bits |= spread(7, mode >> it->from & 7) & it->to;
	if (it->op == '-')
		return mode & ~bits;
	return (mode & ~it->clear) | bits;
}

uint32_t
sync_chmod_apply(const struct sync_chmod *rules, uint32_t mode, bool is_dir)
{
	bool executable = is_dir || (mode & 0111) != 0;

	for (size_t i = 0; rules != NULL && i < rules->count; i++) {
		const struct item *it = &rules->items[i];

		if (is_dir ? !it->no_dirs : !it->no_files)
			mode = apply_item(it, mode, executable);
	}
	return mode & ALL_BITS;
}
