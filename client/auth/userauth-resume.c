/* SPDX-License-Identifier: ISC */
/*
 * The request by which a session goes on over another connection
 * (resume@hpnssh.org, docs/PROTOCOL.md). A connection for that purpose makes no
 * other request: if this one is refused, the session is over.
 */
#include "base/log.h"
#include "client/auth/userauth-internal.h"
#include "connection-survive-wire.h"
#include "connection-survive.h"

#define METHOD "resume@hpnssh.org"

/* Appends the request up to its proof, and computes the proof. */
static int
make(const struct userauth *ua, struct buf *b,
    uint8_t proof[SURVIVE_PROOF_LEN])
{
	const struct userauth_resume *resume = ua->p.resume;
	const struct survive_resume fields = { .handle = resume->handle,
		.generation = resume->keys->generation,
		.received = resume->received };
	struct survive_request q = { .session_id = buf_span(&ua->session_id),
		.generation = fields.generation };
	int r;

	userauth_put_request(ua, b, METHOD);
	survive_put_resume(b, &fields);
	if ((r = buf_err(b)) != 0)
		return r;
	q.bytes = buf_span(b);
	return survive_keys_ask(resume->keys, &q, proof);
}

int
userauth_ask_to_resume(struct userauth *ua)
{
	uint8_t proof[SURVIVE_PROOF_LEN];
	struct buf b = { 0 };
	int r = make(ua, &b, proof);

	if (r == 0) {
		buf_put_string(&b, proof, sizeof proof);
		r = userauth_send(ua, &b);
	}
	buf_clear(&b);
	return r;
}

/* RESUME_OK: checks the proof that the answering server has the session. */
static int
on_welcome(struct userauth *ua, struct rd body)
{
	struct userauth_resume *resume = ua->p.resume;
	uint8_t proof[SURVIVE_PROOF_LEN];
	struct survive_welcome w;
	struct buf b = { 0 };
	struct survive_request q;
	int r = resume->proven ? ERR_PROTOCOL : survive_get_welcome(body, &w);

	if (r == 0 && (r = make(ua, &b, proof)) == 0) {
		q = (struct survive_request){ .session_id =
			buf_span(&ua->session_id),
			.bytes = buf_span(&b),
			.generation = resume->keys->generation };
		r = survive_keys_confirm(resume->keys, &q,
		    (struct span){ proof, sizeof proof }, w.received,
		    w.proof);
	}
	buf_clear(&b);
	if (r != 0)
		return r;
	resume->proven = true;
	resume->peer_received = w.received;
	return 0;
}

int
userauth_resume_input(struct userauth *ua, uint8_t type, struct rd body)
{
	switch (type) {
	case SSH_MSG_USERAUTH_RESUME_OK:
		return on_welcome(ua, body);
	case SSH_MSG_USERAUTH_SUCCESS:
		if (!ua->p.resume->proven)
			return ERR_PROTOCOL;
		ua->state = USERAUTH_SUCCEEDED;
		return USERAUTH_DONE;
	case SSH_MSG_USERAUTH_FAILURE:
		return ERR_DENIED;
	default:
		return USERAUTH_UNKNOWN;
	}
}
