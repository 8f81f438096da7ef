/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. There is one list of rules, in the order in which they count. In
 * place of a dir-merge rule stand the rules of its files: those of the
 * innermost directory first. Each pattern is a filter of its own, since rules
 * say more than whether they exclude.
 */
#include "xfer/rules/sync-rules-internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "compat/bsd-mem.h"

struct sync_rules *
sync_rules_new(void)
{
	return calloc(1, sizeof(struct sync_rules));
}

static void
slot_free(struct sync_rules *r, struct rule_slot *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++) {
		rules_clear(r, &s->frames[i].rules);
		free(s->frames[i].dir);
	}
	free(s->frames);
	free(s->name);
	free(s);
}

void
rules_clear(struct sync_rules *r, struct rule_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct rule *rule = &list->v[i];

		r->count--;
		if (rule->pattern != NULL)
			r->bytes -= strlen(rule->pattern);
		slot_free(r, rule->slot);
		filter_free(rule->filter);
		free(rule->pattern);
	}
	free(list->v);
	*list = (struct rule_list){ .cleared = true };
}

void
sync_rules_free(struct sync_rules *r)
{
	if (r == NULL)
		return;
	rules_clear(r, &r->list);
	buf_clear(&r->wire);
	free(r);
}

void
sync_rules_zero_ends(struct sync_rules *r)
{
	r->zero_ends = true;
}

void
sync_rules_sender_only(struct sync_rules *r)
{
	r->sender_only = true;
}

/* ---- lists -------------------------------------------------------------- */

int
rules_error(struct sync_rules *r, int err, const char *what)
{
	if (r->file == NULL)
		snprintf(r->why, sizeof r->why, "%s", what);
	else
		snprintf(r->why, sizeof r->why, "%s, line %u: %s", r->file,
		    r->line, what);
	return err;
}

static int
add(struct sync_rules *r, struct rule_list *to, const struct rule *rule)
{
	struct rule *grown;

	if (r->count == SYNC_RULES_MAX)
		return rules_error(r, ERR_LIMIT, "too many rules");
	grown = recallocarray(to->v, to->count, to->count + 1, sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	to->v = grown;
	to->v[to->count++] = *rule;
	r->count++;
	return 0;
}

int
rules_move(struct rule_list *to, struct rule_list *from)
{
	struct rule *grown = reallocarray(to->v, to->count + from->count,
	    sizeof *grown);

	if (grown == NULL)
		return from->count > 0 ? ERR_NOMEM : 0;
	to->v = grown;
	memcpy(to->v + to->count, from->v, from->count * sizeof *from->v);
	to->count += from->count;
	free(from->v);
	*from = (struct rule_list){ 0 };
	return 0;
}

static int
compile(struct sync_rules *r, struct rule *rule)
{
	int err;

	if ((rule->filter = filter_new()) == NULL)
		return ERR_NOMEM;
	err = filter_add(rule->filter, true, rule->pattern);
	if (err == ERR_FORMAT)
		return rules_error(r, ERR_SYNTAX, "the pattern is invalid");
	if (err == ERR_LIMIT)
		return rules_error(r, ERR_LIMIT, "the pattern is too long");
	return err;
}

int
rules_add_pattern(struct sync_rules *r, struct rule_list *to, bool exclude,
    unsigned flags, const char *p, size_t len)
{
	struct rule rule = { .exclude = exclude, .flags = flags };
	int err = 0;

	if (len > SYNC_RULES_BYTES_MAX - r->bytes)
		return rules_error(r, ERR_LIMIT, "the patterns are too long");
	if ((rule.pattern = strndup(p, len)) == NULL)
		return ERR_NOMEM;
	rule.anchored = rule.pattern[0] == '/';
	if (strlen(rule.pattern) != len)
		err = rules_error(r, ERR_SYNTAX, "a zero byte in a pattern");
	if (err == 0)
		err = compile(r, &rule);
	if (err == 0)
		err = add(r, to, &rule);
	if (err == 0) {
		r->bytes += len;
		return 0;
	}
	filter_free(rule.filter);
	free(rule.pattern);
	return err;
}

int
rules_add_slot(struct sync_rules *r, struct rule_list *to, const char *name,
    size_t len, unsigned flags)
{
	struct rule rule = { .flags = flags };
	int err = ERR_NOMEM;

	for (size_t i = 0; i < to->count; i++)
		if (to->v[i].slot != NULL &&
		    strncmp(to->v[i].slot->name, name, len) == 0 &&
		    to->v[i].slot->name[len] == '\0')
			return 0;
	if ((rule.slot = calloc(1, sizeof *rule.slot)) == NULL)
		return ERR_NOMEM;
	rule.slot->flags = flags;
	rule.slot->name = strndup(name, len);
	if (rule.slot->name != NULL)
		err = add(r, to, &rule);
	if (err < 0)
		slot_free(r, rule.slot);
	return err;
}

/* ---- directories -------------------------------------------------------- */

static struct rule_slot *
slot_at(const struct sync_rules *r, size_t i)
{
	for (size_t k = 0; k < r->list.count; k++)
		if (r->list.v[k].slot != NULL && i-- == 0)
			return r->list.v[k].slot;
	return NULL;
}

const char *
sync_rules_dir_file(const struct sync_rules *r, size_t i)
{
	const struct rule_slot *s = slot_at(r, i);

	return s != NULL ? s->name : NULL;
}

/* Is path below the directory? */
static bool
is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return len == 0 ? *path != '\0' :
			  strncmp(path, dir, len) == 0 && path[len] == '/';
}

static void
leave(struct sync_rules *r, struct rule_slot *s, const char *path)
{
	while (s->count > 0 && !is_below(path, s->frames[s->count - 1].dir)) {
		struct rule_frame *f = &s->frames[--s->count];

		rules_clear(r, &f->rules);
		free(f->dir);
	}
}

static int
read_frame(struct sync_rules *r, struct rule_slot *s, unsigned source,
    const char *path, const char *text, size_t len)
{
	struct rule_frame *grown, *f;
	char shown[256];
	int err;

	grown = reallocarray(s->frames, s->count + 1, sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	s->frames = grown;
	f = &s->frames[s->count];
	*f = (struct rule_frame){ .dir = strdup(path),
		.source = source };
	if (f->dir == NULL)
		return ERR_NOMEM;
	s->count++;
	snprintf(shown, sizeof shown, "%s%s%s", path,
	    *path != '\0' ? "/" : "", s->name);
	r->file = shown;
	err = rules_read_text(r, &f->rules, text, len, s->flags, true);
	r->file = NULL;
	return err;
}

int
sync_rules_enter_too(struct sync_rules *r, unsigned source, const char *path,
    const char *const *texts, const size_t *lens, const char **why)
{
	struct rule_slot *s;
	int err;

	*why = r->why;
	for (size_t i = 0; (s = slot_at(r, i)) != NULL; i++) {
		if (texts == NULL || texts[i] == NULL)
			continue;
		if ((err = read_frame(r, s, source, path, texts[i],
			 lens[i])) < 0)
			return err;
	}
	return 0;
}

int
sync_rules_enter(struct sync_rules *r, const char *path,
    const char *const *texts, const size_t *lens, const char **why)
{
	struct rule_slot *s;

	for (size_t i = 0; (s = slot_at(r, i)) != NULL; i++)
		leave(r, s, path);
	return sync_rules_enter_too(r, 0, path, texts, lens, why);
}

/* ---- matching ----------------------------------------------------------- */

struct asked {
	const struct sync_rules *r;
	enum sync_side side;
	unsigned source; /* of the sender's */
	const char *path; /* from the top of the transfer */
	bool is_dir;
};

static bool
is_for_side(const struct asked *a, unsigned flags)
{
	unsigned sides = flags & RULE_SIDES;

	if (sides == 0)
		sides = a->r->sender_only ? RULE_SENDER : RULE_SIDES;
	if (a->side == SYNC_SENDER)
		return (sides & RULE_SENDER) != 0;
	return (sides & RULE_RECEIVER) != 0 &&
	    !(a->side == SYNC_RECEIVER_GONE && (flags & RULE_PERISHABLE) != 0);
}

/* local: the path from the directory that has the rule. */
static bool
holds(const struct asked *a, const struct rule *rule, const char *local)
{
	bool matches;

	if (rule->slot != NULL || !is_for_side(a, rule->flags))
		return false;
	matches = filter_excludes(rule->filter,
	    rule->anchored ? local : a->path, a->is_dir);
	return matches != ((rule->flags & RULE_NOT) != 0);
}

static const struct rule *
first_of(const struct asked *a, const struct rule_list *list,
    const char *local)
{
	for (size_t i = 0; i < list->count; i++)
		if (holds(a, &list->v[i], local))
			return &list->v[i];
	return NULL;
}

/* True if the file of rules i counts: for a sender, if it is of the source that
 * is asked about; at the target, if no earlier source has one in that
 * directory. */
static bool
is_of_source(const struct asked *a, const struct rule_slot *s, size_t i)
{
	const struct rule_frame *f = &s->frames[i];

	if (a->side == SYNC_SENDER)
		return f->source == a->source;
	return i == 0 || strcmp(s->frames[i - 1].dir, f->dir) != 0;
}

/* The first rule that holds of a dir-merge's files. */
static const struct rule *
first_of_slot(const struct asked *a, const struct rule_slot *s)
{
	for (size_t i = s->count; i-- > 0;) {
		const struct rule_frame *f = &s->frames[i];
		const char *local;
		const struct rule *rule;

		if (!is_below(a->path, f->dir) || !is_of_source(a, s, i))
			continue;
		local = a->path + strlen(f->dir) + (f->dir[0] != '\0');
		if ((s->flags & RULE_NOT_BELOW) != 0 &&
		    strchr(local, '/') != NULL)
			continue;
		if ((rule = first_of(a, &f->rules, local)) != NULL)
			return rule;
		if (f->rules.cleared)
			return NULL;
	}
	return NULL;
}

static bool
excludes(const struct asked *a)
{
	for (size_t i = 0; i < a->r->list.count; i++) {
		const struct rule *rule = &a->r->list.v[i], *first;

		first = rule->slot != NULL ? first_of_slot(a, rule->slot) :
		    holds(a, rule, a->path) ? rule : NULL;
		if (first != NULL)
			return first->exclude;
	}
	return false;
}

bool
sync_rules_excludes(const struct sync_rules *r, enum sync_side side,
    const char *path, bool is_dir)
{
	const struct asked a = { .r = r, .side = side, .path = path,
		.is_dir = is_dir };

	return excludes(&a);
}

bool
sync_rules_hides(const struct sync_rules *r, unsigned source,
    const char *path, bool is_dir)
{
	const struct asked a = { .r = r, .side = SYNC_SENDER,
		.source = source, .path = path, .is_dir = is_dir };

	return excludes(&a);
}

/* ---- for a server ------------------------------------------------------- */

/* Puts a name as a pattern that matches only that name. */
static void
put_literally(struct buf *b, const char *name)
{
	bool is_pattern = name[strcspn(name, "*?[")] != '\0';

	for (; *name != '\0'; name++) {
		if (is_pattern && strchr("*?[\\", *name) != NULL)
			buf_put_u8(b, '\\');
		buf_put_u8(b, (uint8_t)*name);
	}
	buf_put_u8(b, '\0');
}

/* Rules behind one that a walk does not have are not told: which of them count
 * is not known. */
const void *
sync_rules_wire(struct sync_rules *r, size_t *len)
{
	const struct asked a = { .r = r, .side = SYNC_SENDER };
	const struct rule_slot *s;

	buf_reset(&r->wire);
	/* The other end needs files of rules even if they are not copied
	 * themselves. */
	for (size_t i = 0; (s = slot_at(r, i)) != NULL; i++) {
		buf_put_u8(&r->wire, '+');
		put_literally(&r->wire, s->name);
	}
	for (size_t i = 0; i < r->list.count; i++) {
		const struct rule *rule = &r->list.v[i];

		if (rule->slot != NULL)
			break;
		if (!is_for_side(&a, rule->flags))
			continue;
		if ((rule->flags & RULE_NOT) != 0)
			break;
		buf_put_u8(&r->wire, rule->exclude ? '-' : '+');
		buf_put(&r->wire, rule->pattern, strlen(rule->pattern) + 1);
	}
	*len = buf_err(&r->wire) == 0 ? buf_len(&r->wire) : 0;
	return *len > 0 ? buf_data(&r->wire) : NULL;
}
