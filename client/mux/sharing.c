/* SPDX-License-Identifier: ISC */
#include "client/mux/sharing.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "client/mux/mux-socket.h"

enum { MS = 1000 };

static bool
is_auto(int control_master)
{
	return control_master == CLIENT_MASTER_AUTO ||
	    control_master == CLIENT_MASTER_AUTO_ASK;
}

int
sharing_init(struct sharing *s, const struct client_conf *conf)
{
	const char *path = conf->mux.control_path;
	int role = conf->mux.control_master, r;

	*s = (struct sharing){ .conf = conf };
	if (path == NULL || strcmp(path, "none") == 0)
		return 0;
	r = client_conf_expand(conf, CLIENT_TOKENS_PATH, "ControlPath", path,
	    &s->path);
	if (r != 0)
		return r;
	if (strlen(s->path) >= MUX_PATH_MAX) {
		log_error("ControlPath too long ('%s' >= %d bytes)", s->path,
		    MUX_PATH_MAX);
		return ERR_LIMIT;
	}
	s->uses_master = role == CLIENT_MASTER_NO || is_auto(role);
	s->serves = role != CLIENT_MASTER_NO;
	s->keeps = s->serves && conf->mux.control_persist >= 0;
	return 0;
}

void
sharing_clear(struct sharing *s)
{
	free(s->path);
	*s = (struct sharing){ 0 };
}

bool
sharing_is_off(const struct sharing *s)
{
	return !s->serves;
}

/* ---- the master --------------------------------------------------------- */

static int
timeout_ms(const struct client_conf *conf)
{
	int seconds = conf->tcp.connect_timeout;

	return seconds > 0 && seconds < INT_MAX / MS ? seconds * MS : -1;
}

/* Logs why the master's socket cannot be used. */
static void
report_connect(const struct sharing *s, enum log_level level, int err)
{
	if (err == ERR_DENIED)
		log_msg(level, "Control socket %s is another user's, or "
			       "somebody else's link leads to it",
		    s->path);
	else
		log_msg(level, "Control socket connect(%s): %s", s->path,
		    err_text(err));
}

int
sharing_connect(const struct sharing *s, struct mux_conn *conn)
{
	bool gone, stale;
	int r;

	if (s->serves)
		log_debug("auto-mux: Trying existing master at '%s'", s->path);
	r = mux_conn_open(conn, s->path, timeout_ms(s->conf));
	gone = r == ERR_SYSTEM && errno == ENOENT;
	stale = r == ERR_SYSTEM && errno == ECONNREFUSED;
	if (r == 0)
		log_debug("using the connection of %s", s->path);
	else if (gone)
		report_connect(s, LOG_LVL_DEBUG1, r);
	else if (stale && s->serves) {
		log_debug("%s is the socket of a master that has ended",
		    s->path);
		if (!mux_socket_remove_stale(s->path))
			log_debug("%s stays", s->path);
	} else
		report_connect(s, LOG_LVL_ERROR, r);
	return r;
}

int
sharing_open(const struct sharing *s, struct mux_conn *conn)
{
	int r = mux_conn_open(conn, s->path, timeout_ms(s->conf));

	if (r != 0)
		report_connect(s, LOG_LVL_ERROR, r);
	return r;
}
