/* SPDX-License-Identifier: ISC */
/*
 * Messages of hpnssh-pkcs11-helper. The first byte chooses who reads: the
 * helper a request; or its caller the answer to a list or a signature.
 */
#include <stdlib.h>

#include "keys/p11-wire.h"
#include "regress/fuzz/fuzz.h"

/* What was read is written and read again. */
static void
request(struct span body)
{
	struct p11_request q, again;
	struct buf b = { 0 };

	if (p11_read_request(body, &q) == 0) {
		if (p11_put_request(&q, &b) != 0 ||
		    p11_read_request(buf_span(&b),
			&again) != 0)
			abort();
		p11_request_clear(&again);
	}
	p11_request_clear(&q);
	buf_clear(&b);
}

static void
answer(struct span body, enum p11_op op)
{
	enum p11_status status;
	struct p11_list list;
	char *label = NULL;
	bool on_reader;
	struct rd rd;

	if (p11_read_head(body, op, &rd, &status) != 0)
		return;
	if (status == P11_NEEDS_PIN) {
		if (p11_read_wanted(&rd, &label, &on_reader) == 0 &&
		    label == NULL)
			abort();
		free(label);
	} else if (op == P11_LIST && p11_read_list(&rd, &list) == 0) {
		for (size_t i = 0; i < list.n_keys; i++)
			if (list.keys[i].token >= list.n_tokens)
				abort();
		p11_list_clear(&list);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span body = { data + 1, len - 1 };

	if (len < 1 || len > P11_ANSWER_MAX)
		return 0;
	if (data[0] % 3 == 0)
		request(body);
	else
		answer(body, data[0] % 3 == 1 ? P11_LIST : P11_SIGN);
	return 0;
}
