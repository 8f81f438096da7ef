/* SPDX-License-Identifier: ISC */
#include "server/user-state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "server/monitor-wire.h"

enum {
	NAME_BYTES = 1024,	/* bytes of an address, an identification
				 * line */
	LIST_BYTES = 64 * 1024, /* bytes of a list of methods */
	TEXT_BYTES = 1024 * 1024, /* bytes of a variable, a log location */
	WORDS_MAX = 65536,	/* variables, log locations */
	INFO_BYTES = 1024 * 1024,
};

/* ---- parts ------------------------------------------------------------ */

static void
put_optional(struct buf *out, const char *s)
{
	buf_put_bool(out, s != NULL);
	buf_put_cstring(out, s);
}

static void
put_words(struct buf *out, const struct strlist *words)
{
	buf_put_u32(out, (uint32_t)words->n);
	for (size_t i = 0; i < words->n; i++)
		buf_put_cstring(out, words->v[i]);
}

static int
get_words(struct rd *in, struct strlist *words)
{
	uint32_t n = rd_u32(in);
	int r = 0;

	if (n > WORDS_MAX)
		rd_fail(in, ERR_LIMIT);
	for (uint32_t i = 0; i < n && r == 0 && rd_err(in) == 0; i++) {
		char *word = rd_cstring(in, TEXT_BYTES);

		if (word != NULL)
			r = strlist_add(words, word);
		free(word);
	}
	return r != 0 ? r : rd_err(in);
}

/* Reads a field and appends its bytes to b, which is initialised. ERR_LIMIT if
 * they are more than max. */
static void
get_bytes(struct rd *in, size_t max, struct buf *b)
{
	struct span bytes = rd_string(in);

	if (bytes.len > max)
		rd_fail(in, ERR_LIMIT);
	else
		buf_put(b, bytes.p, bytes.len);
}

static void
put_user(struct buf *out, const struct user *u)
{
	buf_put_cstring(out, u->name);
	buf_put_cstring(out, u->home);
	buf_put_cstring(out, u->shell);
	buf_put_u32(out, u->uid);
	buf_put_u32(out, u->gid);
	buf_put_bool(out, u->valid);
}

/* Reads the user's account. ERR_FORMAT if nobody may log in with it: it is made
 * up, or an id is -1, or the name or shell is missing. */
static void
get_user(struct rd *in, struct user *u)
{
	u->name = rd_cstring(in, USER_NAME_MAX);
	u->home = rd_cstring(in, PATH_MAX);
	u->shell = rd_cstring(in, PATH_MAX);
	u->uid = rd_u32(in);
	u->gid = rd_u32(in);
	u->valid = rd_bool(in);
	if (rd_err(in) == 0 &&
	    (!u->valid || u->uid == (uid_t)-1 || u->gid == (gid_t)-1 ||
		u->name[0] == '\0' || u->shell[0] == '\0'))
		rd_fail(in, ERR_FORMAT);
}

static void
put_peer(struct buf *out, const struct peer *p)
{
	buf_put_cstring(out, p->address);
	buf_put_cstring(out, p->local_address);
	buf_put_cstring(out, p->host);
	buf_put_u16(out, p->port);
	buf_put_u16(out, p->local_port);
	buf_put_cstring(out, p->rdomain);
}

static void
get_peer(struct rd *in, struct peer *p)
{
	char *rdomain;

	p->address = rd_cstring(in, NAME_BYTES);
	p->local_address = rd_cstring(in, NAME_BYTES);
	p->host = rd_cstring(in, NAME_BYTES);
	p->port = rd_u16(in);
	p->local_port = rd_u16(in);
	rdomain = rd_cstring(in, sizeof p->rdomain - 1);
	if (rdomain != NULL)
		memcpy(p->rdomain, rdomain, strlen(rdomain) + 1);
	free(rdomain);
}

static void
put_log(struct buf *out, const struct user_state *s)
{
	buf_put_u8(out, (uint8_t)s->log_level);
	put_words(out, &s->log_locations);
	buf_put_bool(out, s->log_to_stderr);
}

static int
get_log(struct rd *in, struct user_state *s)
{
	int r;

	s->log_level = rd_u8(in);
	if (s->log_level > LOG_LVL_DEBUG3)
		rd_fail(in, ERR_FORMAT);
	r = get_words(in, &s->log_locations);
	s->log_to_stderr = rd_bool(in);
	return r;
}

/* ---- the whole -------------------------------------------------------- */

int
user_state_export(const struct user_state *s, struct buf *out)
{
	int r;

	buf_put_cstring(out, VERSION);
	if ((r = server_conf_export(&s->conf, out)) != 0)
		return r;
	put_user(out, &s->user);
	permits_export(&s->permits, out);
	put_peer(out, &s->peer);
	buf_put_cstring(out, s->peer_text);
	buf_put_cstring(out, s->remote);
	buf_put_cstring(out, s->id_local);
	hostkeys_export_public(&s->keys, out);
	put_optional(out, s->gss_kex);
	put_words(out, &s->login_env);
	put_words(out, &s->client_lines);
	buf_put_string_buf(out, &s->auth_info);
	buf_put_bool(out, s->must_change);
	buf_put_bool(out, s->grant.path != NULL);
	if (s->grant.path != NULL)
		grant_scope_put(out, &s->grant);
	buf_put_u64(out, s->began_ms);
	put_optional(out, s->ccache);
	buf_put_u32(out, (uint32_t)s->monitor);
	put_optional(out, s->exec_label);
	buf_put_bool(out, s->keep_caps);
	put_log(out, s);
	return buf_err(out);
}

static int
import_version(struct rd *in)
{
	return span_equals(rd_string(in), VERSION) ? 0 : ERR_FORMAT;
}

int
user_state_import(struct user_state *s, struct rd *in)
{
	int r;

	memset(s, 0, sizeof *s);
	server_conf_init(&s->conf);
	buf_init_secret(&s->packet_state);
	buf_init_secret(&s->kex_state);
	if ((r = import_version(in)) != 0 ||
	    (r = server_conf_import(&s->conf, in)) != 0)
		return r;
	get_user(in, &s->user);
	if ((r = permits_import(&s->permits, in)) != 0)
		return r;
	get_peer(in, &s->peer);
	s->peer_text = rd_cstring(in, NAME_BYTES);
	s->remote = rd_cstring(in, NAME_BYTES);
	s->id_local = rd_cstring(in, NAME_BYTES);
	if ((r = hostkeys_import(&s->keys, in)) != 0)
		return r;
	s->gss_kex = monitor_get_optional(in, LIST_BYTES);
	if ((r = get_words(in, &s->login_env)) != 0 ||
	    (r = get_words(in, &s->client_lines)) != 0)
		return r;
	get_bytes(in, INFO_BYTES, &s->auth_info);
	s->must_change = rd_bool(in);
	if (rd_bool(in) && (r = grant_scope_get(in, &s->grant)) != 0)
		return r;
	s->began_ms = rd_u64(in);
	s->ccache = monitor_get_optional(in, PATH_MAX);
	s->monitor = (pid_t)rd_u32(in);
	s->exec_label = monitor_get_optional(in, PATH_MAX);
	s->keep_caps = rd_bool(in);
	if ((r = get_log(in, s)) != 0 || (r = rd_end(in)) != 0)
		return r;
	return buf_err(&s->auth_info);
}

void
user_state_export_keys(const struct user_state *s, struct buf *out)
{
	buf_put_string_buf(out, &s->packet_state);
	buf_put_string_buf(out, &s->kex_state);
}

int
user_state_import_keys(struct user_state *s, struct rd *in)
{
	int r;

	get_bytes(in, MONITOR_MSG_MAX, &s->packet_state);
	get_bytes(in, MONITOR_MSG_MAX, &s->kex_state);
	if ((r = rd_end(in)) != 0 || (r = buf_err(&s->packet_state)) != 0)
		return r;
	return buf_err(&s->kex_state);
}

void
user_state_clear(struct user_state *s)
{
	server_conf_clear(&s->conf);
	free(s->user.name);
	free(s->user.home);
	free(s->user.shell);
	permits_clear(&s->permits);
	peer_clear(&s->peer);
	free(s->peer_text);
	free(s->remote);
	free(s->id_local);
	hostkeys_clear(&s->keys);
	free(s->gss_kex);
	strlist_clear(&s->login_env);
	strlist_clear(&s->client_lines);
	buf_clear(&s->auth_info);
	grant_scope_clear(&s->grant);
	free(s->ccache);
	free(s->exec_label);
	strlist_clear(&s->log_locations);
	buf_clear(&s->packet_state);
	buf_clear(&s->kex_state);
	explicit_bzero(s, sizeof *s);
}

/* ---- over the socket -------------------------------------------------- */

int
user_state_send(const struct user_state *s, int fd)
{
	struct buf b;
	int r;

	buf_init_secret(&b);
	if ((r = user_state_export(s, &b)) == 0)
		r = fd_send_msg(fd, &b);
	buf_reset(&b);
	if (r == 0) {
		user_state_export_keys(s, &b);
		if ((r = buf_err(&b)) == 0)
			r = fd_send_msg(fd, &b);
	}
	buf_clear(&b);
	return r;
}

int
user_state_receive(struct user_state *s, int fd)
{
	struct buf b;
	struct rd rd;
	int r;

	memset(s, 0, sizeof *s);
	buf_init_secret(&b);
	if ((r = fd_receive_msg(fd, &b, USER_STATE_MAX)) == 0) {
		rd = rd_from_buf(&b);
		r = user_state_import(s, &rd);
	}
	buf_clear(&b);
	return r;
}

int
user_state_receive_keys(struct user_state *s, int fd)
{
	struct buf b;
	struct rd rd;
	int r;

	buf_init_secret(&b);
	if ((r = fd_receive_msg(fd, &b, 2 * MONITOR_MSG_MAX)) == 0) {
		rd = rd_from_buf(&b);
		r = user_state_import_keys(s, &rd);
	}
	buf_clear(&b);
	return r;
}
