/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-asks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"

/* One request that is under way. */
struct asked {
	struct scp_asks *all;
	struct scp_ask *ask;
	struct sftp *s;
	struct sftp_handle handle; /* of DIGEST */
};

struct flight {
	struct scp_asks *all;
	struct asked *v;
};

struct scp_ask *
scp_asks_add(struct scp_asks *a, enum scp_ask_kind kind, const char *path,
    const char *second)
{
	struct scp_ask *more;

	if (a->n == a->cap) {
		a->cap = a->cap == 0 ? 16 : a->cap * 2;
		more = reallocarray(a->v, a->cap, sizeof *more);
		if (more == NULL)
			fatal("%s", err_text(ERR_NOMEM));
		a->v = more;
	}
	a->v[a->n] = (struct scp_ask){ .kind = kind, .path = xstrdup(path),
		.second = second != NULL ? xstrdup(second) : NULL };
	return &a->v[a->n++];
}

static void
forget_answer(struct scp_ask *ask)
{
	free(ask->words);
	free(ask->name);
	ask->words = ask->name = NULL;
	ask->status = 0;
}

static bool
is_right_type(enum scp_ask_kind kind, uint8_t type)
{
	switch (kind) {
	case SCP_ASK_STAT:
	case SCP_ASK_LSTAT:
		return type == SFTP_ATTRS;
	case SCP_ASK_REALPATH:
		return type == SFTP_NAME;
	default:
		return type == SFTP_STATUS;
	}
}

/* The name that REALPATH answers with. The caller frees it; NULL: none. */
static char *
name_of(const struct sftp_reply *reply)
{
	struct rd r = reply->body;
	struct sftp_entry entry;

	return reply->count >= 1 && sftp_next_entry(&r, &entry) ?
	    span_dup(entry.name) : NULL;
}

static void
on_answer(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;
	struct scp_ask *ask = a->ask;

	a->all->done = --a->all->left == 0;
	if (reply->err != 0)
		return; /* the session has ended */
	ask->status = (int)reply->status;
	if (ask->status != 0)
		ask->words = xstrdup(reply->words);
	else if (!is_right_type(ask->kind, reply->type))
		ask->status = SFTP_BAD_MESSAGE;
	else if (ask->kind == SCP_ASK_REALPATH &&
	    (ask->name = name_of(reply)) == NULL)
		ask->status = SFTP_BAD_MESSAGE;
	else
		ask->attrs = reply->attrs;
	if (ask->status != 0 && ask->words == NULL)
		ask->words = xstrdup(sftp_status_text(SFTP_BAD_MESSAGE));
}

/* ---- a digest ------------------------------------------------------------ */

/* Notes that the ask has its answer: that error, if there is one. */
static void
end_digest(struct asked *a, const struct sftp_reply *reply, const char *why)
{
	struct scp_ask *ask = a->ask;

	a->all->done = --a->all->left == 0;
	if (reply->err != 0 || (reply->status == 0 && why == NULL))
		return;
	ask->status = reply->status != 0 ? (int)reply->status : SFTP_FAILURE;
	ask->words = xstrdup(reply->status != 0 ? reply->words : why);
}

static void
on_digest(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;
	struct rd body = reply->body;
	const uint8_t *digest;
	bool good = reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY &&
	    sftp_get_digests(&body, 1, &digest) == 0;

	if (good)
		memcpy(a->ask->digest, digest, SCP_ASK_DIGEST_LEN);
	end_digest(a, reply, good ? NULL : "the server gives no digest");
}

static void
on_opened(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		end_digest(a, reply, "the server gives no digest");
		return;
	}
	sftp_keep_handle(&a->handle, reply);
	sftp_check_file(a->s, &a->handle, 0, 0, 0, on_digest, a);
	sftp_close(a->s, &a->handle, NULL, NULL);
}

/* Only what is a file is opened: a link could lead anywhere, and a pipe would
 * wait. */
static void
on_looked(void *arg, const struct sftp_reply *reply)
{
	static const struct sftp_attrs none = { .flags = 0 };
	struct asked *a = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		a->ask->attrs = reply->attrs;
	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    scp_ask_found(a->ask, S_IFREG))
		sftp_open(a->s, a->ask->path, SFTP_O_READ, &none, on_opened,
		    a);
	else
		end_digest(a, reply, "is no regular file");
}

static void
send(struct sftp *s, struct asked *a)
{
	static const struct sftp_attrs private = { .flags = SFTP_A_MODE,
		.mode = 0700 };
	const struct scp_ask *ask = a->ask;

	switch (ask->kind) {
	case SCP_ASK_STAT:
		sftp_path_request(s, SFTP_STAT, ask->path, on_answer, a);
		break;
	case SCP_ASK_LSTAT:
		sftp_path_request(s, SFTP_LSTAT, ask->path, on_answer, a);
		break;
	case SCP_ASK_REALPATH:
		sftp_path_request(s, SFTP_REALPATH, ask->path, on_answer, a);
		break;
	case SCP_ASK_RMDIR:
		sftp_path_request(s, SFTP_RMDIR, ask->path, on_answer, a);
		break;
	case SCP_ASK_MKDIR:
		sftp_attrs_request(s, SFTP_MKDIR, ask->path, &private,
		    on_answer, a);
		break;
	case SCP_ASK_DIGEST:
		sftp_path_request(s, SFTP_LSTAT, ask->path, on_looked, a);
		break;
	case SCP_ASK_MOVE:
		if (sftp_has(s, SFTP_EXT_POSIX_RENAME))
			sftp_ext_path(s, SFTP_EXT_POSIX_RENAME, ask->path,
			    ask->second, on_answer, a);
		else
			sftp_two_paths(s, SFTP_RENAME, ask->path, ask->second,
			    on_answer, a);
		break;
	}
}

/* All answers come, also when the session ends; so nothing that is under way
 * outlives the call. */
static int
call_asks(struct sftp *s, void *arg)
{
	struct flight *f = arg;
	struct scp_asks *all = f->all;

	all->left = all->n;
	all->done = all->n == 0;
	for (size_t i = 0; i < all->n; i++) {
		forget_answer(&all->v[i]);
		f->v[i] = (struct asked){ .all = all, .ask = &all->v[i],
			.s = s };
		send(s, &f->v[i]);
	}
	return sftp_run_until(s, &all->done);
}

void
scp_asks_run(struct scp_asks *a, struct scp *scp, struct scp_host *host)
{
	struct flight f = { .all = a };

	if (a->n == 0)
		return;
	f.v = xcalloc(a->n, sizeof *f.v);
	log_debug("asks the target's host %zu things in a round trip", a->n);
	(void)scp_host_call(scp, host, call_asks, &f);
	free(f.v);
}

bool
scp_ask_found(const struct scp_ask *ask, unsigned type)
{
	return ask->status == 0 && (ask->attrs.flags & SFTP_A_MODE) != 0 &&
	    (ask->attrs.mode & S_IFMT) == type;
}

void
scp_asks_clear(struct scp_asks *a)
{
	for (size_t i = 0; i < a->n; i++) {
		forget_answer(&a->v[i]);
		free(a->v[i].path);
		free(a->v[i].second);
	}
	free(a->v);
	*a = (struct scp_asks){ .v = NULL };
}
