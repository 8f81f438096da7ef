/* SPDX-License-Identifier: ISC */
/*
 * A library for tests, to be preloaded: makes the n-th call of a kind fail.
 *
 * HPN_FAULT=KIND:N:ERRNO[:MODE]
 *   KIND   a name of the table below. Calls on files count only if the file
 *          is below HPN_FAULT_BELOW; those of the kinds malloc, random and
 *          socket always do.
 *   N      from 1 on; 0: none fails, they are only counted
 *   ERRNO  a number. 0: a read finds the end, a write takes half
 *   MODE   "on": that call and all later ones of the kind
 * HPN_FAULT_PROGRAM=NAME   only in programs of that name
 * HPN_FAULT_COUNTS=FILE    of KINDS + 1 numbers of 32 bits, which are counted
 *                          up: the calls of each kind, then those that failed.
 *                          It lives through any end of the program.
 *
 * What a failing call would have done is not done, but for close(), which
 * closes, as Linux does.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* run.py has the same order. */
enum kind {
	K_OPEN,
	K_READ,
	K_WRITE,
	K_FSYNC,
	K_CLOSE,
	K_RENAME,
	K_TRUNCATE,
	K_CHMOD,
	K_TIMES,
	K_MKDIR,
	K_LINK,
	K_UNLINK,
	K_STAT,
	K_LIST,
	K_READDIR,
	K_SEEK,
	K_LOCK,
	K_MALLOC,
	K_RANDOM,
	K_SOCKET,
	KINDS
};

static const char *const names[KINDS] = { "open", "read", "write", "fsync",
	"close", "rename", "truncate", "chmod", "times", "mkdir", "link",
	"unlink", "stat", "list", "readdir", "seek", "lock", "malloc",
	"random", "socket" };

static struct {
	bool armed;
	enum kind kind;
	uint32_t n;
	int error;
	bool onwards;
	const char *below;
	size_t below_len;
	_Atomic uint32_t *counts;
} fault;

#define REAL(name)                                           \
	static __typeof__(&name) real;                       \
	if (real == NULL)                                    \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void
set_fault(const char *text)
{
	char kind[16] = "", mode[8] = "";
	unsigned n = 0;

	if (sscanf(text, "%15[a-z]:%u:%d:%7s", kind, &n, &fault.error, mode) <
	    3)
		abort();
	while (fault.kind < KINDS && strcmp(names[fault.kind], kind) != 0)
		fault.kind++;
	if (fault.kind == KINDS)
		abort();
	fault.n = n;
	fault.onwards = strcmp(mode, "on") == 0;
}

__attribute__((constructor)) static void
arm(void)
{
	const char *text = getenv("HPN_FAULT"), *path;
	const char *program = getenv("HPN_FAULT_PROGRAM");
	int fd;

	if (text == NULL || (program != NULL &&
	    strcmp(program, program_invocation_short_name) != 0))
		return;
	set_fault(text);
	fault.below = getenv("HPN_FAULT_BELOW");
	fault.below_len = fault.below != NULL ? strlen(fault.below) : 0;
	path = getenv("HPN_FAULT_COUNTS");
	if (path == NULL || (fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		abort();
	fault.counts = mmap(NULL, sizeof(uint32_t) * (KINDS + 1),
	    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fault.counts == MAP_FAILED)
		abort();
	close(fd);
	fault.armed = true;
}

/* Does this call fail? Sets errno. */
static bool
fails(enum kind kind)
{
	uint32_t n;

	if (!fault.armed)
		return false;
	n = atomic_fetch_add(&fault.counts[kind], 1) + 1;
	if (kind != fault.kind || fault.n == 0 ||
	    (fault.onwards ? n < fault.n : n != fault.n))
		return false;
	atomic_fetch_add(&fault.counts[KINDS], 1);
	errno = fault.error;
	return true;
}

static bool
is_below(const char *path)
{
	return fault.below_len == 0 ||
	    (strncmp(path, fault.below, fault.below_len) == 0 &&
		(path[fault.below_len] == '/' ||
		    path[fault.below_len] == '\0'));
}

static bool
counts_fd(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;
	int saved = errno;

	if (!fault.armed)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	errno = saved;
	if (n <= 0)
		return false;
	path[n] = '\0';
	return is_below(path);
}

static bool
counts_path(int at, const char *path)
{
	char cwd[PATH_MAX];

	if (!fault.armed || path == NULL)
		return false;
	if (path[0] == '/')
		return is_below(path);
	if (at != AT_FDCWD)
		return counts_fd(at);
	return getcwd(cwd, sizeof cwd) != NULL && is_below(cwd);
}

static bool
fd_fails(enum kind kind, int fd)
{
	return counts_fd(fd) && fails(kind);
}

static bool
path_fails(enum kind kind, int at, const char *path)
{
	return counts_path(at, path) && fails(kind);
}

/* ---- opening ------------------------------------------------------------ */

static mode_t
mode_of(int flags, va_list ap)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ?
	    va_arg(ap, mode_t) : 0;
}

#define OPEN(name)                                               \
	int name(const char *path, int flags, ...)               \
	{                                                        \
		va_list ap;                                      \
		mode_t mode;                                     \
		REAL(name);                                      \
		va_start(ap, flags);                             \
		mode = mode_of(flags, ap);                       \
		va_end(ap);                                      \
		return path_fails(K_OPEN, AT_FDCWD, path) ? -1 : \
		    real(path, flags, mode);                     \
	}
#define OPENAT(name)                                             \
	int name(int at, const char *path, int flags, ...)       \
	{                                                        \
		va_list ap;                                      \
		mode_t mode;                                     \
		REAL(name);                                      \
		va_start(ap, flags);                             \
		mode = mode_of(flags, ap);                       \
		va_end(ap);                                      \
		return path_fails(K_OPEN, at, path) ? -1 :       \
		    real(at, path, flags, mode);                 \
	}
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What glibc's headers call where flags are checked. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);

int
__open_2(const char *path, int flags)
{
	return open(path, flags);
}

int
__open64_2(const char *path, int flags)
{
	return open(path, flags);
}

int
__openat_2(int at, const char *path, int flags)
{
	return openat(at, path, flags);
}

int
__openat64_2(int at, const char *path, int flags)
{
	return openat(at, path, flags);
}

DIR *
opendir(const char *path)
{
	REAL(opendir);

	return path_fails(K_LIST, AT_FDCWD, path) ? NULL : real(path);
}

DIR *
fdopendir(int fd)
{
	REAL(fdopendir);

	return fd_fails(K_LIST, fd) ? NULL : real(fd);
}

struct dirent *
readdir(DIR *dir)
{
	REAL(readdir);

	return fd_fails(K_READDIR, dirfd(dir)) ? NULL : real(dir);
}

struct dirent64 *
readdir64(DIR *dir)
{
	REAL(readdir64);

	return fd_fails(K_READDIR, dirfd(dir)) ? NULL : real(dir);
}

/* ---- data --------------------------------------------------------------- */

/* What a read or write that fails returns: an error number of 0 stands for an
 * early end, or for half of it. */
static ssize_t
short_result(void)
{
	return errno != 0 ? -1 : 0;
}

ssize_t
read(int fd, void *p, size_t len)
{
	REAL(read);

	return fd_fails(K_READ, fd) ? short_result() : real(fd, p, len);
}

ssize_t
pread(int fd, void *p, size_t len, off_t at)
{
	REAL(pread);

	return fd_fails(K_READ, fd) ? short_result() : real(fd, p, len, at);
}

ssize_t
pread64(int fd, void *p, size_t len, off64_t at)
{
	REAL(pread64);

	return fd_fails(K_READ, fd) ? short_result() : real(fd, p, len, at);
}

ssize_t
preadv(int fd, const struct iovec *v, int n, off_t at)
{
	REAL(preadv);

	return fd_fails(K_READ, fd) ? short_result() : real(fd, v, n, at);
}

ssize_t
preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	REAL(preadv2);

	return fd_fails(K_READ, fd) ? short_result() :
				      real(fd, v, n, at, flags);
}

ssize_t
write(int fd, const void *p, size_t len)
{
	REAL(write);

	if (!fd_fails(K_WRITE, fd))
		return real(fd, p, len);
	return errno != 0 ? -1 : real(fd, p, (len + 1) / 2);
}

ssize_t
pwrite(int fd, const void *p, size_t len, off_t at)
{
	REAL(pwrite);

	if (!fd_fails(K_WRITE, fd))
		return real(fd, p, len, at);
	return errno != 0 ? -1 : real(fd, p, (len + 1) / 2, at);
}

ssize_t
pwrite64(int fd, const void *p, size_t len, off64_t at)
{
	REAL(pwrite64);

	if (!fd_fails(K_WRITE, fd))
		return real(fd, p, len, at);
	return errno != 0 ? -1 : real(fd, p, (len + 1) / 2, at);
}

ssize_t
copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t len,
    unsigned flags)
{
	REAL(copy_file_range);

	return fd_fails(K_WRITE, out) ? short_result() :
	    real(in, from, out, to, len, flags);
}

off_t
lseek(int fd, off_t to, int whence)
{
	REAL(lseek);

	return fd_fails(K_SEEK, fd) ? -1 : real(fd, to, whence);
}

off64_t
lseek64(int fd, off64_t to, int whence)
{
	REAL(lseek64);

	return fd_fails(K_SEEK, fd) ? -1 : real(fd, to, whence);
}

/* ---- what is done to a file --------------------------------------------- */

#define BY_FD(kind, name, params, args) \
	int name params                 \
	{                               \
		REAL(name);             \
		return fd_fails(kind, fd) ? -1 : real args; \
	}
#define BY_PATH(kind, at, name, params, args)                       \
	int name params                                             \
	{                                                           \
		REAL(name);                                         \
		return path_fails(kind, at, path) ? -1 : real args; \
	}

BY_FD(K_FSYNC, fsync, (int fd), (fd))
BY_FD(K_FSYNC, fdatasync, (int fd), (fd))
BY_FD(K_TRUNCATE, ftruncate, (int fd, off_t len), (fd, len))
BY_FD(K_TRUNCATE, ftruncate64, (int fd, off64_t len), (fd, len))
BY_PATH(K_TRUNCATE, AT_FDCWD, truncate, (const char *path, off_t len),
    (path, len))
BY_FD(K_CHMOD, fchmod, (int fd, mode_t mode), (fd, mode))
BY_PATH(K_CHMOD, AT_FDCWD, chmod, (const char *path, mode_t mode),
    (path, mode))
BY_PATH(K_CHMOD, at, fchmodat,
    (int at, const char *path, mode_t mode, int flags),
    (at, path, mode, flags))
BY_FD(K_TIMES, futimens, (int fd, const struct timespec ts[2]), (fd, ts))
BY_PATH(K_TIMES, AT_FDCWD, utimes,
    (const char *path, const struct timeval tv[2]), (path, tv))
BY_FD(K_TIMES, futimes, (int fd, const struct timeval tv[2]), (fd, tv))
BY_FD(K_LOCK, flock, (int fd, int how), (fd, how))
BY_PATH(K_MKDIR, AT_FDCWD, mkdir, (const char *path, mode_t mode),
    (path, mode))
BY_PATH(K_MKDIR, at, mkdirat, (int at, const char *path, mode_t mode),
    (at, path, mode))
BY_PATH(K_UNLINK, AT_FDCWD, unlink, (const char *path), (path))
BY_PATH(K_UNLINK, AT_FDCWD, rmdir, (const char *path), (path))
BY_PATH(K_UNLINK, at, unlinkat, (int at, const char *path, int flags),
    (at, path, flags))
BY_PATH(K_LINK, AT_FDCWD, link, (const char *from, const char *path),
    (from, path))
BY_PATH(K_LINK, at, linkat,
    (int from_at, const char *from, int at, const char *path, int flags),
    (from_at, from, at, path, flags))
BY_PATH(K_LINK, AT_FDCWD, symlink, (const char *to, const char *path),
    (to, path))
BY_PATH(K_LINK, at, symlinkat, (const char *to, int at, const char *path),
    (to, at, path))
BY_PATH(K_RENAME, AT_FDCWD, rename, (const char *from, const char *path),
    (from, path))
BY_PATH(K_RENAME, at, renameat,
    (int from_at, const char *from, int at, const char *path),
    (from_at, from, at, path))
BY_PATH(K_RENAME, at, renameat2,
    (int from_at, const char *from, int at, const char *path, unsigned flags),
    (from_at, from, at, path, flags))
BY_FD(K_STAT, fstat, (int fd, struct stat *st), (fd, st))
BY_FD(K_STAT, fstat64, (int fd, struct stat64 *st), (fd, st))
BY_PATH(K_STAT, AT_FDCWD, stat, (const char *path, struct stat *st),
    (path, st))
BY_PATH(K_STAT, AT_FDCWD, stat64, (const char *path, struct stat64 *st),
    (path, st))
BY_PATH(K_STAT, AT_FDCWD, lstat, (const char *path, struct stat *st),
    (path, st))
BY_PATH(K_STAT, AT_FDCWD, lstat64, (const char *path, struct stat64 *st),
    (path, st))
BY_PATH(K_STAT, at, fstatat,
    (int at, const char *path, struct stat *st, int flags),
    (at, path, st, flags))
BY_PATH(K_STAT, at, fstatat64,
    (int at, const char *path, struct stat64 *st, int flags),
    (at, path, st, flags))

BY_PATH(K_TIMES, at, utimensat,
    (int at, const char *path, const struct timespec ts[2], int flags),
    (at, path, ts, flags))

int
close(int fd)
{
	bool failed = fd_fails(K_CLOSE, fd);
	int error = errno, r;
	REAL(close);

	r = real(fd);
	if (failed) {
		errno = error;
		return -1;
	}
	return r;
}

/* ---- without a file ----------------------------------------------------- */

/* dlsym() may allocate, so these are asked by glibc's own names. */
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *p, size_t len);

void *
malloc(size_t len)
{
	return fails(K_MALLOC) ? NULL : __libc_malloc(len);
}

void *
calloc(size_t n, size_t len)
{
	return fails(K_MALLOC) ? NULL : __libc_calloc(n, len);
}

void *
realloc(void *p, size_t len)
{
	return fails(K_MALLOC) ? NULL : __libc_realloc(p, len);
}

ssize_t
getrandom(void *p, size_t len, unsigned flags)
{
	REAL(getrandom);

	return fails(K_RANDOM) ? -1 : real(p, len, flags);
}

int
getentropy(void *p, size_t len)
{
	REAL(getentropy);

	return fails(K_RANDOM) ? -1 : real(p, len);
}

int
socketpair(int domain, int type, int protocol, int fds[2])
{
	REAL(socketpair);

	return fails(K_SOCKET) ? -1 : real(domain, type, protocol, fds);
}

int
pipe2(int fds[2], int flags)
{
	REAL(pipe2);

	return fails(K_SOCKET) ? -1 : real(fds, flags);
}

int
pipe(int fds[2])
{
	REAL(pipe);

	return fails(K_SOCKET) ? -1 : real(fds);
}

int
socket(int domain, int type, int protocol)
{
	REAL(socket);

	return fails(K_SOCKET) ? -1 : real(domain, type, protocol);
}
