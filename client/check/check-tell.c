/* SPDX-License-Identifier: ISC */
/*
 * Writes the results of a check: lines for people, or one JSON object. Text
 * from the server or the command line is escaped in both.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/check/check-internal.h"
#include "client/why-slow.h"

static struct check_facts
facts_of(const struct check *c, bool up)
{
	return (struct check_facts){ .path = &c->network,
		.ciphers = &c->ciphers, .moved = up ? &c->up : &c->down,
		.disk = &c->disk, .up = up };
}

static const char *
server_name(const struct check *c)
{
	switch (sftp_server(c->sftp)) {
	case SFTP_SERVER_OWN:
		return "hpnssh";
	case SFTP_SERVER_OPENSSH:
		return "openssh";
	default:
		return "other";
	}
}

/* ---- text ---------------------------------------------------------------- */

static void
put_rate(struct buf *b, uint64_t rate)
{
	if (rate >= 100 * 1000 * 1000)
		buf_printf(b, "%" PRIu64 " MB/s", (rate + 500000) / 1000000);
	else
		buf_printf(b, "%" PRIu64 ".%" PRIu64 " MB/s", rate / 1000000,
		    rate / 100000 % 10);
}

static void
put_escaped(struct buf *b, const char *text)
{
	char *shown = xstr_escape(text);

	buf_printf(b, "%s", shown);
	free(shown);
}

static void
put_ms(struct buf *b, uint64_t us)
{
	buf_printf(b, "%" PRIu64 ".%" PRIu64 " ms", us / 1000, us / 100 % 10);
}

/* Puts which part of the segments was sent again. */
static void
put_again(struct buf *b, uint64_t again, uint64_t sent)
{
	uint64_t n = why_slow_again(again, sent) / 100;

	buf_printf(b, "%" PRIu64 ".%02" PRIu64 " %%", n / 100, n % 100);
}

/* Appends a buffer's limit, with the rate that one connection gets by it: the
 * kernel uses half of a buffer for itself. */
static void
put_buffer(struct buf *b, const char *what, uint64_t limit, uint64_t rtt_us)
{
	if (limit == 0)
		return;
	buf_printf(b, ", %s at most %" PRIu64 " KiB", what, limit >> 10);
	if (rtt_us >= 1000) {
		buf_printf(b, " (");
		put_rate(b, limit / 2 * 1000000 / rtt_us);
		buf_printf(b, " a connection)");
	}
}

static void
tell_path(const struct check *c, struct buf *b)
{
	const struct check_path *n = &c->network;

	buf_printf(b, "path     ");
	if (!n->known) {
		buf_printf(b, "not known: the connection is a proxy's\n");
		return;
	}
	buf_printf(b, "round trip ");
	put_ms(b, n->least_us);
	buf_printf(b, " (");
	put_ms(b, n->rtt_us);
	buf_printf(b, " under load), MTU %" PRIu64 ", MSS %" PRIu64 "\n",
	    n->mtu, n->mss);
	buf_printf(b, "         sent again: up ");
	put_again(b, n->again_up, n->segments_up);
	if (n->server_told) {
		buf_printf(b, ", down ");
		put_again(b, n->again_down, n->segments_down);
	}
	buf_printf(b, "\ntcp      %s", n->congestion[0] != '\0' ?
	    n->congestion : "congestion control not known");
	put_buffer(b, "sends", n->send_limit, n->least_us);
	put_buffer(b, "receives", n->receive_limit, n->least_us);
	buf_printf(b, "; the path holds %" PRIu64 " KiB\n", n->bdp >> 10);
}

static void
tell_ciphers(const struct check *c, struct buf *b)
{
	const struct check_ciphers *k = &c->ciphers;

	if (!k->known)
		return;
	buf_printf(b, "cipher   %s: ", k->up);
	put_rate(b, k->encrypts);
	buf_printf(b, " out, ");
	put_rate(b, k->decrypts);
	buf_printf(b, " in, with one core here");
	if (k->best_rate > k->encrypts + k->encrypts / 4) {
		buf_printf(b, "; %s: ", k->best);
		put_rate(b, k->best_rate);
	}
	buf_printf(b, "\n");
}

static void
tell_moved(const struct check_moved *m, const char *name, struct buf *b)
{
	if (!m->known)
		return;
	buf_printf(b, "%-8s ", name);
	put_rate(b, m->rate);
	buf_printf(b, " from memory to memory: %" PRIu64 " MiB in %" PRIu64
		      ".%" PRIu64 " s over %u connection%s\n",
	    m->bytes >> 20, m->ms / 1000, m->ms / 100 % 10, m->connections,
	    m->connections == 1 ? "" : "s");
}

static void
tell_disk(const struct check *c, struct buf *b)
{
	const struct check_disk *d = &c->disk;

	if (!d->known)
		return;
	buf_printf(b, "disk     ");
	put_rate(b, d->write);
	buf_printf(b, " written%s", d->synced ? " and synced" :
				    " (the host cannot sync)");
	if (d->reread) {
		buf_printf(b, ", ");
		put_rate(b, d->read);
		buf_printf(b, " read%s", d->cached ?
		    " (it may have come from the host's memory)" :
		    c->network.least_us >= 1000 ? " over one connection" : "");
	}
	buf_printf(b, ", %" PRIu64 " MiB\n", d->bytes >> 20);
}

static void
tell_expected(const struct check *c, bool up, struct buf *b)
{
	const struct check_facts f = facts_of(c, up);
	struct check_expected e;

	check_expect(&f, &e);
	if (e.rate > 0) {
		buf_printf(b, "expect   %s ", up ? "up" : "down");
		put_rate(b, e.rate);
		buf_printf(b, ", limited by ");
		buf_put_buf(b, &e.why);
		if (buf_len(&e.change) > 0) {
			buf_printf(b, "\nchange   ");
			buf_put_buf(b, &e.change);
		}
		buf_printf(b, "\n");
	}
	check_expected_clear(&e);
}

void
check_tell_text(const struct check *c, struct buf *out)
{
	buf_printf(out, "host     ");
	put_escaped(out, c->target);
	buf_printf(out, " (%s), ready in %" PRIu64 ".%02" PRIu64 " s\n",
	    server_name(c), c->login_ms / 1000, c->login_ms / 10 % 100);
	tell_path(c, out);
	tell_ciphers(c, out);
	tell_moved(&c->up, "up", out);
	tell_moved(&c->down, "down", out);
	tell_disk(c, out);
	tell_expected(c, true, out);
	tell_expected(c, false, out);
	for (unsigned i = 0; i < c->failed; i++) {
		buf_printf(out, "failed   %s: ", c->failures[i].what);
		put_escaped(out, c->failures[i].words);
		buf_printf(out, "\n");
	}
}

/* ---- JSON ---------------------------------------------------------------- */

/* Puts a key and the begin of an object with its first number. */
static void
open_object(struct buf *b, const char *key, const char *first, uint64_t n)
{
	json_put_key(b, key);
	buf_printf(b, "{\"%s\":%" PRIu64, first, n);
}

static void
json_path(const struct check *c, struct buf *b)
{
	const struct check_path *n = &c->network;

	if (!n->known)
		return;
	open_object(b, "path", "rtt_us", n->least_us);
	json_put_number(b, "loaded_rtt_us", n->rtt_us);
	json_put_number(b, "mss", n->mss);
	json_put_number(b, "mtu", n->mtu);
	json_put_number(b, "segments_up", n->segments_up);
	json_put_number(b, "retransmitted_up", n->again_up);
	if (n->server_told) {
		json_put_number(b, "segments_down", n->segments_down);
		json_put_number(b, "retransmitted_down", n->again_down);
	}
	json_put_text(b, "congestion_control", n->congestion);
	json_put_number(b, "send_buffer_max", n->send_limit);
	json_put_number(b, "receive_buffer_max", n->receive_limit);
	json_put_number(b, "bandwidth_delay_bytes", n->bdp);
	buf_printf(b, "}");
}

static void
json_ciphers(const struct check *c, struct buf *b)
{
	const struct check_ciphers *k = &c->ciphers;

	if (!k->known)
		return;
	open_object(b, "cipher", "encrypts", k->encrypts);
	json_put_text(b, "up", k->up);
	json_put_text(b, "down", k->down);
	json_put_number(b, "decrypts", k->decrypts);
	json_put_text(b, "best", k->best);
	json_put_number(b, "best_encrypts", k->best_rate);
	buf_printf(b, "}");
}

static void
json_moved(const struct check_moved *m, const char *name, struct buf *b)
{
	if (!m->known)
		return;
	open_object(b, name, "rate", m->rate);
	json_put_number(b, "bytes", m->bytes);
	json_put_ms(b, "seconds", m->ms);
	json_put_ms(b, "start_seconds", m->start_ms);
	json_put_number(b, "connections", m->connections);
	json_put_number(b, "channels", m->channels);
	json_put_bool(b, "refused", m->refused);
	json_put_number(b, "cpu_percent", m->cpu);
	buf_printf(b, "}");
}

static void
json_disk(const struct check *c, struct buf *b)
{
	const struct check_disk *d = &c->disk;

	if (!d->known)
		return;
	open_object(b, "disk", "bytes", d->bytes);
	json_put_number(b, "write", d->write);
	json_put_bool(b, "synced", d->synced);
	if (d->synced)
		json_put_number(b, "sync", d->sync);
	if (d->reread) {
		json_put_number(b, "read", d->read);
		json_put_bool(b, "read_may_be_cached", d->cached);
	}
	buf_printf(b, "}");
}

static void
json_put_buf(struct buf *b, const char *key, const struct buf *text)
{
	char *s = buf_dup_string(text);

	if (s != NULL)
		json_put_text(b, key, s);
	free(s);
}

static void
json_expected(const struct check *c, bool up, struct buf *b)
{
	const struct check_facts f = facts_of(c, up);
	struct check_expected e;

	check_expect(&f, &e);
	if (e.rate > 0) {
		open_object(b, up ? "expect_up" : "expect_down", "rate",
		    e.rate);
		json_put_text(b, "limit", check_limit_name(e.limit));
		json_put_buf(b, "why", &e.why);
		if (buf_len(&e.change) > 0)
			json_put_buf(b, "change", &e.change);
		buf_printf(b, "}");
	}
	check_expected_clear(&e);
}

static void
json_failures(const struct check *c, struct buf *b)
{
	json_put_key(b, "failures");
	buf_printf(b, "[");
	for (unsigned i = 0; i < c->failed; i++) {
		buf_printf(b, "%s{\"what\":\"%s\"", i > 0 ? "," : "",
		    c->failures[i].what);
		json_put_text(b, "words", c->failures[i].words);
		buf_printf(b, "}");
	}
	buf_printf(b, "]");
}

void
check_tell_json(const struct check *c, int status, struct buf *out)
{
	buf_printf(out, "{\"version\":1");
	json_put_text(out, "target", c->target);
	if (c->sftp != NULL) {
		json_put_text(out, "server", server_name(c));
		json_put_ms(out, "ready_seconds", c->login_ms);
	}
	json_path(c, out);
	json_ciphers(c, out);
	json_moved(&c->up, "up", out);
	json_moved(&c->down, "down", out);
	json_disk(c, out);
	json_expected(c, true, out);
	json_expected(c, false, out);
	json_failures(c, out);
	json_put_number(out, "status", (uint64_t)status);
	buf_printf(out, "}\n");
}
