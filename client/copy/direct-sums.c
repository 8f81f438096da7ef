/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/copy/direct-receipt.h"
#include "client/copy/direct-tree.h"
#include "client/copy/scp-asks.h"

enum {
	AT_ONCE = 64, /* files that a digest is asked for at a time */
	FILES_MAX = 8 * 1000 * 1000,
	PATH_BYTES = 4096,
};
#define SPOOL_MAX (UINT64_C(4) << 30) /* bytes of what that host tells */

struct direct_sums {
	struct scp *scp;
	bool pull;
	const char *path; /* of the receipt; NULL: none */
	struct direct_receipt *receipt;
	/* What was told, as messages with their length in front: it can be
	 * more than memory has room for. */
	FILE *spool;
	uint64_t spooled;
	const char *broken; /* what is wrong with what was told; NULL: nothing
			     * is */
	uint64_t messages, read; /* numbers of messages: that have come, and
				  * that next() has read */
	struct path_set told; /* paths that were told, each with the number
			       * of the last message about it */
	uint64_t files;
};

/* ---- what the one host tells ------------------------------------------ */

struct direct_sums *
direct_sums_new(struct scp *scp, const char *receipt, bool pull)
{
	struct direct_sums *s = xcalloc(1, sizeof *s);

	s->scp = scp;
	s->pull = pull;
	s->path = receipt;
	s->spool = tmpfile();
	if (s->spool == NULL)
		scp_die(scp, "a temporary file", strerror(errno));
	if (receipt != NULL &&
	    direct_receipt_new(&s->receipt, receipt, pull) != 0)
		scp_refuse(scp, receipt, strerror(errno));
	return s;
}

/* Is it the path of something in the new directory, as far as names tell? */
static bool
is_below(const char *path)
{
	size_t len;

	for (; *path != '\0'; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && memcmp(path, "..", 2) == 0) ||
		    (path[len] == '/' && path[len + 1] == '\0'))
			return false;
	}
	return true;
}

/* Reads a message. False: it makes no sense. The caller frees *path. */
static bool
read_sum(struct span message, char **path, struct span *digest)
{
	struct rd r = rd_from_span(message);
	char *whole;

	*path = NULL;
	if (rd_u8(&r) != DIRECT_SUM)
		return false;
	whole = rd_cstring(&r, PATH_BYTES);
	*digest = rd_string(&r);
	if (rd_end(&r) == 0 && digest->len == SCP_ASK_DIGEST_LEN &&
	    whole[0] == '/' && whole[1] != '\0' && is_below(whole + 1))
		*path = xstrdup(whole + 1);
	free(whole);
	return *path != NULL;
}

void
direct_sums_take(struct direct_sums *s, struct span message)
{
	struct span digest;
	uint32_t len = (uint32_t)message.len;
	char *path;

	if (s->broken != NULL)
		return;
	s->spooled += sizeof len + len;
	if (!read_sum(message, &path, &digest))
		s->broken = "digests were told that make no sense";
	else if (s->spooled > SPOOL_MAX || s->told.n >= FILES_MAX)
		s->broken = "more digests were told than there is room for";
	else if (fwrite(&len, sizeof len, 1, s->spool) != 1 ||
	    fwrite(message.p, len, 1, s->spool) != 1)
		s->broken = "a temporary file cannot be written";
	else
		path_set_put(&s->told, path, s->messages++);
	free(path);
}

/* ---- the receipt -------------------------------------------------------- */

/* Writes one file. place: its path at the host that is asked. told: the digest
 * that the other host has told; ask: the answer of the host that is asked. */
static void
put_file(struct direct_sums *s, const char *place, const uint8_t *told,
    const struct scp_ask *ask)
{
	const bool is = ask->status == 0;
	const struct direct_receipt_file f = { .path = place, .told = told,
		.asked = is ? ask->digest : NULL,
		.has_size = is && (ask->attrs.flags & SFTP_A_SIZE) != 0,
		.size = ask->attrs.size };

	direct_receipt_put(s->receipt, &f);
}

bool
direct_sums_end(struct direct_sums *s, bool made,
    uint8_t digest[DIRECT_SUM_LEN])
{
	int r;

	if (s == NULL)
		return false;
	r = direct_receipt_end(s->receipt, made, !s->scp->failed, digest);
	if (r == ERR_SYSTEM)
		scp_report(s->scp, NULL, s->path, strerror(errno));
	fclose(s->spool);
	path_set_clear(&s->told);
	free(s);
	return r == 0;
}

/* ---- what the other host has ------------------------------------------ */

/* The next path that was told; false: there is none. number: of the message
 * that told it. */
static bool
next(struct direct_sums *s, char **path, uint8_t digest[SCP_ASK_DIGEST_LEN],
    uint64_t *number)
{
	uint8_t message[PATH_BYTES + 64];
	struct span theirs;
	uint32_t len;

	if (fread(&len, sizeof len, 1, s->spool) != 1)
		return false;
	if (len > sizeof message || fread(message, len, 1, s->spool) != 1 ||
	    !read_sum((struct span){ message, len }, path, &theirs))
		fatal("a temporary file has changed");
	memcpy(digest, theirs.p, SCP_ASK_DIGEST_LEN);
	*number = s->read++;
	return true;
}

/* The same, without what was told again later: of two sources with one name the
 * last one stays. */
static bool
next_that_counts(struct direct_sums *s, char **path,
    uint8_t digest[SCP_ASK_DIGEST_LEN])
{
	uint64_t number, last = 0;

	while (next(s, path, digest, &number)) {
		(void)path_set_has(&s->told, *path, &last);
		if (last == number)
			return true;
		free(*path);
	}
	return false;
}

static void
judge(struct direct_sums *s, struct direct_places *p, const char *path,
    const uint8_t *digest, const struct scp_ask *ask)
{
	char *place = direct_places_final(p, path);

	put_file(s, place, digest, ask);
	s->files++;
	if (ask->status != 0)
		scp_report(s->scp, NULL, place, ask->words);
	else if (memcmp(ask->digest, digest, SCP_ASK_DIGEST_LEN) != 0)
		scp_report(s->scp, NULL, place, s->pull ?
			"differs from what the target's host has" :
			"differs from what its host has read");
	if (ask->status != 0 ||
	    memcmp(ask->digest, digest, SCP_ASK_DIGEST_LEN) != 0)
		(void)direct_places_hold(p, path);
	free(place);
}

/* The next files together; false: there are no more. */
static bool
check_some(struct direct_sums *s, struct direct_places *p)
{
	uint8_t digests[AT_ONCE][SCP_ASK_DIGEST_LEN];
	char *paths[AT_ONCE], *full;
	struct scp_asks asks = { .n = 0 };
	size_t n = 0;

	while (n < AT_ONCE &&
	    next_that_counts(s, &paths[n], digests[n])) {
		xasprintf(&full, "%s/%s", p->inner, paths[n++]);
		(void)scp_asks_add(&asks, SCP_ASK_DIGEST, full, NULL);
		free(full);
	}
	scp_asks_run(&asks, s->scp, p->to);
	for (size_t i = 0; i < n; i++) {
		judge(s, p, paths[i], digests[i], &asks.v[i]);
		free(paths[i]);
	}
	scp_asks_clear(&asks);
	return n == AT_ONCE;
}

/* ---- what was not told --------------------------------------------------- */

struct untold {
	struct direct_sums *s;
	struct direct_places *p;
};

static void
on_name(void *arg, const char *path, enum walk_kind kind)
{
	const struct untold *u = arg;
	char *place;

	if ((kind != WALK_FILE && kind != WALK_UNKNOWN) ||
	    path_set_has(&u->s->told, path, NULL) ||
	    !direct_places_hold(u->p, path))
		return;
	place = direct_places_final(u->p, path);
	scp_report(u->s->scp, NULL, place, u->s->pull ?
		"the target's host has told no digest of it" :
		DIRECT_NO_DIGEST);
	free(place);
}

/* Holds all files that nobody has told a digest of. False: it is not known
 * which ones these are. */
static bool
hold_untold(struct direct_sums *s, struct direct_places *p)
{
	struct untold u = { .s = s, .p = p };

	/* Without directories and links each name is a file's, whatever the
	 * target's host says. */
	if (!s->scp->recursive && !s->scp->xfer.links)
		p->told = &s->told;
	if (direct_tree_list(s->scp, p->to, p->inner, on_name, &u))
		return true;
	scp_report(s->scp, NULL, p->inner,
	    "its host does not tell what is there");
	return false;
}

bool
direct_sums_check(struct direct_sums *s, struct direct_places *p,
    const struct direct_parties *who, struct span key)
{
	direct_receipt_begin(s->receipt, who);
	direct_receipt_grant(s->receipt, key, p->inner);
	if (fflush(s->spool) != 0 || fseek(s->spool, 0, SEEK_SET) != 0)
		scp_die(s->scp, "a temporary file", strerror(errno));
	if (s->broken != NULL)
		scp_report(s->scp, NULL, "--verify", s->broken);
	while (check_some(s, p))
		;
	return s->broken == NULL && hold_untold(s, p);
}

uint64_t
direct_sums_files(const struct direct_sums *s)
{
	return s->files;
}
