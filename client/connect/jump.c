/* SPDX-License-Identifier: ISC */
#include "client/connect/jump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/common/ssh-command.h"
#include "conf/destination.h"

/* The variable of the environment that counts the processes in a chain of jump
 * hosts. The chain could be endless, because one configuration can lead from a
 * to b and another from b to a. */
#define COUNT_NAME "HPNSSH_JUMPS"

static int
hops_so_far(void)
{
	const char *text = getenv(COUNT_NAME);
	int64_t n;

	return text != NULL && str_to_int(text, 0, 1000, &n) == 0 ? (int)n : 0;
}

void
jump_count(void)
{
	char text[16];

	snprintf(text, sizeof text, "%d", hops_so_far() + 1);
	(void)setenv(COUNT_NAME, text, 1);
}

/* Is the jump host this same host, with no other user or port? */
static bool
is_circle(const struct client_conf *conf, const struct destination *hop)
{
	return strcmp(hop->host, conf->load.original_host) == 0 &&
	    (hop->user == NULL || strcmp(hop->user, conf->host.user) == 0) &&
	    (hop->port == NULL || atoi(hop->port) == conf->host.port);
}

/* Appends the command that goes through hop. -F, -v, -q and BatchMode of our
 * own command line are passed on, because they are meant for all hosts of the
 * chain. earlier: the jump hosts in front of hop, or NULL. */
static int
add_command(struct strlist *argv, const struct client_conf *conf,
    const struct destination *hop, const char *earlier)
{
	char *program = ssh_command_find(), *target;
	struct ssh_command_jump jump = {
		.program = program,
		.host = hop->host,
		.user = hop->user,
		.port = hop->port,
		.earlier = earlier,
		.config_path = conf->load.config_path,
		.verbosity = conf->log.verbosity,
		.batch = conf->auth.batch_given,
	};
	int r;

	xasprintf(&target, "[%s]:%d", conf->host.hostname, conf->host.port);
	jump.target = target;
	r = ssh_command_jump_line(argv, &jump);
	free(program);
	free(target);
	return r;
}

int
jump_command(struct strlist *argv, const struct client_conf *conf)
{
	struct destination hop = { 0 };
	char *rest = NULL;
	int r = destination_last_jump(&hop, conf->tcp.proxy_jump, &rest);

	if (r == 0 && is_circle(conf, &hop)) {
		log_error("jumphost loop via %s", hop.host);
		r = ERR_ARGUMENT;
	} else if (r == 0 && hops_so_far() >= DESTINATION_JUMPS_MAX) {
		log_error("more than %d jump hosts: they seem to lead in a "
			  "circle",
		    DESTINATION_JUMPS_MAX);
		r = ERR_LIMIT;
	} else if (r == 0) {
		r = add_command(argv, conf, &hop, rest);
	}
	for (size_t i = 0; r == 0 && i < argv->n; i++)
		log_debug("jump host argument %zu: %s", i, argv->v[i]);
	destination_clear(&hop);
	free(rest);
	return r;
}
