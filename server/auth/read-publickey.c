/* SPDX-License-Identifier: ISC */
/*
 * "publickey" (RFC 4252 section 7), and its alias
 * publickey-hostbound-v00@openssh.com, in which the client also signs the
 * server's host key.
 */
#include <string.h>

#include "base/log.h"
#include "packet.h"
#include "server/auth/auth-internal.h"

static bool
is_our_hostkey(const struct kex *k, struct span key)
{
	struct span ours = kex_hostkey(k);

	return key.len == ours.len && memcmp(key.p, ours.p, ours.len) == 0;
}

int
auth_read_publickey(struct auth_try *t, struct rd *in)
{
	bool is_signed = rd_bool(in);
	struct span alg = rd_string(in), blob = rd_string(in);
	struct span host = { 0 }, signature = { 0 };
	int err;

	if (t->alias)
		host = rd_string(in);
	if (is_signed)
		signature = rd_string(in);
	if ((err = rd_end(in)) != 0)
		return err;
	if (t->alias && !is_our_hostkey(t->kex, host)) {
		log_info("client signs for another host key than ours");
		return ERR_PROTOCOL;
	}
	buf_put_bool(&t->fields, is_signed);
	buf_put_string(&t->fields, alg.p, alg.len);
	buf_put_string(&t->fields, blob.p, blob.len);
	if (is_signed) {
		buf_put_bool(&t->fields, t->alias);
		buf_put_string(&t->fields, host.p, host.len);
		buf_put_string(&t->fields, signature.p, signature.len);
		return 0;
	}
	/* The message that tells the client that it may sign with this key. */
	buf_put_u8(&t->key_ok, SSH_MSG_USERAUTH_PK_OK);
	buf_put_string(&t->key_ok, alg.p, alg.len);
	buf_put_string(&t->key_ok, blob.p, blob.len);
	return 0;
}
