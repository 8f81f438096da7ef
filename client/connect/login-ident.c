/* SPDX-License-Identifier: ISC */
#include "client/connect/login-ident.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"

enum {
	IDENT_MAX = 253, /* bytes of an identification without CR LF (RFC 4253
			  * section 4.2) */
};

int
login_ident(const struct client_conf *conf, char **out)
{
	char *addendum;
	int r;

	if (conf->tcp.version_addendum == NULL) {
		*out = xstrdup(HPN_IDENT);
		return 0;
	}
	r = client_conf_expand(conf, CLIENT_TOKENS_COMMAND, "VersionAddendum",
	    conf->tcp.version_addendum, &addendum);
	if (r != 0)
		return r;
	xasprintf(out, "%s %s", HPN_IDENT, addendum);
	free(addendum);
	if (strlen(*out) <= IDENT_MAX)
		return 0;
	log_error("VersionAddendum is too long");
	return ERR_LIMIT;
}
