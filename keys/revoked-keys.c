/* SPDX-License-Identifier: ISC */
#include "keys/revoked-keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "keys/cert.h"
#include "keys/krl.h"

/* The line is a well-formed key of a type that is unknown here: its blob begins
 * with the type that the line begins with. */
static bool
is_of_unknown_type(const char *line)
{
	size_t type_len = strcspn(line, " \t"), len = 0;
	const char *base64 = line + type_len;
	uint8_t *blob = NULL;
	struct span type;
	struct rd r;
	bool is;

	base64 += strspn(base64, " \t");
	if (str_base64_decode(base64, strcspn(base64, " \t"), &blob, &len) !=
	    0)
		return false;
	r = rd_from(blob, len);
	type = rd_string(&r);
	is = rd_err(&r) == 0 && type.len == type_len &&
	    memcmp(type.p, line, type_len) == 0;
	free(blob);
	return is;
}

static int
read_line(const char *line, const struct key *k, bool *named)
{
	const struct cert *c = key_cert(k);
	const char *s = line + strspn(line, " \t");
	struct key *entry;
	int r;

	if (*s == '\0' || *s == '#')
		return 0;
	line = s;
	r = key_parse_line(&s, &entry);
	if (r == ERR_KEY_TYPE)
		return is_of_unknown_type(line) ? 0 : ERR_FORMAT;
	if (r != 0)
		return r == ERR_KEY_LENGTH ? 0 : r;
	*named |= key_same_identity(entry, k) ||
	    (c != NULL && key_same_identity(entry, c->ca));
	key_free(entry);
	return 0;
}

static int
read_text(const struct buf *list, const struct key *k, bool *named)
{
	char *text, *pos, *line;
	int r = 0;

	if (memchr(buf_data(list), '\0', buf_len(list)) != NULL)
		return ERR_FORMAT;
	text = pos = buf_dup_string(list);
	if (text == NULL)
		return ERR_NOMEM;
	while (r == 0 && (line = strsep(&pos, "\r\n")) != NULL)
		r = read_line(line, k, named);
	free(text);
	return r;
}

int
revoked_keys_find(const struct buf *list, const struct key *k, bool *revoked)
{
	struct span content = buf_span(list);
	int r;

	*revoked = false;
	if (content.len == 0)
		return 0;
	r = krl_is(content) ? krl_find(content, k, revoked) :
			      read_text(list, k, revoked);
	*revoked |= r != 0;
	return r;
}
