/* SPDX-License-Identifier: ISC */
/*
 * Key exchange by GSSAPI: a client's and a server's kex over a socketpair, and
 * in place of the library hooks that need as many tokens as a test says. A
 * side may lie.
 */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "crypto/digest.h"
#include "crypto/kem.h"
#include "kex.h"
#include "kex-internal.h"

#define HOSTKEY "the public half of a host key"
#define METHOD "gss-curve25519-sha256-toWM5Slw5Ew8Mqkay+al2g=="
#define GROUPS "gss-gex-sha1-toWM5Slw5Ew8Mqkay+al2g=="
#define PLAIN "curve25519-sha256"

static const char *client_id = "SSH-2.0-client";

struct side {
	struct packet *packet;
	struct kex *kex;
	bool server;
	int tokens;	  /* of the peer, in this exchange */
	int need;	  /* of the peer, until the context stands */
	int done, signed_plain, vouched, prepared, verified;
	const char *token; /* to say, if not "token" */
	size_t fill;	   /* bytes that are put behind it */
	bool refuse;	   /* the peer's first token */
	bool wrong_mic, no_hostkey, never_complete;
	int hostkey_answer;
};

struct pair {
	int fd[2];
	struct side c, s;
};

/* ---- hooks -------------------------------------------------------------- */

static void
mac_of(struct span data, const char *by, uint8_t *out)
{
	assert_int_equal(digest_hmac(DIGEST_SHA256, by, strlen(by), data.p,
			     data.len, out), 0);
}

static int
on_sign(void *arg, const char *alg, struct span data, struct buf *signature)
{
	struct side *s = arg;
	uint8_t mac[32];

	(void)alg;
	s->signed_plain++;
	mac_of(data, "host", mac);
	buf_put(signature, mac, sizeof mac);
	return 0;
}

static int
on_verify(void *arg, const char *alg, struct span blob, struct span data,
    struct span signature)
{
	uint8_t mac[32];

	(void)arg;
	(void)alg;
	(void)blob;
	mac_of(data, "host", mac);
	return signature.len == 32 && memcmp(mac, signature.p, 32) == 0 ?
	    0 : ERR_SIGNATURE;
}

static int
on_hostkey_blob(void *arg, const char *alg, struct buf *blob)
{
	(void)arg;
	(void)alg;
	buf_put(blob, HOSTKEY, strlen(HOSTKEY));
	return 0;
}

static int
on_check(void *arg, struct span blob, const char *alg)
{
	(void)arg;
	(void)alg;
	return span_equals(blob, HOSTKEY) ? 0 : ERR_HOSTKEY;
}

static void
on_done(void *arg, bool first)
{
	struct side *s = arg;

	(void)first;
	s->done++;
	s->tokens = 0;
}

static void
say(const struct side *s, struct buf *out)
{
	const char *text = s->token != NULL ? s->token : "token";

	buf_put(out, text, strlen(text));
	for (size_t i = 0; i < s->fill; i++)
		buf_put_u8(out, 0);
}

static int
gss_prepare(void *arg)
{
	((struct side *)arg)->prepared++;
	return 0;
}

static int
gss_first(void *arg, struct buf *token)
{
	say(arg, token);
	return 0;
}

static int
gss_step(void *arg, struct span token, struct buf *out, bool *complete)
{
	struct side *s = arg;

	(void)token;
	if (s->refuse) {
		buf_put(out, "skew", 4);
		return ERR_DENIED;
	}
	*complete = ++s->tokens >= s->need && !s->never_complete;
	/* A server has the last word; a client's last token has an answer. */
	if (!*complete || s->server)
		say(s, out);
	return 0;
}

static int
gss_sign(void *arg, struct span hash, struct buf *mic)
{
	const struct side *s = arg;
	uint8_t mac[32];

	mac_of(hash, s->wrong_mic ? "somebody" : "context", mac);
	buf_put(mic, mac, sizeof mac);
	return 0;
}

static int
gss_verify(void *arg, struct span hash, struct span mic)
{
	struct side *s = arg;
	uint8_t mac[32];

	s->verified++;
	mac_of(hash, "context", mac);
	return mic.len == 32 && memcmp(mac, mic.p, 32) == 0 ? 0 : ERR_DENIED;
}

static int
gss_hostkey(void *arg, struct span blob)
{
	struct side *s = arg;

	s->vouched++;
	assert_true(span_equals(blob, HOSTKEY));
	return s->hostkey_answer;
}

/* ---- two sides ---------------------------------------------------------- */

static void
side_open(struct side *s, int fd, bool server, const char *methods,
    const char *hostkeys)
{
	struct kex_hooks hooks = { .arg = s, .check_hostkey = on_check,
		.hostkey_blob = on_hostkey_blob, .sign = on_sign,
		.verify = on_verify, .done = on_done };
	struct kex_gss_hooks gss = { .arg = s, .prepare = gss_prepare,
		.first = gss_first, .step = gss_step, .verify = gss_verify,
		.hostkey = gss_hostkey, .sign = gss_sign };
	const struct kex_proposal p = { .kex = PLAIN, .hostkey = hostkeys,
		.cipher = "aes128-gcm@openssh.com", .mac = "hmac-sha2-256",
		.compression = "none" };

	memset(s, 0, sizeof *s);
	s->server = server;
	s->need = 1;
	s->packet = packet_new(fd, fd, server);
	assert_non_null(s->packet);
	assert_int_equal(kex_new(&s->kex, s->packet, &hooks, &p,
			     server ? "SSH-2.0-server" : client_id,
			     server ? client_id : "SSH-2.0-server"),
	    0);
	if (methods != NULL)
		assert_int_equal(kex_set_gss(s->kex, &gss, methods), 0);
	assert_int_equal(packet_authenticated(s->packet), 0);
}

static void
pair_open(struct pair *t, const char *client, const char *server,
    const char *server_keys)
{
	log_set_level(LOG_LVL_QUIET);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t->fd), 0);
	side_open(&t->c, t->fd[0], false, client, "ssh-ed25519");
	side_open(&t->s, t->fd[1], true, server, server_keys);
}

static void
pair_close(struct pair *t)
{
	kex_free(t->c.kex);
	packet_free(t->c.packet);
	kex_free(t->s.kex);
	packet_free(t->s.packet);
	fd_close(&t->fd[0]);
	fd_close(&t->fd[1]);
}

static int
turn(struct side *s)
{
	struct rd payload;
	int err = packet_flush(s->packet);

	if (err != 0 && err != ERR_AGAIN)
		return err;
	err = packet_fill(s->packet);
	if (err < 0)
		return err == ERR_AGAIN ? 0 : err;
	while ((err = packet_next(s->packet, &payload)) == 1)
		if ((err = kex_input(s->kex, payload)) != 0)
			return err;
	return err;
}

/* The first error, and of whom. */
static int
settle(struct pair *t, const struct side **whose)
{
	int err;

	for (int i = 0; i < 100; i++) {
		*whose = &t->c;
		if ((err = turn(&t->c)) != 0)
			return err;
		*whose = &t->s;
		if ((err = turn(&t->s)) != 0)
			return err;
	}
	return 0;
}

static void
run(struct pair *t)
{
	const struct side *whose;

	assert_int_equal(kex_start(t->c.kex), 0);
	assert_int_equal(kex_start(t->s.kex), 0);
	assert_int_equal(settle(t, &whose), 0);
}

/* The exchange ends so, at the client or the server. */
static void
run_badly(struct pair *t, int want, bool at_server)
{
	const struct side *whose;

	assert_int_equal(kex_start(t->c.kex), 0);
	assert_int_equal(kex_start(t->s.kex), 0);
	assert_int_equal(settle(t, &whose), want);
	assert_true(whose->server == at_server);
	assert_int_equal(t->c.done, 0);
	pair_close(t);
}

/* ---- what goes well ----------------------------------------------------- */

static void
every_method(void **state)
{
	(void)state;
	for (size_t i = 0; kem_gss_at(i) != NULL; i++) {
		const char *name = kem_gss_at(i)->name;
		struct pair t;

		pair_open(&t, name, name, "ssh-ed25519");
		run(&t);
		assert_int_equal(t.c.done, 1);
		assert_int_equal(t.s.done, 1);
		assert_string_equal(kex_result(t.c.kex)->kex, name);
		assert_true(kex_is_gss(t.c.kex) && kex_is_gss(t.s.kex));
		assert_int_equal(t.s.signed_plain, 0);
		assert_int_equal(t.c.verified, 1);
		assert_int_equal(t.c.vouched, 1);
		assert_true(span_equals(kex_hostkey(t.c.kex), HOSTKEY));
		pair_close(&t);
	}
}

static void
several_tokens(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.s.need = 3;
	t.c.need = 3;
	run(&t);
	assert_int_equal(t.c.done, 1);
	pair_close(&t);
}

/* RFC 4462 lets a server show it; OpenSSH's client ends the connection then. */
static void
who_is_shown_the_host_key(void **state)
{
	static const struct {
		const char *client;
		bool shown;
	} rows[] = {
		{ "SSH-2.0-client", true },
		{ "SSH-2.0-OpenSSH_9.2p1 Debian-2", false },
		{ "SSH-2.0-OpenSSH_10.5_hpn18", false },
		{ HPN_IDENT, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair t;

		client_id = rows[i].client;
		pair_open(&t, METHOD, METHOD, "ssh-ed25519");
		run(&t);
		assert_int_equal(t.c.done, 1);
		assert_int_equal(t.c.vouched, rows[i].shown);
		pair_close(&t);
	}
	client_id = "SSH-2.0-client";
}

/* A server without a key: "null", which is of no use for a plain method. */
static void
no_host_key(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "");
	run(&t);
	assert_int_equal(t.c.done, 1);
	assert_string_equal(kex_result(t.c.kex)->hostkey_alg, "null");
	assert_int_equal(t.c.vouched, 0);
	assert_int_equal(kex_hostkey(t.c.kex).len, 0);
	pair_close(&t);

	pair_open(&t, METHOD, "gss-nistp256-sha256-toWM5Slw5Ew8Mqkay+al2g==",
	    "");
	run_badly(&t, ERR_NO_HOSTKEY_MATCH, true);
	pair_open(&t, METHOD, NULL, "null");
	run_badly(&t, ERR_NO_HOSTKEY_MATCH, true);
}

static void
one_side_only(void **state)
{
	const struct side *whose;
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, NULL, "ssh-ed25519");
	run(&t);
	assert_int_equal(t.c.done, 1);
	assert_string_equal(kex_result(t.c.kex)->kex, PLAIN);
	/* Nor are there tickets for the next one. */
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t, &whose), 0);
	assert_int_equal(t.c.done, 2);
	assert_int_equal(t.c.prepared, 0);
	pair_close(&t);

	pair_open(&t, NULL, METHOD, "ssh-ed25519");
	run(&t);
	assert_string_equal(kex_result(t.s.kex)->kex, PLAIN);
	assert_int_equal(t.s.signed_plain, 1);
	pair_close(&t);
}

static void
guesses(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	kex_set_guess(t.c.kex, true);
	run(&t);
	assert_int_equal(t.c.done, 1);
	pair_close(&t);
	/* Wrong, and for a plain method. */
	pair_open(&t, METHOD, NULL, "ssh-ed25519");
	kex_set_guess(t.c.kex, true);
	run(&t);
	assert_int_equal(t.c.done, 1);
	pair_close(&t);
	/* Wrong, and for another one of GSSAPI. */
	pair_open(&t, "gss-nistp256-sha256-toWM5Slw5Ew8Mqkay+al2g==," METHOD,
	    METHOD, "ssh-ed25519");
	kex_set_guess(t.c.kex, true);
	run(&t);
	assert_int_equal(t.c.done, 1);
	pair_close(&t);
}

/* ---- further exchanges -------------------------------------------------- */

/* Nothing is sent before it is known whether there is a ticket. */
static void
a_rekey_waits_for_the_ticket(void **state)
{
	const struct side *whose;
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	run(&t);
	for (int from_server = 0; from_server < 2; from_server++) {
		assert_int_equal(kex_start(from_server ? t.s.kex : t.c.kex),
		    0);
		assert_int_equal(settle(&t, &whose), 0);
		assert_int_equal(t.c.prepared, from_server + 1);
		assert_int_equal(t.c.done, from_server + 1);
		assert_int_equal(kex_start(t.c.kex), 0);
		assert_int_equal(t.c.prepared, from_server + 1);
		assert_int_equal(kex_gss_ready(t.c.kex, true), 0);
		assert_int_equal(settle(&t, &whose), 0);
		assert_int_equal(t.c.done, from_server + 2);
		assert_true(kex_is_gss(t.c.kex));
		assert_true(kex_gss_ready(t.c.kex, true) < 0);
	}
	pair_close(&t);
}

/* Then the host's key has to sign. */
static void
a_rekey_without_a_ticket(void **state)
{
	const struct side *whose;
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	run(&t);
	assert_int_equal(kex_start(t.s.kex), 0);
	assert_int_equal(settle(&t, &whose), 0);
	assert_int_equal(kex_gss_ready(t.c.kex, false), 0);
	assert_int_equal(settle(&t, &whose), 0);
	assert_int_equal(t.c.done, 2);
	assert_int_equal(t.s.signed_plain, 1);
	assert_false(kex_is_gss(t.c.kex));
	/* And the next one is by GSSAPI again. */
	assert_int_equal(kex_gss_renew(t.c.kex), 0);
	assert_int_equal(settle(&t, &whose), 0);
	assert_int_equal(t.c.done, 3);
	assert_true(kex_is_gss(t.c.kex));
	pair_close(&t);
}

/* While a client waits for its ticket, the exchange has not begun. */
static void
a_message_while_it_waits(void **state)
{
	const struct side *whose;
	struct pair t;
	uint8_t error[] = { SSH_MSG_KEXGSS_ERROR };

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	run(&t);
	assert_int_equal(kex_start(t.s.kex), 0);
	assert_int_equal(settle(&t, &whose), 0);
	assert_int_equal(kex_input(t.c.kex, rd_from(error, 1)), ERR_PROTOCOL);
	pair_close(&t);
}

static void
another_host_key_in_a_rekey(void **state)
{
	const struct side *whose;
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	run(&t);
	t.c.hostkey_answer = ERR_HOSTKEY;
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(kex_gss_ready(t.c.kex, true), 0);
	assert_int_equal(settle(&t, &whose), ERR_HOSTKEY);
	assert_false(whose->server);
	assert_int_equal(t.c.done, 1);
	pair_close(&t);
}

/* ---- peers that lie ----------------------------------------------------- */

static void
wrong_mic(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.s.wrong_mic = true;
	run_badly(&t, ERR_DENIED, false);
}

/* The server calls it complete before the client has its proof. */
static void
complete_too_early(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.c.need = 2;
	run_badly(&t, ERR_PROTOCOL, false);
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.s.token = ""; /* none at all */
	run_badly(&t, ERR_PROTOCOL, false);
}

static void
tokens_have_limits(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.s.never_complete = t.c.never_complete = true;
	run_badly(&t, ERR_PROTOCOL, true);
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.c.fill = KEX_GSS_TOKEN_MAX;
	run_badly(&t, ERR_LIMIT, true);
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.s.fill = KEX_GSS_TOKEN_MAX;
	run_badly(&t, ERR_LIMIT, false);
}

/* The client gets what the library says, and a text. */
static void
refused_ticket(void **state)
{
	const struct side *whose;
	struct pair t;
	int tokens;

	(void)state;
	pair_open(&t, METHOD, METHOD, "ssh-ed25519");
	t.s.refuse = true;
	t.c.never_complete = true;
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(kex_start(t.s.kex), 0);
	assert_int_equal(settle(&t, &whose), ERR_DENIED);
	assert_true(whose->server);
	assert_int_equal(packet_flush(t.s.packet), 0);
	assert_int_equal(turn(&t.c), ERR_DENIED);
	tokens = t.c.tokens;
	assert_int_equal(tokens, 1);
	pair_close(&t);
}

/* Gives the client a message of the server's own making, in an exchange that
 * waits for it. */
static int
client_gets(struct pair *t, struct buf *b)
{
	const struct side *whose;
	int r;

	pair_open(t, METHOD, METHOD, "ssh-ed25519");
	assert_int_equal(kex_start(t->s.kex), 0);
	assert_int_equal(packet_flush(t->s.packet), 0);
	assert_int_equal(turn(&t->c), 0);
	(void)whose;
	r = kex_input(t->c.kex, rd_from_buf(b));
	return r;
}

static void
messages_out_of_place(void **state)
{
	static const uint8_t types[] = { SSH_MSG_KEXGSS_INIT,
		SSH_MSG_GEX_REQUEST + 1, SSH_MSG_KEXGSS_COMPLETE };
	struct buf b = { 0 };
	struct pair t;

	(void)state;
	for (size_t i = 0; i < sizeof types; i++) {
		buf_reset(&b);
		buf_put_u8(&b, types[i]);
		assert_true(client_gets(&t, &b) < 0);
		pair_close(&t);
	}
	/* Two host keys. */
	buf_reset(&b);
	buf_put_u8(&b, SSH_MSG_KEXGSS_HOSTKEY);
	buf_put_cstring(&b, HOSTKEY);
	assert_int_equal(client_gets(&t, &b), 0);
	assert_int_equal(kex_input(t.c.kex, rd_from_buf(&b)), ERR_PROTOCOL);
	pair_close(&t);
	/* An empty one. */
	buf_reset(&b);
	buf_put_u8(&b, SSH_MSG_KEXGSS_HOSTKEY);
	buf_put_cstring(&b, "");
	assert_int_equal(client_gets(&t, &b), ERR_PROTOCOL);
	pair_close(&t);
	buf_clear(&b);
}

static struct buf
message_of(uint8_t type, size_t numbers, const uint32_t *v)
{
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	for (size_t i = 0; i < numbers; i++)
		buf_put_u32(&b, v[i]);
	assert_int_equal(buf_err(&b), 0);
	return b;
}

/* One of the two, in an exchange by this method that waits for it. */
static void
wait_for_message(struct pair *t, const char *method, bool server)
{
	struct side *to = server ? &t->s : &t->c;
	struct side *from = server ? &t->c : &t->s;

	pair_open(t, method, method, "ssh-ed25519");
	assert_int_equal(kex_start(from->kex), 0);
	assert_int_equal(packet_flush(from->packet), 0);
	assert_int_equal(turn(to), 0);
}

/* A group is asked for once, before anything else, and for such a method. */
static void
groups_out_of_place(void **state)
{
	static const uint32_t sizes[] = { 2048, 3072, 8192 };
	static const uint32_t bad[][3] = { { 3072, 2048, 8192 },
		{ 2048, 8192, 3072 }, { 512, 1024, 1536 },
		{ 9000, 9000, 9000 } };
	struct buf ask = message_of(SSH_MSG_KEXGSS_GROUPREQ, 3, sizes), b;
	struct buf init = { 0 };
	struct pair t;

	(void)state;
	buf_put_u8(&init, SSH_MSG_KEXGSS_INIT);
	buf_put_cstring(&init, "token");
	buf_put_cstring(&init, "value");
	wait_for_message(&t, METHOD, true);
	assert_int_equal(kex_input(t.s.kex, rd_from_buf(&ask)), ERR_PROTOCOL);
	pair_close(&t);
	wait_for_message(&t, GROUPS, true);
	assert_int_equal(kex_input(t.s.kex, rd_from_buf(&init)),
	    ERR_PROTOCOL);
	assert_int_equal(t.s.tokens, 0);
	assert_int_equal(kex_input(t.s.kex, rd_from_buf(&ask)), 0);
	assert_int_equal(kex_input(t.s.kex, rd_from_buf(&ask)), ERR_PROTOCOL);
	pair_close(&t);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		wait_for_message(&t, GROUPS, true);
		b = message_of(SSH_MSG_KEXGSS_GROUPREQ, 3, bad[i]);
		assert_int_equal(kex_input(t.s.kex, rd_from_buf(&b)),
		    ERR_PROTOCOL);
		buf_clear(&b);
		pair_close(&t);
	}
	buf_clear(&ask);
	buf_clear(&init);
}

/* A server's group that is too small, comes twice, or that nobody wants. */
static void
bad_groups(void **state)
{
	static const uint8_t two[] = { 2 };
	uint8_t prime[256], small[128];
	struct buf b = { 0 }, weak = { 0 };
	struct pair t;

	(void)state;
	memset(prime, 0xff, sizeof prime);
	memset(small, 0xff, sizeof small);
	buf_put_u8(&b, SSH_MSG_KEXGSS_GROUP);
	buf_put_mpint(&b, prime, sizeof prime);
	buf_put_mpint(&b, two, sizeof two);
	buf_put_u8(&weak, SSH_MSG_KEXGSS_GROUP);
	buf_put_mpint(&weak, small, sizeof small);
	buf_put_mpint(&weak, two, sizeof two);
	wait_for_message(&t, METHOD, false);
	assert_int_equal(kex_input(t.c.kex, rd_from_buf(&b)), ERR_PROTOCOL);
	pair_close(&t);
	wait_for_message(&t, GROUPS, false);
	assert_true(kex_input(t.c.kex, rd_from_buf(&weak)) < 0);
	assert_int_equal(kex_input(t.c.kex, rd_from_buf(&b)), ERR_PROTOCOL);
	pair_close(&t);
	buf_clear(&b);
	/* No token before the group: nothing was begun. */
	buf_put_u8(&b, SSH_MSG_KEXGSS_CONTINUE);
	buf_put_cstring(&b, "token");
	wait_for_message(&t, GROUPS, false);
	assert_int_equal(kex_input(t.c.kex, rd_from_buf(&b)), ERR_PROTOCOL);
	assert_int_equal(t.c.tokens, 0);
	pair_close(&t);
	buf_clear(&b);
	buf_clear(&weak);
}

/* Whatever is in it, one line is shown and the connection ends. */
static void
an_error_is_bounded(void **state)
{
	struct buf b = { 0 };
	struct pair t;
	size_t mark;

	(void)state;
	buf_put_u8(&b, SSH_MSG_KEXGSS_ERROR);
	buf_put_u32(&b, 1);
	buf_put_u32(&b, 2);
	mark = buf_open_string(&b);
	for (int i = 0; i < 30000; i++)
		buf_put_u8(&b, 0x1b);
	buf_close_string(&b, mark);
	buf_put_cstring(&b, "");
	assert_int_equal(client_gets(&t, &b), ERR_DENIED);
	pair_close(&t);
	buf_clear(&b);
}

/* A second INIT, or tokens before the first. */
static void
a_client_out_of_place(void **state)
{
	struct buf init = { 0 }, more = { 0 };
	struct pair t;

	(void)state;
	buf_put_u8(&init, SSH_MSG_KEXGSS_INIT);
	buf_put_cstring(&init, "token");
	buf_put_cstring(&init, "value");
	buf_put_u8(&more, SSH_MSG_KEXGSS_CONTINUE);
	buf_put_cstring(&more, "token");
	for (int first_more = 0; first_more < 2; first_more++) {
		pair_open(&t, METHOD, METHOD, "ssh-ed25519");
		t.s.need = 3;
		assert_int_equal(kex_start(t.c.kex), 0);
		assert_int_equal(packet_flush(t.c.packet), 0);
		assert_int_equal(turn(&t.s), 0);
		if (first_more) {
			assert_int_equal(kex_input(t.s.kex,
					     rd_from_buf(&more)),
			    ERR_PROTOCOL);
		} else {
			assert_int_equal(kex_input(t.s.kex,
					     rd_from_buf(&init)), 0);
			assert_int_equal(kex_input(t.s.kex,
					     rd_from_buf(&init)),
			    ERR_PROTOCOL);
		}
		pair_close(&t);
	}
	buf_clear(&init);
	buf_clear(&more);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_method),
		cmocka_unit_test(several_tokens),
		cmocka_unit_test(who_is_shown_the_host_key),
		cmocka_unit_test(no_host_key),
		cmocka_unit_test(one_side_only),
		cmocka_unit_test(guesses),
		cmocka_unit_test(a_rekey_waits_for_the_ticket),
		cmocka_unit_test(a_rekey_without_a_ticket),
		cmocka_unit_test(a_message_while_it_waits),
		cmocka_unit_test(another_host_key_in_a_rekey),
		cmocka_unit_test(wrong_mic),
		cmocka_unit_test(complete_too_early),
		cmocka_unit_test(tokens_have_limits),
		cmocka_unit_test(refused_ticket),
		cmocka_unit_test(messages_out_of_place),
		cmocka_unit_test(groups_out_of_place),
		cmocka_unit_test(bad_groups),
		cmocka_unit_test(an_error_is_bounded),
		cmocka_unit_test(a_client_out_of_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
