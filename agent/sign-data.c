/* SPDX-License-Identifier: ISC */
#include "agent/sign-data.h"

#include <stdlib.h>
#include <string.h>

enum { USERAUTH_REQUEST = 50, NAME_MAX_LEN = 256, USER_MAX_LEN = 4096 };

static bool
span_same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* May k sign by the algorithm alg? */
static bool
alg_fits(struct span alg, const struct key *k)
{
	char *name = alg.len <= NAME_MAX_LEN ? span_dup(alg) : NULL;
	bool fits = name != NULL && key_serves(k, name);

	free(name);
	return fits;
}

static bool
read_login(struct span data, const struct key *k, struct span blob,
    struct sign_data *out)
{
	struct rd rd = rd_from_span(data);
	struct span user, service, method, alg, key;
	bool bound;

	out->session_id = rd_string(&rd);
	if (rd_u8(&rd) != USERAUTH_REQUEST)
		return false;
	user = rd_string(&rd);
	service = rd_string(&rd);
	method = rd_string(&rd);
	if (rd_u8(&rd) != 1) /* does a signature follow? */
		return false;
	alg = rd_string(&rd);
	key = rd_string(&rd);
	bound = span_equals(method, "publickey-hostbound-v00@openssh.com");
	if (bound)
		out->host_key = rd_string(&rd);
	if (rd_end(&rd) != 0 || !span_equals(service, "ssh-connection") ||
	    (!bound && !span_equals(method, "publickey")) ||
	    out->session_id.len == 0 || user.len > USER_MAX_LEN ||
	    !span_same(key, blob) || !alg_fits(alg, k))
		return false;
	if (bound && out->host_key.len == 0)
		return false;
	out->user = span_dup(user); /* NULL also if the name contains a NUL */
	return out->user != NULL;
}

static bool
read_file(struct span data)
{
	static const char magic[] = "SSHSIG";
	struct rd rd = rd_from_span(data);
	struct span begins = rd_bytes(&rd, sizeof magic - 1);
	struct span name, hash, digest;

	name = rd_string(&rd);
	(void)rd_string(&rd); /* reserved */
	hash = rd_string(&rd);
	digest = rd_string(&rd);
	if (rd_end(&rd) != 0 || !span_equals(begins, magic) || name.len == 0)
		return false;
	return (span_equals(hash, "sha512") && digest.len == 64) ||
	    (span_equals(hash, "sha256") && digest.len == 32);
}

void
sign_data_read(struct span data, const struct key *k, struct span blob,
    struct sign_data *out)
{
	*out = (struct sign_data){ .kind = SIGN_DATA_OTHER };
	if (read_login(data, k, blob, out)) {
		out->kind = SIGN_DATA_LOGIN;
		return;
	}
	*out = (struct sign_data){ .kind = SIGN_DATA_OTHER };
	if (read_file(data))
		out->kind = SIGN_DATA_FILE;
}

void
sign_data_clear(struct sign_data *d)
{
	free(d->user);
	*d = (struct sign_data){ .kind = SIGN_DATA_OTHER };
}
