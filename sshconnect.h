/* SPDX-License-Identifier: ISC */
/*
 * Reaches the host: looks up its addresses, tries several of them in a race
 * (RFC 8305), then the second port; or runs a proxy command instead.
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

/* The way to the host: a TCP connection, or a proxy command. */
struct sshlink {
	int fd;	       /* descriptor for reading; -1 once closed */
	int fd_out;    /* descriptor for writing; equal to fd for a socket */
	char *address; /* the server's numeric address, owned; NULL behind a
			* proxy command */
	uint16_t port; /* the port that answered */
	uint16_t fell_from; /* the first port, if it did not answer and the
			     * second did; else 0 */
	pid_t proxy;   /* process of the proxy command, while it runs; else 0 */
	struct sockaddr_storage peer; /* the server's address as the kernel has
				       * it, if address is not NULL */
	socklen_t peer_len;
};

/* Connects as conf says. Errors were logged. conf->host.port becomes the port
 * that answered, which tokens and known_hosts then use. */
int sshlink_open(struct sshlink *link, struct client_conf *conf) must_check;
/* Can there be no further connections, since a proxy command passes its
 * descriptor (ProxyUseFdpass)? To wait for it would block. */
bool sshlink_is_single(const struct client_conf *conf);
/* Opens the link of a further connection: to the address and port at which
 * `first` was answered, or through another process of the proxy command.
 * ERR_UNSUPPORTED: sshlink_is_single(). Does not wait for the connect, and does
 * not log if it fails. */
int sshlink_open_further(struct sshlink *link, const struct sshlink *first,
    const struct client_conf *conf) must_check;
/* Makes a link that is not open, as `first` for further links to this numeric
 * address and port. */
int sshlink_set_address(struct sshlink *link, const char *address,
    uint16_t port) must_check;
/* Watches the link until packets are exchanged: fn is called when the link can
 * be read and, if sshlink_want_write() asks for that, when it can be written.
 * NULL: memory is out. */
struct sshlink_watch;
struct sshlink_watch *sshlink_watch(const struct sshlink *link, struct loop *l,
    loop_fd_fn fn, void *arg);
void sshlink_want_write(const struct sshlink_watch *w, bool wants);
void sshlink_unwatch(struct sshlink_watch *w);

/* Makes fd, a socket that is connected already, the link's. */
void sshlink_adopt(struct sshlink *link, int fd);
/* Closes the descriptors. The proxy command is not ended. */
void sshlink_close_fds(struct sshlink *link);
/* Closes the connection, but keeps the numbers of its descriptors, which then
 * lead nowhere: other layers know the link by these numbers. */
void sshlink_drop(const struct sshlink *link);
/* Closes the descriptors, and ends the proxy command. */
void sshlink_close(struct sshlink *link);
/* Sets the type of service (IPQoS) for interactive use or for bulk data. Does
 * nothing behind a proxy command. */
void sshlink_set_qos(const struct sshlink *link,
    const struct client_conf *conf, bool interactive);

#endif
