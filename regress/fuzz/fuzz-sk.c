/* SPDX-License-Identifier: ISC */
/*
 * Security keys: the first byte chooses what the rest is: a request to the
 * helper, an answer of it (to each of the three requests), or a signature. What
 * is read as a request is written again and must be the same; a signature must
 * be refused, whatever it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "keys/key.h"
#include "keys/sk-wire.h"
#include "regress/fuzz/fuzz.h"
#include "tokens/sk/sk-der.h"

static const char ed25519[] =
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAA"
    "IFSMBVz3cx8l6yDaVMgnNOSESWYceGQCPcRLkkTIUOy2AAAABHNzaDo=";
static const char ecdsa[] =
    "sk-ecdsa-sha2-nistp256@openssh.com "
    "AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNT"
    "YAAABBBD8Qh3/01FgyTaYfnjMZRqSL9WrS6z1j9FXmNEJDHh0QfvjzeahRHcz8WY1X"
    "6Rpzg0dIyoHwE0Ys/01Nq7WAYWcAAAAEc3NoOg==";

static struct key *
known_key(const char *line, struct key **k)
{
	const char *s = line;

	if (*k == NULL && key_parse_line(&s, k) != 0)
		abort();
	return *k;
}

static void
try_request(struct span data)
{
	struct sk_request q;
	struct buf b = {0};

	if (sk_read_request(data, &q) != 0)
		return;
	if (sk_put_request(&q, &b) != 0 || buf_len(&b) != data.len ||
	    memcmp(buf_data(&b), data.p, data.len) != 0)
		abort();
	buf_clear(&b);
}

static void
try_answer(struct span data, enum sk_op op)
{
	enum sk_status status;
	struct sk_signed s;
	struct sk_found f;
	struct sk_made m;
	struct rd rd;
	uint32_t n;

	if (sk_read_head(data, op, &rd, &status) != 0 || status != SK_DONE)
		return;
	if (op == SK_SIGN && sk_read_signed(&rd, &s) == 0 &&
	    s.r.len + s.s.len > data.len)
		abort();
	if (op == SK_ENROLL && sk_read_made(&rd, &m) == 0 &&
	    m.public_key.len + m.authdata.len > data.len)
		abort();
	if (op != SK_LOAD || sk_read_count(&rd, &n) != 0)
		return;
	while (n-- > 0 && sk_read_found(&rd, &f) == 0)
		if (strlen(f.application) >= data.len)
			abort();
}

static void
try_signature(struct span data)
{
	static const struct span message = {(const uint8_t *)"m", 1};
	static struct key *ed, *ec;
	struct key_sk_seen seen;
	struct span r, s;

	if (key_verify_seen(known_key(ed25519, &ed),
		"sk-ssh-ed25519@openssh.com", message, data, &seen) == 0 ||
	    key_verify_seen(known_key(ecdsa, &ec),
		"sk-ecdsa-sha2-nistp256@openssh.com", message, data,
		&seen) == 0 ||
	    key_verify_seen(ec, "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
		message, data, &seen) == 0)
		abort();
	if (sk_der_split(data, &r, &s) == 0 && (r.len > 32 || s.len > 32))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = {data + 1, size - 1};

	if (size == 0)
		return 0;
	switch (data[0]) {
	case 'q':
		try_request(rest);
		break;
	case '1':
	case '2':
	case '3':
		try_answer(rest, (enum sk_op)(data[0] - '0'));
		break;
	default:
		try_signature(rest);
		break;
	}
	return 0;
}
