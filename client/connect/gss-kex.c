/* SPDX-License-Identifier: ISC */
#include "client/connect/gss-kex.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/auth/gss-login.h"
#include "crypto/kem.h"

enum {
	RENEWAL_MS = 10 * 1000, /* time between two looks at the user's
				 * tickets */
	/* A ticket that expires so much later than the last one counts as a new
	 * one. */
	RENEWED_S = 5,
	REKEY_WAIT_S = 30, /* limit for a ticket that a rekey needs, if there is
			    * no ConnectTimeout */
};

struct gss_kex {
	struct gss_kex_params p;
	struct kex *kex;
	char *methods;
	/* The ticket of the exchange that runs or comes next. That of the first
	 * exchange is kept until the user is logged in, because gssapi-keyex
	 * needs a MIC by it. login is NULL without a ticket. */
	struct gss_login *login;
	struct gss_proof proof;
	uint64_t expires_s; /* when the ticket expires that the server got
			     * last */
	/* A further ticket that was asked for and has not arrived; NULL: none.
	 * awaited: an exchange waits for it; else it is only looked at, because
	 * it may be a renewed one. */
	struct gss_login *next;
	struct loop_fd *watch;
	bool awaited;
	struct loop_timer *limit, *renewal;
};

/* ---- tickets ------------------------------------------------------------ */

static struct gss_request
request_of(const struct gss_kex *g)
{
	struct gss_request w = {
		.delegate = g->p.conf->auth.gssapi_delegate_credentials,
		.mutual = true,
	};

	gss_login_target(&w, g->p.conf, g->p.address);
	return w;
}

static void
log_why(const struct gss_kex *g, int err, char *why)
{
	log_debug("GSSAPI key exchange: no ticket for %s: %s",
	    g->p.conf->host.hostname,
	    why != NULL && *why != '\0' ? why : err_text(err));
	free(why);
}

/* Gets the ticket for the first exchange. NULL: the configuration does not want
 * exchanges by GSSAPI, or there is no ticket. */
static struct gss_kex *
new(const struct gss_kex_params *params)
{
	const struct client_conf *conf = params->conf;
	struct gss_kex *g;
	struct gss_request request;
	char *why = NULL;
	int r;

	if (!conf->auth.gssapi_key_exchange)
		return NULL;
	g = xcalloc(1, sizeof *g);
	g->p = *params;
	g->methods = kem_gss_names(conf->auth.gssapi_kex_algorithms);
	if (g->methods == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	request = request_of(g);
	r = gss_login_start(&g->login, &request, conf->tcp.connect_timeout,
	    &g->proof, &why);
	if (r != 0) {
		log_why(g, r, why);
		gss_kex_free(g);
		return NULL;
	}
	free(why);
	g->expires_s = g->proof.expires_s;
	return g;
}

static void
drop_next(struct gss_kex *g)
{
	loop_unwatch(g->p.loop, g->watch);
	loop_cancel(g->p.loop, g->limit);
	gss_login_end(g->next);
	g->watch = NULL;
	g->limit = NULL;
	g->next = NULL;
}

static void
drop_login(struct gss_kex *g)
{
	gss_login_end(g->login);
	g->login = NULL;
	gss_proof_clear(&g->proof);
}

void
gss_kex_free(struct gss_kex *g)
{
	if (g == NULL)
		return;
	drop_next(g);
	drop_login(g);
	loop_cancel(g->p.loop, g->renewal);
	free(g->methods);
	free(g);
}

const char *
gss_kex_methods(const struct gss_kex *g)
{
	return g != NULL ? g->methods : NULL;
}

/* ---- further tickets ---------------------------------------------------- */

/* g->next has made its token, or failed with err. An exchange that waits goes
 * on in either case; a renewed ticket starts a rekey. */
static void
on_next(struct gss_kex *g, int err)
{
	bool awaited = g->awaited, fresh = false;
	struct gss_proof proof = { .complete = false };
	char *why = NULL;
	int r = 0;

	if (err == 0)
		err = gss_login_first(g->next, &proof, &why);
	if (err != 0)
		log_why(g, err, why);
	else
		free(why);
	fresh = err == 0 && !awaited && !kex_running(g->kex) &&
	    proof.expires_s > g->expires_s + RENEWED_S;
	g->awaited = false;
	if (err == 0 && (awaited || fresh)) {
		drop_login(g);
		g->login = g->next;
		g->next = NULL;
		g->proof = proof;
		g->expires_s = proof.expires_s;
	} else {
		gss_proof_clear(&proof);
	}
	drop_next(g);
	if (fresh)
		log_verbose("GSSAPI: the ticket was renewed: new keys");
	if (awaited)
		r = kex_gss_ready(g->kex, err == 0);
	else if (fresh)
		r = kex_gss_renew(g->kex);
	if (awaited || fresh)
		g->p.moved(g->p.arg, r);
}

static void
on_readable(void *arg, int fd, int events)
{
	(void)fd;
	(void)events;
	on_next(arg, 0);
}

static void
on_limit(void *arg)
{
	struct gss_kex *g = arg;

	g->limit = NULL;
	on_next(g, ERR_TIMEOUT);
}

static int
ask_for_next(struct gss_kex *g)
{
	int limit_s = g->p.conf->tcp.connect_timeout, r;
	struct gss_request request = request_of(g);

	if (limit_s <= 0)
		limit_s = REKEY_WAIT_S;
	if ((r = gss_login_begin(&g->next, &request, limit_s)) != 0)
		return r;
	g->watch = loop_watch(g->p.loop, gss_login_fd(g->next), LOOP_READ,
	    on_readable, g);
	g->limit = loop_after(g->p.loop, (uint64_t)limit_s * 1000, on_limit,
	    g);
	if (g->watch != NULL && g->limit != NULL)
		return 0;
	drop_next(g);
	return ERR_NOMEM;
}

static void
on_renewal_time(void *arg)
{
	struct gss_kex *g = arg;

	g->renewal = loop_after(g->p.loop, RENEWAL_MS, on_renewal_time, g);
	if (g->next == NULL && !kex_running(g->kex) && ask_for_next(g) != 0)
		log_debug("GSSAPI: the tickets cannot be looked at");
}

void
gss_kex_settle(struct gss_kex *g)
{
	if (g == NULL)
		return;
	if (!kex_running(g->kex))
		drop_login(g);
	if (g->p.conf->auth.gssapi_renewal_rekey && kex_is_gss(g->kex))
		g->renewal =
		    loop_after(g->p.loop, RENEWAL_MS, on_renewal_time, g);
}

/* ---- hooks of the exchange ---------------------------------------------- */

static int
prepare(void *arg)
{
	struct gss_kex *g = arg;

	g->awaited = true;
	return g->next != NULL ? 0 : ask_for_next(g);
}

static int
first_token(void *arg, struct buf *token)
{
	const struct gss_kex *g = arg;

	buf_put_buf(token, &g->proof.token);
	return buf_err(token);
}

static int
explain(const struct gss_kex *g, int err, const char *what, char *why)
{
	log_error("GSSAPI key exchange with %s: %s: %s",
	    g->p.conf->host.hostname, what,
	    why != NULL && *why != '\0' ? why : err_text(err));
	free(why);
	return ERR_DENIED;
}

static int
step(void *arg, struct span token, struct buf *out, bool *complete)
{
	struct gss_kex *g = arg;
	struct gss_proof p = { .complete = false };
	char *why = NULL;
	int r = ERR_PROTOCOL;

	if (g->login != NULL)
		r = gss_login_step(g->login, token, &p, &why);
	if (r != 0) {
		gss_proof_clear(&p);
		return explain(g, r, "the server's token is wrong", why);
	}
	free(why);
	buf_put_buf(out, &p.token);
	*complete = p.complete;
	if (p.complete && g->p.conf->auth.gssapi_delegate_credentials &&
	    !p.delegated)
		log_verbose("GSSAPI: the ticket was not delegated");
	gss_proof_clear(&p);
	return buf_err(out);
}

static int
verify(void *arg, struct span hash, struct span mic)
{
	struct gss_kex *g = arg;
	char *why = NULL;
	int r = ERR_PROTOCOL;

	if (g->login != NULL)
		r = gss_login_verify(g->login, hash, mic, &why);
	if (r != 0)
		return explain(g, r, "the server did not prove who it is",
		    why);
	free(why);
	return 0;
}

static int
take_hostkey(void *arg, struct span blob)
{
	const struct gss_kex *g = arg;

	return hostcheck_vouched(g->p.hostcheck, blob);
}

int
gss_kex_offer(struct gss_kex **out, const struct gss_kex_params *params,
    struct kex *k)
{
	struct gss_kex *g = new(params);
	const struct kex_gss_hooks hooks = { .arg = g,
		.prepare = prepare,
		.first = first_token,
		.step = step,
		.verify = verify,
		.hostkey = take_hostkey };

	*out = g;
	if (g == NULL)
		return 0;
	g->kex = k;
	return kex_set_gss(k, &hooks, g->methods);
}

int
gss_kex_sign(void *arg, struct span data, struct buf *mic)
{
	struct gss_kex *g = arg;
	char *why = NULL;
	int r = ERR_PROTOCOL;

	if (g->login != NULL)
		r = gss_login_sign(g->login, data, mic, &why);
	if (r != 0)
		log_debug("GSSAPI: no MIC: %s",
		    why != NULL ? why : err_text(r));
	free(why);
	return r;
}
