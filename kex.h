/* SPDX-License-Identifier: ISC */
/*
 * Key exchange and rekeying (RFC 4253 sections 7-9, 4419, 8308, 9142; strict
 * key exchange): a state machine, driven by the messages of the peer.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_KEX_H
#define HPN_KEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "packet.h"

/* Name lists of RFC 4253 section 7.1, without pseudo names (kex adds
 * ext-info-* and kex-strict-* itself). Borrowed strings. */
struct kex_proposal {
	const char *kex;
	const char *hostkey;
	const char *cipher; /* both directions */
	const char *mac;
	const char *compression; /* "none", "none,zlib@openssh.com"... */
};

/* The result of an exchange, for logs, ~I and tests. */
struct kex_result {
	const char *kex;
	char *hostkey_alg; /* owned by kex */
	const char *cipher_tx, *cipher_rx;
	const char *mac_tx, *mac_rx; /* "<implicit>" with an AEAD */
	const char *comp_tx, *comp_rx;
	bool post_quantum;
};

struct kex;

struct kex_hooks {
	void *arg;
	/* Client: is this the host's key? 0, or an error (ERR_HOSTKEY...).
	 * Called in every exchange, after the signature over the exchange hash
	 * was verified. */
	int (*check_hostkey)(void *arg, struct span blob, const char *alg);
	/* Server: appends the public blob of its host key for alg. */
	int (*hostkey_blob)(void *arg, const char *alg, struct buf *blob);
	/* Server: signs data with its host key for alg. */
	int (*sign)(void *arg, const char *alg, struct span data,
	    struct buf *signature);
	/* Verifies a signature: 0 or ERR_SIGNATURE. A hook, so that kex need
	 * not know types of keys. */
	int (*verify)(void *arg, const char *alg, struct span blob,
	    struct span data, struct span signature);
	/* Server: in the first exchange our NEWKEYS was sent, with the EXT_INFO
	 * behind it; the client's NEWKEYS is still to come. 0 or an error. May
	 * be NULL. */
	int (*keys_sent)(void *arg);
	/* An exchange has ended: both NEWKEYS are used. first: the first one
	 * of the connection. */
	void (*done)(void *arg, bool first);
	/* Called for each name and value of the peer's EXT_INFO. */
	void (*ext_info)(void *arg, struct span name, struct span value);
};

/* Key exchange by GSSAPI (RFC 4462 section 2): the calls to the code that holds
 * the tickets or the keytab. An error ends the connection; the hook has logged
 * the reason. */
struct kex_gss_hooks {
	void *arg;
	/* Client: asks for a ticket for an exchange after the first one. The
	 * exchange waits for kex_gss_ready(). */
	int (*prepare)(void *arg);
	/* Client: appends the first token of an exchange; it is at hand. */
	int (*first)(void *arg, struct buf *token);
	/* Takes the peer's token, and appends the answer to out. The answer
	 * may be empty; with an error it tells the peer the reason. */
	int (*step)(void *arg, struct span token, struct buf *out,
	    bool *complete);
	/* Client: did the server compute this MIC over the exchange hash? */
	int (*verify)(void *arg, struct span hash, struct span mic);
	/* Client: the server has shown its host key. Kerberos vouches for the
	 * key; there is no signature. */
	int (*hostkey)(void *arg, struct span blob);
	/* Server: appends a MIC over the exchange hash. */
	int (*sign)(void *arg, struct span hash, struct buf *mic);
};

/* Strings are copied. id_local and id_remote are the identification lines
 * without CR LF. id_remote may be NULL if it is not known yet: it must be set
 * by kex_set_remote_id() or kex_import() before kex_input() is given the peer's
 * KEXINIT. */
int kex_new(struct kex **out, struct packet *p, const struct kex_hooks *hooks,
    const struct kex_proposal *mine, const char *id_local,
    const char *id_remote) must_check;
/* For a connection that is a master's (packet_set_proxied()): the master has
 * exchanged the keys, and nothing is known of that. No exchange ever runs. */
int kex_new_proxied(struct kex **out, struct packet *p) must_check;
void kex_free(struct kex *k);
int kex_set_remote_id(struct kex *k, const char *id_remote) must_check;
/* Client: in the first exchange a guessed packet follows KEXINIT (RFC 4253
 * section 7), with the value of our first method. The guess is right if the
 * server's first method and host key algorithm are ours. A wrong guess costs
 * only the work for the value. */
void kex_set_guess(struct kex *k, bool guess);
/* Proposes methods of GSSAPI (a comma list) in front of the other methods. To
 * be called before the first exchange, or before an import. If the first
 * exchange used none of them, a client does not propose them again. */
int kex_set_gss(struct kex *k, const struct kex_gss_hooks *hooks,
    const char *methods) must_check;
/* Client: ends the wait after prepare(), to be called once. ticket: there is
 * one; without it the exchange uses a method that is not GSSAPI's. */
int kex_gss_ready(struct kex *k, bool ticket) must_check;
/* Client: a new ticket is at hand though no exchange asked for it, so a new
 * exchange begins. Does nothing while one is running. */
int kex_gss_renew(struct kex *k) must_check;
/* The last exchange was by GSSAPI. */
bool kex_is_gss(const struct kex *k);
/* The first key exchange method and host key algorithm of the peer's last
 * KEXINIT; false if none has come yet. Caller frees. */
bool kex_peer_first(const struct kex *k, char **kex, char **hostkey);
/*
 * Allows the cipher "none" in later exchanges, and with mac also the MAC
 * "none": as the first choice (client) or the last one (server).
 * KEX_NONE_NEVER, the state at first, forbids it: an exchange that agrees on
 * "none" all the same ends the connection (ERR_DENIED). Not to be called before
 * authentication.
 */
enum kex_none { KEX_NONE_NEVER, KEX_NONE_FIRST, KEX_NONE_LAST };
void kex_set_none(struct kex *k, enum kex_none none, bool mac);

/* Server: the moduli file for group exchange (path copied; NULL: fixed groups).
 * A process that cannot open files later sets a descriptor instead (borrowed;
 * -1: none). The descriptor takes precedence, and serves one exchange. */
int kex_set_moduli(struct kex *k, const char *path) must_check;
void kex_set_moduli_fd(struct kex *k, int fd);
/* Server: sets the value of server-sig-algs that EXT_INFO tells. */
int kex_set_sig_algs(struct kex *k, const char *list) must_check;

/* For the server: sends a second EXT_INFO, with the algorithms that this user's
 * keys may sign with (RFC 8308 section 2.4), if the client accepts one during
 * user authentication. tickets and survive announce what kex_peer_tickets() and
 * kex_peer_survives() tell the client. */
struct kex_user_ext {
	const char *sig_algs;
	bool tickets, survive;
};
int kex_put_user_ext(const struct kex *k,
    const struct kex_user_ext *e) must_check;

/* Sends KEXINIT unless an exchange is running. ERR_UNSUPPORTED: the keys are a
 * master's. */
int kex_start(struct kex *k) must_check;
/* Handles a message of type 7 or 20-49. ERR_KEX_EARLY: the peer began a new
 * exchange before packet_authenticated(), which a client may never do, and a
 * server a few times. */
int kex_input(struct kex *k, struct rd payload) must_check;
/* An exchange is running (from own or the peer's KEXINIT to both NEWKEYS). */
bool kex_running(const struct kex *k);
bool kex_first_done(const struct kex *k);

/* The session identifier; empty until the first exchange has made it. */
struct span kex_session_id(const struct kex *k);
/* The result of the last exchange; NULL: a master made the exchange. */
const struct kex_result *kex_result(const struct kex *k);
/* The server's host key in the last exchange; empty if GSSAPI went without. */
struct span kex_hostkey(const struct kex *k);
/* Client: what the server's EXT_INFO said; NULL or false if it did not. */
const char *kex_server_sig_algs(const struct kex *k);
bool kex_peer_hostbound(const struct kex *k);
/* The peer's EXT_INFO said that it answers PING. */
bool kex_peer_pings(const struct kex *k);
/* The peer knows "agent-req" and "agent-connect". */
bool kex_peer_agent_forward(const struct kex *k);
/* True if the server has announced that it gives this user tickets
 * (ticket@hpnssh.org). */
bool kex_peer_tickets(const struct kex *k);
/* True if the server has announced that a session of this user may survive its
 * transport (survive@hpnssh.org). */
bool kex_peer_survives(const struct kex *k);
/* The peer takes early messages for channels (channels.h), and so do we. */
bool kex_peer_takes_early(const struct kex *k);
/* What the peer's identification line tells about its program: a set of enum
 * peer_trait. 0 until the line is there. */
uint32_t kex_peer_traits(const struct kex *k);
/* The server's identification line; NULL: not known yet. */
const char *kex_id_server(const struct kex *k);
/* The names that the peer offered in the list that err is about, for error
 * texts; NULL if there are none. */
const char *kex_peer_offer(const struct kex *k, int err);

/* Hands the state over to another process of ours, next to packet_export(). The
 * peer's identification line and its traits are part of it. */
int kex_export(const struct kex *k, struct buf *out) must_check;
int kex_import(struct kex *k, struct rd *in) must_check;

#endif
