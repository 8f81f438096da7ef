/* SPDX-License-Identifier: ISC */
#include "regress/unit/monitor-host.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"

struct monitor *m;
int peer;

static void
add_hostkey(struct hostkeys *h)
{
	struct hostkey *hk = &h->v[0];

	buf_init(&hk->public);
	buf_init_secret(&hk->private);
	assert_int_equal(key_generate("ed25519", 0, &hk->key), 0);
	assert_int_equal(key_to_blob(hk->key, &hk->public), 0);
	assert_int_equal(key_private_to_wire(hk->key, &hk->private), 0);
	h->n = 1;
}

void
add_rsa(struct hostkeys *h)
{
	struct hostkey *hk = &h->v[h->n++];

	buf_init(&hk->public);
	buf_init_secret(&hk->private);
	assert_int_equal(key_generate("rsa", 2048, &hk->key), 0);
	assert_int_equal(key_to_blob(hk->key, &hk->public), 0);
	assert_int_equal(key_private_to_wire(hk->key, &hk->private), 0);
}

int
monitor_setup(void **state)
{
	int pair[2];

	(void)state;
	log_set_level(LOG_LVL_QUIET);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	m = xcalloc(1, sizeof *m);
	m->fd = pair[0];
	peer = pair[1];
	m->phase = MONITOR_PHASE_KEX;
	server_conf_init(&m->state.conf);
	assert_int_equal(server_conf_set(&m->state.conf, "StrictModes", "no"),
	    0);
	assert_int_equal(server_conf_set(&m->state.conf, "LogLevel", "QUIET"),
	    0);
	assert_int_equal(server_conf_finish(&m->state.conf), 0);
	add_hostkey(&m->state.keys);
	m->peer = (struct peer){ .address = xstrdup("192.0.2.7"),
		.local_address = xstrdup("192.0.2.1"),
		.host = xstrdup("192.0.2.7"),
		.port = 1, .local_port = 2 };
	return 0;
}

int
monitor_teardown(void **state)
{
	(void)state;
	close(m->fd);
	if (peer != -1)
		close(peer);
	monitor_logout_all(m);
	login_free(m->login);
	buf_clear(&m->pending);
	buf_clear(&m->packet_state);
	buf_clear(&m->kex_state);
	peer_clear(&m->peer);
	state_clear(&m->state);
	free(m);
	return 0;
}

int
ask(enum monitor_request what, const void *fields, size_t len)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, (uint8_t)what);
	buf_put(&b, fields, len);
	assert_int_equal(fd_send_msg(peer, &b), 0);
	buf_clear(&b);
	r = monitor_step(m);
	return r;
}

int
ask_try(uint8_t method, const void *fields, size_t len)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, method);
	buf_put(&b, fields, len);
	r = ask(MONITOR_TRY, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

void
drain_answer(struct buf *answer)
{
	assert_int_equal(fd_receive_msg(peer, answer, MONITOR_MSG_MAX), 0);
	assert_int_equal(buf_data(answer)[0], 1);
}

int
ask_signature_by(enum monitor_request what, const char *alg, size_t hash_len)
{
	struct buf b = { 0 };
	uint8_t hash[128] = { 7 };
	int r;

	buf_put_cstring(&b, alg);
	buf_put_string(&b, hash, hash_len);
	r = ask(what, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

int
ask_signature(enum monitor_request what, size_t hash_len)
{
	return ask_signature_by(what, "ssh-ed25519", hash_len);
}
