/* SPDX-License-Identifier: ISC */
#include "server/monitor-wire.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"

enum { NAMES_MAX = 64 * 1024 };

static void
put_optional(struct buf *b, const char *s)
{
	buf_put_bool(b, s != NULL);
	buf_put_cstring(b, s);
}

static char *
get_optional(struct rd *r, size_t max)
{
	bool there = rd_bool(r);
	char *s = rd_cstring(r, max);

	if (!there) {
		free(s);
		s = NULL;
	}
	return s;
}

void
monitor_verdict_clear(struct monitor_verdict *v)
{
	free(v->methods);
	buf_clear(&v->info);
	memset(v, 0, sizeof *v);
}

void
monitor_verdict_put(struct buf *b, const struct monitor_verdict *v)
{
	buf_put_u8(b, (uint8_t)v->result);
	buf_put_bool(b, v->counts);
	buf_put_bool(b, v->final);
	buf_put_cstring(b, v->methods);
	buf_put_string_buf(b, &v->info);
}

void
monitor_user_clear(struct monitor_user *u)
{
	free(u->methods);
	free(u->banner);
	memset(u, 0, sizeof *u);
}

void
monitor_params_put(struct buf *b, const struct monitor_params *p)
{
	buf_put_cstring(b, p->ident);
	buf_put_cstring(b, p->kex);
	buf_put_cstring(b, p->hostkey_algs);
	buf_put_cstring(b, p->ciphers);
	buf_put_cstring(b, p->macs);
	buf_put_cstring(b, p->compression);
	buf_put_cstring(b, p->sig_algs);
	buf_put_cstring(b, p->pubkey_algs);
	put_optional(b, p->methods);
	put_optional(b, p->moduli);
	put_optional(b, p->chroot);
	buf_put_u32(b, p->uid);
	buf_put_u32(b, p->gid);
	buf_put_cstring(b, p->peer);
	buf_put_cstring(b, p->remote);
	hostkeys_export(&p->keys, false, b);
	buf_put(b, p->salt, sizeof p->salt);
	buf_put_u8(b, (uint8_t)p->log_level);
}

int
monitor_params_get(struct rd *r, struct monitor_params *p)
{
	struct span salt;
	int err;

	memset(p, 0, sizeof *p);
	p->ident = rd_cstring(r, NAMES_MAX);
	p->kex = rd_cstring(r, NAMES_MAX);
	p->hostkey_algs = rd_cstring(r, NAMES_MAX);
	p->ciphers = rd_cstring(r, NAMES_MAX);
	p->macs = rd_cstring(r, NAMES_MAX);
	p->compression = rd_cstring(r, NAMES_MAX);
	p->sig_algs = rd_cstring(r, NAMES_MAX);
	p->pubkey_algs = rd_cstring(r, NAMES_MAX);
	p->methods = get_optional(r, NAMES_MAX);
	p->moduli = get_optional(r, PATH_MAX);
	p->chroot = get_optional(r, PATH_MAX);
	p->uid = rd_u32(r);
	p->gid = rd_u32(r);
	p->peer = rd_cstring(r, NAMES_MAX);
	p->remote = rd_cstring(r, NAMES_MAX);
	if ((err = hostkeys_import(&p->keys, r)) != 0)
		return err;
	salt = rd_bytes(r, sizeof p->salt);
	p->log_level = rd_u8(r);
	if ((err = rd_end(r)) == 0)
		memcpy(p->salt, salt.p, sizeof p->salt);
	return err;
}

void
monitor_params_clear(struct monitor_params *p)
{
	free(p->ident);
	free(p->kex);
	free(p->hostkey_algs);
	free(p->ciphers);
	free(p->macs);
	free(p->compression);
	free(p->sig_algs);
	free(p->pubkey_algs);
	free(p->methods);
	free(p->moduli);
	free(p->chroot);
	free(p->peer);
	free(p->remote);
	hostkeys_clear(&p->keys);
	explicit_bzero(p, sizeof *p);
}

/* Sends a request and gets its answer, which begins with the status. */
static int
call(int fd, const struct buf *request, struct buf *answer, struct rd *r)
{
	int err;

	if ((err = fd_send_msg(fd, request)) != 0 ||
	    (err = fd_receive_msg(fd, answer, MONITOR_MSG_MAX)) != 0)
		return err;
	*r = rd_from_buf(answer);
	return rd_bool(r) ? 0 : ERR_DENIED;
}

void
monitor_log(int fd, enum log_level level, const char *text)
{
	struct buf b = { 0 };

	buf_put_u8(&b, MONITOR_LOG);
	buf_put_u8(&b, (uint8_t)level);
	buf_put_cstring(&b, text);
	(void)!fd_send_msg(fd, &b);
	buf_clear(&b);
}

static int
signature_call(int fd, enum monitor_request what, const char *alg,
    struct span data, struct buf *signature)
{
	struct buf b = { 0 }, answer = { 0 };
	struct span sig;
	struct rd r;
	int err;

	buf_put_u8(&b, (uint8_t)what);
	buf_put_cstring(&b, alg);
	buf_put_string(&b, data.p, data.len);
	if ((err = call(fd, &b, &answer, &r)) == 0) {
		sig = rd_string(&r);
		err = rd_end(&r);
		if (err == 0)
			buf_put(signature, sig.p, sig.len);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}

int
monitor_sign(int fd, const char *alg, struct span hash, struct buf *signature)
{
	return signature_call(fd, MONITOR_SIGN, alg, hash, signature);
}

int
monitor_sign_rekey(int fd, const char *alg, struct span hash,
    struct buf *signature)
{
	return signature_call(fd, MONITOR_SIGN_REKEY, alg, hash, signature);
}

int
monitor_prove(int fd, const char *rsa_alg, struct span blob,
    struct buf *signature)
{
	size_t before = buf_len(signature);
	int r = signature_call(fd, MONITOR_PROVE, rsa_alg, blob, signature);

	return r == 0 && buf_len(signature) == before ? ERR_NOT_FOUND : r;
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
	if ((err = call(fd, &b, &answer, &r)) == 0) {
		out->methods = rd_cstring(&r, NAMES_MAX);
		out->banner = get_optional(&r, MONITOR_MSG_MAX);
		out->max_auth_tries = (int)rd_u32(&r);
		out->invalid = rd_bool(&r);
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
	if ((err = call(fd, request, &answer, &r)) == 0) {
		out->result = (enum monitor_result)rd_u8(&r);
		out->counts = rd_bool(&r);
		out->final = rd_bool(&r);
		out->methods = rd_cstring(&r, NAMES_MAX);
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
monitor_hand_over(int fd, const char *id_remote, const struct buf *packet,
    const struct buf *kex)
{
	struct buf b;
	int err;

	buf_init_secret(&b);
	buf_put_u8(&b, MONITOR_HAND_OVER);
	buf_put_cstring(&b, id_remote);
	buf_put_string_buf(&b, packet);
	buf_put_string_buf(&b, kex);
	err = fd_send_msg(fd, &b);
	buf_clear(&b);
	return err;
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
	if ((err = call(fd, &b, &answer, &r)) == 0 &&
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
	err = call(fd, &b, &answer, &r);
	buf_clear(&b);
	buf_clear(&answer);
	return err;
}
