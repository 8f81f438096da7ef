/* SPDX-License-Identifier: ISC */
/*
 * Extended attributes of files. Only Linux's are supported: names that begin
 * with a namespace, and ACLs in the kernel's form. On other systems all
 * functions fail with EOPNOTSUPP.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_XATTR_H
#define HPN_COMPAT_XATTR_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* Names a file: by its path, if path is not NULL; by its name in the directory
 * fd, if name is not NULL; else the open file fd. By name a link is not
 * followed; that can only read, and needs Linux 6.13 (else ENOSYS). */
struct xattr_file {
	int fd;
	const char *path;
	bool follow; /* with path: a link in its last part is followed */
	const char *name;
};

/* True if this system has extended attributes. */
bool xattr_is_known(void);
/* Lists the names of attributes, each with a zero byte, as listxattr(2). */
ssize_t xattr_names(const struct xattr_file *f, char *names, size_t size);
ssize_t xattr_value(const struct xattr_file *f, const char *name, void *value,
    size_t size);
int xattr_set(const struct xattr_file *f, const char *name, const void *value,
    size_t size);
int xattr_remove(const struct xattr_file *f, const char *name);
/* True if `error` is the errno for an attribute that the file does not have. */
bool xattr_is_missing(int error);

#endif
