/* SPDX-License-Identifier: ISC */
#include "client/unbuilt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/* Is there the socket of a master? */
static bool
access_control_path(const struct client_conf *conf)
{
	char *path;
	bool there;

	if (client_conf_expand(conf, CLIENT_TOKENS_PATH, "ControlPath",
		conf->mux.control_path, &path) != 0)
		return true;
	there = access(path, F_OK) == 0;
	free(path);
	return there;
}

static bool
would_share(const struct client_conf *conf)
{
	return conf->mux.control_path != NULL &&
	    (conf->mux.control_master != CLIENT_MASTER_NO ||
		access_control_path(conf));
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
	if (client_conf_is_set(conf, "ObscureKeystrokeTiming") &&
	    conf->forward.obscure_ms != 0)
		log_info("ObscureKeystrokeTiming is not built into this "
			 "version, which goes on without it");
	return 0;
}

int
client_refuse_unbuilt(const struct client_conf *conf, bool session)
{
	int r = session ? refuse_in_session(conf) : 0;

	if (r < 0)
		return r;
	if (conf->forward.tunnel != CLIENT_TUNNEL_NO)
		return refuse("-w, Tunnel: tunnel forwarding");
	if (would_share(conf))
		return refuse("ControlMaster, ControlPath: connection sharing");
	if (conf->mux.proxy_use_fdpass && conf->tcp.proxy_command != NULL)
		return refuse("ProxyUseFdpass");
	if (conf->forward.channel_timeouts.n > 0)
		return refuse("ChannelTimeout");
	return 0;
}
