/* SPDX-License-Identifier: ISC */
#include "server/monitor-wire.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"

static void
put_optional(struct buf *b, const char *s)
{
	buf_put_bool(b, s != NULL);
	buf_put_cstring(b, s);
}

char *
monitor_get_optional(struct rd *r, size_t max)
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
	free(u->sig_algs);
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
	put_optional(b, p->gss_kex);
	buf_put_cstring(b, p->sig_algs);
	buf_put_cstring(b, p->pubkey_algs);
	put_optional(b, p->methods);
	put_optional(b, p->moduli);
	put_optional(b, p->chroot);
	buf_put_u32(b, p->uid);
	buf_put_u32(b, p->gid);
	buf_put_cstring(b, p->peer);
	buf_put_cstring(b, p->remote);
	buf_put_string_buf(b, &p->hostkeys);
	buf_put(b, p->salt, sizeof p->salt);
	buf_put_u64(b, p->floor_us);
	buf_put_u8(b, (uint8_t)p->log_level);
	for (size_t i = 0; i < p->log_locations.n; i++)
		buf_put_cstring(b, p->log_locations.v[i]);
}

static int
get_locations(struct rd *r, struct strlist *locations)
{
	char *text;
	int err = 0;

	while (r->len > 0 && rd_err(r) == 0 && err == 0) {
		text = rd_cstring(r, MONITOR_NAMES_MAX);
		err = text == NULL ? ERR_NOMEM : strlist_add(locations, text);
		free(text);
	}
	return err;
}

int
monitor_params_get(struct rd *r, struct monitor_params *p)
{
	struct span keys, salt;
	int err;

	memset(p, 0, sizeof *p);
	p->ident = rd_cstring(r, MONITOR_NAMES_MAX);
	p->kex = rd_cstring(r, MONITOR_NAMES_MAX);
	p->hostkey_algs = rd_cstring(r, MONITOR_NAMES_MAX);
	p->ciphers = rd_cstring(r, MONITOR_NAMES_MAX);
	p->macs = rd_cstring(r, MONITOR_NAMES_MAX);
	p->compression = rd_cstring(r, MONITOR_NAMES_MAX);
	p->gss_kex = monitor_get_optional(r, MONITOR_NAMES_MAX);
	p->sig_algs = rd_cstring(r, MONITOR_NAMES_MAX);
	p->pubkey_algs = rd_cstring(r, MONITOR_NAMES_MAX);
	p->methods = monitor_get_optional(r, MONITOR_NAMES_MAX);
	p->moduli = monitor_get_optional(r, PATH_MAX);
	p->chroot = monitor_get_optional(r, PATH_MAX);
	p->uid = rd_u32(r);
	p->gid = rd_u32(r);
	p->peer = rd_cstring(r, MONITOR_NAMES_MAX);
	p->remote = rd_cstring(r, MONITOR_NAMES_MAX);
	keys = rd_string(r);
	buf_put(&p->hostkeys, keys.p, keys.len);
	salt = rd_bytes(r, sizeof p->salt);
	p->floor_us = rd_u64(r);
	p->log_level = rd_u8(r);
	if ((err = get_locations(r, &p->log_locations)) != 0)
		return err;
	if ((err = rd_end(r)) == 0)
		memcpy(p->salt, salt.p, sizeof p->salt);
	return err != 0 ? err : buf_err(&p->hostkeys);
}

void
monitor_params_add_hostkey(struct buf *hostkeys, const char *alg,
    struct span blob)
{
	buf_put_cstring(hostkeys, alg);
	buf_put_string(hostkeys, blob.p, blob.len);
}

int
monitor_params_hostkey(const struct monitor_params *p, const char *alg,
    struct span *blob)
{
	struct rd r = rd_from_buf(&p->hostkeys);
	struct span name;

	while (r.len > 0 && rd_err(&r) == 0) {
		name = rd_string(&r);
		*blob = rd_string(&r);
		if (rd_err(&r) == 0 && span_equals(name, alg))
			return 0;
	}
	return ERR_NOT_FOUND;
}

void
monitor_params_clear(struct monitor_params *p)
{
	free(p->ident);
	free(p->kex);
	free(p->gss_kex);
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
	buf_clear(&p->hostkeys);
	strlist_clear(&p->log_locations);
	explicit_bzero(p, sizeof *p);
}

/* The status, which the answer begins with, is a bool. */
int
monitor_call(int fd, const struct buf *request, struct buf *answer,
    struct rd *r)
{
	int err;

	if ((err = fd_send_msg(fd, request)) != 0 ||
	    (err = fd_receive_msg(fd, answer, MONITOR_MSG_MAX)) != 0)
		return err;
	*r = rd_from_buf(answer);
	return rd_bool(r) ? 0 : ERR_DENIED;
}

int
monitor_call_for_signature(int fd, enum monitor_request what, const char *alg,
    struct span data, struct buf *signature)
{
	struct buf b = { 0 }, answer = { 0 };
	struct span sig;
	struct rd r;
	int err;

	buf_put_u8(&b, (uint8_t)what);
	buf_put_cstring(&b, alg);
	buf_put_string(&b, data.p, data.len);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
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
monitor_call_gss_step(int fd, enum monitor_request what, struct span token,
    struct buf *out, bool *complete)
{
	struct buf b = { 0 }, answer = { 0 };
	struct span reply;
	struct rd r;
	bool good = false;
	int err;

	*complete = false;
	buf_put_u8(&b, (uint8_t)what);
	buf_put_string(&b, token.p, token.len);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		good = rd_bool(&r);
		*complete = rd_bool(&r);
		reply = rd_string(&r);
		buf_put(out, reply.p, reply.len);
		err = rd_end(&r);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err != 0 ? err : good ? buf_err(out) : ERR_DENIED;
}

int
monitor_call_gss_sign(int fd, enum monitor_request what, struct span hash,
    struct buf *mic)
{
	struct buf b = { 0 }, answer = { 0 };
	struct span made;
	struct rd r;
	int err;

	buf_put_u8(&b, (uint8_t)what);
	buf_put_string(&b, hash.p, hash.len);
	if ((err = monitor_call(fd, &b, &answer, &r)) == 0) {
		made = rd_string(&r);
		buf_put(mic, made.p, made.len);
		err = rd_end(&r);
	}
	buf_clear(&b);
	buf_clear(&answer);
	return err != 0 ? err : buf_err(mic);
}
