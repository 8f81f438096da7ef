/* SPDX-License-Identifier: ISC */
/*
 * -Z: the source does not send bytes that the sink has already. Both hash their
 * files first and compare the hashes. New data is appended, so that an
 * interrupted copy leaves a file that the next try can continue.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "xfer/rcp/rcp-internal.h"

/* The source's reply to the state of the sink's file. */
enum { MATCH = 'M', MISMATCH = 'F', WHOLE = '\0' };

int
rcp_hash_end(struct digest *d, char hex[RCP_HASH_HEX + 1])
{
	uint8_t hash[DIGEST_MAX_LEN];
	int r = digest_final(d, hash);
	char *text;

	if (r < 0)
		return r;
	text = str_hex(hash, RCP_HASH_LEN);
	if (text == NULL)
		return ERR_NOMEM;
	memcpy(hex, text, RCP_HASH_HEX + 1);
	free(text);
	return 0;
}

static int
hash_bytes(struct rcp *c, int fd, int64_t size, struct digest *d)
{
	int64_t at = 0;
	ssize_t n;
	int r;

	while (at < size) {
		n = fd_pread(fd, c->block,
		    (size_t)MIN(size - at, (int64_t)RCP_BLOCK),
		    (uint64_t)at);
		if (n <= 0) /* a read error is reported when data is sent */
			return 0;
		if ((r = digest_update(d, c->block, (size_t)n)) < 0)
			return r;
		at += n;
	}
	return 0;
}

int
rcp_hash_file(struct rcp *c, int fd, int64_t size,
    char hex[RCP_HASH_HEX + 1], struct digest **running)
{
	struct digest *d, *end = NULL;
	int r = digest_new(&d, DIGEST_BLAKE2B_512);

	if (r < 0)
		return r;
	if ((r = digest_new(&end, DIGEST_BLAKE2B_512)) == 0 &&
	    (r = hash_bytes(c, fd, size, d)) == 0 &&
	    (r = digest_copy(end, d)) == 0)
		r = rcp_hash_end(end, hex);
	digest_free(end);
	if (r < 0 || running == NULL)
		digest_free(d);
	else
		*running = d;
	return r;
}

/* ---- source ------------------------------------------------------------- */

/* If the sink's file is the beginning of ours, that part is not sent again
 * (MATCH). */
static int
choose(struct rcp *c, int fd, int64_t size, const struct rcp_sink_state *s,
    char *choice)
{
	char hex[RCP_HASH_HEX + 1];
	int r;

	*choice = s->kind == 'R' ? MISMATCH : WHOLE;
	if (s->kind != 'R' || s->hash[0] == '\0' || s->size > size)
		return 0;
	if ((r = rcp_hash_file(c, fd, s->size, hex, NULL)) == 0 &&
	    strcmp(hex, s->hash) == 0)
		*choice = MATCH;
	return r;
}

int
rcp_resume_source(struct rcp *c, int fd, int64_t size, int64_t *start)
{
	char record[RCP_SINK_STATE_LEN], choice;
	struct rcp_sink_state s;
	int r;

	/* The sink's state is the answer to C. */
	c->answers_due--;
	if ((r = rcp_read_answers(c)) < 0 ||
	    (r = rcp_get(c, record, 1)) < 0)
		return r;
	if (record[0] == RCP_WARNING || record[0] == RCP_FATAL)
		return rcp_peer_message(c, (uint8_t)record[0]);
	if ((r = rcp_get(c, record + 1, sizeof record - 1)) < 0)
		return r;
	if (rcp_sink_state_parse(&s, record) < 0)
		return rcp_protocol_error(c, "bad answer to -Z");
	if ((r = rcp_answer(c)) != 0)
		return r;
	if (s.kind == 'S')
		return 1;
	if ((r = choose(c, fd, size, &s, &choice)) < 0)
		return r;
	*start = choice == MATCH ? s.size : 0;
	log_debug("the other end has %lld bytes; sending from %lld on",
	    (long long)s.size, (long long)*start);
	return rcp_put(c, &choice, 1);
}

/* ---- sink --------------------------------------------------------------- */

static int
put_standing(struct rcp *c, const struct rcp_sink_state *s)
{
	char record[RCP_SINK_STATE_LEN];

	rcp_sink_state_write(record, s);
	return rcp_put(c, record, sizeof record);
}

/* Describes the sink's file. Its hash is not computed if the file is longer
 * than the source's. */
static int
describe_file(struct rcp *c, int fd, const struct rcp_record *rec, bool existed,
    struct rcp_sink_state *s, struct digest **hash)
{
	struct stat st;

	*s = (struct rcp_sink_state){ .kind = 'R' };
	if (!existed || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	s->mode = st.st_mode & 07777;
	s->size = st.st_size;
	if (s->size >= rec->size)
		s->kind = 'C';
	return s->size > rec->size ?
	    0 :
	    rcp_hash_file(c, fd, s->size, s->hash, hash);
}

static bool
is_whole(const struct rcp_sink_state *s, const struct rcp_record *rec)
{
	return s->size > 0 && s->size == rec->size &&
	    strcmp(s->hash, rec->hash) == 0;
}

static int
skip(struct rcp *c)
{
	const struct rcp_sink_state nothing = { .kind = 'S' };

	return put_standing(c, &nothing);
}

int
rcp_resume_sink(struct rcp *c, int fd, const struct rcp_record *rec,
    bool existed, int64_t *start, struct digest **hash)
{
	struct rcp_sink_state s;
	char choice;
	int r;

	if ((r = describe_file(c, fd, rec, existed, &s, hash)) < 0)
		return r;
	if (is_whole(&s, rec)) {
		if ((r = skip(c)) < 0 || (r = rcp_ok(c)) < 0)
			return r;
		return 1;
	}
	if ((r = put_standing(c, &s)) < 0 || (r = rcp_ok(c)) < 0 ||
	    (r = rcp_get(c, &choice, 1)) < 0)
		return r;
	if (choice == MATCH && s.kind == 'R' && s.hash[0] != '\0') {
		*start = s.size;
		return 0;
	}
	if (choice != MISMATCH && choice != WHOLE)
		return rcp_protocol_error(c, "bad choice for -Z");
	digest_free(*hash);
	*hash = NULL;
	return digest_new(hash, DIGEST_BLAKE2B_512);
}

int
rcp_resume_refuse(struct rcp *c, int fd, const struct rcp_record *rec,
    const char *path, int error)
{
	struct rcp_sink_state s = { .kind = 'S' };
	int r = 0;

	if (fd >= 0)
		r = describe_file(c, fd, rec, true, &s, NULL);
	if (r < 0 || (r = skip(c)) < 0)
		return r;
	if (is_whole(&s, rec))
		return rcp_ok(c);
	rcp_fail(c, path, strerror(error));
	return 0;
}
