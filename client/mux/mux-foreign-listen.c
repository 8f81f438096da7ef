/* SPDX-License-Identifier: ISC */
/* Ports that the peer listens on for owners of foreign channels. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-foreign-internal.h"

enum { HOST_MAX = 1025 };

static void
remove_listen(struct foreign_listen *l)
{
	TAILQ_REMOVE(&l->all->listens, l, entry);
	l->all->listen_count--;
	if (l->owner != NULL)
		l->owner->listens--;
	free(l->host);
	free(l);
}

void
foreign_clear_listens(struct foreign_all *all)
{
	while (!TAILQ_EMPTY(&all->listens))
		remove_listen(TAILQ_FIRST(&all->listens));
}

static int
send_listen(const struct foreign_listen *l, const char *name,
    channels_reply_fn done, void *arg)
{
	struct buf b = { 0 };
	int r;

	buf_put_cstring(&b, l->host);
	buf_put_u32(&b, l->port);
	if ((r = buf_err(&b)) == 0)
		r = channels_global_request(l->all->chs, name, &b, done,
		    arg);
	buf_clear(&b);
	return r;
}

static void
cancel_listen(const struct foreign_listen *l)
{
	if (send_listen(l, "cancel-tcpip-forward", NULL, NULL) != 0)
		log_debug("a forward could not be cancelled");
}

static bool
take_port(struct foreign_listen *l, struct rd data)
{
	if (l->port == 0)
		l->port = rd_u32(&data);
	return rd_err(&data) == 0 && l->port > 0 && l->port <= UINT16_MAX;
}

static void
on_listen_answer(void *arg, bool ok, struct rd data)
{
	struct foreign_listen *l = arg;
	struct buf b = { 0 };

	ok = ok && take_port(l, data);
	if (l->owner != NULL && l->wants_reply) {
		buf_put_u8(&b,
		    ok ? SSH_MSG_REQUEST_SUCCESS : SSH_MSG_REQUEST_FAILURE);
		if (ok)
			buf_put(&b, data.p, data.len);
		if (buf_err(&b) == 0)
			foreign_tell_owner(l->owner, &b);
		buf_clear(&b);
	}
	l->stands = ok && l->owner != NULL;
	if (ok && l->owner == NULL)
		cancel_listen(l);
	if (!l->stands)
		remove_listen(l);
}

static int
add_listen(struct foreign *f, char *host, uint32_t port, bool wants_reply)
{
	struct foreign_all *all = f->all;
	struct foreign_listen *l;

	if (f->listens >= FOREIGN_LISTENS_MAX ||
	    all->listen_count >= FOREIGN_LISTENS_MAX_ALL)
		return ERR_LIMIT;
	if ((l = calloc(1, sizeof *l)) == NULL ||
	    (l->host = strdup(host)) == NULL) {
		free(l);
		return ERR_NOMEM;
	}
	l->all = all;
	l->owner = f;
	l->port = port;
	l->wants_reply = wants_reply;
	TAILQ_INSERT_HEAD(&all->listens, l, entry);
	all->listen_count++;
	f->listens++;
	/* l stays in the list after an error too: the request may have been
	 * queued, and then its answer refers to l. */
	return send_listen(l, "tcpip-forward", on_listen_answer, l);
}

int
foreign_ask_to_listen(struct foreign *f, struct rd r)
{
	struct span name = rd_string(&r);
	bool wants_reply = rd_bool(&r);
	uint32_t port;
	char *host;
	int err;

	if ((err = rd_err(&r)) != 0)
		return err;
	if (!span_equals(name, "tcpip-forward"))
		return ERR_DENIED;
	host = rd_cstring(&r, HOST_MAX);
	port = rd_u32(&r);
	if ((err = rd_end(&r)) == 0 && port > UINT16_MAX)
		err = ERR_PROTOCOL;
	if (err == 0)
		err = add_listen(f, host, port, wants_reply);
	free(host);
	return err;
}

struct foreign *
foreign_claim(const struct foreign_all *all, const char *type, struct rd r)
{
	const struct foreign_listen *l;
	struct span host = rd_string(&r);
	uint32_t port = rd_u32(&r);

	if (strcmp(type, "forwarded-tcpip") != 0 || rd_err(&r) != 0)
		return NULL;
	TAILQ_FOREACH(l, &all->listens, entry)
		if (l->stands && l->port == port && span_equals(host, l->host))
			return l->owner;
	return NULL;
}

void
foreign_leave_listens(struct foreign *f)
{
	struct foreign_listen *l, *next;

	for (l = TAILQ_FIRST(&f->all->listens); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (l->owner != f)
			continue;
		if (l->stands) {
			cancel_listen(l);
			remove_listen(l);
		} else {
			l->owner = NULL; /* on_listen_answer() cancels it */
		}
	}
}
