/* SPDX-License-Identifier: ISC */
#include "keytools/keyscan/scan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/dial.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/resolve.h"
#include "conf/algs.h"
#include "keytools/keyscan/scan-probe.h"
#include "keytools/keyscan/scan-target.h"

enum {
	PROBES_MAX = 246,     /* connections at the same time */
	/* Descriptors of a connection that is being made. */
	FDS_OF_PROBE = 2,
	FDS_KEPT = 32,	      /* descriptors for everything else */
};

struct scan {
	const struct scan_options *o;
	const struct strlist *lines;
	size_t next_line;
	/* The network whose addresses are being scanned. names: what the output
	 * calls them; NULL: each by its own address. */
	struct scan_network network;
	bool in_network;
	char *names;
	struct loop *loop;
	struct resolver *resolver;
	char *kex_algs, *mac_algs;
	size_t running, running_max; /* connections */
	bool feeding, found;
};

/* A host that is being scanned. Its addresses are looked up first. */
struct scan_host {
	struct scan *scan;
	struct scan_target target;
	size_t asked; /* how many of target.hosts were looked up */
	struct dial_address *v;
	size_t *owners; /* for each of v: index in target.hosts */
	size_t n;
	size_t open; /* tries (struct scan_try) that have not ended */
};

/* A try to get a host's key of one type, over one connection. */
struct scan_try {
	struct scan_host *host;
	const char *algs;
	const char *name; /* the one of target.hosts that answered; borrowed */
	struct dial *dial;
	struct scan_probe *probe;
};

static void feed(struct scan *s);

/* ---- output ------------------------------------------------------------- */

static void
write_out(struct buf *b)
{
	if (buf_err(b) != 0)
		fatal("out of memory");
	if (fwrite(buf_data(b), 1, buf_len(b), stdout) != buf_len(b) ||
	    fflush(stdout) != 0)
		fatal("Cannot write the output: %s", strerror(errno));
	buf_clear(b);
}

static void
write_key(const struct scan_try *t, const struct key *k)
{
	struct scan *s = t->host->scan;
	struct buf out = { 0 };
	int r = scan_print_key(&s->o->style, t->host->target.names, k, &out);

	if (r != 0)
		log_error("%s: %s key: %s", t->name, key_short_name(k),
		    err_text(r));
	else
		s->found = true;
	write_out(&out);
}

static void
report(const struct scan_try *t, int err, const char *text)
{
	if (err == ERR_NO_HOSTKEY_MATCH)
		log_verbose("%s: no key for %s", t->name, t->algs);
	else if (err == ERR_TIMEOUT)
		log_verbose("%s: does not answer in time", t->name);
	else if (err == ERR_CLOSED || err == ERR_EOF)
		log_error("%s: Connection closed by remote host", t->name);
	else if (err == ERR_DISCONNECTED)
		log_error("%s: Received disconnect: %s", t->name,
		    text != NULL ? text : "");
	else
		log_error("%s: %s", t->name, err_text(err));
}

/* ---- one connection ----------------------------------------------------- */

static void
free_host(struct scan_host *h)
{
	scan_target_clear(&h->target);
	free(h->v);
	free(h->owners);
	free(h);
}

static void
try_over(struct scan_try *t)
{
	struct scan_host *h = t->host;
	struct scan *s = h->scan;

	dial_free(t->dial);
	scan_probe_free(t->probe);
	free(t);
	if (--h->open == 0)
		free_host(h);
	s->running--;
	feed(s);
}

static void
on_banner(void *arg, const char *line)
{
	const struct scan_try *t = arg;
	struct buf out = { 0 };

	scan_print_banner(&t->host->scan->o->style, t->name, line, &out);
	write_out(&out);
}

static void
on_probed(void *arg, const struct key *k, int err, const char *text)
{
	struct scan_try *t = arg;

	if (err == 0)
		write_key(t, k);
	else
		report(t, err, text);
	try_over(t);
}

static void
begin_probe(struct scan_try *t, int fd)
{
	const struct scan *s = t->host->scan;
	const struct scan_probe_params params = { .loop = s->loop,
		.hostkey_algs = t->algs,
		.kex_algs = s->kex_algs,
		.mac_algs = s->mac_algs,
		.step_ms = s->o->limit_ms,
		.arg = t,
		.banner = on_banner,
		.done = on_probed };

	if (scan_probe_start(&t->probe, fd, &params) != 0)
		fatal("out of memory");
}

static void
on_dialled(void *arg, struct dial *d)
{
	struct scan_try *t = arg;
	struct scan_host *h = t->host;
	size_t which = 0;
	int fd = dial_take_winner(d, &which);

	if (fd == -1) {
		for (size_t i = 0; i < h->n; i++)
			log_verbose("connect to %s port %u: %s",
			    h->target.hosts.v[h->owners[i]],
			    h->scan->o->style.port,
			    strerror(dial_error(d, i)));
		try_over(t);
		return;
	}
	t->name = h->target.hosts.v[h->owners[which]];
	begin_probe(t, fd);
}

static void
begin_try(struct scan_host *h, const char *algs)
{
	struct scan *s = h->scan;
	struct scan_try *t = xcalloc(1, sizeof *t);
	const struct dial_params params = { .addresses = h->v,
		.n = h->n,
		.times = { .next_ms = s->o->limit_ms,
		    .round_ms = s->o->limit_ms,
		    .timeout_ms = (uint64_t)s->o->limit_ms * h->n },
		.running_max = FDS_OF_PROBE,
		.arg = t,
		.done = on_dialled };

	t->host = h;
	t->algs = algs;
	if (dial_start(&t->dial, s->loop, &params) != 0)
		fatal("out of memory");
}

/* ---- one host ----------------------------------------------------------- */

static void look_up_next(struct scan_host *h);

static void
add_address(struct scan_host *h, const struct dial_address *a)
{
	if (h->n == DIAL_ADDRESSES_MAX)
		return;
	h->v = xrecallocarray(h->v, h->n, h->n + 1, sizeof *h->v);
	h->owners = xrecallocarray(h->owners, h->n, h->n + 1,
	    sizeof *h->owners);
	h->owners[h->n] = h->asked - 1;
	h->v[h->n++] = *a;
}

static void
on_resolved(void *arg, const struct dial_address *v, size_t n,
    const char *why)
{
	struct scan_host *h = arg;

	if (n == 0)
		log_error("getaddrinfo %s: %s",
		    h->target.hosts.v[h->asked - 1], why);
	for (size_t i = 0; i < n; i++)
		add_address(h, &v[i]);
	look_up_next(h);
}

static void
begin_tries(struct scan_host *h)
{
	struct scan *s = h->scan;

	if (h->n == 0) {
		free_host(h);
		s->running -= s->o->n_types;
		feed(s);
		return;
	}
	h->open = s->o->n_types;
	for (size_t i = 0; i < s->o->n_types; i++)
		begin_try(h, s->o->types[i]);
}

static void
look_up_next(struct scan_host *h)
{
	struct scan *s = h->scan;
	struct resolve *query;
	struct dial_address a;

	while (h->asked < h->target.hosts.n) {
		const char *host = h->target.hosts.v[h->asked++];

		if (resolve_address(host, s->o->style.port, s->o->family, &a)) {
			add_address(h, &a);
			continue;
		}
		if (strlen(host) > RESOLVE_HOST_MAX) {
			log_error("getaddrinfo %.64s...: name is too long",
			    host);
			continue;
		}
		if (resolve_start(&query, s->resolver, host,
			s->o->style.port, s->o->family, on_resolved, h) != 0)
			fatal("out of memory");
		return;
	}
	begin_tries(h);
}

/* ---- all of them -------------------------------------------------------- */

/* Takes the next address of the network. */
static bool
next_of_network(struct scan *s, struct scan_target *out)
{
	char text[INET6_ADDRSTRLEN];

	memset(out, 0, sizeof *out);
	if (!s->in_network)
		return false;
	if (!scan_network_next(&s->network, text, sizeof text)) {
		free(s->names);
		s->names = NULL;
		s->in_network = false;
		return false;
	}
	xstrlist_add(&out->hosts, text);
	out->names = xstrdup(s->names != NULL ? s->names : text);
	return true;
}

static bool
is_network(struct scan *s, struct scan_target *t)
{
	if (t->hosts.n != 1 ||
	    !scan_network_parse(t->hosts.v[0], &s->network))
		return false;
	s->in_network = true;
	if (!str_equal_nocase(t->names, t->hosts.v[0]))
		s->names = xstrdup(t->names);
	return true;
}

static bool
next_target(struct scan *s, struct scan_target *out)
{
	while (!next_of_network(s, out)) {
		const char *line;
		int r;

		if (s->next_line == s->lines->n)
			return false;
		line = s->lines->v[s->next_line++];
		r = scan_target_parse(line, out);
		if (r == 0 && !is_network(s, out))
			return true;
		if (r != 0 && r != ERR_NOT_FOUND)
			log_error("%.64s: %s", line, err_text(r));
		scan_target_clear(out);
	}
	return true;
}

/* Begins to scan as many hosts as may be scanned at the same time. A host that
 * fails at once calls this again from within, which feeding prevents: the while
 * loop below goes on then. */
static void
feed(struct scan *s)
{
	struct scan_target target;

	if (s->feeding)
		return;
	s->feeding = true;
	while (s->running + s->o->n_types <= s->running_max &&
	    next_target(s, &target)) {
		struct scan_host *h = xcalloc(1, sizeof *h);

		h->scan = s;
		h->target = target;
		s->running += s->o->n_types;
		look_up_next(h);
	}
	s->feeding = false;
	if (s->running == 0)
		loop_stop(s->loop);
}

static size_t
probes_possible(void)
{
	struct rlimit rl;
	size_t fds = PROBES_MAX * FDS_OF_PROBE + FDS_KEPT;

	fd_raise_limit();
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && (uint64_t)rl.rlim_cur < fds)
		fds = rl.rlim_cur;
	return fds > FDS_KEPT + SCAN_TYPES_MAX * FDS_OF_PROBE ?
	    (fds - FDS_KEPT) / FDS_OF_PROBE :
	    SCAN_TYPES_MAX;
}

bool
scan_run(const struct scan_options *o, const struct strlist *lines)
{
	struct scan s = { .o = o, .lines = lines };
	if (o->n_types == 0)
		return false;
	s.running_max = probes_possible();
	s.kex_algs = algs_default(ALGS_KEX_CLIENT);
	s.mac_algs = algs_default(ALGS_MAC);
	s.loop = loop_new();
	s.resolver = s.loop != NULL ? resolver_new(s.loop) : NULL;
	if (s.kex_algs == NULL || s.mac_algs == NULL || s.resolver == NULL)
		fatal("out of memory");
	feed(&s);
	if (s.running > 0 && loop_run(s.loop) != 0)
		fatal("cannot wait: %s", strerror(errno));
	resolver_free(s.resolver);
	loop_free(s.loop);
	free(s.kex_algs);
	free(s.mac_algs);
	return s.found;
}
