/* SPDX-License-Identifier: ISC */
/*
 * Log lines on what was agreed with a peer, in the form that HPN's tools
 * read, from both processes that exchange keys.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_KEXLOG_H
#define HPN_SERVER_KEXLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct kex;

/* Of a peer's text: a new string, in which nothing begins another field. */
char *kexlog_field(const char *text, size_t len);
/* The name that the client gave. */
void kexlog_name(const char *name, const char *remote);
/* The peer's identification line. False if its protocol is not 2.0. */
bool kexlog_version(const char *line, const char *ours, const char *remote);
void kexlog_result(const struct kex *k, const char *remote);
/* At the end of a connection: true counts. */
void kexlog_throughput(const struct packet *p, const char *remote,
    uint64_t duration_ms);

#endif
