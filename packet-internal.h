/* SPDX-License-Identifier: ISC */
/*
 * What packet.c and packet-*.c share. Included by these only.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_PACKET_INTERNAL_H
#define HPN_PACKET_INTERNAL_H

#include <time.h>

#include "packet-zlib.h"
#include "packet.h"
#include "pipeline.h"

enum {
	PACKET_RX_FIRST = 32 * 1024,   /* bytes of the first input buffer */
	PACKET_RX_READ = 1024 * 1024,  /* most bytes taken by one read(2) */
	PACKET_TX_FIRST = 16 * 1024,   /* bytes of the first output ring */
	PACKET_GROWN = 128 * 1024,     /* a buffer or ring worth shrinking */
	PACKET_TX_BULK = 1024 * 1024,  /* pending bytes at which bulk waits, on
					* a fast path (packet-pace.c) */
	PACKET_TX_MAX = 32 * 1024 * 1024, /* pending bytes: more are an error */
	PACKET_POSTPONED_MAX = 16 * 1024 * 1024, /* bytes, in a rekey */
	PACKET_POSTPONED_MAX_PREAUTH = 128 * 1024,
	/* Most packets received before authentication. A login takes some
	 * dozens. Its keys do not change, so the number of packets must stay
	 * far below the number at which sequence numbers repeat. */
	PACKET_RX_MAX_PREAUTH = 64 * 1024,
	PACKET_PAD_MIN = 4,
	PACKET_PROXIED_MIN = 4, /* bytes of a message and its padding: OpenSSH
				 * takes no shorter one through its proxy */
	PACKET_SIZE_MIN = 16, /* RFC 4253 section 6: whole packet, no MAC */
	PACKET_TAG_MAX = 64,
	PACKET_SLACK = 4 + 1 + 255 + PACKET_TAG_MAX, /* around a payload */
	/* With threads: */
	PACKET_JOB_MIN = 8 * 1024,    /* bytes of a packet worth a job */
	PACKET_JOBS_BYTES = 64 * 1024, /* bytes that are worth a wake-up */
	PACKET_RX_BATCH = 256 * 1024, /* bytes of input worth jobs */
	PACKET_TX_PIECE = 256 * 1024, /* bytes worth a write(2) of their own */
};

/* The most packets under the same keys of a direction. One more would repeat a
 * sequence number, and with it a nonce that must be unique. New keys are due at
 * half of this (packet.c). */
#define PACKET_KEYS_MAX ((uint64_t)1 << 32)

struct packet_half {
	struct packet_keys keys; /* secret; kept for packet_export() */
	struct cipher *cipher;	 /* NULL: no keys yet, packets are plain */
	struct cipher_pos pos;
	struct packet_counters total;
	uint64_t bytes_since_keys;
	struct zstream *zlib; /* NULL: not compressing */
};

/*
 * The output ring. Its content is [head, tail), or, once it has wrapped, [head,
 * wrap) and then [0, tail). A packet never crosses the end. The first `kept`
 * bytes of the content were sent already; there are such only with a struct
 * packet_keep.
 */
struct packet_ring {
	uint8_t *data;
	size_t cap, head, tail, wrap, kept;
	bool wrapped;
};

struct packet_keep;

/* May the keys of h protect one more packet? ERR_LIMIT (which is logged): they
 * have protected PACKET_KEYS_MAX, and no new keys could be agreed on. */
int packet_may_count(const struct packet_half *h) must_check;

/* packet-trial.c finds out by trying whether threads make the connection
 * faster, and in which form. It has the table of phases that may follow each
 * phase. */
enum packet_phase {
	PACKET_SERIAL, /* no threads */
	PACKET_TRY_PIPELINE,
	PACKET_TRY_KEYSTREAM,
	PACKET_KEEP_PIPELINE, /* measured: this form stays */
	PACKET_KEEP_KEYSTREAM,
};

enum {
	PACKET_WINDOW_MS = 200, /* a shorter time is not measured */
	PACKET_WINDOW_BYTES = 4 * 1024 * 1024, /* fewer give no usable rate */
	PACKET_BACKOFF_FIRST_MS = 10 * 1000,
	PACKET_BACKOFF_MAX_MS = 5 * 60 * 1000,
};

struct packet_trial {
	size_t threads_max;  /* 0: no threads ever */
	enum packet_form form; /* as packet_set_form() asked for */
	bool keystream_denied;
	bool has_second; /* keystream is to be tried after the pipeline */
	enum packet_phase phase;
	double first_rate;   /* bytes a ms, of the pipeline */
	unsigned windows;    /* measured with the threads that run now */
	unsigned slow, idle; /* how many of the last windows were, in a row */
	uint64_t start_ms, start_cpu_ms, start_bytes; /* of this window */
	double serial_rate;  /* bytes a ms, before the threads started */
	uint64_t retry_ms;   /* no threads are started before this time */
	uint32_t backoff_ms; /* last wait before retry_ms; it doubles */
};

/* A window is a period of time in which is measured; this is its result. */
struct packet_window {
	uint64_t now_ms;
	uint64_t ms, cpu_ms; /* its length; CPU time of the loop thread */
	uint64_t bytes;	     /* moved in the window */
	uint64_t total;	     /* moved since the connection began */
	size_t threads;	     /* that helped in the window */
};

enum packet_verdict {
	PACKET_THREADS_KEEP, /* go on as it is */
	PACKET_THREADS_START,
	PACKET_THREADS_OTHER, /* change from pipeline to keystream or back */
	PACKET_THREADS_STOP,
};

struct packet_sending {
	struct packet_ring ring;
	struct packet_keep *keep; /* NULL: sent packets are not kept
				   * (packet-keep.c) */
	size_t unsent;	     /* bytes the kernel may keep; 0: its own limit */
	uint64_t sampled_ms; /* when unsent was last decided */
	bool postponing; /* between our KEXINIT and our NEWKEYS */
	struct buf postponed; /* messages to send after NEWKEYS, as strings */
	bool recording;
	struct buf recorded; /* for packet_replay(): messages as strings */
	uint8_t *bulk; /* packet between bulk_begin and _commit, or NULL */
	size_t bulk_max;
	struct buf plain; /* the payload in compressed form */
	size_t unencrypted; /* bytes at the ring's end; each packet is a job */
	size_t since_wake; /* bytes posted since threads were last woken */
	int err;      /* error of a job; packet_flush() returns it */
};

/*
 * The input is [off, end) of buf. With threads, packets before off may not be
 * taken back from them yet: these may not move. So reading continues behind
 * end, and when buf is full, in the other buffer.
 */
struct packet_receiving {
	uint8_t *buf;
	size_t cap, off, end;
	unsigned which;	  /* is buf the first or the second buffer? 0, 1 */
	size_t jobs[2];	  /* posted packets not taken yet, by buffer */
	uint8_t *other;	  /* the second buffer; NULL until it is needed */
	size_t other_cap; /* bytes */
	bool dry;	  /* the last read took all that there was */
	int err;	  /* to return after all posted packets are taken */
	bool have_len;	  /* len is that of the packet at off */
	bool refused;	  /* the packet was refused, which the peer must not
			   * see yet; len: its bytes that were authenticated */
	size_t passed;	  /* bytes read since the refused packet began */
	uint32_t len;
	uint32_t seqnr;	  /* of the last payload that was returned */
	uint8_t type;	  /* of its message */
	struct buf plain; /* inflated payload */
	enum packet_expect expect;
	unsigned id_lines; /* lines before the identification */
};

struct packet_rekey {
	uint64_t bytes;
	uint32_t seconds;
	uint64_t keyed_ms; /* when the keys were set, monotonic */
};

struct packet_threads {
	size_t keystream; /* threads a direction that make keystream; or 0 */
	struct pipeline *pipe; /* NULL: no threads, or those of keystream */
	struct packet_trial trial;
	void (*notify)(void *arg);
	void *notify_arg;
};

struct packet {
	int fd_in, fd_out;
	bool server, authenticated, proxied;
	struct packet_half half[2]; /* by enum packet_dir */
	struct packet_sending tx;
	struct packet_receiving rx;
	struct packet_rekey rekey;
	struct packet_threads threads;
	uint32_t disconnect_reason;
	char disconnect_text[512];
};

/* packet-tx.c: packet_ring_used() is the number of bytes in the ring, kept ones
 * included; packet_ring_drop() takes len bytes off its front. */
size_t packet_ring_used(const struct packet_ring *r);
void packet_ring_drop(struct packet_ring *r, size_t len);
/* Puts a message at once, even while keys are exchanged. */
int packet_put_now(struct packet *p, const uint8_t *payload,
    size_t len) must_check;

/* packet-keep.c, for packet-tx.c and packet.c. packet_keep_put() is called
 * before a packet of size bytes is sealed, whose message has that type. */
int packet_keep_put(struct packet *p, uint8_t type, size_t size) must_check;
/* Is called when bytes were written: those that cannot be asked for again are
 * dropped. */
void packet_keep_written(struct packet *p);
/* Is called when new keys for sending are in use. ERR_UNSUPPORTED: packets that
 * they seal could not be opened here again. */
int packet_keep_new_keys(struct packet *p) must_check;
/* True if so much is kept that bulk has to wait. */
bool packet_keep_is_full(const struct packet *p);
int packet_keep_on_received(struct packet *p, struct rd *r) must_check;
void packet_keep_free(struct packet_keep *k);

/* packet-keep-pace.c: finds the limit of what is kept; a pure state. acked:
 * number of acknowledged bytes, which only grows; limited: bulk has waited
 * because of the limit since the last call. */
enum { PACKET_KEEP_MIN = 1024 * 1024 }; /* lowest limit, if the grant allows
					 * that much */
enum packet_keep_trial {
	PACKET_KEEP_STEADY,
	PACKET_KEEP_UP,
	PACKET_KEEP_DOWN,
};
struct packet_keep_pace {
	size_t limit; /* bytes at which bulk waits */
	size_t max;
	enum packet_keep_trial trial;
	bool limited;		 /* in this window */
	bool idle;		 /* no window is measured, because all was
				  * acknowledged */
	bool judged;		 /* a window was measured to its end */
	uint64_t round_trip_ms;	 /* the least that was seen */
	uint64_t start_ms, start_acked; /* of this window */
	uint64_t before;	 /* bytes a second in the last window */
	size_t before_limit;
	uint64_t next_up_ms, next_down_ms; /* no trial before these */
	uint32_t up_backoff_ms, down_backoff_ms;
};
/* Lowers the limit to max, and keeps it below from now on. */
void packet_keep_pace_limit(struct packet_keep_pace *t, size_t max);
void packet_keep_pace_begin(struct packet_keep_pace *t, size_t max,
    uint64_t now_ms);
/* A message before which all was acknowledged was so itself after ms. */
void packet_keep_pace_round_trip(struct packet_keep_pace *t, uint64_t ms);
/* Is called when all is acknowledged: measuring begins anew. */
void packet_keep_pace_idle(struct packet_keep_pace *t);
void packet_keep_pace_acked(struct packet_keep_pace *t, uint64_t acked,
    bool limited, uint64_t now_ms);

/* For packet-resume.c: the packets of the ring, from its front. Before them
 * there are `before` bytes without an entry. */
struct packet_row {
	uint32_t *v; /* a ring: sizes in bytes, with a bit for packets whose
		      * message is counted */
	size_t cap, first, n;
	size_t before;		 /* bytes of packets that have no entry */
	struct cipher_pos front; /* of the first one */
};
/* Takes the first packet off the row, which a cipher such as c has sealed, and
 * returns its bytes. */
size_t packet_row_next(struct packet_row *w, const struct cipher *c,
    bool *counted);
/* Drops the messages that the peer has received, by its number. */
int packet_keep_drop(struct packet *p, uint64_t received) must_check;
/* Begins with a new ring, after a change of transports. *old becomes the row of
 * the old ring, which the caller frees. */
void packet_keep_begin_again(struct packet *p, struct packet_row *old);

/* The protocol allows a packet of length rx.len. */
bool packet_rx_length_is_possible(const struct packet *p);
int packet_tx_raw(struct packet *p, const void *bytes, size_t len) must_check;
/* Sets the pieces of the ring's content in order; returns how many, 0 to 2. */
int packet_ring_pieces(const struct packet_ring *r, struct span piece[2]);
void packet_ring_clear(struct packet_ring *r);
/* Adapts tx.unsent to the rate at which the kernel sends. Called when the
 * socket is full, or took many bytes. */
void packet_pace(struct packet *p);
/* The bytes that the kernel may keep unsent at this rate. A pure function. */
size_t packet_unsent_for(uint64_t bytes_per_s);
/* The number of pending bytes at which bulk has to wait. */
size_t packet_tx_room(const struct packet *p);
/* Shrinks the input buffer to its first size, if the bytes in it fit. */
void packet_rx_trim(struct packet *p);
/* Takes back packets that threads have encrypted. wait: waits for all. */
void packet_tx_collect(struct packet *p, bool wait);
/* The verdict on a window that has ended; also sets t->phase to match it. */
enum packet_verdict packet_trial_judge(struct packet_trial *t,
    const struct packet_window *w);
/* Runs without threads until t->retry_ms, as they did not pay or could not be
 * started. */
void packet_trial_give_up(struct packet_trial *t, uint64_t now_ms);
bool packet_phase_may_become(enum packet_phase from, enum packet_phase to);
/* Gives new keys to the pipeline's threads, if it has any. */
void packet_threads_set_keys(struct packet *p, enum packet_dir dir);
/* Can threads encrypt or decrypt with the keys of this direction? */
bool packet_threads_can(const struct packet *p, enum packet_dir dir);

#endif
