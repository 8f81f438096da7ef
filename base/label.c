/* SPDX-License-Identifier: ISC */
#include "base/label.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

/* The file does not exist in a user's root directory, or if no module of the
 * kernel labels processes. */
#define LABEL_FILE "/proc/thread-self/attr/exec"

enum { LABEL_MAX = 4096 }; /* bytes */

char *
label_read(const char *path)
{
	struct buf b = { 0 };
	char *label = NULL;

	if (file_read(path, &b, LABEL_MAX) == 0 && buf_len(&b) > 0)
		label = buf_dup_string(&b);
	buf_clear(&b);
	if (label != NULL)
		label[strcspn(label, "\n")] = '\0';
	if (label != NULL && label[0] == '\0') {
		free(label);
		label = NULL;
	}
	return label;
}

/* The attribute is written in one call, because each write is a command to the
 * kernel. An empty write would not reach the kernel; the end of a line alone
 * removes the attribute. */
int
label_write(const char *path, const char *label)
{
	size_t len = strlen(label);
	ssize_t n;
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return ERR_SYSTEM;
	n = len > 0 ? fd_write(fd, label, len) : fd_write(fd, "\n", 1);
	fd_close(&fd);
	return n == -1 ? ERR_SYSTEM : 0;
}

char *
label_of_programs(void)
{
	return label_read(LABEL_FILE);
}

int
label_set_of_programs(const char *label)
{
	return label_write(LABEL_FILE, label);
}
