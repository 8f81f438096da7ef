/* SPDX-License-Identifier: ISC */
#include "client/session/conn-info.h"

#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/libc.h"

enum { BLOCK = 16, KB = 1024 };

static void
put_this_host(struct buf *b)
{
	char name[HOST_NAME_MAX + 1];

	if (gethostname(name, sizeof name) == -1)
		strlcpy(name, "UNKNOWN", sizeof name);
	name[sizeof name - 1] = '\0';
	buf_printf(b, "Connection information for %s pid %ld\n", name,
	    (long)getpid());
}

static void
put_duration(struct buf *b, uint64_t seconds)
{
	buf_printf(b, "  duration %02llu:%02u:%02u\n",
	    (unsigned long long)seconds / 3600,
	    (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
}

/* Appends an end of the connection as "ADDRESS:PORT". False if fd has no
 * address, as a pipe to a proxy. */
static bool
put_end(struct buf *b, int fd,
    int (*ask)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof sa;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (ask(fd, (struct sockaddr *)&sa, &len) == -1 ||
	    (sa.ss_family != AF_INET && sa.ss_family != AF_INET6) ||
	    getnameinfo((struct sockaddr *)&sa, len, host, sizeof host, port,
		sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return false;
	buf_printf(b, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host,
	    port);
	return true;
}

static void
put_path(struct buf *b, const struct packet *p)
{
	struct buf ends = { 0 };

	buf_printf(&ends, "  tcp ");
	if (put_end(&ends, packet_fd_in(p), getsockname)) {
		buf_printf(&ends, " -> ");
		if (put_end(&ends, packet_fd_in(p), getpeername)) {
			buf_put_buf(b, &ends);
			buf_printf(b, "\n");
		}
	}
	buf_clear(&ends);
}

/* Appends a line with a value for each direction, or with one value if they are
 * the same. */
static void
put_both(struct buf *b, const char *what, const char *tx, const char *rx)
{
	if (strcmp(tx, rx) == 0)
		buf_printf(b, "  %s %s\n", what, tx);
	else
		buf_printf(b, "  %s %s out, %s in\n", what, tx, rx);
}

static void
put_rekey(struct buf *b, const struct conf_rekey *limit)
{
	buf_printf(b, "  rekey limit ");
	if (limit->bytes > 0)
		buf_printf(b, "%llu bytes", (unsigned long long)limit->bytes);
	else
		buf_printf(b, "none");
	buf_printf(b, " interval ");
	if (limit->seconds > 0)
		buf_printf(b, "%d seconds\n", limit->seconds);
	else
		buf_printf(b, "none\n");
}

static void
put_algorithms(struct buf *b, const struct kex_result *k)
{
	buf_printf(b, "  kexalgorithm %s\n", k->kex);
	buf_printf(b, "  hostkeyalgorithm %s\n", k->hostkey_alg);
	put_both(b, "cipher", k->cipher_tx, k->cipher_rx);
	put_both(b, "mac", k->mac_tx, k->mac_rx);
	put_both(b, "compression", k->comp_tx, k->comp_rx);
}

static void
put_traffic(struct buf *b, const struct packet *p, enum packet_dir dir,
    const char *word)
{
	struct packet_counters n = packet_counters(p, dir);

	buf_printf(b, " %llu pkts %llu blks %.1fKB %s",
	    (unsigned long long)n.packets,
	    (unsigned long long)(n.bytes / BLOCK), (double)n.bytes / KB, word);
}

/* Appends a number of bytes as "810B" or "1.2KB". */
static void
put_size(struct buf *b, uint64_t bytes)
{
	static const char *const units[] = { "KB", "MB", "GB", "TB", "PB",
		"EB" };
	double n = (double)bytes / KB;
	size_t i = 0;

	if (bytes < KB) {
		buf_printf(b, "%lluB", (unsigned long long)bytes);
		return;
	}
	for (; n >= KB && i + 1 < ARRAY_LEN(units); i++)
		n /= KB;
	buf_printf(b, "%.1f%s", n, units[i]);
}

static void
put_compressed(struct buf *b, struct packet_counters n, const char *word)
{
	put_size(b, n.compressed);
	buf_printf(b, "/");
	put_size(b, n.inflated);
	buf_printf(b, " (*%.3f) %s", n.inflated > 0 ?
		(double)n.compressed / (double)n.inflated : 0, word);
}

static void
put_compression(struct buf *b, const struct packet *p)
{
	struct packet_counters in = packet_counters(p, PACKET_RX);
	struct packet_counters out = packet_counters(p, PACKET_TX);

	if (in.inflated + out.inflated == 0)
		return;
	buf_printf(b, "    compressed ");
	put_compressed(b, in, "in, ");
	put_compressed(b, out, "out\n");
}

void
conn_info_put(struct buf *b, const struct session_params *s)
{
	const struct kex_result *k = kex_result(s->kex);
	const struct packet *p = s->packet;

	put_this_host(b);
	put_path(b, p);
	put_duration(b, (clock_ms() - s->began_ms) / 1000);
	if (k != NULL) {
		put_algorithms(b, k);
		put_rekey(b, &s->conf->algs.rekey_limit);
	} else {
		buf_printf(b, "  through the proxy of a master\n");
	}
	buf_printf(b, "  traffic");
	put_traffic(b, p, PACKET_RX, "in,");
	put_traffic(b, p, PACKET_TX, "out");
	buf_printf(b, "\n");
	put_compression(b, p);
}
