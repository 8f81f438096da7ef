/* SPDX-License-Identifier: ISC */
#include "server/kexlog.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kex.h"
#include "peer-version.h"

char *
kexlog_field(const char *text, size_t len)
{
	static const char escaped[] = "\\073";
	char *out = xcalloc(len * strlen(escaped) + 1, 1), *to = out;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == ';')
			to = stpcpy(to, escaped);
		else
			*to++ = text[i];
	}
	return out;
}

void
kexlog_name(const char *name, const char *remote)
{
	char *field = kexlog_field(name, strlen(name));

	log_verbose("SSH: Server;Ltype: Authname;Remote: %s;Name: %s", remote,
	    field);
	free(field);
}

bool
kexlog_version(const char *line, const char *ours, const char *remote)
{
	const char *protocol = line + 4, *software;
	char *fields[2];
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
	fields[0] = kexlog_field(protocol, (size_t)len);
	fields[1] = kexlog_field(software, strlen(software));
	log_verbose("SSH: Server;Ltype: Version;Remote: %s;Protocol: %s;"
		    "Client: %s",
	    remote, fields[0], fields[1]);
	free(fields[0]);
	free(fields[1]);
	return peer_version_is_2(line);
}

void
kexlog_result(const struct kex *k, const char *remote)
{
	const struct kex_result *res = kex_result(k);

	log_verbose("SSH: Server;Ltype: Kex;Remote: %s;Enc: %s;MAC: %s;"
		    "Comp: %s",
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
