/* SPDX-License-Identifier: ISC */
/*
 * What the channels*.c files share. Included by these, and by their unit test.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CHANNELS_INTERNAL_H
#define HPN_CHANNELS_INTERNAL_H

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
 * How far each direction is on its way to CLOSE; channels-close.c has the
 * table of what may follow what. Later states have larger numbers, and EOF
 * counts as sent from SENDING_EOF_SENT on: behind CLOSE nothing can follow
 * either.
 */
enum channel_sending {
	SENDING_OPEN,
	SENDING_DRAINING, /* what the sources hold now, then EOF and CLOSE */
	SENDING_ENDING,	  /* the sources are dropped; EOF behind the queue */
	SENDING_CLOSING,  /* likewise, and then CLOSE */
	SENDING_EOF_SENT,
	SENDING_CLOSE_DUE, /* EOF is sent, CLOSE follows */
	SENDING_CLOSED,
};

enum channel_receiving {
	RECEIVING_OPEN,
	RECEIVING_EOF, /* it came, and the sinks do not have all data yet */
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

/* channels-queue.c: bytes in a row of pieces. All zero is an empty one. */
struct queue_piece;
struct queue_pool {
	struct queue_piece *spare; /* for whoever needs one next, or NULL */
};
struct queue {
	struct queue_piece *first, *last;
	size_t len; /* bytes in it */
};

struct sink {
	int fd; /* -1: none */
	struct loop_fd *watch;
	struct queue queue; /* what it did not take */
	bool blocks;
	bool broken;
};

/* What a channel waits for between two turns. */
struct channel_waits {
	bool window, sink, own_window;
};

/* channels-timeout.c: of a channel, and of all together. */
struct channel_clock {
	bool used;    /* something was moved since the last turn */
	bool carries; /* data, or will: what channels_on_use() is about */
	bool named;   /* the kind was told, and does not follow from the type */
	bool expired;
	struct channels_use counted;
	uint32_t timeout_s; /* 0: none */
	uint64_t used_ms;   /* time of the last turn that had moved data */
};

struct channels_clock {
	struct channels_timeouts timeouts;
	struct loop_timer *timer; /* NULL: no channel has a timeout */
	uint64_t due_ms;	  /* when it fires */
	uint64_t used_ms;	  /* as of a channel, of whichever was last */
	size_t carrying, interactive, terminals; /* channels */
	struct channels_sent sent;
	struct channels_use told;
	channels_use_fn use;
	void *use_arg;
};

/* Linked by next_active. */
struct channel_list {
	struct channel *first, *last;
};

/* Linked by row_next and row_prev: who has, or may have, something to send. */
struct channel_row {
	struct channel *first, *last;
	size_t n;
};

struct channel {
	struct channels *chs;
	/* channels-turn.c */
	struct channel *next_active, *row_next, *row_prev;
	struct channel_row *row; /* in which it waits to be served, or NULL */
	bool active; /* the next turn looks at it */
	uint32_t id, peer_id;
	enum channel_state state;
	bool optimistic; /* used as open before its confirmation arrived */
	char type[CHANNEL_TYPE_MAX];
	char *name; /* for the user; NULL: its type */
	const struct channel_ops *ops;
	void *arg;
	bool interactive;

	uint32_t peer_window; /* bytes we may still send */
	uint32_t peer_window_top; /* the most it ever was */
	uint32_t early; /* bytes sent, or taken, before there was a window */
	uint32_t peer_max_packet;
	uint32_t max_packet; /* of data, in the peer's packets */
	struct recv_window window;
	uint64_t offered; /* bytes of it as counted in struct channels */
	uint64_t mover; /* period in which it moved data; recv_movers_note() */
	struct channel_waits waits; /* as counted in struct channels */
	struct channel_clock clock;

	struct source source[2]; /* data, stderr */
	struct sink sink[2];
	const struct channel_io *io;
	void *io_arg;
	bool io_write_blocked;
	struct buf send; /* from channel_send_data, waits for window */

	enum channel_sending sending;	  /* set by channels-close.c only */
	enum channel_receiving receiving; /* likewise */
	bool hold_close; /* the kind has something to say before CLOSE */
	struct replies replies;
	const struct channel_raw_ops *raw; /* NULL: it is none */
	void *raw_arg;
};

/* channels-early.c: early messages, in both directions. */
struct channels_early {
	bool sent, taken;
	struct channel **by_peer; /* opened by the peer, by its number */
	size_t n;		  /* numbers that there is room for */
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
	struct channel **v; /* by our number; NULL: free */
	size_t n;	  /* numbers that v has room for */
	size_t count;	  /* channels that there are */
	size_t free_from; /* below it no number is free */
	struct channel_list active; /* something happened to them */
	struct channel_row quick, bulk; /* interactive ones, and the others */
	uint64_t offered; /* bytes that the peer may make us keep, in sum */
	struct recv_movers movers;
	size_t waiting_window, waiting_sink, waiting_own_window; /* channels */
	struct queue_pool pool;
	struct channels_clock clock;
	struct named_open *opens;
	size_t open_count;
	struct named_global *globals;
	size_t global_count;
	struct replies replies; /* of own global requests */
	TAILQ_HEAD(owed_list, channels_owed) owed; /* answers to the peer's */
	size_t owed_count;
	bool reply_wanted; /* of the request that is being handled */
	struct channels_times times;
	uint64_t counted_ms;	/* times are counted up to here */
	bool exact_windows;	/* see channels_set_exact_windows() */
	bool fixed_windows;	/* they stay as they were offered */
	uint32_t rcvbuf;	/* last samples */
	uint64_t rtt_us;
	uint64_t sampled_ms;
	uint64_t asked_us;	/* channels_measure_path(): the last request */
	uint64_t answer_us;	/* the quickest answer; 0: none yet */
	unsigned answers;
	uint64_t tx_blocked; /* packets that had to wait in this turn */
	size_t turn_bytes;   /* read from sources in this turn */
	const struct channels_raw_ops *raw; /* NULL: none was set */
	void *raw_arg;
	struct channels_early early;
};

/* channels.c */
int channel_new(struct channel **out, struct channels *chs,
    const char *type) must_check;
void channel_free(struct channel *c);
/* Starts a message "type, peer's number". */
void channel_msg(const struct channel *c, struct buf *b, uint8_t type);
int channels_send(struct channels *chs, struct buf *b) must_check;
/* The owner has left it. */
bool channel_is_left(const struct channel *c);
/* The window and the packets that are offered on a channel. */
void channel_offer(struct channel *c, uint32_t window, uint32_t max_packet);
bool replies_pop(struct replies *q, channels_reply_fn *fn, void **arg);

/* channels-turn.c. Something happened to it: the next turn looks at it. Every
 * entry into channels*.c that can give a channel something to do calls this. */
void channel_touch(struct channel *c);
void channel_forget_touch(struct channel *c);

/* channels-owed.c. global_answer composes the answer to a global request.
 * send_reply: it goes out, or waits for those in front of it; msg is
 * cleared. */
void channels_global_answer(struct buf *msg, bool ok, const struct buf *data);
int channels_send_reply(struct channels *chs, struct buf *msg) must_check;
void channels_clear_owed(struct channels *chs);

/* channels-timeout.c. start_clock: it has become open. note_use: in a turn, if
 * something was moved. */
void channel_start_clock(struct channel *c);
void channel_note_use(struct channel *c, uint64_t now_ms);
/* What the timer calls; arg: the channels. */
void channels_look_at_clocks(void *arg);
void channels_stop_clock(struct channels *chs);
void channel_count_use(struct channel *c);
void channel_forget_use(struct channel *c);
void channel_count_sent(struct channel *c, size_t bytes);
void channels_tell_use(struct channels *chs);

/* channels-queue.c. front: what can be had in one piece; of that, consume. */
int queue_put(struct queue *q, struct queue_pool *pool,
    struct span s) must_check;
struct span queue_front(const struct queue *q);
void queue_consume(struct queue *q, struct queue_pool *pool, size_t len);
void queue_clear(struct queue *q, struct queue_pool *pool);
void queue_pool_clear(struct queue_pool *pool);

/* channels-close.c. may_become: the table, for the unit test. */
bool channel_sending_may_become(enum channel_sending from,
    enum channel_sending to);
bool channel_receiving_may_become(enum channel_receiving from,
    enum channel_receiving to);
bool channel_sent_eof(const struct channel *c); /* or CLOSE */
/* CLOSE follows when all is sent. */
bool channel_closes(const struct channel *c);
bool channel_got_eof(const struct channel *c); /* or CLOSE */
bool channel_got_close(const struct channel *c);
/* The peer's EOF or CLOSE arrived. */
void channel_note_eof(struct channel *c);
void channel_note_close(struct channel *c);
/* Sends EOF and CLOSE where they are due. A channel that is closed in both
 * directions, and whose sinks have all data, is dead after it. */
int channel_advance_close(struct channel *c) must_check;

/* channels-window.c */
/* The peer lets us send so much more; false: more than there can be. */
bool channel_widen(struct channel *c, uint32_t more) must_check;
/* The sum of windows is brought up to date, when the channel's has become wider
 * or narrower. */
void channel_count_offered(struct channel *c);
/* Bytes that the peer may make us keep, in sum. */
uint64_t channels_offered(const struct channels *chs);
int channel_adjust_window(struct channel *c) must_check;

/* channels-times.c. count_time, at the beginning of a turn, counts the time
 * since the last one for the reasons that note_waits found at its end. */
void channels_count_time(struct channels *chs);
void channel_note_waits(struct channel *c);
void channel_forget_waits(struct channel *c);

/* channels-raw.c. input: a message that channels_find_raw() found c for.
 * offer: as in struct channels_raw_ops. free: its owner hears so. */
int channel_input_raw(struct channel *c, uint8_t type,
    struct rd r) must_check;
int channel_offer_raw(struct channel *c, const char *type,
    struct rd r) must_check;
void channel_free_raw(struct channel *c);
void channels_clear_raw(struct channels *chs);

/* channels-early.c. expect: our OPEN goes out, and messages may follow it.
 * note: the peer's OPEN arrived. is_early: a number that the peer may have
 * used for an OPEN. find: whose it is now; NULL: it was refused. keep: data
 * for one without an answer. count: it has a window now. */
void channel_expect_early(struct channel *c);
int channel_note_early(struct channel *c) must_check;
void channel_forget_early(struct channel *c);
void channels_clear_early(struct channels *chs);
bool channels_is_early(const struct channels *chs, uint32_t id);
struct channel *channels_find_early(const struct channels *chs, uint32_t id);
int channel_keep_early(struct channel *c, struct span data) must_check;
int channel_count_early(struct channel *c) must_check;

/* channels-io.c. has_datagrams: see struct channel_io. */
bool channel_has_datagrams(const struct channel *c);
void channel_init_io(struct channel *c);
void channel_clear_io(struct channel *c);
void channel_drop_sources(struct channel *c);
/* Reads are tried in the next turn without waiting for poll(2). */
void channel_mark_sources_readable(struct channel *c);
bool channel_sources_ended(const struct channel *c);
bool channel_sinks_done(const struct channel *c);
/* Data from the peer for a sink; what it does not take is queued. */
int channel_deliver(struct channel *c, uint32_t ext,
    struct span data) must_check;
/* Moves from the sources: one packet at most; *moved says if there was. */
int channel_pump(struct channel *c, bool *moved) must_check;
/* The channel has something to send, and the peer's window lets it. */
bool channel_has_output(const struct channel *c);
void channel_update_watches(struct channel *c);
void channel_drop_watches(struct channel *c);

#endif
