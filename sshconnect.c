/* SPDX-License-Identifier: ISC */
#include "sshconnect.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/tcp.h"
#include "client/jump.h"

enum {
	ADDRESSES_MAX = 64, /* tried of what the resolver gives */
	/* The next address is tried beside one that is silent for so long
	 * (RFC 8305 section 5 recommends 250 ms). */
	NEXT_ADDRESS_MS = 250,
	/* The second port gets its chance when the first is silent for so
	 * long; refused at once, it comes at once. */
	NEXT_PORT_MS = 400,
	RETRY_MS = 1000, /* between ConnectionAttempts */
};

/* One address and port to try. */
struct try {
	const struct addrinfo *ai;
	struct sockaddr_storage sa;
	uint16_t port;
	int fd; /* -1: not started, or over */
	int error;
	bool started;
	uint64_t not_before_ms;
};

struct race {
	const struct client_conf *conf;
	struct try tries[2 * ADDRESSES_MAX];
	size_t n;
	int winner; /* index, or -1 */
	bool no_congestion; /* CongestionControl was refused: told once */
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
	log_error("hpnssh: Could not resolve hostname %.100s: %s", name,
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

static void
add_try(struct race *race, const struct addrinfo *ai, uint16_t port,
    uint64_t delay_ms)
{
	struct try *t = &race->tries[race->n++];

	*t = (struct try){ .ai = ai, .port = port, .fd = -1 };
	memcpy(&t->sa, ai->ai_addr, ai->ai_addrlen);
	set_port(&t->sa, port);
	t->not_before_ms = delay_ms;
}

/* The resolver's order, but families take turns: a broken one costs one
 * step only (RFC 8305 section 4). */
static void
add_addresses(struct race *race, const struct addrinfo *list, uint16_t port,
    uint64_t delay_ms)
{
	const struct addrinfo *all[ADDRESSES_MAX];
	size_t n = 0;
	int family = 0;

	for (const struct addrinfo *ai = list; ai != NULL && n < ADDRESSES_MAX;
	     ai = ai->ai_next)
		if ((ai->ai_family == AF_INET || ai->ai_family == AF_INET6) &&
		    ai->ai_addrlen <= sizeof(struct sockaddr_storage))
			all[n++] = ai;
	for (size_t done = 0; done < n; done++) {
		size_t pick = n;

		for (size_t i = 0; i < n; i++) {
			if (all[i] == NULL)
				continue;
			if (pick == n)
				pick = i;
			if (all[i]->ai_family != family) {
				pick = i;
				break;
			}
		}
		family = all[pick]->ai_family;
		add_try(race, all[pick], port,
		    delay_ms + done * NEXT_ADDRESS_MS);
		all[pick] = NULL;
	}
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
end_try(struct try *t, int error)
{
	t->error = error;
	fd_close(&t->fd);
}

/* True if it is connected already. */
static bool
start_try(struct race *race, struct try *t)
{
	char text[NI_MAXHOST];

	t->started = true;
	numeric((struct sockaddr *)&t->sa, t->ai->ai_addrlen, text,
	    sizeof text);
	log_debug("Connecting to %s [%s] port %u.", race->conf->host.hostname,
	    text, t->port);
	t->fd = socket(t->sa.ss_family,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd == -1) {
		t->error = errno;
		return false;
	}
	if (!race->no_congestion)
		race->no_congestion = !tcp_set_congestion(t->fd,
		    race->conf->tcp.congestion_control);
	if (bind_source(t->fd, race->conf, t->sa.ss_family) != 0) {
		end_try(t, errno != 0 ? errno : EADDRNOTAVAIL);
		return false;
	}
	if (connect(t->fd, (struct sockaddr *)&t->sa, t->ai->ai_addrlen) == 0)
		return true;
	if (errno != EINPROGRESS)
		end_try(t, errno);
	return false;
}

static bool
check_try(struct try *t)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0)
		return true;
	end_try(t, error);
	return false;
}

/* ---- the race ----------------------------------------------------------- */

/* When all that run are over, the next does not wait for its time. */
static struct try *
next_due(struct race *race, uint64_t elapsed_ms, uint64_t *wait_ms)
{
	bool running = false;

	for (size_t i = 0; i < race->n; i++)
		running = running || race->tries[i].fd != -1;
	for (size_t i = 0; i < race->n; i++) {
		struct try *t = &race->tries[i];

		if (t->started)
			continue;
		if (!running || t->not_before_ms <= elapsed_ms)
			return t;
		*wait_ms = MIN(*wait_ms, t->not_before_ms - elapsed_ms);
	}
	return NULL;
}

static int
wait_for_any(struct race *race, uint64_t wait_ms)
{
	struct pollfd polls[2 * ADDRESSES_MAX];
	size_t who[2 * ADDRESSES_MAX], n = 0;

	for (size_t i = 0; i < race->n; i++) {
		if (race->tries[i].fd == -1)
			continue;
		polls[n] = (struct pollfd){ .fd = race->tries[i].fd,
			.events = POLLOUT };
		who[n++] = i;
	}
	if (poll(polls, n, (int)MIN(wait_ms, (uint64_t)60000)) <= 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (polls[i].revents != 0 && check_try(&race->tries[who[i]]))
			return (int)who[i];
	return -1;
}

static bool
any_left(const struct race *race)
{
	for (size_t i = 0; i < race->n; i++)
		if (!race->tries[i].started || race->tries[i].fd != -1)
			return true;
	return false;
}

/* The first that connects wins; the others are closed. -1: none. */
static int
run_race(struct race *race)
{
	uint64_t start = loop_now_ms(), elapsed;
	uint64_t limit = (uint64_t)race->conf->tcp.connect_timeout * 1000;

	race->winner = -1;
	while (race->winner == -1 && any_left(race)) {
		uint64_t wait_ms = UINT64_MAX;
		struct try *t;

		elapsed = loop_now_ms() - start;
		if (limit != 0 && elapsed >= limit)
			break;
		if (limit != 0)
			wait_ms = limit - elapsed;
		if ((t = next_due(race, elapsed, &wait_ms)) != NULL) {
			if (start_try(race, t))
				race->winner = (int)(t - race->tries);
			continue;
		}
		race->winner = wait_for_any(race, wait_ms);
	}
	for (size_t i = 0; i < race->n; i++)
		if ((int)i != race->winner && race->tries[i].fd != -1)
			end_try(&race->tries[i], ETIMEDOUT);
	return race->winner;
}

static void
tell_failure(const struct race *race)
{
	uint16_t told = 0;

	/* One line a port; what its last address said. */
	for (size_t i = race->n; i-- > 0;) {
		const struct try *t = &race->tries[i];

		if (t->port == told)
			continue;
		told = t->port;
		log_error("hpnssh: connect to host %s port %u: %s",
		    race->conf->host.hostname, t->port,
		    strerror(t->error != 0 ? t->error : ETIMEDOUT));
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
set_up_race(struct race *race, const struct client_conf *conf,
    const struct addrinfo *list)
{
	race->conf = conf;
	race->n = 0;
	add_addresses(race, list, (uint16_t)conf->host.port, 0);
	if (may_fall_back(conf))
		add_addresses(race, list, (uint16_t)conf->host.fallback_port,
		    NEXT_PORT_MS);
}

static void
take_winner(struct sshlink *link, struct client_conf *conf,
    const struct try *t)
{
	char text[NI_MAXHOST];

	numeric((const struct sockaddr *)&t->sa, t->ai->ai_addrlen, text,
	    sizeof text);
	link->fd = t->fd;
	link->port = t->port;
	link->peer = t->sa;
	link->peer_len = t->ai->ai_addrlen;
	link->address = xstrdup(text);
	log_debug("Connection established to %s port %u.", text, t->port);
	if (t->port != conf->host.port) {
		log_info("hpnssh: no answer on port %d of %s, using port %u",
		    conf->host.port, conf->host.hostname, t->port);
		conf->host.port = t->port;
	}
	set_socket_options(t->fd, conf);
}

static int
connect_tcp(struct sshlink *link, struct client_conf *conf)
{
	struct race *race = xcalloc(1, sizeof *race);
	struct addrinfo *list = NULL;
	int r;

	r = resolve(conf->host.hostname, conf->host.port,
	    conf->tcp.address_family, false, &list);
	for (int i = 0; r == 0 && i < conf->tcp.connection_attempts; i++) {
		if (i > 0) {
			log_debug("trying again");
			(void)poll(NULL, 0, RETRY_MS);
		}
		set_up_race(race, conf, list);
		if (run_race(race) != -1)
			break;
	}
	if (r == 0 && race->winner == -1) {
		tell_failure(race);
		r = ERR_SYSTEM;
	}
	if (r == 0)
		take_winner(link, conf, &race->tries[race->winner]);
	if (list != NULL)
		freeaddrinfo(list);
	free(race);
	return r;
}

/* ---- proxy command ------------------------------------------------------ */

static _Noreturn void
run_proxy(const struct strlist *argv, bool is_jump, int sock)
{
	if (dup2(sock, STDIN_FILENO) == -1 || dup2(sock, STDOUT_FILENO) == -1)
		_exit(255);
	if (is_jump)
		jump_count();
	signal(SIGPIPE, SIG_DFL);
	execvp(argv->v[0], argv->v);
	_exit(255);
}

/* The user's command, by the user's shell. */
static int
shell_command(struct strlist *argv, const struct client_conf *conf)
{
	const char *shell = getenv("SHELL");
	char *command, *line;
	int r = client_conf_expand(conf, CLIENT_TOKENS_PROXY, "ProxyCommand",
	    conf->tcp.proxy_command, &command);

	if (r != 0)
		return r;
	log_debug("running the proxy command: %s", command);
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

static int
start_proxy(struct sshlink *link, const struct client_conf *conf,
    const struct strlist *argv)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
		log_error("socketpair: %s", err_text(ERR_SYSTEM));
		return ERR_SYSTEM;
	}
	link->proxy = fork();
	if (link->proxy == 0)
		run_proxy(argv, conf->tcp.proxy_jump != NULL, pair[1]);
	fd_close(&pair[1]);
	if (link->proxy == -1) {
		log_error("fork: %s", err_text(ERR_SYSTEM));
		link->proxy = 0;
		fd_close(&pair[0]);
		return ERR_SYSTEM;
	}
	link->fd = pair[0];
	link->port = (uint16_t)conf->host.port;
	return 0;
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

/* ---- life --------------------------------------------------------------- */

int
sshlink_open(struct sshlink *link, struct client_conf *conf)
{
	*link = (struct sshlink){ .fd = -1 };
	if (has_proxy(conf))
		return connect_proxy(link, conf);
	return connect_tcp(link, conf);
}

int
sshlink_open_beside(struct sshlink *link, const struct sshlink *first,
    const struct client_conf *conf)
{
	const struct sockaddr *peer = (const struct sockaddr *)&first->peer;

	*link = (struct sshlink){ .fd = -1 };
	if (has_proxy(conf))
		return connect_proxy(link, conf);
	link->fd = socket(peer->sa_family,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

void
sshlink_close(struct sshlink *link)
{
	fd_close(&link->fd);
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
