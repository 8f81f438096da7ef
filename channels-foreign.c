/* SPDX-License-Identifier: ISC */
#include "channels-foreign.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "channels-internal.h"

enum { HOST_MAX = 1025, NAME_MAX_LEN = 255 };

enum foreign_stage {
	FOREIGN_ASKED,	 /* the owner's OPEN is with the peer */
	FOREIGN_OFFERED, /* the peer's OPEN is with the owner */
	FOREIGN_OPEN,
};

enum side { OWNER, PEER, SIDES };

/* What one side has sent, and may send. */
struct foreign_side {
	uint32_t window, max_packet;
	uint32_t asked; /* requests that the other side has to answer */
	bool eof, close;
};

struct foreign_channel {
	struct foreign *owner; /* NULL: it has gone */
	uint32_t number;       /* that the owner has given it */
	enum foreign_stage stage;
	struct foreign_side side[SIDES];
	/* The peer's data from before the owner's answer (channels-early.c),
	 * as far as the owner has not got it; and what follows it. */
	struct buf early;
	bool eof_waits, close_waits;
};

/* A port that the peer listens on for an owner, or was asked to. */
struct foreign_listen {
	struct foreign_listen *next;
	struct channels *chs;
	struct foreign *owner; /* NULL: it has gone before the answer */
	char *host;
	uint32_t port; /* 0: the peer picks one, and has not told it yet */
	bool wants_reply, stands;
};

struct foreign {
	struct channels *chs;
	struct foreign_hooks hooks;
	size_t channels, listens;
};

static void
tell_owner(const struct foreign *f, const struct buf *b)
{
	f->hooks.message(f->hooks.arg, b);
}

/* Gives it to the side; nobody hears what was for an owner that has gone. */
static int
send_to(const struct channel *c, enum side to, struct buf *b)
{
	int r = buf_err(b);

	if (to == PEER)
		return channels_send(c->chs, b);
	if (r == 0 && c->foreign->owner != NULL)
		tell_owner(c->foreign->owner, b);
	buf_clear(b);
	return r;
}

static void
begin(const struct channel *c, enum side to, struct buf *b, uint8_t type)
{
	buf_init(b);
	buf_put_u8(b, type);
	buf_put_u32(b, to == PEER ? c->peer_id : c->foreign->number);
}

static int
send_bare(const struct channel *c, enum side to, uint8_t type)
{
	struct buf b;

	begin(c, to, &b, type);
	return send_to(c, to, &b);
}

/* ---- life of a channel -------------------------------------------------- */

static bool
is_full(const struct foreign *f)
{
	return f->channels >= FOREIGN_CHANNELS_MAX ||
	    f->chs->foreign.channels >= FOREIGN_CHANNELS_MAX_ALL;
}

static int
adopt(struct foreign *f, struct channel *c, enum foreign_stage stage)
{
	if ((c->foreign = calloc(1, sizeof *c->foreign)) == NULL)
		return ERR_NOMEM;
	c->state = CHANNEL_FOREIGN;
	c->foreign->owner = f;
	c->foreign->stage = stage;
	f->channels++;
	f->chs->foreign.channels++;
	return 0;
}

static void
forget_owner(struct channel *c)
{
	if (c->foreign == NULL || c->foreign->owner == NULL)
		return;
	c->foreign->owner->channels--;
	c->foreign->owner = NULL;
}

static void
die(struct channel *c)
{
	forget_owner(c);
	c->state = CHANNEL_DEAD;
	channel_touch(c);
	loop_again(c->chs->loop);
}

void
channel_free_foreign(struct channel *c)
{
	if (c->foreign == NULL)
		return;
	forget_owner(c);
	c->chs->foreign.channels--;
	buf_clear(&c->foreign->early);
	free(c->foreign);
	c->foreign = NULL;
}

static bool
is_closed(const struct channel *c)
{
	return c->foreign->side[OWNER].close && c->foreign->side[PEER].close;
}

static int
close_for_owner(struct channel *c)
{
	c->foreign->side[OWNER].close = true;
	return send_bare(c, PEER, SSH_MSG_CHANNEL_CLOSE);
}

/* Its number stays taken until the peer knows that it is closed. */
static void
orphan(struct channel *c)
{
	struct buf b;
	int r = 0;

	buf_clear(&c->foreign->early);
	switch (c->foreign->stage) {
	case FOREIGN_ASKED:
		break; /* closed when it is confirmed */
	case FOREIGN_OFFERED:
		begin(c, PEER, &b, SSH_MSG_CHANNEL_OPEN_FAILURE);
		buf_put_u32(&b, CHANNEL_OPEN_CONNECT_FAILED);
		buf_put_cstring(&b, "open failed: connection failed");
		buf_put_cstring(&b, "");
		r = send_to(c, PEER, &b);
		die(c);
		break;
	case FOREIGN_OPEN:
		if (!c->foreign->side[OWNER].close)
			r = close_for_owner(c);
		if (is_closed(c))
			die(c);
		break;
	}
	if (r != 0)
		log_debug("a channel could not be closed: %s", err_text(r));
	forget_owner(c);
}

/* ---- opening ------------------------------------------------------------ */

/* What the sender of an OPEN or a confirmation lets the other side send. */
static int
read_offer(struct foreign_channel *x, enum side from, struct rd *r)
{
	struct foreign_side *other = &x->side[from == OWNER ? PEER : OWNER];

	other->window = rd_u32(r);
	other->max_packet = rd_u32(r);
	return rd_err(r);
}

static void
put_rest(struct buf *b, struct rd r)
{
	buf_put(b, r.p, r.len);
}

static int
refuse_owner(const struct foreign *f, uint32_t number)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN_FAILURE);
	buf_put_u32(&b, number);
	buf_put_u32(&b, CHANNEL_OPEN_RESOURCE_SHORTAGE);
	buf_put_cstring(&b, "open failed: no resources");
	buf_put_cstring(&b, "");
	if ((r = buf_err(&b)) == 0)
		tell_owner(f, &b);
	buf_clear(&b);
	return r;
}

/* type, number and what follows: an OPEN whose sender is c. */
static int
send_open(struct channel *c, enum side to, struct rd rest)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, c->type);
	buf_put_u32(&b, c->id);
	put_rest(&b, rest);
	return send_to(c, to, &b);
}

static int
open_typed(struct foreign *f, const char *type, uint32_t number, struct rd r)
{
	struct rd rest = r;
	struct channel *c;
	int err;

	err = is_full(f) ? ERR_LIMIT : channel_new(&c, f->chs, type);
	if (err == ERR_LIMIT)
		return refuse_owner(f, number);
	if (err != 0)
		return err;
	if ((err = adopt(f, c, FOREIGN_ASKED)) == 0) {
		c->foreign->number = number;
		err = read_offer(c->foreign, OWNER, &r);
	}
	if (err == 0)
		err = send_open(c, PEER, rest);
	if (err != 0)
		die(c);
	return err;
}

/* Users are shown it. */
static bool
is_type(const char *s)
{
	while (*s > ' ' && *s < 0x7f)
		s++;
	return *s == '\0';
}

static int
on_owner_open(struct foreign *f, struct rd r)
{
	char *type = rd_cstring(&r, CHANNEL_TYPE_MAX - 1);
	uint32_t number = rd_u32(&r);
	int err = rd_err(&r);

	if (err == 0)
		err = is_type(type) ? open_typed(f, type, number, r) :
				      ERR_PROTOCOL;
	free(type);
	return err;
}

/* The peer's OPEN for what it listens on for f; r is behind its window. */
int
channel_offer_foreign(struct channel *c, struct foreign *f, struct rd r)
{
	struct buf b = { 0 };
	struct rd rest;
	int err;

	if (is_full(f))
		return channel_refuse(c, CHANNEL_OPEN_RESOURCE_SHORTAGE, NULL);
	if ((err = adopt(f, c, FOREIGN_OFFERED)) != 0)
		return err;
	c->foreign->side[OWNER].window = c->peer_window;
	c->foreign->side[OWNER].max_packet = c->peer_max_packet;
	buf_put_u32(&b, c->peer_window);
	buf_put_u32(&b, c->peer_max_packet);
	put_rest(&b, r);
	rest = rd_from_buf(&b);
	if ((err = buf_err(&b)) == 0)
		err = send_open(c, OWNER, rest);
	buf_clear(&b);
	return err;
}

/* ---- early data --------------------------------------------------------- */

static int
hand_over(struct channel *c, size_t len)
{
	struct foreign_channel *x = c->foreign;
	struct buf b;

	begin(c, OWNER, &b, SSH_MSG_CHANNEL_DATA);
	buf_put_string(&b, buf_data(&x->early), len);
	buf_consume(&x->early, len);
	x->side[PEER].window -= (uint32_t)len;
	return send_to(c, OWNER, &b);
}

static int
hand_over_ends(struct channel *c)
{
	struct foreign_channel *x = c->foreign;
	int r = 0;

	if (x->eof_waits)
		r = send_bare(c, OWNER, SSH_MSG_CHANNEL_EOF);
	if (r == 0 && x->close_waits)
		r = send_bare(c, OWNER, SSH_MSG_CHANNEL_CLOSE);
	x->eof_waits = x->close_waits = false;
	return r;
}

/* As ordinary data, as far as the owner's window goes: of that the peer takes
 * what it has sent early, but it did not know how wide it would be. */
static int
hand_over_early(struct channel *c)
{
	struct foreign_channel *x = c->foreign;
	const struct foreign_side *s = &x->side[PEER];
	size_t len;
	int r = 0;

	while (r == 0 && (len = MIN(buf_len(&x->early),
	    (size_t)MIN(s->window, s->max_packet))) > 0)
		r = hand_over(c, len);
	if (r != 0 || buf_len(&x->early) > 0)
		return r;
	buf_clear(&x->early);
	return hand_over_ends(c);
}

int
channel_keep_foreign(struct channel *c, struct span data)
{
	struct foreign_channel *x = c->foreign;
	const struct foreign_side *s = &x->side[PEER];
	int r;

	if (x->stage == FOREIGN_ASKED || s->eof || s->close ||
	    data.len > CHANNEL_EARLY_MAX - c->early)
		return ERR_PROTOCOL;
	c->early += (uint32_t)data.len;
	if (x->owner == NULL || x->side[OWNER].close)
		return 0;
	buf_put(&x->early, data.p, data.len);
	r = buf_err(&x->early);
	return r == 0 && x->stage == FOREIGN_OPEN ? hand_over_early(c) : r;
}

/* The peer's EOF or CLOSE, behind data that waits. */
static bool
must_wait(struct channel *c, enum side from, uint8_t type)
{
	struct foreign_channel *x = c->foreign;

	if (from == OWNER || buf_len(&x->early) == 0)
		return false;
	x->eof_waits = x->eof_waits || type == SSH_MSG_CHANNEL_EOF;
	x->close_waits = x->close_waits || type == SSH_MSG_CHANNEL_CLOSE;
	return type == SSH_MSG_CHANNEL_EOF || type == SSH_MSG_CHANNEL_CLOSE;
}

/* The owner's message went to the peer: may early data, or need it no more? */
static int
settle_early(struct channel *c, uint8_t type)
{
	struct foreign_channel *x = c->foreign;

	switch (type) {
	case SSH_MSG_CHANNEL_OPEN_CONFIRMATION:
	case SSH_MSG_CHANNEL_WINDOW_ADJUST:
		return hand_over_early(c);
	case SSH_MSG_CHANNEL_CLOSE:
		buf_clear(&x->early);
		return hand_over_ends(c);
	default:
		return 0;
	}
}

/* ---- messages of a channel ---------------------------------------------- */

static int
check_confirmation(struct channel *c, enum side from, struct rd *r)
{
	uint32_t number = rd_u32(r);
	int err = read_offer(c->foreign, from, r);

	if (from == PEER)
		c->peer_id = number;
	else
		c->foreign->number = number;
	c->foreign->stage = FOREIGN_OPEN;
	return err;
}

static int
check_refusal(struct rd *r)
{
	(void)rd_u32(r);
	(void)rd_string(r);
	return rd_err(r); /* a language may follow */
}

static int
check_adjust(struct foreign_side *other, struct rd *r)
{
	uint32_t more = rd_u32(r);
	int err = rd_end(r);

	if (err != 0)
		return err;
	if (more > UINT32_MAX - other->window)
		return ERR_PROTOCOL;
	other->window += more;
	return 0;
}

/* Packets that are too large are the owner's to refuse, if it minds. */
static int
check_data(struct foreign_side *s, enum side from, bool extended, struct rd *r)
{
	struct span data;
	int err;

	if (extended)
		(void)rd_u32(r);
	data = rd_string(r);
	if ((err = rd_end(r)) != 0)
		return err;
	if (s->eof || data.len > s->window ||
	    (from == OWNER && data.len > s->max_packet))
		return ERR_PROTOCOL;
	s->window -= (uint32_t)data.len;
	return 0;
}

static int
check_request(struct foreign_side *s, struct rd *r)
{
	struct span name = rd_string(r);
	bool wants_reply = rd_bool(r);
	int err = rd_err(r);

	if (err != 0)
		return err;
	if (name.len > NAME_MAX_LEN)
		return ERR_PROTOCOL;
	if (wants_reply && s->asked < UINT32_MAX)
		s->asked++;
	return 0;
}

static int
check_reply(struct foreign_side *other, struct rd *r)
{
	int err = rd_end(r);

	if (err != 0)
		return err;
	if (other->asked == 0)
		return ERR_PROTOCOL;
	other->asked--;
	return 0;
}

/* EOF or CLOSE. */
static int
check_end(bool *noted, struct rd *r)
{
	int err = rd_end(r);

	*noted = *noted || err == 0;
	return err;
}

/* On an open channel: is it of the right form, and allowed now? Notes what it
 * changes. */
static int
check_open(struct channel *c, enum side from, uint8_t type, struct rd *r)
{
	struct foreign_side *s = &c->foreign->side[from];
	struct foreign_side *other =
	    &c->foreign->side[from == OWNER ? PEER : OWNER];

	if (s->close)
		return ERR_PROTOCOL;
	switch (type) {
	case SSH_MSG_CHANNEL_WINDOW_ADJUST:
		return check_adjust(other, r);
	case SSH_MSG_CHANNEL_DATA:
		return check_data(s, from, false, r);
	case SSH_MSG_CHANNEL_EXTENDED_DATA:
		return check_data(s, from, true, r);
	case SSH_MSG_CHANNEL_EOF:
		return s->eof && from == OWNER ? ERR_PROTOCOL :
						 check_end(&s->eof, r);
	case SSH_MSG_CHANNEL_CLOSE:
		return check_end(&s->close, r);
	case SSH_MSG_CHANNEL_REQUEST:
		return check_request(s, r);
	case SSH_MSG_CHANNEL_SUCCESS:
	case SSH_MSG_CHANNEL_FAILURE:
		return check_reply(other, r);
	default:
		return ERR_PROTOCOL;
	}
}

static int
check(struct channel *c, enum side from, uint8_t type, struct rd *r)
{
	enum foreign_stage stage = c->foreign->stage;

	if (stage == FOREIGN_OPEN)
		return check_open(c, from, type, r);
	if ((stage == FOREIGN_ASKED) != (from == PEER))
		return ERR_PROTOCOL; /* it was not asked */
	if (type == SSH_MSG_CHANNEL_OPEN_CONFIRMATION)
		return check_confirmation(c, from, r);
	return type == SSH_MSG_CHANNEL_OPEN_FAILURE ? check_refusal(r) :
						      ERR_PROTOCOL;
}

static int
relay(struct channel *c, enum side from, uint8_t type, struct rd r)
{
	enum side to = from == OWNER ? PEER : OWNER;
	struct rd rest = r;
	struct buf b;
	int err = check(c, from, type, &r);

	if (err != 0 || must_wait(c, from, type))
		return err;
	begin(c, to, &b, type);
	if (type == SSH_MSG_CHANNEL_OPEN_CONFIRMATION) {
		(void)rd_u32(&rest);
		buf_put_u32(&b, c->id);
	}
	put_rest(&b, rest);
	err = send_to(c, to, &b);
	if (err == 0 && from == OWNER)
		err = settle_early(c, type);
	if (type == SSH_MSG_CHANNEL_OPEN_FAILURE || is_closed(c))
		die(c);
	return err;
}

/* Servers end connections on which this is not answered: not even an owner that
 * has stopped shall cause that. */
static bool
is_alive_check(const struct channel *c, uint8_t type, struct rd r)
{
	const struct foreign_channel *x = c->foreign;

	return type == SSH_MSG_CHANNEL_REQUEST && x->stage == FOREIGN_OPEN &&
	    x->side[PEER].asked == 0 && !x->side[OWNER].close &&
	    !x->side[PEER].close &&
	    span_equals(rd_string(&r), "keepalive@openssh.com") && rd_bool(&r);
}

int
channel_input_foreign(struct channel *c, uint8_t type, struct rd r)
{
	int err;

	(void)rd_u32(&r); /* by which it was found */
	if (is_alive_check(c, type, r))
		return send_bare(c, PEER, SSH_MSG_CHANNEL_FAILURE);
	if ((err = relay(c, PEER, type, r)) != 0)
		return err;
	if (type == SSH_MSG_CHANNEL_CLOSE)
		channel_note_close(c);
	if (c->state == CHANNEL_FOREIGN && c->foreign->owner == NULL &&
	    type == SSH_MSG_CHANNEL_OPEN_CONFIRMATION)
		return close_for_owner(c);
	return 0;
}

struct channel *
channels_find_foreign(const struct channels *chs, uint8_t type, struct rd r)
{
	uint32_t id = rd_u32(&r);

	if (type < SSH_MSG_CHANNEL_OPEN_CONFIRMATION ||
	    type > SSH_MSG_CHANNEL_FAILURE || rd_err(&r) != 0 ||
	    id >= chs->n || chs->v[id] == NULL ||
	    chs->v[id]->state != CHANNEL_FOREIGN)
		return NULL;
	return chs->v[id];
}

static int
on_owner_message(struct foreign *f, uint8_t type, struct rd r)
{
	struct channel *c = channels_find_foreign(f->chs, type, r);

	if (c == NULL || c->foreign->owner != f)
		return ERR_PROTOCOL;
	(void)rd_u32(&r);
	return relay(c, OWNER, type, r);
}

/* ---- ports that the peer listens on ------------------------------------- */

static void
remove_listen(struct foreign_listen *l)
{
	struct foreign_listen **at = &l->chs->foreign.listens;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->chs->foreign.listen_count--;
	if (l->owner != NULL)
		l->owner->listens--;
	free(l->host);
	free(l);
}

void
channels_clear_foreign(struct channels *chs)
{
	while (chs->foreign.listens != NULL)
		remove_listen(chs->foreign.listens);
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
		r = channels_global_request(l->chs, name, &b, done, arg);
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
			put_rest(&b, data);
		if (buf_err(&b) == 0)
			tell_owner(l->owner, &b);
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
	struct channels *chs = f->chs;
	struct foreign_listen *l;

	if (f->listens >= FOREIGN_LISTENS_MAX ||
	    chs->foreign.listen_count >= FOREIGN_LISTENS_MAX_ALL)
		return ERR_LIMIT;
	if ((l = calloc(1, sizeof *l)) == NULL ||
	    (l->host = strdup(host)) == NULL) {
		free(l);
		return ERR_NOMEM;
	}
	l->chs = chs;
	l->owner = f;
	l->port = port;
	l->wants_reply = wants_reply;
	l->next = chs->foreign.listens;
	chs->foreign.listens = l;
	chs->foreign.listen_count++;
	f->listens++;
	/* It stays after an error, because an answer may be expected. */
	return send_listen(l, "tcpip-forward", on_listen_answer, l);
}

static int
on_owner_global(struct foreign *f, struct rd r)
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
channels_claim_foreign(const struct channels *chs, const char *type,
    struct rd r)
{
	const struct foreign_listen *l = chs->foreign.listens;
	struct span host = rd_string(&r);
	uint32_t port = rd_u32(&r);

	if (strcmp(type, "forwarded-tcpip") != 0 || rd_err(&r) != 0)
		return NULL;
	while (l != NULL &&
	    (!l->stands || l->port != port || !span_equals(host, l->host)))
		l = l->next;
	return l != NULL ? l->owner : NULL;
}

/* ---- owners ------------------------------------------------------------- */

int
foreign_new(struct foreign **out, struct channels *chs,
    const struct foreign_hooks *hooks)
{
	struct foreign *f = calloc(1, sizeof *f);

	if (f == NULL)
		return ERR_NOMEM;
	f->chs = chs;
	f->hooks = *hooks;
	*out = f;
	return 0;
}

static void
leave_listens(struct foreign *f)
{
	struct foreign_listen *l, *next;

	for (l = f->chs->foreign.listens; l != NULL; l = next) {
		next = l->next;
		if (l->owner != f)
			continue;
		if (l->stands) {
			cancel_listen(l);
			remove_listen(l);
		} else {
			l->owner = NULL; /* the answer is still to come */
		}
	}
}

void
foreign_free(struct foreign *f)
{
	struct channels *chs;

	if (f == NULL)
		return;
	chs = f->chs;
	for (size_t i = 0; i < chs->n; i++)
		if (chs->v[i] != NULL && chs->v[i]->foreign != NULL &&
		    chs->v[i]->foreign->owner == f)
			orphan(chs->v[i]);
	leave_listens(f);
	free(f);
}

int
foreign_input(struct foreign *f, struct rd message)
{
	struct rd r = message;
	uint8_t type = rd_u8(&r);

	if (rd_err(&r) != 0 || message.len > FOREIGN_MESSAGE_MAX)
		return ERR_PROTOCOL;
	if (type == SSH_MSG_GLOBAL_REQUEST)
		return on_owner_global(f, r);
	if (type == SSH_MSG_CHANNEL_OPEN)
		return on_owner_open(f, r);
	return on_owner_message(f, type, r);
}

bool
foreign_has_room(const struct foreign *f)
{
	return packet_has_room(f->chs->packet);
}
