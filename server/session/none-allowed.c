/* SPDX-License-Identifier: ISC */
#include "server/session/none-allowed.h"

#include <string.h>

#include "base/log.h"

void
none_offer(struct kex *k, const struct server_conf *conf)
{
	if (conf->data.none_enabled)
		kex_set_none(
		    k, KEX_NONE_LAST, conf->data.none_mac_enabled != 0);
}

bool
none_exclude(struct kex *k, const struct packet *p, const char *what)
{
	if (strcmp(packet_cipher_name(p, PACKET_TX), "none") == 0 ||
	    strcmp(packet_cipher_name(p, PACKET_RX), "none") == 0) {
		log_info("%s is refused: the connection is not encrypted",
		    what);
		return false;
	}
	/* This also holds for a running key exchange that has offered "none"
	 * already. */
	kex_set_none(k, KEX_NONE_NEVER, false);
	return true;
}
