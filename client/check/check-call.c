/* SPDX-License-Identifier: ISC */
/*
 * Single requests of a check. A server may never answer, so waiting has a
 * limit. The answer may still come later: a call that nobody waits for any more
 * is freed when its answer comes, at the latest with the end of the session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/check/check-internal.h"

enum { STEP_MS = 100 };

struct check_call {
	bool done, left;
	struct check_answer answer;
};

struct check_call *
check_call_new(void)
{
	return calloc(1, sizeof(struct check_call));
}

/* Free bytes, from the answer to statvfs. */
static uint64_t
room_of(const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct sftp_statvfs v;

	if (reply->type != SFTP_EXTENDED_REPLY)
		return UINT64_MAX;
	sftp_get_statvfs(&body, &v);
	if (rd_err(&body) != 0 || v.frsize == 0 ||
	    v.bavail > UINT64_MAX / v.frsize)
		return UINT64_MAX;
	return v.bavail * v.frsize;
}

void
check_call_done(void *arg, const struct sftp_reply *reply)
{
	struct check_call *call = arg;
	struct check_answer *a = &call->answer;

	if (call->left) {
		free(call);
		return;
	}
	call->done = true;
	a->err = reply->err;
	a->status = reply->status;
	a->attrs = reply->attrs;
	a->room = room_of(reply);
	if (reply->words != NULL)
		snprintf(a->words, sizeof a->words, "%s", reply->words);
	if (reply->handle.len <= sizeof a->handle.bytes &&
	    reply->handle.len > 0) {
		a->handle.len = (uint32_t)reply->handle.len;
		memcpy(a->handle.bytes, reply->handle.p, reply->handle.len);
	}
}

bool
check_call_wait(struct check *c, struct check_call *call, uint64_t limit_ms,
    struct check_answer *out)
{
	uint64_t until = clock_ms() + limit_ms, now;
	int r = 0;

	*out = (struct check_answer){ .err = ERR_TIMEOUT };
	if (call == NULL) {
		out->err = ERR_NOMEM;
		return false;
	}
	while (!call->done && !c->stop && r == 0 &&
	    (now = clock_ms()) < until)
		r = sftp_step(c->sftp, false, (int)MIN(until - now,
					    (uint64_t)STEP_MS));
	if (call->done) {
		*out = call->answer;
		free(call);
	} else {
		call->left = true;
		out->err = r != 0 ? r : ERR_TIMEOUT;
	}
	if (out->err != 0)
		snprintf(out->words, sizeof out->words, "%s",
		    out->err == ERR_TIMEOUT ? "no answer in time" :
					      err_text(out->err));
	return out->err == 0;
}

void
check_no_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	(void)arg;
	(void)offset;
	(void)p;
	(void)len;
}
