/* SPDX-License-Identifier: ISC */
/* What the connections of a host tell the report of a copy (--report). */
#include "client/copy/remote-internal.h"
#include "client/report/report.h"
#include "xfer/sftp/sftp-engine.h"

static const char *
name_of(const struct remote *r)
{
	return r->p.host != NULL ? r->p.host : "an SFTP server here";
}

/* Fills *out by the bytes of the SFTP sessions alone, because another process,
 * a master, has the connection. */
static void
measure_streams(const struct conn *conn, struct why_slow *out)
{
	const struct stream *stream;

	out->sent = conn->removed.sent;
	out->received = conn->removed.received;
	TAILQ_FOREACH(stream, &conn->r->streams, entry) {
		if (stream->conn != conn)
			continue;
		out->sent += sftp_sent(stream->sftp);
		out->received += sftp_received(stream->sftp);
	}
}

static bool
measure(void *arg, struct why_slow *out, bool limits, const char **peer)
{
	const struct conn *conn = arg;

	if (conn->state == CONN_PIPED) {
		measure_streams(conn, out);
		return true;
	}
	*peer = sshclient_peer(conn->client);
	return sshclient_measure(conn->client, out, limits);
}

void
remote_report_begin(struct conn *conn)
{
	struct report *report = conn->r->p.report;

	if (report != NULL && conn->recorded == NULL)
		conn->recorded = report_conn_new(report, name_of(conn->r),
		    measure, conn);
}
