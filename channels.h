/* SPDX-License-Identifier: ISC */
/*
 * The connection protocol (RFC 4254): channels, their flow control and the
 * bytes that move through them, channel and global requests. A channel kind
 * (session, later forwards...) is a const struct channel_ops; this layer
 * knows none of them.
 *
 * A channel's bytes come from a source and go to a sink. Both are descriptors,
 * or a struct channel_io of a kind that lives in this process. Sources are read
 * straight into the packet; sinks are written straight from the input buffer,
 * and only what a sink does not take is copied and kept.
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

/* What a handler of the peer's requests or OPENs returns; it may also return an
 * error (< 0), which ends the connection. */
enum channel_answer {
	CHANNEL_FAILURE = 0,
	CHANNEL_SUCCESS = 1,
	CHANNEL_LATER = 2, /* answered later; not for channel requests */
};

struct channel_ops {
	/* Every hook may be NULL.
	 *
	 * The peer's request for c (RFC 4254 section 5.4); returns an enum
	 * channel_answer. The caller sends the reply. */
	int (*request)(void *arg, struct channel *c, struct span name,
	    struct rd *data);
	/* opened: the peer confirmed our OPEN. refused: it refused; c is freed
	 * after the call. text is the peer's reason, escaped. */
	void (*opened)(void *arg, struct channel *c);
	void (*refused)(void *arg, struct channel *c, uint32_t reason,
	    const char *text);
	/* The peer sent EOF, and the sinks have all its data. */
	void (*eof)(void *arg, struct channel *c);
	/* The peer sent CLOSE. Ours follows, unless channel_hold_close() holds
	 * it back. */
	void (*peer_closed)(void *arg, struct channel *c);
	/* The channel is over: both sides sent CLOSE and the sinks are done or
	 * broken, or the connection is gone. c is freed after the call. The
	 * kind owns the descriptors, and closes them. */
	void (*closed)(void *arg, struct channel *c);
	/* Changes len bytes just read from the source, in place, as for
	 * escapes on a tty. Returns the new length, at most cap. */
	size_t (*filter)(void *arg, struct channel *c, uint8_t *p, size_t len,
	    size_t cap);
	/* All sources have ended, and EOF was sent. */
	void (*source_end)(void *arg, struct channel *c);
	/* c carried nothing for too long (channels-timeout.h). Its sources and
	 * sinks are dropped, and CLOSE is sent. closed() follows when the peer
	 * has answered, unless channel_leave() is called before. */
	void (*timed_out)(void *arg, struct channel *c);
	/* A sink (ext 0 or CHANNEL_EXT_STDERR) failed with this errno; data
	 * for it is thrown away from now on. */
	void (*sink_failed)(void *arg, struct channel *c, uint32_t ext,
	    int error);
};

/* A source and sink in this process, for data. read: bytes > 0, 0 at the end,
 * or ERR_AGAIN. write: the bytes taken, which may be fewer, ERR_AGAIN, or an
 * error, after which the sink counts as broken. After ERR_AGAIN (or 0 of write)
 * call channel_wake() when there is something to do again; it counts also if
 * read or write itself leads to it. stderr (CHANNEL_EXT_STDERR) goes to the
 * ext_sink of channel_set_fds(), which must be called first. */
struct channel_io {
	ssize_t (*read)(void *arg, uint8_t *p, size_t max);
	ssize_t (*write)(void *arg, uint32_t ext, const uint8_t *p,
	    size_t len);
	/* The peer sent EOF, and all its data is written. */
	void (*end)(void *arg);
	/* Each read() is sent as one message, and each message is given to one
	 * write(). None is split, joined or queued: what write() does not
	 * take is lost. */
	bool datagrams;
};

/* p and l are borrowed. */
int channels_new(struct channels **out, struct packet *p,
    struct loop *l) must_check;
void channels_free(struct channels *chs);

/* Sets the handler for OPENs of one type by the peer. It reads the type's own
 * fields from data, and returns
 * CHANNEL_SUCCESS when it has called channel_accept();
 * CHANNEL_FAILURE when it has called channel_refuse(), or neither: then c is
 * refused with CHANNEL_OPEN_PROHIBITED;
 * CHANNEL_LATER when it has called channel_defer(): channel_accept() or
 * channel_refuse() is called in a later turn. Until then c counts among the
 * CHANNELS_MAX, and a message of the peer for it ends the connection, as the
 * peer has not been told its number. */
typedef int (*channel_open_fn)(void *arg, struct channels *chs,
    struct channel *c, struct rd *data);
int channels_on_open(struct channels *chs, const char *type,
    channel_open_fn fn, void *arg) must_check;
/* Confirms the peer's OPEN. ops is borrowed. window: bytes wanted; fewer are
 * given if other channels have much. 0: none yet, channel_grant_window()
 * follows. A peer of our own kind, whose packets are as large as its path is
 * fast, is offered CHANNEL_PACKET_LARGE if max_packet is the default. */
int channel_accept(struct channel *c, const struct channel_ops *ops,
    void *arg, uint32_t window, uint32_t max_packet) must_check;
/* Refuses the peer's OPEN. c is freed later, without a callback. text NULL: the
 * usual text for this reason. */
int channel_refuse(struct channel *c, enum channel_open_failure reason,
    const char *text) must_check;
/* The OPEN is answered in a later turn. Until then only ops->closed is called,
 * if the connection ends. An owner that no longer wants c calls
 * channel_refuse(), or channel_leave(), which refuses with
 * CHANNEL_OPEN_CONNECT_FAILED. */
void channel_defer(struct channel *c, const struct channel_ops *ops,
    void *arg);
/* Sends our OPEN for a new channel. extra (may be NULL) holds the type's own
 * fields, which follow the common ones. */
int channel_open(struct channel **out, struct channels *chs, const char *type,
    const struct buf *extra, const struct channel_ops *ops, void *arg,
    uint32_t window, uint32_t max_packet) must_check;

/* Goes on as if the peer had confirmed c with the number peer_id, so that
 * requests can be sent at once. opened() is called now, and not again. Data
 * waits for the peer's confirmation, except that of channel_send_early(). If
 * the confirmation has another number the requests went to a wrong channel or
 * to none, and the connection ends with ERR_PROTOCOL. */
void channel_open_optimistically(struct channel *c, uint32_t peer_id);


/*
 * Early messages: data and requests may follow an OPEN at once, addressed by
 * the number that its sender has for the channel (docs/ROUND-TRIPS.md). They
 * have no effect if the channel is refused. channels_take_early(): the peer may
 * send such messages. channels_send_early(): the peer takes them.
 *
 * channel_is_early(): c is ours, has no answer yet, and early requests may be
 * sent. channel_early_room(): the bytes of early data that may still be sent.
 * channel_send_early() sends early data; its bytes are subtracted from the
 * window that the peer will give. channel_send_early() is also for channels
 * opened optimistically, if the peer is known to open its window when it starts
 * a program.
 */
void channels_take_early(struct channels *chs);
void channels_send_early(struct channels *chs, bool send);
bool channel_is_early(const struct channel *c);
size_t channel_early_room(const struct channel *c);
int channel_send_early(struct channel *c, const void *p,
    size_t len) must_check;
/* The owner of c goes: no more callbacks, and c is closed. If it is a channel
 * of the peer that was not accepted yet, it is refused. */
void channel_leave(struct channel *c);

/* Sets the handler of the peer's global requests (RFC 4254 section 4) of one
 * name. It returns an enum channel_answer; for success it appends the reply's
 * data to reply. Requests without a handler fail. */
typedef int (*channels_global_fn)(void *arg, struct rd *data,
    struct buf *reply);
int channels_on_global(struct channels *chs, const char *name,
    channels_global_fn fn, void *arg) must_check;
/* Within a handler of a global request: does the peer want an answer? */
bool channels_reply_wanted(const struct channels *chs);
/* Within a handler of a global request, which then returns CHANNEL_LATER:
 * promises the answer for a later turn. Answers to later requests wait for it,
 * as only their order tells what they answer. *out is valid until
 * channels_give_owed(), or until the channels are freed. */
struct channels_owed;
int channels_owe(struct channels *chs,
    struct channels_owed **out) must_check;
/* True if answers were deferred that are still to be given. */
bool channels_are_owing(const struct channels *chs);
/* Gives the promised answer. data (may be NULL) follows if ok. */
int channels_give_owed(struct channels *chs, struct channels_owed *o, bool ok,
    const struct buf *data) must_check;
/* Sends a global request. done is called with the peer's reply, in the order of
 * the requests; NULL: no reply is wanted. */
typedef void (*channels_reply_fn)(void *arg, bool ok, struct rd data);
int channels_global_request(struct channels *chs, const char *name,
    const struct buf *data, channels_reply_fn done, void *arg) must_check;

/* Handles a message of the types 80 to 127 from the peer. */
int channels_input(struct channels *chs, struct rd payload) must_check;
/* The connection is gone, and nothing can be sent: all channels count as
 * closed by the peer, and end when their sinks have the data that arrived.
 * Called each turn instead of channels_turn(), until it returns 0: the number
 * of channels that are left. */
size_t channels_settle(struct channels *chs);
/* There has been a channel, and the peer has closed all channels. */
bool channels_complete(const struct channels *chs);
/* Called once each turn of the loop: reads sources into packets, writes queued
 * bytes to sinks, and sends window adjusts. *more: there is more to do now. */
int channels_turn(struct channels *chs, bool *more) must_check;

/* Sets the descriptors of a channel; -1: none. source is read for CHANNEL_DATA,
 * ext_source for stderr (server). sink gets data, ext_sink gets stderr
 * (client). Without a sink its data is thrown away, also what was queued for an
 * earlier one. Descriptors are borrowed. */
void channel_set_fds(struct channel *c, int source, int sink, int ext_source,
    int ext_sink);
/* Sets the source and sink in this process. NULL: c has none any more, and
 * channel_set_fds() follows; bytes queued for the sink are kept for it. */
void channel_set_io(struct channel *c, const struct channel_io *io, void *arg);
/* Gives an accepted channel to another owner. ops is borrowed. */
void channel_set_ops(struct channel *c, const struct channel_ops *ops,
    void *arg);
void channel_wake(struct channel *c);
/* As channel_wake(), for the source only; called in a turn of the loop, before
 * channels_turn(). */
void channel_mark_readable(struct channel *c);
/* For a tty: small packets, sent before those of others, and a small window. */
void channel_set_interactive(struct channel *c, bool interactive);
void channel_grant_window(struct channel *c, uint32_t window);

/* Sends a request for a channel; done as in channels_global_request(). */
int channel_request(struct channel *c, const char *name,
    const struct buf *data, channels_reply_fn done, void *arg) must_check;
/* Sends a few bytes from memory. They wait only for the peer's window. */
int channel_send_data(struct channel *c, uint32_t ext, const void *p,
    size_t len) must_check;
/* Reads no more from the source; EOF is sent after all that was read. */
void channel_end_source(struct channel *c);
/* Sends CLOSE at once, or (drain) after what the sources hold now. */
void channel_close(struct channel *c, bool drain);
/* While held, no CLOSE is sent, not even as the answer to the peer's: the kind
 * has a message to send before it (an exit status). */
void channel_hold_close(struct channel *c, bool hold);

/* Called when the connection idles: frees memory that only transfers need. */
void channels_trim(struct channels *chs);

/* c is open: its OPEN was accepted, or is taken as accepted
 * (optimistically). */
bool channel_is_accepted(const struct channel *c);
uint32_t channel_id(const struct channel *c); /* our number */
/* The widest that the peer's window has been so far, in bytes. */
uint32_t channel_peer_window_top(const struct channel *c);
/* Channels that are not closed in both directions. */
size_t channels_count(const struct channels *chs);
/* Sets the name that users see with ~#; copied. */
void channel_set_name(struct channel *c, const char *name);
/* Appends one line for each channel, for ~#. */
void channels_describe(const struct channels *chs, struct buf *out);

/* True (at first): windows grow and shrink with the path. False: they stay as
 * they were offered. */
void channels_set_dynamic(struct channels *chs, bool dynamic);
/* True: windows are kept no wider than the path. For OpenSSH as the sender,
 * which keeps what it cannot send yet in a buffer that it moves as a whole. */
void channels_set_exact_windows(struct channels *chs, bool exact);
/* For a connection that is no TCP socket of ours (a proxy, a jump host): the
 * kernel does not know its round trip time, so it is measured with three global
 * requests. */
int channels_measure_path(struct channels *chs) must_check;

/* Milliseconds of the connection in which there were channels, by what they
 * waited for. Sending: the network (the kernel has bytes that it could not send
 * yet); if not, the peer's window; if not, the source. Receiving: our sinks; if
 * not, our windows, which were used up while the peer was not told of more. */
struct channels_times {
	uint64_t total_ms;
	uint64_t window_ms, network_ms, source_ms;
	uint64_t sink_ms, own_window_ms;
};
struct channels_times channels_times(const struct channels *chs);

#endif
