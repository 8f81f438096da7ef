/* SPDX-License-Identifier: ISC */
/*
 * What the sources of a remote host share: its connections (remote-conn.c),
 * the SFTP sessions on them (remote-stream.c), and the host as a whole
 * (remote.c).
 *
 * The callbacks of connections and sessions run in the middle of those, so
 * they free nothing: they only change states. Streams, and connections
 * with them, are freed by the close of remote_streams() and by remote_close().
 *
 * Threads: the loop's.
 */
#ifndef HPN_CLIENT_COPY_REMOTE_INTERNAL_H
#define HPN_CLIENT_COPY_REMOTE_INTERNAL_H

#include "client/copy/remote.h"
#include "client/session/client-session.h"
#include "client/sshclient.h"
#include "conf/client-conf.h"
#include "xfer/sftp/carrier.h"

/* A connection of a host: an SSH connection of this process, or what another
 * process has in its place. Where that is a master which has told of its
 * connection, others of this process can be beside it. */
enum conn_state {
	CONN_PLANNED,	 /* the server knows nothing of it yet */
	CONN_STANDBY,	 /* exchanges keys while the first one logs in, and
			  * does not log in before that has */
	CONN_LOGGING_IN, /* logs in as soon as keys are exchanged */
	CONN_READY,	 /* logged in */
	CONN_FULL,	 /* logged in; the server refused another session */
	CONN_PIPED,	 /* another process has it, a program or the master of
			  * a shared one, and carries one stream */
	CONN_ENDED,	 /* refused, given up or lost */
	CONN_STATES,
};

/* A stream: an SFTP session of a connection. */
enum stream_state {
	STREAM_QUEUED,	   /* starts when its connection has logged in */
	STREAM_OPTIMISTIC, /* its channel was requested before the server
			    * confirmed the login */
	STREAM_OPEN,	   /* it has a channel, or has requested one */
	STREAM_PIPED,	   /* another process carries it */
	STREAM_ENDED,	   /* its channel or its connection ended */
	STREAM_STATES,
};

struct mux_piped;

struct conn {
	struct remote *r;
	unsigned number; /* 0: the first, which stays until remote_close() */
	enum conn_state state;
	uint64_t since_ms; /* when it got that state */
	/* The client of the connection from CONN_STANDBY or CONN_LOGGING_IN on,
	 * if it could be made. Of a first connection that a master has: what
	 * stands for it, or NULL. */
	struct sshclient *client;
	struct mux_piped *piped; /* of CONN_PIPED: the master's; NULL: none */
	unsigned streams;
	struct conn *next;
};

struct stream {
	struct remote *r;
	struct conn *conn;
	enum stream_state state;
	struct sftp *sftp;
	struct session *session; /* from STREAM_OPTIMISTIC or STREAM_OPEN on */
	struct xfer_pipe pipe;	 /* of STREAM_PIPED */
	bool first;		 /* its end is the status of the host */
	/* Made along with a connection that was begun early, in case that a
	 * connection is requested later. */
	bool unclaimed;
	struct stream *next;
};

struct remote {
	struct remote_params p;
	struct client_conf conf;
	struct strlist argv; /* of a child; empty: no program is spawned */
	struct conn *conns;  /* the first one stays first */
	struct stream *streams;
	unsigned conn_count; /* how many were ever made: the next number */
	uint64_t master_rtt_us; /* of a master's path; 0: not known */
	bool no_further;      /* a further connection was refused */
	bool default_limit;   /* ConnectTimeout is not the user's */
	int status;	     /* of the first stream */
};

enum { REMOTE_EXIT_ERROR = 255 };

/* The error is noted for remote_last_end(). */
void remote_note_end(int err);

/* ---- connections -------------------------------------------------------- */

/* The table of states allows the step. */
bool remote_conn_may_become(enum conn_state from, enum conn_state to);
/* A connection is added at the end of the list, CONN_PLANNED, without
 * streams. */
struct conn *remote_conn_add(struct remote *r);
/* A connection is removed. Its streams are gone already. */
void remote_conn_remove(struct conn *conn);
/* Connections are removed that ended, and whose streams a master's connection
 * carries now. Not inside of a callback. */
void remote_conn_remove_left(struct remote *r);
/* Connects a planned one. On an error it is CONN_ENDED. */
int remote_conn_connect(struct conn *conn, bool standby) must_check;
/* Another process has it. */
void remote_conn_use_pipe(struct conn *conn);
/* The server accepts no more sessions on it. */
void remote_conn_refuse_sessions(struct conn *conn);
/* Lets as many of the planned and the standing by log in as may now. */
void remote_conn_log_in_next(struct remote *r);
/* Waits, but not for long, for logins that have begun. */
void remote_conn_finish_logins(struct remote *r);

bool remote_conn_is_up(const struct conn *conn);
/* The server counts the connection as a failed login if it is closed now. */
bool remote_conn_is_logging_in(const struct conn *conn);
/* The one with the fewest streams that can take another; NULL: none. */
struct conn *remote_conn_least_used(const struct remote *r);
/* The limit of connections is reached. */
bool remote_conn_limit_reached(const struct remote *r);

/* ---- streams ------------------------------------------------------------ */

bool remote_stream_may_become(enum stream_state from, enum stream_state to);
/* A stream is added at the end of the list, STREAM_QUEUED. */
int remote_stream_add(struct stream **out, struct conn *conn) must_check;
/* A stream is removed, and the connection with it if that was its last
 * stream. */
void remote_stream_remove(struct stream *stream);
/* A planned connection with one stream. ERR_LIMIT: there are enough. */
int remote_stream_add_connected(struct remote *r,
    struct stream **out) must_check;
/* The same with a program in place of the connection, which is spawned. */
int remote_stream_spawn(struct remote *r, struct sftp **out) must_check;
/* A stream over fds, what to read from and what to write to, which are taken
 * over. conn is a planned one, and removed on an error. */
int remote_stream_add_piped(struct stream **out, struct conn *conn,
    const int fds[2]) must_check;
/* Moves an existing stream, which is STREAM_QUEUED, from its connection to
 * conn, and has it read and write fds as remote_stream_add_piped() does. The
 * old connection is not freed, even if this was its last stream: the call may
 * come from that connection's own code. */
int remote_stream_use_pipe(struct stream *stream, struct conn *conn,
    const int fds[2]) must_check;

/* The login will probably succeed: requests the session of conn's first
 * stream already. */
int remote_streams_login_expected(struct conn *conn) must_check;
/* conn has logged in. */
int remote_streams_login_done(struct conn *conn) must_check;
/* conn has ended, and with it its streams, with err. */
void remote_streams_end(struct conn *conn, int err);

/* ---- the connection of a master (remote-master.c) ----------------------- */

/* The first stream is a session of a master, if there is one that makes it;
 * waits for that. False: a connection of our own is to be made. With the
 * master's word for it, r->conns->client stands for its connection. */
bool remote_master_begin(struct remote *r);
/* A stream is added that is one more session of the master, which may be
 * refused later. */
int remote_master_add(struct remote *r, struct stream **out) must_check;
/* The same for a stream of which nothing was sent, whose connection was
 * refused. */
int remote_master_carry(struct stream *stream) must_check;
/* The exit status of the session's program, or 255 if that is not known; 0
 * while it runs. */
int remote_master_status(const struct conn *conn);
/* NULL is fine. */
void remote_master_free(struct mux_piped *piped);

#endif
