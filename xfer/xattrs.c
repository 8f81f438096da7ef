/* SPDX-License-Identifier: ISC */
#include "xfer/xattrs.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "compat/file.h"

enum {
	NAMES_FEW = 1024, /* sizes of the buffers for names and for a value that
			   * are tried first */
	VALUE_FEW = 1024, /* the stack first */
	NAMES_BYTES_MAX = 64 * 1024, /* the kernel's limit */
};

static const char acl_prefix[] = "system.posix_acl_";

static bool
begins(struct span name, const char *prefix)
{
	size_t len = strlen(prefix);

	return name.len > len && memcmp(name.p, prefix, len) == 0;
}

uint32_t
xattrs_kind_of(struct span name)
{
	if (begins(name, "user."))
		return XATTRS_USER;
	if (begins(name, acl_prefix))
		return XATTRS_ACL;
	return begins(name, "system.") ? 0 : XATTRS_OTHER;
}

bool
xattrs_next(struct rd *set, struct xattr *out)
{
	if (set->err != 0 || set->len == 0)
		return false;
	out->name = rd_string(set);
	out->value = rd_string(set);
	return set->err == 0;
}

static int
name_cmp(struct span a, struct span b)
{
	int r = memcmp(a.p, b.p, MIN(a.len, b.len));

	return r != 0 ? r : a.len < b.len ? -1 : a.len > b.len;
}

static int
check_one(const struct xattr *x, uint32_t kinds)
{
	if (x->name.len == 0 || memchr(x->name.p, '\0', x->name.len) != NULL)
		return ERR_FORMAT;
	if (x->name.len > XATTRS_NAME_LEN_MAX ||
	    x->value.len > XATTRS_VALUE_MAX)
		return ERR_LIMIT;
	return (xattrs_kind_of(x->name) & kinds) != 0 ? 0 : ERR_FORMAT;
}

int
xattrs_check(struct span set, uint32_t kinds)
{
	struct rd in = rd_from_span(set);
	struct xattr x, before = { .name = { .p = NULL } };
	size_t count = 0;
	int err;

	if (set.len > XATTRS_BYTES_MAX)
		return ERR_LIMIT;
	while (xattrs_next(&in, &x)) {
		if ((err = check_one(&x, kinds)) < 0)
			return err;
		if (count > 0 && name_cmp(before.name, x.name) >= 0)
			return ERR_FORMAT;
		if (++count > XATTRS_COUNT_MAX)
			return ERR_LIMIT;
		before = x;
	}
	return rd_err(&in) < 0 ? ERR_FORMAT : 0;
}

static void
put(struct buf *out, const struct xattr *x)
{
	buf_put_string(out, x->name.p, x->name.len);
	buf_put_string(out, x->value.p, x->value.len);
}

void
xattrs_filter(struct buf *out, struct span set, uint32_t kinds)
{
	struct rd in = rd_from_span(set);
	struct xattr x;

	while (xattrs_next(&in, &x))
		if ((xattrs_kind_of(x.name) & kinds) != 0)
			put(out, &x);
}

/* ---- comparing ---------------------------------------------------------- */

/* Layout of an ACL in the kernel's form: a version, then entries of a tag,
 * permissions and an id, all little-endian. */
enum {
	ACL_HEAD = 4,
	ACL_ENTRY = 8,
	ACL_TAG_USER_OBJ = 0x01,
	ACL_TAG_GROUP_OBJ = 0x04,
	ACL_TAG_MASK = 0x10,
	ACL_TAG_OTHER = 0x20,
};

/* True if the file's mode has the permissions of the entry as well. The group
 * bits of a mode are those of the mask, or of the owning group if there is no
 * mask. An ACL without a mask says no more than a mode. */
static bool
is_in_mode(const uint8_t *entry)
{
	unsigned tag = entry[0] | (unsigned)entry[1] << 8;

	return tag == ACL_TAG_USER_OBJ || tag == ACL_TAG_MASK ||
	    tag == ACL_TAG_OTHER;
}

static bool
acls_differ(struct span a, struct span b)
{
	if (a.len != b.len || a.len < ACL_HEAD ||
	    (a.len - ACL_HEAD) % ACL_ENTRY != 0)
		return a.len != b.len || memcmp(a.p, b.p, a.len) != 0;
	for (size_t at = ACL_HEAD; at < a.len; at += ACL_ENTRY) {
		const uint8_t *x = a.p + at, *y = b.p + at;

		if (memcmp(x, y, 2) != 0 || memcmp(x + 4, y + 4, 4) != 0 ||
		    (!is_in_mode(x) && memcmp(x + 2, y + 2, 2) != 0))
			return true;
	}
	return memcmp(a.p, b.p, ACL_HEAD) != 0;
}

static bool
next_of(struct rd *set, uint32_t kinds, struct xattr *out)
{
	while (xattrs_next(set, out))
		if ((xattrs_kind_of(out->name) & kinds) != 0)
			return true;
	return false;
}

bool
xattrs_differ(struct span a, struct span b, uint32_t kinds)
{
	struct rd one = rd_from_span(a), two = rd_from_span(b);
	struct xattr x = { .name = { .p = NULL } }, y = x;
	bool more, other;

	for (;;) {
		more = next_of(&one, kinds, &x);
		other = next_of(&two, kinds, &y);
		if (!more || !other)
			return more != other;
		if (name_cmp(x.name, y.name) != 0)
			return true;
		if (span_equals(x.name, "system.posix_acl_access") ?
			acls_differ(x.value, y.value) :
			x.value.len != y.value.len ||
			memcmp(x.value.p, y.value.p, x.value.len) != 0)
			return true;
	}
}

/* ---- files -------------------------------------------------------------- */

/* The names of a file's attributes, sorted. */
struct names {
	char few[NAMES_FEW];
	char *bytes; /* owned, unless it is few; names, each with a zero byte */
	const char **v; /* owned; sorted */
	size_t n;
};

static void
names_clear(struct names *n)
{
	if (n->bytes != n->few)
		free(n->bytes);
	free(n->v);
}

/* Sets n->v to those of the names that are of these kinds. */
static int
pick(struct names *n, size_t len, uint32_t kinds)
{
	const char *p = n->bytes, *end = n->bytes + len;

	n->v = calloc(XATTRS_COUNT_MAX, sizeof *n->v);
	if (n->v == NULL)
		return -1;
	for (; p < end; p += strlen(p) + 1) {
		const struct span name = { (const uint8_t *)p, strlen(p) };

		if ((xattrs_kind_of(name) & kinds) == 0)
			continue;
		if (n->n == XATTRS_COUNT_MAX) {
			errno = E2BIG;
			return -1;
		}
		n->v[n->n++] = p;
	}
	qsort(n->v, n->n, sizeof *n->v, str_order);
	return 0;
}

/* Reads the names of these kinds. 0, or -1 with errno. The caller clears n in
 * both cases. */
static int
names_of(const struct xattr_file *f, uint32_t kinds, struct names *n)
{
	ssize_t len;

	n->bytes = n->few;
	n->v = NULL;
	n->n = 0;
	len = xattr_names(f, n->bytes, sizeof n->few);
	if (len < 0 && errno == ERANGE) {
		n->bytes = malloc(NAMES_BYTES_MAX);
		if (n->bytes == NULL)
			return -1;
		len = xattr_names(f, n->bytes, NAMES_BYTES_MAX);
	}
	/* On a file system without attributes a file has none. */
	if (len < 0)
		return errno == EOPNOTSUPP ? 0 : -1;
	return len == 0 ? 0 : pick(n, (size_t)len, kinds);
}

static int
append(struct buf *out, const char *name, const void *value, size_t len)
{
	buf_put_cstring(out, name);
	buf_put_string(out, value, len);
	errno = ENOMEM;
	return buf_err(out) < 0 ? -1 : 0;
}

/* Appends one attribute. It is left out if it has vanished meanwhile, or if it
 * is not of the user's own kinds and this user may not read it. */
static int
read_one(const struct xattr_file *f, const char *name, struct buf *out)
{
	const struct span named = { (const uint8_t *)name, strlen(name) };
	uint8_t few[VALUE_FEW], *all;
	ssize_t len = xattr_value(f, name, few, sizeof few);
	int r;

	if (len >= 0)
		return append(out, name, few, (size_t)len);
	if (xattr_is_missing(errno) ||
	    ((errno == EPERM || errno == EACCES) &&
		xattrs_kind_of(named) == XATTRS_OTHER))
		return 0;
	if (errno != ERANGE || (all = malloc(XATTRS_VALUE_MAX)) == NULL)
		return -1;
	len = xattr_value(f, name, all, XATTRS_VALUE_MAX);
	r = len >= 0 ? append(out, name, all, (size_t)len) :
	    xattr_is_missing(errno) ? 0 : -1;
	free(all);
	return r;
}

static int
read_all(const struct xattr_file *f, const struct names *names,
    struct buf *out)
{
	size_t before = buf_len(out);
	int r = 0;

	for (size_t i = 0; i < names->n && r == 0; i++) {
		r = read_one(f, names->v[i], out);
		if (buf_len(out) - before > XATTRS_BYTES_MAX) {
			errno = E2BIG;
			r = -1;
		}
	}
	if (r != 0)
		buf_truncate(out, before);
	return r;
}

int
xattrs_read(const struct xattr_file *f, uint32_t kinds, struct buf *out)
{
	struct names names;
	int r = names_of(f, kinds, &names);

	if (r == 0)
		r = read_all(f, &names, out);
	names_clear(&names);
	return r;
}

/* ---- setting ------------------------------------------------------------ */

static int
stat_of(const struct xattr_file *f, struct stat *st)
{
	return f->path == NULL ? fstat(f->fd, st) :
	    fstatat(AT_FDCWD, f->path, st,
		f->follow ? 0 : AT_SYMLINK_NOFOLLOW);
}

static int
chmod_of(const struct xattr_file *f, mode_t mode)
{
	return f->path == NULL ? fchmod(f->fd, mode) : chmod(f->path, mode);
}

static int
set_or_remove(const struct xattr_file *f, const char *name,
    const struct span *value)
{
	int r = value != NULL ? xattr_set(f, name, value->p, value->len) :
				xattr_remove(f, name);

	return r != 0 && value == NULL && xattr_is_missing(errno) ? 0 : r;
}

/* Sets an attribute, or removes it if value is NULL. An owner who may not write
 * to the file gets that permission for the moment. */
static int
change(const struct xattr_file *f, const char *name, const struct span *value)
{
	int r = set_or_remove(f, name, value), error = errno;
	struct stat st;

	if (r == 0 || error != EACCES || stat_of(f, &st) != 0 ||
	    S_ISLNK(st.st_mode) || (st.st_mode & S_IWUSR) != 0 ||
	    chmod_of(f, (st.st_mode & 07777) | S_IWUSR) != 0) {
		errno = error;
		return r;
	}
	r = set_or_remove(f, name, value);
	error = errno;
	(void)!chmod_of(f, st.st_mode & 07777);
	errno = error;
	return r;
}

static void
note(int r, int *first)
{
	if (r != 0 && *first == 0)
		*first = errno;
}

static bool
has(struct span set, const char *name)
{
	struct rd in = rd_from_span(set);
	struct xattr x;

	while (xattrs_next(&in, &x))
		if (span_equals(x.name, name))
			return true;
	return false;
}

static bool
is_so(const struct xattr_file *f, const char *name, struct span value)
{
	uint8_t now[VALUE_FEW];

	return value.len < sizeof now &&
	    xattr_value(f, name, now, sizeof now) == (ssize_t)value.len &&
	    memcmp(now, value.p, value.len) == 0;
}

/* An attribute that has the right value is not set, because that may be
 * forbidden. */
static void
set_all(const struct xattr_file *f, struct span set, int *first)
{
	char name[XATTRS_NAME_LEN_MAX + 1];
	struct rd in = rd_from_span(set);
	struct xattr x;

	while (xattrs_next(&in, &x)) {
		if (x.name.len >= sizeof name)
			continue;
		memcpy(name, x.name.p, x.name.len);
		name[x.name.len] = '\0';
		if (!is_so(f, name, x.value))
			note(change(f, name, &x.value), first);
	}
}

int
xattrs_write(const struct xattr_file *f, const struct xattrs *x)
{
	struct names names;
	int first = 0;

	note(names_of(f, x->kinds, &names), &first);
	for (size_t i = 0; i < names.n; i++)
		if (!has(x->set, names.v[i]))
			note(change(f, names.v[i], NULL), &first);
	names_clear(&names);
	set_all(f, x->set, &first);
	errno = first;
	return first == 0 ? 0 : -1;
}

/* ---- in a directory ----------------------------------------------------- */

/* Opens a file to reach its attributes where there is no /proc: only a regular
 * file or a directory, because to open a device may have effects. */
static int
open_to_read(int dir, const char *name, bool follow, int held)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
	    (follow ? 0 : O_NOFOLLOW);
	struct stat st, now;
	int fd;

	errno = EOPNOTSUPP;
	if (fstat(held, &st) != 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return -1;
	fd = openat(dir, name, flags);
	if (fd >= 0 && (fstat(fd, &now) != 0 || now.st_dev != st.st_dev ||
	    now.st_ino != st.st_ino)) {
		fd_close(&fd);
		errno = ENOENT;
	}
	return fd;
}

/* Reads the set of a file into out, or, if out is NULL, sets x. */
static int
do_to(const struct xattr_file *f, uint32_t kinds, struct buf *out,
    const struct xattrs *x)
{
	return out != NULL ? xattrs_read(f, kinds, out) : xattrs_write(f, x);
}

static int
at(int dir, const char *name, bool follow, uint32_t kinds, struct buf *out,
    const struct xattrs *x)
{
	int held = openat(dir, name, O_CLOEXEC |
		(follow ? FILE_HANDLE : FILE_ITSELF)), fd, r = -1, error;
	char named[32];
	struct xattr_file f = { .fd = -1, .path = named, .follow = true };
	struct stat st;

	if (held < 0)
		return -1;
	/* The name in /proc leads to the held file, even if that is a link. */
	if (file_name_of(held, named) && lstat(named, &st) == 0) {
		r = do_to(&f, kinds, out, x);
	} else if ((fd = open_to_read(dir, name, follow, held)) >= 0) {
		f = (struct xattr_file){ .fd = fd };
		r = do_to(&f, kinds, out, x);
		error = errno;
		fd_close(&fd);
		errno = error;
	}
	error = errno;
	fd_close(&held);
	errno = error;
	return r;
}

int
xattrs_read_at(int dir, const char *name, bool follow, uint32_t kinds,
    struct buf *out)
{
	return at(dir, name, follow, kinds, out, NULL);
}

/* Reads attributes by a path through /proc: kernels before 6.13 cannot name a
 * file by directory and name here. */
static int
beside_by_path(int dir, const char *name, uint32_t kinds, struct buf *out)
{
	char path[32 + XATTRS_NAME_LEN_MAX + 2];
	const struct xattr_file f = { .fd = -1, .path = path };
	struct xattr_file opened = { .fd = -1 };
	struct names names;
	int r;

	if (!file_name_of(dir, path) ||
	    strlcat(path, "/", sizeof path) >= sizeof path ||
	    strlcat(path, name, sizeof path) >= sizeof path)
		return xattrs_read_at(dir, name, false, kinds, out);
	r = names_of(&f, kinds, &names);
	/* To go through /proc for each value takes twice as long as to open the
	 * file once, if this user may open it. */
	if (r == 0 && names.n > 0)
		opened.fd = openat(dir, name, O_RDONLY | O_NOFOLLOW |
			O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r == 0)
		r = read_all(opened.fd >= 0 ? &opened : &f, &names, out);
	names_clear(&names);
	fd_close(&opened.fd);
	/* ENOENT also means that there is no /proc. */
	return r != 0 && errno == ENOENT ?
	    xattrs_read_at(dir, name, false, kinds, out) : r;
}

int
xattrs_read_beside(int dir, const char *name, uint32_t kinds, struct buf *out)
{
	static atomic_bool lacks_call;
	const struct xattr_file f = { .fd = dir, .name = name };
	int r;

	if (atomic_load(&lacks_call))
		return beside_by_path(dir, name, kinds, out);
	r = xattrs_read(&f, kinds, out);
	/* A filter of system calls answers ENOSYS or EPERM to calls that it
	 * does not know. */
	if (r == 0 || (errno != ENOSYS && errno != EPERM))
		return r;
	atomic_store(&lacks_call, errno == ENOSYS);
	return beside_by_path(dir, name, kinds, out);
}

int
xattrs_write_at(int dir, const char *name, bool follow,
    const struct xattrs *x)
{
	return at(dir, name, follow, 0, NULL, x);
}
