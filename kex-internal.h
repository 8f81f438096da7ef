/* SPDX-License-Identifier: ISC */
/*
 * What the sources kex*.c share. Included by these only.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_KEX_INTERNAL_H
#define HPN_KEX_INTERNAL_H

#include "crypto/kem.h"
#include "kex.h"

/* The name lists of KEXINIT, in wire order. */
enum kex_list {
	KEX_LIST_KEX,
	KEX_LIST_HOSTKEY,
	KEX_LIST_CIPHER_CS,
	KEX_LIST_CIPHER_SC,
	KEX_LIST_MAC_CS,
	KEX_LIST_MAC_SC,
	KEX_LIST_COMP_CS,
	KEX_LIST_COMP_SC,
	KEX_LIST_LANG_CS,
	KEX_LIST_LANG_SC,
	KEX_LIST_COUNT,
};

enum {
	KEX_COOKIE_LEN = 16,
	KEX_SIG_ALGS_MAX = 4096, /* bytes of server-sig-algs */
	KEX_EXT_MAX = 1024,	 /* entries of an EXT_INFO */
	KEX_GEX_MIN = 2048,	 /* bits of a group, RFC 8270 */
	KEX_GEX_MAX = 8192,
	/* Exchanges that a server may begin between the first one and success
	 * of user authentication; some do, by the clock. */
	KEX_EARLY_MAX = 4,
	KEX_GSS_STEPS_MAX = 16,	       /* tokens of the peer in an exchange */
	KEX_GSS_TOKEN_MAX = 128 * 1024, /* bytes */
	KEX_GSS_TEXT_MAX = 1024,       /* of an error that is logged */
};

/* Group exchange (RFC 4419): the sizes asked for (bits), and the group. */
struct kex_gex {
	uint32_t min, want, max;
	bool got_group; /* GROUP was sent or received */
	struct buf prime, generator;
};

/* EXT_INFO (RFC 8308). */
struct kex_ext {
	char *sig_algs;	     /* server: what it will say */
	char *peer_sig_algs; /* client: what it said */
	bool peer_hostbound, peer_pings;
	bool peer_agent_forward; /* client */
	bool peer_takes_early;
	bool peer_wants; /* the peer's KEXINIT asked for it */
	bool peer_in_auth; /* server: it takes another one later */
};

/* A client without a ticket for a new exchange asks for one and waits. */
enum kex_gss_ticket {
	KEX_TICKET_UNKNOWN,
	KEX_TICKET_AWAITED,
	KEX_TICKET_THERE,
	KEX_TICKET_NONE,
};

/* Key exchange by GSSAPI. */
struct kex_gss {
	struct kex_gss_hooks hooks;
	char *methods; /* NULL: none */
	/* What the KEXINIT that is out says of methods and host keys, where
	 * that is not just the proposal; else NULL. */
	char *sent_kex, *sent_hostkeys;
	enum kex_gss_ticket ticket;
	bool peer_follows; /* of a KEXINIT that waits for our ticket */
	bool used;	   /* in the first exchange */
	/* The exchange that is running. */
	bool began, complete;
	unsigned steps;	    /* tokens of the peer */
	struct buf hostkey; /* as it is hashed: empty if there was none */
};

struct kex {
	struct packet *packet;
	struct kex_hooks hooks;
	bool server;
	bool proxied; /* keys are the master's: no exchange ever */
	char *mine[KEX_LIST_COUNT]; /* own proposal, without pseudo names */
	char *peer[KEX_LIST_COUNT]; /* the peer's last one */
	enum kex_none none; /* where "none" goes in later proposals */
	bool none_mac;
	/* What the KEXINIT that is out really says of ciphers and MACs. */
	char *sent_ciphers, *sent_macs;
	char *id_client, *id_server;
	uint32_t peer_traits; /* the other side's; peer-version.h */
	char *moduli_path;
	int moduli_fd; /* borrowed; -1: none */
	struct kex_ext ext;

	/* The exchange that is running. */
	struct buf my_init, peer_init; /* KEXINIT payloads */
	bool sent_init, got_init, sent_newkeys, got_newkeys;
	bool guess;	 /* client: send a guessed packet the first time */
	bool guessed;	 /* and it was sent in this exchange */
	bool skip_guess; /* drop one packet: the peer guessed wrong */
	const struct kem_alg *kem_alg;
	struct kem *kem;
	struct kex_gex gex;
	struct kex_gss gss;
	struct buf client_value;
	struct packet_keys tx, rx; /* secret, until NEWKEYS */

	/* The connection. */
	bool first_done, strict;
	int early; /* exchanges after the first, before authentication */
	uint8_t session_id[DIGEST_MAX_LEN];
	size_t session_id_len;
	struct buf hostkey;
	struct kex_result result;
};

/* kex.c */
/* Sends b (type first) and empties it. */
int kex_send_and_clear(struct kex *k, struct buf *b) must_check;
int kex_exchange_hash(const struct kex *k, struct span client_value,
    struct span server_value, const struct buf *shared,
    uint8_t *hash) must_check;
/* The secret is known to both: make keys, send NEWKEYS and use the tx ones. */
int kex_take_secret(struct kex *k, const struct buf *shared,
    const uint8_t *hash) must_check;
/* The messages of a group exchange that come before the values; with GSSAPI
 * they have other numbers. */
int kex_client_on_group(struct kex *k, struct rd r) must_check;
int kex_server_on_group_request(struct kex *k, struct rd r) must_check;
/* Goes on with the peer's KEXINIT, once our own is out. */
int kex_begin(struct kex *k, bool peer_follows) must_check;

/* kex-gss.c */
void kex_gss_free(struct kex *k);
void kex_gss_end_exchange(struct kex *k);
/* Does the KEXINIT that comes next propose methods of GSSAPI? */
bool kex_gss_offered(const struct kex *k);
/* Our KEXINIT has to wait for kex_gss_ready(): 1. */
int kex_gss_wait(struct kex *k) must_check;
int kex_gss_client_begin(struct kex *k) must_check;
int kex_gss_input(struct kex *k, uint8_t type, struct rd r) must_check;

/* kex-algs.c */
int kex_copy_proposal(char *to[KEX_LIST_COUNT],
    const struct kex_proposal *from) must_check;
int kex_compose_init(struct kex *k) must_check;
/* Reads the peer's lists and *follows; then agree() fills result, kem_alg
 * and the algorithms of tx and rx. */
int kex_parse_init(struct kex *k, struct rd r, bool *follows) must_check;
int kex_agree(struct kex *k) must_check;
/* The method that a guess would be about; NULL: none can be guessed. */
const struct kem_alg *kex_first_method(const struct kex *k);
bool kex_guess_is_right(const struct kex *k);
void kex_free_lists(char *lists[KEX_LIST_COUNT]);

#endif
