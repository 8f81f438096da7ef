/* SPDX-License-Identifier: ISC */
/* Takes the kex state of a connection over from another process of ours. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kex-internal.h"

enum {
	TEXT_MAX = 64 * 1024,
	BLOB_MAX = 64 * 1024,
	ID_MAX = 255, /* RFC 4253 section 4.2 */
};

/* The name as a pointer into the table of ciphers, which needs no free(). */
static const char *
cipher_name(struct rd *r)
{
	char *name = rd_cstring(r, TEXT_MAX);
	const struct cipher_alg *alg = NULL;

	if (name != NULL)
		alg = cipher_by_name(name);
	if (alg == NULL)
		rd_fail(r, ERR_FORMAT);
	free(name);
	return alg != NULL ? alg->name : NULL;
}

static const char *
mac_name(struct rd *r)
{
	char *name = rd_cstring(r, TEXT_MAX);
	const struct mac_alg *alg = NULL;

	if (name != NULL)
		alg = mac_by_name(name);
	free(name);
	return alg != NULL ? alg->name : "<implicit>";
}

/* Reads the peer's identification line, and the traits that the exporting
 * process found in that line. */
static void
import_peer(struct kex *k, struct rd *in)
{
	char **id = k->server ? &k->id_client : &k->id_server;

	free(*id);
	*id = rd_cstring(in, ID_MAX);
	k->peer_traits = rd_u32(in);
}

int
kex_import(struct kex *k, struct rd *in)
{
	struct span id = rd_string(in), hostkey;
	struct kex_result *res = &k->result;
	char *kem;

	import_peer(k, in);
	hostkey = rd_string(in);
	if (rd_err(in) != 0 || id.len > sizeof k->session_id ||
	    hostkey.len > BLOB_MAX)
		return ERR_FORMAT;
	memcpy(k->session_id, id.p, id.len);
	k->session_id_len = id.len;
	buf_put(&k->hostkey, hostkey.p, hostkey.len);
	k->strict = rd_bool(in);
	k->ext.peer_wants = rd_bool(in);
	k->ext.peer_hostbound = rd_bool(in);
	k->ext.peer_takes_early = rd_bool(in);
	kem = rd_cstring(in, TEXT_MAX);
	if (kem != NULL)
		k->kem_alg = kem_by_name(kem);
	free(kem);
	free(res->hostkey_alg);
	res->hostkey_alg = rd_cstring(in, TEXT_MAX);
	res->cipher_tx = cipher_name(in);
	res->cipher_rx = cipher_name(in);
	res->mac_tx = mac_name(in);
	res->mac_rx = mac_name(in);
	res->comp_tx = rd_bool(in) ? "zlib@openssh.com" : "none";
	res->comp_rx = rd_bool(in) ? "zlib@openssh.com" : "none";
	if (rd_err(in) != 0 || k->kem_alg == NULL)
		return ERR_FORMAT;
	res->kex = k->kem_alg->name;
	res->post_quantum = k->kem_alg->post_quantum;
	k->first_done = true;
	return buf_err(&k->hostkey);
}
