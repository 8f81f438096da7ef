/* SPDX-License-Identifier: ISC */
/* Whose service a ticket has to be for, and whose ticket it is. */
#include "client/auth/gss-login.h"

void
gss_login_target(struct gss_wish *wish, const struct client_conf *conf,
    const char *address)
{
	const char *given = conf->auth.gssapi_server_identity;

	wish->host = given != NULL ? given : conf->host.hostname;
	wish->address = given == NULL && conf->auth.gssapi_trust_dns ?
	    address : NULL;
	wish->identity = conf->auth.gssapi_client_identity;
}
