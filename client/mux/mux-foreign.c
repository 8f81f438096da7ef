/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-foreign.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "channels-raw.h"
#include "client/mux/mux-foreign-internal.h"

enum { TYPE_MAX = 63 }; /* bytes of a channel type's name */

static const struct channel_raw_ops raw_ops;

void
foreign_tell_owner(const struct foreign *f, const struct buf *b)
{
	f->hooks.message(f->hooks.arg, b);
}

/* Sends the message to side `to`. For an owner that has gone it is dropped. b
 * is emptied. */
static int
send_to(const struct foreign_channel *x, enum side to, struct buf *b)
{
	int r = buf_err(b);

	if (to == PEER)
		return channels_send_raw(x->all->chs, b);
	if (r == 0 && x->owner != NULL)
		foreign_tell_owner(x->owner, b);
	buf_clear(b);
	return r;
}

static void
begin(const struct foreign_channel *x, enum side to, struct buf *b,
    uint8_t type)
{
	buf_init(b);
	buf_put_u8(b, type);
	buf_put_u32(b, x->side[to].number);
}

static int
send_bare(const struct foreign_channel *x, enum side to, uint8_t type)
{
	struct buf b;

	begin(x, to, &b, type);
	return send_to(x, to, &b);
}

/* ---- life of a channel -------------------------------------------------- */

static bool
is_full(const struct foreign *f)
{
	return f->channels >= FOREIGN_CHANNELS_MAX ||
	    f->all->channels >= FOREIGN_CHANNELS_MAX_ALL;
}

/* Makes a channel of the owner f. The caller sets its struct channel. NULL: out
 * of memory. */
static struct foreign_channel *
adopt(struct foreign *f, enum foreign_stage stage)
{
	struct foreign_channel *x = calloc(1, sizeof *x);

	if (x == NULL)
		return NULL;
	x->all = f->all;
	x->owner = f;
	x->stage = stage;
	f->channels++;
	f->all->channels++;
	return x;
}

static void
forget_owner(struct foreign_channel *x)
{
	if (x->owner == NULL)
		return;
	x->owner->channels--;
	x->owner = NULL;
}

static void
die(struct foreign_channel *x)
{
	forget_owner(x);
	channel_end_raw(x->c);
}

static void
on_freed(void *arg)
{
	struct foreign_channel *x = arg;

	forget_owner(x);
	x->all->channels--;
	buf_clear(&x->early);
	free(x);
}

static bool
is_closed(const struct foreign_channel *x)
{
	return x->side[OWNER].close && x->side[PEER].close;
}

static int
close_for_owner(struct foreign_channel *x)
{
	x->side[OWNER].close = true;
	return send_bare(x, PEER, SSH_MSG_CHANNEL_CLOSE);
}

/* The channel's owner goes. Its number stays taken until the peer knows that
 * the channel is closed. */
static void
orphan(struct foreign_channel *x)
{
	struct buf b;
	int r = 0;

	buf_clear(&x->early);
	switch (x->stage) {
	case FOREIGN_ASKED:
		break; /* on_input() closes it when the peer confirms it */
	case FOREIGN_OFFERED:
		begin(x, PEER, &b, SSH_MSG_CHANNEL_OPEN_FAILURE);
		buf_put_u32(&b, CHANNEL_OPEN_CONNECT_FAILED);
		buf_put_cstring(&b, "open failed: connection failed");
		buf_put_cstring(&b, "");
		r = send_to(x, PEER, &b);
		die(x);
		break;
	case FOREIGN_OPEN:
		if (!x->side[OWNER].close)
			r = close_for_owner(x);
		if (is_closed(x))
			die(x);
		break;
	}
	if (r != 0)
		log_debug("a channel could not be closed: %s", err_text(r));
	forget_owner(x);
}

/* ---- opening ------------------------------------------------------------ */

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
		foreign_tell_owner(f, &b);
	buf_clear(&b);
	return r;
}

/* Sends an OPEN to side `to`. rest: window, packet size, and the data of this
 * type of channel. */
static int
send_open(const struct foreign_channel *x, enum side to, const char *type,
    struct rd rest)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_CHANNEL_OPEN);
	buf_put_cstring(&b, type);
	buf_put_u32(&b, channel_id(x->c));
	put_rest(&b, rest);
	return send_to(x, to, &b);
}

static int
open_typed(struct foreign *f, const char *type, uint32_t number, struct rd r)
{
	struct rd rest = r;
	struct foreign_channel *x;
	int err;

	if (is_full(f))
		return refuse_owner(f, number);
	if ((x = adopt(f, FOREIGN_ASKED)) == NULL)
		return ERR_NOMEM;
	x->side[OWNER].number = number;
	x->side[PEER].window = rd_u32(&r);
	x->side[PEER].max_packet = rd_u32(&r);
	err = channel_new_raw(&x->c, f->all->chs, type, &raw_ops, x);
	if (err != 0) {
		on_freed(x);
		return err == ERR_LIMIT ? refuse_owner(f, number) : err;
	}
	if ((err = rd_err(&r)) == 0)
		err = send_open(x, PEER, type, rest);
	if (err != 0)
		die(x);
	return err;
}

/* A channel's type has to be printable: users are shown it. */
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
	char *type = rd_cstring(&r, TYPE_MAX);
	uint32_t number = rd_u32(&r);
	int err = rd_err(&r);

	if (err == 0)
		err = is_type(type) ? open_typed(f, type, number, r) :
				      ERR_PROTOCOL;
	free(type);
	return err;
}

/* Accepts an OPEN of the peer if it is for a port that the peer listens on for
 * an owner. */
static int
on_offer(void *arg, struct channel *c, const char *type, struct rd r)
{
	struct channel_raw_open open = channel_raw_open(c);
	struct foreign *f = foreign_claim(arg, type, r);
	struct foreign_channel *x;
	struct buf b = { 0 };
	int err;

	if (f == NULL)
		return CHANNEL_FAILURE;
	if (is_full(f)) {
		err = channel_refuse(c, CHANNEL_OPEN_RESOURCE_SHORTAGE, NULL);
		return err != 0 ? err : CHANNEL_SUCCESS;
	}
	if ((x = adopt(f, FOREIGN_OFFERED)) == NULL)
		return ERR_NOMEM;
	x->c = c;
	channel_make_raw(c, &raw_ops, x);
	x->side[PEER].number = open.number;
	x->side[OWNER].window = open.window;
	x->side[OWNER].max_packet = open.max_packet;
	buf_put_u32(&b, open.window);
	buf_put_u32(&b, open.max_packet);
	put_rest(&b, r);
	if ((err = buf_err(&b)) == 0)
		err = send_open(x, OWNER, type, rd_from_buf(&b));
	buf_clear(&b);
	return err != 0 ? err : CHANNEL_SUCCESS;
}

/* ---- early data --------------------------------------------------------- */

static int
hand_over(struct foreign_channel *x, size_t len)
{
	struct buf b;

	begin(x, OWNER, &b, SSH_MSG_CHANNEL_DATA);
	buf_put_string(&b, buf_data(&x->early), len);
	buf_consume(&x->early, len);
	x->side[PEER].window -= (uint32_t)len;
	return send_to(x, OWNER, &b);
}

static int
hand_over_ends(struct foreign_channel *x)
{
	int r = 0;

	if (x->eof_waits)
		r = send_bare(x, OWNER, SSH_MSG_CHANNEL_EOF);
	if (r == 0 && x->close_waits)
		r = send_bare(x, OWNER, SSH_MSG_CHANNEL_CLOSE);
	x->eof_waits = x->close_waits = false;
	return r;
}

/* Sends early data to the owner as ordinary data, as far as the owner's window
 * allows. The peer counts early data against that window too, but it sent the
 * data before it knew the window's size. */
static int
hand_over_early(struct foreign_channel *x)
{
	const struct foreign_side *s = &x->side[PEER];
	size_t len;
	int r = 0;

	while (r == 0 && (len = MIN(buf_len(&x->early),
	    (size_t)MIN(s->window, s->max_packet))) > 0)
		r = hand_over(x, len);
	if (r != 0 || buf_len(&x->early) > 0)
		return r;
	buf_clear(&x->early);
	return hand_over_ends(x);
}

static int
on_early(void *arg, struct channel *c, struct span data)
{
	struct foreign_channel *x = arg;
	const struct foreign_side *s = &x->side[PEER];
	int r;

	(void)c;
	if (x->stage == FOREIGN_ASKED || s->eof || s->close ||
	    data.len > CHANNEL_EARLY_MAX - x->early_sum)
		return ERR_PROTOCOL;
	x->early_sum += (uint32_t)data.len;
	if (x->owner == NULL || x->side[OWNER].close)
		return 0;
	buf_put(&x->early, data.p, data.len);
	r = buf_err(&x->early);
	return r == 0 && x->stage == FOREIGN_OPEN ? hand_over_early(x) : r;
}

/* True for an EOF or CLOSE of the peer while the owner has not got all early
 * data: it is noted, and sent behind that data. */
static bool
must_wait(struct foreign_channel *x, enum side from, uint8_t type)
{
	if (from == OWNER || buf_len(&x->early) == 0)
		return false;
	x->eof_waits = x->eof_waits || type == SSH_MSG_CHANNEL_EOF;
	x->close_waits = x->close_waits || type == SSH_MSG_CHANNEL_CLOSE;
	return type == SSH_MSG_CHANNEL_EOF || type == SSH_MSG_CHANNEL_CLOSE;
}

/* Called after a message of the owner was sent to the peer. A CONFIRMATION or
 * WINDOW_ADJUST of the owner lets early data go to it; a CLOSE of the owner
 * throws that data away. */
static int
settle_early(struct foreign_channel *x, uint8_t type)
{
	switch (type) {
	case SSH_MSG_CHANNEL_OPEN_CONFIRMATION:
	case SSH_MSG_CHANNEL_WINDOW_ADJUST:
		return hand_over_early(x);
	case SSH_MSG_CHANNEL_CLOSE:
		buf_clear(&x->early);
		return hand_over_ends(x);
	default:
		return 0;
	}
}

/* ---- messages of a channel ---------------------------------------------- */

static int
relay(struct foreign_channel *x, enum side from, uint8_t type, struct rd r)
{
	enum side to = from == OWNER ? PEER : OWNER;
	struct rd rest = r;
	struct buf b;
	int err = foreign_check(x, from, type, &r);

	if (err != 0 || must_wait(x, from, type))
		return err;
	begin(x, to, &b, type);
	if (type == SSH_MSG_CHANNEL_OPEN_CONFIRMATION) {
		(void)rd_u32(&rest);
		buf_put_u32(&b, channel_id(x->c));
		if (from == PEER)
			channel_confirm_raw(x->c, x->side[PEER].number);
	}
	put_rest(&b, rest);
	err = send_to(x, to, &b);
	if (err == 0 && from == OWNER)
		err = settle_early(x, type);
	if (type == SSH_MSG_CHANNEL_OPEN_FAILURE || is_closed(x))
		die(x);
	return err;
}

/* True for a request by which the peer checks that the connection is alive. It
 * is answered here and not by the owner, because servers end a connection that
 * does not answer, and an owner that is stopped must not cause that. */
static bool
is_alive_check(const struct foreign_channel *x, uint8_t type, struct rd r)
{
	return type == SSH_MSG_CHANNEL_REQUEST && x->stage == FOREIGN_OPEN &&
	    x->side[PEER].asked == 0 && !x->side[OWNER].close &&
	    !x->side[PEER].close &&
	    span_equals(rd_string(&r), "keepalive@openssh.com") && rd_bool(&r);
}

static int
on_input(void *arg, struct channel *c, uint8_t type, struct rd r)
{
	struct foreign_channel *x = arg;
	int err;

	(void)c;
	(void)rd_u32(&r); /* our channel number, by which c was found */
	if (is_alive_check(x, type, r))
		return send_bare(x, PEER, SSH_MSG_CHANNEL_FAILURE);
	if ((err = relay(x, PEER, type, r)) != 0)
		return err;
	if (x->owner == NULL && type == SSH_MSG_CHANNEL_OPEN_CONFIRMATION)
		return close_for_owner(x);
	return 0;
}

static const struct channel_raw_ops raw_ops = {
	.input = on_input,
	.early = on_early,
	.freed = on_freed,
};

static int
on_owner_message(struct foreign *f, uint8_t type, struct rd r)
{
	struct channel *c = channels_find_raw(f->all->chs, type, r);
	struct foreign_channel *x = c != NULL ? channel_raw_arg(c) : NULL;

	if (x == NULL || x->owner != f)
		return ERR_PROTOCOL;
	(void)rd_u32(&r);
	return relay(x, OWNER, type, r);
}

/* ---- owners ------------------------------------------------------------- */

static void
on_all_freed(void *arg)
{
	struct foreign_all *all = arg;

	foreign_clear_listens(all);
	free(all);
}

/* The state that all owners of a connection share; the first owner's call makes
 * it. NULL: out of memory. */
static struct foreign_all *
all_of(struct channels *chs)
{
	static const struct channels_raw_ops ops = { .offer = on_offer,
		.freed = on_all_freed };
	struct foreign_all *all = channels_raw_arg(chs);

	if (all != NULL || (all = calloc(1, sizeof *all)) == NULL)
		return all;
	all->chs = chs;
	channels_set_raw(chs, &ops, all);
	return all;
}

int
foreign_new(struct foreign **out, struct channels *chs,
    const struct foreign_hooks *hooks)
{
	struct foreign_all *all = all_of(chs);
	struct foreign *f = all != NULL ? calloc(1, sizeof *f) : NULL;

	if (f == NULL)
		return ERR_NOMEM;
	f->all = all;
	f->hooks = *hooks;
	*out = f;
	return 0;
}

void
foreign_free(struct foreign *f)
{
	struct channel *c;
	uint32_t number = 0;

	if (f == NULL)
		return;
	while ((c = channels_next_raw(f->all->chs, &number)) != NULL) {
		struct foreign_channel *x = channel_raw_arg(c);

		if (x->owner == f)
			orphan(x);
	}
	foreign_leave_listens(f);
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
		return foreign_ask_to_listen(f, r);
	if (type == SSH_MSG_CHANNEL_OPEN)
		return on_owner_open(f, r);
	return on_owner_message(f, type, r);
}

bool
foreign_has_room(const struct foreign *f)
{
	return channels_have_room(f->all->chs);
}
