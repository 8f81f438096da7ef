/* SPDX-License-Identifier: ISC */
/* Applies a struct connection_settings to packets and channels. A source of its
 * own, because hpnsshd-auth has connection.c but no channels. */
#include "channels.h"
#include "connection.h"
#include "peer-version.h"

void
connection_apply(const struct connection_settings *s, struct packet *p,
    const struct kex *k, struct channels *chs)
{
	channels_set_exact_windows(chs,
	    !(kex_peer_traits(k) & PEER_TAKES_WIDE_WINDOWS));
	channels_take_early(chs);
	channels_send_early(chs, kex_peer_takes_early(k));
	channels_set_dynamic(chs, s->dynamic_windows);
	packet_set_threads(p, s->threads);
	packet_set_form(p, s->form, s->deny_keystream);
}
