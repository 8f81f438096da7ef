/* SPDX-License-Identifier: ISC */
#include "agent/destinations.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd-mem.h"
#include "keys/cert.h"

enum { USER_MAX = 256, HOST_MAX = 4096, /* bytes */ STEP = 8 };

static bool
span_same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* ---- reading destinations ------------------------------------------------ */

/* Appends the key's blob as key_to_blob() writes it, so that blobs can be
 * compared. A blob of an unknown type is appended as it is: no host can be
 * bound by such a key, so it never matches. */
static int
put_canonical(struct span blob, struct buf *out)
{
	struct key *k = NULL;
	int r = key_from_blob(blob, &k);

	if (r == ERR_KEY_TYPE) {
		buf_put(out, blob.p, blob.len);
		return buf_err(out);
	}
	if (r == 0)
		r = key_to_blob(k, out);
	key_free(k);
	return r;
}

static int
add_key(struct dest_end *end, struct span blob, bool is_ca, struct buf *blobs)
{
	struct dest_key *more;
	size_t at = buf_len(blobs);
	int r;

	if (end->n % STEP == 0) {
		more = reallocarray(end->keys, end->n + STEP,
		    sizeof *more);
		if (more == NULL)
			return ERR_NOMEM;
		end->keys = more;
	}
	if ((r = put_canonical(blob, blobs)) != 0)
		return r;
	end->keys[end->n++] = (struct dest_key){ .at = at,
		.len = buf_len(blobs) - at, .is_ca = is_ca };
	return 0;
}

/* Reads a text; NULL if it is empty (or malformed, see rd_err()). The caller
 * frees it. */
static char *
optional_text(struct rd *rd, size_t max)
{
	char *s = rd_cstring(rd, max);

	if (s != NULL && *s == '\0') {
		free(s);
		s = NULL;
	}
	return s;
}

static int
parse_end(struct rd rd, struct dest_end *end, struct buf *blobs)
{
	struct span reserved, blob;
	bool is_ca;
	int r;

	end->user = optional_text(&rd, USER_MAX);
	end->host = optional_text(&rd, HOST_MAX);
	reserved = rd_string(&rd);
	if ((r = rd_err(&rd)) != 0)
		return r;
	if (reserved.len > 0)
		return ERR_UNSUPPORTED;
	while (rd.len > 0) {
		blob = rd_string(&rd);
		is_ca = rd_bool(&rd);
		if ((r = rd_err(&rd)) != 0 ||
		    (r = add_key(end, blob, is_ca, blobs)) != 0)
			return r;
	}
	return 0;
}

static int
parse_one(struct rd rd, struct destination *d, struct buf *blobs)
{
	struct rd from = rd_sub(&rd), to = rd_sub(&rd);
	struct span reserved = rd_string(&rd);
	int r;

	if ((r = rd_end(&rd)) != 0)
		return r;
	if (reserved.len > 0)
		return ERR_UNSUPPORTED;
	if ((r = parse_end(from, &d->from, blobs)) != 0 ||
	    (r = parse_end(to, &d->to, blobs)) != 0)
		return r;
	/* from is empty if the hop begins at the agent's host; else it has a
	 * host and its keys. */
	if (d->from.user != NULL ||
	    (d->from.host == NULL) != (d->from.n == 0))
		return ERR_FORMAT;
	return d->to.host == NULL || d->to.n == 0 ? ERR_FORMAT : 0;
}

static int
add_destination(struct destinations *d, struct rd rd)
{
	struct destination *more;

	if (d->n == AGENT_DESTINATIONS_MAX)
		return ERR_LIMIT;
	if (d->n % STEP == 0) {
		more = reallocarray(d->v, d->n + STEP, sizeof *more);
		if (more == NULL)
			return ERR_NOMEM;
		d->v = more;
	}
	d->v[d->n] = (struct destination){ 0 };
	return parse_one(rd, &d->v[d->n++], &d->blobs);
}

int
destinations_parse(struct rd list, struct destinations *out)
{
	struct rd rd;
	int r;

	*out = (struct destinations){ 0 };
	while (list.len > 0) {
		rd = rd_sub(&list);
		if ((r = rd_err(&list)) != 0 ||
		    (r = add_destination(out, rd)) != 0)
			return r;
	}
	if ((r = rd_err(&list)) != 0)
		return r;
	return out->n == 0 ? ERR_FORMAT : 0;
}

static void
end_clear(struct dest_end *e)
{
	free(e->user);
	free(e->host);
	free(e->keys);
}

void
destinations_clear(struct destinations *d)
{
	for (size_t i = 0; i < d->n; i++) {
		end_clear(&d->v[i].from);
		end_clear(&d->v[i].to);
	}
	free(d->v);
	buf_clear(&d->blobs);
	*d = (struct destinations){ 0 };
}

static int
end_copy(const struct dest_end *e, struct dest_end *out)
{
	if (e->user != NULL && (out->user = strdup(e->user)) == NULL)
		return ERR_NOMEM;
	if (e->host != NULL && (out->host = strdup(e->host)) == NULL)
		return ERR_NOMEM;
	if (e->n == 0)
		return 0;
	out->keys = calloc(e->n, sizeof *out->keys);
	if (out->keys == NULL)
		return ERR_NOMEM;
	memcpy(out->keys, e->keys, e->n * sizeof *out->keys);
	out->n = e->n;
	return 0;
}

int
destinations_copy(const struct destinations *d, struct destinations *out)
{
	int r = 0;

	if (d->n == 0)
		return 0;
	out->v = calloc(d->n, sizeof *out->v);
	if (out->v == NULL)
		return ERR_NOMEM;
	buf_put_buf(&out->blobs, &d->blobs);
	while (r == 0 && out->n < d->n) {
		r = end_copy(&d->v[out->n].from, &out->v[out->n].from);
		if (r == 0)
			r = end_copy(&d->v[out->n].to, &out->v[out->n].to);
		out->n++;
	}
	return r != 0 ? r : buf_err(&out->blobs);
}

/* ---- binds --------------------------------------------------------------- */

static void
bind_clear(struct bind *b)
{
	key_free(b->host_key);
	buf_clear(&b->blob);
	buf_clear(&b->id);
	*b = (struct bind){ 0 };
}

void
binds_clear(struct binds *b)
{
	for (size_t i = 0; i < b->n; i++)
		bind_clear(&b->v[i]);
	*b = (struct binds){ 0 };
}

/* Verifies the host's signature of the session id. The signature names its
 * algorithm. */
static int
verify(const struct key *host_key, struct span id, struct span signature)
{
	const struct key *k = key_identity(host_key);
	struct rd rd = rd_from_span(signature);
	struct span alg = rd_string(&rd);
	const struct key_alg *row;

	for (size_t i = 0; (row = key_alg_at(i)) != NULL; i++)
		if (rd_err(&rd) == 0 && span_equals(alg, row->name) &&
		    key_serves(k, row->name))
			return key_verify(k, row->name, id, signature);
	return ERR_SIGNATURE;
}

static int
read_bind(struct rd *fields, struct bind *out)
{
	struct span blob = rd_string(fields), id = rd_string(fields);
	struct span signature = rd_string(fields);
	int r;

	out->forwarding = rd_bool(fields);
	if ((r = rd_end(fields)) != 0)
		return r;
	if (id.len == 0 || id.len > AGENT_SESSION_ID_MAX)
		return ERR_FORMAT;
	if ((r = key_from_blob(blob, &out->host_key)) != 0 ||
	    (r = key_to_blob(out->host_key, &out->blob)) != 0)
		return r;
	buf_put(&out->id, id.p, id.len);
	if ((r = buf_err(&out->id)) != 0)
		return r;
	return verify(out->host_key, id, signature);
}

/* Checks a new bind against those of this connection. ERR_DENIED: an earlier
 * bind was not for forwarding, so nothing may follow it, or the same session
 * has another host key. Sets *known if there is the same bind already. */
static int
compare_with_earlier(const struct binds *b, const struct bind *fresh,
    bool *known)
{
	*known = false;
	for (size_t i = 0; i < b->n; i++) {
		if (!b->v[i].forwarding)
			return ERR_DENIED;
		if (!span_same(buf_span(&b->v[i].id),
			buf_span(&fresh->id)))
			continue;
		if (!span_same(buf_span(&b->v[i].blob),
			buf_span(&fresh->blob)))
			return ERR_DENIED;
		*known = true;
	}
	return 0;
}

int
binds_add(struct binds *b, struct rd *fields)
{
	struct bind fresh = { 0 };
	bool known = false;
	int r;

	b->tried = true;
	r = read_bind(fields, &fresh);
	if (r == 0)
		r = compare_with_earlier(b, &fresh, &known);
	if (r == 0 && !known && b->n == BINDS_MAX)
		r = ERR_LIMIT;
	if (r == 0 && !known)
		b->v[b->n++] = fresh;
	else
		bind_clear(&fresh);
	return r;
}

/* ---- the rules ----------------------------------------------------------- */

/* Is b's host the one that end describes? Its host key is one of end's keys, or
 * it has a valid certificate for the host's name by one of end's
 * authorities. */
static bool
is_at(const struct destinations *d, const struct dest_end *end,
    const struct bind *b, uint64_t now)
{
	const struct cert *cert = key_cert(b->host_key);
	struct buf ca = { 0 };
	struct span key = buf_span(&b->blob);
	bool found = false;

	if (cert != NULL) {
		if (end->host == NULL ||
		    cert_host_refusal(cert, now, end->host,
			key_alg_default_plain_list()) != NULL ||
		    key_to_blob(cert->ca, &ca) != 0)
			goto out;
		key = buf_span(&ca);
	}
	for (size_t i = 0; i < end->n && !found; i++) {
		const struct dest_key *k = &end->keys[i];

		found = k->is_ca == (cert != NULL) &&
		    span_same(key, (struct span){ buf_data(&d->blobs) + k->at,
				       k->len });
	}
out:
	buf_clear(&ca);
	return found;
}

/* Does a destination allow the hop from one host to another, as this user? from
 * NULL: the hop begins at the agent's host. to NULL: to any host. user NULL: as
 * any user. */
static bool
leads(const struct destinations *d, const struct bind *from,
    const struct bind *to, const char *user, uint64_t now)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct destination *v = &d->v[i];

		if (from == NULL ? v->from.n > 0 :
				   !is_at(d, &v->from, from, now))
			continue;
		if (to != NULL && !is_at(d, &v->to, to, now))
			continue;
		if (user != NULL && v->to.user != NULL &&
		    !str_match(user, v->to.user))
			continue;
		return true;
	}
	return false;
}

/* Why the key may not be used on this connection; NULL: it may. user: the user
 * of a login that is to be signed; NULL: nothing is signed. */
static const char *
refuse(const struct destinations *d, const struct binds *b, const char *user,
    uint64_t now)
{
	const struct bind *last;

	if (b->n == 0)
		return b->tried ? "its connection could not be bound" : NULL;
	last = &b->v[b->n - 1];
	for (const struct bind *to = b->v; to <= last; to++) {
		const struct bind *from = to > b->v ? to - 1 : NULL;

		if (to < last && !to->forwarding)
			return "it is forwarded over a connection that is not "
			       "for that";
		if (!leads(d, from, to, to == last ? user : NULL, now))
			return "no destination of the key allows the way";
	}
	if (last->forwarding && user != NULL)
		return "the last host is not where somebody logs in";
	if (last->forwarding && !leads(d, last, NULL, NULL, now))
		return "no destination of the key begins at the last host";
	return NULL;
}

const char *
destinations_refuse(const struct destinations *d, const struct binds *b,
    uint64_t now)
{
	return d->n == 0 ? NULL : refuse(d, b, NULL, now);
}

const char *
destinations_refuse_signing(const struct destinations *d,
    const struct binds *b, const struct sign_data *data, uint64_t now)
{
	const struct bind *last;

	if (d->n == 0)
		return NULL;
	if (b->n == 0)
		return b->tried ? "its connection could not be bound" :
				  "its connection is bound to no session";
	if (data->kind != SIGN_DATA_LOGIN)
		return "it is not for a login";
	last = &b->v[b->n - 1];
	if (!span_same(data->session_id, buf_span(&last->id)))
		return "it is for another session";
	if (data->host_key.p == NULL && b->n > 1)
		return "it does not name the host";
	if (data->host_key.p != NULL &&
	    !span_same(data->host_key, buf_span(&last->blob)))
		return "it is for another host";
	return refuse(d, b, data->user, now);
}
