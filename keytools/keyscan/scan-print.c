/* SPDX-License-Identifier: ISC */
#include "keytools/keyscan/scan-print.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/knownhosts.h"
#include "keys/sshfp.h"

enum { PORT_SSH = 22 };

/* ---- lines of known_hosts ----------------------------------------------- */

static int
put_line(const char *name, const struct key *k, struct buf *out)
{
	int r;

	if (name != NULL)
		buf_printf(out, "%s ", name);
	r = key_format_line(k, NULL, out);
	buf_put_u8(out, '\n');
	return r;
}

static int
put_name(const struct scan_style *s, const char *name, const struct key *k,
    struct buf *out)
{
	char *full = knownhosts_name(name, s->port), *hashed = NULL;
	int r = full == NULL ? ERR_NOMEM : 0;

	if (r == 0 && s->hash_names &&
	    (hashed = knownhosts_hash(full)) == NULL)
		r = ERR_NOMEM;
	if (r == 0)
		r = put_line(hashed != NULL ? hashed : full, k, out);
	free(hashed);
	free(full);
	return r;
}

/* ---- records of the DNS ------------------------------------------------- */

static int
put_records(const struct scan_style *s, const char *name, const struct key *k,
    struct buf *out)
{
	int r = 0;

	if (s->sha1)
		r = sshfp_put(name, k, DIGEST_SHA1, false, out);
	if (r == 0 && s->sha256)
		r = sshfp_put(name, k, DIGEST_SHA256, false, out);
	return r;
}

/* ---- both --------------------------------------------------------------- */

int
scan_print_key(const struct scan_style *s, const char *names,
    const struct key *k, struct buf *out)
{
	bool whole = s->port == PORT_SSH && !s->hash_names && !s->records;
	const char *pos = names, *name;
	size_t len;
	int r = 0;

	if (key_is_cert(k))
		return s->records ? ERR_UNSUPPORTED : put_line(NULL, k, out);
	if (whole)
		return put_line(names, k, out);
	while (r == 0 && csv_next(&pos, &name, &len)) {
		char *one = xstrndup(name, len);

		if (len > 0)
			r = s->records ? put_records(s, one, k, out) :
					 put_name(s, one, k, out);
		free(one);
	}
	return r != 0 ? r : buf_err(out);
}

/* The banner comes from the server, so it is escaped. */
void
scan_print_banner(const struct scan_style *s, const char *host,
    const char *banner, struct buf *out)
{
	char *shown;

	if (s->no_banner)
		return;
	shown = xstr_escape(banner);
	buf_printf(out, "%c %s:%u %s\n", s->records ? ';' : '#', host, s->port,
	    shown);
	free(shown);
}
