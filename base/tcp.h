/* SPDX-License-Identifier: ISC */
/*
 * What the kernel lets us choose and know about a TCP connection: congestion
 * control, type of service, and the numbers of TCP_INFO by name.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_TCP_H
#define HPN_BASE_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

/* Sets the congestion control of a connection. False: the kernel does not allow
 * it, which was logged at VERBOSE, and the connection keeps what it had. name
 * NULL: nothing is done. */
bool tcp_set_congestion(int fd, const char *name);
bool tcp_congestion_is(int fd, const char *name);
/* Writes the name of the connection's congestion control; "" if it is not
 * known. */
void tcp_congestion_name(int fd, char *out, size_t size);

/* Sets the type of service (DSCP) of the packets that a connection of IPv4 or
 * IPv6 sends from now on. Nothing happens if tos is below 0, or fd is anything
 * else. */
void tcp_set_tos(int fd, int tos);

#define TCP_KERNEL(major, minor) ((uint32_t)(major) << 16 | (minor) << 8)

/* The fields in the order of HPN-SSH's tables: our name, the name of its
 * column, the first kernel that has it. On the wire a field is called "tcpi_"
 * and the kernel's name for it, which is the name of the column except for
 * data_seg_out. */
#define TCP_FIELDS(F)                                                         \
	F(STATE, "state", 0, 0)                                               \
	F(CA_STATE, "ca_state", 0, 0)                                         \
	F(RETRANSMITS, "retransmits", 0, 0)                                   \
	F(PROBES, "probes", 0, 0)                                             \
	F(BACKOFF, "backoff", 0, 0)                                           \
	F(OPTIONS, "options", 0, 0)                                           \
	F(SND_WSCALE, "snd_wscale", 0, 0)                                     \
	F(RCV_WSCALE, "rcv_wscale", 0, 0)                                     \
	F(RTO, "rto", 0, 0)                                                   \
	F(ATO, "ato", 0, 0)                                                   \
	F(SND_MSS, "snd_mss", 0, 0)                                           \
	F(RCV_MSS, "rcv_mss", 0, 0)                                           \
	F(UNACKED, "unacked", 0, 0)                                           \
	F(SACKED, "sacked", 0, 0)                                             \
	F(LOST, "lost", 0, 0)                                                 \
	F(RETRANS, "retrans", 0, 0)                                           \
	F(FACKETS, "fackets", 0, 0)                                           \
	F(LAST_DATA_SENT, "last_data_sent", 0, 0)                             \
	F(LAST_ACK_SENT, "last_ack_sent", 0, 0)                               \
	F(LAST_DATA_RECV, "last_data_recv", 0, 0)                             \
	F(LAST_ACK_RECV, "last_ack_recv", 0, 0)                               \
	F(PMTU, "pmtu", 0, 0)                                                 \
	F(RCV_SSTHRESH, "rcv_ssthresh", 0, 0)                                 \
	F(RTT, "rtt", 0, 0)                                                   \
	F(RTTVAR, "rttvar", 0, 0)                                             \
	F(SND_SSTHRESH, "snd_ssthresh", 0, 0)                                 \
	F(SND_CWND, "snd_cwnd", 0, 0)                                         \
	F(ADVMSS, "advmss", 0, 0)                                             \
	F(REORDERING, "reordering", 0, 0)                                     \
	F(RCV_RTT, "rcv_rtt", 0, 0)                                           \
	F(RCV_SPACE, "rcv_space", 0, 0)                                       \
	F(TOTAL_RETRANS, "total_retrans", 0, 0)                               \
	F(MAX_PACING_RATE, "max_pacing_rate", 3, 15)                          \
	F(PACING_RATE, "pacing_rate", 3, 15)                                  \
	F(BYTES_ACKED, "bytes_acked", 4, 1)                                   \
	F(BYTES_RECEIVED, "bytes_received", 4, 1)                             \
	F(SEGS_IN, "segs_in", 4, 2)                                           \
	F(SEGS_OUT, "segs_out", 4, 2)                                         \
	F(NOTSENT_BYTES, "notsent_bytes", 4, 6)                               \
	F(MIN_RTT, "min_rtt", 4, 6)                                           \
	F(DATA_SEGS_IN, "data_segs_in", 4, 6)                                 \
	F(DATA_SEGS_OUT, "data_seg_out", 4, 6)                                \
	F(DELIVERY_RATE_APP_LIMITED, "delivery_rate_app_limited", 4, 9)       \
	F(DELIVERY_RATE, "delivery_rate", 4, 9)                               \
	F(BUSY_TIME, "busy_time", 4, 10)                                      \
	F(SNDBUF_LIMITED, "sndbuf_limited", 4, 10)                            \
	F(RWND_LIMITED, "rwnd_limited", 4, 10)                                \
	F(DELIVERED, "delivered", 4, 18)                                      \
	F(DELIVERED_CE, "delivered_ce", 4, 18)                                \
	F(BYTES_SENT, "bytes_sent", 4, 19)                                    \
	F(BYTES_RETRANS, "bytes_retrans", 4, 19)                              \
	F(DSACK_DUPS, "dsack_dups", 4, 19)                                    \
	F(REORD_SEEN, "reord_seen", 4, 19)                                    \
	F(SND_WND, "snd_wnd", 5, 4)                                           \
	F(RCV_OOOPACK, "rcv_ooopack", 5, 4)                                   \
	F(FASTOPEN_CLIENT_FAIL, "fastopen_client_fail", 5, 5)

#define TCP_FIELD_ID(id, column, major, minor) TCP_##id,
enum tcp_field { TCP_FIELDS(TCP_FIELD_ID) TCP_FIELD_COUNT };
#undef TCP_FIELD_ID

struct tcp_numbers {
	uint32_t kernel; /* TCP_KERNEL() of who measured; 0: not Linux */
	uint64_t v[TCP_FIELD_COUNT]; /* 0 where it is not known */
};

const char *tcp_field_column(enum tcp_field f);
/* The field's name on the wire, with "tcpi_" in front. */
const char *tcp_field_key(enum tcp_field f);
/* Does that kernel have the field? */
bool tcp_field_in(enum tcp_field f, uint32_t kernel);

/* Reads the numbers of a connection. ERR_UNSUPPORTED: fd is no TCP socket, or
 * the system does not tell them. */
int tcp_measure(int fd, struct tcp_numbers *out) must_check;
/* Bytes that wait in the kernel without having been sent once; 0 if that is
 * not known. */
uint64_t tcp_unsent(int fd);
/* The rate, bytes a second, at which the kernel has sent to the peer in the
 * last moments; 0 if that is not known. */
uint64_t tcp_send_rate(int fd);
/* Lets the socket be writable only while fewer than `bytes` wait in the kernel
 * without having been sent once. False: the system cannot do that. */
bool tcp_set_unsent(int fd, size_t bytes);
/* Write and read the reply to stack-metrics@hpnssh.org. The reader returns
 * ERR_FORMAT and other errors of struct rd. */
void tcp_numbers_put(struct buf *out, const struct tcp_numbers *t);
int tcp_numbers_get(struct rd *in, struct tcp_numbers *t) must_check;
/* Round trip time without queues, microseconds; 0 if not known. */
uint64_t tcp_rtt_us(int fd);
/* False while a connection is being made: the host has not answered. True when
 * the connection has ended since, or was refused. */
bool tcp_is_connected(int fd);
/* What the kernel has measured of a connection; 0: not known. */
struct tcp_trips {
	/* Microseconds of a round trip: the least, without queues; and the
	 * present ones of what is sent, and of what is received. */
	uint64_t least, sent, received;
	uint64_t arrived; /* bytes that have arrived, at both ends together */
	/* Most bytes that can be under way, by the window scales that both ends
	 * agreed on: each end derives its scale from the largest buffer that it
	 * would give a connection. */
	uint64_t window;
};
void tcp_trips(int fd, struct tcp_trips *out);
/* For kernels whose windows are bytes, where Linux counts segments: the window
 * in segments; 0 if their size is not known. */
static inline uint64_t
tcp_segments(uint64_t bytes, uint64_t segment_size)
{
	return segment_size > 0 ? bytes / segment_size : 0;
}
/* Largest receive (or send) buffer that the kernel grows a connection's to,
 * in bytes; 0 if not known. */
uint64_t tcp_buffer_limit(bool receive);
/* The name of the system's setting for that limit, for messages. */
const char *tcp_buffer_setting(bool receive);

#endif
