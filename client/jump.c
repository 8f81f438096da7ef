/* SPDX-License-Identifier: ISC */
#include "client/jump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/remote-child.h"
#include "conf/destination.h"

/* How many processes of a chain there are already: configurations can lead
 * from a to b and from b to a. */
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

/* The same host, and no other user or port is named. */
static bool
is_circle(const struct client_conf *conf, const struct destination *hop)
{
	return strcmp(hop->host, conf->load.original_host) == 0 &&
	    (hop->user == NULL || strcmp(hop->user, conf->host.user) == 0) &&
	    (hop->port == NULL || atoi(hop->port) == conf->host.port);
}

static int
add_pair(struct strlist *argv, const char *flag, const char *value)
{
	int r = 0;

	if (value != NULL && (r = strlist_add(argv, flag)) == 0)
		r = strlist_add(argv, value);
	return r;
}

/* The flags for the last hop; it passes them to those in front of it. */
static int
add_flags(struct strlist *argv, const struct client_conf *conf)
{
	int r = add_pair(argv, "-F", conf->load.config_path);

	for (int i = 0; r == 0 && i < MIN(conf->log.verbosity, 3); i++)
		r = strlist_add(argv, "-v");
	if (r == 0 && conf->log.verbosity < 0)
		r = strlist_add(argv, "-q");
	if (r == 0 && conf->auth.batch_given)
		r = strlist_add(argv, "-oBatchMode=yes");
	return r;
}

static int
add_all(struct strlist *argv, const struct client_conf *conf,
    const struct destination *hop, const char *rest)
{
	char *program = remote_find_ssh(), *target;
	int r = strlist_add(argv, program);

	free(program);
	xasprintf(&target, "[%s]:%d", conf->host.hostname, conf->host.port);
	if (r == 0)
		r = add_pair(argv, "-l", hop->user);
	if (r == 0)
		r = add_pair(argv, "-p", hop->port);
	if (r == 0)
		r = add_pair(argv, "-J", rest);
	if (r == 0)
		r = add_flags(argv, conf);
	if (r == 0)
		r = add_pair(argv, "-W", target);
	if (r == 0)
		r = add_pair(argv, "--", hop->host);
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
		r = add_all(argv, conf, &hop, rest);
	}
	for (size_t i = 0; r == 0 && i < argv->n; i++)
		log_debug("jump host argument %zu: %s", i, argv->v[i]);
	destination_clear(&hop);
	free(rest);
	return r;
}
