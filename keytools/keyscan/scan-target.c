/* SPDX-License-Identifier: ISC */
#include "keytools/keyscan/scan-target.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

enum { HOSTS_MAX = 64 }; /* addresses of one host */

static const char blanks[] = " \t\r\n";

/* Moves *s to the next word, and sets its length; false: there is none. */
static bool
next_word(const char **s, size_t *len)
{
	*s += strspn(*s, blanks);
	*len = strcspn(*s, " \t\r\n#");
	return *len > 0;
}

static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

int
scan_target_parse(const char *text, struct scan_target *out)
{
	char *first;
	size_t len;
	int r;

	memset(out, 0, sizeof *out);
	if (!next_word(&text, &len))
		return ERR_NOT_FOUND;
	first = xstrndup(text, len);
	r = strlist_split(&out->hosts, first, ",");
	text += len;
	if (next_word(&text, &len))
		out->names = xstrndup(text, len);
	else
		out->names = xstrdup(first);
	free(first);
	lower(out->names);
	if (r == 0 && out->hosts.n == 0)
		return ERR_NOT_FOUND;
	return r == 0 && out->hosts.n > HOSTS_MAX ? ERR_LIMIT : r;
}

void
scan_target_clear(struct scan_target *t)
{
	strlist_clear(&t->hosts);
	free(t->names);
	t->names = NULL;
}

/* ---- networks ----------------------------------------------------------- */

static unsigned
address_bits(const struct scan_network *n)
{
	return n->family == AF_INET ? 32 : 128;
}

static bool
bit_is_set(const uint8_t *address, unsigned bit)
{
	return (address[bit / 8] & (0x80 >> (bit % 8))) != 0;
}

bool
scan_network_parse(const char *text, struct scan_network *out)
{
	const char *slash = strchr(text, '/');
	int64_t bits;
	char *address;

	memset(out, 0, sizeof *out);
	if (slash == NULL)
		return false;
	address = xstrndup(text, (size_t)(slash - text));
	out->family = inet_pton(AF_INET, address, out->next) == 1 ? AF_INET :
	    inet_pton(AF_INET6, address, out->next) == 1	  ? AF_INET6 :
								    0;
	free(address);
	if (out->family == 0 ||
	    str_to_int(slash + 1, 0, address_bits(out), &bits) != 0)
		return false;
	out->bits = (unsigned)bits;
	for (unsigned i = out->bits; i < address_bits(out); i++)
		if (bit_is_set(out->next, i))
			return false;
	return true;
}

/* Counts the host part of n->next up by one. When that overflows, the network
 * is done. */
static void
advance(struct scan_network *n)
{
	unsigned i = address_bits(n);

	while (i > n->bits && bit_is_set(n->next, i - 1)) {
		i--;
		n->next[i / 8] &= (uint8_t)~(0x80 >> (i % 8));
	}
	if (i == n->bits)
		n->done = true;
	else
		n->next[(i - 1) / 8] |= (uint8_t)(0x80 >> ((i - 1) % 8));
}

bool
scan_network_next(struct scan_network *n, char *text, size_t size)
{
	if (n->done || inet_ntop(n->family, n->next, text,
			   (socklen_t)size) == NULL)
		return false;
	advance(n);
	return true;
}
