/* SPDX-License-Identifier: ISC */
/* Any text as the client's configuration file. */
#include "base/log.h"
#include "conf/client-conf.h"
#include "regress/fuzz/fuzz.h"

static void
read_it(const char *path)
{
	struct client_conf_context context = { .host = "host",
		.command = "command", .config_path = path };
	struct client_conf c;
	struct strlist paths = { 0 };
	struct buf text;
	char *command;
	int r;

	client_conf_init(&c);
	buf_init(&text);
	c.load.inert = true;
	if (client_conf_load(&c, &context) == 0) {
		/* An unknown token or user is found here only, as by stock. */
		r = client_conf_dump(&c, &text);
		if (r != 0 && r != ERR_SYNTAX && r != ERR_NOT_FOUND)
			abort();
		if (c.tcp.proxy_command != NULL &&
		    client_conf_expand(&c, CLIENT_TOKENS_PROXY, "fuzz",
			c.tcp.proxy_command, &command) == 0)
			free(command);
		(void)!client_conf_expand_list(
		    &c, "fuzz", &c.auth.identity_file, &paths);
	}
	strlist_clear(&paths);
	buf_clear(&text);
	client_conf_clear(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[] = "/tmp/fuzz-client-conf-XXXXXX";

	log_init("fuzz", LOG_LVL_QUIET);
	fuzz_file(path, data, len);
	read_it(path);
	unlink(path);
	return 0;
}
