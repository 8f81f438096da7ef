/* SPDX-License-Identifier: ISC */
/* What the monitor lets be asked, and when. The test plays hpnsshd-auth. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "keys/key.h"
#include "regress/unit/monitor-host.h"
#include "regress/unit/no-superuser.h"
#include "server/pty.h"

static int
ask_sign(size_t hash_len)
{
	return ask_signature(MONITOR_SIGN, hash_len);
}

static int
ask_user(const char *name)
{
	struct buf b = { 0 };
	int r;

	buf_put_cstring(&b, name);
	buf_put_cstring(&b, "ssh-connection");
	r = ask(MONITOR_USER, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

static void
nothing_out_of_its_phase(void **state)
{
	static const struct {
		enum monitor_phase phase;
		enum monitor_request what;
	} rows[] = {
		{ MONITOR_PHASE_KEX, MONITOR_TRY },
		{ MONITOR_PHASE_KEX, MONITOR_TRY_ANSWER },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_TRY },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_SIGN },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_USER },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_HAND_OVER },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_PTY },
		{ MONITOR_PHASE_KEX, MONITOR_HAND_OVER },
		{ MONITOR_PHASE_KEX, MONITOR_PTY },
		{ MONITOR_PHASE_KEX, MONITOR_SIGN_REKEY },
		{ MONITOR_PHASE_AUTH, MONITOR_SIGN },
		{ MONITOR_PHASE_AUTH, MONITOR_SIGN_REKEY },
		{ MONITOR_PHASE_AUTH, MONITOR_USER },
		{ MONITOR_PHASE_AUTH, MONITOR_TRY_ANSWER },
		{ MONITOR_PHASE_AUTH, MONITOR_HAND_OVER },
		{ MONITOR_PHASE_AUTH, MONITOR_PTY },
		{ MONITOR_PHASE_KEX, MONITOR_GSS_STEP_REKEY },
		{ MONITOR_PHASE_KEX, MONITOR_GSS_SIGN_REKEY },
		{ MONITOR_PHASE_AUTH, MONITOR_GSS_STEP },
		{ MONITOR_PHASE_AUTH, MONITOR_GSS_SIGN },
		{ MONITOR_PHASE_AUTH, MONITOR_GSS_STEP_REKEY },
		{ MONITOR_PHASE_AUTH, MONITOR_GSS_SIGN_REKEY },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_GSS_STEP },
		{ MONITOR_PHASE_DIALOGUE, MONITOR_GSS_SIGN },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_GSS_STEP },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_GSS_SIGN_REKEY },
		{ MONITOR_PHASE_SESSION, MONITOR_GSS_STEP },
		{ MONITOR_PHASE_SESSION, MONITOR_GSS_SIGN },
		{ MONITOR_PHASE_KEX, MONITOR_PTY_END },
		{ MONITOR_PHASE_AUTH, MONITOR_PTY_END },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_PTY },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_PTY_END },
		{ MONITOR_PHASE_KEX, MONITOR_PROVE },
		{ MONITOR_PHASE_AUTH, MONITOR_PROVE },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_PROVE },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_SIGN },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_SIGN_REKEY },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_TRY },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_TRY_ANSWER },
		{ MONITOR_PHASE_ACCEPTED, MONITOR_USER },
		{ MONITOR_PHASE_SESSION, MONITOR_LOG },
		{ MONITOR_PHASE_SESSION, MONITOR_SIGN },
		{ MONITOR_PHASE_SESSION, MONITOR_USER },
		{ MONITOR_PHASE_SESSION, MONITOR_TRY },
		{ MONITOR_PHASE_SESSION, MONITOR_TRY_ANSWER },
		{ MONITOR_PHASE_SESSION, MONITOR_HAND_OVER },
		{ MONITOR_PHASE_OVER, MONITOR_LOG },
		{ MONITOR_PHASE_SESSION, MONITOR_REQUEST_COUNT },
		{ MONITOR_PHASE_SESSION, (enum monitor_request)255 },
		{ MONITOR_PHASE_SESSION, (enum monitor_request)0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		m->phase = rows[i].phase;
		assert_int_equal(ask(rows[i].what, NULL, 0), ERR_PROTOCOL);
	}
}

static void
only_hashes_are_signed(void **state)
{
	/* The third is that of SHA-1, which is not configured. */
	static const size_t wrong[] = { 0, 1, 20, 19, 31, 33, 65, 128 };
	struct buf answer = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		memset(m->asked, 0, sizeof m->asked);
		assert_int_equal(ask_sign(wrong[i]), ERR_PROTOCOL);
	}
	assert_int_equal(m->session_id_len, 0);
	memset(m->asked, 0, sizeof m->asked);
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_true(buf_len(&answer) > 64);
	/* The first one stays the session's identifier. */
	assert_int_equal(m->session_id_len, 32);
	m->phase = MONITOR_PHASE_SESSION;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(ask_signature(MONITOR_SIGN_REKEY, wrong[i]),
		    ERR_PROTOCOL);
	assert_int_equal(ask_signature(MONITOR_SIGN_REKEY, 64), 0);
	assert_int_equal(m->session_id_len, 32);
	buf_clear(&answer);
}

/* A taken over hpnsshd-auth gets one signature of the host, not any number
 * of them to play the host elsewhere. */
static void
one_signature_before_login(void **state)
{
	struct buf answer = { 0 };

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_sign(32), ERR_PROTOCOL);
	buf_clear(&answer);
}

/* The user's process gets them at a fixed pace: one for each host key at once,
 * then 100 in a second, and after a rest no more at once than before. */
static void
signatures_have_a_pace(void **state)
{
	uint64_t busy_ms = 0, now_ms = 1000 * 1000, waited_ms = 0;
	int free_of_charge = 0;

	(void)state;
	while (free_of_charge <= HOSTKEYS_MAX &&
	    monitor_sign_wait_ms(&busy_ms, now_ms) == 0)
		free_of_charge++;
	assert_int_equal(free_of_charge, HOSTKEYS_MAX);
	for (int i = 0; i < 500; i++) {
		uint64_t wait_ms = monitor_sign_wait_ms(&busy_ms, now_ms);

		now_ms += wait_ms;
		waited_ms += wait_ms;
	}
	assert_in_range(waited_ms, 4990, 5010);
	/* A rest makes good for it. */
	now_ms += 3600 * 1000;
	for (int i = 0; i < free_of_charge; i++)
		assert_int_equal(monitor_sign_wait_ms(&busy_ms, now_ms), 0);
	assert_int_not_equal(monitor_sign_wait_ms(&busy_ms, now_ms), 0);
}

/* Both kinds of signatures count, whoever asks for them. */
static void
every_signature_of_a_session_counts(void **state)
{
	struct buf answer = { 0 }, b = { 0 };
	uint64_t before_ms;

	(void)state;
	m->phase = MONITOR_PHASE_SESSION;
	m->session_id_len = 32;
	assert_int_equal(ask_signature(MONITOR_SIGN_REKEY, 32), 0);
	drain_answer(&answer);
	before_ms = m->sign_busy_ms;
	assert_int_not_equal(before_ms, 0);
	buf_put_cstring(&b, "rsa-sha2-512");
	buf_put_string_buf(&b, &m->state.keys.v[0].public);
	assert_int_equal(ask(MONITOR_PROVE, buf_data(&b), buf_len(&b)), 0);
	assert_true(m->sign_busy_ms > before_ms);
	/* Also one that comes to nothing: a token costs more than it. */
	before_ms = m->sign_busy_ms;
	(void)!ask(MONITOR_GSS_STEP_REKEY, NULL, 0);
	assert_true(m->sign_busy_ms > before_ms);
	buf_clear(&b);
	buf_clear(&answer);
}

/* A proof is about this session and one of our keys: the user's process has
 * no say in what is signed. */
static void
a_proof_belongs_to_its_session(void **state)
{
	const struct hostkey *hk = &m->state.keys.v[0];
	struct buf b = { 0 }, answer = { 0 }, data = { 0 };
	struct rd r;

	(void)state;
	m->session_id_len = 32;
	m->session_id[0] = 5;
	m->phase = MONITOR_PHASE_SESSION;
	buf_put_cstring(&b, "rsa-sha2-512");
	buf_put_string_buf(&b, &hk->public);
	assert_int_equal(ask(MONITOR_PROVE, buf_data(&b), buf_len(&b)), 0);
	drain_answer(&answer);
	r = rd_from_buf(&answer);
	(void)rd_u8(&r);
	buf_put_cstring(&data, "hostkeys-prove-00@openssh.com");
	buf_put_string(&data, m->session_id, 32);
	buf_put_string_buf(&data, &hk->public);
	assert_int_equal(key_verify(hk->key, "ssh-ed25519",
			     buf_span(&data),
			     rd_string(&r)),
	    0);
	/* Not one of ours: no signature, and no end either. */
	buf_reset(&b);
	buf_put_cstring(&b, "rsa-sha2-512");
	buf_put_string(&b, "\0\0\0\013ssh-ed25519", 15);
	buf_reset(&answer);
	assert_int_equal(ask(MONITOR_PROVE, buf_data(&b), buf_len(&b)), 0);
	drain_answer(&answer);
	assert_int_equal(buf_len(&answer), 1 + 4);
	buf_clear(&data);
	buf_clear(&answer);
	buf_clear(&b);
}

static void
a_name_needs_a_key_exchange(void **state)
{
	(void)state;
	assert_int_equal(ask_user("nobody-at-all"), ERR_PROTOCOL);
}

static void
a_name_is_given_once(void **state)
{
	struct buf answer = { 0 };

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("nobody-at-all"), 0);
	assert_int_equal(m->phase, MONITOR_PHASE_AUTH);
	assert_false(m->login->allowed);
	m->phase = MONITOR_PHASE_KEX;
	assert_int_equal(ask_user("root"), ERR_PROTOCOL);
	buf_clear(&answer);
}

/* No proof, no entry: a made-up signature over anything. */
static void
wrong_signature(void **state)
{
	struct buf b = { 0 }, answer = { 0 };
	const struct buf *blob = &m->state.keys.v[0].public;

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("root"), 0);
	drain_answer(&answer);
	buf_put_bool(&b, true); /* signed */
	buf_put_cstring(&b, "ssh-ed25519");
	buf_put_string_buf(&b, blob);
	buf_put_bool(&b, false);
	buf_put_string(&b, NULL, 0);
	buf_put_string(&b, "nonsense", 8);
	assert_int_equal(ask_try(AUTH_METHOD_PUBLICKEY, buf_data(&b),
			     buf_len(&b)),
	    0);
	assert_int_equal(m->phase, MONITOR_PHASE_AUTH);
	assert_false(m->login->complete);
	assert_int_equal(m->login->failures, 1);
	buf_clear(&b);
	buf_clear(&answer);
}

/* The number of the method is a stranger's, too; and no method of the table
 * takes fields that are cut off. */
static void
methods_are_those_of_the_table(void **state)
{
	struct buf answer = { 0 };

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("nobody-at-all"), 0);
	drain_answer(&answer);
	assert_int_not_equal(ask(MONITOR_TRY, NULL, 0), 0);
	for (int i = AUTH_METHOD_COUNT; i <= UINT8_MAX; i++)
		assert_int_equal(ask_try((uint8_t)i, NULL, 0), ERR_PROTOCOL);
	for (uint8_t i = 0; i < AUTH_METHOD_COUNT; i++) {
		assert_int_not_equal(ask_try(i, "\0\0\0\011x", 5), 0);
		assert_false(m->login->complete);
	}
	assert_int_equal(m->phase, MONITOR_PHASE_AUTH);
	buf_clear(&answer);
}

/* The monitor's own count ends it, whatever hpnsshd-auth does. */
static void
tries_are_limited(void **state)
{
	struct buf b = { 0 }, answer = { 0 };
	int r = 0, tries = 0;

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("nobody-at-all"), 0);
	drain_answer(&answer);
	buf_put_bool(&b, false); /* not signed */
	buf_put_cstring(&b, "ssh-ed25519");
	buf_put_string(&b, "nonsense", 8);
	while (r == 0 && tries < 100) {
		r = ask_try(AUTH_METHOD_PUBLICKEY, buf_data(&b),
		    buf_len(&b));
		if (r == 0) {
			drain_answer(&answer);
			tries++;
		}
	}
	assert_int_equal(r, ERR_PROTOCOL);
	assert_int_equal(tries, m->login->conf.login.max_auth_tries + 1);
	for (r = 0, tries = 0; r == 0 && tries < 3; tries++)
		r = ask_try(AUTH_METHOD_NONE, NULL, 0);
	assert_int_equal(r, ERR_PROTOCOL);
	buf_clear(&b);
	buf_clear(&answer);
}

/* What costs the client nothing of its tries is not free without end. */
static void
tries_of_any_kind_are_limited(void **state)
{
	struct buf answer = { 0 };
	int r = 0, tries = 0;

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("nobody-at-all"), 0);
	drain_answer(&answer);
	while (r == 0 && tries < 5000) {
		m->login->failures = 0;
		r = ask_try(AUTH_METHOD_NONE, NULL, 0);
		buf_reset(&answer);
		if (r == 0) {
			drain_answer(&answer);
			tries++;
		}
	}
	assert_int_equal(r, ERR_PROTOCOL);
	assert_int_equal(tries, 1024);
	buf_clear(&answer);
}

/* Each dialogue has a module do something, be it answered or not. */
static void
a_dialogue_that_is_given_up_counts(void **state)
{
	struct monitor_verdict v = { .result = MONITOR_PROMPTS };
	struct buf answer = { 0 }, b = { 0 };
	uint8_t reply = MONITOR_TRY_ANSWER;
	int r = 0;

	(void)state;
	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("nobody-at-all"), 0);
	drain_answer(&answer);
	buf_put_u8(&b, MONITOR_TRY);
	buf_put_u8(&b, AUTH_METHOD_NONE);
	assert_int_equal(fd_send_msg(peer, &b), 0);
	buf_reset(&answer);
	assert_int_equal(monitor_converse(m, &v, &answer), ERR_CANCELLED);
	assert_int_equal(m->login->failures, 1);
	/* So do answers, should a module ask for ever. */
	buf_clear(&m->pending);
	buf_reset(&b);
	buf_put_u8(&b, reply);
	for (int i = 0; i < 1024 && r == 0; i++) {
		drain_answer(&answer);
		assert_int_equal(fd_send_msg(peer, &b), 0);
		buf_reset(&answer);
		r = monitor_converse(m, &v, &answer);
	}
	assert_int_equal(r, 0);
	assert_int_equal(fd_send_msg(peer, &b), 0);
	assert_int_equal(monitor_converse(m, &v, &answer), ERR_LIMIT);
	buf_clear(&b);
	buf_clear(&answer);
}

static int logged;

static void
count_line(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	assert_string_equal(text + strlen(text) - strlen(" [preauth]"),
	    " [preauth]");
	assert_null(strchr(text, '\n'));
	logged++;
}

/* hpnsshd-auth has no need of more lines than a login makes; one that has
 * been taken over can not fill the log, and makes no line of its own. */
static void
lines_are_limited(void **state)
{
	static const char line[] = "\003\0\0\0\007two\nbut";
	static const char fillers[] = "a\n\033\\\303\302\x9b";
	char longer[5000];

	(void)state;
	log_set_level(LOG_LVL_INFO);
	log_to_sink(count_line, NULL);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ask(MONITOR_LOG, line, sizeof line - 1), 0);
	assert_in_range(logged, 100, 257);
	/* The mark is no part of the text, and stays however long that is and
	 * gets when it is escaped. */
	for (size_t len = 0; len <= 4096; len += len < 900 ? 100 : 17) {
		memset(longer, fillers[len % (sizeof fillers - 1)],
		    sizeof longer);
		memcpy(longer, "\003\0\0", 3);
		longer[3] = (char)(len >> 8);
		longer[4] = (char)len;
		m->lines = logged = 0;
		assert_int_equal(ask(MONITOR_LOG, longer, 5 + len), 0);
		assert_int_equal(logged, 1);
	}
	log_to_sink(NULL, NULL);
	log_to_stderr();
	memset(longer, 'a', sizeof longer);
	memcpy(longer, "\003\0\0\023\203", 5); /* 4995 bytes */
	assert_int_equal(ask(MONITOR_LOG, longer, sizeof longer), ERR_LIMIT);
}

static void
truncated_fields(void **state)
{
	(void)state;
	assert_int_not_equal(ask(MONITOR_SIGN, "\0\0\0\011ssh", 7), 0);
	assert_int_not_equal(ask(MONITOR_LOG, "\003\0\0\0\011x", 6), 0);
	assert_int_not_equal(ask(MONITOR_LOG, "\377\0\0\0\001x", 6), 0);
	m->phase = MONITOR_PHASE_SESSION;
	assert_int_not_equal(ask(MONITOR_PTY, "x", 1), 0);
	assert_int_not_equal(ask(MONITOR_PTY_END, "\0\0\0\2x", 5), 0);
}

/* ---- terminals --------------------------------------------------------- */

static void
log_in(void)
{
	struct buf answer = { 0 };

	assert_int_equal(ask_sign(32), 0);
	drain_answer(&answer);
	assert_int_equal(ask_user("nobody-at-all"), 0);
	drain_answer(&answer);
	buf_clear(&answer);
	m->phase = MONITOR_PHASE_SESSION;
}

/* True if there was one; fds may be NULL. */
static bool
get_pty(char name[PTY_NAME_MAX], int fds[2])
{
	struct buf answer = { 0 };
	int own[2];
	struct span s;
	struct rd r;
	bool ok;

	fds = fds != NULL ? fds : own;
	assert_int_equal(ask(MONITOR_PTY, NULL, 0), 0);
	drain_answer(&answer);
	r = rd_from_buf(&answer);
	(void)rd_u8(&r);
	s = rd_string(&r);
	(void)rd_string(&r);
	assert_int_equal(rd_end(&r), 0);
	assert_true(s.len < PTY_NAME_MAX);
	memcpy(name, s.p, s.len);
	name[s.len] = '\0';
	ok = s.len > 0;
	buf_clear(&answer);
	if (ok)
		assert_int_equal(fd_receive_fds(peer, fds, 2), 0);
	if (ok && fds == own) {
		close(own[0]);
		close(own[1]);
	}
	return ok;
}

static void
end_pty(const char *name)
{
	struct buf b = { 0 }, answer = { 0 };

	buf_put_cstring(&b, name);
	assert_int_equal(ask(MONITOR_PTY_END, buf_data(&b), buf_len(&b)), 0);
	drain_answer(&answer);
	buf_clear(&b);
	buf_clear(&answer);
}

/* What is on record is what the monitor has opened, whatever the user's
 * process says of it. */
static void
terminals_are_opened_here(void **state)
{
	char name[PTY_NAME_MAX], slave[PTY_NAME_MAX];
	int fds[2];

	(void)state;
	log_in();
	assert_true(get_pty(name, fds));
	assert_int_equal(strncmp(name, "/dev/pts/", 9), 0);
	assert_int_equal(ptsname_r(fds[0], slave, sizeof slave), 0);
	assert_string_equal(name, slave);
	assert_int_equal(ttyname_r(fds[1], slave, sizeof slave), 0);
	assert_string_equal(name, slave);
	assert_int_equal(m->tty_count, 1);
	assert_string_equal(m->ttys[0], name);
	end_pty("/dev/pts/0000");
	end_pty("/dev/tty1");
	end_pty("");
	assert_int_equal(m->tty_count, 1);
	end_pty(name);
	assert_int_equal(m->tty_count, 0);
	end_pty(name);
	close(fds[0]);
	close(fds[1]);
}

static void
terminals_need_permission(void **state)
{
	char name[PTY_NAME_MAX];

	(void)state;
	log_in();
	m->login->conf.session.permit_tty = 0;
	assert_false(get_pty(name, NULL));
	m->login->conf.session.permit_tty = 1;
	m->login->permits.pty = false;
	assert_false(get_pty(name, NULL));
	m->login->permits.pty = true;
	assert_true(get_pty(name, NULL));
}

/* No more than sessions; one that has ended makes room. */
static void
terminals_are_limited(void **state)
{
	char name[PTY_NAME_MAX], other[PTY_NAME_MAX];
	int fds[11][2];

	(void)state;
	log_in();
	assert_int_equal(m->login->conf.session.max_sessions, 10);
	for (int i = 0; i < 10; i++)
		assert_true(get_pty(name, fds[i]));
	assert_false(get_pty(other, NULL));
	end_pty(name);
	assert_true(get_pty(name, fds[10]));
	assert_false(get_pty(other, NULL));
	monitor_logout_all(m);
	assert_int_equal(m->tty_count, 0);
	for (int i = 0; i < 11; i++) {
		close(fds[i][0]);
		close(fds[i][1]);
	}
}

/* The system gives its name away again: one record, not two. */
static void
terminals_may_be_closed_without_a_word(void **state)
{
	char name[PTY_NAME_MAX], again[PTY_NAME_MAX];
	int fds[2] = { -1, -1 };

	(void)state;
	log_in();
	assert_true(get_pty(name, fds));
	close(fds[0]);
	close(fds[1]);
	assert_true(get_pty(again, fds));
	/* Unless somebody else was quicker. */
	assert_int_equal(m->tty_count, strcmp(name, again) == 0 ? 1 : 2);
	close(fds[0]);
	close(fds[1]);
}

/* The user's process of a login that may do SFTP only gets what new keys need,
 * and its end for anything else. */
static void
nothing_but_new_keys_for_sftp(void **state)
{
	static const enum monitor_request others[] = { MONITOR_PTY,
		MONITOR_PTY_END, MONITOR_PROVE, MONITOR_LOG, MONITOR_SIGN,
		MONITOR_USER, MONITOR_TRY, MONITOR_TRY_ANSWER,
		MONITOR_HAND_OVER, MONITOR_GSS_STEP, MONITOR_GSS_SIGN };
	struct buf b = { 0 }, answer = { 0 };

	(void)state;
	log_in();
	m->sftp_only = true;
	buf_put_cstring(&b, "rsa-sha2-512");
	buf_put_string_buf(&b, &m->state.keys.v[0].public);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		memset(m->asked, 0, sizeof m->asked);
		assert_int_equal(ask(others[i], NULL, 0), ERR_PROTOCOL);
		/* Nor with what another login would get an answer to. */
		assert_int_equal(ask(others[i], buf_data(&b), buf_len(&b)),
		    ERR_PROTOCOL);
	}
	assert_int_equal(m->tty_count, 0);
	assert_int_equal(ask_signature(MONITOR_SIGN_REKEY, 32), 0);
	drain_answer(&answer);
	assert_true(buf_len(&answer) > 64);
	buf_clear(&b);
	buf_clear(&answer);
}

static void
an_end_is_noticed(void **state)
{
	(void)state;
	close(peer);
	peer = -1;
	assert_int_equal(monitor_step(m), ERR_EOF);
}

static void
login_takes_no_longer_than_it_may(void **state)
{
	(void)state;
	m->deadline_ms = clock_ms() + 20;
	assert_int_equal(monitor_step(m), ERR_TIMEOUT);
}

/* One exchange hash is signed before the login, by the host's key or by the
 * context of GSSAPI; and without such an exchange there is nothing to ask. */
static void
test_one_exchange_of_either_kind(void **state)
{
	static const uint8_t token[] = { 0, 0, 0, 1, 't' };

	(void)state;
	assert_int_equal(ask(MONITOR_GSS_STEP, token, sizeof token),
	    ERR_PROTOCOL);
	m->session_id_len = 32; /* there was one by GSSAPI */
	assert_int_equal(ask_sign(32), ERR_PROTOCOL);
}

/* Whoever has taken hpnsshd-auth over cannot keep the monitor from its work by
 * staying. */
static void
a_child_that_stays_is_killed(void **state)
{
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	assert_int_equal(monitor_reap(m, pid, "a child", 20),
	    MONITOR_STATUS_FATAL);
	assert_int_equal(kill(pid, 0), -1);
	pid = fork();
	if (pid == 0)
		_exit(3);
	assert_int_equal(monitor_reap(m, pid, "a child", 60000), 3);
}

int
main(void)
{
#define TEST(fn)                                                              \
	cmocka_unit_test_setup_teardown(fn, monitor_setup, monitor_teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_out_of_its_phase),
		TEST(only_hashes_are_signed),
		TEST(a_proof_belongs_to_its_session),
		TEST(a_name_needs_a_key_exchange),
		TEST(a_name_is_given_once),
		TEST(wrong_signature),
		TEST(one_signature_before_login),
		TEST(signatures_have_a_pace),
		TEST(every_signature_of_a_session_counts),
		TEST(methods_are_those_of_the_table),
		TEST(tries_are_limited),
		TEST(tries_of_any_kind_are_limited),
		TEST(a_dialogue_that_is_given_up_counts),
		TEST(lines_are_limited),
		TEST(truncated_fields),
		TEST(terminals_are_opened_here),
		TEST(terminals_need_permission),
		TEST(terminals_are_limited),
		TEST(terminals_may_be_closed_without_a_word),
		TEST(nothing_but_new_keys_for_sftp),
		TEST(an_end_is_noticed),
		TEST(login_takes_no_longer_than_it_may),
		TEST(a_child_that_stays_is_killed),
		TEST(test_one_exchange_of_either_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
