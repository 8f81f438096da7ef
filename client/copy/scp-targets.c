/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-targets.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/target.h"

char *
scp_target_name(const char *target, bool is_dir, const char *source)
{
	char *base, *name;

	if (!is_dir)
		return strdup(target);
	base = xfer_base_name(source);
	name = base != NULL ? str_join_path(target, base) : NULL;
	free(base);
	return name;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* True if the last part of name is ".": then the content of a directory is
 * copied right into the target directory. */
static bool
is_content(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && name[len - 1] == '.' &&
	    (len == 1 || name[len - 2] == '/');
}

bool
scp_targets_collide(const struct scp_targets *t, const char *to)
{
	if (t->names.n == 0)
		return false;
	/* The names in a directory whose content is copied are not known yet,
	 * so any other target may be the same. */
	return t->has_content || is_content(to) ||
	    tfind(to, &t->tree, compare_names) != NULL;
}

int
scp_targets_add(struct scp_targets *t, const char *to)
{
	int err = strlist_add(&t->names, to);

	if (err != 0)
		return err;
	if (is_content(to))
		t->has_content = true;
	else if (tsearch(t->names.v[t->names.n - 1], &t->tree,
		     compare_names) == NULL)
		return ERR_NOMEM;
	return 0;
}

void
scp_targets_clear(struct scp_targets *t)
{
	for (size_t i = 0; i < t->names.n; i++)
		(void)tdelete(t->names.v[i], &t->tree, compare_names);
	strlist_clear(&t->names);
	t->has_content = false;
}
