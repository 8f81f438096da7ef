/* SPDX-License-Identifier: ISC */
#include "conf/defaults.h"
#include "sshconnect.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/called.h"
#include "base/dial.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "client/connect/jump.h"
#include "compat/bsd.h"
#include "compat/sock.h"

enum {
	ADDRESSES_MAX = 64, /* addresses of the resolver that are tried */
	/* The second port is tried when the first has been silent for so long,
	 * or at once when the first was refused. */
	NEXT_PORT_MS = 400,
	RETRY_MS = 1000, /* wait between two of ConnectionAttempts */
};

_Static_assert(2 * ADDRESSES_MAX <= (int)DIAL_ADDRESSES_MAX,
    "every address can be tried with both ports");

/* Addresses of the host, each with the ports that are tried. */
struct candidates {
	const struct client_conf *conf;
	struct dial_address v[2 * ADDRESSES_MAX];
	size_t n;
	bool no_congestion; /* the kernel refused CongestionControl: it is not
			     * tried again, so that this is reported once */
};

/* ---- addresses ---------------------------------------------------------- */

static int
resolve(const char *name, int port, int family, bool passive,
    struct addrinfo **out)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0),
	};
	char service[8];
	int r;

	snprintf(service, sizeof service, "%d", port);
	r = getaddrinfo(name, service, &hints, out);
	if (r == 0)
		return 0;
	log_error("%s: Could not resolve hostname %.100s: %s",
	    called_ssh(), name,
	    r == EAI_SYSTEM ? err_text(ERR_SYSTEM) : gai_strerror(r));
	return ERR_NOT_FOUND;
}

static void
set_port(struct sockaddr_storage *sa, uint16_t port)
{
	if (sa->ss_family == AF_INET)
		((struct sockaddr_in *)sa)->sin_port = htons(port);
	else if (sa->ss_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
}

static void
numeric(const struct sockaddr *sa, socklen_t len, char *out, size_t size)
{
	if (getnameinfo(sa, len, out, (socklen_t)size, NULL, 0,
		NI_NUMERICHOST) != 0)
		strlcpy(out, "unknown", size);
}

/* Adds the addresses in the resolver's order, but with the address families
 * (IPv4, IPv6) in turns. */
static void
add_addresses(struct candidates *c, const struct addrinfo *list,
    uint16_t port, unsigned round)
{
	struct dial_address *first = &c->v[c->n];
	size_t n = 0;

	for (const struct addrinfo *ai = list; ai != NULL && n < ADDRESSES_MAX;
	     ai = ai->ai_next) {
		if ((ai->ai_family != AF_INET && ai->ai_family != AF_INET6) ||
		    ai->ai_addrlen > sizeof first->sa)
			continue;
		first[n].len = ai->ai_addrlen;
		first[n].round = round;
		memcpy(&first[n].sa, ai->ai_addr, ai->ai_addrlen);
		set_port(&first[n++].sa, port);
	}
	dial_interleave(first, n);
	c->n += n;
}

static uint16_t
port_of(const struct dial_address *a)
{
	const struct sockaddr_in *four = (const void *)&a->sa;
	const struct sockaddr_in6 *six = (const void *)&a->sa;

	return ntohs(a->sa.ss_family == AF_INET ? four->sin_port :
						  six->sin6_port);
}

/* ---- one attempt -------------------------------------------------------- */

static int
bind_source(int fd, const struct client_conf *conf, int family)
{
	struct addrinfo *ai = NULL;
	int r = 0;

#ifdef SO_BINDTODEVICE
	if (conf->tcp.bind_interface != NULL &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE,
		conf->tcp.bind_interface,
		(socklen_t)strlen(conf->tcp.bind_interface) + 1) == -1) {
		log_error("bind to interface %s: %s", conf->tcp.bind_interface,
		    err_text(ERR_SYSTEM));
		return ERR_SYSTEM;
	}
#endif
	if (conf->tcp.bind_address == NULL)
		return 0;
	if ((r = resolve(conf->tcp.bind_address, 0, family, true, &ai)) != 0)
		return r;
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == -1) {
		r = ERR_SYSTEM;
		log_error(
		    "bind to %s: %s", conf->tcp.bind_address, err_text(r));
	}
	freeaddrinfo(ai);
	return r;
}

static void
on_starting(void *arg, size_t which)
{
	const struct candidates *c = arg;
	const struct dial_address *a = &c->v[which];
	char text[NI_MAXHOST];

	numeric((const struct sockaddr *)&a->sa, a->len, text, sizeof text);
	log_debug("Connecting to %s [%s] port %u.", c->conf->host.hostname,
	    text, port_of(a));
}

static int
on_prepare(void *arg, size_t which, int fd)
{
	struct candidates *c = arg;

	if (!c->no_congestion)
		c->no_congestion = !tcp_set_congestion(fd,
		    c->conf->tcp.congestion_control);
	if (bind_source(fd, c->conf, c->v[which].sa.ss_family) != 0)
		return errno != 0 ? errno : EADDRNOTAVAIL;
	return 0;
}

/* ---- all attempts ------------------------------------------------------- */

static void
report_failure(const struct candidates *c, const struct dial *d)
{
	uint16_t reported = 0;

	/* Logs one line for each port, with the error of its last address. */
	for (size_t i = c->n; i-- > 0;) {
		uint16_t port = port_of(&c->v[i]);

		if (port == reported)
			continue;
		reported = port;
		log_error("%s: connect to host %s port %u: %s", called_ssh(),
		    c->conf->host.hostname, port, strerror(dial_error(d, i)));
	}
}

static void
set_socket_options(int fd, const struct client_conf *conf)
{
	int on = 1;

	fd_set_nodelay(fd);
	if (conf->tcp.tcp_keep_alive &&
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == -1)
		log_debug("SO_KEEPALIVE: %s", err_text(ERR_SYSTEM));
}

static bool
may_fall_back(const struct client_conf *conf)
{
	return conf->host.fallback && !conf->load.port_given &&
	    conf->host.fallback_port != conf->host.port;
}

static void
find_candidates(struct candidates *c, const struct client_conf *conf,
    const struct addrinfo *list)
{
	c->conf = conf;
	add_addresses(c, list, (uint16_t)conf->host.port, 0);
	if (may_fall_back(conf))
		add_addresses(c, list, (uint16_t)conf->host.fallback_port, 1);
}

/* Finds the addresses of the host. They are known already if the search for the
 * canonical name has looked them up. */
static int
find_addresses(struct candidates *c, const struct client_conf *conf)
{
	struct addrinfo *list = NULL;
	int r;

	if (conf->load.addresses != NULL &&
	    conf->load.addresses_family == conf->tcp.address_family) {
		find_candidates(c, conf, conf->load.addresses);
		return 0;
	}
	r = resolve(conf->host.hostname, conf->host.port,
	    conf->tcp.address_family, false, &list);
	if (r != 0)
		return r;
	find_candidates(c, conf, list);
	freeaddrinfo(list);
	return 0;
}

static void
take_winner(struct sshlink *link, struct client_conf *conf, int fd,
    const struct dial_address *a)
{
	char text[NI_MAXHOST];

	numeric((const struct sockaddr *)&a->sa, a->len, text, sizeof text);
	sshlink_adopt(link, fd);
	link->port = port_of(a);
	link->peer = a->sa;
	link->peer_len = a->len;
	link->address = xstrdup(text);
	log_debug("%s port %u answered first", text, link->port);
	log_debug("Connection established.");
	if (link->port != conf->host.port) {
		link->fell_from = (uint16_t)conf->host.port;
		conf->host.port = link->port;
	}
	set_socket_options(fd, conf);
}

/* How long one address is tried alone before the next one is tried as well. All
 * addresses are raced in any case; HappyEyes only lets HappyDelay set this
 * time. */
static uint32_t
head_start_ms(const struct client_conf *conf)
{
	return conf->tcp.happy_eyes && conf->tcp.happy_delay > 0 ?
	    (uint32_t)conf->tcp.happy_delay : DIAL_NEXT_MS;
}

/* The ERR_* for the errno of a connect. ECONNRESET is ERR_CLOSED: the host had
 * accepted the connection, perhaps as one too many. */
static int
why_failed(int error)
{
	return error == ETIMEDOUT ? ERR_TIMEOUT :
	    error == ECONNRESET ? ERR_CLOSED : ERR_SYSTEM;
}

/* Tries all candidates once. ERR_TIMEOUT, ERR_CLOSED, ERR_SYSTEM: no candidate
 * answered; this is logged only in the last attempt (is_last). */
static int
dial_once(struct sshlink *link, struct client_conf *conf,
    struct candidates *c, bool is_last)
{
	int timeout_s = conf->tcp.connect_timeout;
	struct dial_params params = {
		.addresses = c->v,
		.n = c->n,
		.times = {
			.next_ms = head_start_ms(conf),
			.round_ms = NEXT_PORT_MS,
			.timeout_ms = timeout_s > 0 ?
			    (uint64_t)timeout_s * 1000 : 0,
		},
		.arg = c,
		.mptcp = conf->tcp.use_mptcp,
		.starting = on_starting,
		.prepare = on_prepare,
	};
	struct dial *d;
	size_t which;
	int fd, r = dial_and_wait(&d, &params);

	if (r != 0)
		return r;
	if ((fd = dial_take_winner(d, &which)) != -1)
		take_winner(link, conf, fd, &c->v[which]);
	else if (is_last)
		report_failure(c, d);
	if (fd == -1)
		r = c->n > 0 ? why_failed(dial_error(d, c->n - 1)) :
			       ERR_SYSTEM;
	dial_free(d);
	return r;
}

static int
connect_tcp(struct sshlink *link, struct client_conf *conf)
{
	struct candidates *c = xcalloc(1, sizeof *c);
	int attempts = conf->tcp.connection_attempts, r;

	if ((r = find_addresses(c, conf)) != 0)
		goto out;
	r = ERR_SYSTEM;
	for (int i = 0; r != 0 && i < attempts; i++) {
		if (i > 0) {
			log_debug("trying again");
			(void)poll(NULL, 0, RETRY_MS);
		}
		r = dial_once(link, conf, c, i + 1 == attempts);
	}
out:
	free(c);
	return r;
}

/* ---- proxy command ------------------------------------------------------ */

static _Noreturn void
run_proxy(const struct strlist *argv, bool is_jump, int in, int out)
{
	if (dup2(in, STDIN_FILENO) == -1 || dup2(out, STDOUT_FILENO) == -1)
		_exit(255);
	if (is_jump)
		jump_count();
	signal(SIGPIPE, SIG_DFL);
	fd_restore_limit();
	execvp(argv->v[0], argv->v);
	_exit(255);
}

/* Appends the words that run ProxyCommand by the user's shell. */
static int
shell_command(struct strlist *argv, const struct client_conf *conf)
{
	const char *shell = getenv("SHELL");
	char *command, *line;
	int r = client_conf_expand(conf, CLIENT_TOKENS_PROXY, "ProxyCommand",
	    conf->tcp.proxy_command, &command);

	if (r != 0)
		return r;
	log_debug("Executing proxy command: exec %s", command);
	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	xasprintf(&line, "exec %s", command);
	if ((r = strlist_add(argv, shell)) == 0 &&
	    (r = strlist_add(argv, "-c")) == 0)
		r = strlist_add(argv, line);
	free(line);
	free(command);
	return r;
}

/* The descriptors between us and a proxy command: in and out are ours, its_in
 * and its_out become its standard input and output. */
struct proxy_ends {
	int in, out;
	int its_in, its_out;
};

/* One socket pair for both directions. Used for an hpnssh that goes through
 * jump hosts, and for a program that passes a descriptor. */
static int
make_socket(struct proxy_ends *e)
{
	int pair[2];

	if (sock_pair(SOCK_STREAM, pair) == -1)
		return ERR_SYSTEM;
	e->in = e->out = pair[0];
	e->its_in = e->its_out = pair[1];
	return 0;
}

/* Two pipes, for a command that a shell runs. If standard input were a socket,
 * some shells would read the user's startup files, as if a server had started
 * them, and what these files print would be taken for the host's answer. */
static int
make_pipes(struct proxy_ends *e)
{
	int to[2], from[2];

	if (sock_pipe(to, SOCK_WAITS) == -1)
		return ERR_SYSTEM;
	if (sock_pipe(from, SOCK_WAITS) == -1) {
		fd_close(&to[0]);
		fd_close(&to[1]);
		return ERR_SYSTEM;
	}
	*e = (struct proxy_ends){ .in = from[0], .out = to[1],
		.its_in = to[0], .its_out = from[1] };
	return 0;
}

static void
close_two(int one, int other)
{
	if (other != one)
		fd_close(&other);
	fd_close(&one);
}

static int
start_proxy(struct sshlink *link, const struct client_conf *conf,
    const struct strlist *argv)
{
	bool is_jump = conf->tcp.proxy_jump != NULL;
	struct proxy_ends e;
	int r = is_jump || conf->mux.proxy_use_fdpass ? make_socket(&e) :
							make_pipes(&e);

	if (r != 0) {
		log_error("proxy command: %s", err_text(r));
		return r;
	}
	link->proxy = fork();
	if (link->proxy == 0)
		run_proxy(argv, is_jump, e.its_in, e.its_out);
	close_two(e.its_in, e.its_out);
	if (link->proxy == -1) {
		log_error("fork: %s", err_text(ERR_SYSTEM));
		link->proxy = 0;
		close_two(e.in, e.out);
		return ERR_SYSTEM;
	}
	link->fd = e.in;
	link->fd_out = e.out;
	link->port = (uint16_t)conf->host.port;
	return 0;
}

/* ProxyUseFdpass: the proxy command has connected, passes us the connection's
 * descriptor, and ends. */
static int
take_descriptor(struct sshlink *link)
{
	int fd = -1, r = fd_receive_fds(link->fd, &fd, 1);

	(void)!child_wait(link->proxy);
	link->proxy = 0;
	sshlink_close_fds(link);
	sshlink_adopt(link, fd);
	if (r != 0) {
		log_error("proxy dialer did not pass back a connection");
		return r;
	}
	return fd_set_nonblock(fd, true);
}

static bool
has_proxy(const struct client_conf *conf)
{
	return conf->tcp.proxy_command != NULL || conf->tcp.proxy_jump != NULL;
}

static int
connect_proxy(struct sshlink *link, const struct client_conf *conf)
{
	struct strlist argv = { 0 };
	int r = conf->tcp.proxy_jump != NULL ? jump_command(&argv, conf) :
					   shell_command(&argv, conf);

	if (r == 0)
		r = start_proxy(link, conf, &argv);
	strlist_clear(&argv);
	return r;
}

bool
sshlink_is_single(const struct client_conf *conf)
{
	return conf->mux.proxy_use_fdpass && conf->tcp.proxy_command != NULL;
}

/* ---- life --------------------------------------------------------------- */

int
sshlink_open(struct sshlink *link, struct client_conf *conf)
{
	int r;

	*link = (struct sshlink){ .fd = -1, .fd_out = -1 };
	if (!has_proxy(conf))
		return connect_tcp(link, conf);
	r = connect_proxy(link, conf);
	return r == 0 && sshlink_is_single(conf) ? take_descriptor(link) : r;
}

int
sshlink_set_address(struct sshlink *link, const char *address, uint16_t port)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *ai;

	*link = (struct sshlink){ .fd = -1, .fd_out = -1, .port = port };
	if (getaddrinfo(address, NULL, &hints, &ai) != 0)
		return ERR_FORMAT;
	memcpy(&link->peer, ai->ai_addr, ai->ai_addrlen);
	link->peer_len = ai->ai_addrlen;
	freeaddrinfo(ai);
	set_port(&link->peer, port);
	link->address = xstrdup(address);
	return 0;
}

int
sshlink_open_further(struct sshlink *link, const struct sshlink *first,
    const struct client_conf *conf)
{
	const struct sockaddr *peer = (const struct sockaddr *)&first->peer;

	*link = (struct sshlink){ .fd = -1, .fd_out = -1 };
	if (sshlink_is_single(conf))
		return ERR_UNSUPPORTED;
	if (has_proxy(conf))
		return connect_proxy(link, conf);
	sshlink_adopt(link, sock_open(peer->sa_family, SOCK_STREAM, 0,
				SOCK_AT_ONCE));
	if (link->fd == -1)
		return ERR_SYSTEM;
	link->port = first->port;
	link->address = xstrdup(first->address);
	link->peer = first->peer;
	link->peer_len = first->peer_len;
	(void)tcp_set_congestion(link->fd, conf->tcp.congestion_control);
	set_socket_options(link->fd, conf);
	if (bind_source(link->fd, conf, peer->sa_family) != 0 ||
	    (connect(link->fd, peer, first->peer_len) == -1 &&
		errno != EINPROGRESS))
		return ERR_SYSTEM;
	return 0;
}

struct sshlink_watch {
	struct loop *loop;
	struct loop_fd *in, *out; /* in and out are equal if the link is one
				   * socket */
};

struct sshlink_watch *
sshlink_watch(const struct sshlink *link, struct loop *l, loop_fd_fn fn,
    void *arg)
{
	struct sshlink_watch *w = xcalloc(1, sizeof *w);

	w->loop = l;
	w->in = w->out = loop_watch(l, link->fd, LOOP_READ, fn, arg);
	if (link->fd_out != link->fd)
		w->out = loop_watch(l, link->fd_out, 0, fn, arg);
	if (w->in != NULL && w->out != NULL)
		return w;
	sshlink_unwatch(w);
	return NULL;
}

void
sshlink_want_write(const struct sshlink_watch *w, bool wants)
{
	loop_fd_want(w->out, (w->out == w->in ? LOOP_READ : 0) |
	    (wants ? LOOP_WRITE : 0));
}

void
sshlink_unwatch(struct sshlink_watch *w)
{
	if (w == NULL)
		return;
	if (w->out != w->in)
		loop_unwatch(w->loop, w->out);
	loop_unwatch(w->loop, w->in);
	free(w);
}

void
sshlink_adopt(struct sshlink *link, int fd)
{
	link->fd = link->fd_out = fd;
}

void
sshlink_close_fds(struct sshlink *link)
{
	close_two(link->fd, link->fd_out);
	link->fd = link->fd_out = -1;
}

void
sshlink_drop(const struct sshlink *link)
{
	if (sock_drop(link->fd) == -1 ||
	    (link->fd_out != link->fd && sock_drop(link->fd_out) == -1))
		fatal("the lost connection cannot be closed: %s",
		    err_text(ERR_SYSTEM));
}

void
sshlink_close(struct sshlink *link)
{
	sshlink_close_fds(link);
	if (link->proxy > 0) {
		(void)kill(link->proxy, SIGHUP);
		(void)waitpid(link->proxy, NULL, WNOHANG);
		link->proxy = 0;
	}
	free(link->address);
	link->address = NULL;
}

void
sshlink_set_qos(const struct sshlink *link, const struct client_conf *conf,
    bool interactive)
{
	if (link->proxy == 0 && link->fd != -1)
		tcp_set_tos(link->fd, interactive ? conf->tcp.ipqos.interactive
						  : conf->tcp.ipqos.bulk);
}
