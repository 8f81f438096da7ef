/* SPDX-License-Identifier: ISC */
/* The second EXT_INFO, about the user, and what the peer has announced in its
 * own. */
#include "kex-internal.h"

int
kex_put_user_ext(const struct kex *k, const struct kex_user_ext *e)
{
	struct buf b;
	int r;

	if (!k->ext.peer_in_auth || packet_is_authenticated(k->packet))
		return 0;
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_EXT_INFO);
	buf_put_u32(&b, 1 + (uint32_t)e->tickets + (uint32_t)e->survive);
	buf_put_cstring(&b, "server-sig-algs");
	buf_put_cstring(&b, e->sig_algs);
	if (e->tickets) {
		buf_put_cstring(&b, KEX_EXT_TICKET);
		buf_put_cstring(&b, "1");
	}
	if (e->survive) {
		buf_put_cstring(&b, KEX_EXT_SURVIVE);
		buf_put_cstring(&b, "1");
	}
	r = packet_put(k->packet, &b);
	buf_clear(&b);
	return r;
}

bool
kex_peer_pings(const struct kex *k)
{
	return k->ext.peer_pings;
}

bool
kex_peer_hostbound(const struct kex *k)
{
	return k->ext.peer_hostbound;
}

bool
kex_peer_tickets(const struct kex *k)
{
	return k->ext.peer_tickets;
}

bool
kex_peer_survives(const struct kex *k)
{
	return k->ext.peer_survives;
}

bool
kex_peer_agent_forward(const struct kex *k)
{
	return k->ext.peer_agent_forward;
}

bool
kex_peer_takes_early(const struct kex *k)
{
	return k->ext.peer_takes_early;
}
