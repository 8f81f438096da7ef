/* SPDX-License-Identifier: ISC */
#include "server/sandbox.h"

#include "config.h"

#ifdef HAVE_SECCOMP /* else sandbox-none.c */

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/mem.h"

/* Descriptors above this can not be made; poll(2) takes as many entries. */
enum { FDS_MAX = 4 };

/* Everything here works on what the process holds already. */
static const int allowed[] = {
	/* bytes in and out */
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev),
	SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg),
	SCMP_SYS(sendto), SCMP_SYS(close), SCMP_SYS(shutdown),
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(pselect6),
	SCMP_SYS(getsockopt), SCMP_SYS(fstat), SCMP_SYS(fstat64),
	SCMP_SYS(newfstatat), SCMP_SYS(fcntl), SCMP_SYS(fcntl64),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time and chance */
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time),
	SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime64), SCMP_SYS(clock_nanosleep_time64),
	SCMP_SYS(ppoll_time64),
	/* the process itself */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(futex), SCMP_SYS(futex_time64),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield), SCMP_SYS(rseq), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Refused with an error instead of death: libraries ask for these without
 * need (zone files, configuration, CPU counts) and live with a no. */
static const struct {
	int call, err;
} refused[] = {
	{ SCMP_SYS(open), EACCES },	 { SCMP_SYS(openat), EACCES },
	{ SCMP_SYS(access), EACCES },	 { SCMP_SYS(faccessat), EACCES },
	{ SCMP_SYS(readlink), EACCES },	 { SCMP_SYS(readlinkat), EACCES },
	{ SCMP_SYS(stat), EACCES },	 { SCMP_SYS(stat64), EACCES },
	{ SCMP_SYS(statx), EACCES },	 { SCMP_SYS(ioctl), ENOTTY },
	{ SCMP_SYS(sysinfo), EPERM },	 { SCMP_SYS(socket), EACCES },
	{ SCMP_SYS(connect), EACCES },	 { SCMP_SYS(uname), EPERM },
	{ SCMP_SYS(sched_getaffinity), EPERM },
};

static int
allow_memory(scmp_filter_ctx ctx)
{
	/* Data, never code. */
	struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ,
	    (scmp_datum_t)PROT_EXEC, 0);
	int r = 0;

	r |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
	    &no_exec);
	r |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
	    &no_exec);
	/* Socket options that a TCP connection needs, no others. */
	r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 1,
	    SCMP_A1(SCMP_CMP_EQ, 6 /* IPPROTO_TCP */, 0));
	return r;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* What a sanitizer's run time needs to report and to look for leaks. */
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
	};

	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, more[i], 0);
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
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		r |= seccomp_rule_add(ctx,
		    SCMP_ACT_ERRNO((uint32_t)refused[i].err), refused[i].call,
		    0);
	r |= allow_memory(ctx);
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

	return setrlimit((__rlimit_resource_t)resource, &rl) == -1 ? ERR_SYSTEM
								    : 0;
}

int
sandbox_enter(void)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return ERR_SYSTEM;
	(void)prctl(PR_SET_DUMPABLE, 0);
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
