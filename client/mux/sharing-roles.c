/* SPDX-License-Identifier: ISC */
/* What a process does in its role: as a mux client, as a master, or as the
 * sender of a command to a master (-O). */
#include "client/mux/sharing-roles.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/session/background.h"
#include "compat/proc.h"

enum { EXIT_ERROR = 255 };

static int
tell_master(const struct sharing *s, const struct mux_command *command)
{
	struct mux_conn conn;
	int status;

	if (sharing_open(s, &conn) != 0)
		return EXIT_ERROR;
	status = mux_command_run(command, &conn, s->conf);
	mux_conn_close(&conn);
	return status;
}

int
sharing_command(const struct client_conf *conf, const char *word)
{
	const struct mux_command *command = mux_command_find(word);
	struct sharing s;
	int status;

	if (command == NULL)
		fatal("-O %s is not available in this version", word);
	if (sharing_init(&s, conf) != 0)
		return EXIT_ERROR;
	if (s.path == NULL)
		fatal("No ControlPath specified for \"-O\" command");
	status = tell_master(&s, command);
	sharing_clear(&s);
	return status;
}

bool
sharing_word_is_proxy(const char *word)
{
	return strcmp(word, "proxy") == 0;
}

static int
ask_for_proxy(struct mux_conn *conn)
{
	struct buf b = { 0 };
	struct rd rest;
	int r;

	mux_conn_begin(conn, &b, MUX_PROXY);
	r = mux_conn_ask(conn, &b, NULL, 0, &rest);
	buf_clear(&b);
	if (r == 0)
		r = rd_end(&rest);
	if (r == 0 && conn->type != MUX_PROXY_OK)
		r = ERR_PROTOCOL;
	if (r == ERR_DENIED)
		log_error("Master refused \"proxy\": %s", conn->why);
	else if (r != 0)
		log_error("proxy: the master %s",
		    r == ERR_CLOSED ? "is gone" : err_text(r));
	return r;
}

int
sharing_proxy(struct sharing *s, int *fd)
{
	struct mux_conn conn;
	int r;

	s->uses_master = s->serves = s->keeps = false;
	if (s->path == NULL) {
		log_error("No ControlPath specified for \"-O\" command");
		return ERR_NOT_FOUND;
	}
	if ((r = sharing_open(s, &conn)) != 0)
		return r;
	if ((r = ask_for_proxy(&conn)) == 0) {
		*fd = conn.fd;
		conn.fd = -1;
	}
	mux_conn_close(&conn);
	return r;
}

static int
use_master(struct sharing *s, struct mux_session_client *client, int *status)
{
	struct mux_conn conn;
	int r = sharing_connect(s, &conn);

	if (r != 0)
		return r;
	client->conf = s->conf;
	client->conn = &conn;
	r = mux_session_client_run(client, status);
	mux_conn_close(&conn);
	if (r != 0 && client->target != NULL) {
		/* A second try, with a connection of our own, would report the
		 * same failure of -W again. */
		*status = EXIT_ERROR;
		return 0;
	}
	return r;
}

bool
sharing_use_master(struct sharing *s, struct mux_session_client *client,
    int *status)
{
	return s->path != NULL && s->uses_master &&
	    use_master(s, client, status) == 0;
}

/* ---- as a master -------------------------------------------------------- */

int
sharing_serve(struct sharing *s, const struct mux_master_params *params)
{
	struct mux_master_params all = *params;
	int role = s->conf->mux.control_master, r;

	if (s->path == NULL || !s->serves)
		return 0;
	all.asks = role == CLIENT_MASTER_ASK || role == CLIENT_MASTER_AUTO_ASK;
	all.persist_s = s->keeps ? s->conf->mux.control_persist : -1;
	r = mux_master_new(&s->master, &all, s->path);
	/* Another master was faster: go on without sharing. */
	if (r == ERR_DENIED) {
		s->serves = s->keeps = false;
		return 0;
	}
	/* ERR_SYSTEM would be reported as a failure of the connection. */
	return r == ERR_SYSTEM ? ERR_CANCELLED : r;
}

static _Noreturn void
become_client(struct sharing *s, struct mux_session_client *client)
{
	int status = EXIT_ERROR;

	mux_master_forget(s->master);
	/* The user's questions and the login are over, so nothing else can be
	 * tried if this fails. */
	if (use_master(s, client, &status) != 0)
		status = EXIT_ERROR;
	exit(status);
}

int
sharing_go_to_background(struct sharing *s, struct loop *loop,
    struct mux_session_client *client, void (*left_behind)(void *arg),
    void *arg)
{
	pid_t pid = fork();

	if (pid == -1)
		return ERR_SYSTEM;
	if (pid > 0) {
		/* This process must not touch the connection any more: it
		 * becomes a mux client, and does not return. */
		left_behind(arg);
		loop_free(loop);
		become_client(s, client);
	}
	/* Users look for masters by this title. */
	proc_title("%s [mux]", s->path);
	background_settle(true);
	return 0;
}

void
sharing_stop(struct sharing *s)
{
	mux_master_free(s->master);
	s->master = NULL;
}
