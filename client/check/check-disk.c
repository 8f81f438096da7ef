/* SPDX-License-Identifier: ISC */
/*
 * The host's disk: writes a new file beside the user's, syncs it in rounds of
 * growing size, reads it back, and removes it. All is done by SFTP, so the
 * rights, limits and events of a transfer apply. The file is removed in any
 * case, also after a signal; only if the connection ends it stays, and its name
 * is reported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/check/check-internal.h"
#include "crypto/rand.h"
#include "xfer/state/transfer-limits.h"

enum {
	ROUND_FIRST = 4 * 1024 * 1024,
	ROUND_MAX = 64 * 1024 * 1024,
	UNDER_WAY_MAX = 32 * 1024 * 1024,
	STEP_MS = 50,
	WRITE_MS = 3000, /* limit of time, after which no further round
			  * begins */
	REMOVE_MS = 2000,
	ROOM_PART = 4, /* at most a quarter of the free bytes is used */
};

struct disk {
	struct check *c;
	struct sftp_handle handle;
	char *name;
	uint64_t until_ms, most; /* bytes */
	uint64_t offset, under_way;
	bool failed;
	uint8_t block[XFER_BLOCK_MAX];
};

static const char what[] = "the disk";

static void
fail(struct disk *d, const char *words)
{
	if (!d->failed && !d->c->stop)
		check_fail(d->c, what, words);
	d->failed = true;
}

/* ---- data ---------------------------------------------------------------- */

static uint32_t
block_len(const struct disk *d, bool up)
{
	return MIN((uint32_t)XFER_BLOCK_MAX,
	    up ? sftp_write_max(d->c->sftp) : sftp_read_max(d->c->sftp));
}

static void
on_written(void *arg, const struct sftp_reply *r)
{
	struct disk *d = arg;

	d->under_way -= MIN(d->under_way, (uint64_t)block_len(d, true));
	if (r->err != 0 || r->status != SFTP_OK)
		fail(d, r->err != 0 ? err_text(r->err) : r->words);
}

static void
on_read(void *arg, const struct sftp_reply *r)
{
	struct disk *d = arg;

	d->under_way -= MIN(d->under_way, (uint64_t)block_len(d, false));
	if (r->err != 0 || r->status != SFTP_OK)
		fail(d, r->err != 0 ? err_text(r->err) : r->words);
}

static void
request(struct disk *d, bool up, uint32_t len)
{
	struct sftp *s = d->c->sftp;
	uint8_t *p;

	if (!up) {
		d->under_way += len;
		sftp_read(s, &d->handle, d->offset, len, check_no_data, on_read,
		    d);
	} else if ((p = sftp_write_begin(s, &d->handle, d->offset, len)) !=
	    NULL) {
		memcpy(p, d->block, len);
		d->under_way += len;
		sftp_write_finish(s, len, on_written, d);
	}
	d->offset += len;
}

/* Writes or reads up to the offset end. False: it failed, or time is up. */
static bool
move(struct disk *d, bool up, uint64_t end)
{
	struct sftp *s = d->c->sftp;
	uint32_t len = block_len(d, up);

	while (!d->failed && !d->c->stop &&
	    (d->offset < end || d->under_way > 0)) {
		if (clock_ms() >= d->until_ms) {
			fail(d, "it took too long");
			break;
		}
		while (d->offset < end && d->under_way < UNDER_WAY_MAX &&
		    sftp_output_len(s) < XFER_OUTPUT_MAX && sftp_error(s) == 0)
			request(d, up, len);
		if (sftp_step(s, d->offset < end, STEP_MS) != 0) {
			fail(d, err_text(sftp_error(s)));
			break;
		}
	}
	return !d->failed && !d->c->stop;
}

/* ---- rounds -------------------------------------------------------------- */

static uint64_t
rate_of(uint64_t bytes, uint64_t us)
{
	return bytes * 1000000 / MAX(us, (uint64_t)1000);
}

static bool
ask_handle(struct disk *d, enum sftp_extension ext, struct check_answer *a)
{
	struct check_call *call = check_call_new();
	uint64_t now = clock_ms();

	if (call != NULL)
		sftp_ext_handle(d->c->sftp, ext, &d->handle, check_call_done,
		    call);
	return check_call_wait(d->c, call,
		   d->until_ms > now ? d->until_ms - now : 1, a) &&
	    a->status == SFTP_OK;
}

static bool
sync_file(struct disk *d)
{
	struct check_answer a;
	bool ok = ask_handle(d, SFTP_EXT_FSYNC, &a);

	if (!ok)
		fail(d, a.words);
	return ok;
}

/* Has the host drop its cached pages of the file, if it can. */
static bool
uncache(struct disk *d)
{
	struct check_answer a;

	return sftp_has(d->c->sftp, SFTP_EXT_UNCACHE) &&
	    ask_handle(d, SFTP_EXT_UNCACHE, &a);
}

/* Does a round: writes so many bytes more, and syncs them. The last round's
 * figures count; the first ones warm up the disk and the path. */
static bool
write_round(struct disk *d, uint64_t bytes)
{
	struct check_disk *out = &d->c->disk;
	uint64_t begun = clock_us(), written, least, us;

	/* Blocks are whole, so that each answer stands for the same number of
	 * bytes. */
	bytes -= bytes % block_len(d, true);
	if (bytes == 0 || !move(d, true, d->offset + bytes))
		return false;
	written = clock_us();
	if (sftp_has(d->c->sftp, SFTP_EXT_FSYNC)) {
		if (!sync_file(d))
			return false;
		out->synced = true;
	}
	us = clock_us() - written;
	least = MIN(d->c->network.least_us, us);
	out->sync = rate_of(bytes, us - least);
	out->taken = rate_of(bytes, written - begun);
	out->write = rate_of(bytes, clock_us() - begun - least);
	out->bytes = d->offset;
	out->known = true;
	return true;
}

static void
write_rounds(struct disk *d)
{
	uint64_t begun = clock_ms(), round = ROUND_FIRST, took;

	while (clock_ms() - begun < WRITE_MS && d->offset < d->most) {
		uint64_t at = clock_ms();

		if (!write_round(d, MIN(round, d->most - d->offset)))
			return;
		took = clock_ms() - at;
		/* The next round, which has twice the bytes, must end in
		 * time. */
		if (took * 2 + (clock_ms() - begun) > WRITE_MS)
			return;
		round = MIN(round * 2, (uint64_t)ROUND_MAX);
	}
}

static void
read_again(struct disk *d)
{
	struct check_disk *out = &d->c->disk;
	uint64_t end = d->offset, begun, now = clock_ms();
	uint64_t left = d->until_ms > now ? d->until_ms - now : 0;
	uint64_t can = out->write / 1000 * left / 2;
	bool uncached = uncache(d);

	/* Reading is taken to be at least as fast as writing. */
	end = MIN(end, MAX(can, (uint64_t)ROUND_FIRST));
	d->offset = 0;
	begun = clock_us();
	end -= end % block_len(d, false);
	if (end == 0 || left == 0 || !move(d, false, end))
		return;
	out->read = rate_of(end, clock_us() - begun -
	    MIN(d->c->network.least_us, clock_us() - begun));
	out->reread = true;
	out->cached = !uncached;
}

/* ---- the file ------------------------------------------------------------ */

/* The folder as SFTP names it. A path that begins with ~/ is below the
 * directory in which sessions begin. */
static const char *
folder_of(const struct check *c)
{
	if (strcmp(c->path, "~") == 0)
		return ".";
	if (str_has_prefix(c->path, "~/"))
		return c->path[2] != '\0' ? c->path + 2 : ".";
	return c->path;
}

static bool
ask(struct disk *d, struct check_call *call, struct check_answer *a)
{
	return check_call_wait(d->c, call, check_left(d->c, CHECK_ANSWER_MS),
		   a) &&
	    a->status == SFTP_OK;
}

static bool
is_folder(struct disk *d)
{
	struct check_call *call = check_call_new();
	struct check_answer a;

	if (call != NULL)
		sftp_path_request(d->c->sftp, SFTP_STAT, folder_of(d->c),
		    check_call_done, call);
	if (!ask(d, call, &a)) {
		fail(d, a.words);
		return false;
	}
	if ((a.attrs.flags & SFTP_A_MODE) && !S_ISDIR(a.attrs.mode)) {
		fail(d, "the path is no directory");
		return false;
	}
	return true;
}

/* Limits the size, so that most of the free bytes are left to others. */
static void
limit_by_room(struct disk *d)
{
	struct check_call *call;
	struct check_answer a;

	d->most = CHECK_DISK_BYTES;
	if (!sftp_has(d->c->sftp, SFTP_EXT_STATVFS))
		return;
	if ((call = check_call_new()) != NULL)
		sftp_ext_path(d->c->sftp, SFTP_EXT_STATVFS, folder_of(d->c),
		    NULL, check_call_done, call);
	if (ask(d, call, &a) && a.room != UINT64_MAX)
		d->most = MIN(d->most, a.room / ROOM_PART);
}

static bool
make_file(struct disk *d)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE, .mode = 0600 };
	struct check_call *call = check_call_new();
	struct check_answer a;
	uint8_t number[8];
	char *hex;

	rand_bytes(number, sizeof number);
	if ((hex = str_hex(number, sizeof number)) == NULL) {
		free(call);
		return false;
	}
	xasprintf(&d->name, "%s/.hpnssh-check-%s", folder_of(d->c), hex);
	free(hex);
	if (call != NULL)
		sftp_open(d->c->sftp, d->name,
		    SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL,
		    &attrs, check_call_done, call);
	if (!ask(d, call, &a)) {
		fail(d, a.words);
		/* Without an answer the file may exist, so its name is kept. */
		if (a.err == 0) {
			free(d->name);
			d->name = NULL;
		}
		return false;
	}
	d->handle = a.handle;
	return true;
}

/* Removes the file, also if the check was interrupted. */
static void
remove_file(struct disk *d)
{
	struct check_call *call;
	struct check_answer a;
	bool stopped = d->c->stop;

	d->c->stop = false;
	if (d->handle.len > 0)
		sftp_close(d->c->sftp, &d->handle, NULL, NULL);
	if ((call = check_call_new()) != NULL)
		sftp_path_request(d->c->sftp, SFTP_REMOVE, d->name,
		    check_call_done, call);
	if (!check_call_wait(d->c, call, REMOVE_MS, &a) ||
	    (a.status != SFTP_OK && a.status != SFTP_NO_SUCH_FILE)) {
		check_fail(d->c, "removing the file that was written",
		    a.words);
		check_fail(d->c, "a file may be left on the host", d->name);
	}
	d->c->stop |= stopped;
}

void
check_disk_measure(struct check *c)
{
	struct disk *d = xcalloc(1, sizeof *d);

	d->c = c;
	c->disk.tried = true;
	d->until_ms = clock_ms() + check_left(c, CHECK_DISK_MS);
	rand_bytes(d->block, sizeof d->block);
	if (c->path[0] == '~' && c->path[1] != '/' && c->path[1] != '\0') {
		fail(d, "other users' ~ is not expanded");
	} else if (is_folder(d)) {
		limit_by_room(d);
		if (d->most < block_len(d, true))
			fail(d, "no room");
		else if (make_file(d)) {
			write_rounds(d);
			if (!d->failed && !c->stop)
				read_again(d);
		}
		if (d->name != NULL)
			remove_file(d);
	}
	free(d->name);
	/* Requests whose answers are still to come use d, so it is kept. */
	c->disk_kept = d;
}
