/* SPDX-License-Identifier: ISC */
/* The parser of authorized_keys gets any bytes as lines. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "regress/fuzz/fuzz.h"
#include "server/monitor/auth-keys.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t blob[] = "\0\0\0\013ssh-ed25519\0\0\0\004AAAA";
	const struct authkeys_wanted key = { { blob, sizeof blob - 1 },
		len % 2 != 0 };
	struct authkeys_options o;
	char *text, *pos, *line;
	const char *why;
	int64_t when;

	if (len > 65536)
		return 0;
	text = xstrndup((const char *)data, len);
	(void)!authkeys_parse_time(text, &when);
	pos = text;
	while ((line = strsep(&pos, "\n")) != NULL) {
		if (authkeys_match_line(line, &key, &o, &why) == 0)
			authkeys_options_clear(&o);
	}
	free(text);
	return 0;
}
