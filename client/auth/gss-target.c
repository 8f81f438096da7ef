/* SPDX-License-Identifier: ISC */
/* Chooses the service that a ticket has to be for, and the user whose ticket it
 * is. */
#include "client/auth/gss-login.h"

void
gss_login_target(struct gss_request *request, const struct client_conf *conf,
    const char *address)
{
	const char *given = conf->auth.gssapi_server_identity;

	request->host = given != NULL ? given : conf->host.hostname;
	request->address = given == NULL && conf->auth.gssapi_trust_dns ?
	    address : NULL;
	request->identity = conf->auth.gssapi_client_identity;
}
