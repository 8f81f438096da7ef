/* SPDX-License-Identifier: ISC */
#include "client/forwards/forwards-internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/common/uses.h"

/* ---- for the files of the forwards -------------------------------------- */

void
forwards_warn(struct forwards *f, const char *fmt, ...)
{
	uint64_t now_ms = clock_ms();
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (f->warnings > 0 && now_ms - f->warned_ms >= FORWARDS_WARNINGS_MS)
		f->warnings = 0;
	if (f->warnings == 0)
		f->warned_ms = now_ms;
	log_msg(f->warnings < FORWARDS_WARNINGS_MAX ? LOG_LVL_INFO :
						      LOG_LVL_DEBUG1,
	    "%s", text);
	if (f->warnings < FORWARDS_WARNINGS_MAX &&
	    ++f->warnings == FORWARDS_WARNINGS_MAX)
		log_info("More of these in this minute are shown with -v "
			 "only.");
}

void
forwards_wait(struct forwards_waiter **list, forwards_done_fn done, void *arg)
{
	struct forwards_waiter *w;

	if (done == NULL)
		return;
	w = xcalloc(1, sizeof *w);
	w->done = done;
	w->arg = arg;
	while (*list != NULL)
		list = &(*list)->next;
	*list = w;
}

void
forwards_tell(struct forwards_waiter *list, const char *error,
    uint16_t allocated)
{
	struct forwards_waiter *w;

	while ((w = list) != NULL) {
		list = w->next;
		w->done(w->arg, error, allocated);
		free(w);
	}
}

void
forwards_forget(struct forwards_waiter *list)
{
	struct forwards_waiter *w;

	while ((w = list) != NULL) {
		list = w->next;
		free(w);
	}
}

bool
forwards_listens(const struct forward_spec *s,
    const struct forward_endpoint *listen)
{
	struct forward_spec there = *s;

	there.listen = *listen;
	return forward_spec_equals(s, &there);
}

/* ---- life --------------------------------------------------------------- */

static void
on_count(void *arg, int change)
{
	const struct forwards *f = arg;

	if (f->p.uses == NULL)
		return;
	if (change > 0)
		uses_begin(f->p.uses, USE_FORWARDED);
	else
		uses_end(f->p.uses, USE_FORWARDED);
}

int
forwards_new(struct forwards **out, const struct forwards_params *params)
{
	struct forwards *f = xcalloc(1, sizeof *f);
	struct forwarded_params list = {
		.loop = params->loop,
		.channels = params->channels,
		.family = params->conf->tcp.address_family,
		.arg = f,
		.count = on_count,
	};
	int r;

	f->p = *params;
	if ((r = forwarded_list_new(&f->list, &list)) != 0) {
		free(f);
		return r;
	}
	*out = f;
	return 0;
}

void
forwards_free(struct forwards *f)
{
	if (f == NULL)
		return;
	f->p.uses = NULL;
	forwards_free_locals(f);
	forwards_free_remotes(f);
	forwards_free_undecided(f);
	forwarded_list_free(f->list);
	resolver_free(f->resolver);
	free(f->start.items);
	free(f);
}

const char *
forwards_refusal(const struct forwards *f)
{
	return f->p.distrusted ? "Port forwarding is disabled to avoid "
				 "man-in-the-middle attacks." : NULL;
}

void
forwards_add(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg)
{
	const char *why = forwards_refusal(f);

	if (why != NULL) {
		if (done != NULL)
			done(arg, why, 0);
	} else if (spec->kind == FORWARD_REMOTE) {
		forwards_add_remote(f, spec, done, arg);
	} else {
		forwards_add_local(f, spec, done, arg);
	}
}

bool
forwards_has(const struct forwards *f, const struct forward_spec *spec)
{
	return spec->kind == FORWARD_REMOTE ? forwards_has_remote(f, spec) :
					       forwards_has_local(f, spec);
}

bool
forwards_cancel(struct forwards *f, const struct forward_spec *spec)
{
	return spec->kind == FORWARD_REMOTE ?
	    forwards_cancel_remote(f, &spec->listen, spec) :
	    forwards_cancel_local(f, spec->kind, &spec->listen, spec);
}

bool
forwards_cancel_listening(struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen)
{
	return kind == FORWARD_REMOTE ?
	    forwards_cancel_remote(f, listen, NULL) :
	    forwards_cancel_local(f, kind, listen, NULL);
}

/* ---- those of the configuration ----------------------------------------- */

/* A forward of the configuration; the arg of on_item_done(). */
struct forwards_item {
	struct forwards *f;
	bool remote;
};

static bool
is_strict(const struct forwards *f)
{
	return f->p.conf->forward.exit_on_failure != 0;
}

/* Calls done() once all forwards have succeeded or failed, or one has failed
 * with ExitOnForwardFailure. */
static void
settle(struct forwards *f)
{
	struct forwards_start *s = &f->start;

	if (s->done == NULL || s->over || (s->left > 0 && !s->failed))
		return;
	s->over = true;
	if (!is_strict(f) && s->locals > 0 && s->locals_failed == s->locals)
		log_error("Could not request local forwarding.");
	s->done(s->arg, s->failed);
}

static void
on_item_done(void *arg, const char *error, uint16_t allocated)
{
	const struct forwards_item *item = arg;
	struct forwards *f = item->f;
	struct forwards_start *s = &f->start;

	(void)allocated;
	s->left--;
	if (error != NULL && !item->remote) {
		s->locals_failed++;
		if (is_strict(f) && !s->failed)
			log_error("Could not request local forwarding.");
	} else if (error != NULL && is_strict(f)) {
		log_error("Error: %s", error);
	} else if (error != NULL) {
		log_info("Warning: %s", error);
	}
	if (error != NULL && is_strict(f))
		s->failed = true;
	settle(f);
}

static void
make_items(struct forwards *f)
{
	const struct client_conf *conf = f->p.conf;
	struct forwards_start *s = &f->start;

	if (s->items != NULL)
		return;
	s->locals = conf->forward.local.n;
	s->left = s->locals + conf->forward.remote.n;
	s->items = xcalloc(s->left + 1, sizeof *s->items);
	for (size_t i = 0; i < s->left; i++)
		s->items[i] = (struct forwards_item){ f, i >= s->locals };
}

void
forwards_ask_early(struct forwards *f)
{
	const struct forward_list *l = &f->p.conf->forward.remote;
	struct forwards_start *s = &f->start;

	make_items(f);
	if (s->asked || f->p.distrusted)
		return;
	s->asked = true;
	for (size_t i = 0; i < l->n && !s->failed; i++)
		forwards_add(f, &l->v[i], on_item_done,
		    &s->items[s->locals + i]);
}

static bool
is_wanted(const struct forwards *f)
{
	return f->p.conf->forward.local.n > 0 ||
	    f->p.conf->forward.remote.n > 0;
}

char *
forwards_target(const struct forward_spec *s)
{
	const struct forward_endpoint *e = &s->target;
	char *text;

	if (e->path != NULL)
		return xstrdup(e->path);
	xasprintf(&text, "%s:%u", s->target_is_socks ? "socks" : e->host,
	    s->target_is_socks ? 0 : e->port);
	return text;
}

void
forwards_tell_wanted(const struct forwards *f, const struct forward_spec *s,
    bool remote)
{
	const struct forward_endpoint *e = &s->listen;
	const char *any = f->p.conf->forward.gateway_ports ? "*" : "LOCALHOST";
	const char *host = e->host != NULL ? e->host : any;
	const char *where = remote ? "Remote" : "Local";
	const char *from = remote ? "from" : "to";
	const char *to = remote ? "local" : "remote";
	char *target = forwards_target(s);

	if (e->path != NULL)
		log_debug("%s connections %s %s forwarded to %s address %s",
		    where, from, e->path, to, target);
	else
		log_debug("%s connections %s %s:%u forwarded to %s address %s",
		    where, from, *host != '\0' ? host : "*", e->port, to,
		    target);
	free(target);
}

void
forwards_add_configured(struct forwards *f,
    void (*done)(void *arg, bool failed), void *arg)
{
	const struct forward_list *l = &f->p.conf->forward.local;
	struct forwards_start *s = &f->start;

	make_items(f);
	s->arg = arg;
	if (f->p.distrusted) {
		if (is_wanted(f)) {
			log_error("Port forwarding is disabled to avoid "
				  "man-in-the-middle attacks.");
			s->failed = is_strict(f);
		}
		s->left = s->locals = 0;
	} else {
		for (size_t i = 0; i < l->n && !s->failed; i++)
			forwards_add(f, &l->v[i], on_item_done, &s->items[i]);
		if (!s->failed)
			forwards_ask_early(f);
	}
	s->done = done;
	settle(f);
}
