/* SPDX-License-Identifier: ISC */
/*
 * In place of gss.c in a build without GSSAPI. Such a build has no keywords for
 * GSSAPI either, so that these functions are never called.
 */
#include "gss/gss.h"

#include "config.h"

#ifndef HAVE_GSSAPI

int
gss_initiator_new(struct gss_initiator **out, const struct gss_request *request,
    char **why)
{
	(void)request;
	*out = NULL;
	*why = NULL;
	return ERR_UNSUPPORTED;
}

void
gss_initiator_free(struct gss_initiator *i)
{
	(void)i;
}

int
gss_initiator_step(struct gss_initiator *i, struct span token,
    struct gss_proof *out, char **why)
{
	(void)i;
	(void)token;
	*out = (struct gss_proof){ .complete = false };
	*why = NULL;
	return ERR_UNSUPPORTED;
}

int
gss_initiator_sign(struct gss_initiator *i, struct span data, struct buf *mic,
    char **why)
{
	(void)i;
	(void)data;
	(void)mic;
	*why = NULL;
	return ERR_UNSUPPORTED;
}

int
gss_initiator_verify(struct gss_initiator *i, struct span data,
    struct span mic, char **why)
{
	(void)i;
	(void)data;
	(void)mic;
	*why = NULL;
	return ERR_UNSUPPORTED;
}

int
gss_acceptor_sign(struct gss_acceptor *a, struct span data, struct buf *mic)
{
	(void)a;
	(void)data;
	(void)mic;
	return ERR_UNSUPPORTED;
}

int
gss_acceptor_new(struct gss_acceptor **out, const char *host, char **why)
{
	(void)host;
	*out = NULL;
	*why = NULL;
	return ERR_UNSUPPORTED;
}

void
gss_acceptor_free(struct gss_acceptor *a)
{
	(void)a;
}

int
gss_acceptor_step(struct gss_acceptor *a, struct span token, struct buf *out,
    bool *complete)
{
	(void)a;
	(void)token;
	(void)out;
	*complete = false;
	return ERR_UNSUPPORTED;
}

int
gss_acceptor_verify(struct gss_acceptor *a, struct span data, struct span mic)
{
	(void)a;
	(void)data;
	(void)mic;
	return ERR_UNSUPPORTED;
}

const char *
gss_acceptor_error(const struct gss_acceptor *a)
{
	(void)a;
	return "built without GSSAPI";
}

const char *
gss_acceptor_principal(const struct gss_acceptor *a)
{
	(void)a;
	return NULL;
}

bool
gss_acceptor_may_be(const struct gss_acceptor *a, const char *user)
{
	(void)a;
	(void)user;
	return false;
}

bool
gss_acceptor_has_credentials(const struct gss_acceptor *a)
{
	(void)a;
	return false;
}

int
gss_acceptor_store(struct gss_acceptor *a, const char *path)
{
	(void)a;
	(void)path;
	return ERR_UNSUPPORTED;
}

#endif
