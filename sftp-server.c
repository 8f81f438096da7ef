/* SPDX-License-Identifier: ISC */
/* hpnsftp-server: the SFTP server on standard input and output. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/help.h"
#include "base/mem.h"
#include "base/own-account.h"
#include "crypto/library.h"
#include "xfer/serve/sftp-server-main.h"

/* The client's address, from SSH_CONNECTION, which the SSH server has set.
 * Caller frees. */
static char *
client_address(void)
{
	const char *env = getenv("SSH_CONNECTION");
	char *text = xstrdup(env != NULL && *env != '\0' ? env : "UNKNOWN");

	text[strcspn(text, " ")] = '\0';
	return text;
}

int
main(int argc, char **argv)
{
	char *user, *home, *client;
	int status;

	fd_sanitise_stdio();
	crypto_library_start();
	help_answer(&sftp_server_help, argc, argv, crypto_library_version());
	signal(SIGPIPE, SIG_IGN);
	user = own_account_name() != NULL ? xstrdup(own_account_name()) : NULL;
	home = own_account_home() != NULL ? xstrdup(own_account_home()) : NULL;
	if (user == NULL || home == NULL) {
		fprintf(stderr, "hpnsftp-server: no user has the id %u\n",
		    (unsigned)getuid());
		return 1;
	}
	client = client_address();
	status = sftp_server_main(argc, argv, STDIN_FILENO, STDOUT_FILENO,
	    user, home, client, NULL);
	free(client);
	free(user);
	free(home);
	return status;
}
