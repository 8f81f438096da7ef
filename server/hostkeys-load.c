/* SPDX-License-Identifier: ISC */
/* Reading the host's keys and certificates from their files. */
#include "server/hostkeys.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/server-conf.h"
#include "keys/agent-client.h"
#include "keys/cert.h"
#include "keys/keyfile.h"
#include "keys/sk-client.h"

enum { AGENT_OPEN_MS = 5000 }; /* the longest wait for the agent */

/* ---- the agent ---------------------------------------------------------- */

/* Makes a path absolute. The connections' processes have another working
 * directory than the one that a relative path is meant for. Caller frees. */
static char *
whole_path(const char *word)
{
	char cwd[PATH_MAX];
	char *path;

	if (word[0] == '/' || getcwd(cwd, sizeof cwd) == NULL)
		return xstrdup(word);
	xasprintf(&path, "%s/%s", cwd, word);
	return path;
}

/* The path of the agent that HostKeyAgent gives. NULL: it says SSH_AUTH_SOCK,
 * and the environment has no such variable. */
static char *
agent_path(const char *word)
{
	if (strcmp(word, "SSH_AUTH_SOCK") != 0)
		return whole_path(word);
	word = getenv("SSH_AUTH_SOCK");
	return word != NULL && *word != '\0' ? xstrdup(word) : NULL;
}

static void
find_agent(struct hostkeys *h, const char *word)
{
	char *path = agent_path(word);
	struct agent *a;
	int r;

	if (path == NULL) {
		log_error("HostKeyAgent: SSH_AUTH_SOCK is not set");
		return;
	}
	if ((r = agent_open_within(&a, path, AGENT_OPEN_MS)) != 0) {
		log_error("Could not connect to agent \"%s\": %s", path,
		    err_text(r));
		free(path);
		return;
	}
	agent_close(a);
	h->agent = path;
}

/* ---- security keys ------------------------------------------------------ */

static void
find_provider(struct hostkeys *h, const char *word)
{
	const char *provider = sk_provider(word);

	if (provider != NULL)
		h->provider = strcmp(provider, "internal") == 0 ?
		    xstrdup(provider) : whole_path(provider);
}

/* Checks the provider for a key in a security key. Without a usable provider
 * the key could not sign, so it is left out, unless there is an agent, which
 * may have the key, too. */
static int
check_token(struct hostkeys *h, struct hostkey *hk, const char *path)
{
	const char *why = sk_why_unusable(h->provider);

	if (why == NULL)
		return 0;
	if (h->agent != NULL) {
		buf_clear(&hk->private);
		return 0;
	}
	log_error("The security key \"%s\" is no host key: %s", path, why);
	return ERR_SK_HELPER;
}

/* ---- keys --------------------------------------------------------------- */

/* Fills hk from k. If k is a certificate, hk is the key that it certifies, and
 * has the certificate if that is one of a host. */
static int
take_key(struct hostkey *hk, const struct key *k, int min_rsa_bits)
{
	const struct key *plain = key_identity(k);
	int r;

	if ((r = key_check_length(plain, (unsigned)min_rsa_bits)) != 0 ||
	    (r = key_to_blob(plain, &hk->public)) != 0)
		return r;
	if (key_is_private(k) &&
	    (r = key_private_to_wire(plain, &hk->private)) != 0)
		return r;
	if (key_is_cert(k) && key_cert(k)->kind == CERT_HOST)
		return key_to_blob(k, &hk->cert);
	return 0;
}

/* Reads the host key in the file path. If there is an agent and the private key
 * cannot be read, the public key is enough, because the agent signs. */
static int
load_one(struct hostkeys *h, struct hostkey *hk, const char *path,
    int min_rsa_bits)
{
	struct key *k = NULL;
	int r, saved;

	memset(hk, 0, sizeof *hk);
	buf_init_secret(&hk->private);
	r = keyfile_load_private(path, NULL, true, &k, NULL);
	saved = errno;
	if (r != 0 && h->agent != NULL &&
	    keyfile_load_public(path, &k, NULL) == 0)
		r = 0;
	if (r == 0)
		r = take_key(hk, k, min_rsa_bits);
	if (r == 0 && key_is_private(k) && key_sk(k) != NULL)
		r = check_token(h, hk, path);
	key_free(k);
	errno = saved;
	return r;
}

static void
report(const char *path, int r, int saved)
{
	if (r == ERR_PERMISSION) {
		log_error("Permissions for '%s' are too open: others can "
			  "read this private key, so it is not used.",
		    path);
		return;
	}
	errno = saved;
	log_error("Unable to load host key \"%s\": %s", path, err_text(r));
}

static void
drop_last(struct hostkeys *h)
{
	struct hostkey *hk = &h->v[h->n];

	buf_clear(&hk->public);
	buf_clear(&hk->private);
	buf_clear(&hk->cert);
}

static void
tell_key(const struct hostkeys *h)
{
	struct key *k = NULL;
	char *print;

	if (log_get_level() < LOG_LVL_DEBUG1 ||
	    key_from_blob(buf_span(&h->v[h->n].public), &k) != 0)
		return;
	print = key_fingerprint(k, DIGEST_SHA256);
	log_debug("private host key #%zu: %s %s", h->n, key_type(k),
	    print != NULL ? print : "?");
	free(print);
	key_free(k);
}

static void
load_key(struct hostkeys *h, const char *path, bool given, int min_rsa_bits)
{
	struct hostkey *hk = &h->v[h->n];
	int r = load_one(h, hk, path, min_rsa_bits);
	int saved = errno;

	/* A key that stands here twice is left out the second time, because
	 * clients take a host key that they are told of twice for an error. */
	if (r == 0 && hostkeys_find_blob(h, buf_span(&hk->public)) == NULL) {
		tell_key(h);
		h->n++;
		return;
	}
	drop_last(h);
	if (r != 0 && r != ERR_SK_HELPER && (given || access(path, F_OK) == 0))
		report(path, r, saved);
}

/* ---- certificates ------------------------------------------------------- */

/* The host key that the certificate is for; NULL: it is for none of them. */
static struct hostkey *
certified(struct hostkeys *h, const struct key *cert)
{
	struct hostkey *hk = NULL;
	struct buf blob = { 0 };

	if (key_to_blob(key_identity(cert), &blob) == 0)
		hk = hostkeys_find_blob(h, buf_span(&blob));
	buf_clear(&blob);
	return hk;
}

/* Loads a certificate. It replaces an earlier one of the same key. */
static void
load_cert(struct hostkeys *h, const char *path)
{
	struct hostkey *hk;
	struct key *k = NULL;
	int r = keyfile_load_public(path, &k, NULL);

	if (r != 0) {
		log_error("Could not load host certificate \"%s\": %s", path,
		    err_text(r));
		return;
	}
	if (!key_is_cert(k)) {
		log_error("Certificate file is not a certificate: %s", path);
	} else if (key_cert(k)->kind != CERT_HOST) {
		log_error("Certificate file is not a certificate of a host: "
			  "%s", path);
	} else if ((hk = certified(h, k)) == NULL) {
		log_error("No matching private key for certificate: %s",
		    path);
	} else {
		buf_reset(&hk->cert);
		if (key_to_blob(k, &hk->cert) != 0)
			fatal("out of memory");
	}
	key_free(k);
}

size_t
hostkeys_load(struct hostkeys *h, const struct server_conf *c)
{
	const struct strlist *keys = &c->algs.host_key;
	const struct strlist *certs = &c->algs.host_certificate;

	if (c->algs.host_key_agent != NULL)
		find_agent(h, c->algs.host_key_agent);
	find_provider(h, c->algs.security_key_provider);
	for (size_t i = 0; i < keys->n && h->n < HOSTKEYS_MAX; i++)
		load_key(h, keys->v[i], c->algs.host_key_given,
		    c->algs.required_rsa_size);
	for (size_t i = 0; i < certs->n; i++)
		load_cert(h, certs->v[i]);
	return h->n;
}
