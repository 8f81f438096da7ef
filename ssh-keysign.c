/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-keysign: signs for host-based authentication with this host's private
 * keys, for users who cannot read them. It is setuid root. It gives root's
 * rights up as soon as it has opened the key files; whatever the caller can
 * influence is read with the caller's rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/help.h"
#include "base/hide.h"
#include "base/local-name.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/ids.h"
#include "compat/proc.h"
#include "conf/client-conf.h"
#include "crypto/library.h"
#include "keys/host-key-files.h"
#include "keys/keyfile.h"
#include "keytools/keysign/keysign-check.h"

enum { KEY_FILE_MAX = 1024 * 1024 /* bytes */ };

static const struct help_row no_options[] = { { NULL, NULL } };
static const struct help help = {
	.manual = "hpnssh-keysign",
	.usage = "hpnssh-keysign --help | -V",
	.rows = no_options,
	.foot = "hpnssh starts it for host-based logins, to sign with the\n"
		"keys of this host.\nBy hand it is of no use.\n",
};

#define CONFIG SYSCONFDIR "/ssh_config"

/* ---- with the superuser's rights --------------------------------------- */

static void
open_keys(int fds[HOST_KEY_FILES])
{
	for (size_t i = 0; i < HOST_KEY_FILES; i++)
		fds[i] = open(host_key_files[i],
		    O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* Ends the program unless the descriptors up to that of the connection are
 * open. Otherwise a key file that is opened next would get the number of one of
 * them. */
static void
must_have_connection(void)
{
	for (int fd = 0; fd <= KEYSIGN_CONNECTION_FD; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			fatal("descriptor %d is not open", fd);
}

/* Gives up root's rights. Supplementary groups need no change, because setuid
 * programs keep the caller's. */
static void
become_caller(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (ids_become(uid, gid) == -1 || !ids_are(uid, gid) ||
	    (uid != 0 && setuid(0) == 0))
		_exit(1);
}

/* ---- with the caller's ------------------------------------------------- */

static void
must_be_enabled(void)
{
	struct client_conf c;
	int r;

	client_conf_init(&c);
	r = client_conf_read_file(&c, CONFIG, CLIENT_CONF_ROOT);
	if (r != 0 && r != ERR_NOT_FOUND)
		fatal("%s cannot be read", CONFIG);
	if (!c.auth.enable_ssh_keysign)
		fatal("ssh-keysign not enabled in %s", CONFIG);
	client_conf_clear(&c);
}

static struct key *
load_key(int fd, const char *path)
{
	struct key *k = NULL;
	struct buf b;
	int r;

	buf_init_secret(&b);
	r = fd_read_file(fd, &b, KEY_FILE_MAX);
	if (r == 0)
		r = keyfile_parse_private(buf_span(&b),
		    NULL, &k, NULL);
	buf_clear(&b);
	if (r == 0)
		return k;
	log_debug("%s: %s", path, err_text(r));
	return NULL;
}

static void
load_keys(int fds[HOST_KEY_FILES], struct key *keys[HOST_KEY_FILES])
{
	bool any = false;

	for (size_t i = 0; i < HOST_KEY_FILES; i++) {
		keys[i] = fds[i] != -1 ?
		    load_key(fds[i], host_key_files[i]) : NULL;
		any = any || keys[i] != NULL;
		fd_close(&fds[i]);
	}
	if (!any)
		fatal("no hostkey could be read: the program has to be "
		      "setuid root, and the files without a passphrase");
}

static void
serve(struct key *const keys[HOST_KEY_FILES])
{
	const struct passwd *pw = getpwuid(getuid());
	struct buf request = { 0 }, answer = { 0 };
	struct keysign_facts facts = { .keys = keys, .n = HOST_KEY_FILES };
	struct keysign_order order;
	struct span data;
	const char *why = "malformed request";
	char *host;
	int r;

	if (pw == NULL)
		fatal("there is no account for user ID %u",
		    (unsigned)getuid());
	facts.user = pw->pw_name;
	r = fd_receive_msg(STDIN_FILENO, &request, KEYSIGN_REQUEST_MAX);
	if (r == 0)
		r = keysign_read(buf_span(&request),
		    &data, &why);
	if (r != 0)
		fatal("not a valid request: %s", why);
	facts.host = host = local_name(KEYSIGN_CONNECTION_FD);
	if (keysign_check(data, &facts, &order, &why) != 0)
		fatal("not a valid request: %s", why);
	if (keysign_answer(&order, &answer) != 0 ||
	    fd_write_all(STDOUT_FILENO, buf_data(&answer),
		buf_len(&answer)) != 0)
		fatal("the signature was not made");
	free(host);
	buf_clear(&request);
	buf_clear(&answer);
}

int
main(int argc, char **argv)
{
	int fds[HOST_KEY_FILES];
	struct key *keys[HOST_KEY_FILES];

	fd_sanitise_stdio();
	if (help_is_asked(argc, argv)) {
		become_caller();
		help_answer(&help, argc, argv, NULL);
	}
	log_init("hpnssh-keysign", LOG_LVL_ERROR);
	must_have_connection();
	proc_close_from(KEYSIGN_CONNECTION_FD + 1);
	open_keys(fds);
	become_caller();
	if (proc_clear_env() != 0)
		_exit(1);
	hide_process();
	crypto_library_start();
	must_be_enabled();
	load_keys(fds, keys);
	serve(keys);
	for (size_t i = 0; i < HOST_KEY_FILES; i++)
		key_free(keys[i]);
	return 0;
}
