/* SPDX-License-Identifier: ISC */
/* Remote names: from a typed word to absolute paths on the server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/shell/sftp-shell-internal.h"

enum { STATS_AT_ONCE = 256 };

char *
shell_absolute(const struct shell *sh, const char *path)
{
	return path[0] == '/' ? strdup(path) : str_join_path(sh->cwd, path);
}

char *
shell_absolute_pattern(const struct shell *sh, const char *pattern)
{
	char *base, *whole;

	if (pattern[0] == '/')
		return strdup(pattern);
	base = shell_escape_glob(sh->cwd);
	whole = base != NULL ? str_join_path(base, pattern) : NULL;
	free(base);
	return whole;
}

int
shell_match(struct shell *sh, const char *pattern, struct strlist *names)
{
	char *whole = shell_absolute_pattern(sh, pattern), *name;
	size_t before = names->n;
	int r = 0;

	if (whole == NULL)
		return ERR_NOMEM;
	if (remote_glob_has_magic(pattern))
		r = remote_glob(sh->s, whole, names);
	if (r >= 0 && names->n == before) {
		name = remote_glob_unescape(whole);
		r = name != NULL ? strlist_add(names, name) : ERR_NOMEM;
		free(name);
	}
	free(whole);
	return r < 0 ? r : 0;
}

const char *
shell_display_name(const struct shell *sh, const char *name, const char *word)
{
	size_t len = strlen(sh->cwd);

	if (word[0] == '/' || strncmp(name, sh->cwd, len) != 0)
		return name;
	name += len;
	return *name == '/' ? name + 1 : name;
}

/* One STAT request, or one of stat-ns. */
struct stat_request {
	struct sftp_attrs *attrs;
	int *status;
	size_t *left;
	uint32_t *links;
};

static void
stat_done(void *arg, const struct sftp_reply *reply)
{
	struct stat_request *a = arg;

	(*a->left)--;
	*a->status = reply->err != 0 ? reply->err : (int)reply->status;
	if (*a->status == 0 && reply->type != SFTP_ATTRS)
		*a->status = SFTP_BAD_MESSAGE;
	if (*a->status == 0)
		*a->attrs = reply->attrs;
}

int
shell_stat_named(struct shell *sh, const char *name, struct sftp_attrs *attrs,
    int *status)
{
	struct sftp_attrs own;
	size_t left = 2;
	int own_status = 0;
	struct stat_request looked = { .attrs = &own,
		.status = &own_status, .left = &left };
	struct stat_request asked = { .attrs = attrs, .status = status,
		.left = &left };

	sftp_path_request(sh->s, SFTP_LSTAT, name, stat_done, &looked);
	sftp_path_request(sh->s, SFTP_STAT, name, stat_done, &asked);
	while (left > 0)
		if (sftp_step(sh->s, false, -1) < 0)
			return sftp_error(sh->s);
	if (*status == 0 && own_status == SFTP_PERMISSION_DENIED)
		*status = own_status;
	return MIN(sftp_error(sh->s), 0);
}

static void
links_done(void *arg, const struct sftp_reply *reply)
{
	const struct stat_request *a = arg;
	struct sftp_stat_ns st;
	struct rd r = reply->body;

	(*a->left)--;
	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY &&
	    sftp_get_stat_ns(&r, &st) == 0)
		*a->links = st.nlink;
}

/* Asks for the attributes of all names, or if links is not NULL for their
 * numbers of links, with many requests at a time. */
static int
ask_all(struct shell *sh, const struct strlist *names,
    struct sftp_attrs *attrs, int *statuses, uint32_t *links)
{
	struct stat_request asked[STATS_AT_ONCE];
	size_t left, n;

	for (size_t begin = 0; begin < names->n; begin += n) {
		left = n = MIN(names->n - begin, (size_t)STATS_AT_ONCE);
		for (size_t i = 0; i < n; i++) {
			const char *name = names->v[begin + i];

			asked[i] = (struct stat_request){ .left = &left };
			if (links != NULL) {
				asked[i].links = &links[begin + i];
				sftp_stat_ns(sh->s, name, true, links_done,
				    &asked[i]);
				continue;
			}
			asked[i].attrs = &attrs[begin + i];
			asked[i].status = &statuses[begin + i];
			sftp_path_request(sh->s, SFTP_STAT, name, stat_done,
			    &asked[i]);
		}
		while (left > 0)
			if (sftp_step(sh->s, false, -1) < 0)
				return sftp_error(sh->s);
	}
	return 0;
}

int
shell_stat_all(struct shell *sh, const struct strlist *names,
    struct sftp_attrs *attrs, int *statuses)
{
	return ask_all(sh, names, attrs, statuses, NULL);
}

int
shell_links_all(struct shell *sh, const struct strlist *names,
    uint32_t *links)
{
	return sftp_has(sh->s, SFTP_EXT_STAT_NS) ?
	    ask_all(sh, names, NULL, NULL, links) : 0;
}
