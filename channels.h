/* SPDX-License-Identifier: ISC */
/*
 * The connection protocol (RFC 4254): channels, their flow control and the
 * bytes that move through them, channel and global requests. A channel kind
 * (session, later forwards...) is a const struct channel_ops; this layer
 * knows none of them.
 *
 * A channel's bytes come from a source and go to a sink: descriptors, or a
 * struct channel_io for kinds that live in this process. Sources are read
 * straight into the packet, sinks are written straight from the input buffer;
 * only what a sink does not take is copied and kept.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_H
#define HPN_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"
#include "packet.h"

enum {
	CHANNEL_WINDOW_DEFAULT = 2 * 1024 * 1024, /* bytes */
	CHANNEL_PACKET_DEFAULT = 32 * 1024,	  /* bytes of data */
	CHANNEL_PACKET_LARGE = 252 * 1024,
	CHANNEL_WINDOW_MAX = 128 * 1024 * 1024,
	CHANNEL_EARLY_MAX = 4096, /* bytes of early data for a channel */
	CHANNELS_MAX = 16384, /* channels of a connection at the same time */
	CHANNEL_EXT_STDERR = 1, /* RFC 4254 section 5.2 */
};

/* RFC 4254 section 5.1 */
enum channel_open_failure {
	CHANNEL_OPEN_PROHIBITED = 1,
	CHANNEL_OPEN_CONNECT_FAILED = 2,
	CHANNEL_OPEN_UNKNOWN_TYPE = 3,
	CHANNEL_OPEN_RESOURCE_SHORTAGE = 4,
};

struct channels;
struct channel;

/* What a handler of something that the peer asks for returns; or an error
 * (< 0), which ends the connection. */
enum channel_answer {
	CHANNEL_FAILURE = 0,
	CHANNEL_SUCCESS = 1,
	CHANNEL_LATER = 2, /* not for the requests of a channel */
};

struct channel_ops {
	/* Every hook may be NULL.
	 *
	 * The peer's request (RFC 4254 section 5.4); an enum channel_answer.
	 * The reply is sent here. */
	int (*request)(void *arg, struct channel *c, struct span name,
	    struct rd *data);
	/* Own CHANNEL_OPEN was confirmed / refused (text is escaped; the
	 * channel is freed after it). */
	void (*opened)(void *arg, struct channel *c);
	void (*refused)(void *arg, struct channel *c, uint32_t reason,
	    const char *text);
	/* The peer sent EOF, and all its data is with the sink. */
	void (*eof)(void *arg, struct channel *c);
	/* The peer sent CLOSE; ours is to follow, or is held back. */
	void (*peer_closed)(void *arg, struct channel *c);
	/* Both sides sent CLOSE and the sinks are done or broken, or the
	 * connection is gone. The channel is freed after it; descriptors stay
	 * open, they are the kind's. */
	void (*closed)(void *arg, struct channel *c);
	/* Bytes just read from the source, changed in place; the new length
	 * (at most cap) is returned. NULL: none. For escapes on a tty. */
	size_t (*filter)(void *arg, struct channel *c, uint8_t *p, size_t len,
	    size_t cap);
	/* All sources have ended, and EOF was sent. */
	void (*source_end)(void *arg, struct channel *c);
	/* It carried nothing for too long (channels-timeout.h). Its sources
	 * and sinks are dropped, and CLOSE is sent; closed() follows when the
	 * peer has answered, unless the channel is left before. */
	void (*timed_out)(void *arg, struct channel *c);
	/* A sink (ext 0 or CHANNEL_EXT_STDERR) failed with this errno; data
	 * for it is thrown away from now on. */
	void (*sink_failed)(void *arg, struct channel *c, uint32_t ext,
	    int error);
};

/* A source and sink in this process. read: bytes > 0, 0 at the end, ERR_AGAIN.
 * write: bytes taken (may be fewer), ERR_AGAIN, or an error: the sink is
 * broken. Call channel_wake() when ERR_AGAIN is over. It takes data only;
 * stderr (CHANNEL_EXT_STDERR) goes to the sink of channel_set_fds(), which is
 * called before. */
struct channel_io {
	ssize_t (*read)(void *arg, uint8_t *p, size_t max);
	ssize_t (*write)(void *arg, uint32_t ext, const uint8_t *p,
	    size_t len);
	/* The peer's EOF was reached, all is written. */
	void (*end)(void *arg);
	/* What is read at once goes as a message of its own, and each message
	 * is written at once: none is split or joined, and none waits for the
	 * sink. What write() does not take is lost. */
	bool datagrams;
};

/* Life. Packet and loop are borrowed. */
int channels_new(struct channels **out, struct packet *p,
    struct loop *l) must_check;
void channels_free(struct channels *chs);

/* The peer opens a channel of a registered type. The handler reads the type's
 * own fields from data, and returns an enum channel_answer:
 * CHANNEL_SUCCESS when it has called channel_accept();
 * CHANNEL_FAILURE when it has called channel_refuse() (it need not: then the
 * reason is CHANNEL_OPEN_PROHIBITED);
 * CHANNEL_LATER when it has called channel_defer(): one of the other two is
 * called in a later turn, and until then the channel counts among the
 * CHANNELS_MAX. The peer does not know its number before it is accepted, so a
 * message for it ends the connection. */
typedef int (*channel_open_fn)(void *arg, struct channels *chs,
    struct channel *c, struct rd *data);
int channels_on_open(struct channels *chs, const char *type,
    channel_open_fn fn, void *arg) must_check;
/* Confirms. ops borrowed; window 0 gives none yet (channel_grant_window
 * later). Where others have much, less window is given than asked for. Our own
 * kind, which makes its packets as large as its path is fast, is offered the
 * large ones in place of the default. */
int channel_accept(struct channel *c, const struct channel_ops *ops,
    void *arg, uint32_t window, uint32_t max_packet) must_check;
/* Refuses; the channel is freed after it, without a callback. text NULL: what
 * is usually said for this reason. */
int channel_refuse(struct channel *c, enum channel_open_failure reason,
    const char *text) must_check;
/* Until it is accepted only ops->closed is called: the connection has ended
 * meanwhile. Whoever does not want to wait any more refuses, or leaves, which
 * the peer hears as CHANNEL_OPEN_CONNECT_FAILED. */
void channel_defer(struct channel *c, const struct channel_ops *ops,
    void *arg);
/* Opens one; extra (may be NULL) follows the common fields. */
int channel_open(struct channel **out, struct channels *chs, const char *type,
    const struct buf *extra, const struct channel_ops *ops, void *arg,
    uint32_t window, uint32_t max_packet) must_check;

/* Goes on as if the peer had confirmed with this number for the channel, so
 * that requests can follow at once; opened() is called now and not again.
 * Data waits for the real confirmation, except what channel_send_early()
 * sends. If that has another number, the requests went to no channel or a
 * wrong one, and the connection ends with ERR_PROTOCOL. */
void channel_open_optimistically(struct channel *c, uint32_t peer_id);


/*
 * Early messages: data and requests may follow an OPEN at once, addressed by
 * the number that its sender has for the channel (docs/ROUND-TRIPS.md). They
 * have no effect if the channel is refused. take: the peer may. send: it takes
 * them.
 *
 * is_early: a channel that we opened has no answer yet, and requests may go
 * ahead of it. early_room: bytes of data that may; send_early: sends them.
 * They are taken out of the window that the peer will tell. send_early is also
 * for optimistic channels of peers that are known to open their window when
 * they start a program.
 */
void channels_take_early(struct channels *chs);
void channels_send_early(struct channels *chs, bool send);
bool channel_is_early(const struct channel *c);
size_t channel_early_room(const struct channel *c);
int channel_send_early(struct channel *c, const void *p,
    size_t len) must_check;
/* The owner goes: the channel is closed, without any more callbacks. One that
 * is not accepted yet is refused. */
void channel_leave(struct channel *c);

/* Global requests (RFC 4254 section 4). The handler returns an enum
 * channel_answer, for success with the reply's data appended to reply. Without
 * handler: failure. */
typedef int (*channels_global_fn)(void *arg, struct rd *data,
    struct buf *reply);
int channels_on_global(struct channels *chs, const char *name,
    channels_global_fn fn, void *arg) must_check;
/* Within such a handler: is there to be an answer? */
bool channels_reply_wanted(const struct channels *chs);
/* Within such a handler, which then returns CHANNEL_LATER: the answer is owed,
 * and given in a later turn. Answers to later requests wait for it, as they
 * are told apart by their order only. It is valid until it is given, or the
 * channels are freed. */
struct channels_owed;
int channels_owe(struct channels *chs,
    struct channels_owed **out) must_check;
/* data (may be NULL) is that of a success. */
int channels_give_owed(struct channels *chs, struct channels_owed *o, bool ok,
    const struct buf *data) must_check;
/* done (may be NULL = no reply wanted) is called in order of the requests. */
typedef void (*channels_reply_fn)(void *arg, bool ok, struct rd data);
int channels_global_request(struct channels *chs, const char *name,
    const struct buf *data, channels_reply_fn done, void *arg) must_check;

/* Messages 80-127. */
int channels_input(struct channels *chs, struct rd payload) must_check;
/* The connection is gone, and nothing can be sent: all channels count as
 * closed by the peer, and end when their sinks have what arrived. Called each
 * turn instead of channels_turn() until the number of channels that are left,
 * which it returns, is 0. */
size_t channels_settle(struct channels *chs);
/* There was a channel, and the peer has closed all that there are. */
bool channels_complete(const struct channels *chs);
/* Once a loop turn: moves from ready sources into packets, writes kept bytes
 * to sinks, sends window adjusts. True: there is more to do right now. */
int channels_turn(struct channels *chs, bool *more) must_check;

/* Sources and sinks of a channel; -1 = none. source feeds CHANNEL_DATA,
 * ext_source feeds stderr data (server); sink takes data, ext_sink stderr data
 * (client). Without a sink data is thrown away, also what waited for an earlier
 * one. Descriptors are borrowed. */
void channel_set_fds(struct channel *c, int source, int sink, int ext_source,
    int ext_sink);
/* io NULL: none any more, descriptors follow; what waits for a sink is kept
 * for them. */
void channel_set_io(struct channel *c, const struct channel_io *io, void *arg);
/* An accepted channel goes to another owner. ops is borrowed. */
void channel_set_ops(struct channel *c, const struct channel_ops *ops,
    void *arg);
void channel_wake(struct channel *c);
/* As channel_wake(), for the source and from in front of channels_turn(). */
void channel_mark_readable(struct channel *c);
/* tty: small packets, first in the queue, small window. */
void channel_set_interactive(struct channel *c, bool interactive);
void channel_grant_window(struct channel *c, uint32_t window);

/* Use. request's done as for global requests. */
int channel_request(struct channel *c, const char *name,
    const struct buf *data, channels_reply_fn done, void *arg) must_check;
/* Small data from memory; it waits for the window only. */
int channel_send_data(struct channel *c, uint32_t ext, const void *p,
    size_t len) must_check;
/* No more input from the source; EOF when all is sent. */
void channel_end_source(struct channel *c);
/* CLOSE when what the sources hold by now was sent (drain), or at once. */
void channel_close(struct channel *c, bool drain);
/* While held, no CLOSE is sent, not even as the answer to the peer's: the kind
 * has a message to send before it (an exit status). */
void channel_hold_close(struct channel *c, bool hold);

/* The connection idles: frees memory that only a transfer needs. */
void channels_trim(struct channels *chs);

/* Ask. */
bool channel_is_accepted(const struct channel *c);
uint32_t channel_id(const struct channel *c); /* our number */
/* The widest that the peer's window was so far, bytes. */
uint32_t channel_peer_window_top(const struct channel *c);
/* Channels that are not closed in both directions. */
size_t channels_count(const struct channels *chs);
/* For the user, who has it of ~#; copied. */
void channel_set_name(struct channel *c, const char *name);
/* One line a channel, for ~# */
void channels_describe(const struct channels *chs, struct buf *out);

/* Whether windows follow the path (at first), or stay as they were offered. */
void channels_set_dynamic(struct channels *chs, bool dynamic);
/* A window that is wider than the path is a cost to the peer's sender (what
 * OpenSSH's cannot send yet it keeps in a buffer that it moves as a whole). */
void channels_set_exact_windows(struct channels *chs, bool exact);
/* The connection is not a TCP socket of ours (a proxy, a jump host), so the
 * kernel does not know the round trip time: it is measured with three global
 * requests. */
int channels_measure_path(struct channels *chs) must_check;

/* Milliseconds of the connection in which there were channels, and what they
 * waited for. Sending: first the network (the kernel has what it could not
 * send yet), else the peer's window, else the source. Receiving: own sinks,
 * else own windows, which were used up while the peer was not told of more. */
struct channels_times {
	uint64_t total_ms;
	uint64_t window_ms, network_ms, source_ms;
	uint64_t sink_ms, own_window_ms;
};
struct channels_times channels_times(const struct channels *chs);

#endif
