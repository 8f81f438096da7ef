/* SPDX-License-Identifier: ISC */
#include "compat/xattr.h"

#include <errno.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

/* Numbers of system calls, which are the same on all processors but alpha, and
 * the kernel's structure; C libraries do not have them yet. */
#if !defined(__alpha__)
enum { CALL_GETXATTRAT = 464, CALL_LISTXATTRAT = 465 };

static ssize_t
names_at(const struct xattr_file *f, char *names, size_t size)
{
	return (ssize_t)syscall(CALL_LISTXATTRAT, f->fd, f->name,
	    AT_SYMLINK_NOFOLLOW, names, size);
}

static ssize_t
value_at(const struct xattr_file *f, const char *name, void *value,
    size_t size)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args = { (uintptr_t)value, (uint32_t)size, 0 };

	return (ssize_t)syscall(CALL_GETXATTRAT, f->fd, f->name,
	    AT_SYMLINK_NOFOLLOW, name, &args, sizeof args);
}
#else
static ssize_t
names_at(const struct xattr_file *f, char *names, size_t size)
{
	(void)f;
	(void)names;
	(void)size;
	errno = ENOSYS;
	return -1;
}

static ssize_t
value_at(const struct xattr_file *f, const char *name, void *value,
    size_t size)
{
	(void)name;
	return names_at(f, value, size);
}
#endif

bool
xattr_is_known(void)
{
	return true;
}

ssize_t
xattr_names(const struct xattr_file *f, char *names, size_t size)
{
	if (f->name != NULL)
		return names_at(f, names, size);
	if (f->path == NULL)
		return flistxattr(f->fd, names, size);
	return f->follow ? listxattr(f->path, names, size) :
			   llistxattr(f->path, names, size);
}

ssize_t
xattr_value(const struct xattr_file *f, const char *name, void *value,
    size_t size)
{
	if (f->name != NULL)
		return value_at(f, name, value, size);
	if (f->path == NULL)
		return fgetxattr(f->fd, name, value, size);
	return f->follow ? getxattr(f->path, name, value, size) :
			   lgetxattr(f->path, name, value, size);
}

int
xattr_set(const struct xattr_file *f, const char *name, const void *value,
    size_t size)
{
	if (f->path == NULL)
		return fsetxattr(f->fd, name, value, size, 0);
	return f->follow ? setxattr(f->path, name, value, size, 0) :
			   lsetxattr(f->path, name, value, size, 0);
}

int
xattr_remove(const struct xattr_file *f, const char *name)
{
	if (f->path == NULL)
		return fremovexattr(f->fd, name);
	return f->follow ? removexattr(f->path, name) :
			   lremovexattr(f->path, name);
}

bool
xattr_is_missing(int error)
{
	return error == ENODATA;
}
#else

bool
xattr_is_known(void)
{
	return false;
}

ssize_t
xattr_names(const struct xattr_file *f, char *names, size_t size)
{
	(void)f;
	(void)names;
	(void)size;
	errno = EOPNOTSUPP;
	return -1;
}

ssize_t
xattr_value(const struct xattr_file *f, const char *name, void *value,
    size_t size)
{
	(void)name;
	return xattr_names(f, value, size);
}

int
xattr_set(const struct xattr_file *f, const char *name, const void *value,
    size_t size)
{
	(void)value;
	(void)size;
	return xattr_remove(f, name);
}

int
xattr_remove(const struct xattr_file *f, const char *name)
{
	(void)name;
	return (int)xattr_names(f, NULL, 0);
}

bool
xattr_is_missing(int error)
{
	(void)error;
	return false;
}
#endif
