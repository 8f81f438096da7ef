/* SPDX-License-Identifier: ISC */
/*
 * The command line of ~C: adds and cancels forwards, and runs commands on this
 * host, while a session is open. The terminal is in raw mode, so the line is
 * shown and edited here. The connection goes on while it is typed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/forwards/forwards.h"
#include "client/session/client-session-internal.h"
#include "client/session/local-command.h"

enum { CTRL_H = 8, CTRL_U = 21, DELETE = 127 };

static const struct kind {
	char letter;
	enum forward_kind kind;
	enum forward_kind closing; /* the kind whose syntax is that of the
				    * listening side, for -K */
	const char *bad;
} kinds[] = {
	{ 'L', FORWARD_LOCAL, FORWARD_DYNAMIC,
	    "Bad local forwarding specification." },
	{ 'R', FORWARD_REMOTE, FORWARD_REMOTE,
	    "Bad remote forwarding specification." },
	{ 'D', FORWARD_DYNAMIC, FORWARD_DYNAMIC,
	    "Bad dynamic forwarding specification." },
};

static const struct kind *
find_kind(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].letter == letter)
			return &kinds[i];
	return NULL;
}

/* ---- what the lines do -------------------------------------------------- */

static void
help(struct session *s)
{
	session_show(s,
	    "Commands:\n"
	    "  -L[address:]port:host:hostport    listen here, connect there\n"
	    "  -R[address:]port:host:hostport    listen there, connect here\n"
	    "  -D[address:]port                  listen here for SOCKS\n"
	    "  -KL[address:]port                 cancel a forward of -L\n"
	    "  -KR[address:]port                 cancel a forward of -R\n"
	    "  -KD[address:]port                 cancel a forward of -D\n");
	if (s->p.conf->session.permit_local_command)
		session_show(s,
		    "  !command                          run it here\n");
}

static void
on_added(void *arg, const char *error, uint16_t allocated)
{
	(void)arg;
	(void)allocated;
	if (error != NULL)
		log_info("%s", error);
}

static void
add(struct session *s, const struct kind *k, const char *text)
{
	struct forward_spec spec;

	if (forward_spec_parse(&spec, k->kind, text) != 0) {
		log_info("%s", k->bad);
		return;
	}
	forwards_add(s->p.forwards, &spec, on_added, NULL);
	if (forwards_has(s->p.forwards, &spec))
		log_info("Forwarding port.");
	forward_spec_clear(&spec);
}

static void
cancel(struct session *s, const struct kind *k, const char *text)
{
	struct forward_spec spec;

	if (k == NULL || forward_spec_parse(&spec, k->closing, text) != 0) {
		log_info("Bad forwarding close specification.");
		return;
	}
	if (!spec.target_is_socks) /* a target was given as well */
		log_info("Bad forwarding close specification.");
	else if (forwards_cancel_listening(s->p.forwards, k->kind,
		     &spec.listen))
		log_info("Canceled forwarding.");
	else
		log_info("Unknown port forwarding.");
	forward_spec_clear(&spec);
}

/* Runs a command of the user, which gets the terminal. Meanwhile the connection
 * stands still, as with ~^Z. */
static void
run_local(struct session *s, const char *command)
{
	bool raw = s->raw;

	session_set_raw(s, false);
	session_set_nonblock(s, false);
	local_command_typed(command);
	session_set_nonblock(s, true);
	if (raw)
		session_set_raw(s, true);
	session_resized(s);
}

static const char *
skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

static void
run(struct session *s, const char *p)
{
	bool cancels;
	const struct kind *k;

	p = skip_blanks(p);
	if (*p == '-')
		p++;
	if (*p == '\0')
		return;
	if (strchr("hH?", *p) != NULL) {
		help(s);
		return;
	}
	if (*p == '!' && s->p.conf->session.permit_local_command) {
		run_local(s, p + 1);
		return;
	}
	if ((cancels = *p == 'K'))
		p++;
	if ((k = find_kind(*p)) != NULL)
		p = skip_blanks(p + 1);
	if (cancels)
		cancel(s, k, p);
	else if (k != NULL)
		add(s, k, p);
	else
		log_info("Invalid command.");
}

/* ---- typing ------------------------------------------------------------- */

void
session_line_begin(void *arg)
{
	struct session *s = arg;

	s->line_len = 0;
	if (s->escape.typed == NULL || s->p.forwards == NULL)
		session_show(s, "commandline disabled\n");
	else
		session_show(s, "\nssh> ");
}

/* Notes a byte of the line. Bytes beyond the room for one line are dropped: no
 * user types so many at once. */
void
session_line_typed(struct session *s, uint8_t ch)
{
	if (s->typed_count < ARRAY_LEN(s->typed))
		s->typed[s->typed_count++] = ch;
}

static void
erase(struct session *s)
{
	if (s->line_len == 0)
		return;
	s->line_len--;
	session_show(s, "\b \b");
}

static void
take(struct session *s, uint8_t ch)
{
	const char text[] = { (char)ch, '\0' };

	if (ch == '\r' || ch == '\n') {
		session_show(s, "\n");
		s->line[s->line_len] = '\0';
		s->line_len = 0;
		run(s, s->line);
	} else if (ch == ESCAPE_CTRL_C || ch == ESCAPE_CTRL_D) {
		session_show(s, "\n");
		s->line_len = 0;
	} else if (ch == CTRL_H || ch == DELETE) {
		erase(s);
	} else if (ch == CTRL_U) {
		while (s->line_len > 0)
			erase(s);
	} else if (ch >= ' ' && s->line_len + 1 < sizeof s->line) {
		s->line[s->line_len++] = (char)ch;
		session_show(s, text);
	}
}

void
session_line_take(struct session *s)
{
	size_t n = s->typed_count;

	s->typed_count = 0;
	for (size_t i = 0; i < n && s->p.forwards != NULL; i++)
		take(s, s->typed[i]);
}
