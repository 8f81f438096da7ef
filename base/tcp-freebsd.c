/* SPDX-License-Identifier: ISC */
/*
 * The functions of tcp.h for FreeBSD. FreeBSD's windows are bytes, where Linux
 * counts segments. FreeBSD does not tell rates, nor the times in which a
 * connection was limited by something.
 */
#include "base/tcp.h"

#if defined(__FreeBSD__)

#include <sys/types.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/filio.h>
#include <sys/socket.h>
#include <sys/sysctl.h>

static bool
ask(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof *info;

	memset(info, 0, sizeof *info);
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) == 0;
}

void
tcp_trips(int fd, struct tcp_trips *out)
{
	struct tcp_info info;

	*out = (struct tcp_trips){ 0 };
	if (!ask(fd, &info))
		return;
	out->sent = info.tcpi_rtt;
	/* 0: an older kernel, which tells no minimum. All ones: no sample. */
	out->least = info.tcpi_rttmin == 0 || info.tcpi_rttmin == UINT32_MAX ?
	    info.tcpi_rtt :
	    info.tcpi_rttmin;
}

int
tcp_measure(int fd, struct tcp_numbers *out)
{
	struct tcp_info info;

	memset(out, 0, sizeof *out);
	if (!ask(fd, &info))
		return ERR_UNSUPPORTED;
	out->v[TCP_STATE] = info.tcpi_state;
	out->v[TCP_OPTIONS] = info.tcpi_options;
	out->v[TCP_SND_WSCALE] = info.tcpi_snd_wscale;
	out->v[TCP_RCV_WSCALE] = info.tcpi_rcv_wscale;
	out->v[TCP_RTO] = info.tcpi_rto;
	out->v[TCP_SND_MSS] = info.tcpi_snd_mss;
	out->v[TCP_RCV_MSS] = info.tcpi_rcv_mss;
	out->v[TCP_LAST_DATA_RECV] = info.tcpi_last_data_recv / 1000;
	out->v[TCP_RTT] = info.tcpi_rtt;
	out->v[TCP_RTTVAR] = info.tcpi_rttvar;
	out->v[TCP_SND_SSTHRESH] = tcp_segments(info.tcpi_snd_ssthresh,
	    info.tcpi_snd_mss);
	out->v[TCP_SND_CWND] = tcp_segments(info.tcpi_snd_cwnd,
	    info.tcpi_snd_mss);
	out->v[TCP_RCV_SPACE] = info.tcpi_rcv_space;
	out->v[TCP_SND_WND] = info.tcpi_snd_wnd;
	out->v[TCP_TOTAL_RETRANS] = info.tcpi_snd_rexmitpack;
	out->v[TCP_RCV_OOOPACK] = info.tcpi_rcv_ooopack;
	out->v[TCP_MIN_RTT] = info.tcpi_rttmin;
	return 0;
}

/* Includes bytes that are sent and not acknowledged yet. */
uint64_t
tcp_unsent(int fd)
{
	int bytes;

	return ioctl(fd, FIONWRITE, &bytes) == 0 && bytes > 0 ?
	    (uint64_t)bytes : 0;
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

	return sysctlbyname(receive ? "net.inet.tcp.recvbuf_max" :
				      "net.inet.tcp.sendbuf_max", &limit, &len,
		   NULL, 0) == 0 && limit > 0 ? (uint64_t)limit : 0;
}

const char *
tcp_buffer_setting(bool receive)
{
	return receive ? "net.inet.tcp.recvbuf_max" :
			 "net.inet.tcp.sendbuf_max";
}

#endif
