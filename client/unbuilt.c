/* SPDX-License-Identifier: ISC */
#include "client/unbuilt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/* The socket that ForwardAgent means; NULL: none. Caller frees. */
static char *
forwarded_agent(const struct client_conf *conf)
{
	const char *text = conf->forward.forward_agent, *value;
	char *path;

	if (text == NULL)
		return NULL;
	if (strcmp(text, "yes") == 0)
		return client_conf_agent(conf);
	if (text[0] == '$' && text[1] != '{') {
		value = getenv(text + 1);
		return value != NULL ? xstrdup(value) : NULL;
	}
	if (client_conf_expand(conf, CLIENT_TOKENS_PATH, "ForwardAgent", text,
		&path) != 0)
		return NULL;
	return path;
}

static bool
would_forward_agent(const struct client_conf *conf)
{
	char *path = forwarded_agent(conf);
	bool there = path != NULL && access(path, F_OK) == 0;

	free(path);
	return there;
}

static bool
would_forward_x11(const struct client_conf *conf)
{
	const char *display = getenv("DISPLAY");

	return conf->forward.forward_x11 && display != NULL && *display != '\0';
}

static bool
would_forward_ports(const struct client_conf *conf)
{
	return !conf->forward.clear_all_forwardings &&
	       (conf->forward.local_forward.n > 0 ||
		   conf->forward.remote_forward.n > 0 ||
		   conf->forward.dynamic_forward.n > 0);
}

static int
refuse(const char *what)
{
	log_error("%s is not available in this version", what);
	return ERR_UNSUPPORTED;
}

int
client_refuse_unbuilt(const struct client_conf *conf, bool session, bool ports)
{
	if (session && would_forward_agent(conf))
		return refuse("-A, ForwardAgent: agent forwarding");
	if (session && would_forward_x11(conf))
		return refuse("-X, ForwardX11: X11 forwarding");
	if (ports && would_forward_ports(conf))
		return refuse("LocalForward, RemoteForward, DynamicForward: "
			      "port forwarding");
	return 0;
}
