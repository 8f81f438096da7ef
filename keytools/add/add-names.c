/* SPDX-License-Identifier: ISC */
/* Names of files, and error texts for messages. */
#include "keytools/add/add.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own-account.h"

char *
add_home_file(const char *name)
{
	const char *home = own_account_home();
	char *path;

	if (home == NULL)
		fatal("No user exists for uid %u", (unsigned)getuid());
	xasprintf(&path, "%s/.ssh/%s", home, name);
	return path;
}

void
add_default_files(struct strlist *paths)
{
	static const char *const names[] = { "id_rsa", "id_ecdsa",
		"id_ecdsa_sk", "id_ed25519", "id_ed25519_sk",
		"id_mldsa44_ed25519" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = add_home_file(names[i]);

		if (access(path, F_OK) == 0)
			xstrlist_add(paths, path);
		free(path);
	}
}

char *
add_cert_path(const char *path)
{
	char *cert;

	xasprintf(&cert, "%s-cert.pub", path);
	return cert;
}

const char *
add_why(int err)
{
	switch (err) {
	case ERR_AGENT:
		return "agent refused operation";
	case ERR_EOF:
	case ERR_PROTOCOL:
	case ERR_TRUNCATED:
	case ERR_TRAILING:
		return "communication with agent failed";
	}
	return err_text(err);
}
