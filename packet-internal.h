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
	PACKET_GROWN = 128 * 1024,     /* of either: worth giving back */
	PACKET_TX_BULK = 1024 * 1024,  /* pending bytes at which bulk waits, on
					* a fast path (packet-pace.c) */
	PACKET_TX_MAX = 32 * 1024 * 1024, /* pending bytes at which we fail */
	PACKET_POSTPONED_MAX = 16 * 1024 * 1024, /* bytes, in a rekey */
	PACKET_POSTPONED_MAX_PREAUTH = 128 * 1024,
	/* Packets received before authentication. A login takes some dozens;
	 * there are no new keys in that time, so their number must stay far
	 * from where sequence numbers begin again. */
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

/* Packets under the keys of a direction, at most: then their numbers begin
 * again, and with these what is never to be used twice. New keys are due at
 * half of it (packet.c). */
#define PACKET_KEYS_MAX ((uint64_t)1 << 32)

struct packet_half {
	struct packet_keys keys; /* kept for export; secret */
	struct cipher *cipher;	 /* NULL: nothing protects yet */
	struct cipher_pos pos;
	struct packet_counters total;
	uint64_t bytes_since_keys;
	struct zstream *zlib; /* NULL: not compressing */
};

/*
 * The output ring: content is [head, tail), or, once it has wrapped,
 * [head, wrap) and then [0, tail). A packet never crosses the end.
 */
struct packet_ring {
	uint8_t *data;
	size_t cap, head, tail, wrap;
	bool wrapped;
};

/* May these keys protect one packet more? ERR_LIMIT, which was logged: no, as
 * new ones could not be had. */
int packet_may_count(const struct packet_half *h) must_check;

/* packet-trial.c: whether threads pay, and in which form, is found out by
 * trying; it has the table of what may follow each phase. */
enum packet_phase {
	PACKET_SERIAL, /* no threads */
	PACKET_TRY_PIPELINE,
	PACKET_TRY_KEYSTREAM,
	PACKET_KEEP_PIPELINE, /* measured: this form stays */
	PACKET_KEEP_KEYSTREAM,
};

enum {
	PACKET_WINDOW_MS = 200, /* the shortest that is measured */
	PACKET_WINDOW_BYTES = 4 * 1024 * 1024, /* moved in it, to say a thing */
	PACKET_BACKOFF_FIRST_MS = 10 * 1000,
	PACKET_BACKOFF_MAX_MS = 5 * 60 * 1000,
};

struct packet_trial {
	size_t threads_max;  /* 0: never */
	enum packet_form form; /* asked for */
	bool keystream_denied;
	bool has_second; /* keystream is worth a trial too */
	enum packet_phase phase;
	double first_rate;   /* bytes a ms, of the pipeline */
	unsigned windows;    /* measured with the threads that run now */
	unsigned slow, idle; /* of them, in a row */
	uint64_t start_ms, start_cpu_ms, start_bytes; /* of this window */
	double serial_rate;  /* bytes a ms, before the threads started */
	uint64_t retry_ms;   /* not again before */
	uint32_t backoff_ms;
};

/* A window of time, as it ends. */
struct packet_window {
	uint64_t now_ms;
	uint64_t ms, cpu_ms; /* its length; what of it the loop thread ran */
	uint64_t bytes;	     /* moved in it */
	uint64_t total;	     /* moved by the connection */
	size_t threads;	     /* that helped */
};

enum packet_verdict {
	PACKET_THREADS_KEEP, /* as it is */
	PACKET_THREADS_START,
	PACKET_THREADS_OTHER, /* the other form */
	PACKET_THREADS_STOP,
};

struct packet_sending {
	struct packet_ring ring;
	size_t unsent;	     /* bytes the kernel may keep; 0: its own limit */
	uint64_t sampled_ms; /* when that was last decided */
	bool postponing; /* between own KEXINIT and own NEWKEYS */
	struct buf postponed; /* messages for then, as strings */
	bool recording;
	struct buf recorded; /* as strings */
	uint8_t *bulk; /* the packet that is being filled, or NULL */
	size_t bulk_max;
	struct buf plain; /* scratch for compression */
	size_t unencrypted; /* bytes at the end of the ring, a job a packet */
	size_t since_wake; /* of them: posted since threads were last woken */
	int err;      /* of a job */
};

/*
 * The input is [off, end) of buf. With threads, what lies before off may still
 * be in their hands; then reading goes on behind it, and after that in the
 * other buffer.
 */
struct packet_receiving {
	uint8_t *buf;
	size_t cap, off, end;
	unsigned which;	  /* which of the two is in use, 0 or 1 */
	size_t jobs[2];	  /* packets in each that were not taken */
	uint8_t *other;	  /* NULL until it is needed */
	size_t other_cap; /* bytes */
	bool dry;	  /* the last read took all that there was */
	int err;	  /* comes after what is with the threads */
	bool have_len;	  /* length of the packet at off is known */
	bool refused;	  /* a packet, but the peer must not see it yet; len
			   * is what was authenticated of it */
	size_t passed;	  /* bytes since it began */
	uint32_t len;
	uint32_t seqnr;	  /* of the payload given last */
	struct buf plain; /* inflated payload */
	enum packet_expect expect;
	unsigned id_lines; /* lines before the identification */
};

struct packet_rekey {
	uint64_t bytes;
	uint32_t seconds;
	uint64_t keyed_ms; /* monotonic */
};

struct packet_threads {
	size_t keystream; /* threads of each direction that make it; 0: none */
	struct pipeline *pipe; /* NULL: serial, or keystream */
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

int packet_tx_raw(struct packet *p, const void *bytes, size_t len) must_check;
/* The ring's content in order, at most two pieces; number of pieces. */
int packet_ring_pieces(const struct packet_ring *r, struct span piece[2]);
void packet_ring_clear(struct packet_ring *r);
/* Called when the socket is full, or took much: adapts to what it sends. */
void packet_pace(struct packet *p);
/* Bytes that may be unsent in the kernel at this rate: a pure function. */
size_t packet_unsent_for(uint64_t bytes_per_s);
/* Pending bytes at which bulk waits. */
size_t packet_tx_room(const struct packet *p);
/* The input buffer at its first size, if what is in it allows that. */
void packet_rx_trim(struct packet *p);
/* Takes back the packets that threads have encrypted; wait: all of them. */
void packet_tx_collect(struct packet *p, bool wait);
/* The verdict on a window that is over; the phase follows it. */
enum packet_verdict packet_trial_judge(struct packet_trial *t,
    const struct packet_window *w);
/* No threads for a while: they did not pay, or could not be had. */
void packet_trial_give_up(struct packet_trial *t, uint64_t now_ms);
bool packet_phase_may_become(enum packet_phase from, enum packet_phase to);
/* New keys for the threads, if there are any. */
void packet_threads_set_keys(struct packet *p, enum packet_dir dir);
/* Can threads encrypt or decrypt with the keys of this direction? */
bool packet_threads_can(const struct packet *p, enum packet_dir dir);

#endif
