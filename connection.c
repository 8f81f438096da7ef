/* SPDX-License-Identifier: ISC */
#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels.h"
#include "connection-resume.h"
#include "kex-resume.h"
#include "packet-keep.h"

/* TX_STOP_READING: with so many bytes unsent the peer is not read any more, as
 * it sends messages that need answers faster than it reads these. Bulk data
 * stops at far fewer bytes, so two of our programs never both stop reading. */
enum { TX_STOP_READING = 4 * 1024 * 1024 };

/* A connection rests if it moves fewer than REST_BYTES in REST_MS. */
enum { REST_MS = 2000, REST_BYTES = 64 * 1024 };

struct connection {
	struct loop *loop;
	struct packet *packet;
	struct kex *kex;
	struct channels *channels; /* NULL before authentication */
	struct connection_hooks hooks;
	struct loop_fd *in, *out; /* the same watch for a socket */
	bool paused, ended;
	bool suspended; /* the transport is lost, and another one is waited
			 * for */
	connection_pace_fn pace; /* NULL: writes are not held back */
	void *pace_arg;
	bool held; /* pace holds writes back in this turn */
	int tx_errno; /* of the write that failed; 0: none did */
	bool kick; /* input that is buffered already must be processed */
	struct loop_timer *rekey_timer;
	struct loop_timer *poll_timer; /* polls the packet layer's threads */
	struct loop_timer *tell_timer; /* sends RECEIVED (packet_keep_poll()) */
	struct loop_timer *rest_timer; /* frees enlarged buffers; NULL: none */
	uint64_t rest_moved; /* bytes moved when rest_timer was set */

	struct loop_timer *alive_timer;
	uint32_t alive_interval_s, alive_max, alive_missed;
	uint64_t alive_seen; /* packets received at the last check */
	struct loop_timer *probe_timer;
	uint64_t probe_seen; /* packets received when the probe was sent */
};

static enum ssh_disconnect
reason_for(int err)
{
	switch (err) {
	case ERR_NO_KEX_MATCH:
	case ERR_NO_HOSTKEY_MATCH:
	case ERR_NO_CIPHER_MATCH:
	case ERR_NO_MAC_MATCH:
	case ERR_NO_COMP_MATCH:
	case ERR_KEX_VALUE:
	case ERR_SIGNATURE:
		return SSH_DISCONNECT_KEY_EXCHANGE_FAILED;
	case ERR_HOSTKEY:
	case ERR_REVOKED:
		return SSH_DISCONNECT_HOST_KEY_NOT_VERIFIABLE;
	case ERR_MAC:
		return SSH_DISCONNECT_MAC_ERROR;
	case ERR_COMPRESSION:
		return SSH_DISCONNECT_COMPRESSION_ERROR;
	case ERR_TIMEOUT:
		return SSH_DISCONNECT_CONNECTION_LOST;
	default:
		return SSH_DISCONNECT_PROTOCOL_ERROR;
	}
}

bool
connection_is_lost(int err)
{
	return err == ERR_CLOSED || err == ERR_DISCONNECTED ||
	    err == ERR_SYSTEM;
}

static void
end(struct connection *c, int err)
{
	if (c->ended)
		return;
	c->ended = true;
	if (!connection_is_lost(err) && !c->suspended)
		packet_disconnect(c->packet, reason_for(err), err_text(err));
	if (!c->suspended) {
		loop_fd_want(c->in, 0);
		loop_fd_want(c->out, 0);
	}
	c->hooks.ended(c->hooks.arg, err);
}

static void
unwatch(struct connection *c)
{
	if (c->out != c->in)
		loop_unwatch(c->loop, c->out);
	loop_unwatch(c->loop, c->in);
	c->in = c->out = NULL;
}

void
connection_suspend(struct connection *c)
{
	c->suspended = true;
	c->kick = false;
	c->tx_errno = 0;
	packet_threads_stop(c->packet);
	unwatch(c);
	loop_cancel(c->loop, c->alive_timer);
	loop_cancel(c->loop, c->probe_timer);
	c->alive_timer = c->probe_timer = NULL;
}

/* Called when the transport is lost. Ends the connection, unless its owner
 * waits for another transport. */
static void
lost(struct connection *c, int err)
{
	if (c->ended || c->suspended)
		return;
	if (c->hooks.lost != NULL && packet_keeps(c->packet) &&
	    (err == ERR_CLOSED || err == ERR_SYSTEM || err == ERR_TIMEOUT) &&
	    c->hooks.lost(c->hooks.arg, err))
		connection_suspend(c);
	else
		end(c, err);
}

int
connection_unimplemented(struct connection *c)
{
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_UNIMPLEMENTED);
	buf_put_u32(&b, packet_rx_seqnr(c->packet));
	r = packet_put(c->packet, &b);
	buf_clear(&b);
	return r;
}

static int
dispatch(struct connection *c, struct rd payload)
{
	struct rd r = payload;
	uint8_t type = rd_u8(&r);

	if (type == SSH_MSG_EXT_INFO || ssh_msg_is_kex(type))
		return kex_input(c->kex, payload);
	/* Nothing else has a meaning before there are keys. */
	if (!kex_first_done(c->kex))
		return ERR_PROTOCOL;
	if (type == SSH_MSG_SERVICE_REQUEST || type == SSH_MSG_SERVICE_ACCEPT ||
	    (type >= SSH_MSG_USERAUTH_REQUEST && type < SSH_MSG_GLOBAL_REQUEST))
		return c->hooks.auth(c->hooks.arg, type, payload);
	if (type >= SSH_MSG_GLOBAL_REQUEST && type <= SSH_MSG_CHANNEL_FAILURE)
		/* A client may send these optimistically, before we have said
		 * that its user is authenticated. If he is not there is nobody
		 * for them: we answer UNIMPLEMENTED, as deployed servers do,
		 * and the client may try another method. */
		return c->channels != NULL ?
		    channels_input(c->channels, payload) :
		    connection_unimplemented(c);
	return connection_unimplemented(c);
}

static void
process(struct connection *c)
{
	struct rd payload;
	int r = 0;

	while (!c->paused && !c->ended && !c->suspended &&
	    (r = packet_next(c->packet, &payload)) == 1) {
		if ((r = dispatch(c, payload)) != 0)
			break;
		packet_handled(c->packet);
	}
	if (r < 0)
		end(c, r);
}

static void
on_socket(void *arg, int fd, int events)
{
	struct connection *c = arg;
	int r;

	if (!(events & LOOP_READ) || c->paused || c->ended || c->suspended)
		return; /* output goes out at the end of the turn */
	r = packet_fill(c->packet);
	if (r == ERR_AGAIN)
		return;
	/* Until there are channels every message waits for an answer. */
	if (c->channels == NULL)
		fd_set_quickack(fd);
	if (r < 0)
		lost(c, r);
	else
		process(c);
}

static void
on_rekey_time(void *arg)
{
	struct connection *c = arg;

	c->rekey_timer = NULL; /* the turn that follows checks what is due */
}

static void
on_poll_time(void *arg)
{
	struct connection *c = arg;

	c->poll_timer = NULL; /* the turn that follows polls */
}

static void
on_tell_time(void *arg)
{
	struct connection *c = arg;

	c->tell_timer = NULL; /* the turn that follows tells */
}

static uint64_t
moved(const struct connection *c)
{
	return packet_counters(c->packet, PACKET_TX).bytes +
	    packet_counters(c->packet, PACKET_RX).bytes;
}

static void
on_rest_time(void *arg)
{
	struct connection *c = arg;

	c->rest_timer = NULL; /* set again if there is still a reason */
	if (moved(c) - c->rest_moved >= REST_BYTES)
		return;
	packet_trim(c->packet);
	if (c->channels != NULL)
		channels_trim(c->channels);
	mem_give_back();
}

/* Sets the timer that frees buffers, enlarged by a transfer, after it. */
static void
watch_for_rest(struct connection *c)
{
	if (c->rest_timer != NULL || !packet_is_grown(c->packet))
		return;
	c->rest_moved = moved(c);
	c->rest_timer = loop_after(c->loop, REST_MS, on_rest_time, c);
}

static void
on_packets_done(void *arg)
{
	struct connection *c = arg; /* in any thread */

	loop_wake(c->loop);
}

static int
ask_pace(struct connection *c)
{
	bool write = true;
	int r = c->pace != NULL ? c->pace(c->pace_arg, &write) : 0;

	c->held = !write;
	return r;
}

static int
turn(struct connection *c, bool *busy)
{
	bool more = false;
	uint32_t wait_s, poll_ms, tell_ms;
	int r;

	if (packet_rekey_due(c->packet) && (r = kex_start(c->kex)) != 0)
		return r;
	if (c->rekey_timer == NULL &&
	    (wait_s = packet_rekey_wait_s(c->packet)) != 0)
		c->rekey_timer = loop_after(c->loop, (uint64_t)wait_s * 1000,
		    on_rekey_time, c);
	watch_for_rest(c);
	poll_ms = packet_poll(c->packet);
	if (c->poll_timer == NULL && poll_ms != 0)
		c->poll_timer = loop_after(c->loop, poll_ms, on_poll_time, c);
	if (c->channels != NULL && !c->paused &&
	    (r = channels_turn(c->channels, &more)) != 0)
		return r;
	if ((r = packet_keep_poll(c->packet, &tell_ms)) != 0 ||
	    (r = ask_pace(c)) != 0)
		return r;
	if (c->tell_timer == NULL && tell_ms != 0)
		c->tell_timer = loop_after(c->loop, tell_ms, on_tell_time, c);
	r = c->held ? 0 : packet_flush(c->packet);
	if (r == ERR_SYSTEM) {
		c->tx_errno = errno;
		*busy = true;
		return 0;
	}
	if (r != 0 && r != ERR_AGAIN)
		return r;
	/* During a rekey channels cannot send, so do not spin: the peer's
	 * NEWKEYS wakes us. */
	*busy = more && r == 0 && !kex_running(c->kex);
	return 0;
}

static void
update_watch(struct connection *c)
{
	size_t pending = packet_tx_pending(c->packet);
	/* Messages that are sent again after a return do not answer anything
	 * that is read now, so they do not stop the reading. */
	size_t most = TX_STOP_READING + packet_keep_most(c->packet);
	int in = c->paused || pending > most ? 0 : LOOP_READ;
	int out = packet_tx_ready(c->packet) > 0 && !c->held ? LOOP_WRITE : 0;

	if (c->in == c->out) {
		loop_fd_want(c->in, in | out);
	} else {
		loop_fd_want(c->in, in);
		loop_fd_want(c->out, out);
	}
}

/* The socket takes no more of our bytes, but the peer's last messages (the exit
 * status) may still be in it. True: read again at once. */
static bool
read_rest(struct connection *c)
{
	int r = c->paused ? ERR_AGAIN : packet_fill(c->packet);

	if (r > 0 || packet_rx_posted(c->packet)) {
		process(c);
		return !c->ended &&
		       (r > 0 || !packet_prepare_wait(c->packet, true));
	}
	if (r == ERR_AGAIN) {
		errno = c->tx_errno;
		r = ERR_SYSTEM;
	}
	lost(c, r);
	return false;
}

static bool
on_turn(void *arg)
{
	struct connection *c = arg;
	bool busy = false;
	int r;

	if (c->suspended)
		return false;
	if (c->kick || packet_rx_posted(c->packet)) {
		c->kick = false;
		process(c);
	}
	if (c->ended || c->suspended)
		return false;
	if (c->tx_errno != 0)
		return read_rest(c);
	if ((r = turn(c, &busy)) != 0) {
		end(c, r);
		return false;
	}
	if (c->tx_errno == 0)
		update_watch(c);
	return busy || !packet_prepare_wait(c->packet, !c->paused);
}

static int
watch(struct connection *c)
{
	struct packet *p = c->packet;

	c->in = loop_watch(c->loop, packet_fd_in(p), LOOP_READ, on_socket, c);
	c->out = packet_fd_in(p) == packet_fd_out(p) ?
	    c->in :
	    loop_watch(c->loop, packet_fd_out(p), 0, on_socket, c);
	return c->in != NULL && c->out != NULL ? 0 : ERR_NOMEM;
}

int
connection_new(struct connection **out, struct loop *l, struct packet *p,
    struct kex *k, const struct connection_hooks *hooks)
{
	struct connection *c = calloc(1, sizeof *c);

	if (c == NULL)
		return ERR_NOMEM;
	c->loop = l;
	c->packet = p;
	c->kex = k;
	c->hooks = *hooks;
	if (watch(c) != 0 || loop_on_turn(l, on_turn, c) != 0) {
		connection_free(c);
		return ERR_NOMEM;
	}
	packet_set_notify(p, on_packets_done, c);
	*out = c;
	return 0;
}

void
connection_free(struct connection *c)
{
	if (c == NULL)
		return;
	packet_threads_stop(c->packet);
	packet_set_notify(c->packet, NULL, NULL);
	loop_off_turn(c->loop, on_turn, c);
	unwatch(c);
	loop_cancel(c->loop, c->rekey_timer);
	loop_cancel(c->loop, c->poll_timer);
	loop_cancel(c->loop, c->tell_timer);
	loop_cancel(c->loop, c->rest_timer);
	loop_cancel(c->loop, c->alive_timer);
	loop_cancel(c->loop, c->probe_timer);
	free(c);
}

void
connection_set_channels(struct connection *c, struct channels *ch)
{
	c->channels = ch;
}

void
connection_set_pace(struct connection *c, connection_pace_fn fn, void *arg)
{
	c->pace = fn;
	c->pace_arg = arg;
	c->held = false;
}

int
connection_resume(struct connection *c, struct packet *fresh,
    struct kex *fresh_kex, uint64_t received)
{
	int r;

	ENSURE(c->suspended && !c->ended);
	if ((r = kex_resume(c->kex, fresh_kex)) != 0 ||
	    (r = packet_resume(c->packet, fresh, received)) != 0 ||
	    (r = watch(c)) != 0)
		return r;
	c->suspended = false;
	connection_set_alive(c, c->alive_interval_s, c->alive_max);
	connection_kick(c);
	return 0;
}

void
connection_give_up(struct connection *c, int err)
{
	end(c, err);
}

void
connection_kick(struct connection *c)
{
	c->kick = true;
	loop_wake(c->loop);
}

void
connection_pause(struct connection *c, bool paused)
{
	if (c->paused && !paused)
		connection_kick(c);
	c->paused = paused;
}

static void on_alive(void *arg);

static void
arm_alive(struct connection *c)
{
	c->alive_timer = loop_after(c->loop,
	    (uint64_t)c->alive_interval_s * 1000, on_alive, c);
}

static void
on_alive_reply(void *arg, bool ok, struct rd data)
{
	/* What it says does not matter: any packet shows that the peer is
	 * alive. */
	(void)arg;
	(void)ok;
	(void)data;
}

static void
on_alive(void *arg)
{
	struct connection *c = arg;
	uint64_t seen = packet_counters(c->packet, PACKET_RX).packets;
	int r;

	c->alive_timer = NULL;
	if (c->ended)
		return;
	if (seen != c->alive_seen) {
		c->alive_seen = seen;
		c->alive_missed = 0;
	} else if (c->alive_max != CONNECTION_ALIVE_NO_END &&
	    c->alive_missed++ >= c->alive_max) {
		lost(c, ERR_TIMEOUT);
		return;
	}
	if (c->channels != NULL) {
		r = channels_global_request(c->channels,
		    "keepalive@openssh.com", NULL, on_alive_reply, c);
		if (r != 0) {
			end(c, r);
			return;
		}
	}
	arm_alive(c);
}

static void
on_probe_time(void *arg)
{
	struct connection *c = arg;

	c->probe_timer = NULL;
	if (packet_counters(c->packet, PACKET_RX).packets == c->probe_seen)
		lost(c, ERR_TIMEOUT);
}

void
connection_probe(struct connection *c, uint32_t wait_ms)
{
	if (c->probe_timer != NULL || c->suspended || c->ended ||
	    c->channels == NULL)
		return;
	c->probe_seen = packet_counters(c->packet, PACKET_RX).packets;
	if (channels_global_request(c->channels, "keepalive@openssh.com", NULL,
		on_alive_reply, c) != 0)
		return;
	c->probe_timer = loop_after(c->loop, wait_ms, on_probe_time, c);
}

void
connection_set_alive(struct connection *c, uint32_t interval_s,
    uint32_t count_max)
{
	loop_cancel(c->loop, c->alive_timer);
	c->alive_timer = NULL;
	c->alive_interval_s = interval_s;
	c->alive_max = count_max;
	c->alive_missed = 0;
	c->alive_seen = packet_counters(c->packet, PACKET_RX).packets;
	if (interval_s != 0)
		arm_alive(c);
}
