/* SPDX-License-Identifier: ISC */
/*
 * The SFTP client engine and its transfers, in a private directory: trees are
 * fetched into "in", files are sent, names are looked up. Whatever a server
 * says, nothing may appear or change beside "in", where its links may lead; and
 * there is no link where none are copied, nor a setuid file without -p.
 *
 * The first byte chooses what is done (two bits), the size of the pieces (two
 * more), and whether a part that is there is resumed, both ends are compared,
 * and a file is fetched in place of the tree. Without its highest bit the rest
 * is what the server sends, byte for byte. With it two bytes follow, options of
 * the copy and extensions of the server, and the rest is its script
 * (scripted.h).
 */

#include "base/mem.h"
#include "base/str.h"
#include "client/copy/scp-targets.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/workdir.h"
#include "regress/fuzz/scripted.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/transfer.h"

enum { FILE_BYTES_MAX = 4 << 20, OUT_BYTES = 600000, SRC_BYTES = 20000 };
enum { RESUME = 16, VERIFY = 32, ONE_FILE = 64, SCRIPTED = 128 };
/* What is done. */
enum { GET, PUT, ASK, GET_PATTERN };
/* Options of the copy. With OLD there is something at the target. */
enum { LINKS = 1, HARD_LINKS = 2, SPARSE = 4, PRESERVE = 8, IN_PLACE = 16,
	TWO_ROOTS = 32, OLD = 64 };

#define PART ".in.hpnpart"

/* ---- a server that plays the input -------------------------------------- */

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

/* ---- what the client does ----------------------------------------------- */

static void
make_file(const char *name, mode_t mode, off_t size)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, mode);

	if (fd < 0 || ftruncate(fd, size) != 0)
		abort();
	close(fd);
}

/* What an earlier copy has left. */
static void
make_old(void)
{
	if (mkdir("in", 0700) != 0 || symlink("../victim", "in/x") != 0 ||
	    mkdir("in/y", 0700) != 0 ||
	    symlink("../../victim", "in/y/x") != 0 ||
	    symlink("../victim/x", "in/d") != 0)
		abort();
	make_file("in/f", 0400, 5);
	make_file("in/.x.hpnpart", 0600, 5);
	make_file("in/y/.f.hpnpart", 0600, SRC_BYTES);
}

static struct xfer_opts
options(int how, int opts)
{
	return (struct xfer_opts){ .recursive = true,
		.preserve = opts & PRESERVE, .links = opts & LINKS,
		.hard_links = opts & HARD_LINKS, .sparse = opts & SPARSE,
		.in_place = opts & IN_PLACE, .resume = how & RESUME,
		.verify = how & VERIFY, .budget_bytes = 1 << 20 };
}

/* One transfer as of a client without streams of its own. */
static void
transfer(struct sftp *s, int how, int opts)
{
	const struct sftp_attrs dir_attrs = { .flags = SFTP_A_MODE,
		.mode = S_IFDIR | 0700 };
	const struct sftp_attrs file_attrs = { .flags = SFTP_A_MODE |
		    SFTP_A_SIZE, .mode = S_IFREG | 0600, .size = SRC_BYTES };
	const struct xfer_opts o = options(how, opts);
	bool up = (how & 3) == PUT;
	struct xfer *x;

	if (!up && (how & RESUME))
		make_file(PART, 0600, SRC_BYTES);
	if (xfer_new(&x, NULL, s, &o) != 0)
		abort();
	if (up)
		(void)!xfer_put(x, "out", "there");
	else
		(void)!xfer_get(x, "src",
		    how & ONE_FILE ? &file_attrs : &dir_attrs, "in");
	(void)!xfer_run(x);
	xfer_free(x);
}

/* As hpnscp does it: several names into the directory "in", one after the
 * other where they have the same name there. */
static void
fetch_all(struct sftp *s, const struct strlist *names, int how, int opts)
{
	const struct xfer_opts o = options(how, opts);
	struct scp_targets targets = { .has_content = false };
	struct sftp_attrs attrs;
	struct xfer *x;
	char *to;

	if (xfer_new(&x, NULL, s, &o) != 0)
		abort();
	for (size_t i = 0; i < names->n; i++) {
		if (sftp_call_stat(s, names->v[i], !o.links, &attrs) != 0)
			continue;
		to = scp_target_name("in", true, names->v[i]);
		if (to == NULL)
			abort();
		if (scp_targets_collide(&targets, to)) {
			(void)!xfer_run(x);
			xfer_free(x);
			scp_targets_clear(&targets);
			if (xfer_new(&x, NULL, s, &o) != 0)
				abort();
		}
		(void)!scp_targets_add(&targets, to);
		(void)!xfer_get(x, names->v[i], &attrs, to);
		free(to);
	}
	(void)!xfer_run(x);
	xfer_free(x);
	scp_targets_clear(&targets);
}

/* Roots that are named, or that a pattern finds. */
static void
fetch(struct sftp *s, int how, int opts)
{
	struct strlist names = { NULL, 0 };
	const char *const roots[] = { "a/x", "b/x", "b/y" };

	if (opts & OLD)
		make_old();
	else if (mkdir("in", 0700) != 0)
		abort();
	if ((how & 3) == GET_PATTERN) {
		(void)!remote_glob(s, "d/*", &names);
	} else {
		for (int i = 0; i < (opts & TWO_ROOTS ? 3 : 1); i++)
			if (strlist_add(&names, roots[i]) != 0)
				abort();
	}
	fetch_all(s, &names, how, opts);
	strlist_clear(&names);
}

/* ---- what must be so then ------------------------------------------------ */

static int checked_options;

static int
check_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)path;
	(void)type;
	(void)f;
	if (!(checked_options & LINKS) && S_ISLNK(st->st_mode))
		abort();
	if (!(checked_options & PRESERVE) && (st->st_mode & 07000) != 0)
		abort();
	return 0;
}

static void
check_in(int opts)
{
	checked_options = opts;
	(void)nftw("in", check_one, 16, FTW_PHYS);
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

static void
play(const uint8_t *data, size_t len, size_t piece)
{
	struct replay r = { .p = data + 1, .len = len - 1, .piece = piece };

	if (sftp_new(&r.sftp) != 0)
		abort();
	sftp_attach(r.sftp, (struct xfer_carrier){ &replay_ops, &r });
	if ((data[0] & 3) == ASK || (data[0] & 3) == GET_PATTERN)
		ask(r.sftp);
	else
		transfer(r.sftp, data[0],
		    (data[0] & 3) == PUT ? PRESERVE : 0);
	sftp_free(r.sftp);
	check_in(0);
}

static void
play_script(const uint8_t *data, size_t len, size_t piece)
{
	struct scripted v = { .extensions = data[2], .piece = piece,
		.script = rd_from(data + 3, len - 3) };
	int opts = data[1];

	/* Through a link that is there, a copy without links may go. */
	if (!(opts & LINKS))
		opts &= ~OLD;
	if (sftp_new(&v.sftp) != 0)
		abort();
	sftp_attach(v.sftp, (struct xfer_carrier){ &scripted_ops, &v });
	if ((data[0] & 3) == ASK)
		ask(v.sftp);
	else if ((data[0] & 3) == PUT || (data[0] & ONE_FILE))
		transfer(v.sftp, data[0], opts);
	else
		fetch(v.sftp, data[0], opts);
	sftp_free(v.sftp);
	check_in(opts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t pieces[] = { 1 << 20, 1, 13, 4096 };
	size_t piece;

	if (len == 0)
		return 0;
	workdir_enter(FILE_BYTES_MAX, OUT_BYTES);
	piece = pieces[data[0] >> 2 & 3];
	if (!(data[0] & SCRIPTED))
		play(data, len, piece);
	else if (len >= 3)
		play_script(data, len, piece);
	(void)unlink(PART);
	workdir_leave();
	return 0;
}
