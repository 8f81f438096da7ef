/* SPDX-License-Identifier: ISC */
#include "server/auth/preauth.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/proc.h"
#include "connection.h"
#include "crypto/digest.h"
#include "crypto/library.h"
#include "crypto/rand.h"
#include "kex.h"
#include "packet.h"
#include "peer-version.h"
#include "server/auth/auth-calls.h"
#include "server/auth/auth.h"
#include "server/auth/sandbox.h"
#include "server/kexlog.h"
#include "server/privs.h"

struct preauth {
	int socket_fd, monitor_fd;
	int moduli_fd; /* opened before the sandbox forbids it; or -1 */
	struct monitor_params params;
	struct loop *loop;
	struct loop_fd *socket_watch, *monitor_watch;
	struct packet *packet;
	struct kex *kex;
	struct connection *connection;
	struct auth *auth;
	int ended; /* error that ended the connection; or 0 */
};

/* ---- hooks of the layers below ---------------------------------------- */

static int
on_hostkey_blob(void *arg, const char *alg, struct buf *out)
{
	struct preauth *pa = arg;
	struct span blob;
	int r = monitor_params_hostkey(&pa->params, alg, &blob);

	if (r == 0)
		buf_put(out, blob.p, blob.len);
	return r;
}

static int
on_sign(void *arg, const char *alg, struct span data, struct buf *signature)
{
	struct preauth *pa = arg;

	return monitor_sign(pa->monitor_fd, alg, data, signature);
}

static int
on_gss_step(void *arg, struct span token, struct buf *out, bool *complete)
{
	const struct preauth *pa = arg;

	return monitor_call_gss_step(pa->monitor_fd, MONITOR_GSS_STEP, token,
	    out, complete);
}

static int
on_gss_sign(void *arg, struct span hash, struct buf *mic)
{
	const struct preauth *pa = arg;

	return monitor_call_gss_sign(pa->monitor_fd, MONITOR_GSS_SIGN, hash,
	    mic);
}

/* Offers key exchange by GSSAPI; methods NULL: does not. */
static int
offer_gss(struct preauth *pa, const char *methods)
{
	const struct kex_gss_hooks hooks = { .arg = pa,
		.step = on_gss_step,
		.sign = on_gss_sign };

	return methods != NULL ? kex_set_gss(pa->kex, &hooks, methods) : 0;
}

static int
on_keys_sent(void *arg)
{
	struct preauth *pa = arg;

	/* After a key exchange by GSSAPI there is one more authentication
	 * method than the optimistic reply would list. */
	if (kex_is_gss(pa->kex) ||
	    !(kex_peer_traits(pa->kex) & PEER_WAITS_FOR_ANSWERS))
		return 0;
	return auth_put_optimistic(pa->auth);
}

static void
on_kex_done(void *arg, bool first)
{
	struct preauth *pa = arg;

	(void)first;
	kexlog_result(pa->kex, pa->params.remote);
}

static int
on_auth(void *arg, uint8_t type, struct rd payload)
{
	struct preauth *pa = arg;
	int r;

	(void)type;
	r = auth_input(pa->auth, payload);
	if (r == 0 && auth_succeeded(pa->auth)) {
		connection_pause(pa->connection, true);
		loop_stop(pa->loop);
	}
	return r;
}

/* Describes the client for log lines: "authenticating user x address port n",
 * without the user if that is not known yet. Caller frees. */
static char *
describe(const struct preauth *pa)
{
	const char *user = pa->auth != NULL ? auth_user(pa->auth) : NULL;
	char *text;

	if (user == NULL)
		return xstrdup(pa->params.peer);
	xasprintf(&text, "%s user %s %s",
	    auth_user_invalid(pa->auth) ? "invalid" : "authenticating", user,
	    pa->params.peer);
	return text;
}

static void
log_end(const struct preauth *pa, int err)
{
	char *who = describe(pa);
	const char *offer = pa->kex != NULL ? kex_peer_offer(pa->kex, err)
					    : NULL;
	uint32_t reason = 0;

	if (pa->auth != NULL && auth_turned_away(pa->auth)) {
		log_debug("Turned away: %s", who); /* the monitor has logged
						    * why */
	} else if (pa->auth != NULL && auth_gave_up(pa->auth)) {
		log_info("Disconnecting %s: %s", who, auth_gave_up(pa->auth));
	} else if (err == ERR_CLOSED) {
		log_info("Connection closed by %s", who);
	} else if (err == ERR_DISCONNECTED) {
		const char *text = packet_disconnect_text(pa->packet, &reason);

		log_info("Received disconnect from %s:%u: %s", pa->params.peer,
		    reason, text);
		log_info("Disconnected from %s", who);
	} else if (offer != NULL) {
		log_info("Unable to negotiate with %s: %s. Their offer: %s",
		    pa->params.peer, err_text(err), offer);
	} else if (err == ERR_SYSTEM) {
		log_info("Connection reset by %s", who);
	} else {
		log_info("Disconnecting %s: %s", who, err_text(err));
	}
	free(who);
}

static void
on_ended(void *arg, int err)
{
	struct preauth *pa = arg;

	pa->ended = err;
	log_end(pa, err);
	loop_stop(pa->loop);
}

/* ---- steps ------------------------------------------------------------ */

static void
start_kex(struct preauth *pa, const char *id_remote)
{
	const struct kex_hooks kex_hooks = { .arg = pa,
		.hostkey_blob = on_hostkey_blob,
		.sign = on_sign,
		.keys_sent = on_keys_sent,
		.done = on_kex_done };
	const struct connection_hooks hooks = { .arg = pa,
		.auth = on_auth,
		.ended = on_ended };
	const struct kex_proposal mine = { .kex = pa->params.kex,
		.hostkey = pa->params.hostkey_algs,
		.cipher = pa->params.ciphers,
		.mac = pa->params.macs,
		.compression = pa->params.compression };
	int r;

	loop_unwatch(pa->loop, pa->socket_watch);
	pa->socket_watch = NULL;
	if ((r = kex_new(&pa->kex, pa->packet, &kex_hooks, &mine,
		 pa->params.ident, id_remote)) != 0 ||
	    (r = offer_gss(pa, pa->params.gss_kex)) != 0 ||
	    (r = kex_set_sig_algs(pa->kex, pa->params.sig_algs)) != 0 ||
	    (r = connection_new(&pa->connection, pa->loop, pa->packet, pa->kex,
		 &hooks)) != 0)
		fatal("cannot start the key exchange: %s", err_text(r));
	kex_set_moduli_fd(pa->kex, pa->moduli_fd);
	pa->auth = auth_new(pa->monitor_fd, pa->packet, pa->kex, &pa->params);
	if ((r = kex_start(pa->kex)) != 0)
		fatal("cannot start the key exchange: %s", err_text(r));
	/* Bytes that came with the identification line are already in the
	 * buffer, so the socket does not report them. */
	connection_kick(pa->connection);
}

/* Tells the peer in a line of text, because there are no packets yet. */
static void
refuse_identification(struct preauth *pa, const char *why)
{
	static const char text[] = "Invalid SSH identification string.\r\n";

	log_info("banner exchange: Connection from %s: %s", pa->params.peer,
	    why);
	(void)!write(pa->socket_fd, text, sizeof text - 1);
	pa->ended = ERR_PROTOCOL;
	loop_stop(pa->loop);
}

/* NULL: the peer speaks protocol 2.0. Else a static text that says what is
 * wrong with its identification line. */
static const char *
check_identification(const struct preauth *pa, const char *line)
{
	unsigned major;

	if (kexlog_version(line, pa->params.ident, pa->params.remote))
		return NULL;
	if (!peer_version_is_other(line, &major))
		return "invalid format";
	log_info("Protocol major versions differ: 2 vs. %u", major);
	return "could not read protocol version";
}

static void
on_unidentified_end(struct preauth *pa, int err)
{
	if (err == ERR_CLOSED)
		log_verbose("kex_exchange_identification: Connection closed "
			    "by remote host");
	else if (err == ERR_SYSTEM)
		log_error("kex_exchange_identification: read: %s",
		    strerror(errno));
	on_ended(pa, err);
}

static void
on_identification(void *arg, int fd, int events)
{
	struct preauth *pa = arg;
	const char *why;
	char *line;
	int r;

	(void)fd;
	if (!(events & LOOP_READ))
		return;
	r = packet_fill(pa->packet);
	if (r == ERR_AGAIN)
		return;
	if (r < 0) {
		on_unidentified_end(pa, r);
		return;
	}
	r = packet_read_identification(pa->packet, &line, NULL, NULL);
	if (r == 0)
		return;
	why = r < 0 ? "invalid format" : check_identification(pa, line);
	if (why != NULL) {
		if (r == 1)
			free(line);
		refuse_identification(pa, why);
		return;
	}
	start_kex(pa, line);
	free(line);
}

/* The monitor sends only answers, which the functions that ask wait for. So
 * when the loop finds the socket readable, the monitor has ended. */
static void
on_monitor_gone(void *arg, int fd, int events)
{
	(void)arg;
	(void)fd;
	(void)events;
	_exit(255);
}

static void
to_monitor(void *arg, enum log_level level, const char *text)
{
	const struct preauth *pa = arg;

	monitor_log(pa->monitor_fd, level, log_is_forced(), text);
}

/* Lets libraries open the files, and map the memory, that they need before the
 * sandbox forbids it: the first random bytes of both kinds are drawn here. */
static void
warm_up(void)
{
	uint8_t sum[DIGEST_MAX_LEN], pad[8];

	rand_bytes(sum, sizeof sum);
	rand_pad(pad, sizeof pad);
	if (digest_once(DIGEST_SHA256, pad, sizeof pad, sum) != 0)
		fatal("cryptographic library does not work");
}

static void
receive_connection(struct preauth *pa)
{
	int fd;

	if (fd_receive_fds(pa->monitor_fd, &fd, 1) != 0)
		_exit(255); /* the monitor has ended, or ends now */
	if (fd != pa->socket_fd && dup2(fd, pa->socket_fd) == -1)
		_exit(255);
	if (fd != pa->socket_fd)
		close(fd);
	proc_title("[net]");
}

static void
open_moduli(struct preauth *pa)
{
	pa->moduli_fd = -1;
	if (pa->params.moduli != NULL &&
	    csv_has(pa->params.kex, "diffie-hellman-group-exchange-sha256"))
		pa->moduli_fd = open(pa->params.moduli, O_RDONLY | O_CLOEXEC);
}

static void
lock_in(const struct monitor_params *p)
{
	if (p->chroot != NULL) {
		if (chroot(p->chroot) == -1 || chdir("/") == -1)
			fatal("chroot \"%s\": %s", p->chroot, strerror(errno));
		privs_become_ids(p->uid, p->gid);
	}
	if (sandbox_enter() != 0)
		fatal("cannot enter the sandbox: %s", strerror(errno));
}

static void
receive_params(struct preauth *pa)
{
	struct buf b;
	struct rd rd;
	int r;

	buf_init_secret(&b);
	r = fd_receive_msg(pa->monitor_fd, &b, MONITOR_MSG_MAX);
	if (r == 0) {
		rd = rd_from_buf(&b);
		r = monitor_params_get(&rd, &pa->params);
	}
	buf_clear(&b);
	if (r != 0)
		_exit(255); /* not logged: the log goes through the monitor */
	log_set_level((enum log_level)pa->params.log_level);
	if (log_set_locations(&pa->params.log_locations) != 0)
		_exit(255);
	log_to_sink(to_monitor, pa);
}

/* Replaces the standard descriptors by /dev/null: log lines go through the
 * monitor. */
static void
drop_stdio(void)
{
	int null = open("/dev/null", O_RDWR);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 || dup2(null, STDERR_FILENO) == -1)
		_exit(255);
	if (null > STDERR_FILENO)
		close(null);
}

static void
begin(struct preauth *pa)
{
	int r;

	pa->loop = loop_new_portable();
	pa->packet = packet_new(pa->socket_fd, pa->socket_fd, true);
	if (pa->loop == NULL || pa->packet == NULL)
		fatal("out of memory");
	pa->monitor_watch = loop_watch(pa->loop, pa->monitor_fd, LOOP_READ,
	    on_monitor_gone, pa);
	pa->socket_watch = loop_watch(pa->loop, pa->socket_fd, LOOP_READ,
	    on_identification, pa);
	if (pa->monitor_watch == NULL || pa->socket_watch == NULL)
		fatal("out of memory");
	r = packet_put_identification(pa->packet, pa->params.ident);
	if (r == 0)
		r = packet_flush(pa->packet);
	if (r != 0 && r != ERR_AGAIN)
		on_ended(pa, r);
}

static int
hand_over(struct preauth *pa)
{
	struct buf packet, kex;
	int r;

	buf_init_secret(&packet);
	buf_init_secret(&kex);
	/* Sends USERAUTH_SUCCESS now, so that the client does not wait for the
	 * new process. Bytes that the socket does not take go with the
	 * state. */
	r = packet_flush(pa->packet);
	if (r == ERR_AGAIN)
		r = 0;
	if (r == 0 && (r = packet_export(pa->packet, &packet)) == 0 &&
	    (r = kex_export(pa->kex, &kex)) == 0)
		r = monitor_hand_over(pa->monitor_fd, &packet, &kex);
	buf_clear(&packet);
	buf_clear(&kex);
	if (r != 0)
		log_error("cannot hand the connection over: %s", err_text(r));
	return r;
}

int
preauth_run(int socket_fd, int monitor_fd, bool waits)
{
	struct preauth pa = { .socket_fd = socket_fd,
		.monitor_fd = monitor_fd };
	int status = 255;

	signal(SIGPIPE, SIG_IGN);
	drop_stdio();
	if (waits)
		crypto_library_warm(CRYPTO_KEY_EXCHANGE);
	warm_up();
	if (waits)
		receive_connection(&pa);
	receive_params(&pa);
	open_moduli(&pa);
	begin(&pa);
	lock_in(&pa.params);
	if (pa.ended == 0 && loop_run(pa.loop) != 0)
		fatal("poll: %s", strerror(errno));
	if (pa.ended == 0 && auth_succeeded(pa.auth) && hand_over(&pa) == 0)
		status = 0;
	auth_free(pa.auth);
	connection_free(pa.connection);
	kex_free(pa.kex);
	packet_free(pa.packet);
	loop_free(pa.loop);
	monitor_params_clear(&pa.params);
	return status;
}
