/* SPDX-License-Identifier: ISC */
/*
 * The binary packet protocol (RFC 4253 section 6): framing, protection of
 * packets, reading and writing the socket. It knows nothing of key exchange: it
 * says when new keys are due, and is given them.
 *
 * Sending: small messages are composed in a struct buf and copied. Bulk data is
 * read by the caller straight to where the packet lies in the output ring. All
 * encrypted packets leave in one write.
 * Receiving: one large read fills the input buffer. Packets are decrypted in
 * place, and the caller borrows their payloads.
 *
 * Threads: loop thread only; worker threads may encrypt and decrypt for it.
 */
#ifndef HPN_PACKET_H
#define HPN_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "cipher.h"

/* RFC 4250 section 4.1 and what OpenSSH adds. */
enum ssh_msg {
	SSH_MSG_DISCONNECT = 1,
	SSH_MSG_IGNORE = 2,
	SSH_MSG_UNIMPLEMENTED = 3,
	SSH_MSG_DEBUG = 4,
	SSH_MSG_SERVICE_REQUEST = 5,
	SSH_MSG_SERVICE_ACCEPT = 6,
	SSH_MSG_EXT_INFO = 7,
	SSH_MSG_KEXINIT = 20,
	SSH_MSG_NEWKEYS = 21,
	SSH_MSG_KEX_INIT = 30, /* ECDH, DH, hybrids: client's value */
	SSH_MSG_KEX_REPLY = 31,
	SSH_MSG_GEX_GROUP = 31,
	SSH_MSG_GEX_INIT = 32,
	SSH_MSG_GEX_REPLY = 33,
	SSH_MSG_GEX_REQUEST = 34,
	/* RFC 4462 section 2.1 */
	SSH_MSG_KEXGSS_INIT = 30,
	SSH_MSG_KEXGSS_CONTINUE = 31,
	SSH_MSG_KEXGSS_COMPLETE = 32,
	SSH_MSG_KEXGSS_HOSTKEY = 33,
	SSH_MSG_KEXGSS_ERROR = 34,
	SSH_MSG_KEXGSS_GROUPREQ = 40,
	SSH_MSG_KEXGSS_GROUP = 41,
	SSH_MSG_USERAUTH_REQUEST = 50,
	SSH_MSG_USERAUTH_FAILURE = 51,
	SSH_MSG_USERAUTH_SUCCESS = 52,
	SSH_MSG_USERAUTH_BANNER = 53,
	SSH_MSG_USERAUTH_PK_OK = 60,
	SSH_MSG_USERAUTH_PASSWD_CHANGEREQ = 60,
	SSH_MSG_USERAUTH_INFO_REQUEST = 60,
	SSH_MSG_USERAUTH_INFO_RESPONSE = 61,
	SSH_MSG_USERAUTH_RESUME_OK = 60, /* ours, docs/PROTOCOL.md: resume@ */
	SSH_MSG_USERAUTH_GSSAPI_RESPONSE = 60, /* RFC 4462 */
	SSH_MSG_USERAUTH_GSSAPI_TOKEN = 61,
	SSH_MSG_USERAUTH_GSSAPI_EXCHANGE_COMPLETE = 63,
	SSH_MSG_USERAUTH_GSSAPI_ERROR = 64,
	SSH_MSG_USERAUTH_GSSAPI_ERRTOK = 65,
	SSH_MSG_USERAUTH_GSSAPI_MIC = 66,
	SSH_MSG_GLOBAL_REQUEST = 80,
	SSH_MSG_REQUEST_SUCCESS = 81,
	SSH_MSG_REQUEST_FAILURE = 82,
	SSH_MSG_CHANNEL_OPEN = 90,
	SSH_MSG_CHANNEL_OPEN_CONFIRMATION = 91,
	SSH_MSG_CHANNEL_OPEN_FAILURE = 92,
	SSH_MSG_CHANNEL_WINDOW_ADJUST = 93,
	SSH_MSG_CHANNEL_DATA = 94,
	SSH_MSG_CHANNEL_EXTENDED_DATA = 95,
	SSH_MSG_CHANNEL_EOF = 96,
	SSH_MSG_CHANNEL_CLOSE = 97,
	SSH_MSG_CHANNEL_REQUEST = 98,
	SSH_MSG_CHANNEL_SUCCESS = 99,
	SSH_MSG_CHANNEL_FAILURE = 100,
	SSH_MSG_PING = 192,
	SSH_MSG_PONG = 193,
	SSH_MSG_RECEIVED = 200, /* ours, docs/PROTOCOL.md: survive@ */
};

/* Messages of the key exchange (RFC 4250 section 4.1.1). */
static inline bool
ssh_msg_is_kex(uint8_t type)
{
	return type >= SSH_MSG_KEXINIT && type < SSH_MSG_USERAUTH_REQUEST;
}

/* RFC 4253 section 11.1 */
enum ssh_disconnect {
	SSH_DISCONNECT_PROTOCOL_ERROR = 2,
	SSH_DISCONNECT_KEY_EXCHANGE_FAILED = 3,
	SSH_DISCONNECT_MAC_ERROR = 5,
	SSH_DISCONNECT_COMPRESSION_ERROR = 6,
	SSH_DISCONNECT_SERVICE_NOT_AVAILABLE = 7,
	SSH_DISCONNECT_HOST_KEY_NOT_VERIFIABLE = 9,
	SSH_DISCONNECT_CONNECTION_LOST = 10,
	SSH_DISCONNECT_BY_APPLICATION = 11,
	SSH_DISCONNECT_TOO_MANY_CONNECTIONS = 12,
	SSH_DISCONNECT_NO_MORE_AUTH_METHODS = 14,
};

enum packet_dir { PACKET_TX, PACKET_RX };

/* Key material of one direction, as kex derives it. */
struct packet_keys {
	const struct cipher_alg *cipher;
	const struct mac_alg *mac; /* NULL with an AEAD */
	bool compress; /* zlib@openssh.com: from authentication on */
	uint8_t key[CIPHER_KEY_MAX];
	uint8_t iv[CIPHER_IV_MAX];
	uint8_t mac_key[MAC_KEY_MAX_LEN];
};

/* Totals of one direction, since the connection began. */
struct packet_counters {
	uint64_t bytes;	  /* on the wire */
	uint64_t packets;
	uint64_t payload; /* bytes of payloads */
	/* Bytes of the payloads that were compressed, in both forms; 0 if
	 * none were. */
	uint64_t compressed, inflated;
};

struct packet;

/* The descriptors are borrowed, and are made non-blocking; they may be the
 * same. NULL: out of memory. packet_free() wipes the keys. */
struct packet *packet_new(int fd_in, int fd_out, bool server);
void packet_free(struct packet *p);
int packet_fd_in(const struct packet *p);
int packet_fd_out(const struct packet *p);
bool packet_is_server(const struct packet *p);

/* Identification strings (RFC 4253 section 4.2), which precede all packets.
 * line has no CR LF. packet_read_identification(): 1 with *line (caller frees),
 * 0 if more input is needed, or an error. Lines that the peer sends before its
 * identification are given to other() (client), or are an error (server). */
int packet_put_identification(struct packet *p, const char *line) must_check;
int packet_read_identification(struct packet *p, char **line,
    void (*other)(void *arg, const char *text), void *arg) must_check;

/* Receiving. packet_fill() does one read(2): its bytes, ERR_AGAIN, ERR_CLOSED
 * at the end of file, or ERR_SYSTEM. packet_next(): 1 with the payload (message
 * type first), valid until packet_fill() or packet_next() is called again; 0 if
 * there is no whole packet; or an error. It handles IGNORE, DEBUG,
 * UNIMPLEMENTED, PING and PONG itself, once they are allowed. DISCONNECT gives
 * ERR_DISCONNECTED. ERR_LIMIT: more packets than any login needs came before
 * authentication. */
int packet_fill(struct packet *p) must_check;
int packet_next(struct packet *p, struct rd *payload) must_check;
/* The sequence number of the packet that packet_next() returned last. */
uint32_t packet_rx_seqnr(const struct packet *p);
/* The peer's reason after ERR_DISCONNECTED: escaped text, static until the next
 * call. */
const char *packet_disconnect_text(const struct packet *p,
    uint32_t *reason);

/* Copies msg (message type first) to the output. Between our KEXINIT and our
 * NEWKEYS, messages other than those of key exchange (1-4, 7, 20-49) are
 * postponed: they are sent after NEWKEYS, in order. */
int packet_put(struct packet *p, const struct buf *msg) must_check;
/* While recording, packet_put() also keeps a copy of each message. So messages
 * that were sent optimistically can be sent again, in order (packet_replay()),
 * or the copies be dropped (packet_forget()); both end the recording. Bulk is
 * not recorded. */
void packet_record(struct packet *p, bool on);
int packet_replay(struct packet *p) must_check;
void packet_forget(struct packet *p);
/* packet_bulk_begin() gives room for a payload of at most max bytes; NULL if
 * none can be sent now (keys change, the output is full, no memory).
 * packet_bulk_commit() sends the first len bytes of it; 0: gives the room back.
 * Nothing else may be put between the two. */
size_t packet_bulk_max(const struct packet *p); /* for this path */
uint8_t *packet_bulk_begin(struct packet *p, size_t max);
int packet_bulk_commit(struct packet *p, size_t len) must_check;
/* Writes encrypted packets: 0 if the socket takes more (without threads all is
 * written then), ERR_AGAIN if the caller has to wait, or an error. */
int packet_flush(struct packet *p) must_check;
size_t packet_tx_pending(const struct packet *p); /* bytes not yet written */
/* True if so few bytes wait to be written that messages which can wait, such as
 * those of raw channels, may be put without delaying bulk. */
bool packet_has_room(const struct packet *p);
/* The bytes that are encrypted and wait for nothing but the socket. */
size_t packet_tx_ready(const struct packet *p);
/* Tries to send a DISCONNECT message. The caller still has to free p. */
void packet_disconnect(struct packet *p, enum ssh_disconnect reason,
    const char *text);

/* New keys: for the messages put (tx) or the packets read (rx) from now on.
 * strict: the sequence number starts at 0 again. */
int packet_set_keys(struct packet *p, enum packet_dir dir,
    const struct packet_keys *keys, bool strict) must_check;
/* Names of the algorithms in use; "none" if there are no keys. */
const char *packet_cipher_name(const struct packet *p, enum packet_dir dir);
const char *packet_mac_name(const struct packet *p, enum packet_dir dir);
/* true: our KEXINIT is out; packet_put() postpones messages. false: our NEWKEYS
 * is out; they are sent. */
int packet_postpone(struct packet *p, bool hold) must_check;
/* Which messages may arrive; all others are ERR_PROTOCOL. */
enum packet_expect {
	PACKET_EXPECT_ANY,
	PACKET_EXPECT_KEX,    /* 1-4, 7, 20-49: between the peer's KEXINIT and
			       * its NEWKEYS (RFC 4253 section 7.1) */
	PACKET_EXPECT_STRICT, /* DISCONNECT, 20-49: first strict exchange */
	PACKET_EXPECT_CONNECTION, /* 80-100: through a master's proxy */
};
void packet_set_expect(struct packet *p, enum packet_expect expect);
/*
 * To be called before anything else is sent or read: the peer is no server but
 * a master of this user, which shares its connection (-O proxy). There are no
 * keys. A packet is its length, the length of the padding, a message of the
 * connection protocol, and the padding. The user counts as authenticated.
 */
void packet_set_proxied(struct packet *p);
/* The user is authenticated: zlib@openssh.com starts, if it was agreed on. */
int packet_authenticated(struct packet *p) must_check;
bool packet_is_authenticated(const struct packet *p);

/* Rekey limits: bytes (0: the cipher's own limit) and seconds (0: none). */
void packet_set_rekey_limit(struct packet *p, uint64_t bytes,
    uint32_t seconds);
bool packet_rekey_due(const struct packet *p);
/* Seconds until the time limit for the keys is reached; 0: no time limit. */
uint32_t packet_rekey_wait_s(const struct packet *p);

struct packet_counters packet_counters(const struct packet *p,
    enum packet_dir dir);

/*
 * Threads help in one of two forms: the pipeline (pipeline.h) encrypts and
 * decrypts bulk packets, or the keystream of CTR is precomputed (cipher.h). max
 * is how many threads there may be at the same time, for the keystream in each
 * direction: 0 (at first) is none; PACKET_THREADS_AUTO is as many as there are
 * processors, without the one for the loop. Threads start when the user is
 * authenticated, much data is moved, and the loop thread limits the rate. They
 * stop when the connection is not faster with them, and when it idles. If both
 * forms are possible and AES is slow on this CPU, both are tried, and the
 * faster one stays. If no threads can be started the connection works without.
 *
 * packet_set_form() names a form that starts at once, without a trial, and
 * stays. If it is the keystream, and the cipher has none or it is denied, the
 * choice is as for PACKET_FORM_AUTO. SSH_CIPHER_THREADS (1..32) in the
 * environment is the number of threads that precompute keystream.
 *
 * packet_poll() starts and stops threads. It is called each turn, and again
 * after the milliseconds that it returns (0: no need). packet_prepare_wait() is
 * called before the loop waits. False: packet_flush() or, if reading,
 * packet_next() has work to collect now. True: notify will be called, by any
 * thread, when there is some.
 */
enum { PACKET_THREADS_AUTO = -1 };
void packet_set_threads(struct packet *p, int max);
enum packet_form {
	PACKET_FORM_AUTO,
	PACKET_FORM_SERIAL,
	PACKET_FORM_PIPELINE,
	PACKET_FORM_KEYSTREAM,
};
void packet_set_form(struct packet *p, enum packet_form form,
    bool deny_keystream);
void packet_set_notify(struct packet *p, void (*notify)(void *arg),
    void *arg);
uint32_t packet_poll(struct packet *p);
bool packet_prepare_wait(struct packet *p, bool reading);
/* Starts threads at once, without a trial; returns how many run.
 * packet_threads_stop() may be called at any time. */
size_t packet_threads_start(struct packet *p, size_t threads);
size_t packet_keystream_start(struct packet *p, size_t threads);
void packet_threads_stop(struct packet *p);
size_t packet_threads(const struct packet *p);
/* True if packets were posted to be decrypted that packet_next() has not
 * returned yet, even if the threads have ended. */
bool packet_rx_posted(const struct packet *p);

/* packet_is_grown(): traffic has enlarged a buffer. packet_trim(): shrinks the
 * buffers that are not in use to their first size. */
bool packet_is_grown(const struct packet *p);
void packet_trim(struct packet *p);

/* Hands a connection over to another (trusted) process of ours: all state, with
 * the bytes that are not yet read or written. packet_import() builds the
 * ciphers anew from the keys. */
int packet_export(const struct packet *p, struct buf *out) must_check;
int packet_import(struct packet *p, struct rd *in) must_check;

#endif
