/* SPDX-License-Identifier: ISC */
#include "client/forwards/agent-forward.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/dial.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/wire.h"
#include "compat/bsd.h"
#include "compat/queue.h"
#include "compat/sock.h"
#include "keys/agent-client.h"

enum {
	/* Bytes that the server may send before we grant more. */
	WINDOW = 64 * 1024,
	PACKET = 32 * 1024, /* bytes of data in a message */
	ANSWER_MAX = 1024,  /* bytes of the agent's answer to session-bind */
	ANSWER_MS = 10 * 1000, /* time that the agent has for that answer */
	/* Between attempts to connect while the agent's queue is full. */
	BUSY_MS = 20,
};

/* Agent channels end with the peer's EOF: a program on the server that has
 * ended reads no answer. */
static const struct forwarded_kind kind = { .type = "auth-agent@openssh.com",
	.window = WINDOW,
	.max_packet = PACKET,
	.eof_ends = true };

/* A channel of the server whose socket to the agent is not ready: the agent has
 * not been connected to, or has not answered session-bind. */
struct greeting {
	TAILQ_ENTRY(greeting) entry;
	struct agent_forward *all;
	struct channel *channel;
	struct dial *dial;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *timer, *retry;
	struct buf request, answer;
};

struct agent_forward {
	struct agent_forward_params p;
	char *path;
	bool requested;
	TAILQ_HEAD(greetings, greeting) greetings;
};

/* ---- which agent -------------------------------------------------------- */

bool
agent_forward_is_wanted(const struct client_conf *conf)
{
	return conf->forward.forward_agent != NULL;
}

/* The path of the agent's socket by ForwardAgent; NULL: none. Caller frees. */
static char *
agent_path(const struct client_conf *conf)
{
	const char *text = conf->forward.forward_agent, *value;
	char *path;

	if (text == NULL)
		return NULL;
	if (strcmp(text, "yes") == 0)
		return client_conf_agent(conf);
	if (text[0] == '$' && text[1] != '{') {
		value = getenv(text + 1);
		return value != NULL && *value != '\0' ? xstrdup(value) :
							 NULL;
	}
	if (client_conf_expand(conf, CLIENT_TOKENS_PATH, "ForwardAgent", text,
		&path) != 0)
		return NULL;
	return path;
}

static bool
fill_address(struct dial_address *a, const char *path)
{
	struct sockaddr_un *sun = (struct sockaddr_un *)&a->sa;

	*a = (struct dial_address){ .len = sizeof *sun };
	sun->sun_family = AF_UNIX;
	return strlcpy(sun->sun_path, path, sizeof sun->sun_path) <
	    sizeof sun->sun_path;
}

/* The agent can be connected to. EAGAIN, a busy agent, counts as well. */
static bool
is_reachable(const char *path)
{
	struct dial_address a;
	bool there = false;
	int fd;

	if (!fill_address(&a, path))
		return false;
	fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE);
	if (fd != -1)
		there = connect(fd, (const struct sockaddr *)&a.sa, a.len) ==
			0 || errno == EAGAIN;
	fd_close(&fd);
	return there;
}

/* True if ForwardAgent has the path of the agent's socket: then the socket must
 * exist. An agent from the environment need not exist. */
static bool
is_named(const struct client_conf *conf)
{
	const char *text = conf->forward.forward_agent;

	return strcmp(text, "yes") != 0 && text[0] != '$';
}

int
agent_forward_new(struct agent_forward **out,
    const struct agent_forward_params *params)
{
	const struct client_conf *conf = params->conf;
	char *path = agent_path(conf);
	struct agent_forward *a;

	*out = NULL;
	if (path != NULL && is_named(conf) && access(path, F_OK) == -1) {
		log_error("Cannot forward agent socket path \"%s\": %s", path,
		    strerror(errno));
		free(path);
		return ERR_NOT_FOUND;
	}
	if (path == NULL || !is_reachable(path)) {
		log_debug("there is no agent to forward");
		free(path);
		return 0;
	}
	a = xcalloc(1, sizeof *a);
	a->p = *params;
	a->path = path;
	*out = a;
	return 0;
}

int
agent_forward_request(struct agent_forward *a, struct channel *session)
{
	if (a == NULL)
		return 0;
	a->requested = true;
	log_debug("asking for agent forwarding");
	return channel_request(session, kex_peer_agent_forward(a->p.kex) ?
		"agent-req" : "auth-agent-req@openssh.com", NULL, NULL, NULL);
}

/* ---- a channel on its way ----------------------------------------------- */

static void
free_greeting(struct greeting *g)
{
	TAILQ_REMOVE(&g->all->greetings, g, entry);
	loop_unwatch(g->all->p.loop, g->watch);
	loop_cancel(g->all->p.loop, g->timer);
	loop_cancel(g->all->p.loop, g->retry);
	dial_free(g->dial);
	fd_close(&g->fd);
	buf_clear(&g->request);
	buf_clear(&g->answer);
	free(g);
}

static void
fail(struct greeting *g, const char *why)
{
	log_verbose("the agent at %s cannot be forwarded: %s", g->all->path,
	    why);
	if (channel_refuse(g->channel, CHANNEL_OPEN_CONNECT_FAILED, why) != 0)
		log_debug("a refusal could not be sent");
	free_greeting(g);
}

/* Ties the channel to the agent's socket, whatever the agent answered: an agent
 * that does not know session-bind has no keys that are restricted to hosts. */
static void
hand_over(struct greeting *g)
{
	struct agent_forward *a = g->all;
	struct channel *c = g->channel;
	int fd = g->fd;

	g->fd = -1;
	free_greeting(g);
	if (forwarded_take(a->p.list, &kind, c, fd) != 0) {
		log_error("%s", err_text(ERR_NOMEM));
		channel_leave(c);
	}
}

static void
on_channel_gone(void *arg, struct channel *c)
{
	(void)c;
	free_greeting(arg);
}

static const struct channel_ops greeting_ops = { .closed = on_channel_gone };

/* Reads the answer, and nothing behind it. True: all of it was read. On an
 * error *why is set. */
static bool
read_answer(struct greeting *g, const char **why)
{
	uint8_t bytes[ANSWER_MAX];
	size_t have = buf_len(&g->answer), want = 4;
	ssize_t n;

	for (;;) {
		if (have >= 4)
			want = 4 + (size_t)wire_get_u32(buf_data(&g->answer));
		if (have >= 4 && (want == 4 || want > sizeof bytes)) {
			*why = "it answers in a strange way";
			return false;
		}
		if (have == want)
			return true;
		n = fd_read(g->fd, bytes, want - have);
		if (n == -1 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			*why = n == 0 ? "it hung up" : strerror(errno);
			return false;
		}
		buf_put(&g->answer, bytes, (size_t)n);
		have = buf_len(&g->answer);
	}
}

static bool
write_request(struct greeting *g, const char **why)
{
	ssize_t n = fd_write(g->fd, buf_data(&g->request),
	    buf_len(&g->request));

	if (n == -1 && errno != EAGAIN)
		*why = strerror(errno);
	if (n > 0)
		buf_consume(&g->request, (size_t)n);
	return buf_len(&g->request) == 0;
}

static void
on_socket(void *arg, int fd, int events)
{
	struct greeting *g = arg;
	const char *why = NULL;
	bool done = false;

	(void)fd;
	(void)events;
	if (buf_len(&g->request) > 0) {
		if (write_request(g, &why))
			loop_fd_want(g->watch, LOOP_READ);
	} else {
		done = read_answer(g, &why);
	}
	if (why != NULL)
		fail(g, why);
	else if (done)
		hand_over(g);
}

static void
on_silence(void *arg)
{
	struct greeting *g = arg;

	g->timer = NULL;
	fail(g, "it does not answer");
}

static int dial_agent(struct greeting *g);

static void
on_retry(void *arg)
{
	struct greeting *g = arg;
	int r;

	g->retry = NULL;
	if ((r = dial_agent(g)) != 0)
		fail(g, err_text(r));
}

/* A busy agent is tried again until g->timer fires, because the system does not
 * tell when there is room in the agent's queue. */
static void
on_no_socket(struct greeting *g, int error)
{
	dial_free(g->dial);
	g->dial = NULL;
	if (error == EAGAIN)
		g->retry = loop_after(g->all->p.loop, BUSY_MS, on_retry, g);
	if (g->retry == NULL)
		fail(g, strerror(error));
}

static void
on_dialled(void *arg, struct dial *d)
{
	struct greeting *g = arg;
	size_t which;

	g->fd = dial_take_winner(d, &which);
	if (g->fd == -1) {
		on_no_socket(g, dial_error(d, 0));
		return;
	}
	dial_free(d);
	g->dial = NULL;
	g->watch = loop_watch(g->all->p.loop, g->fd, LOOP_WRITE, on_socket, g);
	if (g->watch == NULL)
		fail(g, err_text(ERR_NOMEM));
}

static int
dial_agent(struct greeting *g)
{
	struct dial_address address;
	const struct dial_params params = {
		.addresses = &address,
		.n = 1,
		.times = { .next_ms = DIAL_NEXT_MS },
		.done = on_dialled,
		.arg = g,
	};

	if (!fill_address(&address, g->all->path))
		return ERR_LIMIT;
	return dial_start(&g->dial, g->all->p.loop, &params);
}

static int
start(struct greeting *g)
{
	const struct agent_forward *a = g->all;
	const struct sshlogin_binding b = sshlogin_binding(a->p.login);
	int r;

	agent_put_bind(&g->request, b.hostkey, b.session_id, b.signature,
	    true);
	if ((r = buf_err(&g->request)) != 0)
		return r;
	g->timer = loop_after(a->p.loop, ANSWER_MS, on_silence, g);
	return g->timer != NULL ? dial_agent(g) : ERR_NOMEM;
}

static void
warn_of_attack(void)
{
	static bool told;

	if (told)
		return;
	told = true;
	log_error("Warning: ssh server tried agent forwarding.");
}

int
agent_forward_open(struct agent_forward *a, struct channel *c)
{
	struct greeting *g;
	int r;

	if (a == NULL || !a->requested) {
		warn_of_attack();
		return CHANNEL_FAILURE;
	}
	g = xcalloc(1, sizeof *g);
	g->all = a;
	g->channel = c;
	g->fd = -1;
	TAILQ_INSERT_HEAD(&a->greetings, g, entry);
	if ((r = start(g)) != 0) {
		free_greeting(g);
		return channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED,
		    err_text(r));
	}
	channel_defer(c, &greeting_ops, g);
	return CHANNEL_LATER;
}

void
agent_forward_free(struct agent_forward *a)
{
	struct greeting *g;

	if (a == NULL)
		return;
	while ((g = TAILQ_FIRST(&a->greetings)) != NULL) {
		channel_leave(g->channel);
		free_greeting(g);
	}
	free(a->path);
	free(a);
}
