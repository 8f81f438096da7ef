/* SPDX-License-Identifier: ISC */
#include "tokens/sk/sk-provider.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

/* The name of a function that each such library has: its file must contain
 * it. */
#define MARK "sk_api_version"

enum { LIBRARY_MAX = 64 * 1024 * 1024 }; /* bytes of a library's file */

static bool
is_library(int fd)
{
	struct buf content = { 0 };
	struct stat st;
	bool marked;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return false;
	marked = fd_read_file(fd, &content, LIBRARY_MAX) == 0 &&
	    memmem(buf_data(&content), buf_len(&content), MARK,
		strlen(MARK)) != NULL;
	buf_clear(&content);
	return marked;
}

static int
find_functions(void *library, struct sk_api *out, const char **why)
{
	uint32_t (*version)(void);

	/* POSIX guarantees that a pointer to a function fits into what dlsym()
	 * returns. */
	*(void **)&version = dlsym(library, "sk_api_version");
	*(void **)&out->enroll = dlsym(library, "sk_enroll");
	*(void **)&out->sign = dlsym(library, "sk_sign");
	*(void **)&out->load = dlsym(library, "sk_load_resident_keys");
	*why = "it has another version of the interface";
	if (version == NULL ||
	    (version() & SK_API_MAJOR_MASK) != SK_API_MAJOR)
		return ERR_UNSUPPORTED;
	*why = "it lacks a function";
	return out->enroll != NULL && out->sign != NULL && out->load != NULL ?
	    0 :
	    ERR_UNSUPPORTED;
}

int
sk_provider_load(const char *path, struct sk_api *out, const char **why)
{
	void *library;
	bool ok;
	int fd;

	/* Without a slash dlopen() would search other directories. */
	*why = "it is no path";
	if (strchr(path, '/') == NULL)
		return ERR_ARGUMENT;
	*why = "it cannot be read";
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1)
		return ERR_SYSTEM;
	ok = is_library(fd);
	fd_close(&fd);
	*why = "it is no library for security keys";
	if (!ok)
		return ERR_FORMAT;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		*why = dlerror();
		return ERR_FORMAT;
	}
	return find_functions(library, out, why);
}
