/* SPDX-License-Identifier: ISC */
#include "xfer/rcp/rcp-internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	OUTPUT_FULL = 32 * 1024, /* bytes of output that are kept before they
				  * are written */
	PIECES_A_SECOND = 10,	 /* number of pieces, with a rate */
	PIECE_MIN = 1024,
	SLACK_US = 50 * 1000,
};

int
rcp_new(struct rcp **out, int fd_in, int fd_out, const struct rcp_opts *opts)
{
	struct rcp *c = calloc(1, sizeof *c);

	*out = NULL;
	if (c == NULL)
		return ERR_NOMEM;
	c->fd_in = fd_in;
	c->fd_out = fd_out;
	c->opts = *opts;
	buf_init(&c->output);
	c->block = malloc(RCP_BLOCK);
	c->input = malloc(RCP_INPUT);
	c->local = local_tree_new(0);
	if (c->block == NULL || c->input == NULL || c->local == NULL) {
		rcp_free(c);
		return ERR_NOMEM;
	}
	*out = c;
	return 0;
}

void
rcp_free(struct rcp *c)
{
	if (c == NULL)
		return;
	rcp_progress_finish(c, false);
	buf_clear(&c->output);
	local_tree_free(c->local);
	free(c->block);
	free(c->input);
	free(c);
}

unsigned long
rcp_failures(const struct rcp *c)
{
	return c->failures;
}

bool
rcp_got_input(const struct rcp *c)
{
	return c->got_input;
}

/* ---- bytes -------------------------------------------------------------- */

static int
closed(int r)
{
	bool gone = r == ERR_SYSTEM && (errno == EPIPE || errno == ECONNRESET);

	return gone || r == ERR_EOF ? ERR_CLOSED : r;
}

int
rcp_flush(struct rcp *c)
{
	int r;

	if (buf_err(&c->output) < 0)
		return buf_err(&c->output);
	if (buf_len(&c->output) == 0)
		return 0;
	r = fd_write_all(c->fd_out, buf_data(&c->output),
	    buf_len(&c->output));
	buf_reset(&c->output);
	return closed(r);
}

int
rcp_put(struct rcp *c, const void *p, size_t len)
{
	int r;

	if (len < OUTPUT_FULL - buf_len(&c->output)) {
		buf_put(&c->output, p, len);
		return buf_err(&c->output);
	}
	if ((r = rcp_flush(c)) < 0)
		return r;
	return closed(fd_write_all(c->fd_out, p, len));
}

static ssize_t
read_some(int fd, void *p, size_t max)
{
	ssize_t n;

	n = fd_read(fd, p, max);
	return n < 0 ? closed(ERR_SYSTEM) : n;
}

ssize_t
rcp_get_some(struct rcp *c, void *p, size_t max)
{
	size_t len = MIN(max, c->end - c->at);
	int r;

	if (len > 0) {
		memcpy(p, c->input + c->at, len);
		c->at += len;
		return (ssize_t)len;
	}
	if ((r = rcp_flush(c)) < 0)
		return r;
	return read_some(c->fd_in, p, max);
}

/* Reads one byte: 1; 0 at the end of input; or ERR_*. */
static int
get_byte(struct rcp *c, uint8_t *byte)
{
	ssize_t n;
	int r;

	if (c->at == c->end) {
		if ((r = rcp_flush(c)) < 0)
			return r;
		n = read_some(c->fd_in, c->input, RCP_INPUT);
		if (n <= 0)
			return (int)n;
		c->at = 0;
		c->end = (size_t)n;
		c->got_input = true;
	}
	*byte = c->input[c->at++];
	return 1;
}

int
rcp_get(struct rcp *c, void *p, size_t len)
{
	uint8_t *to = p;
	int r;

	while (len > 0) {
		if ((r = get_byte(c, to)) <= 0)
			return r < 0 ? r : ERR_CLOSED;
		to++;
		len--;
	}
	return 0;
}

/* Reads up to the newline, which is left out, into c->line behind the `have`
 * bytes that are there already. */
static int
get_line(struct rcp *c, size_t have)
{
	uint8_t byte = 0;
	int r;

	while ((r = get_byte(c, &byte)) > 0 && byte != '\n') {
		if (have == sizeof c->line - 1)
			return rcp_protocol_error(c, "line too long");
		c->line[have++] = (char)byte;
	}
	c->line[have] = '\0';
	if (r < 0)
		return r;
	return r == 0 ? ERR_CLOSED : 0;
}

/* ---- messages ----------------------------------------------------------- */

static void
print_line(struct rcp *c, const char *line)
{
	size_t size = strlen(line) * 4 + 1;
	char *shown;

	if (c->opts.print == NULL || (shown = malloc(size)) == NULL)
		return;
	str_escape(shown, size, line);
	progress_clear_line(c->opts.progress);
	c->opts.print(c->opts.print_arg, shown);
	free(shown);
}

/* Prints and counts a failure that the peer has reported in c->line. */
static void
print_peer_line(struct rcp *c)
{
	c->failures++;
	progress_error(c->opts.progress, "lost", "connection", c->line);
	print_line(c, c->line);
}

static void
print_failure(struct rcp *c, const char *path, const char *text)
{
	char *part = str_shorten_path(path), *s;
	struct buf line;

	buf_init(&line);
	buf_printf(&line, "%s: %s%s%s",
	    called_name("hpnscp"), part != NULL ? part : path,
	    *path != '\0' ? ": " : "", text);
	free(part);
	c->failures++;
	progress_error(c->opts.progress, "file",
	    *path != '\0' ? path : "connection",
	    text);
	if ((s = buf_dup_string(&line)) != NULL)
		print_line(c, s);
	free(s);
	buf_clear(&line);
}

/* Sends a failure to the peer. A write error is found again by the next write
 * or read, so there is no result. The path is shortened, since the peer takes
 * lines of at most RCP_LINE_MAX bytes. */
static void
send_failure(struct rcp *c, const char *path, const char *text)
{
	char *part = str_shorten_path(path), *shown = NULL;
	size_t size = part != NULL ? strlen(part) * 4 + 1 : 0;

	if (part != NULL && (shown = malloc(size)) != NULL)
		str_escape(shown, size, part);
	free(part);
	buf_printf(&c->output, "%cscp: %s%s%s\n", RCP_WARNING,
	    shown != NULL ? shown : "", *path != '\0' ? ": " : "", text);
	free(shown);
}

void
rcp_tell(struct rcp *c, const char *path, const char *text)
{
	print_failure(c, path, text);
}

bool
rcp_peer_said(const struct rcp *c, const char *end)
{
	size_t len = strlen(c->line), n = strlen(end);

	return len >= n && strcmp(c->line + len - n, end) == 0;
}

void
rcp_fail(struct rcp *c, const char *path, const char *text)
{
	print_failure(c, path, text);
	send_failure(c, path, text);
}

int
rcp_end_session(struct rcp *c, const char *path, const char *text)
{
	rcp_fail(c, path, text);
	if (rcp_flush(c) < 0)
		log_debug("the peer is gone already");
	return ERR_PROTOCOL;
}

int
rcp_protocol_error(struct rcp *c, const char *what)
{
	return rcp_end_session(c, "protocol error", what);
}

const char *
rcp_too_deep(const struct rcp *c, const char *path)
{
	if (strlen(path) >= RCP_PATH_MAX)
		return "the path is too long";
	return c->depth >= RCP_DEPTH_MAX ? "directories are too deep" : NULL;
}

/* ---- answers ------------------------------------------------------------ */

int
rcp_ok(struct rcp *c)
{
	return rcp_put(c, "", 1);
}

int
rcp_peer_message(struct rcp *c, uint8_t code)
{
	int r = get_line(c, 0);

	if (r < 0)
		return r;
	print_peer_line(c);
	return code == RCP_FATAL ? ERR_CANCELLED : 1;
}

int
rcp_answer(struct rcp *c)
{
	uint8_t code = RCP_OK;
	int r = get_byte(c, &code);

	if (r <= 0)
		return r < 0 ? r : ERR_CLOSED;
	if (code == RCP_OK)
		return 0;
	if (code == RCP_WARNING || code == RCP_FATAL)
		return rcp_peer_message(c, code);
	/* This is no answer, but output of a shell or its profile. */
	c->line[0] = (char)code;
	if ((r = get_line(c, 1)) < 0)
		return r;
	print_peer_line(c);
	return ERR_PROTOCOL;
}

int
rcp_read_answers(struct rcp *c)
{
	int r = 0;

	for (; c->answers_due > 0; c->answers_due--)
		if ((r = rcp_answer(c)) < 0)
			return r;
	return r;
}

/* ---- records ------------------------------------------------------------ */

int
rcp_next_record(struct rcp *c, struct rcp_record *rec, bool first)
{
	uint8_t byte = 0;
	int r;

	while ((r = get_byte(c, &byte)) > 0 &&
	    (byte == RCP_WARNING || byte == RCP_FATAL))
		if ((r = rcp_peer_message(c, byte)) < 0)
			return r;
	if (r <= 0)
		return r;
	if (byte == '\n')
		return rcp_protocol_error(c, "unexpected <newline>");
	c->line[0] = (char)byte;
	if ((r = get_line(c, 1)) < 0)
		return r;
	if (rcp_record_parse(rec, c->line, c->opts.resume) == 0)
		return 1;
	if (!first || strchr("CDET", c->line[0]) != NULL)
		return rcp_protocol_error(c, "expected control record");
	print_peer_line(c);
	return ERR_PROTOCOL;
}

int
rcp_check_record(struct rcp *c, const struct rcp_record *rec,
    const struct strlist *wanted, unsigned depth)
{
	if (rec->type == 'E' && depth == 0)
		return rcp_protocol_error(c, "unexpected end of directory");
	if (rec->type != 'C' && rec->type != 'D')
		return 0;
	if (!rcp_name_is_plain(rec->name))
		return rcp_end_session(c, "error: unexpected filename",
		    rec->name);
	if (depth == 0 && wanted != NULL &&
	    !rcp_wanted_has(wanted, rec->name))
		return rcp_protocol_error(c, "filename does not match request");
	if (rec->type == 'D' && !c->opts.recursive)
		return rcp_protocol_error(c, "received directory without -r");
	return 0;
}

/* ---- progress and rate -------------------------------------------------- */

void
rcp_progress_start(struct rcp *c, const char *name, int64_t size,
    int64_t done)
{
	progress_start(c->opts.progress, &c->item, name, (uint64_t)size,
	    clock_us() / 1000);
	progress_keep(&c->item, (uint64_t)done);
}

void
rcp_progress_finish(struct rcp *c, bool ok)
{
	progress_finish(c->opts.progress, &c->item, ok, clock_us() / 1000);
}

/* Waits until the rate allows more bytes. Time in which nothing was sent does
 * not count later, but for SLACK_US, which makes up for late wake-ups. */
static void
keep_rate(struct rcp *c, size_t bytes)
{
	uint64_t now = clock_us();

	c->allowed_us = MAX(c->allowed_us, now - MIN(now, SLACK_US)) +
	    (uint64_t)bytes * 1000000 / c->opts.rate_bytes;
	for (; now < c->allowed_us; now = clock_us())
		clock_sleep_us(c->allowed_us - now);
}

void
rcp_moved(struct rcp *c, size_t bytes)
{
	if (c->opts.progress != NULL) {
		progress_add(c->opts.progress, &c->item, bytes);
		progress_tick(c->opts.progress, &c->item, clock_us() / 1000);
	}
	if (c->opts.rate_bytes > 0)
		keep_rate(c, bytes);
}

size_t
rcp_piece(const struct rcp *c, int64_t left)
{
	uint64_t max = RCP_BLOCK, rate = c->opts.rate_bytes;

	if (rate > 0)
		max = MIN(max, MAX(rate / PIECES_A_SECOND, PIECE_MIN));
	return (size_t)MIN((uint64_t)left, max);
}
