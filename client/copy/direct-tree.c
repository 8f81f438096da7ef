/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-tree.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/walk-reader.h"

enum {
	READS = 8, /* requests that are under way together */
	NAMES_MAX = 100 * 1000 * 1000,
};

struct tree_read {
	struct tree *tree;
	bool answered, end; /* end: the answer is that there is no more */
	struct buf records;
};

/* A walk that is under way. Answers are read in the order of their requests,
 * whatever order they come in. */
struct tree {
	const char *top;
	direct_tree_fn fn;
	void *arg;
	struct sftp *s;
	struct sftp_handle handle;
	struct tree_read reads[READS];
	uint64_t next, asked;
	uint64_t names;
	unsigned left; /* requests without an answer */
	bool done;     /* there are none */
	bool over;     /* no further records are read */
	bool whole;    /* all have been */
	bool no_top;   /* the top cannot be read */
	struct walk_reader reader;
};

static void
tell(struct tree *t, const struct walk_item *item)
{
	const char *group = item->is_group ? item->path : t->reader.path;
	char *path;

	if (item->is_group && item->status == 0)
		return;
	if (item->is_group && group[0] == '\0') {
		t->no_top = true;
		return;
	}
	if (item->is_group)
		path = xstrdup(group);
	else
		xasprintf(&path, "%s%s%s", group,
		    group[0] != '\0' ? "/" : "", item->name);
	t->fn(t->arg, path, item->status != 0 ? WALK_UNKNOWN : item->kind);
	free(path);
}

/* Reads an answer's records. Without any the walk is over: else empty answers
 * could come for ever. */
static void
read_records(struct tree *t, struct tree_read *from)
{
	struct walk_item item;
	int r = 0;

	if (buf_err(&from->records) != 0 || buf_len(&from->records) == 0) {
		t->over = true;
		t->whole = from->end;
		return;
	}
	walk_reader_reply(&t->reader, buf_span(&from->records));
	while (t->names < NAMES_MAX &&
	    (r = walk_reader_next(&t->reader, &item)) == 1) {
		t->names++;
		tell(t, &item);
	}
	buf_clear(&from->records);
	t->over = r != 0;
}

static void on_read(void *arg, const struct sftp_reply *reply);

static void
ask_more(struct tree *t)
{
	while (!t->over && t->asked < t->next + READS) {
		struct tree_read *r = &t->reads[t->asked++ % READS];

		*r = (struct tree_read){ .tree = t };
		t->left++;
		sftp_walk_read(t->s, &t->handle, on_read, r);
	}
}

static void
on_read(void *arg, const struct sftp_reply *reply)
{
	struct tree_read *r = arg;
	struct tree *t = r->tree;

	r->answered = true;
	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY)
		buf_put(&r->records, reply->body.p, reply->body.len);
	r->end = reply->err == 0 && reply->type == SFTP_STATUS &&
	    reply->status == SFTP_EOF;
	t->left--;
	while (!t->over && t->next < t->asked &&
	    (r = &t->reads[t->next % READS])->answered) {
		t->next++;
		read_records(t, r);
	}
	if (reply->err == 0)
		ask_more(t);
	t->done = t->left == 0;
}

static void
on_begun(void *arg, const struct sftp_reply *reply)
{
	struct tree *t = arg;

	t->left--;
	if (reply->err == 0 && reply->type == SFTP_HANDLE) {
		sftp_keep_handle(&t->handle, reply);
		ask_more(t);
	}
	t->done = t->left == 0;
}

/* All answers come, also when the session ends; so nothing that is under way
 * outlives the call. */
static int
call_walk(struct sftp *s, void *arg)
{
	struct tree *t = arg;
	const struct sftp_walk ask = { .path = t->top, .want = WALK_MODE };
	int r;

	*t = (struct tree){ .top = t->top, .fn = t->fn, .arg = t->arg, .s = s,
		.left = 1 };
	walk_reader_init(&t->reader, ask.want);
	sftp_walk(s, &ask, on_begun, t);
	r = sftp_run_until(s, &t->done);
	if (r == 0 && t->handle.len > 0)
		sftp_close(s, &t->handle, NULL, NULL);
	for (size_t i = 0; i < READS; i++)
		buf_clear(&t->reads[i].records);
	return r;
}

bool
direct_tree_list(struct scp *scp, struct scp_host *host, const char *top,
    direct_tree_fn fn, void *arg)
{
	struct tree *t = xcalloc(1, sizeof *t);
	bool whole;

	t->top = top;
	t->fn = fn;
	t->arg = arg;
	(void)scp_host_call(scp, host, call_walk, t);
	whole = t->whole && !t->no_top;
	free(t);
	return whole;
}
