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

static int
refuse(const char *what)
{
	log_error("%s is not available in this version", what);
	return ERR_UNSUPPORTED;
}

static int
refuse_in_session(const struct client_conf *conf)
{
	if (would_forward_agent(conf))
		return refuse("-A, ForwardAgent: agent forwarding");
	if (would_forward_x11(conf))
		return refuse("-X, ForwardX11: X11 forwarding");
	return 0;
}

int
client_refuse_unbuilt(const struct client_conf *conf, bool session)
{
	int r = session ? refuse_in_session(conf) : 0;

	if (r < 0)
		return r;
	if (conf->mux.proxy_use_fdpass && conf->tcp.proxy_command != NULL)
		return refuse("ProxyUseFdpass");
	return 0;
}
