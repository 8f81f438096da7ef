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
	/* Exchanges that a client lets the server begin between the first one
	 * and the success of authentication. Some servers renew keys by the
	 * clock. */
	KEX_EARLY_MAX = 4,
	KEX_GSS_STEPS_MAX = 16,	       /* the peer's tokens in an exchange */
	KEX_GSS_TOKEN_MAX = 128 * 1024, /* bytes */
	KEX_GSS_TEXT_MAX = 1024,       /* bytes of the peer's error to log */
};

/* Group exchange (RFC 4419): the sizes that the client asks for (bits), and the
 * group that the server chose. */
struct kex_gex {
	uint32_t min, want, max;
	bool got_group; /* GROUP was sent or received */
	struct buf prime, generator;
};

#define KEX_EXT_TICKET "ticket@hpnssh.org"
#define KEX_EXT_SURVIVE "survive@hpnssh.org"

/* What the two sides tell in EXT_INFO (RFC 8308). */
struct kex_ext {
	char *sig_algs;	     /* server: server-sig-algs to send */
	char *peer_sig_algs; /* client: server-sig-algs that came */
	bool peer_hostbound, peer_pings;
	bool peer_tickets; /* client; see kex_peer_tickets() */
	bool peer_survives; /* likewise, kex_peer_survives() */
	bool peer_agent_forward; /* client; see kex_peer_agent_forward() */
	bool peer_takes_early;
	bool peer_wants; /* the peer's KEXINIT asked for EXT_INFO */
	bool peer_in_auth; /* server: the client takes a second EXT_INFO */
};

/* Client: a new exchange by GSSAPI needs a ticket. If there is none, kex asks
 * for one (kex_gss_hooks.prepare), and the exchange waits. */
enum kex_gss_ticket {
	KEX_TICKET_UNKNOWN,
	KEX_TICKET_AWAITED,
	KEX_TICKET_THERE,
	KEX_TICKET_NONE,
};

/* Key exchange by GSSAPI. */
struct kex_gss {
	struct kex_gss_hooks hooks;
	char *methods; /* to propose, a comma list; NULL: none */
	/* The lists of methods and host key algorithms in our last KEXINIT;
	 * NULL if they are those of the proposal. */
	char *sent_kex, *sent_hostkeys;
	enum kex_gss_ticket ticket;
	bool peer_follows; /* the peer's KEXINIT, which waits for the ticket,
			    * said that a guessed packet follows */
	bool used;	   /* the first exchange was by GSSAPI */
	/* State of the running exchange: */
	bool began, complete;
	unsigned steps;	    /* tokens that the peer has sent */
	struct buf hostkey; /* for the exchange hash; empty: none was sent */
};

struct kex {
	struct packet *packet;
	struct kex_hooks hooks;
	bool server;
	bool proxied; /* the keys are a master's: no exchange ever runs */
	char *mine[KEX_LIST_COUNT]; /* our proposal, without pseudo names */
	char *peer[KEX_LIST_COUNT]; /* the lists of the peer's last KEXINIT */
	enum kex_none none; /* place of "none" in later proposals */
	bool none_mac;
	/* The ciphers and MACs of our last KEXINIT, with "none" in its
	 * place. */
	char *sent_ciphers, *sent_macs;
	char *id_client, *id_server;
	uint32_t peer_traits; /* a set of enum peer_trait */
	char *moduli_path;
	int moduli_fd; /* borrowed; -1: none */
	struct kex_ext ext;

	/* State of the running exchange: */
	struct buf my_init, peer_init; /* KEXINIT payloads */
	bool sent_init, got_init, sent_newkeys, got_newkeys;
	bool guess;	 /* client: the first exchange sends a guess */
	bool guessed;	 /* a guess was sent in this exchange */
	bool skip_guess; /* ignore one packet: the peer's wrong guess */
	const struct kem_alg *kem_alg;
	struct kem *kem;
	struct kex_gex gex;
	struct kex_gss gss;
	struct buf client_value;
	struct packet_keys tx, rx; /* secret; in use from NEWKEYS on */

	/* State of the connection: */
	bool first_done, strict;
	int early; /* later exchanges that began before authentication */
	uint8_t session_id[DIGEST_MAX_LEN];
	size_t session_id_len;
	struct buf hostkey;
	struct kex_result result;
};

/* kex.c */
/* Forgets the state of the running exchange, and wipes its secrets. */
void kex_end_exchange(struct kex *k);
/* Sends b, a message with its type, and empties b. */
int kex_send_and_clear(struct kex *k, struct buf *b) must_check;
int kex_exchange_hash(const struct kex *k, struct span client_value,
    struct span server_value, const struct buf *shared,
    uint8_t *hash) must_check;
/* Both sides have the shared secret: derives the keys, sends NEWKEYS and starts
 * to use the keys for sending. */
int kex_take_secret(struct kex *k, const struct buf *shared,
    const uint8_t *hash) must_check;
/* Handle the two messages of a group exchange that come before the values:
 * GROUP and REQUEST. With GSSAPI they have other message types. */
int kex_client_on_group(struct kex *k, struct rd r) must_check;
int kex_server_on_group_request(struct kex *k, struct rd r) must_check;
/* Continues the exchange when both KEXINITs are there. peer_follows: the peer's
 * says that a guessed packet follows. */
int kex_begin(struct kex *k, bool peer_follows) must_check;

/* kex-gss.c */
void kex_gss_free(struct kex *k);
void kex_gss_end_exchange(struct kex *k);
/* Will our next KEXINIT propose methods of GSSAPI? */
bool kex_gss_offered(const struct kex *k);
/* 1: our KEXINIT has to wait until kex_gss_ready() is called; 0: it need not;
 * or an error. */
int kex_gss_wait(struct kex *k) must_check;
int kex_gss_client_begin(struct kex *k) must_check;
int kex_gss_input(struct kex *k, uint8_t type, struct rd r) must_check;

/* kex-algs.c */
int kex_copy_proposal(char *to[KEX_LIST_COUNT],
    const struct kex_proposal *from) must_check;
int kex_compose_init(struct kex *k) must_check;
/* kex_parse_init() reads the lists of the peer's KEXINIT; *follows: a guessed
 * packet follows it. Then kex_agree() sets result, kem_alg and the algorithms
 * of tx and rx. */
int kex_parse_init(struct kex *k, struct rd r, bool *follows) must_check;
int kex_agree(struct kex *k) must_check;
/* Our first method, which a guess would be about; NULL: it cannot be
 * guessed. */
const struct kem_alg *kex_first_method(const struct kex *k);
bool kex_guess_is_right(const struct kex *k);
void kex_free_lists(char *lists[KEX_LIST_COUNT]);

#endif
