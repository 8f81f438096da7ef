/* SPDX-License-Identifier: ISC */
#include "server/listener/admission.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/addr-match.h"
#include "server/listener/penalties.h"
#include "server/peer.h"

enum {
	SECOND_US = 1000 * 1000,
	LEVEL_MAX = 60,		/* the highest level: it is 0 after so many
				 * seconds without drops */
	SUMMARY_S = 5 * 60,	/* seconds between lines that count the omitted
				 * ones */
	LIMITS_LOGGED = 4,	/* level from which on drops are not logged */
	PENALTIES_LOGGED = 8,
};

/* Limits the log lines about one kind of drop. Each drop raises the level by
 * one, and each second lowers it by one. At the level too_high or above a line
 * is omitted and only counted. */
struct drop_log {
	const char *what;
	int too_high, level;
	int64_t lowered_us; /* when the level was last lowered */
	unsigned omitted;
	int64_t summary_us; /* when the first of the omitted lines was
			     * counted */
};

struct admission {
	const struct server_conf *conf;
	struct penalties *penalties;
	struct drop_log limit_log, penalty_log;
};

struct admission *
admission_new(const struct server_conf *conf)
{
	struct admission *a = xcalloc(1, sizeof *a);

	a->conf = conf;
	a->penalties = penalties_new(&conf->listen.per_source_penalties);
	a->limit_log.what = "Maxstartups";
	a->limit_log.too_high = LIMITS_LOGGED;
	a->penalty_log.what = "PerSourcePenalties";
	a->penalty_log.too_high = PENALTIES_LOGGED;
	return a;
}

void
admission_free(struct admission *a)
{
	if (a == NULL)
		return;
	penalties_free(a->penalties);
	free(a);
}

struct admission_peer
admission_peer_of(const struct admission *a, const struct sockaddr *sa,
    socklen_t len)
{
	const char *exempt = a->conf->listen.per_source_penalty_exempt_list;
	struct admission_peer peer = {
		.source = startups_source_of(sa,
		    &a->conf->listen.per_source_net_block_size),
	};
	uint16_t port;
	char *address;

	if (exempt == NULL)
		return peer;
	address = peer_format_address(sa, len, &port);
	peer.exempt = addr_match_list(address, exempt) == 1;
	free(address);
	return peer;
}

/* ---- lines about drops -------------------------------------------------- */

static void
lower_level(struct drop_log *d, int64_t now_us)
{
	int64_t seconds = (now_us - d->lowered_us) / SECOND_US;

	if (seconds >= d->level) {
		d->level = 0;
		d->lowered_us = now_us;
	} else if (seconds > 0) {
		d->level -= (int)seconds;
		d->lowered_us += seconds * SECOND_US;
	}
}

static void
log_omitted(struct drop_log *d, int64_t now_us)
{
	lower_level(d, now_us);
	if (d->omitted == 0 || (d->level >= d->too_high &&
		now_us - d->summary_us < (int64_t)SUMMARY_S * SECOND_US))
		return;
	log_info("%s logging rate-limited: additional %u connections dropped",
	    d->what, d->omitted);
	d->omitted = 0;
}

/* Counts a drop. Returns the level for its log line: DEBUG3 if the line is
 * omitted. */
static enum log_level
count_drop(struct drop_log *d, int64_t now_us)
{
	if (d->level < LEVEL_MAX)
		d->level++;
	if (d->level < d->too_high)
		return LOG_LVL_INFO;
	if (d->omitted++ == 0)
		d->summary_us = now_us;
	return LOG_LVL_DEBUG3;
}

static void
log_drop(int fd, const struct sockaddr *sa, socklen_t len, int startups,
    enum log_level level, const char *penalty)
{
	struct sockaddr_storage own = { .ss_family = AF_UNSPEC };
	socklen_t own_len = sizeof own;
	uint16_t port, own_port;
	char *address, *own_address;

	if (level > log_get_level())
		return;
	if (getsockname(fd, (struct sockaddr *)&own, &own_len) == -1)
		own.ss_family = AF_UNSPEC;
	address = peer_format_address(sa, len, &port);
	own_address = peer_format_address((struct sockaddr *)&own, own_len,
	    &own_port);
	log_msg(level, "drop connection #%d from [%s]:%u on [%s]:%u %s%s",
	    startups, address, port, own_address, own_port,
	    penalty != NULL ? "penalty: " : "Maxstartups",
	    penalty != NULL ? penalty : "");
	free(address);
	free(own_address);
}

const char *
admission_refuses(struct admission *a, int fd, const struct sockaddr *sa,
    socklen_t len, const struct admission_peer *peer,
    const struct admission_load *load, int64_t now_us)
{
	const struct server_conf *c = a->conf;
	const char *penalty = peer->exempt ? NULL :
	    penalties_refuse(a->penalties, &peer->source, now_us);
	const char *keyword;

	log_omitted(&a->limit_log, now_us);
	log_omitted(&a->penalty_log, now_us);
	if (penalty != NULL)
		keyword = "PerSourcePenalties";
	else if (startups_drop(&c->listen.max_startups, load->startups,
		     load->chance))
		keyword = "MaxStartups";
	else if (load->same_source >= c->listen.per_source_max_startups)
		keyword = "PerSourceMaxStartups";
	else
		return NULL;
	log_drop(fd, sa, len, load->startups,
	    count_drop(penalty != NULL ? &a->penalty_log : &a->limit_log,
		now_us),
	    penalty);
	return keyword;
}

/* ---- penalties ---------------------------------------------------------- */

static void
log_penalty(const struct admission *a, const struct startups_source *source,
    enum penalties_effect effect, enum penalty_class c, int64_t rest_us)
{
	const struct server_net_bits *bits =
	    &a->conf->listen.per_source_net_block_size;
	bool four = source->family == 4;
	const char *family = four ? "ipv4" : "ipv6";
	bool deferred = effect == PENALTIES_DEFERRED;
	double seconds = (double)rest_us / SECOND_US;
	char address[INET6_ADDRSTRLEN], net[INET6_ADDRSTRLEN + 8];

	if (inet_ntop(four ? AF_INET : AF_INET6, source->bytes, address,
		sizeof address) == NULL)
		return;
	snprintf(net, sizeof net, "%s/%d", address,
	    four ? bits->ipv4 : bits->ipv6);
	if (effect == PENALTIES_ACTIVATED)
		log_info("srclimit_penalise: %s: activating %s penalty of "
			 "%.3f seconds for penalty: %s",
		    net, family, seconds, penalties_reason(c));
	else
		log_msg(deferred ? LOG_LVL_VERBOSE : LOG_LVL_INFO,
		    "srclimit_penalise: %s: new %s %s penalty of %.3f seconds "
		    "for penalty: %s",
		    family, net, deferred ? "deferred" : "active", seconds,
		    penalties_reason(c));
}

void
admission_penalise(struct admission *a, const struct admission_peer *peer,
    enum penalty_class c, int64_t now_us)
{
	enum penalties_effect effect;
	int64_t rest_us;

	if (peer->exempt)
		return;
	effect = penalties_add(a->penalties, &peer->source, c, now_us,
	    &rest_us);
	if (effect != PENALTIES_NOTHING && effect != PENALTIES_RAISED)
		log_penalty(a, &peer->source, effect, c, rest_us);
}
