/* SPDX-License-Identifier: ISC */
#include "base/ttymodes.h"

#include <unistd.h>

#include "base/mem.h"

enum {
	OP_END = 0,
	OP_ISPEED = 128,
	OP_OSPEED = 129,
	OP_NO_ARGUMENT = 160, /* opcodes from here on have no argument */
	CC_UNSET = 255,	      /* on the wire: the function has no key */
};

enum where { CC, IFLAG, OFLAG, CFLAG, LFLAG };

static const struct {
	uint8_t op;
	enum where where;
	tcflag_t what; /* index in c_cc, or the bits of the flag */
	/* the bits of the field that `what` is a value of; 0: `what` is a
	 * single bit */
	tcflag_t mask;
} modes[] = {
	{ 1, CC, VINTR, 0 },
	{ 2, CC, VQUIT, 0 },
	{ 3, CC, VERASE, 0 },
	{ 4, CC, VKILL, 0 },
	{ 5, CC, VEOF, 0 },
	{ 6, CC, VEOL, 0 },
	{ 7, CC, VEOL2, 0 },
	{ 8, CC, VSTART, 0 },
	{ 9, CC, VSTOP, 0 },
	{ 10, CC, VSUSP, 0 },
#ifdef VDSUSP
	{ 11, CC, VDSUSP, 0 },
#endif
	{ 12, CC, VREPRINT, 0 },
	{ 13, CC, VWERASE, 0 },
	{ 14, CC, VLNEXT, 0 },
#ifdef VSWTC
	{ 16, CC, VSWTC, 0 },
#endif
#ifdef VSTATUS
	{ 17, CC, VSTATUS, 0 },
#endif
#ifdef VDISCARD
	{ 18, CC, VDISCARD, 0 },
#endif
	{ 30, IFLAG, IGNPAR, 0 },
	{ 31, IFLAG, PARMRK, 0 },
	{ 32, IFLAG, INPCK, 0 },
	{ 33, IFLAG, ISTRIP, 0 },
	{ 34, IFLAG, INLCR, 0 },
	{ 35, IFLAG, IGNCR, 0 },
	{ 36, IFLAG, ICRNL, 0 },
#ifdef IUCLC
	{ 37, IFLAG, IUCLC, 0 },
#endif
	{ 38, IFLAG, IXON, 0 },
	{ 39, IFLAG, IXANY, 0 },
	{ 40, IFLAG, IXOFF, 0 },
#ifdef IMAXBEL
	{ 41, IFLAG, IMAXBEL, 0 },
#endif
#ifdef IUTF8
	{ 42, IFLAG, IUTF8, 0 },
#endif
	{ 50, LFLAG, ISIG, 0 },
	{ 51, LFLAG, ICANON, 0 },
#ifdef XCASE
	{ 52, LFLAG, XCASE, 0 },
#endif
	{ 53, LFLAG, ECHO, 0 },
	{ 54, LFLAG, ECHOE, 0 },
	{ 55, LFLAG, ECHOK, 0 },
	{ 56, LFLAG, ECHONL, 0 },
	{ 57, LFLAG, NOFLSH, 0 },
	{ 58, LFLAG, TOSTOP, 0 },
	{ 59, LFLAG, IEXTEN, 0 },
#ifdef ECHOCTL
	{ 60, LFLAG, ECHOCTL, 0 },
#endif
#ifdef ECHOKE
	{ 61, LFLAG, ECHOKE, 0 },
#endif
#ifdef PENDIN
	{ 62, LFLAG, PENDIN, 0 },
#endif
	{ 70, OFLAG, OPOST, 0 },
#ifdef OLCUC
	{ 71, OFLAG, OLCUC, 0 },
#endif
	{ 72, OFLAG, ONLCR, 0 },
	{ 73, OFLAG, OCRNL, 0 },
	{ 74, OFLAG, ONOCR, 0 },
	{ 75, OFLAG, ONLRET, 0 },
	{ 90, CFLAG, CS7, CSIZE },
	{ 91, CFLAG, CS8, CSIZE },
	{ 92, CFLAG, PARENB, 0 },
	{ 93, CFLAG, PARODD, 0 },
};

static const struct {
	speed_t code;
	uint32_t baud;
} speeds[] = {
	{ B0, 0 },
	{ B50, 50 },
	{ B75, 75 },
	{ B110, 110 },
	{ B134, 134 },
	{ B150, 150 },
	{ B200, 200 },
	{ B300, 300 },
	{ B600, 600 },
	{ B1200, 1200 },
	{ B1800, 1800 },
	{ B2400, 2400 },
	{ B4800, 4800 },
	{ B9600, 9600 },
	{ B19200, 19200 },
	{ B38400, 38400 },
#ifdef B57600
	{ B57600, 57600 },
#endif
#ifdef B115200
	{ B115200, 115200 },
#endif
#ifdef B230400
	{ B230400, 230400 },
#endif
};

static uint32_t
speed_to_baud(speed_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(speeds); i++)
		if (speeds[i].code == code)
			return speeds[i].baud;
	return 9600;
}

/* The fastest known speed that is not above baud. */
static speed_t
baud_to_speed(uint32_t baud)
{
	size_t best = 0;

	for (size_t i = 0; i < ARRAY_LEN(speeds); i++)
		if (speeds[i].baud <= baud)
			best = i;
	return speeds[best].code;
}

static tcflag_t *
flag_of(struct termios *t, enum where where)
{
	switch (where) {
	case IFLAG:
		return &t->c_iflag;
	case OFLAG:
		return &t->c_oflag;
	case CFLAG:
		return &t->c_cflag;
	default:
		return &t->c_lflag;
	}
}

static uint32_t
mode_value(struct termios *t, size_t row)
{
	tcflag_t mask = modes[row].mask != 0 ? modes[row].mask :
					       modes[row].what;

	if (modes[row].where != CC)
		return (*flag_of(t, modes[row].where) & mask) ==
		    modes[row].what;
	if (t->c_cc[modes[row].what] == _POSIX_VDISABLE)
		return CC_UNSET;
	return t->c_cc[modes[row].what];
}

void
ttymodes_encode(const struct termios *t, struct buf *out)
{
	struct termios copy = *t;

	buf_put_u8(out, OP_OSPEED);
	buf_put_u32(out, speed_to_baud(cfgetospeed(t)));
	buf_put_u8(out, OP_ISPEED);
	buf_put_u32(out, speed_to_baud(cfgetispeed(t)));
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		buf_put_u8(out, modes[i].op);
		buf_put_u32(out, mode_value(&copy, i));
	}
	buf_put_u8(out, OP_END);
}

static void
apply(struct termios *t, uint8_t op, uint32_t value)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		tcflag_t what = modes[i].what, *flag;

		if (modes[i].op != op)
			continue;
		if (modes[i].where == CC) {
			t->c_cc[what] = value >= CC_UNSET ? _POSIX_VDISABLE :
							    (cc_t)value;
			return;
		}
		flag = flag_of(t, modes[i].where);
		if (value != 0)
			*flag = (*flag & ~modes[i].mask) | what;
		else if (modes[i].mask == 0)
			*flag &= ~what;
		return;
	}
}

int
ttymodes_apply(struct span encoded, struct termios *t)
{
	struct rd r = rd_from_span(encoded);

	while (r.len > 0) {
		uint8_t op = rd_u8(&r);
		uint32_t value;

		if (op == OP_END || op >= OP_NO_ARGUMENT)
			break;
		value = rd_u32(&r);
		if (rd_err(&r) != 0)
			return ERR_TRUNCATED;
		if (op == OP_ISPEED)
			(void)cfsetispeed(t, baud_to_speed(value));
		else if (op == OP_OSPEED)
			(void)cfsetospeed(t, baud_to_speed(value));
		else
			apply(t, op, value);
	}
	return 0;
}
