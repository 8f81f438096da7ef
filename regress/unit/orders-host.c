/* SPDX-License-Identifier: ISC */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/file.h"

static struct plan plan;

/* ---- plans -------------------------------------------------------------- */

static void
forget(void)
{
	for (size_t i = 0; i < plan.n_texts; i++)
		free(plan.texts[i]);
	strlist_clear(&plan.notes);
	local_dir_unref(plan.root);
	local_tree_free(plan.tree);
	memset(&plan, 0, sizeof plan);
}

struct plan *
plan_begin(bool up, bool below)
{
	forget();
	plan.up = up;
	assert_true((plan.tree = local_tree_new(0)) != NULL);
	if (below) {
		plan.root = local_root(plan.tree, up ? "from" : "to",
		    LOCAL_LINKS_ALL);
		assert_non_null(plan.root);
	}
	return &plan;
}

void
plan_end(void)
{
	forget();
	strlist_clear(&host_reports);
}

static const char *
path(const char *end, const char *name)
{
	char *p = NULL;

	assert_true(plan.n_texts < ARRAY_LEN(plan.texts));
	assert_true(asprintf(&p, "%s%s%s", end, *end ? "/" : "", name) >= 0);
	return plan.texts[plan.n_texts++] = p;
}

struct xfer_order *
plan_add(enum xfer_order_kind kind, const char *name, uint32_t flags)
{
	struct xfer_order *o = &plan.orders[plan.n];
	bool is_delete = kind == XFER_ORDER_DELETE ||
	    kind == XFER_ORDER_DELETE_DIR;
	struct stat st;

	assert_true(plan.n < PLAN_MAX);
	*o = (struct xfer_order){ .kind = kind, .at = plan.root,
		.id = plan.n };
	if (!is_delete || !plan.up)
		o->local = plan.root != NULL ? path("", name) :
		    path(plan.up ? "from" : "to", name);
	if (!is_delete || plan.up)
		o->remote = path(plan.up ? "to" : "from", name);
	if (!is_delete && lstat(path("from", name), &st) == 0) {
		struct sftp_attrs *a = &plan.attrs[plan.n];

		sftp_attrs_from_stat(a, &st);
		a->flags = flags | (S_ISREG(st.st_mode) ? SFTP_A_SIZE : 0u);
		xfer_exact_from_stat(&plan.exact[plan.n], &st);
		o->exact = &plan.exact[plan.n];
	}
	if (!is_delete)
		o->attrs = &plan.attrs[plan.n];
	plan.n++;
	return o;
}

void
plan_was(struct xfer_order *o, const char *name)
{
	struct stat st;

	if (lstat(path("to", name), &st) != 0)
		return;
	sftp_attrs_from_stat(&plan.was[o->id], &st);
	o->was = &plan.was[o->id];
}

static int
next(void *arg, struct xfer_order *out)
{
	(void)arg;
	if (plan.waits++ < plan.later)
		return XFER_ORDERS_LATER;
	plan.waits = 0;
	if (plan.at == plan.n)
		return plan.end;
	*out = plan.orders[plan.at++];
	return 1;
}

static void
done(void *arg, uint64_t id, bool ok, uint64_t bytes)
{
	(void)arg;
	assert_true(id < plan.at);
	plan.ended[id]++;
	plan.ok[id] = ok;
	plan.bytes[id] = bytes;
}

static void
report(void *arg, const char *tried, const char *name, const char *text)
{
	char line[8192];

	(void)arg;
	snprintf(line, sizeof line, "%s%s%s: %s", tried ? tried : "",
	    tried ? " " : "", name, text);
	assert_int_equal(strlist_add(&host_reports, line), 0);
}

static void
note(void *arg, const char *name, const char *text)
{
	char line[8192];

	(void)arg;
	snprintf(line, sizeof line, "%s: %s", name ? name : "", text);
	assert_int_equal(strlist_add(&plan.notes, line), 0);
}

int
plan_run(struct host *h, struct xfer_opts opts)
{
	const struct xfer_orders orders = { .next = next, .done = done };
	int r;

	opts.note = note;
	opts.report = report;
	r = host_follow(h, plan.up, &orders, opts);
	for (size_t i = 0; i < plan.at && (r == 0 || r == -1); i++)
		assert_int_equal(plan.ended[i], 1);
	return r;
}

struct host
plan_host(int kind)
{
	return (struct host){ .seed = (unsigned)kind + 1, .stock = kind > 0,
		.old_rename = kind == 2, .unordered = kind == 3 };
}

/* ---- files -------------------------------------------------------------- */

void
plan_file(const char *name, const char *text, int64_t mtime, mode_t mode)
{
	const struct timespec ts[2] = { { .tv_sec = mtime, .tv_nsec = 5 },
		{ .tv_sec = mtime, .tv_nsec = 5 } };
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(futimens(fd, ts), 0);
	close(fd);
}

void
plan_dir(const char *name, mode_t mode)
{
	assert_int_equal(mkdir(name, 0755), 0);
	assert_int_equal(chmod(name, mode), 0);
}

void
plan_link(const char *name, const char *text)
{
	assert_int_equal(symlink(text, name), 0);
}

bool
plan_holds(const char *name, const char *text)
{
	struct buf b = { 0 };
	bool same = file_read(name, &b, 1 << 20) == 0 &&
	    buf_len(&b) == strlen(text) &&
	    memcmp(buf_data(&b), text, strlen(text)) == 0;

	buf_clear(&b);
	return same;
}

mode_t
plan_mode(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	return st.st_mode & 07777;
}

bool
plan_exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static void
clean(const char *name)
{
	char below[4096];
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (lstat(name, &st) != 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		assert_int_equal(unlink(name), 0);
		return;
	}
	assert_int_equal(chmod(name, 0700), 0);
	assert_non_null(d = opendir(name));
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(below, sizeof below, "%s/%s", name, e->d_name);
		clean(below);
	}
	closedir(d);
	assert_int_equal(rmdir(name), 0);
}

void
plan_clean(void)
{
	clean("from");
	clean("to");
	clean("aside");
}
