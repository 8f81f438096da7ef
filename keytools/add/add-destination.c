/* SPDX-License-Identifier: ISC */
#include "keytools/add/add-destination.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/knownhosts.h"

enum { HOST_KEYS_MAX = 256 }; /* keys of one host */

struct search {
	struct agent_hop *hop;
	/* Keys that some line revokes for the host. They are removed at the
	 * end, because such a line may come after a line with the key. */
	struct key **revoked;
	size_t n_revoked;
	/* The host's name as known_hosts files have it: lower case. */
	char *name;
};

/* ---- the host's keys ---------------------------------------------------- */

static int
note_revoked(struct search *s, const struct key *k)
{
	if (s->n_revoked == HOST_KEYS_MAX)
		return ERR_LIMIT;
	s->revoked = xrecallocarray(s->revoked, s->n_revoked,
	    s->n_revoked + 1, sizeof *s->revoked);
	return key_public_of(k, &s->revoked[s->n_revoked++]);
}

static int
note_key(struct agent_hop *hop, const struct key *k, bool is_ca)
{
	if (hop->n == HOST_KEYS_MAX)
		return ERR_LIMIT;
	hop->keys = xrecallocarray(hop->keys, hop->n, hop->n + 1,
	    sizeof *hop->keys);
	hop->keys[hop->n].is_ca = is_ca;
	return key_public_of(k, &hop->keys[hop->n++].key);
}

static int
take_line(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	struct search *s = arg;

	(void)path;
	(void)number;
	if (line->key == NULL)
		return 0;
	if (line->marker == KNOWNHOSTS_REVOKED)
		return note_revoked(s, line->key);
	if (key_is_cert(line->key))
		return 0; /* known hosts are listed by plain keys only */
	return note_key(s->hop, line->key, line->marker == KNOWNHOSTS_CA);
}

static void
drop_revoked(struct search *s)
{
	struct agent_hop *hop = s->hop;
	size_t kept = 0;

	for (size_t i = 0; i < hop->n; i++) {
		bool revoked = false;

		for (size_t j = 0; j < s->n_revoked; j++)
			revoked |= key_equal_public(hop->keys[i].key,
			    s->revoked[j]);
		if (revoked)
			key_free(hop->keys[i].key);
		else
			hop->keys[kept++] = hop->keys[i];
	}
	hop->n = kept;
	for (size_t j = 0; j < s->n_revoked; j++)
		key_free(s->revoked[j]);
	free(s->revoked);
}

/* Finds the host's keys in known_hosts files. A missing file is no error. */
static int
find_keys(struct agent_hop *hop, const struct strlist *files)
{
	struct search s = { .hop = hop };
	int r = 0;

	s.name = knownhosts_name(hop->host, 22);
	if (s.name == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; r == 0 && i < files->n; i++) {
		r = knownhosts_each_line(files->v[i], s.name, take_line,
		    &s);
		if (r == ERR_SYSTEM && errno == ENOENT)
			r = 0;
	}
	drop_revoked(&s);
	free(s.name);
	return r;
}

/* ---- texts -------------------------------------------------------------- */

static char *
parse_hop(struct agent_hop *hop, const char *text, const struct strlist *files)
{
	const char *at = strchr(text, '@'),
		   *host = at != NULL ? at + 1 : text;
	char *why = NULL;
	int r;

	if (*host == '\0') {
		xasprintf(&why, "Invalid key destination constraint \"%s\": "
		    "it names no host", text);
		return why;
	}
	hop->host = xstrdup(host);
	if (at != NULL && at > text)
		hop->user = xstrndup(text, (size_t)(at - text));
	r = find_keys(hop, files);
	if (r != 0)
		xasprintf(&why, "Cannot read the host keys of \"%s\": %s",
		    host, err_text(r));
	else if (hop->n == 0)
		xasprintf(&why, "No host keys found for destination \"%s\"",
		    host);
	return why;
}

static char *
parse_from(struct agent_hop *hop, const char *text,
    const struct strlist *files)
{
	char *why = NULL;

	if (strchr(text, '@') == NULL)
		return parse_hop(hop, text, files);
	xasprintf(&why, "Invalid key constraint %s: cannot specify user on "
	    "'from' host", text);
	return why;
}

char *
add_destination(struct add_destinations *d, const char *text,
    const struct strlist *known_hosts)
{
	const char *arrow = strchr(text, '>');
	struct agent_destination *one;
	char *from, *why = NULL;

	d->v = xrecallocarray(d->v, d->n, d->n + 1, sizeof *d->v);
	one = &d->v[d->n++];
	if (arrow != NULL) {
		from = xstrndup(text, (size_t)(arrow - text));
		why = parse_from(&one->from, from, known_hosts);
		free(from);
		text = arrow + 1;
	}
	return why != NULL ? why : parse_hop(&one->to, text, known_hosts);
}

static void
clear_hop(struct agent_hop *hop)
{
	for (size_t i = 0; i < hop->n; i++)
		key_free(hop->keys[i].key);
	free(hop->keys);
	free(hop->user);
	free(hop->host);
}

void
add_destinations_clear(struct add_destinations *d)
{
	for (size_t i = 0; i < d->n; i++) {
		clear_hop(&d->v[i].from);
		clear_hop(&d->v[i].to);
	}
	free(d->v);
	memset(d, 0, sizeof *d);
}
