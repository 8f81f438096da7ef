/* SPDX-License-Identifier: ISC */
/* The functions of tcp.h for Linux. */
#include "base/mem.h"
#include "base/tcp.h"

#if defined(__linux__)

#include <linux/sockios.h>
#include <linux/tcp.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>

/* The place of each field in the kernel's struct tcp_info. A kernel older than
 * our header fills in less of the struct. A bit field has no address. */
static const struct kernel_field {
	uint16_t offset;
	uint8_t size; /* bytes; 0: a bit field */
} kernel_fields[TCP_FIELD_COUNT] = {
#define AT(id, field)                                                         \
	[TCP_##id] = { offsetof(struct tcp_info, tcpi_##field),               \
		sizeof(((struct tcp_info *)NULL)->tcpi_##field) }
	AT(STATE, state), AT(CA_STATE, ca_state),
	AT(RETRANSMITS, retransmits), AT(PROBES, probes),
	AT(BACKOFF, backoff), AT(OPTIONS, options), AT(RTO, rto),
	AT(ATO, ato), AT(SND_MSS, snd_mss), AT(RCV_MSS, rcv_mss),
	AT(UNACKED, unacked), AT(SACKED, sacked), AT(LOST, lost),
	AT(RETRANS, retrans), AT(FACKETS, fackets),
	AT(LAST_DATA_SENT, last_data_sent), AT(LAST_ACK_SENT, last_ack_sent),
	AT(LAST_DATA_RECV, last_data_recv), AT(LAST_ACK_RECV, last_ack_recv),
	AT(PMTU, pmtu), AT(RCV_SSTHRESH, rcv_ssthresh), AT(RTT, rtt),
	AT(RTTVAR, rttvar), AT(SND_SSTHRESH, snd_ssthresh),
	AT(SND_CWND, snd_cwnd), AT(ADVMSS, advmss),
	AT(REORDERING, reordering), AT(RCV_RTT, rcv_rtt),
	AT(RCV_SPACE, rcv_space), AT(TOTAL_RETRANS, total_retrans),
	AT(MAX_PACING_RATE, max_pacing_rate), AT(PACING_RATE, pacing_rate),
	AT(BYTES_ACKED, bytes_acked), AT(BYTES_RECEIVED, bytes_received),
	AT(SEGS_IN, segs_in), AT(SEGS_OUT, segs_out),
	AT(NOTSENT_BYTES, notsent_bytes), AT(MIN_RTT, min_rtt),
	AT(DATA_SEGS_IN, data_segs_in), AT(DATA_SEGS_OUT, data_segs_out),
	AT(DELIVERY_RATE, delivery_rate), AT(BUSY_TIME, busy_time),
	AT(SNDBUF_LIMITED, sndbuf_limited), AT(RWND_LIMITED, rwnd_limited),
	AT(DELIVERED, delivered), AT(DELIVERED_CE, delivered_ce),
	AT(BYTES_SENT, bytes_sent), AT(BYTES_RETRANS, bytes_retrans),
	AT(DSACK_DUPS, dsack_dups), AT(REORD_SEEN, reord_seen),
	AT(SND_WND, snd_wnd), AT(RCV_OOOPACK, rcv_ooopack),
#undef AT
};

static uint64_t
take(const uint8_t *p, size_t size)
{
	uint64_t v64;
	uint32_t v32;

	switch (size) {
	case 1:
		return *p;
	case 4:
		memcpy(&v32, p, sizeof v32);
		return v32;
	default:
		memcpy(&v64, p, sizeof v64);
		return v64;
	}
}

void
tcp_trips(int fd, struct tcp_trips *out)
{
	struct tcp_info info;
	socklen_t len = sizeof info;

	*out = (struct tcp_trips){ 0 };
	memset(&info, 0, sizeof info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == -1)
		return;
	out->sent = info.tcpi_rtt;
	out->received = info.tcpi_rcv_rtt;
	out->arrived = info.tcpi_bytes_acked + info.tcpi_bytes_received;
	out->window = (uint64_t)UINT16_MAX
	    << MIN(info.tcpi_snd_wscale, info.tcpi_rcv_wscale);
	/* All ones: the kernel has no sample yet. */
	out->least = info.tcpi_min_rtt == 0 ||
		info.tcpi_min_rtt == UINT32_MAX ? info.tcpi_rtt :
						  info.tcpi_min_rtt;
}

static uint32_t
running_kernel(void)
{
	unsigned major = 0, minor = 0, patch = 0;
	struct utsname u;

	if (uname(&u) == -1 ||
	    sscanf(u.release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return 0;
	return TCP_KERNEL(major, minor) | (patch < 255 ? patch : 255);
}

int
tcp_measure(int fd, struct tcp_numbers *out)
{
	struct tcp_info info;
	socklen_t len = sizeof info;

	memset(out, 0, sizeof *out);
	memset(&info, 0, sizeof info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == -1)
		return ERR_UNSUPPORTED;
	out->kernel = running_kernel();
	for (int i = 0; i < TCP_FIELD_COUNT; i++) {
		const struct kernel_field *at = &kernel_fields[i];

		if (at->size != 0 && at->offset + at->size <= len)
			out->v[i] = take((const uint8_t *)&info + at->offset,
			    at->size);
	}
	out->v[TCP_SND_WSCALE] = info.tcpi_snd_wscale;
	out->v[TCP_RCV_WSCALE] = info.tcpi_rcv_wscale;
	out->v[TCP_DELIVERY_RATE_APP_LIMITED] =
	    info.tcpi_delivery_rate_app_limited;
	out->v[TCP_FASTOPEN_CLIENT_FAIL] = info.tcpi_fastopen_client_fail;
	return 0;
}

uint64_t
tcp_unsent(int fd)
{
	int bytes;

	return ioctl(fd, SIOCOUTQNSD, &bytes) == 0 && bytes > 0 ?
	    (uint64_t)bytes : 0;
}

uint64_t
tcp_send_rate(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof info;

	memset(&info, 0, sizeof info);
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 ?
	    info.tcpi_delivery_rate : 0;
}

uint64_t
tcp_buffer_limit(bool receive)
{
	FILE *f = fopen(receive ? "/proc/sys/net/ipv4/tcp_rmem" :
				  "/proc/sys/net/ipv4/tcp_wmem", "re");
	unsigned long long limit = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%*u %*u %llu", &limit) != 1)
		limit = 0;
	(void)fclose(f);
	return limit;
}

const char *
tcp_buffer_setting(bool receive)
{
	return receive ? "the last number of net.ipv4.tcp_rmem" :
			 "the last number of net.ipv4.tcp_wmem";
}

#endif
