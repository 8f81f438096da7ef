/* SPDX-License-Identifier: ISC */
#include "server/session/session-calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "connection-survive-wire.h"

int
monitor_sign_rekey(int fd, const char *alg, struct span hash,
    struct buf *signature)
{
	return monitor_call_for_signature(fd, MONITOR_SIGN_REKEY, alg, hash,
	    signature);
}

int
monitor_prove(int fd, const char *rsa_alg, struct span blob,
    struct buf *signature)
{
	size_t before = buf_len(signature);
	int r = monitor_call_for_signature(fd, MONITOR_PROVE, rsa_alg, blob,
	    signature);

	return r == 0 && buf_len(signature) == before ? ERR_NOT_FOUND : r;
}

static int
take_pty(struct rd *r, struct monitor_pty *out)
{
	char *name = rd_cstring(r, sizeof out->name - 1);
	char *text = rd_cstring(r, MONITOR_MSG_MAX);
	int err = rd_end(r);

	if (err == 0 && name[0] == '\0')
		err = ERR_DENIED;
	if (err == 0) {
		memcpy(out->name, name, strlen(name) + 1);
		if (text[0] != '\0') {
			out->text = text;
			text = NULL;
		}
	}
	free(name);
	free(text);
	return err;
}

int
monitor_pty(int fd, struct monitor_pty *out)
{
	struct buf b = { 0 }, answer = { 0 };
	int fds[2] = { -1, -1 }, err;
	struct rd r;

	memset(out, 0, sizeof *out);
	out->master = out->slave = -1;
	buf_put_u8(&b, MONITOR_PTY);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0 &&
	    (err = take_pty(&r, out)) == 0 &&
	    (err = fd_receive_fds(fd, fds, ARRAY_LEN(fds))) == 0) {
		out->master = fds[0];
		out->slave = fds[1];
	}
	if (err != 0) {
		free(out->text);
		out->text = NULL;
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

int
monitor_pty_end(int fd, const char *name)
{
	struct buf b = { 0 }, answer = { 0 };
	struct rd r;
	int err;

	buf_put_u8(&b, MONITOR_PTY_END);
	buf_put_cstring(&b, name);
	err = monitor_call(fd, &b, &answer, &r);
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

int
monitor_tickets(int fd, uint32_t beside, uint32_t instead, struct buf *out,
    bool *any)
{
	struct buf b = { 0 }, answer;
	struct rd r, rest;
	int err;

	buf_init_secret(&answer);
	buf_put_u8(&b, MONITOR_TICKETS);
	buf_put_u32(&b, beside);
	buf_put_u32(&b, instead);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		buf_put(out, r.p, r.len);
		rest = r;
		*any = rd_u32(&rest) > 0;
		err = rd_err(&rest) != 0 ? rd_err(&rest) : buf_err(out);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

int
monitor_grant(int fd, struct span request, struct buf *out, bool *given)
{
	struct buf b = { 0 }, answer = { 0 };
	struct span name;
	struct rd r;
	int err;

	buf_put_u8(&b, MONITOR_GRANT);
	buf_put(&b, request.p, request.len);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		name = rd_string(&r);
		*given = name.len > 0;
		buf_put_string(out, name.p, name.len);
		err = rd_end(&r);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err != 0 ? err : buf_err(out);
}

int
monitor_grant_end(int fd, struct span name, bool *over)
{
	struct buf b = { 0 }, answer = { 0 };
	struct rd r;
	int err;

	buf_put_u8(&b, MONITOR_GRANT_END);
	buf_put_string(&b, name.p, name.len);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		*over = rd_bool(&r);
		err = rd_end(&r);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

void
monitor_receipt(int fd, struct span body)
{
	struct buf b = { 0 };

	buf_put_u8(&b, MONITOR_RECEIPT);
	buf_put(&b, body.p, body.len);
	(void)!fd_send_msg(fd, &b);
	buf_clear(&b);
}

void
monitor_lost(int fd)
{
	struct buf b = { 0 };

	buf_put_u8(&b, MONITOR_LOST);
	(void)!fd_send_msg(fd, &b);
	buf_clear(&b);
}

/* Reads the terms that the server grants, and appends the answer to out. */
static int
take_survive(struct rd r, struct survive_terms *terms, struct buf *out)
{
	const struct survive_terms asked = *terms;
	struct survive_grant g;
	int err;

	if (!rd_bool(&r))
		return rd_err(&r) != 0 ? rd_err(&r) : ERR_DENIED;
	buf_put(out, r.p, r.len);
	if ((err = survive_get_grant(r, &asked, &g)) != 0)
		return err;
	*terms = (struct survive_terms){ .seconds = g.seconds,
		.bytes = g.bytes };
	return buf_err(out);
}

int
monitor_survive(int fd, struct survive_terms *terms, struct buf *out,
    int *survive_fd)
{
	struct buf b = { 0 }, answer;
	struct rd r;
	int err;

	buf_init_secret(&answer);
	buf_put_u8(&b, MONITOR_SURVIVE);
	buf_put_u32(&b, terms->seconds);
	buf_put_u32(&b, terms->bytes);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0 &&
	    (err = take_survive(r, terms, out)) == 0)
		err = fd_receive_fds(fd, survive_fd, 1);
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

int
monitor_session(int fd, bool begins)
{
	struct buf b = { 0 }, answer = { 0 };
	struct rd r;
	bool may = false;
	int err;

	buf_put_u8(&b, MONITOR_SESSION);
	buf_put_bool(&b, begins);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		may = rd_bool(&r);
		err = rd_end(&r);
	}
	if (err == 0 && !may)
		err = ERR_DENIED;
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

int
monitor_shares(int fd, int *shares_fd)
{
	struct buf b = { 0 }, answer = { 0 };
	struct rd r;
	int err;

	buf_put_u8(&b, MONITOR_SHARES);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0 &&
	    (err = rd_end(&r)) == 0)
		err = fd_receive_fds(fd, shares_fd, 1);
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}
