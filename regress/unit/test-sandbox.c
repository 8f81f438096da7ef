/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd-auth may ask of the system: the filter that sandbox_enter()
 * has loaded is run here over every system call, and compared with a list.
 * The list is not to grow: what is in it is what the process of stock OpenSSH
 * in the same place may do as well (9.2p1 of Debian 12 on x86-64, read from
 * the running process), and one socket option.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"

#if defined(HAVE_SECCOMP) && !defined(WITH_SANITIZER)

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/auth/sandbox.h"
#include "server/monitor-wire.h"

enum { CALLS = 600, PROGRAM_MAX = 4096 };

static struct sock_filter program[PROGRAM_MAX];
static size_t program_len;
static int out_fd;

/* In place of the library's: the filter is to be seen, not to be suffered. */
int
seccomp_load(const scmp_filter_ctx ctx)
{
	return seccomp_export_bpf(ctx, out_fd);
}

/* ---- the filter as the kernel runs it ------------------------------------ */

static bool
jumps(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		fail_msg("jump %#x", code);
		return false;
	}
}

static uint32_t
verdict(const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < program_len; pc++) {
		const struct sock_filter *f = &program[pc];

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			assert_int_equal(f->code, BPF_LD | BPF_W | BPF_ABS);
			assert_true(f->k + 4 <= sizeof *data);
			memcpy(&a, (const char *)data + f->k, 4);
			break;
		case BPF_ALU:
			assert_int_equal(f->code, BPF_ALU | BPF_AND | BPF_K);
			a &= f->k;
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				pc += f->k;
			else
				pc += jumps(f->code, a, f->k) ? f->jt : f->jf;
			break;
		case BPF_RET:
			assert_int_equal(f->code, BPF_RET | BPF_K);
			return f->k;
		default:
			fail_msg("instruction %#x", f->code);
		}
	}
	fail_msg("the filter has no end");
	return 0;
}

static uint32_t
native_arch(void)
{
	/* libseccomp's token is the kernel's number. */
	return seccomp_arch_native();
}

static bool
lets_pass(int call, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = call, .arch = native_arch() };

	memcpy(data.args, args, sizeof data.args);
	return (verdict(&data) & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
}

/* ---- what is expected -------------------------------------------------- */

static bool
any(const uint64_t *a)
{
	(void)a;
	return true;
}

static bool
own_data(const uint64_t *a)
{
	return (a[2] & ~(uint64_t)(PROT_READ | PROT_WRITE)) == 0 &&
	    (a[3] & MAP_TYPE) == MAP_PRIVATE && (a[3] & MAP_ANONYMOUS) != 0;
}

static bool
no_code(const uint64_t *a)
{
	return (a[2] & ~(uint64_t)(PROT_READ | PROT_WRITE)) == 0;
}

static bool
gives_back(const uint64_t *a)
{
	return a[2] == MADV_DONTNEED || a[2] == MADV_FREE;
}

static bool
waits_or_wakes(const uint64_t *a)
{
	uint64_t op = a[1] & ~(uint64_t)(128 | 256);

	return op == 0 || op == 1 || op == 9;
}

static bool
acknowledges(const uint64_t *a)
{
	return a[0] == MONITOR_FD_SOCKET && a[1] == IPPROTO_TCP &&
	    a[2] == TCP_QUICKACK;
}

struct row {
	const char *name;
	bool (*passes)(const uint64_t *args);
};

static const struct row expected[] = {
	{ "read", any }, { "write", any }, { "writev", any },
	{ "close", any }, { "poll", any }, { "ppoll", any },
	{ "ppoll_time64", any }, { "brk", any }, { "munmap", any },
	{ "mremap", any }, { "clock_gettime", any },
	{ "clock_gettime64", any }, { "gettimeofday", any },
	{ "time", any }, { "nanosleep", any }, { "clock_nanosleep", any },
	{ "clock_nanosleep_time64", any }, { "getrandom", any },
	{ "getpid", any }, { "exit", any }, { "exit_group", any },
	{ "mmap", own_data }, { "mmap2", own_data }, { "mprotect", no_code },
	{ "madvise", gives_back }, { "futex", waits_or_wakes },
	{ "futex_time64", waits_or_wakes }, { "setsockopt", acknowledges },
};

/* Of the stock process, on x86-64. */
static const struct row stock[] = {
	{ "read", any }, { "write", any }, { "close", any }, { "poll", any },
	{ "mmap", no_code }, { "mprotect", no_code }, { "munmap", any },
	{ "brk", any }, { "rt_sigprocmask", any }, { "writev", any },
	{ "select", any }, { "mremap", any }, { "madvise", any },
	{ "nanosleep", any }, { "getpid", any }, { "shutdown", any },
	{ "exit", any }, { "gettimeofday", any }, { "getuid", any },
	{ "geteuid", any }, { "getpgid", any }, { "gettid", any },
	{ "time", any }, { "futex", any }, { "clock_gettime", any },
	{ "clock_nanosleep", any }, { "exit_group", any },
	{ "pselect6", any }, { "ppoll", any }, { "getrandom", any },
	/* and this is ours */
	{ "setsockopt", acknowledges },
};

/* A list by the numbers that the calls have on this machine. */
struct numbered {
	bool (*passes[CALLS])(const uint64_t *args);
};

static struct numbered expected_here, stock_here;

static void
find_numbers(struct numbered *to, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int call = seccomp_syscall_resolve_name(rows[i].name);

		assert_true(call < CALLS);
		if (call >= 0) /* else there is none */
			to->passes[call] = rows[i].passes;
	}
}

static bool
is_in(const struct numbered *list, int call, const uint64_t args[6])
{
	return list->passes[call] != NULL && list->passes[call](args);
}

/* ---- tests ------------------------------------------------------------- */

/* In a process of its own: what it enters is for ever. Bits of what is
 * missing; the filter goes to fd. */
static int
enter(int fd)
{
	static const int limits[] = { RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_CORE };
	struct rlimit rl;
	int missing = 0;

	out_fd = fd;
	if (sandbox_enter() != 0)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		missing |= 2;
	if (prctl(PR_GET_DUMPABLE) != 0)
		missing |= 4;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (getrlimit(limits[i], &rl) != 0 ||
		    rl.rlim_cur != 0 || rl.rlim_max != 0)
			missing |= 8 << i;
	if (getrlimit(RLIMIT_NOFILE, &rl) != 0 || rl.rlim_max > 4)
		missing |= 64;
	return missing;
}

static int
load(void **state)
{
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(enter(ends[1]));
	close(ends[1]);
	while ((n = read(ends[0], (char *)program + program_len,
		    sizeof program - program_len)) > 0)
		program_len += (size_t)n;
	close(ends[0]);
	program_len /= sizeof program[0];
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_in_range(program_len, 10, PROGRAM_MAX - 1);
	find_numbers(&expected_here, expected, ARRAY_LEN(expected));
	find_numbers(&stock_here, stock, ARRAY_LEN(stock));
	return 0;
}

static void
check(int call, const uint64_t args[6])
{
	bool passes = lets_pass(call, args);
	char *name;

	if (passes != is_in(&expected_here, call, args)) {
		name = seccomp_syscall_resolve_num_arch(native_arch(), call);
		fail_msg("%s (%d) with %#llx %#llx %#llx %#llx %s",
		    name != NULL ? name : "?", call,
		    (unsigned long long)args[0], (unsigned long long)args[1],
		    (unsigned long long)args[2], (unsigned long long)args[3],
		    passes ? "passes" : "is stopped");
	}
	if (passes && native_arch() == AUDIT_ARCH_X86_64)
		assert_true(is_in(&stock_here, call, args));
}

/* Values that mean something to some call in some place. */
static const uint64_t values[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13,
	14, 16, 0x21, 0x22, 0x32, 128, 129, 137, 256, 265, 393, 0x4022,
	0x2000, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 63 };

static void
only_what_is_listed(void **state)
{
	(void)state;
	for (int call = 0; call < CALLS; call++)
		for (unsigned i = 0; i < 3; i++)
			for (unsigned j = i + 1; j < 4; j++)
				for (size_t v = 0; v < ARRAY_LEN(values); v++)
					for (size_t w = 0;
					     w < ARRAY_LEN(values); w++) {
						uint64_t args[6] = { 0 };

						args[i] = values[v];
						args[j] = values[w];
						check(call, args);
					}
}

/* Three arguments decide here. */
static void
only_one_socket_option(void **state)
{
	int call = seccomp_syscall_resolve_name("setsockopt");

	(void)state;
	for (uint64_t fd = 0; fd < 8; fd++)
		for (uint64_t level = 0; level < 300; level++)
			for (uint64_t what = 0; what < 80; what++)
				check(call,
				    (uint64_t[6]){ fd, level, what });
}

/* Numbers of another machine, or of x32, mean other calls. */
static void
no_other_machine(void **state)
{
	static const uint32_t arches[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM,
		AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, 0 };
	struct seccomp_data data = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(arches); i++) {
		data.arch = arches[i];
		for (data.nr = 0; data.nr < CALLS; data.nr++)
			if (arches[i] != native_arch())
				assert_int_not_equal(verdict(&data) &
				    SECCOMP_RET_ACTION_FULL,
				    SECCOMP_RET_ALLOW);
	}
	for (int call = 0; call < CALLS; call++) {
		const uint64_t none[6] = { 0 };

		assert_false(lets_pass(call | 0x40000000, none));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_listed),
		cmocka_unit_test(only_one_socket_option),
		cmocka_unit_test(no_other_machine),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}

#else

int
main(void)
{
	puts("1..0 # SKIP no filter in this build, or one for a sanitizer");
	return 0;
}

#endif
