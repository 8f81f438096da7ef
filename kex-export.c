/* SPDX-License-Identifier: ISC */
/* Hand-over of a connection between our own processes, the kex part: who hands
 * it over. Who takes it over has another source: hpnsshd-auth takes nothing. */
#include <string.h>

#include "kex-internal.h"

int
kex_export(const struct kex *k, struct buf *out)
{
	/* Between exchanges only: there is no half-done secret to carry. */
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
