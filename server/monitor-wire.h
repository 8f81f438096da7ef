/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd-auth and the user's session process may ask the monitor:
 * length-framed messages over a socketpair, u8 request and its fields one
 * way, u8 status and the answer's fields back. The calls of hpnsshd-auth are
 * in server/auth/auth-calls.h, those of the session process in
 * server/session/session-calls.h; neither program contains the other's.
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
	MONITOR_MSG_MAX = 8 * 1024 * 1024, /* bytes; a hand-over has queues */
	MONITOR_NAMES_MAX = 64 * 1024,	   /* bytes of a list of names */
	MONITOR_SECRET_MAX = 16 * 1024,	   /* of a password, an answer */
	MONITOR_FD_SOCKET = 3,	/* hpnsshd-auth's end of the connection */
	MONITOR_FD_MONITOR = 4, /* and of its socket to the monitor */
	MONITOR_LOG_FORCED = 0x80, /* logged because of its place */
};

/* Its name, if the connection will come over that socket. */
#define MONITOR_NAME_WAITS "hpnsshd-auth: [waiting]"

enum monitor_request {
	MONITOR_LOG = 1,	/* u8 level, perhaps MONITOR_LOG_FORCED;
				 * text; no answer */
	MONITOR_SIGN,		/* alg, exchange hash: signature */
	MONITOR_USER,		/* name, service: struct monitor_user */
	/* Each is answered by a struct monitor_verdict. */
	MONITOR_TRY,		/* u8 enum auth_method_id, the fields that
				 * this method's auth_read_WORD() writes */
	MONITOR_TRY_ANSWER,	/* body of the client's message in a dialogue,
				 * or the whole, see struct auth_method: only
				 * as the reply to MONITOR_PROMPTS */
	MONITOR_HAND_OVER,	/* packet and kex state; the last request */
	/* From the session process. */
	MONITOR_SIGN_REKEY,	/* as MONITOR_SIGN */
	MONITOR_PTY,		/* answer: name, text to show; then the
				 * descriptors of master and slave. An empty
				 * name: no terminal, and no descriptors */
	MONITOR_PTY_END,	/* name: its session is over */
	MONITOR_PROVE,		/* RSA alg, public blob of a host key:
				 * signature for hostkeys-prove-00 */
	/* Key exchange by GSSAPI; from hpnsshd-auth, and for rekeys from the
	 * session process. */
	MONITOR_GSS_STEP,	/* token: see gss_exchange_step() */
	MONITOR_GSS_SIGN,	/* exchange hash: MIC */
	MONITOR_GSS_STEP_REKEY,
	MONITOR_GSS_SIGN_REKEY,
	MONITOR_REQUEST_COUNT,
};

enum monitor_result {
	MONITOR_FAILURE,
	MONITOR_SUCCESS, /* info: PAM's text, to be shown before; or nothing */
	MONITOR_PARTIAL, /* right, but another method is needed as well */
	MONITOR_KEY_OK,	 /* a signature with this key would do */
	/* info: body of the method's prompt message; of methods with several
	 * kinds of messages, a whole message or nothing, also with a
	 * failure. */
	MONITOR_PROMPTS,
	/* All was proven, and the account may not log in now: info is PAM's
	 * text about it, or nothing. It is shown, and the connection ends. */
	MONITOR_REFUSED,
};

struct monitor_verdict {
	enum monitor_result result;
	char *methods;	    /* that may continue; owned */
	struct buf info; /* see _PROMPTS, _SUCCESS, _REFUSED */
	bool counts;	    /* against MaxAuthTries */
	bool final;	    /* no further try is welcome: disconnect */
};
void monitor_verdict_clear(struct monitor_verdict *v);
void monitor_verdict_put(struct buf *b, const struct monitor_verdict *v);

struct monitor_user {
	char *methods; /* as above; owned */
	char *banner;  /* NULL: none; owned */
	char *sig_algs; /* for a second server-sig-algs; owned */
	int max_auth_tries;
	bool invalid; /* unknown, or not allowed: for log lines only */
};
void monitor_user_clear(struct monitor_user *u);

/* What hpnsshd-auth gets in the beginning. Strings are owned. */
struct monitor_params {
	char *ident; /* identification line to send */
	char *kex, *hostkey_algs, *ciphers, *macs, *compression;
	char *gss_kex;	 /* methods of GSSAPI; or NULL */
	char *sig_algs;	 /* for server-sig-algs */
	char *pubkey_algs; /* accepted from users */
	char *methods;	   /* that every user may begin with; or NULL */
	char *moduli;	 /* path or NULL */
	char *chroot;	 /* NULL: not the superuser, no change of identity */
	uint32_t uid, gid; /* to become then */
	char *peer;	 /* "address port n", for log lines */
	char *remote;	 /* "address-n", for HPN's log lines */
	struct buf hostkeys; /* public blobs: see monitor_params_hostkey() */
	uint8_t salt[32];
	uint64_t floor_us; /* a secret is refused no earlier; see decoys.h */
	int log_level;
	struct strlist log_locations; /* see log_set_locations() */
};
void monitor_params_put(struct buf *b, const struct monitor_params *p);
int monitor_params_get(struct rd *r, struct monitor_params *p) must_check;
void monitor_params_clear(struct monitor_params *p);
/* Host keys by the algorithms that sign with them, so that hpnsshd-auth needs
 * no knowledge of keys. Borrowed; ERR_NOT_FOUND. */
void monitor_params_add_hostkey(struct buf *hostkeys, const char *alg,
    struct span blob);
int monitor_params_hostkey(const struct monitor_params *p, const char *alg,
    struct span *blob) must_check;

/* For the calls of the two processes: sends a request, waits for its answer,
 * and reads the status, which is 0 or ERR_DENIED. */
int monitor_call(int fd, const struct buf *request, struct buf *answer,
    struct rd *r) must_check;
int monitor_call_for_signature(int fd, enum monitor_request what,
    const char *alg, struct span data, struct buf *signature) must_check;
/* MONITOR_GSS_STEP, and MONITOR_GSS_SIGN, or those for a rekey. ERR_DENIED: the
 * client's ticket is not good, and out tells it why. */
int monitor_call_gss_step(int fd, enum monitor_request what,
    struct span token, struct buf *out, bool *complete) must_check;
int monitor_call_gss_sign(int fd, enum monitor_request what,
    struct span hash, struct buf *mic) must_check;
/* A text that may be missing (NULL). Caller frees. */
char *monitor_get_optional(struct rd *r, size_t max);

#endif
