/* SPDX-License-Identifier: ISC */
#include "server/monitor/gss-exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "crypto/kem.h"
#include "gss/gss-wire.h"
#include "gss/gss.h"
#include "server/monitor/sign-rules.h"

enum { NAME_MAX_BYTES = 256 };

struct gss_exchange {
	const struct server_conf *conf;
	char *methods;
	struct gss_acceptor *acceptor; /* NULL: taken, or none could be made */
	unsigned steps;
	bool complete, is_signed;
};

int
gss_exchange_acceptor(const struct server_conf *conf,
    struct gss_acceptor **out)
{
	char host[NAME_MAX_BYTES] = "", *why = NULL;
	bool strict = conf->login.gssapi_strict_acceptor_check != 0;
	int r;

	if (strict && gethostname(host, sizeof host - 1) == -1) {
		log_error("gethostname: %s", strerror(errno));
		return ERR_NOT_FOUND;
	}
	r = gss_acceptor_new(out, strict ? host : NULL, &why);
	if (r != 0)
		log_verbose("GSSAPI: no key for a service of this host: %s",
		    why != NULL ? why : err_text(r));
	free(why);
	return r == 0 ? 0 : ERR_NOT_FOUND;
}

struct gss_exchange *
gss_exchange_new(const struct server_conf *conf)
{
	struct gss_acceptor *acceptor;
	struct gss_exchange *x;

	if (!conf->login.gssapi_key_exchange ||
	    gss_exchange_acceptor(conf, &acceptor) != 0)
		return NULL;
	x = xcalloc(1, sizeof *x);
	x->conf = conf;
	x->acceptor = acceptor;
	x->methods = kem_gss_names(conf->login.gssapi_kex_algorithms);
	if (x->methods == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return x;
}

void
gss_exchange_free(struct gss_exchange *x)
{
	if (x == NULL)
		return;
	gss_acceptor_free(x->acceptor);
	free(x->methods);
	free(x);
}

const char *
gss_exchange_methods(const struct gss_exchange *x)
{
	return x != NULL ? x->methods : NULL;
}

/* Begins a new context. The old one is used up or was abandoned. */
static int
begin_another(struct gss_exchange *x)
{
	gss_acceptor_free(x->acceptor);
	x->acceptor = NULL;
	x->steps = 0;
	x->complete = x->is_signed = false;
	return gss_exchange_acceptor(x->conf, &x->acceptor);
}

int
gss_exchange_step(struct gss_exchange *x, struct span token, bool rekey,
    struct buf *out)
{
	struct buf reply = { 0 };
	int r;

	if (x != NULL && rekey && (x->acceptor == NULL || x->is_signed) &&
	    begin_another(x) != 0)
		return ERR_DENIED;
	if (x == NULL || x->acceptor == NULL || x->complete ||
	    x->steps++ >= GSS_STEPS_MAX || token.len > GSS_TOKEN_MAX)
		return ERR_PROTOCOL;
	r = gss_acceptor_step(x->acceptor, token, &reply, &x->complete);
	if (r != 0) {
		log_info("GSSAPI key exchange: %s",
		    gss_acceptor_error(x->acceptor));
		x->steps = GSS_STEPS_MAX; /* no further token is accepted */
		x->complete = false;
	}
	buf_put_bool(out, r == 0);
	buf_put_bool(out, x->complete);
	buf_put_string_buf(out, &reply);
	buf_clear(&reply);
	return buf_err(out);
}

int
gss_exchange_sign(struct gss_exchange *x, struct span hash, struct buf *out)
{
	struct buf mic = { 0 };
	int r;

	if (x == NULL || !x->complete || x->is_signed ||
	    !sign_rules_hash_len(x->methods, hash.len))
		return ERR_PROTOCOL;
	x->is_signed = true;
	if ((r = gss_acceptor_sign(x->acceptor, hash, &mic)) != 0)
		log_error("GSSAPI key exchange: %s",
		    gss_acceptor_error(x->acceptor));
	buf_put_string_buf(out, &mic);
	buf_clear(&mic);
	return r != 0 ? r : buf_err(out);
}

struct gss_acceptor *
gss_exchange_client(const struct gss_exchange *x)
{
	return x != NULL && x->is_signed ? x->acceptor : NULL;
}

struct gss_acceptor *
gss_exchange_take(struct gss_exchange *x)
{
	struct gss_acceptor *a = gss_exchange_client(x);

	if (a != NULL)
		x->acceptor = NULL;
	return a;
}
