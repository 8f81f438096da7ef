/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "xfer/sftp/sftp-engine.h"

enum {
	ROWS_FIRST = 64,
	BATCH = 256, /* ids that are asked for together: ids-by-name@ takes no
		      * more names */
};

struct row {
	uint32_t id, to;
	enum { ROW_FREE, ROW_ASKED, ROW_KNOWN } state;
};

struct table {
	struct row *rows; /* owned; size: a power of two */
	size_t used, size;
};

/* Ids that are asked for in one request. */
struct ids {
	uint32_t v[BATCH];
	size_t n;
};

struct batch {
	struct sync_owners *o;
	struct ids ids[OWNERS_GROUP + 1]; /* by their kind */
	/* Then only those that have names. */
};

struct sync_owners {
	struct sftp *source, *target;
	struct table tables[OWNERS_GROUP + 1]; /* by kind */
	struct batch *next; /* owned; to be sent; NULL: nothing */
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

	free(b);
	o->under_way--;
	free_if_over(o);
}

/* ---- answers ------------------------------------------------------------ */

/* Is it an answer that can be read? Else the ids of the batch stay numbers, and
 * after an error of the session nothing is known any more. */
static bool
is_told(struct batch *b, const struct sftp_reply *reply)
{
	if (reply->err < 0)
		b->o->err = reply->err;
	else if (reply->type != SFTP_EXTENDED_REPLY)
		stay_numbers(b->o, b);
	return reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY;
}

static void
on_ids(void *arg, const struct sftp_reply *reply)
{
	struct batch *b = arg;
	struct rd body = reply->body;

	for (size_t k = 0; is_told(b, reply) && k < ARRAY_LEN(kinds); k++) {
		const struct ids *ids = &b->ids[kinds[k]];
		struct rd list = rd_sub(&body);

		for (size_t i = 0; i < ids->n; i++) {
			uint32_t to = rd_u32(&list);

			settle(b->o, kinds[k], ids->v[i], list.err != 0 ||
			    to == UINT32_MAX ? ids->v[i] : to);
		}
	}
	end_batch(b);
}

/* Texts of the names that the source told, one behind the other. */
struct names {
	const char *v[BATCH];
	size_t n[OWNERS_GROUP + 1];
	size_t count;
	char *text; /* owned */
	size_t at;
};

/* Takes the names of one kind. Of the batch's ids those are left that have
 * one. */
static void
take_names(struct batch *b, enum owners_kind kind, struct rd list,
    struct names *names)
{
	struct ids *ids = &b->ids[kind];
	size_t n = 0;

	for (size_t i = 0; i < ids->n; i++) {
		struct span name = rd_string(&list);
		char *text = names->text + names->at;

		if (list.err != 0 || !owners_may_name(name.p, name.len)) {
			settle(b->o, kind, ids->v[i], ids->v[i]);
			continue;
		}
		memcpy(text, name.p, name.len);
		text[name.len] = '\0';
		names->at += name.len + 1;
		names->v[names->count++] = text;
		ids->v[n++] = ids->v[i];
	}
	names->n[kind] = ids->n = n;
}

static void
on_names(void *arg, const struct sftp_reply *reply)
{
	struct batch *b = arg;
	struct rd body = reply->body;
	struct names names = { .count = 0 };
	size_t users;

	if (!is_told(b, reply)) {
		end_batch(b);
		return;
	}
	names.text = malloc(BATCH * (OWNERS_ASKED_MAX + 1));
	if (names.text == NULL) {
		b->o->err = ERR_NOMEM;
		end_batch(b);
		return;
	}
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		take_names(b, kinds[k], rd_sub(&body), &names);
	users = names.n[OWNERS_USER];
	if (names.count == 0 || b->o->dead)
		end_batch(b);
	else
		sftp_ids_by_name(b->o->target, names.v, users,
		    names.v + users, names.n[OWNERS_GROUP], on_ids, b);
	free(names.text);
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

/* Notes an id that is to be asked for. */
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
