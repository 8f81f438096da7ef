/* SPDX-License-Identifier: ISC */
/*
 * What the remote*.c files share: the connections of a remote host
 * (remote-conn.c), the SFTP sessions on them (remote-stream.c), and the host as
 * a whole (remote.c).
 *
 * The callbacks of connections and sessions run while these are in use, so they
 * free nothing: they only change states. Streams, and connections without
 * streams, are freed by the close hook of remote_streams() and by
 * remote_close().
 *
 * Threads: the loop's.
 */
#ifndef HPN_CLIENT_COPY_REMOTE_INTERNAL_H
#define HPN_CLIENT_COPY_REMOTE_INTERNAL_H

#include "client/copy/remote.h"
#include "client/session/client-session.h"
#include "client/sshclient.h"
#include "compat/queue.h"
#include "conf/client-conf.h"
#include "xfer/sftp/carrier.h"

/* The state of a connection to a host: an SSH connection of this process, or
 * another process that has it. If that process is a master which has told the
 * identity of its connection, this process may make further connections beside
 * it. */
enum conn_state {
	CONN_PLANNED,	 /* the server knows nothing of it yet */
	CONN_STANDBY,	 /* exchanges keys while the first one logs in, and
			  * does not log in before that has */
	CONN_LOGGING_IN, /* logs in as soon as keys are exchanged */
	CONN_READY,	 /* logged in */
	CONN_FULL,	 /* logged in; the server refused another session */
	/* Another process has the connection, a program (-S) or a master, and
	 * carries one stream. */
	CONN_PIPED,
	CONN_ENDED,	 /* refused, given up or lost */
	CONN_STATES,
};

/* The state of a stream, which is an SFTP session of a connection. */
enum stream_state {
	/* Its session starts when its connection has logged in. */
	STREAM_QUEUED,
	STREAM_OPTIMISTIC, /* its channel was requested before the server
			    * confirmed the login */
	STREAM_OPEN,	   /* it has a channel, or has requested one */
	STREAM_PIPED,	   /* a session of another process (CONN_PIPED) */
	STREAM_ENDED,	   /* its channel or its connection ended */
	STREAM_STATES,
};

struct mux_piped;
struct report_conn;

struct conn {
	struct remote *r;
	unsigned number; /* 0: the first, which stays until remote_close() */
	enum conn_state state;
	uint64_t since_ms; /* when state was set, on clock_ms() */
	/* The SSH client of this connection, from CONN_STANDBY or
	 * CONN_LOGGING_IN on; NULL if it could not be made. If a master has the
	 * first connection: a client without a connection, which tells further
	 * ones where to go (remote_master_begin()); or NULL. */
	struct sshclient *client;
	/* In CONN_PIPED: the session of the master; NULL: a program. */
	struct mux_piped *piped;
	struct report_conn *recorded; /* see remote_report_begin(); or NULL */
	/* Bytes that streams moved which are removed by now. */
	struct {
		uint64_t sent, received;
	} removed;
	unsigned streams;
	TAILQ_ENTRY(conn) entry;
};

struct stream {
	struct remote *r;
	struct conn *conn;
	enum stream_state state;
	struct sftp *sftp;
	/* NULL before STREAM_OPTIMISTIC or STREAM_OPEN */
	struct session *session;
	struct xfer_pipe pipe;	 /* used in STREAM_PIPED only */
	/* The status of its end becomes remote.status. */
	bool first;
	/* The stream was made for a connection that was begun early, and no
	 * transfer has asked for it yet. */
	bool unclaimed;
	TAILQ_ENTRY(stream) entry;
};

struct remote {
	struct remote_params p;
	struct client_conf conf;
	/* Command of -S or -D; empty: no program is spawned. */
	struct strlist argv;
	/* The first connection stays its first element. */
	TAILQ_HEAD(conns, conn) conns;
	TAILQ_HEAD(streams, stream) streams;
	/* Connections ever made; the number of the next one. */
	unsigned conn_count;
	/* Round trip time of a master's path; 0: not known. */
	uint64_t master_rtt_us;
	bool no_further;      /* a further connection was refused */
	bool default_limit;   /* ConnectTimeout was set here, not by the user */
	int status;	     /* exit status of the first stream's program */
};

enum { REMOTE_EXIT_ERROR = 255 };

/* Begins the further connections that a copy of large files will want over a
 * path with the round trip rtt_us, as far as is possible before their
 * logins. */
int remote_connect_early(struct remote *r, uint64_t rtt_us) must_check;

/* Notes the error for remote_last_end(). */
void remote_note_end(int err);

/* ---- connections -------------------------------------------------------- */

/* Whether a connection may go from one state to the other. */
bool remote_conn_may_become(enum conn_state from, enum conn_state to);
/* The first connection; NULL before it is made. */
static inline struct conn *
remote_first(const struct remote *r)
{
	return TAILQ_FIRST(&r->conns);
}

/* Adds a connection without streams at the end of the list, in CONN_PLANNED. */
struct conn *remote_conn_add(struct remote *r);
/* Removes and frees a connection without streams. */
void remote_conn_remove(struct conn *conn);
/* Removes the further connections that have ended and have no streams any more,
 * because a master carries these now. Not to be called inside of a callback. */
void remote_conn_remove_left(struct remote *r);
/* Begins to connect a connection in CONN_PLANNED; standby: it does not log in
 * before the first one has. After an error it is in CONN_ENDED. */
int remote_conn_connect(struct conn *conn, bool standby) must_check;
/* Notes that another process has the connection (CONN_PIPED). */
void remote_conn_use_pipe(struct conn *conn);
/* Notes that the server accepts no more sessions on the connection
 * (CONN_FULL). */
void remote_conn_refuse_sessions(struct conn *conn);
/* Begins further connections, which wait for the first one's login, when that
 * is expected to be worth tickets for them. */
void remote_conn_expect_tickets(struct remote *r);
/* Lets as many of the connections in CONN_PLANNED and CONN_STANDBY log in as
 * may do so now. */
void remote_conn_log_in_next(struct remote *r);
/* Waits, but not for long, for logins that have begun. */
void remote_conn_finish_logins(struct remote *r);

bool remote_conn_is_up(const struct conn *conn);
/* The server counts the connection as a failed login if it is closed now. */
bool remote_conn_is_logging_in(const struct conn *conn);
/* The connection in CONN_READY with the fewest streams, if it can take another
 * one; else NULL. Of those whose numbers are bits of `among`; 0: of all. */
struct conn *remote_conn_least_used(const struct remote *r, uint64_t among);
/* There are as many connections to the host as are allowed (64). */
bool remote_conn_limit_reached(const struct remote *r);

/* Registers the connection with the report (--report), which then asks for its
 * figures until the connection is removed; without a report it does nothing. */
void remote_report_begin(struct conn *conn);

/* ---- streams ------------------------------------------------------------ */

bool remote_stream_may_become(enum stream_state from, enum stream_state to);
/* Adds a stream of conn at the end of the list, in STREAM_QUEUED. */
int remote_stream_add(struct stream **out, struct conn *conn) must_check;
/* Removes and frees a stream. If it was the last stream of a further
 * connection, that is removed too, unless its login is under way. */
void remote_stream_remove(struct stream *stream);
/* Adds a connection in CONN_PLANNED with one stream. ERR_LIMIT: there are
 * enough connections. */
int remote_stream_add_connected(struct remote *r,
    struct stream **out) must_check;
/* Spawns the program r->argv in place of a connection, with one stream over its
 * input and output. */
int remote_stream_spawn(struct remote *r, struct sftp **out) must_check;
/* Adds a stream over a pair of descriptors, which are taken over: fds[0] to
 * read from, fds[1] to write to. conn is in CONN_PLANNED; on an error it is
 * removed. */
int remote_stream_add_piped(struct stream **out, struct conn *conn,
    const int fds[2]) must_check;
/* Moves an existing stream, in STREAM_QUEUED, from its connection to conn, and
 * over fds as above. Its old connection is not freed, because that may be the
 * caller. On an error conn is removed, and the stream stays where it was. */
int remote_stream_use_pipe(struct stream *stream, struct conn *conn,
    const int fds[2]) must_check;

/* conn will probably be logged in: requests the session of its first stream
 * already. */
int remote_streams_login_expected(struct conn *conn) must_check;
/* conn has logged in: its streams start, or go on. */
int remote_streams_login_done(struct conn *conn) must_check;
/* conn has ended: its streams end with err, except those that a master carries
 * on. */
void remote_streams_end(struct conn *conn, int err);

/* ---- the connection of a master (remote-master.c) ----------------------- */

/* Begins the first stream as a session of a master, and waits for the master's
 * answer. False: there is no master that makes it, and the caller is to make a
 * connection of its own. If the master tells the identity of its connection,
 * r->conns->client is made from that, for further connections. */
bool remote_master_begin(struct remote *r);
/* Adds a stream that is one more session of the master. The master may still
 * refuse it, which then ends the stream. */
int remote_master_add(struct remote *r, struct stream **out) must_check;
/* Makes a stream whose connection was refused, and for which nothing was sent
 * yet, a session of the master. */
int remote_master_carry(struct stream *stream) must_check;
/* The exit status of the program of conn's session at the master; 255: not
 * known; 0: it still runs. */
int remote_master_status(const struct conn *conn);
/* NULL is fine. */
void remote_master_free(struct mux_piped *piped);

#endif
