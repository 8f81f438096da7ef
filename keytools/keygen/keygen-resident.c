/* SPDX-License-Identifier: ISC */
/* Downloads the resident keys that an authenticator stores (-K). */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keytools/keygen/keygen-sk.h"

/* ---- names of files ------------------------------------------------------ */

/* True if the user's name can be part of a file name: printable, without
 * slashes and "..", so that it cannot lead to another directory. */
static bool
is_plain(struct span user)
{
	for (size_t i = 0; i < user.len; i++)
		if (user.p[i] <= ' ' || user.p[i] >= 0x7f ||
		    user.p[i] == '/' || user.p[i] == '\\')
			return false;
	return memmem(user.p, user.len, "..", 2) == NULL;
}

/* The part of the file name for the user: "_USER", in hexadecimal if it is not
 * plain; "" for an id of zeros, which means no user. Caller frees. */
static char *
user_part(const struct buf *id)
{
	struct span user = buf_span(id);
	char *text, *hex;

	while (user.len > 0 && user.p[user.len - 1] == 0)
		user.len--;
	if (user.len == 0)
		return xstrdup("");
	if (is_plain(user)) {
		xasprintf(&text, "_%.*s", (int)user.len,
		    (const char *)user.p);
		return text;
	}
	hex = str_hex(user.p, user.len);
	if (hex == NULL)
		fatal("out of memory");
	xasprintf(&text, "_%s", hex);
	free(hex);
	return text;
}

/* The application without the "ssh:" that all keys have in common. */
static const char *
own_name(const char *application)
{
	if (str_has_prefix(application, "ssh://"))
		return application + strlen("ssh://");
	return str_has_prefix(application, "ssh:") ?
	    application + strlen("ssh:") :
	    application;
}

static char *
file_name(const struct sk_resident *found)
{
	const char *name = own_name(key_sk(found->key)->application);
	bool ecdsa = strcmp(key_short_name(found->key), "ECDSA-SK") == 0;
	char *path, *user = user_part(&found->user);

	xasprintf(&path, "id_%s_sk_rk%s%s%s", ecdsa ? "ecdsa" : "ed25519",
	    *name != '\0' ? "_" : "", name, user);
	/* The application comes from the authenticator, too, and is not
	 * trusted. */
	for (char *p = path; *p != '\0'; p++)
		if (*p == '/' || *p == '\\' || (unsigned char)*p <= ' ' ||
		    (unsigned char)*p >= 0x7f)
			*p = '_';
	free(user);
	return path;
}

/* ---- the mode ------------------------------------------------------------ */

static void
take_options(const struct keygen_options *o, struct sk_params *p)
{
	for (size_t i = 0; i < o->options.n; i++) {
		const char *text = o->options.v[i];

		if (strncasecmp(text, "device=", strlen("device=")) != 0)
			fatal("Option \"%s\" is unsupported for FIDO "
			      "resident key download",
			    text);
		p->device = text + strlen("device=");
	}
}

static void
save(const struct keygen_options *o, const struct sk_resident *found,
    const char *pass)
{
	const char *application = key_sk(found->key)->application;
	const char *name = own_name(application);
	char *path = file_name(found), *shown = xstr_escape(application);

	if (!keygen_confirm_overwrite(path)) {
		free(shown);
		free(path);
		return;
	}
	if (!keygen_save_pair(o, path, found->key, KEYFILE_OPENSSH, pass,
		application))
		exit(FAILED);
	if (!o->quiet)
		printf("Saved %s key%s%s to %s\n", key_short_name(found->key),
		    *name != '\0' ? " " : "",
		    *name != '\0' ? shown : "", path);
	free(shown);
	free(path);
}

int
keygen_resident(const struct keygen_options *o)
{
	struct sk_params p = { .provider = keygen_sk_provider(o) };
	struct sk_resident *v = NULL;
	size_t n = 0;
	char *pin, *pass;
	int r;

	take_options(o, &p);
	pin = keygen_ask_pass("Enter PIN for authenticator: ");
	p.pin = pin;
	if (!o->quiet)
		printf("You may need to touch your authenticator to "
		       "authorize key download.\n");
	fflush(stdout);
	r = sk_client_load(&p, &v, &n);
	keygen_pass_free(pin);
	if (r != 0)
		fatal("Unable to load resident keys: %s", err_text(r));
	if (n == 0 && !o->quiet)
		printf("No keys to download\n");
	if (n > 0) {
		pass = keygen_new_pass_for(o, "Enter passphrase "
		    "(empty for no passphrase): ", KEYFILE_OPENSSH);
		for (size_t i = 0; i < n; i++)
			save(o, &v[i], pass);
		keygen_pass_free(pass);
	}
	sk_residents_free(v, n);
	return OK;
}
