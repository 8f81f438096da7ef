/* SPDX-License-Identifier: ISC */
/* The parsers of authorized_keys and of lists of principals get any bytes as
 * lines; so does that of a certificate's addresses. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/addr-match.h"
#include "keys/timestamp.h"
#include "regress/fuzz/fuzz.h"
#include "server/monitor/authorized-certs.h"
#include "server/monitor/authorized-keys.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t blob[] = "\0\0\0\013ssh-ed25519\0\0\0\004AAAA";
	const struct authkeys_wanted key = { { blob, sizeof blob - 1 },
		len % 2 != 0 };
	static char *principals[] = { (char *)"ops", NULL };
	static const struct cert cert = { .principals = { principals, 1 } };
	struct authkeys_options o;
	char *text, *pos, *line;
	const char *why;
	uint64_t when;

	if (len > 65536)
		return 0;
	text = xstrndup((const char *)data, len);
	(void)!timestamp_parse(text, &when);
	pos = text;
	while ((line = strsep(&pos, "\n")) != NULL) {
		if (authkeys_match_line(line, &key, &o, &why) == 0)
			authkeys_options_clear(&o);
		if (authcert_match_principal(line, &cert, &o, &why) == 0)
			authkeys_options_clear(&o);
		(void)!addr_match_networks("192.0.2.7", line);
	}
	free(text);
	return 0;
}
