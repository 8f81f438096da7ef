/* SPDX-License-Identifier: ISC */
#include "server/auth/sandbox.h"

#include "config.h"

#ifdef HAVE_SECCOMP /* else sandbox-capsicum.c or sandbox-none.c */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "compat/proc.h"
#include "server/monitor-wire.h"

/* RLIMIT_NOFILE: no new descriptor can have this number or a higher one. The
 * limit is not 0, because poll(2) takes at most so many entries. */
enum { FDS_MAX = 4 };

/* Operations of futex(2) that locks within one process need. */
enum {
	FUTEX_OP_WAIT = 0,
	FUTEX_OP_WAKE = 1,
	FUTEX_OP_WAIT_BITSET = 9,
	FUTEX_OPTIONS = 128 | 256, /* FUTEX_PRIVATE_FLAG,
				    * FUTEX_CLOCK_REALTIME */
};

/* System calls that are allowed with any arguments. They work only on what the
 * process has already. OpenSSH's own sandbox allows all of these, too. The one
 * call beyond it is in allow_quick_acks(): see regress/unit/test-sandbox.c. */
static const int allowed[] = {
	/* bytes in and out */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(ppoll_time64),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
	/* time and random numbers */
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time),
	SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime64), SCMP_SYS(clock_nanosleep_time64),
	/* the process itself */
	SCMP_SYS(getpid), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* System calls that get an error instead of killing the process. Libraries make
 * them without need (for zone files, configuration, CPU counts) and go on after
 * the error. restart_syscall resumes a wait that was interrupted by stopping
 * the process; after EINTR the caller waits again. */
static const struct {
	int call, err;
} refused[] = {
	{ SCMP_SYS(open), EACCES },	 { SCMP_SYS(openat), EACCES },
	{ SCMP_SYS(access), EACCES },	 { SCMP_SYS(faccessat), EACCES },
	{ SCMP_SYS(readlink), EACCES },	 { SCMP_SYS(readlinkat), EACCES },
	{ SCMP_SYS(stat), EACCES },	 { SCMP_SYS(stat64), EACCES },
	{ SCMP_SYS(fstat), EACCES },	 { SCMP_SYS(fstat64), EACCES },
	{ SCMP_SYS(newfstatat), EACCES }, { SCMP_SYS(statx), EACCES },
	{ SCMP_SYS(ioctl), ENOTTY },	 { SCMP_SYS(sysinfo), EPERM },
	{ SCMP_SYS(socket), EACCES },	 { SCMP_SYS(connect), EACCES },
	{ SCMP_SYS(uname), EPERM },	 { SCMP_SYS(sched_getaffinity), EPERM },
	{ SCMP_SYS(restart_syscall), EINTR },
};

static int
allow(scmp_filter_ctx ctx, int call, unsigned count,
    const struct scmp_arg_cmp *args)
{
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call, count, args);
}

/* Allows private memory for data: it cannot be executed or shared. */
static int
allow_memory(scmp_filter_ctx ctx)
{
	const scmp_datum_t no_more = ~(scmp_datum_t)(PROT_READ | PROT_WRITE);
	const scmp_datum_t own = MAP_PRIVATE | MAP_ANONYMOUS;
	const struct scmp_arg_cmp data = SCMP_A2(SCMP_CMP_MASKED_EQ, no_more,
	    0);
	const struct scmp_arg_cmp own_data[] = { data,
		SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE | own, own) };
	const struct scmp_arg_cmp give_back[] = {
		SCMP_A2(SCMP_CMP_EQ, MADV_DONTNEED, 0),
		SCMP_A2(SCMP_CMP_EQ, MADV_FREE, 0),
	};
	int r = 0;

	r |= allow(ctx, SCMP_SYS(mmap), ARRAY_LEN(own_data), own_data);
	r |= allow(ctx, SCMP_SYS(mmap2), ARRAY_LEN(own_data), own_data);
	r |= allow(ctx, SCMP_SYS(mprotect), 1, &data);
	r |= allow(ctx, SCMP_SYS(madvise), 1, &give_back[0]);
	r |= allow(ctx, SCMP_SYS(madvise), 1, &give_back[1]);
	return r;
}

static int
allow_locks(scmp_filter_ctx ctx)
{
	static const int ops[] = { FUTEX_OP_WAIT, FUTEX_OP_WAKE,
		FUTEX_OP_WAIT_BITSET };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		const struct scmp_arg_cmp op = SCMP_A1(SCMP_CMP_MASKED_EQ,
		    ~(scmp_datum_t)FUTEX_OPTIONS, (scmp_datum_t)ops[i]);

		r |= allow(ctx, SCMP_SYS(futex), 1, &op);
		r |= allow(ctx, SCMP_SYS(futex_time64), 1, &op);
	}
	return r;
}

/* Allows fd_set_quickack() on the connection: to acknowledge at once saves a
 * login a round trip with peers that wait for it. The kernel forgets the option
 * after some packets, so it is set again and again. */
static int
allow_quick_acks(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp args[] = {
		SCMP_A0(SCMP_CMP_EQ, MONITOR_FD_SOCKET, 0),
		SCMP_A1(SCMP_CMP_EQ, IPPROTO_TCP, 0),
		SCMP_A2(SCMP_CMP_EQ, TCP_QUICKACK, 0),
	};

	return allow(ctx, SCMP_SYS(setsockopt), ARRAY_LEN(args), args);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Allows what a sanitizer's run time needs to report errors and leaks. */
static int
allow_sanitizer(scmp_filter_ctx ctx)
{
	int r = 0;

#ifdef SANITIZED
	static const int more[] = {
		SCMP_SYS(sigaltstack), SCMP_SYS(getrlimit),
		SCMP_SYS(prlimit64), SCMP_SYS(set_robust_list),
		SCMP_SYS(prctl), SCMP_SYS(arch_prctl), SCMP_SYS(clone),
		SCMP_SYS(clone3), SCMP_SYS(ptrace), SCMP_SYS(wait4),
		SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(getdents64),
		SCMP_SYS(lseek), SCMP_SYS(pipe2), SCMP_SYS(dup),
		SCMP_SYS(madvise), SCMP_SYS(mmap), SCMP_SYS(mprotect),
		SCMP_SYS(futex), SCMP_SYS(gettid), SCMP_SYS(getppid),
		SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(rt_sigreturn), SCMP_SYS(sched_yield),
		SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
		SCMP_SYS(getegid), SCMP_SYS(fcntl),
	};

	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		r |= allow(ctx, more[i], 0, NULL);
#else
	(void)ctx;
#endif
	return r;
}

static int
load_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = 0;

	if (ctx == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		r |= allow(ctx, allowed[i], 0, NULL);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		r |= seccomp_rule_add(ctx,
		    SCMP_ACT_ERRNO((uint32_t)refused[i].err), refused[i].call,
		    0);
	r |= allow_memory(ctx);
	r |= allow_locks(ctx);
	r |= allow_quick_acks(ctx);
	r |= allow_sanitizer(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r == 0 ? 0 : ERR_SYSTEM;
}

static int
limit(int resource, rlim_t value)
{
	struct rlimit rl = { .rlim_cur = value, .rlim_max = value };

	return setrlimit(resource, &rl) == -1 ? ERR_SYSTEM : 0;
}

int
sandbox_enter(void)
{
	int r;

	if (proc_no_new_privs() == -1)
		return ERR_SYSTEM;
	(void)proc_hide();
	if ((r = limit(RLIMIT_FSIZE, 0)) != 0 ||
	    (r = limit(RLIMIT_NPROC, 0)) != 0 ||
	    (r = limit(RLIMIT_CORE, 0)) != 0)
		return r;
#ifndef SANITIZED
	if ((r = limit(RLIMIT_NOFILE, FDS_MAX)) != 0)
		return r;
#endif
	return load_filter();
}

#endif
