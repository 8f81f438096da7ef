/* SPDX-License-Identifier: ISC */
#include "client/hosts/known-hosts-command.h"

#include "base/log.h"
#include "client/common/user-program.h"

enum {
	TIME_MAX_MS = 30 * 1000,
	OUTPUT_MAX = 1024 * 1024, /* bytes */
};

#define WHAT "KnownHostsCommand"

int
known_hosts_command_within(int limit_ms, const struct client_conf *conf,
    const char *reason, const char *name, const struct key *k,
    struct buf *out)
{
	const struct user_program program = {
		.keyword = WHAT,
		.command = conf->known.known_hosts_command,
		.tokens = CLIENT_TOKENS_KNOWN_HOSTS,
		.reason = reason,
		.name = name,
		.key = k,
		.limit_ms = limit_ms,
		.output_max = OUTPUT_MAX,
	};
	int r;

	if (program.command == NULL)
		return 0;
	r = user_program_run(conf, &program, out);
	if (r != 0)
		log_error(WHAT " failed");
	return r == ERR_DENIED ? ERR_HOSTKEY : r;
}

int
known_hosts_command(const struct client_conf *conf, const char *reason,
    const char *name, const struct key *k, struct buf *out)
{
	return known_hosts_command_within(TIME_MAX_MS, conf, reason, name, k,
	    out);
}
