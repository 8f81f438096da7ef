/* SPDX-License-Identifier: ISC */
#include "client/check/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/check/check-internal.h"
#include "conf/destination.h"
#include "xfer/target.h"

enum {
	EXIT_PART = 1, /* exit status: something could not be measured */
	EXIT_NO_CONNECTION = 255,
	EXIT_SIGNAL = 128, /* and its number */
	STEP_MS = 100,
};

void
check_fail(struct check *c, const char *what, const char *words)
{
	struct check_failure *f = &c->failures[c->failed];

	if (c->failed == CHECK_FAILURES_MAX)
		return;
	f->what = what;
	snprintf(f->words, sizeof f->words, "%s", words);
	c->failed++;
}

uint64_t
check_left(const struct check *c, uint64_t limit_ms)
{
	uint64_t now = clock_ms();

	return now < c->until_ms ? MIN(limit_ms, c->until_ms - now) : 0;
}

/* ---- the target ---------------------------------------------------------- */

static void
take_port(struct check *c, const char *text)
{
	int64_t n;

	if (text != NULL && str_to_int(text, 1, 65535, &n) == 0)
		c->port = (int)n;
}

/* Parses the target: [user@]host:path as for hpnscp, or a host as for
 * hpnssh. */
static bool
parse_target(struct check *c)
{
	struct xfer_target t = { .remote = false };
	struct destination d = { NULL, NULL, NULL };
	bool uri = str_has_prefix(c->target, "ssh://");
	bool ok = !uri && xfer_target_parse(&t, c->target) == 0;

	if (ok && t.remote) {
		c->user = t.user;
		c->host = t.host;
		c->path = t.path;
		c->port = t.port;
		return true;
	}
	if (ok)
		xfer_target_clear(&t);
	ok = destination_parse(&d, c->target) == 0;
	if (ok) {
		take_port(c, d.port);
		c->user = d.user;
		c->host = d.host;
		d.user = d.host = NULL;
	}
	destination_clear(&d);
	return ok;
}

/* ---- life ---------------------------------------------------------------- */

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

static void
on_signal(void *arg, int signo)
{
	struct check *c = arg;

	c->stop = true;
	c->signo = signo;
}

/* Collects the options of the connection: the user's, and those that a
 * measurement needs: a connection of its own, and data that is not
 * compressed. */
static void
connection_options(struct strlist *out, const struct strlist *given)
{
	static const char *const own[] = { "-oConnectTimeout=10",
		"-oControlPath=none", "-oCompression=no" };

	for (size_t i = 0; i < given->n; i++)
		xstrlist_add(out, given->v[i]);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		xstrlist_add(out, own[i]);
}

static int
connect_host(struct check *c, const struct strlist *options)
{
	struct remote_params p = { .loop = c->loop, .host = c->host,
		.user = c->user, .port = c->port, .options = options,
		.bulk = CHECK_MOVE_BYTES, .copy = &c->copy };
	uint64_t begun = clock_ms(), up_ms = 0;
	int r = remote_open(&c->remote, &p);

	if (r != 0)
		return r;
	c->sftp = remote_sftp(c->remote);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_on_signal_if_wanted(c->loop, signals[i], on_signal, c);
	while (r == 0 && !c->stop && !sftp_is_ready(c->sftp)) {
		r = sftp_step(c->sftp, false, STEP_MS);
		if (up_ms == 0 && remote_is_up(c->remote))
			up_ms = clock_ms();
		if (up_ms != 0 && clock_ms() - up_ms >= CHECK_SESSION_MS) {
			log_error("the host's SFTP server does not answer");
			r = ERR_TIMEOUT;
		}
	}
	c->login_ms = clock_ms() - begun;
	return r;
}

static void
measure(struct check *c, struct check_lanes *lanes)
{
	check_path_measure(c, false);
	check_ciphers_measure(c);
	if (!c->stop)
		check_move(lanes, true);
	if (!c->stop)
		check_move(lanes, false);
	if (!c->stop)
		check_path_measure(c, true);
	if (!c->stop && c->path != NULL)
		check_disk_measure(c);
}

static void
print(const struct check *c, int status)
{
	struct buf out = { 0 };

	if (c->json)
		check_tell_json(c, status, &out);
	else if (status != EXIT_NO_CONNECTION)
		check_tell_text(c, &out);
	if (buf_err(&out) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	if (fwrite(buf_data(&out), 1, buf_len(&out), stdout) !=
		buf_len(&out) || fflush(stdout) != 0)
		fatal("%s: writing standard output: %s", called_ssh(),
		    err_text(ERR_SYSTEM));
	buf_clear(&out);
}

static int
run(struct check *c, const struct strlist *options)
{
	struct check_lanes *lanes = NULL;
	int status = EXIT_NO_CONNECTION, r;

	if (connect_host(c, options) == 0 && !c->stop) {
		c->until_ms = clock_ms() + CHECK_WHOLE_MS;
		if ((r = check_lanes_new(&lanes, c)) != 0)
			fatal("a file for what is sent: %s", err_text(r));
		measure(c, lanes);
		status = c->failed > 0 ? EXIT_PART : 0;
	} else if (!c->stop) {
		check_fail(c, "connecting", *log_last_error() != '\0' ?
			log_last_error() : "the connection failed");
	}
	if (!c->stop)
		print(c, status);
	if (c->remote != NULL)
		(void)remote_close(c->remote);
	check_lanes_free(lanes);
	free(c->disk_kept);
	return status;
}

int
check_run(const struct check_params *params)
{
	struct check c = { .target = params->target, .json = params->json };
	struct strlist options = { NULL, 0 };
	int status;

	if (!parse_target(&c)) {
		log_error("%s: not a host, nor [user@]host:path",
		    params->target);
		return EXIT_NO_CONNECTION;
	}
	if ((c.loop = loop_new()) == NULL)
		fatal("%s", err_text(ERR_SYSTEM));
	connection_options(&options, params->options);
	status = run(&c, &options);
	loop_free(c.loop);
	strlist_clear(&options);
	free(c.user);
	free(c.host);
	free(c.path);
	return c.stop ? EXIT_SIGNAL + c.signo : status;
}
