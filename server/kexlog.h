/* SPDX-License-Identifier: ISC */
/*
 * Log lines about key exchange, version and throughput of a connection, in the
 * form that the tools of HPN read. Both hpnsshd-auth and the user's process
 * write them. remote is "address-n".
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_KEXLOG_H
#define HPN_SERVER_KEXLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct kex;

/* Copies a text of the peer for a log line, with each ';', which would begin
 * another field, as "\073". Caller frees. */
char *kexlog_field(const char *text, size_t len);
/* Logs the user name that the client asks for. */
void kexlog_name(const char *name, const char *remote);
/* Logs the peer's identification line, and ours at debug level. False if the
 * peer's protocol is not 2.0. */
bool kexlog_version(const char *line, const char *ours, const char *remote);
void kexlog_result(const struct kex *k, const char *remote);
/* Logs the bytes received and sent, by the connection's own counters, with the
 * rate of each per second. For the end of a connection. */
void kexlog_throughput(const struct packet *p, const char *remote,
    uint64_t duration_ms);

#endif
