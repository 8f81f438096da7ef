/* SPDX-License-Identifier: ISC */
/*
 * What the channels*.c files share. Included by these, and by their unit test.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_INTERNAL_H
#define HPN_CHANNELS_INTERNAL_H

#include "channels-rate.h"
#include "channels-raw.h"
#include "channels-recv-window.h"
#include "channels-timeout.h"
#include "channels.h"
#include "compat/queue.h"

enum {
	CHANNEL_REPLIES_MAX = 1024,   /* own requests without an answer */
	CHANNEL_TYPE_MAX = 64,	      /* bytes of a channel type's name */
	CHANNEL_DATA_HEAD = 9,	      /* type, channel, length */
	CHANNEL_EXT_HEAD = 13,	      /* type, channel, code, length */
	CHANNEL_FILTER_ROOM = 64,     /* bytes a filter may add */
	CHANNEL_SEND_MAX = 64 * 1024, /* bytes queued by channel_send_data */
	CHANNEL_TURN_MAX = 4 * 1024 * 1024, /* bytes read in a loop turn */
	CHANNEL_SAMPLE_MS = 20,	      /* between samples from the kernel */
};

enum channel_state {
	CHANNEL_OPENING,  /* our OPEN is sent, and has no answer yet */
	CHANNEL_INCOMING, /* the peer's OPEN arrived, and has no answer yet */
	CHANNEL_OPEN,
	CHANNEL_RAW,  /* channels-raw.h: its owner gets all messages */
	CHANNEL_DEAD, /* to be freed at the end of the turn */
};

/*
 * How far each direction of a channel has come on its way to CLOSE. The table
 * of allowed steps is in channels-close.c. Later states have larger numbers.
 * EOF counts as sent in SENDING_EOF_SENT and all states after it, as nothing
 * may be sent after CLOSE.
 */
enum channel_sending {
	SENDING_OPEN,
	SENDING_DRAINING, /* sends what the sources hold, then EOF and CLOSE */
	SENDING_ENDING,	  /* no sources; sends what is queued, then EOF */
	SENDING_CLOSING,  /* as SENDING_ENDING, and CLOSE after EOF */
	SENDING_EOF_SENT,
	SENDING_CLOSE_DUE, /* EOF is sent, CLOSE follows */
	SENDING_CLOSED,
};

enum channel_receiving {
	RECEIVING_OPEN,
	RECEIVING_EOF, /* EOF came, and the sinks do not have all data yet */
	RECEIVING_EOF_REPORTED,
	RECEIVING_CLOSED, /* CLOSE came, EOF is not reported yet */
	RECEIVING_CLOSED_REPORTED,
};

struct reply_slot {
	channels_reply_fn fn;
	void *arg;
	TAILQ_ENTRY(reply_slot) entry;
};

struct replies {
	TAILQ_HEAD(reply_list, reply_slot) list;
	size_t count;
};

struct source {
	int fd; /* -1: none */
	struct loop_fd *watch;
	bool ready;   /* a read is worth trying */
	bool blocks;  /* descriptor is blocking: one read per poll */
	bool ended;
};

/* channels-queue.c: a queue of bytes, kept as a list of pieces. All zero is an
 * empty queue. */
struct queue_piece;
struct queue_pool {
	struct queue_piece *spare; /* a free piece for any queue, or NULL */
};
struct queue {
	struct queue_piece *first, *last;
	size_t len; /* bytes in the queue */
};

struct sink {
	int fd; /* -1: none */
	struct loop_fd *watch;
	struct queue queue; /* data that fd did not take yet */
	bool blocks;
	bool broken;
};

/* What a channel waits for between two turns. */
struct channel_waits {
	bool window, sink, own_window;
};

/* channels-timeout.c: the clock of one channel. */
struct channel_clock {
	bool used;    /* data was moved since the last turn */
	bool carries; /* channels_on_use() counts this channel */
	bool named;   /* channel_set_kind() was called */
	bool expired;
	struct channels_use counted;
	uint32_t timeout_s; /* 0: none */
	uint64_t used_ms;   /* time of the last turn that had moved data */
};

/* channels-timeout.c: the clock of all channels of a connection. */
struct channels_clock {
	struct channels_timeouts timeouts;
	struct loop_timer *timer; /* NULL: no channel has a timeout */
	uint64_t due_ms;	  /* when timer fires */
	uint64_t used_ms;	  /* the last turn in which any moved data */
	size_t carrying, interactive, terminals; /* channels */
	struct channels_sent sent;
	struct channels_use told;
	channels_use_fn use;
	void *use_arg;
};

/* A list of channels, linked by next_active. */
struct channel_list {
	struct channel *first, *last;
};

/* Channels that have, or may have, something to send, linked by row_next and
 * row_prev. */
struct channel_row {
	struct channel *first, *last;
	size_t n;
};

struct channel {
	struct channels *chs;
	/* channels-turn.c */
	struct channel *next_active, *row_next, *row_prev;
	struct channel_row *row; /* where c waits to be served, or NULL */
	bool active; /* the next turn looks at it */
	uint32_t ahead; /* bytes of a large packet that others may catch up */
	uint32_t id, peer_id;
	enum channel_state state;
	bool optimistic; /* used as open before its confirmation arrived */
	char type[CHANNEL_TYPE_MAX];
	char *name; /* shown to users; NULL: the type is shown */
	const struct channel_ops *ops;
	void *arg;
	bool interactive;

	uint32_t peer_window; /* bytes we may still send */
	uint32_t peer_window_top; /* the widest that peer_window ever was */
	uint32_t early; /* bytes sent, or received, before a window was given */
	uint32_t peer_max_packet;
	/* bytes of data that the peer may put into a packet */
	uint32_t max_packet;
	struct recv_window window;
	uint64_t offered; /* bytes of window that c has added to chs->offered */
	uint64_t mover; /* period in which it moved data; recv_movers_note() */
	/* what c has added to the counters chs->waiting_... */
	struct channel_waits waits;
	struct channel_clock clock;

	struct source source[2]; /* data, stderr */
	struct sink sink[2];
	const struct channel_io *io;
	void *io_arg;
	bool io_write_blocked;
	bool io_writing; /* write() of io is being called */
	bool io_woken;	 /* channel_wake() was called meanwhile */
	struct buf send; /* data of channel_send_data() that waits for window */

	enum channel_sending sending;	  /* set by channels-close.c only */
	enum channel_receiving receiving; /* set by channels-close.c only */
	bool hold_close; /* CLOSE must wait: see channel_hold_close() */
	struct replies replies;
	const struct channel_raw_ops *raw; /* NULL: no raw channel */
	void *raw_arg;
};

/* channels-early.c: early messages, in both directions. */
struct channels_early {
	bool sent, taken; /* do we send early messages? do we take them? */
	struct channel **by_peer; /* the peer's channels, by its number */
	size_t n;		  /* length of by_peer */
};

/* channels-rate.c */
struct channels_rate {
	struct bucket bucket[CHANNELS_WAYS];
	struct bucket calm[CHANNELS_WAYS]; /* of interactive channels */
	bool waits[CHANNELS_WAYS]; /* channels wait for the bucket until timer
				    * fires */
	struct loop_timer *timer;
	uint64_t timer_ms; /* when that is */
	size_t next; /* index of the channel that is the next to be given
		      * window */
	struct channels_moved moved;
	void (*on_move)(void *arg);
	void *on_move_arg;
};

struct named_open {
	char *type;
	channel_open_fn fn;
	void *arg;
};

struct named_global {
	char *name;
	channels_global_fn fn;
	void *arg;
};

struct channels {
	struct packet *packet;
	struct loop *loop;
	struct channel **v; /* by our number; NULL: the number is free */
	size_t n;	  /* length of v */
	size_t count;	  /* channels in v */
	size_t free_from; /* all numbers below are in use */
	struct channel_list active; /* touched since the last turn */
	struct channel_row quick, bulk; /* interactive channels; all others */
	uint64_t offered; /* bytes that the peer may make us keep, in sum */
	struct recv_movers movers;
	size_t waiting_window, waiting_sink, waiting_own_window; /* channels */
	struct queue_pool pool;
	struct channels_clock clock;
	struct named_open *opens;
	size_t open_count;
	struct named_global *globals;
	size_t global_count;
	struct replies replies; /* what our global requests wait for */
	/* The peer's global requests that we have not answered yet. */
	TAILQ_HEAD(owed_list, channels_owed) owed;
	size_t owed_count;
	/* does the global request that is being handled want a reply? */
	bool reply_wanted;
	struct channels_times times;
	uint64_t counted_ms;	/* time up to which times has been counted */
	bool exact_windows;	/* see channels_set_exact_windows() */
	bool fixed_windows;	/* see channels_set_dynamic() */
	/* fields of struct recv_path at the last sample */
	uint32_t rcvbuf;
	uint64_t rtt_us;
	uint64_t sampled_ms;
	/* time of the last request of channels_measure_path() */
	uint64_t asked_us;
	/* microseconds of its quickest answer; 0: none has come yet */
	uint64_t answer_us;
	unsigned answers;	/* answers to channels_measure_path() so far */
	uint64_t tx_blocked; /* packets that had to wait in this turn */
	size_t turn_bytes;   /* bytes read from sources in this turn */
	const struct channels_raw_ops *raw; /* NULL: none was set */
	void *raw_arg;
	struct channels_early early;
	struct channels_rate rate;
};

/* channels.c */
int channel_new(struct channel **out, struct channels *chs,
    const char *type) must_check;
void channel_free(struct channel *c);
/* Starts a message "type, peer's number". */
void channel_msg(const struct channel *c, struct buf *b, uint8_t type);
int channels_send(struct channels *chs, struct buf *b) must_check;
/* channel_leave() was called: the channel has no owner any more. */
bool channel_is_left(const struct channel *c);
/* Sets the window, and the largest packet, that c offers to the peer. */
void channel_offer(struct channel *c, uint32_t window, uint32_t max_packet);
bool replies_pop(struct replies *q, channels_reply_fn *fn, void **arg);

/* channels-turn.c. The next turn looks at c. Every entry into channels*.c that
 * can give a channel something to do calls this. */
void channel_touch(struct channel *c);
void channel_forget_touch(struct channel *c);

/* channels-owed.c. channels_global_answer() composes the answer to a global
 * request. channels_send_reply() sends msg, or keeps it until the answers to
 * earlier requests are sent; it clears msg. */
void channels_global_answer(struct buf *msg, bool ok, const struct buf *data);
int channels_send_reply(struct channels *chs, struct buf *msg) must_check;
void channels_clear_owed(struct channels *chs);

/* channels-timeout.c. channel_start_clock() is called when c has become open,
 * channel_note_use() in a turn: it does nothing if c moved no data. */
void channel_start_clock(struct channel *c);
void channel_note_use(struct channel *c, uint64_t now_ms);
/* The timer's function; arg is a struct channels. */
void channels_look_at_clocks(void *arg);
void channels_stop_clock(struct channels *chs);
void channel_count_use(struct channel *c);
void channel_forget_use(struct channel *c);
void channel_count_sent(struct channel *c, size_t bytes);
void channels_tell_use(struct channels *chs);

/* channels-queue.c. queue_front() gives the bytes of the first piece;
 * queue_consume() removes some or all of these. */
int queue_put(struct queue *q, struct queue_pool *pool,
    struct span s) must_check;
struct span queue_front(const struct queue *q);
void queue_consume(struct queue *q, struct queue_pool *pool, size_t len);
void queue_clear(struct queue *q, struct queue_pool *pool);
void queue_pool_clear(struct queue_pool *pool);

/* channels-close.c. The two ..._may_become() show the unit test the table of
 * allowed steps. */
bool channel_sending_may_become(enum channel_sending from,
    enum channel_sending to);
bool channel_receiving_may_become(enum channel_receiving from,
    enum channel_receiving to);
bool channel_sent_eof(const struct channel *c); /* or CLOSE */
/* c sends CLOSE as soon as all data and EOF are sent. */
bool channel_closes(const struct channel *c);
bool channel_got_eof(const struct channel *c); /* or CLOSE */
bool channel_got_close(const struct channel *c);
/* The peer's EOF or CLOSE arrived. */
void channel_note_eof(struct channel *c);
void channel_note_close(struct channel *c);
/* Sends EOF and CLOSE if they are due. c becomes CHANNEL_DEAD if it is closed
 * in both directions and its sinks have all data. */
int channel_advance_close(struct channel *c) must_check;

/* channels-window.c */
/* The peer lets us send `more` bytes more. False: its window would be wider
 * than RFC 4254 allows. */
bool channel_widen(struct channel *c, uint32_t more) must_check;
/* Brings chs->offered up to date after c's window became wider or narrower. */
void channel_count_offered(struct channel *c);
/* Measures the round trip of the path. */
void channels_sample_path(struct channels *chs);
int channel_adjust_window(struct channel *c) must_check;

/* channels-rate.c. channel_rate_may(): true if c may move data now; if not, a
 * turn follows when it may. channel_rate_sent() counts bytes that were sent. */
void channels_rate_init(struct channels *chs);
void channels_rate_end(struct channels *chs);
bool channel_rate_may(struct channel *c, enum channels_way way);
void channel_rate_sent(struct channel *c, uint64_t bytes);
/* channel_rate_give_window() counts window when it is given, and
 * channel_rate_end() takes back what c has not used of it.
 * channel_rate_arrived() counts bulk as moved when it has arrived. */
void channel_rate_arrived(struct channel *c, uint64_t bytes);
void channel_rate_give_window(struct channel *c, uint64_t bytes);
void channel_rate_end(struct channel *c);
/* Bytes of window that may be given now; `least` in any case, as a debt. */
uint32_t channel_rate_room(const struct channel *c, uint32_t least);
/* The widest window that the rate needs, and the part of a channel's first
 * window that is given at once. */
uint32_t channel_rate_window(const struct channel *c);
uint32_t channel_rate_first(const struct channel *c, uint32_t window);

/* channels-times.c. channels_count_time() is called at the beginning of a turn.
 * It adds the time since the last turn to what the channels waited for then, as
 * channel_note_waits() noted it at the end of that turn. */
void channels_count_time(struct channels *chs);
void channel_note_waits(struct channel *c);
void channel_forget_waits(struct channel *c);

/* channels-raw.c. channel_input_raw() hands on a message that
 * channels_find_raw() found c for. channel_offer_raw() asks offer() of struct
 * channels_raw_ops. channel_free_raw() calls the owner's freed(). */
int channel_input_raw(struct channel *c, uint8_t type,
    struct rd r) must_check;
int channel_offer_raw(struct channel *c, const char *type,
    struct rd r) must_check;
void channel_free_raw(struct channel *c);
void channels_clear_raw(struct channels *chs);

/* channels-early.c. channel_expect_early(): c's OPEN is about to be sent, and
 * early messages may follow it. channel_note_early(): the peer's OPEN for c
 * arrived. channels_is_early(): id is an early message's number, with the
 * highest bit set, and not beyond those that the peer has used.
 * channels_find_early(): the channel of that number; NULL: we have none, as it
 * was refused. channel_keep_early(): keeps data for a channel that has not been
 * answered. channel_count_early(): takes that data out of c's new window. */
void channel_expect_early(struct channel *c);
int channel_note_early(struct channel *c) must_check;
void channel_forget_early(struct channel *c);
void channels_clear_early(struct channels *chs);
bool channels_is_early(const struct channels *chs, uint32_t id);
struct channel *channels_find_early(const struct channels *chs, uint32_t id);
int channel_keep_early(struct channel *c, struct span data) must_check;
int channel_count_early(struct channel *c) must_check;

/* channels-io.c. channel_has_datagrams(): see struct channel_io. */
bool channel_has_datagrams(const struct channel *c);
void channel_init_io(struct channel *c);
void channel_clear_io(struct channel *c);
void channel_drop_sources(struct channel *c);
/* The next turn tries to read from the sources without asking poll(2). */
void channel_mark_sources_readable(struct channel *c);
bool channel_sources_ended(const struct channel *c);
bool channel_sinks_done(const struct channel *c);
/* Writes the peer's data to a sink. What the sink does not take is queued. */
int channel_deliver(struct channel *c, uint32_t ext,
    struct span data) must_check;
/* Reads from a source into one packet at most. *moved: there was a packet. */
int channel_pump(struct channel *c, bool *moved) must_check;
/* The channel has something to send, and the peer's window lets it. */
bool channel_has_output(const struct channel *c);
void channel_update_watches(struct channel *c);
void channel_drop_watches(struct channel *c);

#endif
