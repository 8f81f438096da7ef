/* SPDX-License-Identifier: ISC */
#include "compat/xattr.h"

#include <errno.h>
#if defined(__linux__)
#include <sys/xattr.h>

bool
xattr_is_known(void)
{
	return true;
}

ssize_t
xattr_names(const struct xattr_file *f, char *names, size_t size)
{
	if (f->path == NULL)
		return flistxattr(f->fd, names, size);
	return f->follow ? listxattr(f->path, names, size) :
			   llistxattr(f->path, names, size);
}

ssize_t
xattr_value(const struct xattr_file *f, const char *name, void *value,
    size_t size)
{
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
