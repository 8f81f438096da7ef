/* SPDX-License-Identifier: ISC */
#include "server/session/forward-x11.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/libc.h"
#include "forward/listeners.h"
#include "forward/x11-display.h"

enum {
	DISPLAYS_MAX = 64,   /* displays of a connection at the same time */
	TRIES_MAX = 1000,    /* display numbers that are tried, from
			      * X11DisplayOffset on */
	WINDOW = 64 * 1024,  /* bytes */
	PACKET = 16 * 1024,  /* bytes of data in a packet */
	PROTOCOL_MAX = 256,  /* bytes */
	COOKIE_MAX = 1024,   /* bytes of the cookie in hexadecimal */
};

static const struct forwarded_kind kind = { .type = "x11", .window = WINDOW,
	.max_packet = PACKET };

struct displays {
	struct loop *loop;
	const struct serve_params *params;
	struct forwarded_list *list;
	unsigned count;
};

struct display {
	struct displays *all;
	struct listener *listener; /* NULL: closed after the only connection */
	bool single;
	char *display, *entry, *protocol, *cookie;
	struct display_names names;
};

bool
displays_are_allowed(const struct serve_params *p)
{
	const char *xauth = p->conf->forward.xauth_location;

	if (!p->permits->x11_forwarding || p->must_change) {
		log_info("X11 forwarding is not allowed for user %s",
		    p->user->name);
		return false;
	}
	if (xauth == NULL || access(xauth, X_OK) == -1) {
		log_info("No xauth program; cannot forward X11.");
		return false;
	}
	return true;
}

struct displays *
displays_new(struct loop *l, struct forwarded_list *list,
    const struct serve_params *p)
{
	struct displays *ds = xcalloc(1, sizeof *ds);

	ds->loop = l;
	ds->params = p;
	ds->list = list;
	return ds;
}

void
displays_free(struct displays *ds)
{
	free(ds);
}

/* ---- X clients that connect --------------------------------------------- */

static void
on_accepted(void *arg, int fd, const struct listener_peer *peer)
{
	struct display *d = arg;
	static const struct span nothing;
	struct buf extra = { 0 };
	int r;

	forwarded_put_originator(&extra, peer->address, peer->port);
	r = forwarded_open(d->all->list, &kind, fd, &extra, nothing, NULL);
	buf_clear(&extra);
	if (r != 0)
		log_verbose("a connection to %s is dropped: %s", d->display,
		    err_text(r));
	if (!d->single)
		return;
	listener_free(d->listener);
	d->listener = NULL;
}

/* ---- a number that is free ---------------------------------------------- */

/* Listens on all addresses that the display's name stands for, or on none. If
 * another process listened on one of them, X clients would send the cookie to
 * that process. */
static int
listen_at(struct display *d, uint16_t port)
{
	static const char *const loopback[] = { "127.0.0.1", "::1" };
	static const char *const any[] = { NULL };
	bool local = d->all->params->conf->forward.x11_use_localhost;
	const struct listener_params params = {
		.loop = d->all->loop,
		.hosts = local ? loopback : any,
		.host_count = local ? ARRAY_LEN(loopback) : ARRAY_LEN(any),
		.port = port,
		.family = AF_UNSPEC,
		.exclusive = true,
		.arg = d,
		.accepted = on_accepted,
	};

	return listener_new(&d->listener, &params);
}

static int
listen_somewhere(struct display *d, unsigned *number)
{
	unsigned first =
	    (unsigned)d->all->params->conf->forward.x11_display_offset;

	if (first > X11_NUMBER_MAX - TRIES_MAX)
		return ERR_NOT_FOUND;
	for (unsigned n = first; n < first + TRIES_MAX; n++) {
		if (listen_at(d, (uint16_t)(X11_PORT + n)) == 0) {
			*number = n;
			return 0;
		}
	}
	return ERR_NOT_FOUND;
}

static int
name_it(struct display *d, unsigned number, uint32_t screen)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (d->all->params->conf->forward.x11_use_localhost) {
		xasprintf(&d->display, "localhost:%u.%u", number, screen);
		xasprintf(&d->entry, "unix:%u.%u", number, screen);
	} else {
		if (gethostname(host, sizeof host - 1) == -1)
			return ERR_SYSTEM;
		xasprintf(&d->display, "%s:%u.%u", host, number, screen);
		d->entry = xstrdup(d->display);
	}
	d->names = (struct display_names){ d->display, d->entry, d->protocol,
		d->cookie };
	return 0;
}

/* ---- the request -------------------------------------------------------- */

/* Whether a text of the request has only harmless characters: it is written
 * into commands for xauth and into files of the user. */
static bool
is_harmless(const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    strchr(".:/-_", *p) == NULL)
			return false;
	return text[0] != '\0';
}

static int
begin(struct display *d, uint32_t screen)
{
	unsigned number;
	int r;

	if (!is_harmless(d->protocol) || !is_harmless(d->cookie)) {
		log_error("Invalid X11 forwarding data");
		return ERR_FORMAT;
	}
	if ((r = listen_somewhere(d, &number)) != 0) {
		log_error("no free display for X11 forwarding");
		return r;
	}
	return name_it(d, number, screen);
}

int
display_open(struct display **out, struct displays *ds, struct rd *data)
{
	struct display *d = xcalloc(1, sizeof *d);
	uint32_t screen;
	int r;

	ds->count++;
	d->all = ds;
	d->single = rd_bool(data);
	d->protocol = rd_cstring(data, PROTOCOL_MAX);
	d->cookie = rd_cstring(data, COOKIE_MAX);
	screen = rd_u32(data);
	if ((r = rd_end(data)) != 0 || ds->count > DISPLAYS_MAX ||
	    begin(d, screen) != 0) {
		display_close(d);
		return r != 0 ? r : CHANNEL_FAILURE;
	}
	log_debug("the display is forwarded to %s", d->display);
	*out = d;
	return CHANNEL_SUCCESS;
}

void
display_close(struct display *d)
{
	if (d == NULL)
		return;
	d->all->count--;
	listener_free(d->listener);
	free(d->display);
	free(d->entry);
	free(d->protocol);
	if (d->cookie != NULL)
		mem_free_secret(d->cookie, strlen(d->cookie));
	free(d);
}

const struct display_names *
display_names(const struct display *d)
{
	return d != NULL ? &d->names : NULL;
}
