/* SPDX-License-Identifier: ISC */
#include "client/auth/agent-add.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/askpass.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/agent-client.h"
#include "keys/cert.h"

/* Asks the user whether the key may go to the agent. Only the askpass program
 * asks, because the terminal belongs to the session. */
static bool
user_agrees(const struct client_conf *conf, const char *path,
    const char *comment)
{
	char *shown, *question, *answer;
	bool agreed;

	if (conf->auth.batch_mode || !askpass_possible())
		return false;
	shown = xstr_escape(comment);
	xasprintf(&question, "Add key %s (%s) to agent?", path, shown);
	answer = askpass_wait(ASKPASS_CONFIRM, question);
	agreed = answer != NULL;
	askpass_free(answer);
	free(question);
	free(shown);
	return agreed;
}

/* Seconds for which the agent is to keep the key; 0: for ever. */
static uint32_t
lifetime_of(const struct client_conf *conf, const struct key *k)
{
	uint32_t lifetime = (uint32_t)conf->auth.add_keys_lifetime;
	const struct cert *cert = key_cert(k);
	uint64_t now = (uint64_t)time(NULL), left;

	if (cert == NULL || cert->valid_before == CERT_FOREVER)
		return lifetime;
	left = cert->valid_before > now ? cert->valid_before - now : 1;
	if (left > UINT32_MAX || (lifetime != 0 && lifetime < left))
		return lifetime;
	return (uint32_t)left;
}

static void
add(const struct client_conf *conf, struct agent *a, const char *path,
    const struct key *k, const char *comment)
{
	const struct agent_constraints constraints = {
		.lifetime = lifetime_of(conf, k),
		.confirm = conf->auth.add_keys == CLIENT_ADD_CONFIRM,
	};
	int r;

	if (conf->auth.add_keys == CLIENT_ADD_ASK &&
	    !user_agrees(conf, path, comment)) {
		log_debug("the user does not want %s in the agent", path);
		return;
	}
	r = agent_add(a, k, comment, &constraints);
	if (r == 0)
		log_debug("identity added to agent: %s", path);
	else
		log_debug("could not add identity to agent: %s: %s", path,
		    err_text(r));
}

void
agent_add_loaded(const struct client_conf *conf, const char *path,
    const struct key *k, const char *comment)
{
	struct agent *a = NULL;
	char *socket;

	if (conf->auth.add_keys == CLIENT_ADD_NO)
		return;
	if (comment == NULL || *comment == '\0')
		comment = path;
	socket = client_conf_agent(conf);
	if (socket != NULL && agent_open(&a, socket) == 0)
		add(conf, a, path, k, comment);
	else
		log_debug("no authentication agent, not adding key %s", path);
	agent_close(a);
	free(socket);
}

void
agent_add_certificate(const struct client_conf *conf, const struct key *cert,
    const struct key *priv)
{
	struct key *joined = NULL;

	if (key_private_cert(cert, priv, &joined) == 0)
		agent_add_loaded(conf, "CertificateCommand", joined,
		    key_cert(cert)->id);
	key_free(joined);
}
