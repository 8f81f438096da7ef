/* SPDX-License-Identifier: ISC */
#include "base/dns.h"

#include "config.h"

#include <sys/types.h>
#include <netinet/in.h>

#include <arpa/nameser.h>
#include <fcntl.h>
#include <netdb.h>
#include <resolv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/dns-validate.h"
#include "base/fd.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "compat/proc.h"

enum {
	MESSAGE_MAX = 65535, /* bytes of an answer, over TCP */
	WAIT_S = 5,	     /* for an answer of one server, the first time */
	TRIES = 2,
	SERVERS = 2,
	SAYS = STDERR_FILENO + 1, /* descriptor that the child writes to */
};

/* What the child writes: all of it in one message, or nothing. */
struct finding {
	int r;
	struct dns_answer answer;
};

/* ---- reading ------------------------------------------------------------ */

/* Copies name without the dot at its end. */
static void
copy_name(char *out, size_t size, const char *name)
{
	size_t len = strlcpy(out, name, size);

	if (len > 0 && len < size && out[len - 1] == '.')
		out[len - 1] = '\0';
}

/* Sets name to the name that an alias (CNAME) leads to. */
static int
read_alias(const ns_msg *m, const ns_rr *rr, char name[NS_MAXDNAME])
{
	char target[NS_MAXDNAME];

	if (dn_expand(ns_msg_base(*m), ns_msg_end(*m), ns_rr_rdata(*rr),
		target, sizeof target) < 0)
		return ERR_FORMAT;
	copy_name(name, NS_MAXDNAME, target);
	return 0;
}

static int
keep_record(const ns_rr *rr, struct dns_answer *out)
{
	struct dns_record *record = &out->v[out->n];

	if (out->n == DNS_RECORDS_MAX || ns_rr_rdlen(*rr) > DNS_DATA_MAX)
		return ERR_LIMIT;
	record->len = ns_rr_rdlen(*rr);
	memcpy(record->data, ns_rr_rdata(*rr), record->len);
	out->n++;
	return 0;
}

/* Reads the records of an answer. An alias comes before the records of the name
 * that it leads to. */
static int
read_records(ns_msg *m, char name[NS_MAXDNAME], uint16_t type,
    struct dns_answer *out)
{
	char owner[NS_MAXDNAME];
	ns_rr rr;
	int r = 0;

	for (int i = 0; r == 0 && i < ns_msg_count(*m, ns_s_an); i++) {
		if (ns_parserr(m, ns_s_an, i, &rr) == -1)
			return ERR_FORMAT;
		copy_name(owner, sizeof owner, ns_rr_name(rr));
		if (ns_rr_class(rr) != ns_c_in ||
		    !str_equal_nocase(owner, name))
			continue;
		if (ns_rr_type(rr) == type)
			r = keep_record(&rr, out);
		else if (ns_rr_type(rr) == ns_t_cname)
			r = read_alias(m, &rr, name);
	}
	return r;
}

int
dns_read(const uint8_t *message, size_t len, const char *name, uint16_t type,
    struct dns_answer *out)
{
	char wanted[NS_MAXDNAME];
	ns_msg m;
	int r;

	out->n = 0;
	out->authentic = false;
	if (len > MESSAGE_MAX || strlen(name) >= sizeof wanted ||
	    ns_initparse(message, (int)len, &m) == -1)
		return ERR_FORMAT;
	if (ns_msg_getflag(m, ns_f_rcode) != ns_r_noerror)
		return ERR_NOT_FOUND;
	copy_name(wanted, sizeof wanted, name);
	r = read_records(&m, wanted, type, out);
	if (r != 0)
		out->n = 0;
	else
		out->authentic = ns_msg_getflag(m, ns_f_ad) != 0;
	return r;
}

/* ---- asking, in a process of its own ------------------------------------ */

#if HAVE_DECL_RES_NQUERY

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* Asks for an answer that the server has validated (RES_USE_DNSSEC). Such an
 * answer has the bit AD. The C library clears the bit unless resolv.conf says
 * trust-ad: otherwise the way to the server is not trusted. */
static int
ask(const char *name, uint16_t type, uint8_t *message, size_t *len)
{
	struct __res_state state;
	int n, why;

	memset(&state, 0, sizeof state);
	if (res_ninit(&state) == -1)
		return ERR_SYSTEM;
	state.options |= RES_USE_EDNS0 | RES_USE_DNSSEC;
	state.retrans = least(state.retrans, WAIT_S);
	state.retry = least(state.retry, TRIES);
	state.nscount = least(state.nscount, SERVERS);
	n = res_nquery(&state, name, ns_c_in, type, message, MESSAGE_MAX);
	why = state.res_h_errno;
	res_nclose(&state);
	if (n == -1)
		return why == HOST_NOT_FOUND || why == NO_DATA ?
		    ERR_NOT_FOUND : ERR_SYSTEM;
	*len = (size_t)n;
	return 0;
}

#else

/* For C libraries that do not know trust-ad: AD is cleared, as nobody says
 * whether the way to the server can be trusted. */
static int
ask(const char *name, uint16_t type, uint8_t *message, size_t *len)
{
	int n = res_query(name, ns_c_in, type, message, MESSAGE_MAX);

	if (n == -1)
		return h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ?
		    ERR_NOT_FOUND : ERR_SYSTEM;
	if (n > 3)
		message[3] &= (uint8_t)~0x20; /* AD */
	*len = (size_t)n;
	return 0;
}

#endif

static int
ask_system(const char *name, uint16_t type, struct dns_answer *out)
{
	uint8_t *message = malloc(MESSAGE_MAX);
	size_t len = 0;
	int r;

	if (message == NULL)
		return ERR_NOMEM;
	r = ask(name, type, message, &len);
	if (r == 0 && len > MESSAGE_MAX)
		r = ERR_LIMIT;
	if (r == 0)
		r = dns_read(message, len, name, type, out);
	free(message);
	return r;
}

/* The system's answer has no proof (AD): validates here instead. Only a proven
 * answer replaces it. An error: the system's answer is proven to be wrong. */
static int
seek_proof(const char *name, uint16_t type, struct dns_answer *out)
{
	struct buf message = { 0 };
	bool secure;
	int r = dns_validate(name, type, &message, &secure);

	if (r == 0 && secure) {
		r = dns_read(buf_data(&message), buf_len(&message), name, type,
		    out);
		out->authentic = r == 0;
	} else if (r == ERR_UNSUPPORTED) {
		r = 0;
	}
	buf_clear(&message);
	return r;
}

/* Asks the system's resolver first: one that is trusted may know keys of zones
 * to which no chain leads from the root. */
static int
find_records(const char *name, uint16_t type, struct dns_answer *out)
{
	int r = ask_system(name, type, out);

	if (r == 0 && out->n > 0 && !out->authentic)
		r = seek_proof(name, type, out);
	if (r != 0)
		memset(out, 0, sizeof *out);
	return r == ERR_NOT_FOUND ? 0 : r;
}

/* Sees to it that the child ends after its parent: if the parent is killed
 * nobody else ends the child. */
static void
live_no_longer_than(pid_t parent)
{
	(void)alarm(DNS_WAIT_S + 1);
	(void)proc_end_with_parent();
	if (getppid() != parent)
		_exit(1);
}

/* The child's part: asks, and writes the finding. The child has none of the
 * connection's descriptors, and cannot ask the user. */
static _Noreturn void
find_in_child(const char *name, uint16_t type, int fd, pid_t parent)
{
	static struct finding found;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	for (int to = 0; null != -1 && to <= STDERR_FILENO; to++)
		(void)dup2(null, to);
	if (fd != SAYS && dup2(fd, SAYS) == -1)
		_exit(1);
	proc_close_from(SAYS + 1);
	live_no_longer_than(parent);
	confine_process();
	found.r = find_records(name, type, &found.answer);
	_exit(fd_write_all(SAYS, &found, sizeof found) == 0 ? 0 : 1);
}

/* ---- what others call --------------------------------------------------- */

static bool
is_sound(const struct dns_answer *a)
{
	for (size_t i = 0; i < a->n && a->n <= DNS_RECORDS_MAX; i++)
		if (a->v[i].len > DNS_DATA_MAX)
			return false;
	return a->n <= DNS_RECORDS_MAX;
}

static int
take_finding(const struct buf *said, struct dns_answer *out)
{
	struct finding found;

	if (buf_len(said) != sizeof found)
		return ERR_SYSTEM;
	memcpy(&found, buf_data(said), sizeof found);
	if (found.r > 0 || !is_sound(&found.answer))
		return ERR_FORMAT;
	if (found.r == 0)
		*out = found.answer;
	return found.r;
}

/* Asks in a child, for two reasons. Neither the C library nor libunbound limits
 * the time with a server that accepts a connection and says nothing. And
 * answers come from strangers, so a process that has little to lose parses
 * them. */
int
dns_look_up(const char *name, uint16_t type, struct dns_answer *out)
{
	uint64_t end_ms = clock_ms() + DNS_WAIT_S * 1000;
	struct buf said = { 0 };
	int ends[2], status, r;
	pid_t self = getpid(), pid;

	memset(out, 0, sizeof *out);
	if ((r = child_pipe(ends)) != 0)
		return r;
	if ((pid = fork()) == 0)
		find_in_child(name, type, ends[1], self);
	close(ends[1]);
	r = ERR_SYSTEM;
	if (pid > 0) {
		r = child_read_all(ends[0], end_ms, sizeof(struct finding),
		    &said);
		(void)kill(pid, SIGKILL);
		if (child_reap(pid, &status) != 0)
			r = ERR_SYSTEM;
	}
	close(ends[0]);
	if (r == 0)
		r = take_finding(&said, out);
	buf_clear(&said);
	return r;
}
