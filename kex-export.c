/* SPDX-License-Identifier: ISC */
/* Hands the kex state of a connection over to another process of ours. The
 * process that takes it uses kex-import.c: hpnsshd-auth, which takes nothing,
 * is linked without that. */
#include <string.h>

#include "kex-internal.h"

int
kex_export(const struct kex *k, struct buf *out)
{
	/* Only between exchanges, when there is no half-made secret. */
	if (kex_running(k) || !k->first_done)
		return ERR_AGAIN;
	buf_put_string(out, k->session_id, k->session_id_len);
	buf_put_cstring(out, k->server ? k->id_client : k->id_server);
	buf_put_u32(out, k->peer_traits);
	buf_put_string_buf(out, &k->hostkey);
	buf_put_bool(out, k->strict);
	buf_put_bool(out, k->ext.peer_wants);
	buf_put_bool(out, k->ext.peer_hostbound);
	buf_put_bool(out, k->ext.peer_takes_early);
	buf_put_cstring(out, k->result.kex);
	buf_put_cstring(out, k->result.hostkey_alg);
	buf_put_cstring(out, k->result.cipher_tx);
	buf_put_cstring(out, k->result.cipher_rx);
	buf_put_cstring(out, k->result.mac_tx);
	buf_put_cstring(out, k->result.mac_rx);
	buf_put_bool(out, strcmp(k->result.comp_tx, "none") != 0);
	buf_put_bool(out, strcmp(k->result.comp_rx, "none") != 0);
	return buf_err(out);
}
