/* SPDX-License-Identifier: ISC */
/*
 * Reaching the host: names to addresses, several addresses in a race (RFC
 * 8305), the second port, or a proxy command in place of all that.
 *
 * Threads: loop thread only; calls block.
 */
#ifndef HPN_SSHCONNECT_H
#define HPN_SSHCONNECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "conf/client-conf.h"

/* What leads to the host: a TCP connection, or a proxy command. */
struct sshlink {
	int fd;	       /* it is read; -1 once closed */
	int fd_out;    /* it is written; the same for a socket */
	char *address; /* numeric; NULL behind a proxy command */
	uint16_t port; /* the one that answered */
	uint16_t fell_from; /* the one that did not; 0: there was none */
	pid_t proxy;   /* running proxy command, or 0 */
	struct sockaddr_storage peer; /* the address, if there is one */
	socklen_t peer_len;
};

/* Connects as conf says. ERR_*: the reason was logged. conf->host.port becomes
 * the port that answered, which tokens and known_hosts then use. */
int sshlink_open(struct sshlink *link, struct client_conf *conf) must_check;
/* A further connection: to the address and port that answered, or through
 * another proxy command. It does not wait, and logs no errors. */
int sshlink_open_further(struct sshlink *link, const struct sshlink *first,
    const struct client_conf *conf) must_check;
/* The link is not open, but it is known where further ones lead. address is
 * numeric. */
int sshlink_set_address(struct sshlink *link, const char *address,
    uint16_t port) must_check;
/* The link is watched until there are packets: fn is called when it can be
 * read, and when it can be written if that is wanted. NULL: memory is out. */
struct sshlink_watch;
struct sshlink_watch *sshlink_watch(const struct sshlink *link, struct loop *l,
    loop_fd_fn fn, void *arg);
void sshlink_want_write(const struct sshlink_watch *w, bool wants);
void sshlink_unwatch(struct sshlink_watch *w);

/* A socket that is there already, which becomes the link's. */
void sshlink_adopt(struct sshlink *link, int fd);
/* Closes; the proxy command goes on. */
void sshlink_close_fds(struct sshlink *link);
/* Closes, and ends the proxy command. */
void sshlink_close(struct sshlink *link);
/* Type of service for what the connection is used for. */
void sshlink_set_qos(const struct sshlink *link,
    const struct client_conf *conf, bool interactive);

#endif
