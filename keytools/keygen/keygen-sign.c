/* SPDX-License-Identifier: ISC */
/* Signs files with SSH keys (-Y sign). */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/agent-client.h"
#include "keytools/keygen/keygen-sig.h"
#include "keytools/keygen/keygen-sk.h"

/* The key that signs. named: the key or certificate that is put into the
 * signature. */
struct signing {
	const struct keygen_options *o;
	struct key *named;
	struct key *private;   /* NULL: an agent has the private key */
	struct agent *agent;
	/* The agent has the key only with the certificate `named`. */
	bool by_cert;
	enum digest_alg hash;
};

static int
sign(void *arg, const struct key *k, const char *alg, struct span data,
    struct buf *signature)
{
	struct signing *s = arg;

	if (s->private != NULL && key_sk(s->private) != NULL) {
		char *text;
		int r;

		xasprintf(&text, "Enter PIN for %s key: ",
		    key_short_name(s->private));
		r = keygen_sk_sign(s->o, s->private, alg, data, text,
		    signature);
		free(text);
		return r;
	}
	if (s->private != NULL)
		return key_sign(s->private, alg, data, signature);
	if (s->by_cert)
		return agent_sign(s->agent, k, key_alg_by_name(alg)->cert_name,
		    data, signature);
	return agent_sign(s->agent, key_identity(k), alg, data, signature);
}

/* ---- the key ------------------------------------------------------------ */

static bool
find_in_agent(struct signing *s)
{
	struct agent_key *keys = NULL;
	size_t count = 0;
	bool plain = false, cert = false;
	int r = agent_open(&s->agent, NULL);

	if (r == 0)
		r = agent_list(s->agent, &keys, &count);
	if (r != 0 && s->o->use_agent)
		fatal("Couldn't get agent socket: %s",
		    r == ERR_NOT_FOUND ? "SSH_AUTH_SOCK is not set" :
					 err_text(r));
	for (size_t i = 0; i < count; i++) {
		plain |= key_equal_public(keys[i].key, key_identity(s->named));
		cert |= key_is_cert(s->named) &&
		    key_equal_public(keys[i].key, s->named);
	}
	agent_keys_free(keys, count);
	s->by_cert = !plain;
	return plain || cert;
}

static void
load_private(struct signing *s)
{
	char *path = xstrndup(s->o->file,
	    keyfile_private_len(s->o->file));
	char *pass = NULL, *comment = NULL;

	s->private = keygen_load_private(s->o, path, &pass, &comment);
	if (!key_same_identity(s->private, s->named))
		fatal("the private key in %s is not that of %s", path,
		    s->o->file);
	keygen_pass_free(pass);
	free(comment);
	free(path);
}

static void
load_key(struct signing *s)
{
	int r = keyfile_load_public(s->o->file, &s->named, NULL);

	/* The path may be that of a private key without a .pub file. */
	if (r == ERR_PASSPHRASE) {
		char *pass = NULL, *comment = NULL;

		s->private = keygen_load_private(s->o, s->o->file, &pass,
		    &comment);
		keygen_pass_free(pass);
		free(comment);
		r = key_public_of(s->private, &s->named);
	}
	if (r != 0)
		fatal("Couldn't load public key %s: %s", s->o->file,
		    err_text(r));
	if (s->private != NULL || find_in_agent(s))
		return;
	if (s->o->use_agent)
		fatal("the agent does not have the key %s", s->o->file);
	load_private(s);
}

/* ---- signing ------------------------------------------------------------ */

static void
sign_fd(struct signing *s, int fd, const char *name, struct buf *out)
{
	uint8_t digest[DIGEST_MAX_LEN];
	int r = keygen_digest_fd(fd, s->hash, digest);

	if (r != 0)
		fatal("Cannot read %s: %s", name, err_text(r));
	r = sshsig_make(s->named, s->o->names, s->hash, digest, sign, s, out);
	if (r != 0)
		fatal("Signing %s failed: %s", name, err_text(r));
}

static void
sign_file(struct signing *s, const char *path)
{
	struct buf out = { 0 };
	char *to;
	int fd, r;

	xasprintf(&to, "%s.sig", path);
	if (!s->o->quiet)
		fprintf(stderr, "Signing file %s\n", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		fatal("Cannot open %s for signing: %s", path,
		    strerror(errno));
	sign_fd(s, fd, path, &out);
	fd_close(&fd);
	if (keygen_confirm_overwrite(to)) {
		if (!s->o->quiet)
			fprintf(stderr, "Write signature to %s\n", to);
		r = file_replace(to, buf_data(&out), buf_len(&out), 0644);
		if (r != 0)
			fatal("Cannot write %s: %s", to, err_text(r));
	}
	buf_clear(&out);
	free(to);
}

static void
sign_stdin(struct signing *s)
{
	struct buf out = { 0 };

	if (!s->o->quiet)
		fprintf(stderr, "Signing data on standard input\n");
	sign_fd(s, STDIN_FILENO, "standard input", &out);
	fwrite(buf_data(&out), 1, buf_len(&out), stdout);
	buf_clear(&out);
}

static void
take_options(struct signing *s)
{
	for (size_t i = 0; i < s->o->options.n; i++) {
		const char *text = s->o->options.v[i];
		int hash;

		if (!str_has_prefix(text, "hashalg="))
			fatal("Invalid option \"%s\"", text);
		hash = sshsig_hash(text + strlen("hashalg="));
		if (hash < 0)
			fatal("unsupported hash algorithm \"%s\"",
			    text + strlen("hashalg="));
		s->hash = (enum digest_alg)hash;
	}
}

int
keygen_sign(const struct keygen_options *o)
{
	struct signing s = { .o = o, .hash = DIGEST_SHA512 };
	bool from_stdin = o->n_args == 0;

	take_options(&s);
	load_key(&s);
	for (size_t i = 0; i < o->n_args; i++) {
		if (strcmp(o->args[i], "-") == 0)
			from_stdin = true;
		else
			sign_file(&s, o->args[i]);
	}
	if (from_stdin)
		sign_stdin(&s);
	agent_close(s.agent);
	key_free(s.private);
	key_free(s.named);
	return OK;
}
