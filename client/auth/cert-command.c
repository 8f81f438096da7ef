/* SPDX-License-Identifier: ISC */
#include "client/auth/cert-command.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/common/user-program.h"

enum {
	/* Time limits of the program. ATTENDED_MS: a user may have to find a
	 * device and type a code; most servers wait for 120 s. */
	ATTENDED_MS = 100 * 1000,
	ALONE_MS = 30 * 1000,
	AGAIN_MS = 60 * 1000,
	OUTPUT_MAX = 1024 * 1024, /* bytes */
	CERTIFICATES_MAX = 64,
	MARGIN_MAX_S = 5 * 60,
	MARGIN_PART = 10,
};

#define WHAT "CertificateCommand"

/* ---- what the program prints -------------------------------------------- */

bool
cert_command_is_good(const struct cert *c, uint64_t now)
{
	uint64_t margin;

	if (c->kind != CERT_USER || now < c->valid_after ||
	    now >= c->valid_before)
		return false;
	margin = MIN((c->valid_before - c->valid_after) / MARGIN_PART,
	    (uint64_t)MARGIN_MAX_S);
	return c->valid_before - now > margin;
}

/* Takes a line that is not empty. False: it is not a certificate of a user. */
static bool
take_line(const char *line, struct key ***v, size_t *n)
{
	struct key *k = NULL;

	if (key_parse_line(&line, &k) != 0 || !key_is_cert(k) ||
	    key_cert(k)->kind != CERT_USER || *n == CERTIFICATES_MAX) {
		key_free(k);
		return false;
	}
	*v = xrecallocarray(*v, *n, *n + 1, sizeof **v);
	(*v)[(*n)++] = k;
	return true;
}

/* Cuts the next line off *text, without its end. False: there is no more. */
static bool
next_line(struct span *text, struct span *line)
{
	const uint8_t *end;

	if (text->len == 0)
		return false;
	end = memchr(text->p, '\n', text->len);
	*line = *text;
	if (end != NULL)
		line->len = (size_t)(end - text->p);
	text->p += MIN(line->len + 1, text->len);
	text->len -= MIN(line->len + 1, text->len);
	while (line->len > 0 && strchr(" \t\r", line->p[line->len - 1]) != NULL)
		line->len--;
	return true;
}

void
cert_command_read(struct span text, struct key ***v, size_t *n)
{
	static const char private_begin[] = "-----BEGIN ";
	size_t number = 0;
	struct span line;

	while (next_line(&text, &line)) {
		char *copy;

		number++;
		if (line.len == 0 || *line.p == '#')
			continue;
		if (line.len >= sizeof private_begin - 1 &&
		    memcmp(line.p, private_begin,
			sizeof private_begin - 1) == 0) {
			log_error(WHAT ": a private key was printed, which is "
				       "not taken: it belongs into the agent");
			return;
		}
		copy = span_dup(line);
		if (copy == NULL || !take_line(copy, v, n))
			log_verbose(WHAT ": line %zu of the output is no "
					 "certificate of a user", number);
		free(copy);
	}
}

/* ---- what was issued ---------------------------------------------------- */

/* What the program has printed at its last run, for a host, port and user. */
struct issue {
	char *for_whom;
	uint64_t ended_ms; /* clock_ms() at the end of a run that was in vain,
			    * or may turn out to be; 0: the program may run */
	struct key **v;
	size_t n;
};

/* The issues of this process, which all its connections to a host share. There
 * are no more of them than hosts that the user has named. */
static struct {
	struct issue *v;
	size_t n;
} issues;

static char *
for_whom(const struct client_conf *conf)
{
	char *text;

	xasprintf(&text, "%s %d %s %s",
	    conf->host.hostname != NULL ? conf->host.hostname : "",
	    conf->host.port, conf->host.user != NULL ? conf->host.user : "",
	    conf->auth.certificate_command);
	return text;
}

/* The issue for the host of conf. NULL: the program was never run for it. */
static struct issue *
find_issue(const struct client_conf *conf)
{
	char *text = for_whom(conf);
	struct issue *found = NULL;

	for (size_t i = 0; found == NULL && i < issues.n; i++)
		if (strcmp(issues.v[i].for_whom, text) == 0)
			found = &issues.v[i];
	free(text);
	return found;
}

static struct issue *
find_or_add_issue(const struct client_conf *conf)
{
	struct issue *i = find_issue(conf);

	if (i != NULL)
		return i;
	issues.v = xrecallocarray(issues.v, issues.n, issues.n + 1,
	    sizeof *issues.v);
	i = &issues.v[issues.n++];
	i->for_whom = for_whom(conf);
	return i;
}

static void
empty_issue(struct issue *i)
{
	for (size_t k = 0; k < i->n; k++)
		key_free(i->v[k]);
	free(i->v);
	i->v = NULL;
	i->n = 0;
}

const struct key *
cert_command_issued(const struct client_conf *conf, size_t i)
{
	const struct issue *issue;

	if (conf->auth.certificate_command == NULL ||
	    (issue = find_issue(conf)) == NULL || i >= issue->n)
		return NULL;
	return issue->v[i];
}

void
cert_command_was_good(const struct client_conf *conf)
{
	find_or_add_issue(conf)->ended_ms = 0;
}

bool
cert_command_run(const struct client_conf *conf, const char *reason,
    const struct key *k, bool waits)
{
	const struct user_program program = {
		.keyword = WHAT,
		.command = conf->auth.certificate_command,
		.tokens = CLIENT_TOKENS_CERTIFICATE,
		.reason = reason,
		.key = k,
		.limit_ms = waits ? ATTENDED_MS : ALONE_MS,
		.output_max = OUTPUT_MAX,
	};
	struct issue *issue = find_or_add_issue(conf);
	struct buf out;
	int r;

	if (issue->ended_ms != 0 && clock_ms() - issue->ended_ms < AGAIN_MS) {
		log_debug(WHAT ": was run less than a minute ago");
		return false;
	}
	buf_init_secret(&out);
	r = user_program_run(conf, &program, &out);
	issue->ended_ms = clock_ms();
	if (r == 0) {
		empty_issue(issue);
		cert_command_read(buf_span(&out), &issue->v, &issue->n);
	}
	buf_clear(&out);
	return r == 0;
}
