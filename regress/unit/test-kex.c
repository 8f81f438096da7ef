/* SPDX-License-Identifier: ISC */
/*
 * A client's and a server's kex over a socketpair, with a host key whose
 * "signature" is a keyed hash: every method, rekeys from both sides, wrong
 * guesses, mismatches, and the strict rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/connect/none-switch.h"
#include "crypto/digest.h"
#include "crypto/kem.h"
#include "kex.h"
#include "peer-version.h"

#define CLIENT "SSH-2.0-OpenSSH_9.2"
#define HOSTKEY "the public half of a host key"

struct side {
	struct packet *packet;
	struct kex *kex;
	int done, first, checked, signed_for;
	int refuse; /* check_hostkey's answer */
};

struct pair {
	int fd[2];
	struct side c, s;
};

static void
fake_sign(struct span data, uint8_t *out)
{
	assert_int_equal(digest_hmac(DIGEST_SHA256, HOSTKEY, strlen(HOSTKEY),
			     data.p, data.len, out),
	    0);
}

static int
on_sign(void *arg, const char *alg, struct span data, struct buf *signature)
{
	struct side *s = arg;
	uint8_t mac[32];

	(void)alg;
	s->signed_for++;
	fake_sign(data, mac);
	buf_put(signature, mac, sizeof mac);
	return 0;
}

static int
on_verify(void *arg, const char *alg, struct span blob, struct span data,
    struct span signature)
{
	uint8_t mac[32];

	(void)arg;
	assert_string_equal(alg, "ssh-ed25519");
	assert_true(span_equals(blob, HOSTKEY));
	fake_sign(data, mac);
	if (signature.len != sizeof mac || memcmp(mac, signature.p, 32) != 0)
		return ERR_SIGNATURE;
	return 0;
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
	struct side *s = arg;

	(void)alg;
	assert_true(span_equals(blob, HOSTKEY));
	s->checked++;
	return s->refuse;
}

static void
on_done(void *arg, bool first)
{
	struct side *s = arg;

	s->done++;
	s->first += first ? 1 : 0;
}

static struct kex_proposal
proposal(const char *kex)
{
	return (struct kex_proposal){
		.kex = kex,
		.hostkey = "ssh-ed25519",
		.cipher = "aes128-ctr,aes128-gcm@openssh.com",
		.mac = "hmac-sha2-256-etm@openssh.com",
		.compression = "none",
	};
}

/* Without the peer's identification line if that is to come. */
static void
side_open_for(struct side *s, int fd, bool server,
    const struct kex_proposal *mine, const char *peer)
{
	struct kex_hooks hooks = { .arg = s, .check_hostkey = on_check,
		.hostkey_blob = on_hostkey_blob, .sign = on_sign,
		.verify = on_verify, .done = on_done };

	memset(s, 0, sizeof *s);
	s->packet = packet_new(fd, fd, server);
	assert_non_null(s->packet);
	assert_int_equal(kex_new(&s->kex, s->packet, &hooks, mine,
			     server ? "SSH-2.0-server" : CLIENT, peer), 0);
	if (server)
		assert_int_equal(kex_set_sig_algs(s->kex, "rsa-sha2-512"), 0);
}

static void
side_open(struct side *s, int fd, bool server, const struct kex_proposal *mine)
{
	side_open_for(s, fd, server, mine, server ? CLIENT : "SSH-2.0-server");
}

/* Nobody has logged in. */
static void
pair_open_stranger(struct pair *t, const struct kex_proposal *client,
    const struct kex_proposal *server)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t->fd), 0);
	side_open(&t->c, t->fd[0], false, client);
	side_open(&t->s, t->fd[1], true, server);
}

static void
pair_login(struct pair *t)
{
	assert_int_equal(packet_authenticated(t->c.packet), 0);
	assert_int_equal(packet_authenticated(t->s.packet), 0);
}

/* New keys are welcome at any time. */
static void
pair_open(struct pair *t, const struct kex_proposal *client,
    const struct kex_proposal *server)
{
	pair_open_stranger(t, client, server);
	pair_login(t);
}

static void
side_close(struct side *s)
{
	kex_free(s->kex);
	packet_free(s->packet);
}

static void
pair_close(struct pair *t)
{
	side_close(&t->c);
	side_close(&t->s);
	fd_close(&t->fd[0]);
	fd_close(&t->fd[1]);
}

/* Lets one side read all there is; 0 or the first error. */
static int
step(struct side *s)
{
	struct rd payload, r;
	int err;

	err = packet_flush(s->packet);
	if (err != 0 && err != ERR_AGAIN)
		return err;
	err = packet_fill(s->packet);
	if (err < 0)
		return err == ERR_AGAIN ? 0 : err;
	while ((err = packet_next(s->packet, &payload)) == 1) {
		r = payload;
		if (rd_u8(&r) >= SSH_MSG_USERAUTH_REQUEST)
			continue;
		if ((err = kex_input(s->kex, payload)) != 0)
			return err;
	}
	return err;
}

/* Runs both sides to the end; the first error of either. */
static int
settle(struct pair *t)
{
	int err;

	for (int i = 0; i < 60; i++)
		if ((err = step(&t->c)) != 0 || (err = step(&t->s)) != 0)
			return err;
	return 0;
}

static void
assert_in_step(const struct pair *t, int exchanges)
{
	struct span a = kex_session_id(t->c.kex), b = kex_session_id(t->s.kex);

	assert_int_equal(t->c.done, exchanges);
	assert_int_equal(t->s.done, exchanges);
	assert_int_equal(t->c.first, 1);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.p, b.p, a.len);
	assert_false(kex_running(t->c.kex));
	assert_false(kex_running(t->s.kex));
}

static void
test_every_method(void **state)
{
	(void)state;
	for (size_t i = 0; kem_at(i) != NULL; i++) {
		struct kex_proposal p = proposal(kem_at(i)->name);
		struct pair t;

		pair_open_stranger(&t, &p, &p);
		assert_int_equal(kex_start(t.c.kex), 0);
		assert_int_equal(kex_start(t.s.kex), 0);
		assert_int_equal(settle(&t), 0);
		assert_in_step(&t, 1);
		assert_string_equal(kex_result(t.c.kex)->kex, kem_at(i)->name);
		assert_string_equal(kex_server_sig_algs(t.c.kex),
		    "rsa-sha2-512");
		assert_true(kex_peer_hostbound(t.c.kex));
		assert_true(kex_peer_agent_forward(t.c.kex));
		assert_int_equal(t.c.checked, 1);
		pair_login(&t);
		/* Rekey from either side, and from both at once. */
		assert_int_equal(kex_start(t.c.kex), 0);
		assert_int_equal(settle(&t), 0);
		assert_in_step(&t, 2);
		assert_int_equal(kex_start(t.s.kex), 0);
		assert_int_equal(settle(&t), 0);
		assert_in_step(&t, 3);
		pair_close(&t);
	}
}

static int
put_user_ext(const struct pair *t, const char *sig_algs)
{
	const struct kex_user_ext e = { .sig_algs = sig_algs };

	return kex_put_user_ext(t->s.kex, &e);
}

/* The second EXT_INFO comes to a client that asked for it; none has an effect
 * once the user is authenticated. */
static void
test_user_sig_algs(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open_stranger(&t, &p, &p);
	assert_int_equal(put_user_ext(&t, "too-early"), 0);
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), 0);
	assert_string_equal(kex_server_sig_algs(t.c.kex), "rsa-sha2-512");
	assert_int_equal(put_user_ext(&t, "ssh-ed25519"), 0);
	assert_int_equal(settle(&t), 0);
	assert_string_equal(kex_server_sig_algs(t.c.kex), "ssh-ed25519");
	assert_true(kex_peer_hostbound(t.c.kex)); /* not said again, but true */

	assert_int_equal(packet_authenticated(t.c.packet), 0);
	assert_int_equal(put_user_ext(&t, "ssh-rsa"), 0);
	assert_int_equal(settle(&t), 0);
	assert_string_equal(kex_server_sig_algs(t.c.kex), "ssh-ed25519");
	pair_close(&t);
}

static void
rekey_from_client(struct pair *t, int want)
{
	assert_int_equal(kex_start(t->c.kex), 0);
	assert_int_equal(settle(t), want);
}

static void
test_none(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	static const struct {
		enum kex_none client, server;
		bool client_mac, server_mac;
		const char *cipher, *mac;
	} cases[] = {
		{ KEX_NONE_FIRST, KEX_NONE_NEVER, true, false, "aes128-ctr",
		    "hmac-sha2-256-etm@openssh.com" },
		{ KEX_NONE_NEVER, KEX_NONE_LAST, false, true, "aes128-ctr",
		    "hmac-sha2-256-etm@openssh.com" },
		{ KEX_NONE_FIRST, KEX_NONE_LAST, false, true, "none",
		    "hmac-sha2-256-etm@openssh.com" },
		{ KEX_NONE_FIRST, KEX_NONE_LAST, true, false, "none",
		    "hmac-sha2-256-etm@openssh.com" },
		{ KEX_NONE_FIRST, KEX_NONE_LAST, true, true, "none", "none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pair t;

		pair_open(&t, &p, &p);
		rekey_from_client(&t, 0);
		kex_set_none(t.c.kex, cases[i].client, cases[i].client_mac);
		kex_set_none(t.s.kex, cases[i].server, cases[i].server_mac);
		for (int j = 2; j < 5; j++) {
			rekey_from_client(&t, 0);
			assert_in_step(&t, j);
			for (int dir = 0; dir < 2; dir++) {
				assert_string_equal(packet_cipher_name(
							t.c.packet, dir),
				    cases[i].cipher);
				assert_string_equal(packet_mac_name(
							t.s.packet, dir),
				    cases[i].mac);
			}
		}
		/* And back to a real one. */
		kex_set_none(t.c.kex, KEX_NONE_NEVER, false);
		rekey_from_client(&t, 0);
		assert_string_equal(packet_cipher_name(t.s.packet, PACKET_RX),
		    "aes128-ctr");
		pair_close(&t);
	}
}

/* Whoever finds itself with none without having wished it ends there. */
static void
test_none_unwanted(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256"), bad = p;
	struct pair t;

	(void)state;
	bad.cipher = "none";
	pair_open(&t, &bad, &bad);
	rekey_from_client(&t, ERR_DENIED);
	pair_close(&t);
	/* Offered, but forbidden before the answer came. */
	pair_open(&t, &p, &p);
	rekey_from_client(&t, 0);
	kex_set_none(t.c.kex, KEX_NONE_FIRST, false);
	kex_set_none(t.s.kex, KEX_NONE_LAST, false);
	assert_int_equal(kex_start(t.s.kex), 0);
	kex_set_none(t.s.kex, KEX_NONE_NEVER, false);
	rekey_from_client(&t, ERR_DENIED);
	pair_close(&t);
}

static void
assert_cipher(const struct pair *t, const char *name)
{
	for (int dir = 0; dir < 2; dir++) {
		assert_string_equal(packet_cipher_name(t->c.packet, dir),
		    name);
		assert_string_equal(packet_cipher_name(t->s.packet, dir),
		    name);
	}
}

/* NoneSwitch, and back again for something private. */
static void
test_none_switch(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct client_conf conf = { .algs.none_switch = 1 };
	struct none_switch n;
	struct pair t;

	(void)state;
	log_set_level(LOG_LVL_QUIET);
	pair_open(&t, &p, &p);
	rekey_from_client(&t, 0);
	kex_set_none(t.s.kex, KEX_NONE_LAST, false);
	/* Not without permission, and not with a terminal. */
	assert_int_equal(none_switch_start(&n, &conf, t.c.packet, t.c.kex,
			     NULL), 0);
	conf.algs.none_enabled = 1;
	assert_int_equal(none_switch_start(&n, &conf, t.c.packet, t.c.kex,
			     "a terminal"), 0);
	assert_false(kex_running(t.c.kex));
	assert_true(none_switch_leave(&n));
	/* Beside an exchange of the server's: another one follows. */
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(none_switch_start(&n, &conf, t.c.packet, t.c.kex,
			     NULL), 0);
	assert_int_equal(settle(&t), 0);
	assert_cipher(&t, "aes128-ctr");
	assert_int_equal(none_switch_rekeyed(&n, false), 0);
	assert_int_equal(settle(&t), 0);
	assert_cipher(&t, "none");
	assert_int_equal(none_switch_rekeyed(&n, false), 0);
	assert_true(none_switch_leave(&n));
	assert_true(kex_running(t.c.kex)); /* what is put now waits */
	assert_int_equal(settle(&t), 0);
	assert_cipher(&t, "aes128-ctr");
	rekey_from_client(&t, 0);
	assert_cipher(&t, "aes128-ctr");
	assert_int_equal(none_switch_start(&n, &conf, t.c.packet, t.c.kex,
			     NULL), 0);
	/* In the middle of the change nothing private can begin. */
	assert_false(none_switch_leave(&n));
	assert_int_equal(settle(&t), 0);
	assert_cipher(&t, "none");
	pair_close(&t);
}

static void
test_rekey_from_both_at_once(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open(&t, &p, &p);
	for (int i = 1; i <= 5; i++) {
		assert_int_equal(kex_start(t.c.kex), 0);
		assert_int_equal(kex_start(t.s.kex), 0);
		assert_int_equal(settle(&t), 0);
		assert_in_step(&t, i);
	}
	pair_close(&t);
}

static void
test_no_match(void **state)
{
	struct kex_proposal good = proposal("curve25519-sha256"), bad[5];
	static const int want[] = { ERR_NO_KEX_MATCH, ERR_NO_HOSTKEY_MATCH,
		ERR_NO_CIPHER_MATCH, ERR_NO_MAC_MATCH, ERR_NO_COMP_MATCH };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = good;
	bad[0].kex = "ecdh-sha2-nistp256";
	bad[1].hostkey = "ssh-dss";
	bad[2].cipher = "aes256-ctr";
	bad[3].mac = "hmac-sha1";
	bad[4].compression = "zlib@openssh.com";
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct pair t;

		pair_open(&t, &bad[i], &good);
		assert_int_equal(kex_start(t.c.kex), 0);
		assert_int_equal(settle(&t), want[i]);
		assert_non_null(kex_peer_offer(t.s.kex, want[i]));
		pair_close(&t);
	}
}

/* The client speaks first, with a guess, before it knows the server's
 * identification. */
static void
check_guess(const char *server_kex, const char *server_hostkeys, bool right)
{
	struct kex_proposal client = proposal("curve25519-sha256,"
					      "ecdh-sha2-nistp256"), server;
	char *first = NULL, *hostkey = NULL;
	struct kex_hooks hooks = { .check_hostkey = on_check,
		.verify = on_verify, .done = on_done };
	uint64_t sent;
	struct pair t;

	server = client;
	server.kex = server_kex;
	server.hostkey = server_hostkeys;
	pair_open(&t, &client, &server);
	kex_free(t.c.kex);
	hooks.arg = &t.c;
	assert_int_equal(kex_new(&t.c.kex, t.c.packet, &hooks, &client,
			     CLIENT, NULL),
	    0);
	kex_set_guess(t.c.kex, true);
	assert_int_equal(kex_start(t.c.kex), 0);
	sent = packet_counters(t.c.packet, PACKET_TX).packets;
	assert_int_equal(sent, 2); /* KEXINIT and the guess */
	assert_int_equal(kex_set_remote_id(t.c.kex, "SSH-2.0-server"), 0);
	assert_int_equal(settle(&t), 0);
	assert_in_step(&t, 1);
	/* NEWKEYS and EXT_INFO; a wrong guess costs one more packet. */
	sent = packet_counters(t.c.packet, PACKET_TX).packets - sent;
	assert_int_equal(sent, right ? 2 : 3);
	assert_true(kex_peer_first(t.c.kex, &first, &hostkey));
	assert_int_equal(strncmp(server_kex, first, strlen(first)), 0);
	free(first);
	free(hostkey);
	/* Later exchanges do not guess. */
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), 0);
	assert_in_step(&t, 2);
	pair_close(&t);
}

static void
test_guesses(void **state)
{
	(void)state;
	check_guess("curve25519-sha256,ecdh-sha2-nistp256", "ssh-ed25519",
	    true);
	check_guess("ecdh-sha2-nistp256,curve25519-sha256", "ssh-ed25519",
	    false);
	check_guess("curve25519-sha256", "rsa-sha2-512,ssh-ed25519", false);
	check_guess("ecdh-sha2-nistp256", "ssh-ed25519", false);
}

static void
test_host_key_refused(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open(&t, &p, &p);
	t.c.refuse = ERR_HOSTKEY;
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), ERR_HOSTKEY);
	assert_false(kex_first_done(t.c.kex));
	pair_close(&t);
}

static void
client_says(struct pair *t, uint8_t type, const char *text)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, type);
	if (text != NULL)
		buf_put_cstring(&b, text);
	assert_int_equal(packet_put(t->c.packet, &b), 0);
	buf_clear(&b);
}

/* Terrapin: a packet slipped in before KEXINIT must end a strict exchange. */
static void
test_strict_wants_kexinit_first(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open(&t, &p, &p);
	client_says(&t, SSH_MSG_IGNORE, "x");
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), ERR_PROTOCOL);
	pair_close(&t);
}

/* After its KEXINIT a peer may send nothing but key exchange messages. */
static void
test_foreign_message_in_rekey(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open(&t, &p, &p);
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), 0);
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(packet_postpone(t.c.packet, false), 0);
	client_says(&t, SSH_MSG_CHANNEL_DATA, NULL);
	assert_int_equal(settle(&t), ERR_PROTOCOL);
	pair_close(&t);
}

static void
test_newkeys_out_of_turn(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open(&t, &p, &p);
	client_says(&t, SSH_MSG_NEWKEYS, NULL);
	assert_int_equal(settle(&t), ERR_PROTOCOL);
	pair_close(&t);
}

/* A client gets one signature for nothing; a server some exchanges. */
static void
test_new_keys_before_authentication(void **state)
{
	struct kex_proposal p = proposal("curve25519-sha256");
	struct pair t;

	(void)state;
	pair_open_stranger(&t, &p, &p);
	rekey_from_client(&t, 0);
	assert_in_step(&t, 1);
	rekey_from_client(&t, ERR_KEX_EARLY);
	assert_int_equal(t.s.signed_for, 1);
	pair_close(&t);

	pair_open_stranger(&t, &p, &p);
	rekey_from_client(&t, 0);
	assert_int_equal(packet_authenticated(t.s.packet), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(kex_start(t.s.kex), 0);
		assert_int_equal(settle(&t), 0);
		assert_in_step(&t, 2 + i);
	}
	assert_int_equal(kex_start(t.s.kex), 0);
	assert_int_equal(settle(&t), ERR_KEX_EARLY);
	pair_close(&t);
}

static void
test_export_import(void **state)
{
	struct kex_proposal p = proposal("mlkem768x25519-sha256");
	struct side moved;
	struct buf st;
	struct rd in;
	struct pair t;

	(void)state;
	pair_open(&t, &p, &p);
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), 0);
	buf_init_secret(&st);
	assert_int_equal(packet_export(t.s.packet, &st), 0);
	assert_int_equal(kex_export(t.s.kex, &st), 0);
	side_open_for(&moved, t.fd[1], true, &p, NULL);
	assert_int_equal(kex_peer_traits(moved.kex), 0);
	assert_int_equal(packet_authenticated(moved.packet), 0);
	in = rd_from_buf(&st);
	assert_int_equal(packet_import(moved.packet, &in), 0);
	assert_int_equal(kex_import(moved.kex, &in), 0);
	assert_int_equal(rd_end(&in), 0);
	assert_int_equal(kex_peer_traits(moved.kex),
	    kex_peer_traits(t.s.kex));
	assert_true(kex_peer_traits(moved.kex) & PEER_WAITS_FOR_ANSWERS);
	moved.done = t.s.done;
	moved.first = t.s.first;
	side_close(&t.s);
	t.s = moved;
	/* The hooks point at `moved`, which is gone from the pair's view. */
	assert_int_equal(kex_start(t.c.kex), 0);
	assert_int_equal(settle(&t), 0);
	assert_int_equal(t.c.done, 2);
	assert_int_equal(moved.done, 2);
	buf_clear(&st);
	pair_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_method),
		cmocka_unit_test(test_user_sig_algs),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_none_unwanted),
		cmocka_unit_test(test_none_switch),
		cmocka_unit_test(test_rekey_from_both_at_once),
		cmocka_unit_test(test_no_match),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_host_key_refused),
		cmocka_unit_test(test_strict_wants_kexinit_first),
		cmocka_unit_test(test_foreign_message_in_rekey),
		cmocka_unit_test(test_newkeys_out_of_turn),
		cmocka_unit_test(test_new_keys_before_authentication),
		cmocka_unit_test(test_export_import),
	};

	log_init("test-kex", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
