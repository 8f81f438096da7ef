/* SPDX-License-Identifier: ISC */
/* The order of the host key algorithms in the proposal: those whose keys
 * known_hosts can check come first, so that the server shows such a key. */
#include "client/hosts/hostcheck-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/hosts/known-hosts-command.h"

static void
append_name(struct buf *list, const char *name, size_t len)
{
	if (buf_len(list) > 0)
		buf_put_u8(list, ',');
	buf_put(list, name, len);
}

/* The table's row of a host key algorithm; NULL: unknown. *certificate: the
 * name is that of the algorithm with certificates. */
static const struct key_alg *
row_of(const char *name, size_t len, bool *certificate)
{
	char *copy = xstrndup(name, len);
	const struct key_alg *row = key_alg_by_name(copy);

	*certificate = row == NULL;
	if (row == NULL)
		row = key_alg_by_cert_name(copy);
	free(copy);
	return row;
}

char *
hostcheck_order(const char *algorithms, const struct strlist *types,
    bool certificates)
{
	struct buf parts[3] = { 0 }, all = { 0 };
	const char *pos = algorithms, *name;
	char *list;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		bool certificate;
		const struct key_alg *row = row_of(name, len, &certificate);
		size_t part = 2;

		if (row != NULL && certificates && certificate)
			part = 0;
		else if (row != NULL && strlist_has(types, row->key_type))
			part = 1;
		append_name(&parts[part], name, len);
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (buf_len(&parts[i]) > 0)
			append_name(&all, (const char *)buf_data(&parts[i]),
			    buf_len(&parts[i]));
		buf_clear(&parts[i]);
	}
	list = buf_dup_string(&all);
	buf_clear(&all);
	if (list == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return list;
}

/* What KnownHostsCommand prints if asked for the types of the host's keys. The
 * program is run only once, and not for a further connection. */
static const struct buf *
order_lines(struct hostcheck *h)
{
	if (h->first != NULL)
		return &h->first->order_lines;
	if (!h->order_asked) {
		h->order_asked = true;
		h->command_failed = known_hosts_command(h->conf,
		    KNOWN_HOSTS_FOR_ORDER, h->name, NULL,
		    &h->order_lines) != 0;
	}
	return &h->order_lines;
}

/* Is this a further connection whose first one has accepted a key already? Then
 * the server has to show that key again. */
static bool
is_decided(const struct hostcheck *h)
{
	return h->first != NULL && buf_len(&h->first->accepted) > 0;
}

static int
accepted_type(const struct hostcheck *h, struct strlist *types)
{
	const struct buf *blob = &h->first->accepted;
	struct key *k;
	int r = key_from_blob(buf_span(blob),
	    &k);

	if (r != 0)
		return r;
	r = strlist_add(types, key_type(k));
	key_free(k);
	return r;
}

/* Adds the types of the keys that are known for the host. */
static int
known_types(struct hostcheck *h, struct strlist *types)
{
	struct knownhosts_sources sources;
	int r;

	if (is_decided(h))
		return accepted_type(h, types);
	sources = hostcheck_sources(h, order_lines(h));
	r = knownhosts_types(&sources, h->name, types);
	if (r == 0 && types->n == 0 && h->other_name != NULL)
		r = knownhosts_types(&sources, h->other_name, types);
	return r;
}

/* Is an authority trusted to certify this host? (For a further connection only
 * the key counts that the first one accepted.) */
static bool
wants_certificate(struct hostcheck *h)
{
	struct knownhosts_found found = { 0 };
	bool known;

	if (is_decided(h))
		return false;
	known = hostcheck_find_ca(h, order_lines(h), NULL, &found) == 0 &&
	    found.verdict == KNOWNHOSTS_OK;
	knownhosts_found_clear(&found);
	return known;
}

char *
hostcheck_algorithms(struct hostcheck *h)
{
	struct strlist types = { 0 };
	char *list;

	if (h->conf->algs.host_key_order_given)
		return xstrdup(h->conf->algs.host_key_algorithms);
	if (known_types(h, &types) != 0)
		strlist_clear(&types);
	list = hostcheck_order(h->conf->algs.host_key_algorithms, &types,
	    wants_certificate(h));
	strlist_clear(&types);
	return list;
}

bool
hostcheck_knows(struct hostcheck *h, const char *alg)
{
	bool certificate, known;
	const struct key_alg *row = row_of(alg, strlen(alg), &certificate);
	struct strlist types = { 0 };

	if (row == NULL)
		return false;
	if (wants_certificate(h))
		return certificate;
	known = known_types(h, &types) == 0 &&
	    strlist_has(&types, row->key_type);
	strlist_clear(&types);
	return known;
}
