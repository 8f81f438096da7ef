/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/mux/mux-forward.h"

enum { EXIT_ERROR = 255 };

struct mux_command {
	const char *word;
	int (*run)(const struct mux_command *command, struct mux_conn *conn,
	    const struct client_conf *conf);
	enum mux_type type;
	const char *argument; /* the request's argument, or NULL */
	const char *done;     /* text shown after success, or NULL */
};

static int
failed(const struct mux_command *command, const struct mux_conn *conn,
    int err)
{
	if (err == ERR_DENIED)
		log_error("Master refused \"%s\": %s", command->word,
		    conn->why);
	else
		log_error("%s: the master %s", command->word,
		    err == ERR_CLOSED ? "is gone" : err_text(err));
	return EXIT_ERROR;
}

static int
run_check(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf)
{
	uint32_t pid;
	int r = mux_conn_check(conn, &pid);

	(void)conf;
	if (r != 0)
		return failed(command, conn, r);
	fprintf(stderr, "Master running (pid=%u)\r\n", pid);
	return 0;
}

/* Sends a request that the master answers with yes or no only. A master that is
 * told to end may be gone before it has answered: that counts as yes. */
static int
run_order(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf)
{
	struct buf b = { 0 };
	struct rd rest;
	int r;

	(void)conf;
	mux_conn_begin(conn, &b, command->type);
	r = mux_conn_ask(conn, &b, NULL, 0, &rest);
	buf_clear(&b);
	if (r == ERR_CLOSED && command->type == MUX_EXIT)
		r = 0;
	else if (r == 0 && conn->type != MUX_OK)
		r = ERR_PROTOCOL;
	if (r != 0)
		return failed(command, conn, r);
	if (log_get_level() > LOG_LVL_QUIET)
		fprintf(stderr, "%s\r\n", command->done);
	return 0;
}

/* Prints the master's text. The master is this user's own program or root's,
 * but control characters other than line ends and tabs still are kept from the
 * terminal. */
static void
print_lines(const struct rd *text)
{
	for (size_t i = 0; i < text->len; i++) {
		uint8_t c = text->p[i];

		putchar(c == '\n' || c == '\r' || c == '\t' ||
			    (c >= ' ' && c != 0x7f) ? c : '?');
	}
}

static int
run_info(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf)
{
	struct buf b = { 0 };
	struct rd rest, text;
	uint32_t known = 0;
	int r;

	(void)conf;
	if (!conn->knows_info) {
		log_error("%s: the master is of a version that does not know "
			  "this", command->word);
		return EXIT_ERROR;
	}
	mux_conn_begin(conn, &b, MUX_INFO);
	buf_put_cstring(&b, command->argument);
	r = mux_conn_ask(conn, &b, NULL, 0, &rest);
	buf_clear(&b);
	if (r == 0) {
		known = rd_u32(&rest);
		text = rd_sub(&rest);
		r = rd_end(&rest);
	}
	if (r == 0 && conn->type != MUX_INFO_TEXT)
		r = ERR_PROTOCOL;
	if (r != 0)
		return failed(command, conn, r);
	print_lines(&text);
	return fflush(stdout) == 0 && known != 0 ? 0 : EXIT_ERROR;
}

static void
on_forwarded(void *arg, const struct mux_conn *conn,
    const struct forward_spec *spec, int err, uint32_t port)
{
	const struct mux_command *command = arg;
	bool cancels = command->type == MUX_CANCEL_FORWARD;
	char *listen;

	if (err == 0) {
		if (port != 0)
			printf("%u\n", port);
		return;
	}
	listen = forward_listen_text(spec);
	log_error("mux_client_forward: %s of %s failed: %s",
	    cancels ? "cancelling" : "forwarding", listen,
	    err == ERR_DENIED ? conn->why : err_text(err));
	free(listen);
}

/* Asks for the forwards of the configuration, or cancels them. That a forward
 * to be cancelled does not exist is no failure. */
static int
run_forward(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf)
{
	bool cancels = command->type == MUX_CANCEL_FORWARD;
	struct mux_command self = *command;
	int r = mux_forward_request_all(conn, conf, cancels, true,
	    on_forwarded, &self);

	if (r != 0 && !cancels)
		log_error("muxclient: master forward request failed");
	if (fflush(stdout) != 0)
		return EXIT_ERROR;
	return r == 0 || cancels ? 0 : EXIT_ERROR;
}

static const struct mux_command commands[] = {
	{ "check", run_check, MUX_CHECK, NULL, NULL },
	{ "conninfo", run_info, MUX_INFO, "connection", NULL },
	{ "channels", run_info, MUX_INFO, "channels", NULL },
	{ "forward", run_forward, MUX_ADD_FORWARD, NULL, NULL },
	{ "cancel", run_forward, MUX_CANCEL_FORWARD, NULL, NULL },
	{ "exit", run_order, MUX_EXIT, NULL, "Exit request sent." },
	{ "stop", run_order, MUX_STOP, NULL,
	    "Stop listening request sent." },
};

const struct mux_command *
mux_command_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].word, word) == 0)
			return &commands[i];
	return NULL;
}

int
mux_command_run(const struct mux_command *command, struct mux_conn *conn,
    const struct client_conf *conf)
{
	return command->run(command, conn, conf);
}
