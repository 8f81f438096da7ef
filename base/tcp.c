/* SPDX-License-Identifier: ISC */
#include "base/tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>

#if defined(__linux__)
#include <linux/tcp.h>
#else
#include <netinet/tcp.h>
#endif

#include "base/log.h"

bool
tcp_set_congestion(int fd, const char *name)
{
	if (name == NULL)
		return true;
#ifdef TCP_CONGESTION
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
		(socklen_t)strlen(name)) == 0) {
		log_debug("congestion control is %s", name);
		return true;
	}
	log_verbose("congestion control %s cannot be used: %s", name,
	    err_text(ERR_SYSTEM));
#else
	(void)fd;
	log_verbose("congestion control %s cannot be used on this system",
	    name);
#endif
	return false;
}

void
tcp_congestion_name(int fd, char *out, size_t size)
{
	memset(out, 0, size);
#ifdef TCP_CONGESTION
	socklen_t len = (socklen_t)(size - 1);

	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, out, &len) != 0)
		out[0] = '\0';
#else
	(void)fd;
#endif
}

bool
tcp_congestion_is(int fd, const char *name)
{
	char now[32];

	tcp_congestion_name(fd, now, sizeof now);
	return now[0] != '\0' && strcmp(now, name) == 0;
}

/* The socket's address is IPv4, or IPv4 mapped into IPv6: its packets have
 * IPv4's type of service. */
static bool
is_ipv4(const struct sockaddr_storage *sa)
{
	const struct sockaddr_in6 *six = (const void *)sa;

	return sa->ss_family == AF_INET ||
	    (sa->ss_family == AF_INET6 &&
		IN6_IS_ADDR_V4MAPPED(&six->sin6_addr));
}

void
tcp_set_tos(int fd, int tos)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof sa;
	int r = 0;

	if (tos < 0 || getsockname(fd, (struct sockaddr *)&sa, &len) == -1)
		return;
	if (is_ipv4(&sa))
		r = setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
	else if (sa.ss_family == AF_INET6)
		r = setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos,
		    sizeof tos);
	if (r == -1)
		log_debug("type of service %#x: %s", (unsigned)tos,
		    err_text(ERR_SYSTEM));
}

bool
tcp_set_unsent(int fd, size_t bytes)
{
#ifdef TCP_NOTSENT_LOWAT
	int value = (int)bytes;

	return setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value,
	    sizeof value) == 0;
#else
	(void)fd;
	(void)bytes;
	return false;
#endif
}

static const struct {
	const char *column;
	uint32_t since;
} fields[TCP_FIELD_COUNT] = {
#define TCP_FIELD_ROW(id, column, major, minor)                               \
	[TCP_##id] = { column, TCP_KERNEL(major, minor) },
	TCP_FIELDS(TCP_FIELD_ROW)
#undef TCP_FIELD_ROW
};

static const char *const keys[TCP_FIELD_COUNT] = {
#define TCP_FIELD_KEY(id, column, major, minor) [TCP_##id] = "tcpi_" column,
	TCP_FIELDS(TCP_FIELD_KEY)
#undef TCP_FIELD_KEY
};

const char *
tcp_field_column(enum tcp_field f)
{
	return fields[f].column;
}

const char *
tcp_field_key(enum tcp_field f)
{
	/* HPN-SSH's table of keys lacks a letter of the kernel's name. */
	return f == TCP_DATA_SEGS_OUT ? "tcpi_data_segs_out" : keys[f];
}

bool
tcp_field_in(enum tcp_field f, uint32_t kernel)
{
	return kernel >= fields[f].since;
}

uint64_t
tcp_rtt_us(int fd)
{
	struct tcp_trips trips;

	tcp_trips(fd, &trips);
	return trips.least;
}

bool
tcp_is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	struct pollfd ended = { .fd = fd };

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 ||
	    errno == ENOTSOCK || poll(&ended, 1, 0) > 0;
}
