/* SPDX-License-Identifier: ISC */
/*
 * The SFTP client engine and its transfers get any bytes as replies, in a
 * private directory: a tree is fetched into "in", files are sent, names are
 * looked up. Whatever a server says, nothing may appear beside "in".
 *
 * The first byte chooses what is done (two bits), the size of the pieces (two
 * more), and whether a part that is there is resumed, both ends are compared,
 * and a file is fetched in place of the tree.
 */

#include "base/mem.h"
#include "base/str.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/place.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/transfer.h"

enum { FILE_BYTES_MAX = 4 << 20, OUT_BYTES = 600000, SRC_BYTES = 20000 };
enum { RESUME = 16, VERIFY = 32, ONE_FILE = 64 };

#define PART ".in.hpnpart"

/* --- a server that plays the input --- */

struct replay {
	struct sftp *sftp;
	const uint8_t *p;
	size_t len, piece;
};

static int
replay_turn(void *arg, int timeout_ms)
{
	struct replay *r = arg;
	size_t n = MIN(r->len, r->piece);

	(void)timeout_ms;
	buf_reset(sftp_output(r->sftp));
	if (n == 0)
		return ERR_CLOSED;
	(void)!sftp_feed(r->sftp, r->p, n);
	r->p += n;
	r->len -= n;
	return 0;
}

static void
replay_wake(void *arg)
{
	(void)arg; /* each turn throws the output away */
}

static const struct xfer_carrier_ops replay_ops = { .turn = replay_turn,
	.wake = replay_wake };

/* --- what the client does --- */

static void
make_part(void)
{
	int fd = open(PART, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, SRC_BYTES) != 0)
		abort();
	close(fd);
}

static void
transfer(struct sftp *s, bool up, int how)
{
	const struct sftp_attrs dir_attrs = { .flags = SFTP_A_MODE,
		.mode = S_IFDIR | 0700 };
	const struct sftp_attrs file_attrs = { .flags = SFTP_A_MODE |
		    SFTP_A_SIZE, .mode = S_IFREG | 0600, .size = SRC_BYTES };
	const struct xfer_opts opts = { .recursive = true, .preserve = up,
		.resume = how & RESUME, .verify = how & VERIFY,
		.budget_bytes = 1 << 20 };
	struct xfer *x;

	if (!up && (how & RESUME))
		make_part();

	if (xfer_new(&x, NULL, s, &opts) != 0)
		abort();
	if (up)
		(void)!xfer_put(x, "out", "there");
	else
		(void)!xfer_get(x, "src",
		    how & ONE_FILE ? &file_attrs : &dir_attrs, "in");
	(void)!xfer_run(x);
	xfer_free(x);
}

static void
on_stat_ns(void *arg, const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct sftp_stat_ns st;
	bool *done = arg;

	*done = true;
	if (reply->type == SFTP_EXTENDED_REPLY)
		(void)!sftp_get_stat_ns(&body, &st);
}

static void
ask(struct sftp *s)
{
	static bool done; /* the end of the session may set it later */
	struct strlist found = { NULL, 0 };
	struct sftp_statvfs v;
	struct sftp_attrs a;
	char *name = NULL;

	(void)!sftp_call_stat(s, "x", true, &a);
	(void)!sftp_call_name(s, SFTP_REALPATH, ".", &name);
	free(name);
	(void)!sftp_call_statvfs(s, ".", &v);
	done = false;
	if (sftp_has(s, SFTP_EXT_STAT_NS)) {
		sftp_stat_ns(s, "x", true, on_stat_ns, &done);
		(void)!sftp_run_until(s, &done);
	}
	(void)!remote_glob(s, "*/x*", &found);
	strlist_clear(&found);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t pieces[] = { 1 << 20, 1, 13, 4096 };
	struct replay r;
	struct sftp *s;

	if (len == 0)
		return 0;
	place_enter(FILE_BYTES_MAX, OUT_BYTES);
	if (sftp_new(&s) != 0)
		abort();
	r = (struct replay){ .sftp = s, .p = data + 1, .len = len - 1,
		.piece = pieces[data[0] >> 2 & 3] };
	sftp_attach(s, (struct xfer_carrier){ &replay_ops, &r });
	if ((data[0] & 3) == 2)
		ask(s);
	else
		transfer(s, (data[0] & 3) == 1, data[0]);
	sftp_free(s);
	(void)unlink(PART);
	place_leave();
	return 0;
}
