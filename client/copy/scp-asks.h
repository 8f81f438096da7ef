/* SPDX-License-Identifier: ISC */
/*
 * Requests to a host's SFTP server that are under way together: however many
 * there are, they take one round trip. Their order is kept where the server
 * keeps the order of requests.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_SCP_ASKS_H
#define HPN_CLIENT_COPY_SCP_ASKS_H

#include <stdbool.h>
#include <stddef.h>

#include "client/copy/scp-hosts.h"
#include "xfer/sftp/sftp-engine.h"

enum scp_ask_kind {
	SCP_ASK_STAT,
	SCP_ASK_LSTAT,
	SCP_ASK_REALPATH,
	SCP_ASK_MKDIR, /* for its owner alone */
	SCP_ASK_RMDIR,
	SCP_ASK_MOVE,  /* path to second, in place of what is there */
	SCP_ASK_DIGEST, /* of a regular file, with its attributes */
};

enum { SCP_ASK_DIGEST_LEN = 32 }; /* SHA-256 */

struct scp_ask {
	enum scp_ask_kind kind;
	char *path, *second; /* owned */
	/* The answer. */
	int status;		 /* 0, or an error of SFTP */
	char *words;		 /* that error's; owned, NULL: none */
	struct sftp_attrs attrs; /* of STAT, LSTAT and DIGEST */
	uint8_t digest[SCP_ASK_DIGEST_LEN];
	char *name;		 /* of REALPATH; owned */
};

/* Zeroed: none. Clear with scp_asks_clear(). */
struct scp_asks {
	struct scp_ask *v;
	size_t n, cap;
	size_t left; /* that have no answer yet */
	bool done;
};

/* Adds a request. Paths are copied; second: NULL but for SCP_ASK_MOVE. The
 * pointer is good until the next one is added. */
struct scp_ask *scp_asks_add(struct scp_asks *a, enum scp_ask_kind kind,
    const char *path, const char *second);
/* Makes them, and waits for all answers. */
void scp_asks_run(struct scp_asks *a, struct scp *scp, struct scp_host *host);
/* Did STAT or LSTAT find something of this type (S_IFDIR and its like)? */
bool scp_ask_found(const struct scp_ask *ask, unsigned type);
void scp_asks_clear(struct scp_asks *a);

#endif
