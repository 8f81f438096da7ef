/* SPDX-License-Identifier: ISC */
/* What monitors say to each other about a ticket, and about a session that goes
 * on. What is read is put in the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "regress/fuzz/fuzz.h"
#include "server/monitor/rendezvous-wire.h"
#include "server/monitor/resume-wire.h"

static void
compare(const struct buf *b, struct rd in)
{
	if (buf_err(b) != 0 || buf_len(b) != in.len ||
	    memcmp(buf_data(b), in.p, in.len) != 0)
		abort();
}

/* The question redeems a ticket of an empty table, too. */
static void
ask(struct rd in)
{
	struct ticket_table table = { .n = 0 };
	struct rendezvous_question q;
	struct buf b = { 0 };

	if (rendezvous_get_question(in, &q) == 0) {
		rendezvous_put_question(&b, &q);
		compare(&b, in);
		if (ticket_table_redeem(&table, q.serial, q.kind, q.data,
			q.proof, 0) != TICKET_UNKNOWN)
			abort();
	}
	buf_clear(&b);
}

static void
answer(struct rd in, bool about_grant)
{
	struct rendezvous_answer a;
	struct buf b = { 0 };

	if (rendezvous_get_answer(in, about_grant, &a) == 0 &&
	    a.verdict != RENDEZVOUS_OTHER_VERSION) {
		if (*rendezvous_verdict_text(a.verdict) == '\0' ||
		    a.n > RENDEZVOUS_PROOFS_MAX)
			abort();
		rendezvous_put_answer(&b, &a);
		compare(&b, in);
	}
	buf_clear(&b);
}

static void
ask_to_resume(struct rd in)
{
	struct resume_question q;
	struct buf b = { 0 };

	if (resume_get_question(in, &q) == 0) {
		resume_put_question(&b, &q);
		compare(&b, in);
	}
	buf_clear(&b);
}

static void
answer_to_resume(struct rd in)
{
	struct resume_answer a;
	struct buf b = { 0 };

	if (resume_get_answer(in, &a) == 0 &&
	    a.login.verdict != RENDEZVOUS_OTHER_VERSION) {
		resume_put_answer(&b, &a);
		compare(&b, in);
	}
	buf_clear(&b);
}

/* The first byte says which of the four it is. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		ask(rd_from(data + 1, len - 1));
		break;
	case 1:
		answer(rd_from(data + 1, len - 1), false);
		answer(rd_from(data + 1, len - 1), true);
		break;
	case 2:
		ask_to_resume(rd_from(data + 1, len - 1));
		break;
	default:
		answer_to_resume(rd_from(data + 1, len - 1));
	}
	return 0;
}
