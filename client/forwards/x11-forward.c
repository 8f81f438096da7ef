/* SPDX-License-Identifier: ISC */
#include "client/forwards/x11-forward.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/forwards/xauth.h"
#include "compat/queue.h"
#include "crypto/rand.h"
#include "forward/x11-auth.h"
#include "forward/x11-display.h"

enum {
	PACKET = 16 * 1024, /* bytes of data in a message */
	ORIGINATOR_MAX = 256, /* bytes of the X client's address */
};

/* X11 channels end with the peer's EOF: X servers do not answer a client that
 * has ended. */
static const struct forwarded_kind kind = { .type = "x11",
	.window = CHANNEL_WINDOW_DEFAULT,
	.max_packet = PACKET,
	.eof_ends = true };

/* A channel of the server whose first packet, with the cookie, is not complete
 * yet. */
struct applicant {
	TAILQ_ENTRY(applicant) entry;
	struct x11_forward *all;
	struct channel *channel;
	struct x11_setup setup;
};

struct x11_forward {
	struct forwarded_list *list;
	struct x11_display display;
	struct x11_cookie real, fake;
	/* How long channels are accepted after the request (ForwardX11Timeout);
	 * 0: no limit. */
	uint64_t timeout_ms;
	uint64_t ends_ms;
	bool requested;
	TAILQ_HEAD(applicants, applicant) applicants;
};

/* ---- the display and its cookie ----------------------------------------- */

static const char *
display_name(void)
{
	const char *name = getenv("DISPLAY");

	return name != NULL && *name != '\0' ? name : NULL;
}

bool
x11_forward_is_wanted(const struct client_conf *conf)
{
	return conf->forward.forward_x11 && display_name() != NULL;
}

static bool
find_cookie(struct x11_forward *x, const struct client_conf *conf)
{
	const struct xauth_query query = {
		.program = conf->forward.xauth_location,
		.display = display_name(),
		.trusted = conf->forward.forward_x11_trusted,
		.timeout_s = conf->forward.forward_x11_timeout,
	};

	if (xauth_ask(&query, &x->real) == 0)
		return true;
	if (!query.trusted) {
		log_error("Warning: untrusted X11 forwarding setup failed: "
			  "xauth key data not generated");
		return false;
	}
	/* A random cookie may do: the display may let every user of this host
	 * in. */
	log_error("Warning: No xauth data; using fake authentication data for "
		  "X11 forwarding.");
	x->real = (struct x11_cookie){ .protocol = XAUTH_PROTOCOL,
		.len = XAUTH_COOKIE_LEN };
	rand_bytes(x->real.data, x->real.len);
	return true;
}

int
x11_forward_new(struct x11_forward **out,
    const struct x11_forward_params *params)
{
	const struct client_conf *conf = params->conf;
	struct x11_forward *x = xcalloc(1, sizeof *x);
	char escaped[256];

	*out = NULL;
	x->list = params->list;
	if (x11_display_parse(&x->display, display_name()) != 0) {
		str_escape(escaped, sizeof escaped, display_name());
		log_error("DISPLAY \"%s\" invalid; disabling X11 forwarding",
		    escaped);
	} else if (find_cookie(x, conf)) {
		x11_cookie_imitate(&x->fake, &x->real);
		if (!conf->forward.forward_x11_trusted)
			x->timeout_ms =
			    (uint64_t)conf->forward.forward_x11_timeout * 1000;
		*out = x;
		return 0;
	}
	x11_forward_free(x);
	return 0;
}

int
x11_forward_request(struct x11_forward *x, struct channel *session,
    channels_reply_fn reply, void *arg)
{
	struct buf b = { 0 };
	char *hex;
	int r;

	if (x == NULL)
		return 0;
	if ((hex = str_hex(x->fake.data, x->fake.len)) == NULL)
		return ERR_NOMEM;
	buf_put_bool(&b, false); /* false: not for a single connection only */
	buf_put_cstring(&b, x->fake.protocol);
	buf_put_cstring(&b, hex);
	buf_put_u32(&b, x->display.screen);
	free(hex);
	if ((r = buf_err(&b)) == 0)
		r = channel_request(session, "x11-req", &b, reply, arg);
	buf_clear(&b);
	if (r != 0)
		return r;
	if (!x->requested)
		x->ends_ms = clock_ms() + x->timeout_ms;
	x->requested = true;
	return 0;
}

/* ---- a channel before its first packet is complete ---------------------- */

static void
free_applicant(struct applicant *a)
{
	TAILQ_REMOVE(&a->all->applicants, a, entry);
	x11_setup_clear(&a->setup);
	free(a);
}

static void
on_channel_gone(void *arg, struct channel *c)
{
	(void)c;
	free_applicant(arg);
}

static void
on_early_eof(void *arg, struct channel *c)
{
	(void)arg;
	channel_close(c, false);
}

static const struct channel_ops applicant_ops = {
	.eof = on_early_eof,
	.closed = on_channel_gone,
};

static ssize_t
nothing_to_read(void *arg, uint8_t *p, size_t max)
{
	(void)arg;
	(void)p;
	(void)max;
	return ERR_AGAIN;
}

static ssize_t
not_now(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	(void)arg;
	(void)ext;
	(void)p;
	(void)len;
	return ERR_AGAIN;
}

/* The struct channel_io of a channel while the display is being connected
 * to. */
static const struct channel_io waiting_io = {
	.read = nothing_to_read,
	.write = not_now,
};

/* The client knew our cookie: connects its channel to the display, which gets
 * its first packet first. */
static void
let_in(struct applicant *a)
{
	struct x11_forward *x = a->all;
	struct channel *c = a->channel;
	const struct forwarded_target target = {
		.host = x->display.host,
		.port = x->display.port,
		.path = x->display.path[0] != '\0' ? x->display.path : NULL,
		.first = buf_span(&a->setup.packet),
	};

	channel_set_io(c, &waiting_io, NULL);
	if (forwarded_connect_accepted(x->list, &kind, c, &target) != 0)
		channel_leave(c);
	free_applicant(a);
}

static ssize_t
take_packet(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct applicant *a = arg;
	size_t taken = x11_setup_take(&a->setup, p, len);

	(void)ext;
	switch (a->setup.state) {
	case X11_SETUP_INCOMPLETE:
		break;
	case X11_SETUP_ACCEPTED:
		let_in(a);
		break;
	case X11_SETUP_REFUSED:
		log_info("X11 connection rejected because of wrong "
			 "authentication.");
		channel_leave(a->channel);
		free_applicant(a);
		return ERR_DENIED;
	}
	return (ssize_t)taken;
}

static const struct channel_io applicant_io = {
	.read = nothing_to_read,
	.write = take_packet,
};

/* ---- channels that the server opens ------------------------------------- */

static void
warn_of_attack(void)
{
	static bool told;

	if (told)
		return;
	told = true;
	log_error("Warning: ssh server tried X11 forwarding.");
}

static bool
is_too_late(const struct x11_forward *x)
{
	return x->timeout_ms > 0 && clock_ms() >= x->ends_ms;
}

static int
admit(struct x11_forward *x, struct channel *c)
{
	struct applicant *a = xcalloc(1, sizeof *a);
	int r;

	a->all = x;
	a->channel = c;
	x11_setup_init(&a->setup, &x->fake, &x->real);
	TAILQ_INSERT_HEAD(&x->applicants, a, entry);
	r = channel_accept(c, &applicant_ops, a, kind.window, kind.max_packet);
	if (r != 0) {
		free_applicant(a);
		return r;
	}
	channel_set_io(c, &applicant_io, a);
	return CHANNEL_SUCCESS;
}

int
x11_forward_open(struct x11_forward *x, struct channel *c, struct rd *data)
{
	char *originator = rd_cstring(data, ORIGINATOR_MAX);
	uint32_t port = rd_u32(data);
	char escaped[ORIGINATOR_MAX];
	int r = rd_end(data);

	if (r == 0) {
		str_escape(escaped, sizeof escaped, originator);
		log_debug("an X client at %s port %u", escaped, port);
	}
	free(originator);
	if (r != 0)
		return r;
	if (x == NULL || !x->requested) {
		warn_of_attack();
		return CHANNEL_FAILURE;
	}
	if (is_too_late(x)) {
		log_verbose("Rejected X11 connection after ForwardX11Timeout "
			    "expired");
		return CHANNEL_FAILURE;
	}
	return admit(x, c);
}

void
x11_forward_free(struct x11_forward *x)
{
	struct applicant *a;

	if (x == NULL)
		return;
	while ((a = TAILQ_FIRST(&x->applicants)) != NULL) {
		channel_leave(a->channel);
		free_applicant(a);
	}
	mem_free_secret(x, sizeof *x);
}
