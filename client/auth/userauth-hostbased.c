/* SPDX-License-Identifier: ISC */
/*
 * Host-based authentication (RFC 4252 section 9): this host states which of its
 * users is logging in, and hpnssh-keysign signs that with one of this host's
 * own keys.
 */
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/local-name.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/auth/keysign.h"
#include "client/auth/userauth-internal.h"
#include "keys/host-key-files.h"
#include "keys/key.h"
#include "keys/keyfile.h"

#define METHOD "hostbased"

/* The order of tries: certificates come before plain keys. */
static const char *const endings[] = { "-cert.pub", ".pub" };

enum { KEYS_MAX = HOST_KEY_FILES * ARRAY_LEN(endings) };

struct hostbased_state {
	struct key *keys[KEYS_MAX]; /* this host's public keys; NULL: there is
				     * none, or it was tried */
	char *host;	   /* this host's name, with a dot at its end; NULL: it
			    * has none */
	char *client_user; /* login name of the user who runs this program */
	bool failed;	   /* hpnssh-keysign did not sign, and is not asked
			    * again */
};

void
hostbased_state_free(struct hostbased_state *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(s->keys); i++)
		key_free(s->keys[i]);
	free(s->host);
	free(s->client_user);
	free(s);
}

/* Loads the public key from the file with this ending; NULL: there is none. */
static struct key *
load_key(const char *file, const char *ending)
{
	struct key *k = NULL;
	char *path;

	xasprintf(&path, "%s%s", file, ending);
	if (access(path, R_OK) == 0 && keyfile_load_public(path, &k, NULL) != 0)
		k = NULL;
	free(path);
	return k;
}

static struct hostbased_state *
make_state(const struct userauth *ua)
{
	struct hostbased_state *s = xcalloc(1, sizeof *s);
	char *name = local_name(packet_fd_in(ua->p.packet));
	const struct passwd *pw = getpwuid(getuid());

	if (name != NULL)
		xasprintf(&s->host, "%s.", name);
	free(name);
	if (pw != NULL)
		s->client_user = xstrdup(pw->pw_name);
	for (size_t i = 0; i < KEYS_MAX; i++)
		s->keys[i] = load_key(host_key_files[i % HOST_KEY_FILES],
		    endings[i / HOST_KEY_FILES]);
	return s;
}

/* Takes the next key, in the order of HostbasedAcceptedAlgorithms, and its
 * algorithm (*alg). The caller frees both. NULL: none is left. */
static struct key *
next_key(const struct userauth *ua, struct hostbased_state *s, char **alg)
{
	const char *pos = ua->p.conf->algs.hostbased_accepted_algorithms;
	const char *name;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		char *copy = xstrndup(name, len);

		for (size_t i = 0; i < ARRAY_LEN(s->keys); i++) {
			struct key *k = s->keys[i];

			if (k == NULL || !key_serves(k, copy))
				continue;
			s->keys[i] = NULL;
			*alg = copy;
			return k;
		}
		free(copy);
	}
	return NULL;
}

/* Appends the request with its signature, which is over the session identifier
 * and the request. */
static int
put_signed_request(const struct userauth *ua, const struct key *k,
    const char *alg, struct buf *b)
{
	const struct hostbased_state *s = ua->hostbased;
	struct buf data = { 0 }, signature = { 0 }, blob = { 0 };
	int r = key_to_blob(k, &blob);

	userauth_put_request(ua, b, METHOD);
	buf_put_cstring(b, alg);
	buf_put_string_buf(b, &blob);
	buf_put_cstring(b, s->host);
	buf_put_cstring(b, s->client_user);
	buf_put_string_buf(&data, &ua->session_id);
	buf_put_buf(&data, b);
	if (r == 0)
		r = buf_err(&data);
	if (r == 0)
		r = keysign_ask(packet_fd_in(ua->p.packet),
		    buf_span(&data),
		    &signature);
	buf_put_string_buf(b, &signature);
	buf_clear(&data);
	buf_clear(&signature);
	buf_clear(&blob);
	return r != 0 ? r : buf_err(b);
}

static int
try_key(struct userauth *ua, const struct key *k, const char *alg)
{
	struct buf b = { 0 };
	int r;

	log_debug("hostbased: host %s, user %s, %s key of this host",
	    ua->hostbased->host, ua->hostbased->client_user, alg);
	if ((r = put_signed_request(ua, k, alg, &b)) == 0)
		r = userauth_send(ua, &b);
	else
		ua->hostbased->failed = true;
	buf_clear(&b);
	/* If signing failed, return 0, so that other methods are tried. */
	return ua->hostbased->failed ? 0 : r != 0 ? r : 1;
}

static bool
enabled(const struct userauth *ua)
{
	return ua->p.conf->auth.hostbased_authentication != 0;
}

static int
next(struct userauth *ua)
{
	struct hostbased_state *s = ua->hostbased;
	struct key *k;
	char *alg;
	int r;

	if (s == NULL)
		s = ua->hostbased = make_state(ua);
	if (s->host == NULL || s->client_user == NULL) {
		log_debug("hostbased: this host, or user, has no name");
		return 0;
	}
	if (s->failed)
		return 0;
	if ((k = next_key(ua, s, &alg)) == NULL) {
		log_debug("No more client hostkeys for hostbased "
			  "authentication.");
		return 0;
	}
	r = try_key(ua, k, alg);
	key_free(k);
	free(alg);
	return r;
}

static int
input(struct userauth *ua, uint8_t type, struct rd body)
{
	(void)ua;
	(void)type;
	(void)body;
	return USERAUTH_UNKNOWN;
}

const struct userauth_ops userauth_hostbased = {
	.enabled = enabled,
	.next = next,
	.input = input,
};
