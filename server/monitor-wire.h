/* SPDX-License-Identifier: ISC */
/*
 * The requests that hpnsshd-auth and the user's session process may send to the
 * monitor. Messages with a length in front go over a socketpair: a request is a
 * u8 enum monitor_request and its fields; an answer is a u8 status and its
 * fields. The functions that send the requests of hpnsshd-auth are in
 * server/auth/auth-calls.h, those of the session process in
 * server/session/session-calls.h; neither program contains the functions of the
 * other.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_WIRE_H
#define HPN_SERVER_MONITOR_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/wire.h"
#include "conf/auth-method-table.h"

enum {
	MONITOR_MSG_MAX = 8 * 1024 * 1024, /* bytes; MONITOR_HAND_OVER carries
					    * queues */
	MONITOR_NAMES_MAX = 64 * 1024,	   /* bytes of a list of names */
	MONITOR_SECRET_MAX = 16 * 1024,	   /* bytes of a password, an answer */
	MONITOR_FD_SOCKET = 3,	/* in hpnsshd-auth: the connection */
	MONITOR_FD_MONITOR = 4, /* in hpnsshd-auth: to the monitor */
	MONITOR_LOG_FORCED = 0x80, /* flag of a level: LogVerbose names the
				    * line's place in the source */
};

/* argv[0] of an hpnsshd-auth that was started in advance: MONITOR_FD_SOCKET is
 * closed then, and the descriptor of the connection arrives over
 * MONITOR_FD_MONITOR. */
#define MONITOR_NAME_WAITS "hpnsshd-auth: [waiting]"

enum monitor_request {
	MONITOR_LOG = 1,	/* u8 level, perhaps with MONITOR_LOG_FORCED;
				 * text; no answer */
	MONITOR_SIGN,		/* alg, exchange hash; answer: signature */
	MONITOR_USER,		/* name, service; answer: struct monitor_user */
	/* MONITOR_TRY and MONITOR_TRY_ANSWER are answered by a struct
	 * monitor_verdict. */
	MONITOR_TRY,		/* u8 enum auth_method_id, and the fields that
				 * auth_read_WORD() of that method writes */
	MONITOR_TRY_ANSWER,	/* the client's message in a dialogue: its body,
				 * or all of it if struct auth_method says so.
				 * Only after MONITOR_PROMPTS */
	MONITOR_HAND_OVER,	/* state of packet and kex; no answer. It is the
				 * last request */
	/* Requests of the session process. */
	MONITOR_SIGN_REKEY,	/* fields and answer as MONITOR_SIGN */
	MONITOR_PTY,		/* answer: name, text to show; then the
				 * descriptors of master and slave. An empty
				 * name: no terminal was had, and no descriptors
				 * follow */
	MONITOR_PTY_END,	/* name: the session of this terminal is over */
	MONITOR_PROVE,		/* RSA alg, public blob of a host key; answer:
				 * signature for hostkeys-prove-00 */
	/* Requests of key exchange by GSSAPI: two of hpnsshd-auth, and two of
	 * the session process for rekeys. */
	MONITOR_GSS_STEP,	/* token; answer: see gss_exchange_step() */
	MONITOR_GSS_SIGN,	/* exchange hash; answer: MIC */
	MONITOR_GSS_STEP_REKEY,
	MONITOR_GSS_SIGN_REKEY,
	MONITOR_EVENT,		/* events (server/events/event.h), each as a
				 * string; of the session process; no answer */
	/* u32 tickets wanted for connections beside this one, u32 for one in
	 * its place; from the session process; answer: as that of
	 * tickets@hpnssh.org (docs/PROTOCOL.md) */
	MONITOR_TICKETS,
	MONITOR_LOST,		/* the connection is lost, and its client may
				 * come back; from the session process; no
				 * answer */
	/* u32 seconds and u32 bytes that are wanted; from the session process;
	 * answer: bool, and if it is true the fields of the reply to
	 * survive@hpnssh.org, then the descriptor of a socket (survive-talk.h)
	 */
	MONITOR_SURVIVE,
	MONITOR_SESSION,	/* bool: a session begins, or (false) has ended;
				 * answer: bool, whether MaxSessionsPerUser
				 * allows it. From the session process */
	MONITOR_SHARES,		/* from the session process; answer: the
				 * descriptor of a socket for datagrams, over
				 * which the two agree on the connection's share
				 * of limited rates (session-share.h) */
	/* fields of grant@hpnssh.org behind its version (docs/PROTOCOL.md);
	 * from the session process; answer: name of the grant, empty: none is
	 * given */
	MONITOR_GRANT,
	/* name of a grant; from the session process; answer: bool, whether the
	 * grant and all connections by it have ended */
	MONITOR_GRANT_END,
	/* name of a grant, SHA-256 of the client's receipt of what came by it;
	 * from the session process; no answer */
	MONITOR_RECEIPT,
	MONITOR_REQUEST_COUNT,
};

/* Lengths of datagrams about shares. The session process sends what it wants:
 * u64 out, u64 in (bytes a second), bool: divide the shares at once. The
 * monitor answers with its share: u64 out, u64 in. */
enum { MONITOR_SHARE_WANT = 17, MONITOR_SHARE_GOT = 16 };

enum monitor_result {
	MONITOR_FAILURE,
	MONITOR_SUCCESS, /* info: PAM's text, to be shown before the success; or
			  * empty */
	MONITOR_PARTIAL, /* the proof is right, but AuthenticationMethods asks
			  * for another method as well */
	MONITOR_KEY_OK,	 /* no proof yet: a signature with this key would be
			  * accepted */
	/* info: body of the method's prompt message. A method with several
	 * kinds of messages has a whole message in info, or nothing; its
	 * failures may carry a message, too. */
	MONITOR_PROMPTS,
	/* The user proved who they are, but the account may not log in now.
	 * info is PAM's text about it, or empty: it is shown, and the
	 * connection ends. */
	MONITOR_REFUSED,
	/* the user has too many connections: this one ends, with the text in
	 * info, which clients show even if they show no banners */
	MONITOR_TOO_MANY,
};

struct monitor_verdict {
	enum monitor_result result;
	char *methods;	    /* comma list of those that may continue; owned */
	struct buf info; /* see MONITOR_PROMPTS, _SUCCESS, _REFUSED,
			  * _TOO_MANY */
	bool counts;	    /* the try counts against MaxAuthTries */
	bool final;	    /* no further try is allowed: disconnect */
};
void monitor_verdict_clear(struct monitor_verdict *v);
void monitor_verdict_put(struct buf *b, const struct monitor_verdict *v);

struct monitor_user {
	char *methods; /* comma list of those that may continue; owned */
	char *banner;  /* text of Banner; NULL: none; owned */
	/* Algorithms for a second message with server-sig-algs; owned. */
	char *sig_algs;
	int max_auth_tries;
	bool invalid; /* the account is unknown or not allowed; for log lines
		       * only */
	bool tickets; /* LoginTickets: the client may be told that the server
		       * gives tickets */
	bool survive; /* Survive, likewise */
};
void monitor_user_clear(struct monitor_user *u);

/* The first message from the monitor to hpnsshd-auth. Strings are owned. */
struct monitor_params {
	char *ident; /* identification line to send */
	char *kex, *hostkey_algs, *ciphers, *macs, *compression;
	char *gss_kex;	 /* key exchange methods of GSSAPI; or NULL */
	char *sig_algs;	 /* list for server-sig-algs */
	char *pubkey_algs; /* algorithms that users' keys may sign by */
	char *methods;	   /* authentication methods that every user may begin
			    * with; or NULL */
	char *moduli;	 /* path of the file of groups; or NULL */
	/* Directory for chroot(). NULL: sshd is not the superuser's, so there
	 * is neither chroot() nor a change of identity. */
	char *chroot;
	uint32_t uid, gid; /* identity to take if there is a chroot */
	char *peer;	 /* "address port n", for log lines */
	char *remote;	 /* "address-n", for HPN's log lines */
	struct buf hostkeys; /* public blobs: see monitor_params_hostkey() */
	uint8_t salt[32];
	/* A wrong password or answer is refused no earlier than this; see
	 * dearest_us of struct decoys. */
	uint64_t floor_us;
	int log_level;
	struct strlist log_locations; /* see log_set_locations() */
};
void monitor_params_put(struct buf *b, const struct monitor_params *p);
int monitor_params_get(struct rd *r, struct monitor_params *p) must_check;
void monitor_params_clear(struct monitor_params *p);
/* The list of host keys in struct monitor_params: pairs of an algorithm and the
 * blob that serves it, so that hpnsshd-auth contains no code for keys. *blob is
 * borrowed from p. ERR_NOT_FOUND: no host key serves alg. */
void monitor_params_add_hostkey(struct buf *hostkeys, const char *alg,
    struct span blob);
int monitor_params_hostkey(const struct monitor_params *p, const char *alg,
    struct span *blob) must_check;

/* Sends a request and waits for its answer. r then reads the fields behind the
 * status, borrowed from answer. ERR_DENIED: the monitor refused. */
int monitor_call(int fd, const struct buf *request, struct buf *answer,
    struct rd *r) must_check;
int monitor_call_for_signature(int fd, enum monitor_request what,
    const char *alg, struct span data, struct buf *signature) must_check;
/* Gives the client's token to the monitor. `what` is MONITOR_GSS_STEP or
 * MONITOR_GSS_STEP_REKEY. ERR_DENIED: the client's ticket is not good, and out
 * has the token that tells the client why. */
int monitor_call_gss_step(int fd, enum monitor_request what,
    struct span token, struct buf *out, bool *complete) must_check;
/* Gets the MIC of hash. `what`: MONITOR_GSS_SIGN or MONITOR_GSS_SIGN_REKEY. */
int monitor_call_gss_sign(int fd, enum monitor_request what,
    struct span hash, struct buf *mic) must_check;
/* Reads a text that may be missing; NULL: it is. Caller frees. */
char *monitor_get_optional(struct rd *r, size_t max);

#endif
