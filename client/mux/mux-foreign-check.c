/* SPDX-License-Identifier: ISC */
/* What the two sides of a foreign channel may say, and when. */
#include "base/mem.h"
#include "client/mux/mux-foreign-internal.h"

enum { NAME_MAX_LEN = 255 };

static int
check_confirmation(struct foreign_channel *x, enum side from, struct rd *r)
{
	struct foreign_side *other = &x->side[from == OWNER ? PEER : OWNER];

	x->side[from].number = rd_u32(r);
	other->window = rd_u32(r);
	other->max_packet = rd_u32(r);
	x->stage = FOREIGN_OPEN;
	return rd_err(r);
}

static int
check_refusal(struct rd *r)
{
	(void)rd_u32(r);
	(void)rd_string(r);
	return rd_err(r); /* a language tag may follow */
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

/* Data of side s has to be within the window that the other side has opened. A
 * packet of the peer that is larger than max_packet is passed on: it is for the
 * owner to refuse. */
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

/* An EOF or CLOSE of the right form is noted in *noted. */
static int
check_end(bool *noted, struct rd *r)
{
	int err = rd_end(r);

	*noted = *noted || err == 0;
	return err;
}

/* Checks that a message on an open channel has the right form, and may come
 * now. */
static int
check_open(struct foreign_channel *x, enum side from, uint8_t type,
    struct rd *r)
{
	struct foreign_side *s = &x->side[from];
	struct foreign_side *other = &x->side[from == OWNER ? PEER : OWNER];

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

int
foreign_check(struct foreign_channel *x, enum side from, uint8_t type,
    struct rd *r)
{
	if (x->stage == FOREIGN_OPEN)
		return check_open(x, from, type, r);
	if ((x->stage == FOREIGN_ASKED) != (from == PEER))
		return ERR_PROTOCOL; /* this side does not answer the OPEN */
	if (type == SSH_MSG_CHANNEL_OPEN_CONFIRMATION)
		return check_confirmation(x, from, r);
	return type == SSH_MSG_CHANNEL_OPEN_FAILURE ? check_refusal(r) :
						      ERR_PROTOCOL;
}
