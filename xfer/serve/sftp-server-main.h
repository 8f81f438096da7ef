/* SPDX-License-Identifier: ISC */
/*
 * The SFTP server over two descriptors, with the flags of sftp-server: what
 * the program hpnsftp-server and a server's internal-sftp both run.
 *
 * Threads: a process or thread of its own; it blocks until the client ends
 * the session.
 */
#ifndef HPN_XFER_SERVE_SFTP_SERVER_MAIN_H
#define HPN_XFER_SERVE_SFTP_SERVER_MAIN_H

struct owners;

/*
 * argv[0] is the name for log lines; user, home and client, an address for the
 * log, are those of the session (borrowed); owners as in struct
 * sftp_serve_opts. Logging is set up here, by -e, -f and -l. The descriptors
 * are left open and non-blocking; they may be the same socket. Returns an exit
 * status: 0, or 1 after a usage error or a broken session.
 */
int sftp_server_main(int argc, char **argv, int fd_in, int fd_out,
    const char *user, const char *home, const char *client,
    struct owners *owners);

#endif
