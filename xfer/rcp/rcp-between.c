/* SPDX-License-Identifier: ISC */
/*
 * Copies from one peer to another. Each record of the source is parsed, and its
 * name checked, as a sink would, before it is passed on.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/rcp/rcp-internal.h"

/* Passes on a line of the source unchanged. */
static int
pass_line(struct rcp *from, struct rcp *to)
{
	int r = rcp_put(to, from->line, strlen(from->line));

	return r < 0 ? r : rcp_put(to, "\n", 1);
}

/* Passes on the sink's answer, whose text was printed here already. */
static int
pass_answer(struct rcp *from, struct rcp *to)
{
	static const char refused[] = "\001scp: refused by the target\n";
	int r = rcp_answer(to), sent;

	if (r < 0)
		return r;
	sent = r == 0 ? rcp_ok(from) :
			rcp_put(from, refused, sizeof refused - 1);
	return sent < 0 ? sent : r;
}

static int
pass_data(struct rcp *from, struct rcp *to, int64_t left)
{
	ssize_t n;
	int r;

	for (; left > 0; left -= n) {
		n = rcp_get_some(from, from->block, rcp_piece(from, left));
		if (n <= 0)
			return n < 0 ? (int)n : ERR_CLOSED;
		if ((r = rcp_put(to, from->block, (size_t)n)) < 0)
			return r;
		rcp_moved(from, (size_t)n);
	}
	return 0;
}

static int
pass_file(struct rcp *from, struct rcp *to, const struct rcp_record *rec)
{
	static const char failed[] = "\001scp: the source could not be read\n";
	int r, status;

	rcp_progress_start(from, rec->name, rec->size, 0);
	if ((r = pass_data(from, to, rec->size)) < 0)
		return r;
	if ((status = rcp_answer(from)) < 0)
		return status;
	r = status == 0 ? rcp_ok(to) : rcp_put(to, failed, sizeof failed - 1);
	if (r == 0)
		r = pass_answer(from, to);
	rcp_progress_finish(from, r == 0 && status == 0);
	return r;
}

int
rcp_copy_between(struct rcp *from, struct rcp *to, const struct strlist *wanted)
{
	struct rcp_record rec;
	unsigned depth = 0;
	bool first = true;
	int r;

	/* The sink is ready: this answer starts the source. */
	if ((r = rcp_answer(to)) != 0)
		return r < 0 ? r : ERR_CANCELLED;
	if ((r = rcp_ok(from)) < 0)
		return r;
	for (;; first = false) {
		r = rcp_next_record(from, &rec, first);
		if (r == 0)
			return depth == 0 ? rcp_flush(from) : ERR_CLOSED;
		if (r < 0 ||
		    (r = rcp_check_record(from, &rec, wanted, depth)) < 0 ||
		    (r = pass_line(from, to)) < 0 ||
		    (r = pass_answer(from, to)) < 0)
			return r;
		if (r == 0 && rec.type == 'C')
			r = pass_file(from, to, &rec);
		else if (r == 0 && rec.type == 'D')
			depth++;
		else if (rec.type == 'E')
			depth--;
		if (r < 0)
			return r;
	}
}
