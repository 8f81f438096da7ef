/* SPDX-License-Identifier: ISC */
#include "client/connect/none-switch.h"

#include <string.h>

#include "base/log.h"

/* Starts the rekey that proposes "none". If an exchange is running, our
 * proposal for it was sent already; then none_switch_rekeyed() calls this again
 * after it. */
static int
start_rekey(struct none_switch *n)
{
	if (kex_running(n->kex))
		return 0;
	n->state = NONE_SWITCH_REQUESTED;
	log_debug("asking for the cipher \"none\"");
	return kex_start(n->kex);
}

int
none_switch_start(struct none_switch *n, const struct client_conf *conf,
    struct packet *p, struct kex *k, const char *private)
{
	*n = (struct none_switch){ .packet = p, .kex = k };
	if (conf->algs.none_mac_enabled &&
	    (!conf->algs.none_switch || !conf->algs.none_enabled))
		log_info("NoneMacEnabled has no effect without NoneEnabled "
			 "and NoneSwitch");
	if (!conf->algs.none_switch)
		return 0;
	if (!conf->algs.none_enabled) {
		log_info("NoneSwitch has no effect without NoneEnabled");
		return 0;
	}
	if (private != NULL) {
		log_info("NoneSwitch has no effect on a connection with %s: "
			 "it stays encrypted", private);
		return 0;
	}
	if (conf->forward.tunnel != CLIENT_TUNNEL_NO) {
		log_info("NoneSwitch has no effect on a connection with a "
			 "tunnel: it stays encrypted");
		return 0;
	}
	n->state = NONE_SWITCH_WANTED;
	n->mac = conf->algs.none_mac_enabled != 0;
	kex_set_none(k, KEX_NONE_FIRST, n->mac);
	return start_rekey(n);
}

static bool
in_clear(const struct none_switch *n, enum packet_dir dir)
{
	return strcmp(packet_cipher_name(n->packet, dir), "none") == 0;
}

/* Tells the user what the server decided. A connection without encryption is
 * logged as an error, so that it is seen with LogLevel ERROR too. */
static void
report(const struct none_switch *n)
{
	if (!in_clear(n, PACKET_TX) && !in_clear(n, PACKET_RX)) {
		log_info("The server does not allow the cipher \"none\": the "
			 "connection stays encrypted (%s)",
		    packet_cipher_name(n->packet, PACKET_TX));
		return;
	}
	if (strcmp(packet_mac_name(n->packet, PACKET_TX), "none") == 0)
		log_error("WARNING: this connection is NOT ENCRYPTED and NOT "
			  "PROTECTED against changes (cipher none, MAC none)");
	else
		log_error("WARNING: this connection is NOT ENCRYPTED (cipher "
			  "none, MAC %s)",
		    packet_mac_name(n->packet, PACKET_TX));
}

int
none_switch_rekeyed(struct none_switch *n, bool needed)
{
	if (n->state == NONE_SWITCH_WANTED)
		return start_rekey(n);
	if (n->state != NONE_SWITCH_REQUESTED)
		return 0;
	n->state = NONE_SWITCH_DECIDED;
	if (needed && !in_clear(n, PACKET_TX) && !in_clear(n, PACKET_RX)) {
		log_error("The server does not allow the cipher \"none\"");
		return ERR_DENIED;
	}
	report(n);
	return 0;
}

bool
none_switch_leave(struct none_switch *n)
{
	if (n->state == NONE_SWITCH_OFF)
		return true;
	/* The proposal of the running exchange was sent, and may lead to
	 * "none". */
	if (kex_running(n->kex))
		return false;
	n->state = NONE_SWITCH_OFF;
	kex_set_none(n->kex, KEX_NONE_NEVER, false);
	if (!in_clear(n, PACKET_TX) && !in_clear(n, PACKET_RX))
		return true;
	log_info("A terminal is opened: the connection is encrypted again");
	return kex_start(n->kex) == 0;
}
