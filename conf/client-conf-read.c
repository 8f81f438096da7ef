/* SPDX-License-Identifier: ISC */
/* Reading the client's files: Host, Match and Include, and the order of the
 * files. */
#include "conf/client-conf-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own-account.h"
#include "base/version.h"
#include "conf/addr-match.h"
#include "conf/defaults.h"
#include "conf/destination.h"

struct reader {
	struct client_conf *c;
	unsigned flags;
	unsigned depth;	     /* how many Includes this file is inside of */
	bool enclosing;	     /* the block with this Include applies */
	bool active;	     /* the lines that are being read apply */
	bool in_block;	     /* a Host or Match came before these lines */
	const char *host;    /* the name that Host patterns are compared to */
	const char *dir;     /* directory for relative paths of Include */
};

/* ---- Match -------------------------------------------------------------- */

struct criterion {
	struct reader *rd;
	const char *value; /* NULL if the criterion takes no argument */
	bool so_far;	   /* all criteria before this one matched */
	bool negated;
	const struct conf_location *at;
};

static const char *
local_user(void)
{
	const char *name = own_account_name();

	return name != NULL ? name : "";
}

static int
match_text(const char *text, const char *patterns, bool nocase)
{
	return str_match_list(text, patterns, nocase) > 0;
}

static int
match_all(const struct criterion *k)
{
	(void)k;
	return 1;
}

static int
match_final(const struct criterion *k)
{
	if (!k->negated)
		k->rd->c->load.want_final = true;
	return (k->rd->flags & CLIENT_CONF_FINAL) != 0;
}

static int
match_host(const struct criterion *k)
{
	const struct client_conf *c = k->rd->c;

	return match_text(
	    c->host.hostname != NULL ? c->host.hostname : k->rd->host, k->value,
	    true);
}

static int
match_original_host(const struct criterion *k)
{
	return match_text(k->rd->c->load.original_host, k->value, true);
}

static int
match_user(const struct criterion *k)
{
	const struct client_conf *c = k->rd->c;

	return match_text(c->host.user != NULL ? c->host.user : local_user(),
	    k->value, false);
}

static int
match_local_user(const struct criterion *k)
{
	return match_text(local_user(), k->value, false);
}

/* Matches text against patterns. The empty pattern matches if there is no
 * text. */
static int
match_maybe(const char *text, const char *patterns)
{
	if (*patterns == '\0')
		return text == NULL || *text == '\0';
	return text != NULL && match_text(text, patterns, false);
}

static int
match_tagged(const struct criterion *k)
{
	return match_maybe(k->rd->c->host.tag, k->value);
}

static int
match_command(const struct criterion *k)
{
	const struct client_conf *c = k->rd->c;

	return match_maybe(c->load.command != NULL ? c->load.command
						   : c->session.remote_command,
	    k->value);
}

static int
match_version(const struct criterion *k)
{
	return match_text(HPN_SOFTWARE, k->value, false);
}

static int
match_session_type(const struct criterion *k)
{
	const struct client_conf *c = k->rd->c;
	const char *type = "shell";

	if (c->session.session_type == CLIENT_SESSION_SUBSYSTEM)
		type = "subsystem";
	else if (c->session.session_type == CLIENT_SESSION_NONE)
		type = "none";
	else if (c->load.command != NULL || c->session.remote_command != NULL)
		type = "exec";
	return match_text(type, k->value, false);
}

/* Has this host an address in one of the networks? */
static int
match_local_network(const struct criterion *k)
{
	struct ifaddrs *list = NULL;
	char text[NI_MAXHOST];
	socklen_t len;
	int hit;

	hit = addr_match_list(NULL, k->value);
	if (hit < -1 || strpbrk(k->value, "*?") != NULL)
		return conf_error(k->at, "Match localnetwork: \"%s\" is no "
		    "list of networks", k->value);
	if (k->rd->c->load.inert || getifaddrs(&list) == -1)
		return 0;
	for (struct ifaddrs *i = list; i != NULL && hit == 0; i = i->ifa_next) {
		if (i->ifa_addr == NULL ||
		    (i->ifa_addr->sa_family != AF_INET &&
			i->ifa_addr->sa_family != AF_INET6))
			continue;
		len = i->ifa_addr->sa_family == AF_INET ?
		    sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
		if (getnameinfo(i->ifa_addr, len, text, sizeof text, NULL, 0,
			NI_NUMERICHOST) == 0)
			hit = addr_match_list(text, k->value);
	}
	freeifaddrs(list);
	return hit > 0;
}

static _Noreturn void
exec_shell(const char *command)
{
	const char *shell = getenv("SHELL");
	int null = open("/dev/null", O_RDWR);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		_exit(255);
	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	execl(shell, shell, "-c", command, (char *)NULL);
	_exit(255);
}

/* Runs the command in the user's shell. Returns whether it ended with status 0,
 * or an error. */
static int
run_command(const char *command, const struct conf_location *at)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == -1)
		return conf_error(at, "Match exec: fork: %s", strerror(errno));
	if (pid == 0)
		exec_shell(command);
	if (child_reap(pid, &status) != 0)
		return conf_error(at, "Match exec: wait: %s", strerror(errno));
	log_debug3("Match exec: \"%s\" ended with status %d", command, status);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int
match_exec(const struct criterion *k)
{
	char *command;
	int r;

	if (!k->so_far || k->rd->c->load.inert ||
	    (k->rd->flags & CLIENT_CONF_ROOT) != 0)
		return 0;
	r = client_conf_expand(k->rd->c, CLIENT_TOKENS_COMMAND, "Match exec",
	    k->value, &command);
	if (r < 0)
		return r;
	r = run_command(command, k->at);
	free(command);
	return r;
}

/* Does "canonical" match? It does in the second reading of the files, but
 * unlike "final" does not cause one. */
static int
match_canonical(const struct criterion *k)
{
	return (k->rd->flags & CLIENT_CONF_FINAL) != 0;
}

static const struct {
	const char *name;
	int (*match)(const struct criterion *k); /* 1, 0, or an error */
	bool has_value;
} criteria[] = {
	{ "all", match_all, false },
	{ "canonical", match_canonical, false },
	{ "final", match_final, false },
	{ "exec", match_exec, true },
	{ "host", match_host, true },
	{ "originalhost", match_original_host, true },
	{ "user", match_user, true },
	{ "localuser", match_local_user, true },
	{ "localnetwork", match_local_network, true },
	{ "tagged", match_tagged, true },
	{ "command", match_command, true },
	{ "version", match_version, true },
	{ "sessiontype", match_session_type, true },
};

/* Matches the criterion at words[*i] and moves *i behind it. Returns 1, 0, or
 * an error. */
static int
match_one(struct reader *rd, const struct strlist *words, size_t *i,
    bool so_far, const struct conf_location *at)
{
	struct criterion k = { .rd = rd, .so_far = so_far, .at = at };
	const char *name = words->v[*i], *value = NULL;
	bool negated = *name == '!';
	size_t len, n;
	int r;

	name += negated;
	k.negated = negated;
	len = strcspn(name, "=");
	for (n = 0; n < ARRAY_LEN(criteria); n++)
		if (str_is_span_nocase(criteria[n].name, name, len))
			break;
	if (n == ARRAY_LEN(criteria))
		return conf_error(at, "Match: unknown criterion \"%s\"",
		    name);
	if (name[len] == '=')
		value = name + len + 1;
	else if (criteria[n].has_value && ++*i < words->n)
		value = words->v[*i];
	++*i;
	if (criteria[n].has_value != (value != NULL))
		return conf_error(at, "Match %s: %s", criteria[n].name,
		    value == NULL ? "missing argument" : "takes no argument");
	k.value = value;
	r = criteria[n].match(&k);
	return r < 0 ? r : (r > 0) != negated;
}

static bool
is_all(const char *word)
{
	return str_equal_nocase(word + (*word == '!'), "all");
}

/* Does a Match line apply? 1, 0, or an error. Criteria behind one that does not
 * match are parsed, too, to find errors in them. "all" must be the last
 * criterion, with at most one before it, as in OpenSSH. */
static int
match_line(struct reader *rd, const struct strlist *words,
    const struct conf_location *at)
{
	bool result = rd->enclosing;
	unsigned count = 0;
	int r;

	if (words->n == 0)
		return conf_error(at, "Match: missing argument");
	for (size_t i = 0; i < words->n; count++) {
		if (is_all(words->v[i]) && (count > 1 || i + 1 < words->n))
			return conf_error(at, "'all' cannot be combined with "
			    "other Match attributes");
		if ((r = match_one(rd, words, &i, result, at)) < 0)
			return r;
		result = result && r > 0;
	}
	return result;
}

/* ---- Host and Include --------------------------------------------------- */

static int
host_line(struct reader *rd, const struct strlist *words,
    const struct conf_location *at)
{
	const char *hit = NULL;
	bool barred = false;

	if (words->n == 0)
		return conf_error(at, "Host: missing argument");
	for (size_t i = 0; i < words->n; i++) {
		if (words->v[i][0] == '!')
			barred = barred ||
			    str_match(rd->host, words->v[i] + 1);
		else if (hit == NULL && str_match(rd->host, words->v[i]))
			hit = words->v[i];
	}
	if (!rd->enclosing || hit == NULL || barred)
		return false;
	log_debug("%s line %u: Applying options for %s", at->file, at->line,
	    hit);
	return true;
}

static int keyword_line(void *arg, const struct conf_line *line,
    const struct conf_location *at);

static enum conf_writers
writers(unsigned flags)
{
	if ((flags & CLIENT_CONF_ROOT) != 0)
		return CONF_BY_ROOT;
	return (flags & CLIENT_CONF_USER) != 0 ? CONF_BY_USER_OR_ROOT :
						 CONF_BY_ANYONE;
}

static int
include_files(struct reader *rd, const struct strlist *words,
    const struct conf_location *at)
{
	struct reader inner = *rd;
	struct strlist paths = { 0 };
	int r, first = 0;

	if (rd->depth + 1 >= CONF_DEPTH_MAX)
		return conf_too_deep(at);
	inner.depth++;
	inner.enclosing = rd->active;
	r = conf_include_paths(words, rd->dir, &paths, at);
	for (size_t i = 0; r == 0 && i < paths.n; i++) {
		inner.active = rd->active;
		r = conf_read(paths.v[i], writers(rd->flags), keyword_line,
		    &inner);
		if (r == ERR_NOT_FOUND)
			r = 0;
		if (first == 0 || r == ERR_CANCELLED)
			first = r;
		r = r == ERR_CANCELLED ? r : 0;
	}
	strlist_clear(&paths);
	return r < 0 ? r : first;
}

static int
include_line(struct reader *rd, const struct strlist *words,
    const struct conf_location *at)
{
	struct strlist names = { 0 };
	int r;

	if (words->n == 0)
		return conf_error(at, "Include: missing argument");
	if (rd->c->load.inert)
		return 0;
	r = client_conf_expand_list(rd->c, "Include", words, &names);
	if (r == 0)
		r = include_files(rd, &names, at);
	strlist_clear(&names);
	return r;
}

/* ---- lines -------------------------------------------------------------- */

static int
structure_line(struct reader *rd, const char *name, const char *rest,
    const struct conf_location *at)
{
	struct strlist words = { 0 };
	int r;

	r = conf_words(rest, &words, at);
	if (r == 0 && strcmp(name, "Include") == 0) {
		r = include_line(rd, &words, at);
	} else if (r == 0) {
		r = strcmp(name, "Host") == 0 ? host_line(rd, &words, at) :
						match_line(rd, &words, at);
		rd->active = r > 0;
		rd->in_block = true;
		r = MIN(r, 0);
	}
	strlist_clear(&words);
	return r;
}

/* Expands %h in a Hostname that was just set. This is done only once, because
 * the result may contain a % that is not a token, in front of an address's
 * interface. */
static int
expand_hostname(struct client_conf *c)
{
	char *name;
	int r;

	if (strchr(c->host.hostname, '%') == NULL)
		return 0;
	r = client_conf_expand(c, CLIENT_TOKENS_HOSTNAME, "Hostname",
	    c->host.hostname, &name);
	if (r < 0)
		return r;
	free(c->host.hostname);
	c->host.hostname = name;
	return 0;
}

static int
active_line(struct client_conf *c, const struct conf_row *row,
    const char *rest, const struct conf_location *at)
{
	bool was_set = c->host.hostname != NULL;
	int r = client_conf_apply(c, row, rest, at);

	if (r == 0 && !was_set && c->host.hostname != NULL)
		r = expand_hostname(c);
	return r;
}

static int
keyword_line(void *arg, const struct conf_line *line,
    const struct conf_location *at)
{
	struct reader *rd = arg;
	const struct conf_row *row;
	struct client_conf *c = rd->c;
	struct conf_location where = *at;
	bool ignored;
	int r;

	ignored = client_conf_is_ignored(c, line->keyword);
	row = conf_find(&client_conf_table, line->keyword);
	if ((rd->flags & CLIENT_CONF_STOCK) != 0)
		ignored = true;
	if (row == NULL) {
		if (!ignored)
			(void)conf_find_or_log(&client_conf_table,
			    line->keyword, at);
		return ignored ? 0 : ERR_SYNTAX;
	}
	if (row->type == &conf_structure)
		return structure_line(rd, row->name, line->rest, at);
	where.quiet = ignored || !rd->active;
	if ((row->flags & CONF_IN_BLOCK) != 0 && !rd->in_block) {
		log_error("%s line %u: %s counts only inside Host or Match, "
			  "or on the command line; it is passed over",
		    at->file, at->line, row->name);
		return 0;
	}
	if (rd->active)
		r = active_line(c, row, line->rest, &where);
	else
		r = conf_try(row, line->rest, &where);
	return r == ERR_UNSUPPORTED && where.quiet ? 0 : r;
}

/* ---- files -------------------------------------------------------------- */

int
client_conf_read_file(struct client_conf *c, const char *path,
    unsigned flags)
{
	struct reader rd = { .c = c, .flags = flags, .enclosing = true,
		.active = true, .dir = SYSCONFDIR };
	const char *home = client_conf_home();
	char *user_dir = NULL;
	int r;

	rd.host = (flags & CLIENT_CONF_FINAL) != 0 && c->host.hostname != NULL ?
	    c->host.hostname : c->load.original_host;
	if (rd.host == NULL)
		rd.host = "";
	/* This is a copy, because a Hostname line frees c->host.hostname. */
	rd.host = xstrdup(rd.host);
	if ((flags & CLIENT_CONF_USER) != 0 && home != NULL) {
		xasprintf(&user_dir, "%s/.ssh", home);
		rd.dir = user_dir;
	}
	if ((flags & CLIENT_CONF_STOCK) != 0)
		rd.dir = STOCK_CONF_DIR;
	log_debug("Reading configuration data %s", path);
	r = conf_read(path, writers(flags), keyword_line, &rd);
	free(user_dir);
	free((char *)rd.host);
	return r;
}

static int
read_if_there(struct client_conf *c, const char *path, unsigned flags)
{
	int r = client_conf_read_file(c, path, flags);

	return r == ERR_NOT_FOUND ? 0 : r;
}

/* Adds the items of list, from the index `from` on, to the identities that are
 * from system files. */
static int
note_system_identities(struct client_conf *c, const struct strlist *list,
    size_t from)
{
	int r = 0;

	for (size_t i = from; i < list->n && r == 0; i++)
		r = strlist_add(&c->load.system_identities, list->v[i]);
	return r;
}

static int
read_system_file(struct client_conf *c, const char *path, unsigned flags)
{
	size_t keys = c->auth.identity_file.n;
	size_t certs = c->auth.certificate_file.n;
	int r = read_if_there(c, path, flags);

	if (r == 0)
		r = note_system_identities(c, &c->auth.identity_file, keys);
	if (r == 0)
		r = note_system_identities(c, &c->auth.certificate_file,
		    certs);
	return r;
}

static int
read_files(struct client_conf *c, const char *config_path, unsigned flags)
{
	const char *home;
	char *path;
	int r = 0;

	if (config_path != NULL && strcasecmp(config_path, "none") == 0)
		return 0;
	if (config_path != NULL) {
		r = client_conf_read_file(c, config_path, flags);
		if (r == ERR_NOT_FOUND)
			log_error("Can't open user config file %s: %s",
			    config_path, strerror(ENOENT));
		return r;
	}
	if ((home = client_conf_home()) != NULL) {
		xasprintf(&path, "%s/.ssh/config", home);
		r = read_if_there(c, path, flags | CLIENT_CONF_USER);
		free(path);
	}
	if (r == 0)
		r = read_system_file(c, SYSCONFDIR "/ssh_config", flags);
	if (r == 0 && client_conf_has_stock(c))
		r = read_system_file(c, STOCK_CONF_DIR "/ssh_config",
		    flags | CLIENT_CONF_STOCK);
	return r;
}

/*
 * A name on the command line may come from a link that a stranger wrote, and
 * becomes part of commands as %h. So a name with characters that shells
 * interpret is refused.
 */
static int
check_host(const char *name)
{
	bool bad = *name == '-' || *name == '\0' ||
	    strpbrk(name, "'`\"$;&<>|(){}") != NULL ||
	    name[strlen(name) - 1] == '\\';

	for (const unsigned char *p = (const unsigned char *)name; *p != '\0';
	     p++)
		bad = bad || *p < 0x20 || *p == 0x7f;
	if (!bad)
		return 0;
	log_error("The hostname contains invalid characters");
	return ERR_ARGUMENT;
}

/* Checks the user's name in the same way for all programs and flags. */
static int
check_user(const char *name)
{
	if (name == NULL || destination_user_ok(name))
		return 0;
	log_error("remote username contains invalid characters");
	return ERR_ARGUMENT;
}

int
client_conf_load(struct client_conf *c,
    const struct client_conf_context *context)
{
	int r;

	free(c->load.original_host);
	free(c->load.command);
	c->load.original_host = xstrdup(context->host);
	c->load.command = context->command != NULL ? xstrdup(context->command) :
						NULL;
	free(c->load.config_path);
	c->load.config_path = context->config_path != NULL ?
	    xstrdup(context->config_path) : NULL;
	c->auth.batch_given = c->auth.batch_mode;
	c->load.stdio_forward = context->stdio_forward;
	if ((r = check_host(c->load.original_host)) < 0 ||
	    (r = check_user(c->host.user)) < 0 ||
	    (c->host.hostname != NULL && (r = expand_hostname(c)) < 0) ||
	    (r = read_files(c, context->config_path, 0)) < 0)
		return r;
	if ((r = client_conf_canonicalize(c, context->resolve)) < 0)
		return r;
	if ((c->load.want_final ||
		c->canonical.hostname != CLIENT_CANONICAL_NO) &&
	    (r = read_files(c, context->config_path, CLIENT_CONF_FINAL)) < 0)
		return r;
	return client_conf_finish(c);
}
