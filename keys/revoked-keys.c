/* SPDX-License-Identifier: ISC */
#include "keys/revoked-keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static bool
line_names(const char *line, const struct key *k)
{
	const char *s = line + strspn(line, " \t");
	struct key *named;
	bool same;

	if (*s == '\0' || *s == '#' || key_parse_line(&s, &named) != 0)
		return false;
	same = key_same_identity(named, k);
	key_free(named);
	return same;
}

int
revoked_keys_find(const struct buf *list, const struct key *k, bool *revoked)
{
	char *text = buf_dup_string(list), *pos = text, *line;
	int r = 0;

	*revoked = false;
	if (text == NULL)
		return ERR_NOMEM;
	if (str_has_prefix(text, "SSHKRL"))
		r = ERR_UNSUPPORTED;
	while (r == 0 && !*revoked && (line = strsep(&pos, "\r\n")) != NULL)
		*revoked = line_names(line, k);
	free(text);
	return r;
}
