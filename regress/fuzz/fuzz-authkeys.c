/* SPDX-License-Identifier: ISC */
/* Lines of authorized_keys, and their options on the way to children. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "regress/fuzz/fuzz.h"
#include "server/auth-keys.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t blob[] = "\0\0\0\013ssh-ed25519\0\0\0\004AAAA";
	const struct span key = { blob, sizeof blob - 1 };
	struct authkeys_options o, copy;
	char *text, *pos, *line;
	const char *why;
	struct buf b = { 0 };
	int64_t when;
	struct rd r;

	if (len > 65536)
		return 0;
	text = xstrndup((const char *)data, len);
	(void)!authkeys_parse_time(text, &when);
	pos = text;
	while ((line = strsep(&pos, "\n")) != NULL) {
		if (authkeys_match_line(line, key, &o, &why) != 0)
			continue;
		buf_reset(&b);
		authkeys_options_put(&b, &o);
		r = rd_from_buf(&b);
		ENSURE(authkeys_options_get(&r, &copy) == 0);
		ENSURE(copy.pty == o.pty && copy.env.n == o.env.n);
		authkeys_options_clear(&copy);
		authkeys_options_clear(&o);
	}
	r = rd_from(data, len);
	if (authkeys_options_get(&r, &o) == 0)
		authkeys_options_clear(&o);
	buf_clear(&b);
	free(text);
	return 0;
}
