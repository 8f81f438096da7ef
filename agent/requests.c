/* SPDX-License-Identifier: ISC */
/*
 * The table of requests that the agent answers, and which of them it answers
 * while it is locked.
 */
#include <string.h>

#include "agent/agent-internal.h"
#include "base/log.h"
#include "base/mem.h"

enum outcome
request_fail(struct request *q)
{
	buf_put_u8(q->answer, AGENT_FAILURE);
	return ANSWERED;
}

enum outcome
request_succeed(struct request *q)
{
	buf_put_u8(q->answer, AGENT_SUCCESS);
	return ANSWERED;
}

/* ---- extensions ---------------------------------------------------------- */

static enum outcome bind_session(struct request *q);
static enum outcome query(struct request *q);

static const struct {
	const char *name;
	bool told; /* named in the answer to AGENT_EXT_QUERY */
	bool while_locked;
	enum outcome (*run)(struct request *q);
} extensions[] = {
	{ AGENT_EXT_BIND, true, true, bind_session },
	{ AGENT_EXT_QUERY, false, false, query },
};

static enum outcome
bind_session(struct request *q)
{
	int r = binds_add(&q->c->binds, &q->body);

	if (r == 0)
		return request_succeed(q);
	log_info("a connection could not be bound to a session: %s",
	    err_text(r));
	buf_put_u8(q->answer, AGENT_EXTENSION_FAILURE);
	return ANSWERED;
}

static enum outcome
query(struct request *q)
{
	buf_put_u8(q->answer, AGENT_EXTENSION_RESPONSE);
	buf_put_cstring(q->answer, AGENT_EXT_QUERY);
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++)
		if (extensions[i].told)
			buf_put_cstring(q->answer, extensions[i].name);
	return ANSWERED;
}

static enum outcome
run_extension(struct request *q)
{
	struct span name = rd_string(&q->body);

	for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
		if (rd_err(&q->body) != 0 ||
		    !span_equals(name, extensions[i].name))
			continue;
		if (shield_is_locked(q->a->shield) &&
		    !extensions[i].while_locked)
			return request_fail(q);
		return extensions[i].run(q);
	}
	return request_fail(q);
}

/* ---- requests ------------------------------------------------------------ */

static const struct {
	uint8_t type;
	bool while_locked;
	enum outcome (*run)(struct request *q);
} requests[] = {
	{ AGENT_REMOVE_ALL_V1, false, request_remove_all },
	{ AGENT_REQUEST_IDENTITIES, true, request_list },
	{ AGENT_SIGN_REQUEST, false, request_sign },
	{ AGENT_ADD_IDENTITY, false, request_add },
	{ AGENT_REMOVE_IDENTITY, false, request_remove },
	{ AGENT_REMOVE_ALL, false, request_remove_all },
	{ AGENT_ADD_PROVIDER, false, request_add_provider },
	{ AGENT_REMOVE_PROVIDER, false, request_remove_provider },
	{ AGENT_LOCK, false, request_lock },
	{ AGENT_UNLOCK, true, request_unlock },
	{ AGENT_ADD_CONSTRAINED, false, request_add },
	{ AGENT_ADD_PROVIDER_CONSTRAINED, false, request_add_provider },
	{ AGENT_EXTENSION, true, run_extension },
};

enum outcome
requests_run(struct client *c, struct span message, struct buf *answer)
{
	struct request q = { .a = c->a, .c = c, .answer = answer,
		.body = rd_from_span(message) };

	q.type = rd_u8(&q.body);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (requests[i].type != q.type)
			continue;
		if (shield_is_locked(q.a->shield) && !requests[i].while_locked)
			break;
		return requests[i].run(&q);
	}
	return request_fail(&q);
}
