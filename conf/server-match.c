/* SPDX-License-Identifier: ISC */
/* Reading the server's file: Include, and Match with its criteria. */
#include "conf/server-match.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/user-groups.h"
#include "base/version.h"
#include "conf/addr-match.h"
#include "conf/defaults.h"

/* ---- criteria ----------------------------------------------------------- */

/* Each function below returns 1 if the criterion matches, 0 if not, or an
 * error. A malformed value is ERR_SYNTAX even if spec does not have what it is
 * compared to. */

static int
match_all(const struct server_conf_spec *spec, const char *value)
{
	(void)spec;
	(void)value;
	return 1;
}

static int
match_user(const struct server_conf_spec *spec, const char *value)
{
	return spec->user != NULL &&
	    str_match_list(spec->user, value, false) > 0;
}

static int
match_invalid_user(const struct server_conf_spec *spec, const char *value)
{
	(void)value;
	return spec->user != NULL && spec->invalid_user;
}

/* Does one of the names match? Not if patterns exclude any of the names by
 * '!'. */
static int
match_group_names(const struct strlist *names, const char *patterns)
{
	int found = 0, hit;

	for (size_t i = 0; i < names->n; i++) {
		hit = str_match_list(names->v[i], patterns, false);
		if (hit < 0)
			return 0;
		found |= hit;
	}
	return found;
}

/* If the user's groups cannot be found out, that is an error: otherwise the
 * block, which may restrict the user, would not apply. */
static int
match_group(const struct server_conf_spec *spec, const char *value)
{
	struct strlist names = { 0 };
	const struct passwd *pw;
	int r;

	if (spec->user == NULL || spec->invalid_user ||
	    (pw = getpwnam(spec->user)) == NULL)
		return 0;
	r = user_groups(spec->user, pw->pw_gid, &names);
	if (r == 0)
		r = match_group_names(&names, value);
	strlist_clear(&names);
	return r;
}

static int
match_host(const struct server_conf_spec *spec, const char *value)
{
	return spec->host != NULL &&
	       str_match_list(spec->host, value, true) > 0;
}

static int
match_address(const struct server_conf_spec *spec, const char *value)
{
	int r = addr_match_list(spec->addr, value);

	return r < -1 ? ERR_SYNTAX : r > 0;
}

static int
match_local_address(const struct server_conf_spec *spec, const char *value)
{
	int r = addr_match_list(spec->laddr, value);

	return r < -1 ? ERR_SYNTAX : r > 0;
}

static int
match_local_port(const struct server_conf_spec *spec, const char *value)
{
	int64_t port;

	if (str_to_int(value, 1, 65535, &port) < 0)
		return ERR_SYNTAX;
	return spec->lport == port;
}

static int
match_rdomain(const struct server_conf_spec *spec, const char *value)
{
	return spec->rdomain != NULL &&
	    str_match_list(spec->rdomain, value, false) > 0;
}

static int
match_version(const struct server_conf_spec *spec, const char *value)
{
	(void)spec;
	return str_match_list(HPN_SOFTWARE, value, false) > 0;
}

static const struct criterion {
	const char *name;
	int (*match)(const struct server_conf_spec *spec, const char *value);
	bool has_value;
} criteria_table[] = {
	{ "all", match_all, false },
	{ "user", match_user, true },
	{ "group", match_group, true },
	{ "host", match_host, true },
	{ "address", match_address, true },
	{ "localaddress", match_local_address, true },
	{ "localport", match_local_port, true },
	{ "rdomain", match_rdomain, true },
	{ "version", match_version, true },
	{ "invalid-user", match_invalid_user, false },
};

static int
fault(const struct conf_location *at, const char *what, const char *word)
{
	if (at != NULL)
		return conf_error(at, "Match: %s \"%s\"", what, word);
	return ERR_SYNTAX;
}

static const struct criterion *
find_criterion(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(criteria_table); i++)
		if (str_is_span_nocase(criteria_table[i].name, name, len))
			return &criteria_table[i];
	return NULL;
}

/* Matches the criterion at words[*i] and moves *i behind it. */
static int
match_one(const struct strlist *words, size_t *i,
    const struct server_conf_spec *spec, const struct conf_location *at)
{
	const char *word = words->v[*i], *value = NULL;
	size_t len = strcspn(word, "=");
	const struct criterion *k = find_criterion(word, len);
	int r;

	if (k == NULL)
		return fault(at, "unknown criterion", word);
	if (word[len] == '=')
		value = word + len + 1;
	else if (k->has_value && ++*i < words->n)
		value = words->v[*i];
	++*i;
	if (k->has_value != (value != NULL))
		return fault(at, value == NULL ? "missing argument of" :
						 "no argument goes with",
		    k->name);
	r = k->match(spec, value);
	return r < 0 ? fault(at, "bad argument", value) : r;
}

static bool
names_port(const struct strlist *words)
{
	const struct criterion *k;
	size_t len;

	for (size_t i = 0; i < words->n; i++) {
		len = strcspn(words->v[i], "=");
		k = find_criterion(words->v[i], len);
		if (k->match == match_local_port)
			return true;
		if (k->has_value && words->v[i][len] != '=')
			i++;
	}
	return false;
}

bool
server_conf_asks_for_port(const struct server_conf *c)
{
	for (size_t i = 0; i < c->load.block_count; i++)
		if (names_port(&c->load.blocks[i].criteria))
			return true;
	return false;
}

int
server_conf_match(const struct strlist *criteria,
    const struct server_conf_spec *spec, const struct conf_location *at)
{
	int r, result = 1;

	if (criteria->n == 0)
		return fault(at, "missing criterion", "");
	for (size_t i = 0; i < criteria->n;) {
		if (criteria->n > 1 &&
		    str_equal_nocase(criteria->v[i], "all"))
			return fault(at, "no other criterion goes with",
			    "all");
		if ((r = match_one(criteria, &i, spec, at)) < 0)
			return r;
		result &= r;
	}
	return result;
}

/* ---- -C ----------------------------------------------------------------- */

static int
spec_item(struct server_conf_spec *s, const char *name, size_t len,
    const char *value)
{
	const struct {
		const char *name;
		const char **field;
	} texts[] = {
		{ "user", &s->user },
		{ "host", &s->host },
		{ "addr", &s->addr },
		{ "laddr", &s->laddr },
		{ "rdomain", &s->rdomain },
	};
	int64_t port;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (strlen(texts[i].name) != len ||
		    strncmp(texts[i].name, name, len) != 0)
			continue;
		free((char *)*texts[i].field);
		*texts[i].field = xstrdup(value);
		return 0;
	}
	if (len == 5 && strncmp(name, "lport", len) == 0 &&
	    str_to_int(value, 1, 65535, &port) == 0) {
		s->lport = (int)port;
		return 0;
	}
	return ERR_SYNTAX;
}

int
server_conf_spec_parse(struct server_conf_spec *s, const char *text)
{
	const char *pos = text, *p, *eq;
	char *value;
	size_t len;
	int r = 0;

	while (r == 0 && csv_next(&pos, &p, &len)) {
		if (len == 12 && strncmp(p, "invalid-user", len) == 0) {
			s->invalid_user = true;
			continue;
		}
		eq = memchr(p, '=', len);
		if (eq == NULL) {
			r = ERR_SYNTAX;
			break;
		}
		value = xstrndup(eq + 1, len - (size_t)(eq + 1 - p));
		r = spec_item(s, p, (size_t)(eq - p), value);
		free(value);
	}
	if (r < 0)
		log_error("Invalid test mode specification %s", text);
	return r;
}

void
server_conf_spec_clear(struct server_conf_spec *s)
{
	free((char *)s->user);
	free((char *)s->host);
	free((char *)s->addr);
	free((char *)s->laddr);
	free((char *)s->rdomain);
	memset(s, 0, sizeof *s);
}

/* ---- reading ------------------------------------------------------------ */

/* A connection of which nothing is known. Only criteria that need nothing of a
 * connection match it. */
static const struct server_conf_spec nobody;

struct reader {
	struct server_conf *c;
	unsigned depth;	 /* how many Includes this file is inside of */
	size_t enclosing; /* block with the Include of this file; 0: none */
	size_t block;	 /* block of the lines being read; 0: the global part */
};

static int keyword_line(void *arg, const struct conf_line *line,
    const struct conf_location *at);

static int
begin_block(struct reader *rd, const struct strlist *words, size_t parent,
    const struct conf_location *at)
{
	int r = server_conf_add_block(rd->c, words, parent);

	if (r == ERR_LIMIT)
		return conf_error(at, "too many Match blocks (the limit is %d)",
		    SERVER_CONF_BLOCKS_MAX);
	if (r < 0)
		return conf_error(at, "Match: %s", err_text(r));
	rd->block = rd->c->load.block_count;
	return 0;
}

static int
match_line(struct reader *rd, const struct strlist *words,
    const struct conf_location *at)
{
	int r = server_conf_match(words, &nobody, at);

	return r < 0 ? r : begin_block(rd, words, rd->enclosing, at);
}

/*
 * Begins a new block for the lines behind an Include, if they are in a block
 * and the included files have blocks, too. In the old block these lines would
 * count before the included blocks, although they come later and the first
 * value must win.
 */
static int
resume_block(struct reader *rd, const struct conf_location *at)
{
	struct strlist words = { 0 };
	int r;

	r = strlist_add(&words, "all");
	if (r == 0)
		r = begin_block(rd, &words, rd->block, at);
	strlist_clear(&words);
	return r;
}

static int
include_line(struct reader *rd, const struct strlist *words,
    const struct conf_location *at)
{
	struct reader inner = *rd;
	struct strlist paths = { 0 };
	size_t blocks = rd->c->load.block_count;
	int r, first = 0;

	if (words->n == 0)
		return conf_error(at, "Include: missing argument");
	if (rd->c->load.inert)
		return 0;
	if (++inner.depth >= CONF_DEPTH_MAX)
		return conf_too_deep(at);
	inner.enclosing = rd->block;
	r = conf_include_paths(words, SYSCONFDIR, &paths, at);
	for (size_t i = 0; r == 0 && i < paths.n; i++) {
		inner.block = rd->block;
		r = conf_read(paths.v[i], CONF_BY_ANYONE, keyword_line,
		    &inner);
		if (first == 0)
			first = r;
		r = r == ERR_CANCELLED ? r : 0;
	}
	strlist_clear(&paths);
	if (r == 0 && first == 0 && rd->block != 0 &&
	    rd->c->load.block_count != blocks)
		r = resume_block(rd, at);
	return r < 0 ? r : first;
}

static int
structure_line(struct reader *rd, const char *name, const char *rest,
    const struct conf_location *at)
{
	struct strlist words = { 0 };
	int r;

	r = conf_words(rest, &words, at);
	if (r == 0)
		r = strcmp(name, "Match") == 0 ? match_line(rd, &words, at) :
						 include_line(rd, &words, at);
	strlist_clear(&words);
	return r;
}

/* Does the block apply to all connections? It does if it and the blocks around
 * it have only "all", or "version" with our version. The global part (0) does,
 * too. */
static bool
is_for_all(const struct server_conf *c, size_t block)
{
	const struct server_block *b;

	while (block != 0) {
		b = &c->load.blocks[block - 1];
		if (server_conf_match(&b->criteria, &nobody, NULL) <= 0)
			return false;
		block = b->parent;
	}
	return true;
}

/*
 * Files use "Match all" to end a block, and "Match version" for keywords that
 * only some servers know. So global keywords are allowed in both. Their other
 * keywords also set the global part where it has no value, so that -T, which
 * knows of no connection, shows them.
 */
static int
keyword_line(void *arg, const struct conf_line *line,
    const struct conf_location *at)
{
	struct reader *rd = arg;
	struct conf_location again = *at;
	const struct conf_row *row;
	struct server_conf *to;
	int r;

	row = conf_find_or_log(&server_conf_table, line->keyword, at);
	if (row == NULL)
		return ERR_SYNTAX;
	if (row->type == &conf_structure)
		return structure_line(rd, row->name, line->rest, at);
	if (rd->block != 0 && (row->flags & CONF_GLOBAL) == 0) {
		to = rd->c->load.blocks[rd->block - 1].values;
		r = conf_apply(&server_conf_table, to, row, line->rest, at);
		if (r < 0 || !is_for_all(rd->c, rd->block))
			return r;
		again.again = true; /* the notice was given for the block */
	} else if (!is_for_all(rd->c, rd->block)) {
		return conf_error(at, "Directive '%s' is not allowed within a "
		    "Match block", row->name);
	}
	if (rd->c->listen.port_given && strcmp(row->name, "Port") == 0)
		return conf_try(row, line->rest, at);
	return conf_apply(&server_conf_table, rd->c, row, line->rest, &again);
}

int
server_conf_read_file(struct server_conf *c, const char *path)
{
	struct reader rd = { .c = c };
	int r = conf_read(path, CONF_BY_ANYONE, keyword_line, &rd);

	if (r == ERR_NOT_FOUND)
		log_error("%s: %s", path, strerror(ENOENT));
	return r;
}
