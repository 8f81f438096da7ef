/* SPDX-License-Identifier: ISC */
#include "server/kexlog.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "kex.h"

bool
kexlog_version(const char *line, const char *ours, const char *remote)
{
	const char *protocol = line + 4, *software;
	int len;

	if (!str_has_prefix(line, "SSH-"))
		return false;
	len = (int)strcspn(protocol, "-");
	if (protocol[len] != '-')
		return false;
	software = protocol + len + 1;
	log_debug("Local version string %s", ours);
	log_debug("Remote protocol version %.*s, remote software version %s",
	    len, protocol, software);
	log_info("SSH: Server;Ltype: Version;Remote: %s;Protocol: %.*s;"
		 "Client: %s",
	    remote, len, protocol, software);
	return str_has_prefix(protocol, "2.0-") ||
	    str_has_prefix(protocol, "1.99-");
}

void
kexlog_result(const struct kex *k, const char *remote)
{
	const struct kex_result *res = kex_result(k);

	log_info("SSH: Server;Ltype: Kex;Remote: %s;Enc: %s;MAC: %s;Comp: %s",
	    remote, res->cipher_rx, res->mac_rx, res->comp_rx);
}

void
kexlog_throughput(const struct packet *p, const char *remote,
    uint64_t duration_ms)
{
	uint64_t in = packet_counters(p, PACKET_RX).bytes;
	uint64_t out = packet_counters(p, PACKET_TX).bytes;
	double seconds = (double)duration_ms / 1000;
	double per = seconds > 0 ? seconds : 0.001;

	log_info("SSH: Server;LType: Throughput;Remote: %s;IN: %" PRIu64
		 ";OUT: %" PRIu64 ";Duration: %.1f;tPut_in: %.1f;"
		 "tPut_out: %.1f",
	    remote, in, out, seconds, (double)in / per, (double)out / per);
}
