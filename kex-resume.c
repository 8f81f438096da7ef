/* SPDX-License-Identifier: ISC */
/* Goes on with the keys that another transport has agreed on, which replaces a
 * lost one (packet_resume()). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kex-internal.h"
#include "kex-resume.h"

static void
swap_text(char **a, char **b)
{
	char *t = *a;

	*a = *b;
	*b = t;
}

static void
take_ext(struct kex_ext *e, struct kex_ext *fresh)
{
	char *sig_algs = e->sig_algs, *peers = e->peer_sig_algs;

	*e = *fresh;
	e->sig_algs = sig_algs; /* our own announcements are not part of the
				 * transport */
	fresh->sig_algs = NULL;
	fresh->peer_sig_algs = peers;
}

int
kex_resume(struct kex *k, struct kex *fresh)
{
	struct kex_result was = k->result;
	struct buf hostkey = k->hostkey;

	if (kex_running(fresh) || !fresh->first_done)
		return ERR_AGAIN;
	kex_end_exchange(k);
	for (int i = 0; i < KEX_LIST_COUNT; i++)
		swap_text(&k->peer[i], &fresh->peer[i]);
	swap_text(&k->sent_ciphers, &fresh->sent_ciphers);
	swap_text(&k->sent_macs, &fresh->sent_macs);
	swap_text(&k->id_client, &fresh->id_client);
	swap_text(&k->id_server, &fresh->id_server);
	k->result = fresh->result;
	fresh->result = was;
	k->hostkey = fresh->hostkey;
	fresh->hostkey = hostkey;
	take_ext(&k->ext, &fresh->ext);
	k->peer_traits = fresh->peer_traits;
	k->kem_alg = fresh->kem_alg;
	k->strict = fresh->strict;
	k->early = 0;
	k->gss.used = fresh->gss.used;
	memcpy(k->session_id, fresh->session_id, sizeof k->session_id);
	k->session_id_len = fresh->session_id_len;
	return 0;
}
