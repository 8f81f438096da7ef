/* SPDX-License-Identifier: ISC */
/*
 * Extended attributes of files. Only Linux's are known here: names with a
 * namespace in front, among them ACLs in the kernel's form. Elsewhere all
 * functions fail with EOPNOTSUPP.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_XATTR_H
#define HPN_COMPAT_XATTR_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* A file: the open one; if path is not NULL the one of that path; if name is
 * not NULL what has that name in the directory fd, be it a link: this only to
 * be read, and on kernels that can do it (Linux 6.13; else ENOSYS). */
struct xattr_file {
	int fd;
	const char *path;
	bool follow; /* the path's last part may be a link that is followed */
	const char *name;
};

/* Has this system extended attributes at all? */
bool xattr_is_known(void);
/* The names, each with a zero byte; as listxattr(2). */
ssize_t xattr_names(const struct xattr_file *f, char *names, size_t size);
ssize_t xattr_value(const struct xattr_file *f, const char *name, void *value,
    size_t size);
int xattr_set(const struct xattr_file *f, const char *name, const void *value,
    size_t size);
int xattr_remove(const struct xattr_file *f, const char *name);
/* Is errno that of an attribute that a file does not have? */
bool xattr_is_missing(int error);

#endif
