/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/copy/direct-tree.h"
#include "client/copy/scp-asks.h"
#include "crypto/digest.h"
#include "keys/key.h"
#include "xfer/whole-file.h"

enum {
	AT_ONCE = 64, /* files that a digest is asked for at a time */
	FILES_MAX = 8 * 1000 * 1000,
	PATH_BYTES = 4096,
	RECEIPT_VERSION = 1,
};
#define SPOOL_MAX (UINT64_C(4) << 30) /* bytes of what that host tells */

struct direct_sums {
	struct scp *scp;
	bool pull;
	const char *path; /* of the receipt; NULL: none */
	struct whole_file *receipt;
	struct digest *digest; /* of the receipt's bytes */
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
	bool begun; /* the beginning of the receipt was written */
	char began[32];
};

/* ---- what the one host tells ------------------------------------------ */

static void
now_text(char text[32])
{
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL ||
	    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		text[0] = '\0';
}

struct direct_sums *
direct_sums_new(struct scp *scp, const char *receipt, bool pull)
{
	struct direct_sums *s = xcalloc(1, sizeof *s);

	s->scp = scp;
	s->pull = pull;
	s->path = receipt;
	now_text(s->began);
	s->spool = tmpfile();
	if (s->spool == NULL)
		scp_die(scp, "a temporary file", strerror(errno));
	if (receipt != NULL &&
	    whole_file_create(&s->receipt, receipt, 0666) != 0)
		scp_refuse(scp, receipt, strerror(errno));
	if (digest_new(&s->digest, DIGEST_SHA256) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
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

static void
put_fingerprint(struct buf *b, const char *name, struct span blob)
{
	struct key *k = NULL;
	char *text = key_from_blob(blob, &k) == 0 ?
	    key_fingerprint(k, DIGEST_SHA256) : NULL;

	if (text != NULL)
		json_put_text(b, name, text);
	free(text);
	key_free(k);
}

static void
write_out(struct direct_sums *s, struct buf *b)
{
	if (buf_err(b) != 0)
		fatal("%s", err_text(buf_err(b)));
	if (s->receipt != NULL)
		whole_file_write(s->receipt, buf_data(b), buf_len(b));
	if (digest_update(s->digest, buf_data(b), buf_len(b)) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
	buf_clear(b);
}

/* Writes one of the two hosts, with what is known of it. */
static void
put_host(struct buf *b, const char *name, const char *host, const char *user,
    int port, struct span hostkey)
{
	json_put_key(b, name);
	buf_printf(b, "{\"host\":");
	json_put_string(b, host);
	if (user != NULL)
		json_put_text(b, "user", user);
	if (port != 0)
		json_put_number(b, "port", (uint64_t)port);
	put_fingerprint(b, "hostkey", hostkey);
	buf_printf(b, "}");
}

/* The host that tells, as the user has named it: hpnssh connects to it. */
static void
put_teller(struct buf *b, const char *name, const struct direct_parties *who)
{
	const struct xfer_target *t = who->teller;

	put_host(b, name, t->host, t->user, t->port, (struct span){ NULL, 0 });
}

static void
put_asked(struct buf *b, const char *name, const struct direct_parties *who)
{
	put_host(b, name, who->host, who->user, who->port, who->hostkey);
}

static void
begin_receipt(struct direct_sums *s, const struct direct_parties *who,
    const char *directory)
{
	struct buf b = { 0 };

	buf_printf(&b, "{\"receipt\":%d", RECEIPT_VERSION);
	json_put_text(&b, "direct", s->pull ? "pull" : "push");
	json_put_text(&b, "began", s->began);
	(s->pull ? put_asked : put_teller)(&b, "from", who);
	(s->pull ? put_teller : put_asked)(&b, "to", who);
	json_put_key(&b, "grant");
	buf_printf(&b, "{\"directory\":");
	json_put_string(&b, directory);
	put_fingerprint(&b, "key", who->key);
	buf_printf(&b, "}");
	json_put_key(&b, "files");
	buf_printf(&b, "[");
	s->begun = true;
	write_out(s, &b);
}

static void
put_digest(struct buf *b, const char *name, const uint8_t *digest)
{
	char *text = str_hex(digest, SCP_ASK_DIGEST_LEN);

	if (text == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	json_put_text(b, name, text);
	free(text);
}

/* Writes one file. place: its path at the host that is asked: where it belongs,
 * or, with pull, is. told: the digest that the other host has told; ask: the
 * answer of the host that is asked. */
static void
put_file(struct direct_sums *s, const char *place, const uint8_t *told,
    const struct scp_ask *ask)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s\n{\"path\":", s->files > 0 ? "," : "");
	json_put_string(&b, place);
	put_digest(&b, s->pull ? "target" : "source", told);
	if (ask->status == 0) {
		if ((ask->attrs.flags & SFTP_A_SIZE) != 0)
			json_put_number(&b, "size", ask->attrs.size);
		put_digest(&b, s->pull ? "source" : "target", ask->digest);
	}
	buf_printf(&b, "}");
	write_out(s, &b);
}

bool
direct_sums_end(struct direct_sums *s, bool made,
    uint8_t digest[DIRECT_SUM_LEN])
{
	struct buf b = { 0 };
	char now[32];

	if (s == NULL)
		return false;
	made &= s->begun;
	now_text(now);
	buf_printf(&b, "\n]");
	json_put_text(&b, "ended", now);
	json_put_bool(&b, "whole", !s->scp->failed);
	buf_printf(&b, "}\n");
	write_out(s, &b);
	if (digest_final(s->digest, digest) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
	digest_free(s->digest);
	if (whole_file_end(s->receipt, made) != 0 && made) {
		scp_report(s->scp, NULL, s->path, strerror(errno));
		made = false;
	}
	made &= s->path != NULL;
	fclose(s->spool);
	path_set_clear(&s->told);
	free(s);
	return made;
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
    const struct direct_parties *who)
{
	begin_receipt(s, who, p->inner);
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
