/* SPDX-License-Identifier: ISC */
/*
 * Key exchange and rekey (RFC 4253 sections 7-9, 4419, 8308, 9142; strict
 * key exchange): a state machine that is driven by the messages that arrive.
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
	/* Client: is this the host's key? Called once the signature over the
	 * exchange hash is verified, in the first exchange and every other.
	 * 0 or an error (ERR_HOSTKEY...). */
	int (*check_hostkey)(void *arg, struct span blob, const char *alg);
	/* Server: public blob of the host key that serves alg. */
	int (*hostkey_blob)(void *arg, const char *alg, struct buf *blob);
	/* Server: signature over data with that key. */
	int (*sign)(void *arg, const char *alg, struct span data,
	    struct buf *signature);
	/* The signature check, given by the caller so that kex knows no key
	 * types: 0 or ERR_SIGNATURE. */
	int (*verify)(void *arg, const char *alg, struct span blob,
	    struct span data, struct span signature);
	/* Server: our NEWKEYS of the initial exchange, and what belongs to
	 * it, are out; the client's are still to come. 0 or an error. May be
	 * NULL. */
	int (*keys_sent)(void *arg);
	/* An exchange is complete (both NEWKEYS); first = the initial one. */
	void (*done)(void *arg, bool first);
	/* EXT_INFO from the peer: called for each name and value. */
	void (*ext_info)(void *arg, struct span name, struct span value);
};

/* Key exchange by GSSAPI (RFC 4462 section 2): what whoever has the tickets or
 * the keytab does for it. An error ends the connection; the callee has logged
 * why. */
struct kex_gss_hooks {
	void *arg;
	/* Client: a ticket is wanted for an exchange after the first, which
	 * waits for kex_gss_ready(). */
	int (*prepare)(void *arg);
	/* Client: the first token of an exchange. It is there already. */
	int (*first)(void *arg, struct buf *token);
	/* The peer's token, and the answer to it, which may be empty, or with
	 * an error tell the peer why. */
	int (*step)(void *arg, struct span token, struct buf *out,
	    bool *complete);
	/* Client: did the server compute this MIC over the exchange hash? */
	int (*verify)(void *arg, struct span hash, struct span mic);
	/* Client: the server has shown a host key, for which Kerberos vouches
	 * and no signature. */
	int (*hostkey)(void *arg, struct span blob);
	/* Server: a MIC over the exchange hash. */
	int (*sign)(void *arg, struct span hash, struct buf *mic);
};

/* Life. Strings are copied. id_local and id_remote are the identification
 * lines without CR LF; id_remote NULL: not known yet, but before the peer's
 * KEXINIT is given to kex_input(); kex_import() brings it. */
int kex_new(struct kex **out, struct packet *p, const struct kex_hooks *hooks,
    const struct kex_proposal *mine, const char *id_local,
    const char *id_remote) must_check;
/* The key exchange of a connection that is a master's (packet_set_proxied()):
 * the first exchange was the master's, and there will be no other. Nothing is
 * known of it. */
int kex_new_proxied(struct kex **out, struct packet *p) must_check;
void kex_free(struct kex *k);
int kex_set_remote_id(struct kex *k, const char *id_remote) must_check;
/* Client: the first exchange sends a guessed packet behind KEXINIT (RFC 4253
 * section 7): the value of the first method. Right if the server's first
 * method and host key algorithm are ours; else it costs nothing but work. */
void kex_set_guess(struct kex *k, bool guess);
/* Before the first exchange, or an import: proposes these methods of GSSAPI (a
 * comma list) in front of the others. Where the first exchange was none of
 * them, a client does not propose them again. */
int kex_set_gss(struct kex *k, const struct kex_gss_hooks *hooks,
    const char *methods) must_check;
/* Client, once after prepare(): is there a ticket? Else this exchange is a
 * plain one. */
int kex_gss_ready(struct kex *k, bool ticket) must_check;
/* Client: a ticket is there before anybody has asked for a new exchange, so
 * there shall be one. Passed over while there is one. */
int kex_gss_renew(struct kex *k) must_check;
/* The last exchange was by GSSAPI. */
bool kex_is_gss(const struct kex *k);
/* The peer's first key exchange method and host key algorithm, as it offered
 * them last; false if there was no KEXINIT yet. Caller frees. */
bool kex_peer_first(const struct kex *k, char **kex, char **hostkey);
/*
 * The cipher "none" is never in a proposal; this adds it to those of later
 * exchanges, and with mac the MAC "none" too: as the first choice (client)
 * or the last one (server). KEX_NONE_NEVER, which is also the beginning,
 * takes it out again, and an exchange that comes to it all the same ends
 * the connection (ERR_DENIED). Not before authentication.
 */
enum kex_none { KEX_NONE_NEVER, KEX_NONE_FIRST, KEX_NONE_LAST };
void kex_set_none(struct kex *k, enum kex_none none, bool mac);

/* Server: moduli file for group exchange (copied; NULL: fixed groups). A
 * process that may not open files later gives a descriptor (borrowed, -1:
 * none), which takes precedence and serves one exchange. */
int kex_set_moduli(struct kex *k, const char *path) must_check;
void kex_set_moduli_fd(struct kex *k, int fd);
/* Server: value of server-sig-algs in EXT_INFO. */
int kex_set_sig_algs(struct kex *k, const char *list) must_check;

/* Server: what this user's keys may sign with, in a second EXT_INFO (RFC 8308
 * section 2.4), if the client said that it takes one before the end of user
 * authentication. */
int kex_put_user_sig_algs(const struct kex *k, const char *list) must_check;

/* Sends KEXINIT unless an exchange is running. ERR_UNSUPPORTED: keys are not
 * ours. */
int kex_start(struct kex *k) must_check;
/* A message of type 7 or 20-49. ERR_KEX_EARLY: the peer wants new keys
 * before packet_authenticated(): as a client ever, as a server too often. */
int kex_input(struct kex *k, struct rd payload) must_check;
/* An exchange is running (from own or the peer's KEXINIT to both NEWKEYS). */
bool kex_running(const struct kex *k);
bool kex_first_done(const struct kex *k);

/* Session identifier: empty until the first exchange is done. */
struct span kex_session_id(const struct kex *k);
/* The result of the last exchange; NULL: it is the master's. */
const struct kex_result *kex_result(const struct kex *k);
/* The server host key of the last exchange; empty: by GSSAPI, without one. */
struct span kex_hostkey(const struct kex *k);
/* Client, from the server's EXT_INFO; NULL or false if not given. */
const char *kex_server_sig_algs(const struct kex *k);
bool kex_peer_hostbound(const struct kex *k);
/* The peer's EXT_INFO said that it answers PING. */
bool kex_peer_pings(const struct kex *k);
/* The peer knows "agent-req" and "agent-connect". */
bool kex_peer_agent_forward(const struct kex *k);
/* The peer takes early messages for channels (channels.h), as we do. */
bool kex_peer_takes_early(const struct kex *k);
/* What the peer's identification line says of the peer: a set of enum
 * peer_trait. 0 before the line has come. */
uint32_t kex_peer_traits(const struct kex *k);
/* Names that the peer offered last, for error texts; NULL if none. */
const char *kex_peer_offer(const struct kex *k, int err);

/* Hand-over to another process of ours, with packet_export(). The peer's
 * identification line and its traits go along. */
int kex_export(const struct kex *k, struct buf *out) must_check;
int kex_import(struct kex *k, struct rd *in) must_check;

#endif
