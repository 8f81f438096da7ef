/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-forward.h"

#include <string.h>

#include "base/mem.h"

/* A forward with this target host is a SOCKS proxy. */
#define SOCKS "socks"
#define ANYWHERE "*"

enum { PORT_LAST = 65535 };

/* ---- from a message ----------------------------------------------------- */

static int
read_endpoint(struct forward_endpoint *out, const char *host, uint32_t port)
{
	if (port == MUX_PORT_PATH) {
		if (*host == '\0' || strlen(host) > FORWARD_PATH_MAX)
			return ERR_ARGUMENT;
		out->path = xstrdup(host);
		return 0;
	}
	if (port > PORT_LAST || strlen(host) > FORWARD_HOST_MAX)
		return ERR_ARGUMENT;
	out->port = (uint16_t)port;
	if (*host != '\0')
		out->host = xstrdup(strcmp(host, ANYWHERE) == 0 ? "" : host);
	return 0;
}

static bool
is_socks(const struct mux_forward *f)
{
	return f->type == MUX_FORWARD_DYNAMIC ||
	    (f->type == MUX_FORWARD_REMOTE && f->target_port == 0 &&
		(*f->target_host == '\0' ||
		    strcmp(f->target_host, SOCKS) == 0));
}

int
mux_forward_to_spec(struct forward_spec *out, const struct mux_forward *f)
{
	int r;

	*out = (struct forward_spec){ 0 };
	if (f->type < MUX_FORWARD_LOCAL || f->type > MUX_FORWARD_DYNAMIC)
		return ERR_ARGUMENT;
	out->kind = (enum forward_kind)f->type;
	r = read_endpoint(&out->listen, f->listen_host, f->listen_port);
	if (r == 0 && f->listen_port == 0 && f->type != MUX_FORWARD_REMOTE)
		r = ERR_ARGUMENT;
	if (r != 0)
		return r;
	out->target_is_socks = is_socks(f);
	if (out->target_is_socks)
		return 0;
	if (*f->target_host == '\0' || f->target_port == 0)
		return ERR_ARGUMENT;
	return read_endpoint(&out->target, f->target_host, f->target_port);
}

/* ---- to a message ------------------------------------------------------- */

static void
write_endpoint(const struct forward_endpoint *e, char **host, uint32_t *port)
{
	if (e->path != NULL) {
		*host = xstrdup(e->path);
		*port = MUX_PORT_PATH;
		return;
	}
	*port = e->port;
	*host = xstrdup(e->host == NULL ? "" :
		*e->host == '\0'	? ANYWHERE :
					  e->host);
}

int
mux_forward_from_spec(struct mux_forward *out, const struct forward_spec *spec)
{
	*out = (struct mux_forward){ .type = (uint32_t)spec->kind };
	write_endpoint(&spec->listen, &out->listen_host, &out->listen_port);
	if (spec->target_is_socks)
		out->target_host = xstrdup(SOCKS);
	else
		write_endpoint(&spec->target, &out->target_host,
		    &out->target_port);
	return 0;
}

/* ---- requests ----------------------------------------------------------- */

/* Asks the master for one forward, or to cancel it. *port: the port that the
 * server picked where port 0 was asked for; else 0. */
static int
request(struct mux_conn *c, const struct forward_spec *spec,
    bool cancel, uint32_t *port)
{
	struct mux_forward f;
	struct buf b = { 0 };
	struct rd rest;
	int r = mux_forward_from_spec(&f, spec);

	*port = 0;
	mux_conn_begin(c, &b, cancel ? MUX_CANCEL_FORWARD : MUX_ADD_FORWARD);
	mux_put_forward(&b, &f);
	if (r == 0)
		r = mux_conn_ask(c, &b, NULL, 0, &rest);
	mux_forward_clear(&f);
	buf_clear(&b);
	if (r != 0)
		return r;
	if (c->type == MUX_PORT)
		*port = rd_u32(&rest);
	else if (c->type != MUX_OK)
		return ERR_PROTOCOL;
	return rd_end(&rest);
}

static int
request_list(struct mux_conn *c, const struct forward_list *list, bool cancel,
    bool goes_on, mux_forward_told told, void *arg)
{
	int first = 0, r;
	uint32_t port;

	for (size_t i = 0; i < list->n; i++) {
		r = request(c, &list->v[i], cancel, &port);
		told(arg, c, &list->v[i], r, port);
		if (first == 0)
			first = r;
		/* After any error but a refusal the socket is unusable. */
		if (r != 0 && (!goes_on || r != ERR_DENIED))
			break;
	}
	return first;
}

int
mux_forward_request_all(struct mux_conn *c, const struct client_conf *conf,
    bool cancel, bool goes_on, mux_forward_told told, void *arg)
{
	int first, r = 0;

	first = request_list(c, &conf->forward.local, cancel, goes_on, told,
	    arg);
	if (first == 0 || (goes_on && first == ERR_DENIED))
		r = request_list(c, &conf->forward.remote, cancel, goes_on,
		    told, arg);
	return first != 0 ? first : r;
}
