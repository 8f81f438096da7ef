/* SPDX-License-Identifier: ISC */
/*
 * The monitor gets requests from an hpnsshd-auth or a session process that an
 * attacker has taken over. Each request stands behind a 16 bit length. A login
 * would need a signature by the user's key, which no fuzzer finds: two marks in
 * the input, which are no requests, change the monitor's phase instead. It
 * believes that it is not the superuser, so that it does not record logins or
 * change to another account.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "keys/key.h"
#include "regress/fuzz/fuzz.h"
#include "server/monitor/monitor.h"

enum {
	REQUESTS = 64,
	MARK_ACCEPTED = 0xf1, /* the last try succeeds */
	MARK_SESSION = 0xf2,  /* the session process sends what follows */
};

uid_t geteuid(void);

uid_t
geteuid(void)
{
	return 65534;
}

/* Made once: it is the same for all inputs. */
static const struct server_state *
state(void)
{
	static struct server_state s;
	static bool made;
	struct hostkey *hk = &s.keys.v[0];

	if (made)
		return &s;
	server_conf_init(&s.conf);
	/* No passwords: to hash them is slow. */
	if (server_conf_set(&s.conf, "LogLevel", "QUIET") != 0 ||
	    server_conf_set(&s.conf, "UsePAM", "no") != 0 ||
	    server_conf_set(&s.conf, "PasswordAuthentication", "no") != 0 ||
	    server_conf_set(&s.conf, "AuthorizedKeysFile", "/dev/null") != 0 ||
	    server_conf_finish(&s.conf) != 0 ||
	    key_generate("ed25519", 0, &hk->key) != 0 ||
	    key_to_blob(hk->key, &hk->public) != 0)
		abort();
	s.keys.n = 1;
	made = true;
	return &s;
}

/* Does what a mark says. False: msg is a request. */
static bool
is_mark(struct monitor *m, struct span msg)
{
	if (msg.len != 1 || m->login == NULL)
		return false;
	switch (msg.p[0]) {
	case MARK_ACCEPTED:
		if (m->phase == MONITOR_PHASE_AUTH)
			m->phase = MONITOR_PHASE_ACCEPTED;
		return true;
	case MARK_SESSION:
		if (m->phase == MONITOR_PHASE_OVER)
			m->phase = MONITOR_PHASE_SESSION;
		return true;
	default:
		return false;
	}
}

static void
feed(struct monitor *m, int fd, struct rd in)
{
	uint8_t answer[4096];
	struct buf b = { 0 };
	int r = 0;

	for (int i = 0; i < REQUESTS && r == 0 && in.len >= 2; i++) {
		struct span msg = fuzz_piece(&in);

		if (is_mark(m, msg))
			continue;
		buf_reset(&b);
		buf_put(&b, msg.p, msg.len);
		if (fd_send_msg(fd, &b) != 0)
			break;
		r = monitor_step(m);
		while (recv(fd, answer, sizeof answer, MSG_DONTWAIT) > 0)
			;
	}
	buf_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char here[] = "192.0.2.1", there[] = "192.0.2.7";
	const struct server_state *s;
	struct monitor *m;
	int fd[2];

	if (len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	s = state();
	if ((m = calloc(1, sizeof *m)) == NULL)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		goto out;
	m->state = *s;
	m->peer = (struct peer){ .address = there, .local_address = here,
		.host = there };
	m->peer_text = m->remote = there;
	m->phase = MONITOR_PHASE_KEX;
	m->fd = fd[0];
	feed(m, fd[1], rd_from(data, len));
	monitor_logout_all(m);
	login_free(m->login);
	buf_clear(&m->pending);
	buf_clear(&m->packet_state);
	buf_clear(&m->kex_state);
	close(fd[0]);
	close(fd[1]);
out:
	free(m);
	return 0;
}
