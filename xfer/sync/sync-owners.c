/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "compat/queue.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-accounts.h"

enum {
	ROWS_FIRST = 64,
	BATCH = 256, /* ids of one request: the limit of ids-by-name@ */
};

struct row {
	uint32_t id, to;
	enum { ROW_FREE, ROW_ASKED, ROW_KNOWN } state;
};

struct table {
	struct row *rows; /* owned; size is a power of two */
	size_t used, size;
};

/* The ids of one request. Once the source has told their names, ids without a
 * name are removed. */
struct ids {
	uint32_t v[BATCH];
	char *names[BATCH]; /* owned */
	bool same[BATCH];   /* the target's name for the same number is the
			     * same */
	size_t n;
};

struct batch {
	struct sync_owners *o;
	struct ids ids[OWNERS_GROUP + 1]; /* by their kind */
	unsigned waits; /* number of the target's answers that are under way */
	bool settled;
	TAILQ_ENTRY(batch) entry;
};

struct sync_owners {
	struct sftp *source, *target;
	struct table tables[OWNERS_GROUP + 1]; /* by kind */
	struct batch *next; /* owned; the batch that is being filled; NULL:
			     * none */
	/* The files of a target that looks up no names, and the batches that
	 * wait for them. */
	struct sync_accounts *accounts;
	bool has_accounts;
	TAILQ_HEAD(batches, batch) waiting;
	unsigned under_way;
	int err;
	bool dead;
};

static const enum owners_kind kinds[] = { OWNERS_USER, OWNERS_GROUP };

/* ---- what is known ------------------------------------------------------ */

static struct row *
row_of(struct row *rows, size_t size, uint32_t id)
{
	size_t i = (id * UINT32_C(0x9e3779b1)) & (size - 1);

	while (rows[i].state != ROW_FREE && rows[i].id != id)
		i = (i + 1) & (size - 1);
	return &rows[i];
}

static int
grow(struct table *t)
{
	size_t size = t->size == 0 ? ROWS_FIRST : t->size * 2;
	struct row *rows;

	if (t->used < t->size / 4 * 3)
		return 0;
	if ((rows = calloc(size, sizeof *rows)) == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->rows[i].state != ROW_FREE)
			*row_of(rows, size, t->rows[i].id) = t->rows[i];
	free(t->rows);
	t->rows = rows;
	t->size = size;
	return 0;
}

static void
settle(struct sync_owners *o, enum owners_kind kind, uint32_t id, uint32_t to)
{
	struct table *t = &o->tables[kind];
	struct row *r = row_of(t->rows, t->size, id);

	r->to = to;
	r->state = ROW_KNOWN;
}

static void
stay_numbers(struct sync_owners *o, const struct batch *b)
{
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < b->ids[kinds[k]].n; i++)
			settle(o, kinds[k], b->ids[kinds[k]].v[i],
			    b->ids[kinds[k]].v[i]);
}

/* ---- life --------------------------------------------------------------- */

struct sync_owners *
sync_owners_new(struct sftp *source, struct sftp *target)
{
	struct sync_owners *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	o->source = source;
	o->target = target;
	TAILQ_INIT(&o->waiting);
	return o;
}

static void
free_if_over(struct sync_owners *o)
{
	if (!o->dead || o->under_way > 0)
		return;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		free(o->tables[kinds[k]].rows);
	free(o->next);
	sync_accounts_free(o->accounts);
	free(o);
}

void
sync_owners_free(struct sync_owners *o)
{
	if (o == NULL)
		return;
	o->dead = true;
	free_if_over(o);
}

static void
end_batch(struct batch *b)
{
	struct sync_owners *o = b->o;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < ARRAY_LEN(b->ids[kinds[k]].names); i++)
			free(b->ids[kinds[k]].names[i]);
	free(b);
	o->under_way--;
	free_if_over(o);
}

/* ---- a target that looks up no names ------------------------------------- */

static void
settle_by_files(struct batch *b)
{
	uint32_t to;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		const struct ids *ids = &b->ids[kinds[k]];

		for (size_t i = 0; i < ids->n; i++)
			settle(b->o, kinds[k], ids->v[i], !ids->same[i] &&
			    b->o->accounts != NULL && sync_accounts_find(
				b->o->accounts, kinds[k], ids->names[i],
				&to) ? to : ids->v[i]);
	}
	end_batch(b);
}

static void
on_accounts(void *arg)
{
	struct sync_owners *o = arg;
	struct batch *b;

	o->has_accounts = true;
	o->under_way++;
	while ((b = TAILQ_FIRST(&o->waiting)) != NULL) {
		TAILQ_REMOVE(&o->waiting, b, entry);
		settle_by_files(b);
	}
	o->under_way--;
	free_if_over(o);
}

static bool
all_same(const struct batch *b)
{
	bool all = true;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < b->ids[kinds[k]].n; i++)
			all &= b->ids[kinds[k]].same[i];
	return all;
}

/* Has the target's files of accounts read. A server that has confine@ is not
 * asked for them: once it is confined, the paths lead to other files. */
static void
ask_files(struct batch *b)
{
	struct sync_owners *o = b->o;

	if (all_same(b) || o->dead || o->err != 0 ||
	    sftp_has(o->target, SFTP_EXT_CONFINE) ||
	    sftp_has(o->target, SFTP_EXT_IDS_BY_NAME)) {
		stay_numbers(o, b);
		end_batch(b);
		return;
	}
	if (o->has_accounts) {
		settle_by_files(b);
		return;
	}
	TAILQ_INSERT_TAIL(&o->waiting, b, entry);
	if (o->accounts != NULL)
		return;
	o->under_way++;
	o->accounts = sync_accounts_read(o->target, on_accounts, o);
	if (o->accounts == NULL)
		o->err = ERR_NOMEM;
	o->under_way--;
	free_if_over(o);
}

/* ---- answers ------------------------------------------------------------ */

static void
take_error(struct sync_owners *o, const struct sftp_reply *reply)
{
	if (reply->err < 0)
		o->err = reply->err;
}

static bool
has_lists(const struct sftp_reply *reply)
{
	return reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY;
}

/* Counts an answer of the target down; the last one ends the batch, or has the
 * files of accounts read. */
static void
target_answered(struct batch *b)
{
	if (--b->waits > 0)
		return;
	if (b->settled)
		end_batch(b);
	else
		ask_files(b);
}

static void
on_ids(void *arg, const struct sftp_reply *reply)
{
	struct batch *b = arg;
	struct rd body = reply->body;

	take_error(b->o, reply);
	b->settled = has_lists(reply);
	for (size_t k = 0; b->settled && k < ARRAY_LEN(kinds); k++) {
		const struct ids *ids = &b->ids[kinds[k]];
		struct rd list = rd_sub(&body);

		for (size_t i = 0; i < ids->n; i++) {
			uint32_t to = rd_u32(&list);

			settle(b->o, kinds[k], ids->v[i], list.err != 0 ||
			    to == UINT32_MAX ? ids->v[i] : to);
		}
	}
	target_answered(b);
}

/* Takes the names that the target has for the source's numbers, and notes which
 * of them are the same names. */
static void
on_same(void *arg, const struct sftp_reply *reply)
{
	struct batch *b = arg;
	struct rd body = reply->body;

	take_error(b->o, reply);
	for (size_t k = 0; has_lists(reply) && k < ARRAY_LEN(kinds); k++) {
		struct ids *ids = &b->ids[kinds[k]];
		struct rd list = rd_sub(&body);

		for (size_t i = 0; i < ids->n; i++)
			ids->same[i] = span_equals(rd_string(&list),
			    ids->names[i]) && list.err == 0;
	}
	target_answered(b);
}

/* Takes the source's names for the ids of one kind, and removes ids that have
 * none. */
static void
take_names(struct batch *b, enum owners_kind kind, struct rd list)
{
	struct ids *ids = &b->ids[kind];
	size_t n = 0;

	for (size_t i = 0; i < ids->n; i++) {
		struct span name = rd_string(&list);

		if (list.err != 0 || !owners_may_name(name.p, name.len)) {
			settle(b->o, kind, ids->v[i], ids->v[i]);
			continue;
		}
		ids->names[n] = span_dup(name);
		if (ids->names[n] == NULL)
			b->o->err = ERR_NOMEM;
		ids->v[n++] = ids->v[i];
	}
	ids->n = n;
}

/* Asks the target for the ids of the names. A target that may not know this
 * request is also asked for its names of the same numbers: if these are the
 * same names, nothing else is needed. */
static void
ask_target(struct batch *b)
{
	struct sftp *s = b->o->target;
	const struct ids *users = &b->ids[OWNERS_USER];
	const struct ids *groups = &b->ids[OWNERS_GROUP];
	bool by_name = sftp_has(s, SFTP_EXT_IDS_BY_NAME);

	b->waits = by_name ? 1 : 2;
	/* The answer may come within the call, if the session is over, so b is
	 * ready by now. */
	if (!by_name)
		sftp_users_groups(s, users->v, users->n, groups->v, groups->n,
		    on_same, b);
	sftp_ids_by_name(s, (const char *const *)users->names, users->n,
	    (const char *const *)groups->names, groups->n, on_ids, b);
}

static void
on_names(void *arg, const struct sftp_reply *reply)
{
	struct batch *b = arg;
	struct rd body = reply->body;

	take_error(b->o, reply);
	if (reply->err == 0 && !has_lists(reply))
		stay_numbers(b->o, b);
	for (size_t k = 0; has_lists(reply) && k < ARRAY_LEN(kinds); k++)
		take_names(b, kinds[k], rd_sub(&body));
	if (!has_lists(reply) || b->o->dead || b->o->err != 0 ||
	    b->ids[OWNERS_USER].n + b->ids[OWNERS_GROUP].n == 0)
		end_batch(b);
	else
		ask_target(b);
}

/* ---- questions ---------------------------------------------------------- */

static void
send_batch(struct sync_owners *o)
{
	struct batch *b = o->next;

	o->next = NULL;
	o->under_way++;
	sftp_users_groups(o->source, b->ids[OWNERS_USER].v,
	    b->ids[OWNERS_USER].n, b->ids[OWNERS_GROUP].v,
	    b->ids[OWNERS_GROUP].n, on_names, b);
}

/* Notes an id for the next request. */
static int
want(struct sync_owners *o, enum owners_kind kind, uint32_t id)
{
	struct table *t = &o->tables[kind];
	struct ids *ids;

	if (t->used >= SYNC_OWNERS_MAX)
		return ERR_LIMIT;
	if (o->next == NULL) {
		if ((o->next = calloc(1, sizeof *o->next)) == NULL)
			return ERR_NOMEM;
		o->next->o = o;
	}
	t->used++;
	*row_of(t->rows, t->size, id) = (struct row){ .id = id,
		.state = ROW_ASKED };
	ids = &o->next->ids[kind];
	ids->v[ids->n++] = id;
	if (o->next->ids[OWNERS_USER].n + o->next->ids[OWNERS_GROUP].n ==
	    BATCH)
		send_batch(o);
	return 0;
}

bool
sync_owners_find(struct sync_owners *o, enum owners_kind kind, uint32_t id,
    uint32_t *to)
{
	struct table *t = &o->tables[kind];
	const struct row *r;

	*to = id;
	if (id == 0 || id == UINT32_MAX)
		return true;
	if (o->err == 0)
		o->err = grow(t);
	if (o->err != 0)
		return false;
	r = row_of(t->rows, t->size, id);
	if (r->state == ROW_FREE)
		o->err = want(o, kind, id);
	if (r->state == ROW_KNOWN)
		*to = r->to;
	return r->state == ROW_KNOWN;
}

int
sync_owners_ask(struct sync_owners *o)
{
	if (o->err == 0 && o->next != NULL)
		send_batch(o);
	return o->err;
}
