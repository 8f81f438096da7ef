/* SPDX-License-Identifier: ISC */
/* Any text as the server's configuration file. A configuration that was read
 * is exported and imported as for another process, and Match applied to it. */
#include "base/log.h"
#include "conf/server-conf.h"
#include "regress/fuzz/fuzz.h"

static void
move_it(const struct server_conf *c)
{
	static const struct server_conf_spec spec = { "root", "host.example",
		"192.0.2.1", "127.0.0.1", 22, "vrf", false };
	struct server_conf moved, out;
	struct server_listen listen;
	struct buf b;
	struct rd in;

	buf_init(&b);
	if (server_conf_export(c, &b) != 0)
		abort();
	in = rd_from_buf(&b);
	server_conf_init(&moved);
	if (server_conf_import(&moved, &in) != 0 || rd_end(&in) != 0)
		abort();
	buf_reset(&b);
	if (server_conf_for(&moved, &spec, &out) != 0 ||
	    server_conf_dump(&out, &b) != 0)
		abort();
	for (size_t i = 0; server_conf_listen(&out, i, &listen); i++)
		continue;
	buf_clear(&b);
	server_conf_clear(&out);
	server_conf_clear(&moved);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[] = "/tmp/fuzz-server-conf-XXXXXX";
	struct server_conf c;

	log_init("fuzz", LOG_LVL_QUIET);
	fuzz_file(path, data, len);
	server_conf_init(&c);
	c.load.inert = true;
	if (server_conf_read_file(&c, path) == 0 &&
	    server_conf_finish(&c) == 0)
		move_it(&c);
	server_conf_clear(&c);
	unlink(path);
	return 0;
}
