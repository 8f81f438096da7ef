/* SPDX-License-Identifier: ISC */
/*
 * The functions of tcp.h for macOS. Its windows are bytes, where Linux counts
 * segments; its times are whole milliseconds.
 */
#include "base/tcp.h"

#if defined(__APPLE__)

#include <sys/types.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysctl.h>

static bool
ask(int fd, struct tcp_connection_info *info)
{
	socklen_t len = sizeof *info;

	memset(info, 0, sizeof *info);
	return getsockopt(fd, IPPROTO_TCP, TCP_CONNECTION_INFO, info, &len) ==
	    0;
}

void
tcp_trips(int fd, struct tcp_trips *out)
{
	struct tcp_connection_info info;

	*out = (struct tcp_trips){ 0 };
	if (!ask(fd, &info))
		return;
	out->least = out->sent = (uint64_t)info.tcpi_srtt * 1000;
	out->arrived = info.tcpi_txbytes - info.tcpi_txretransmitbytes +
	    info.tcpi_rxbytes;
}

int
tcp_measure(int fd, struct tcp_numbers *out)
{
	struct tcp_connection_info info;

	memset(out, 0, sizeof *out);
	if (!ask(fd, &info))
		return ERR_UNSUPPORTED;
	out->v[TCP_STATE] = info.tcpi_state;
	out->v[TCP_SND_WSCALE] = info.tcpi_snd_wscale;
	out->v[TCP_RCV_WSCALE] = info.tcpi_rcv_wscale;
	out->v[TCP_RTO] = (uint64_t)info.tcpi_rto * 1000;
	out->v[TCP_SND_MSS] = info.tcpi_maxseg;
	out->v[TCP_RTT] = (uint64_t)info.tcpi_srtt * 1000;
	out->v[TCP_RTTVAR] = (uint64_t)info.tcpi_rttvar * 1000;
	out->v[TCP_SND_SSTHRESH] = tcp_segments(info.tcpi_snd_ssthresh,
	    info.tcpi_maxseg);
	out->v[TCP_SND_CWND] = tcp_segments(info.tcpi_snd_cwnd,
	    info.tcpi_maxseg);
	out->v[TCP_RCV_SPACE] = info.tcpi_rcv_wnd;
	out->v[TCP_SND_WND] = info.tcpi_snd_wnd;
	out->v[TCP_DATA_SEGS_OUT] = tcp_segments(info.tcpi_txbytes,
	    info.tcpi_maxseg);
	out->v[TCP_TOTAL_RETRANS] = tcp_segments(info.tcpi_txretransmitbytes,
	    info.tcpi_maxseg);
	out->v[TCP_BYTES_SENT] = info.tcpi_txbytes;
	out->v[TCP_BYTES_RETRANS] = info.tcpi_txretransmitbytes;
	out->v[TCP_BYTES_RECEIVED] = info.tcpi_rxbytes;
	return 0;
}

/* Includes bytes that are sent and not acknowledged yet. */
uint64_t
tcp_unsent(int fd)
{
	int bytes = 0;
	socklen_t len = sizeof bytes;

	return getsockopt(fd, SOL_SOCKET, SO_NWRITE, &bytes, &len) == 0 &&
		bytes > 0 ? (uint64_t)bytes : 0;
}

uint64_t
tcp_send_rate(int fd)
{
	(void)fd;
	return 0;
}

uint64_t
tcp_buffer_limit(bool receive)
{
	int limit = 0;
	size_t len = sizeof limit;

	return sysctlbyname(receive ? "net.inet.tcp.autorcvbufmax" :
				      "net.inet.tcp.autosndbufmax", &limit,
		   &len, NULL, 0) == 0 && limit > 0 ? (uint64_t)limit : 0;
}

const char *
tcp_buffer_setting(bool receive)
{
	return receive ? "net.inet.tcp.autorcvbufmax" :
			 "net.inet.tcp.autosndbufmax";
}

#endif
