/* SPDX-License-Identifier: ISC */
#include "client/connect/tell-end.h"

#include <errno.h>
#include <string.h>

#include "base/called.h"
#include "base/log.h"
#include "conf/defaults.h"
#include "kex.h"
#include "packet.h"

/* The beginning of OpenSSH's line for errors that neither the user nor the peer
 * has caused. Programs look for it. */
#define FATAL "ssh_dispatch_run_fatal: Connection to "

static const char *
what_did_not_match(int err)
{
	switch (err) {
	case ERR_NO_KEX_MATCH:
		return "key exchange method";
	case ERR_NO_HOSTKEY_MATCH:
		return "host key type";
	case ERR_NO_CIPHER_MATCH:
		return "cipher";
	case ERR_NO_MAC_MATCH:
		return "MAC";
	case ERR_NO_COMP_MATCH:
		return "compression";
	default:
		return NULL;
	}
}

static void
tell_disconnect(const struct tell_end *t)
{
	uint32_t reason = 0;
	const char *text = packet_disconnect_text(t->packet, &reason);

	log_error("Received disconnect from %s port %u:%u: %s", t->name,
	    t->link->port, reason, text);
	log_error("Disconnected from %s port %u", t->name, t->link->port);
}

/* Logs that the connection was closed or reset. Behind a proxy the server has
 * no address; there, programs look for "UNKNOWN port 65535", as OpenSSH
 * prints. */
static void
tell_closed(const struct tell_end *t, bool reset)
{
	const char *how = reset ? "reset" : "closed";

	if (t->link->proxy != 0)
		log_error("Connection %s by UNKNOWN port 65535", how);
	else
		log_error("Connection %s by %s port %u", how, t->name,
		    t->link->port);
}

/* Logs that the connection broke. The user need not tell an end of the stream,
 * a reset and a timeout of TCP from each other. */
static void
tell_lost(const struct tell_end *t, int err)
{
	/* With a proxy, ECONNRESET is not the host's doing: the socket pair to
	 * the proxy gives it if the proxy ends with unread bytes. */
	bool reset = err == ERR_SYSTEM && errno == ECONNRESET &&
	    t->link->proxy == 0;

	if (t->authenticated) {
		if (err == ERR_SYSTEM)
			log_error("Connection to %s lost: %s",
			    t->conf->host.hostname, err_text(err));
		else
			log_error("Connection to %s closed by remote host.",
			    t->conf->host.hostname);
		return;
	}
	if (!t->identified) {
		log_error("kex_exchange_identification: %s", reset ?
		    "read: Connection reset by peer" :
		    "Connection closed by remote host");
		if (t->last_line != NULL)
			log_error("%s: it says: %s",
			    called_ssh(), t->last_line);
	}
	tell_closed(t, reset);
}

void
tell_end(const struct tell_end *t, int err)
{
	const char *what = what_did_not_match(err), *offer;

	if (what != NULL) {
		offer = kex_peer_offer(t->kex, err);
		log_error("Unable to negotiate with %s port %u: no matching %s "
			  "found. Their offer: %s",
		    t->name, t->link->port, what, offer != NULL ? offer : "");
		return;
	}
	switch (err) {
	case ERR_DENIED:
	case ERR_HOSTKEY:
		break; /* logged where it happened */
	case ERR_CLOSED:
	case ERR_EOF:
	case ERR_SYSTEM:
		tell_lost(t, err);
		break;
	case ERR_DISCONNECTED:
		tell_disconnect(t);
		break;
	case ERR_TIMEOUT:
		log_error("Timeout, server %s not responding.",
		    t->conf->host.hostname);
		break;
	default:
		if (t->link->proxy != 0)
			log_error(FATAL "UNKNOWN port 65535: %s",
			    err_text(err));
		else
			log_error(FATAL "%s port %u: %s", t->name,
			    t->link->port, err_text(err));
	}
}

void
tell_authenticated(const char *host, const char *name,
    const struct sshlink *link, const char *method)
{
	if (link->proxy != 0)
		log_verbose("Authenticated to %s (via proxy) using \"%s\".",
		    host, method);
	else
		log_verbose("Authenticated to %s ([%s]:%u) using \"%s\".",
		    host, name, link->port, method);
}

void
tell_transferred(const struct packet *p, uint64_t took_ms)
{
	double sent = (double)packet_counters(p, PACKET_TX).bytes;
	double received = (double)packet_counters(p, PACKET_RX).bytes;
	double seconds = (double)(took_ms > 0 ? took_ms : 1) / 1000;

	log_verbose("Transferred: sent %.0f, received %.0f bytes, in %.1f "
		    "seconds", sent, received, seconds);
	log_verbose("Bytes per second: sent %.1f, received %.1f",
	    sent / seconds, received / seconds);
}

void
tell_identifications(const struct client_conf *conf, const char *ours,
    const char *theirs)
{
	size_t len = strcspn(theirs, "-"), version;
	const char *rest = theirs + len + (theirs[len] == '-');

	version = strcspn(rest, "-");
	log_debug("Local version string %s", ours);
	log_debug("Remote protocol version %.*s, remote software version %s",
	    (int)version, rest, rest + version + (rest[version] == '-'));
	log_debug("Authenticating to %s:%u as '%s'", conf->host.hostname,
	    conf->host.port, conf->host.user);
}

void
tell_fallback(const struct client_conf *conf, const struct sshlink *link,
    bool is_known)
{
	bool quiet = is_known || conf->auth.batch_mode;

	if (link->fell_from == 0)
		return;
	log_msg(quiet ? LOG_LVL_VERBOSE : LOG_LVL_INFO,
	    "HPNSSH server not available on default port %u, falling back to "
	    "%s port %u",
	    link->fell_from, link->port == HPN_FALLBACK_PORT ?
		"OpenSSH default" : "user defined", link->port);
}
