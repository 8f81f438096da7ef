/* SPDX-License-Identifier: ISC */
#include "server/auth/auth-calls.h"

#include <string.h>

#include "base/fd.h"

void
monitor_log(int fd, enum log_level level, bool forced, const char *text)
{
	struct buf b = { 0 };

	buf_put_u8(&b, MONITOR_LOG);
	buf_put_u8(&b,
	    (uint8_t)((unsigned)level | (forced ? MONITOR_LOG_FORCED : 0)));
	buf_put_cstring(&b, text);
	(void)!fd_send_msg(fd, &b);
	buf_clear(&b);
}

int
monitor_sign(int fd, const char *alg, struct span hash, struct buf *signature)
{
	return monitor_call_for_signature(fd, MONITOR_SIGN, alg, hash,
	    signature);
}

int
monitor_user(int fd, const char *name, const char *service,
    struct monitor_user *out)
{
	struct buf b = { 0 }, answer = { 0 };
	struct rd r;
	int err;

	memset(out, 0, sizeof *out);
	buf_put_u8(&b, MONITOR_USER);
	buf_put_cstring(&b, name);
	buf_put_cstring(&b, service);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		out->methods = rd_cstring(&r, MONITOR_NAMES_MAX);
		out->banner = monitor_get_optional(&r, MONITOR_MSG_MAX);
		out->sig_algs = rd_cstring(&r, MONITOR_NAMES_MAX);
		out->max_auth_tries = (int)rd_u32(&r);
		out->invalid = rd_bool(&r);
		out->tickets = rd_bool(&r);
		out->survive = rd_bool(&r);
		err = rd_end(&r);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

static int
verdict_call(int fd, const struct buf *request, struct monitor_verdict *out)
{
	struct buf answer = { 0 };
	struct span info;
	struct rd r;
	int err;

	memset(out, 0, sizeof *out);
	if ((err = monitor_call(fd, request, &answer, &r)) == 0) {
		out->result = (enum monitor_result)rd_u8(&r);
		out->counts = rd_bool(&r);
		out->final = rd_bool(&r);
		out->methods = rd_cstring(&r, MONITOR_NAMES_MAX);
		info = rd_string(&r);
		buf_put(&out->info, info.p, info.len);
		err = rd_end(&r);
	}
	buf_clear(&answer);
	return err;
}

int
monitor_try(int fd, enum auth_method_id method, const struct buf *fields,
    struct monitor_verdict *out)
{
	struct buf b;
	int r;

	buf_init_secret(&b);
	buf_put_u8(&b, MONITOR_TRY);
	buf_put_u8(&b, (uint8_t)method);
	buf_put_buf(&b, fields);
	r = verdict_call(fd, &b, out);
	buf_clear(&b);
	return r;
}

int
monitor_try_answer(int fd, struct span body, struct monitor_verdict *out)
{
	struct buf b;
	int r;

	buf_init_secret(&b);
	buf_put_u8(&b, MONITOR_TRY_ANSWER);
	buf_put(&b, body.p, body.len);
	r = verdict_call(fd, &b, out);
	buf_clear(&b);
	return r;
}

int
monitor_hand_over(int fd, const struct buf *packet, const struct buf *kex)
{
	struct buf b;
	int err;

	buf_init_secret(&b);
	buf_put_u8(&b, MONITOR_HAND_OVER);
	buf_put_string_buf(&b, packet);
	buf_put_string_buf(&b, kex);
	err = fd_send_msg(fd, &b);
	buf_clear(&b);
	return err;
}
