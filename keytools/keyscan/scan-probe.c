/* SPDX-License-Identifier: ISC */
#include "keytools/keyscan/scan-probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "cipher.h"
#include "kex.h"
#include "packet.h"
#include "peer-version.h"

/* Our identification line, by which administrators find scans in their logs. */
static const char ident[] = "SSH-2.0-OpenSSH-keyscan";

struct scan_probe {
	struct scan_probe_params p;
	int fd;
	struct packet *packet;
	struct kex *kex;
	struct loop_fd *watch;
	struct loop_timer *timer;
	char *peer_ident;
	struct key *key; /* host key of the server, which has signed with it */
};

/* Verifies the server's signature of the exchange, and keeps the host key. */
static int
on_verify(void *arg, const char *alg, struct span blob, struct span data,
    struct span signature)
{
	struct scan_probe *p = arg;
	struct key *k = NULL;
	int r = key_from_blob(blob, &k);

	if (r == 0)
		r = key_verify(k, alg, data, signature);
	if (r == 0) {
		p->key = k;
		k = NULL;
	}
	key_free(k);
	return r;
}

/* Ends the key exchange once the host key is known, because that is all that a
 * probe is for. */
static int
on_check(void *arg, struct span blob, const char *alg)
{
	(void)arg;
	(void)blob;
	(void)alg;
	return ERR_CANCELLED;
}

static void
on_kex_done(void *arg, bool first)
{
	(void)arg;
	(void)first;
}

static void
finish(struct scan_probe *p, int err)
{
	const char *text = NULL;

	loop_unwatch(p->p.loop, p->watch);
	loop_cancel(p->p.loop, p->timer);
	p->watch = NULL;
	p->timer = NULL;
	if (err == ERR_DISCONNECTED)
		text = packet_disconnect_text(p->packet, NULL);
	p->p.done(p->p.arg, p->key, err, text);
}

static void
on_time(void *arg)
{
	struct scan_probe *p = arg;

	p->timer = NULL;
	finish(p, ERR_TIMEOUT);
}

static int
begin_step(struct scan_probe *p)
{
	loop_cancel(p->p.loop, p->timer);
	p->timer = loop_after(p->p.loop, p->p.step_ms, on_time, p);
	return p->timer != NULL ? 0 : ERR_NOMEM;
}

/* ---- what arrives ------------------------------------------------------- */

static void
on_other_line(void *arg, const char *text)
{
	(void)arg;
	log_debug2("before its identification: %.256s", text);
}

static int
begin_exchange(struct scan_probe *p)
{
	const struct kex_hooks hooks = { .arg = p, .verify = on_verify,
		.check_hostkey = on_check, .done = on_kex_done };
	const struct kex_proposal mine = { .kex = p->p.kex_algs,
		.hostkey = p->p.hostkey_algs,
		.cipher = cipher_default_list(),
		.mac = p->p.mac_algs,
		.compression = "none,zlib@openssh.com" };
	int r;

	p->p.banner(p->p.arg, p->peer_ident);
	if (!peer_version_is_2(p->peer_ident))
		return ERR_UNSUPPORTED;
	if ((r = begin_step(p)) != 0 ||
	    (r = kex_new(&p->kex, p->packet, &hooks, &mine, ident,
		 p->peer_ident)) != 0)
		return r;
	return kex_start(p->kex);
}

static int
take_identification(struct scan_probe *p)
{
	int r = packet_read_identification(p->packet, &p->peer_ident,
	    on_other_line, p);

	return r <= 0 ? r : begin_exchange(p);
}

static int
take_packets(struct scan_probe *p)
{
	struct rd payload;
	int r;

	while ((r = packet_next(p->packet, &payload)) > 0) {
		struct rd peek = payload;
		uint8_t type = rd_u8(&peek);

		if (!ssh_msg_is_kex(type) && type != SSH_MSG_EXT_INFO)
			return ERR_PROTOCOL;
		if ((r = kex_input(p->kex, payload)) != 0)
			return r;
	}
	return r;
}

static int
flush(struct scan_probe *p)
{
	int r = packet_flush(p->packet);

	if (r != 0 && r != ERR_AGAIN)
		return r;
	loop_fd_want(p->watch,
	    r == ERR_AGAIN ? LOOP_READ | LOOP_WRITE : LOOP_READ);
	return 0;
}

static int
step(struct scan_probe *p, int events)
{
	int r = 0, ended = 0;

	if ((events & LOOP_READ) != 0) {
		r = packet_fill(p->packet);
		if (r == ERR_AGAIN)
			r = 0;
		ended = r < 0 ? r : 0;
		r = 0;
	}
	if (p->peer_ident == NULL)
		r = take_identification(p);
	if (r == 0 && p->kex != NULL)
		r = take_packets(p);
	if (r == 0)
		r = ended;
	return r == 0 ? flush(p) : r;
}

static void
on_ready(void *arg, int fd, int events)
{
	struct scan_probe *p = arg;
	int r = step(p, events);

	(void)fd;
	if (r != 0)
		finish(p, r == ERR_CANCELLED && p->key != NULL ? 0 : r);
}

/* ---- life --------------------------------------------------------------- */

int
scan_probe_start(struct scan_probe **out, int fd,
    const struct scan_probe_params *params)
{
	struct scan_probe *p = xcalloc(1, sizeof *p);
	int r = ERR_NOMEM;

	p->p = *params;
	p->fd = fd;
	fd_set_nodelay(fd);
	p->packet = packet_new(fd, fd, false);
	p->watch = loop_watch(params->loop, fd, LOOP_READ | LOOP_WRITE,
	    on_ready, p);
	if (p->packet != NULL && p->watch != NULL &&
	    (r = begin_step(p)) == 0)
		r = packet_put_identification(p->packet, ident);
	if (r != 0) {
		scan_probe_free(p);
		return r;
	}
	*out = p;
	return 0;
}

void
scan_probe_free(struct scan_probe *p)
{
	if (p == NULL)
		return;
	loop_unwatch(p->p.loop, p->watch);
	loop_cancel(p->p.loop, p->timer);
	kex_free(p->kex);
	packet_free(p->packet);
	fd_close(&p->fd);
	free(p->peer_ident);
	key_free(p->key);
	free(p);
}
