/* SPDX-License-Identifier: ISC */
#include "regress/unit/tokens-host.h"
#include "regress/unit/agent-host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "keys/agent-wire.h"

struct agent_host t_host;
struct key *key;
int fd, other;
char *library;

/* ---- what helpers do ----------------------------------------------------- */

static void
put_file(const char *name, const struct buf *content)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", temp_dir, name);
	assert_int_equal(buf_err(content), 0);
	assert_int_equal(file_replace(path, buf_data(content),
	    buf_len(content), 0600), 0);
}

void
drop_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", temp_dir, name);
	(void)unlink(path);
}

/* The answer number n of each helper. */
void
answer_is(int n, const struct buf *body)
{
	struct buf framed = { 0 };
	char name[32];

	snprintf(name, sizeof name, "answer.%d", n);
	buf_put_string_buf(&framed, body);
	put_file(name, &framed);
	buf_clear(&framed);
}

void
answer_list(int n, bool wants_login)
{
	struct p11_list list = { 0 };
	struct key *copy = NULL;
	struct buf b = { 0 };

	assert_int_equal(key_public_of(key, &copy), 0);
	assert_int_equal(p11_list_add_key(&list, copy, "label", 0), 0);
	assert_int_equal(p11_list_add_token(&list, "my token", wants_login,
	    false), 0);
	p11_put_head(&b, P11_LIST, P11_DONE);
	assert_int_equal(p11_put_list(&list, &b), 0);
	answer_is(n, &b);
	p11_list_clear(&list);
	buf_clear(&b);
}

void
answer_signature(int n, const char *data)
{
	struct buf b = { 0 }, made = { 0 };

	assert_int_equal(key_sign(key, "ssh-ed25519", span_text(data), &made),
	    0);
	p11_put_head(&b, P11_SIGN, P11_DONE);
	buf_put_string_buf(&b, &made);
	answer_is(n, &b);
	buf_clear(&made);
	buf_clear(&b);
}

void
answer_status(int n, enum p11_op op, enum p11_status status)
{
	struct buf b = { 0 };

	p11_put_head(&b, op, status);
	if (status == P11_NEEDS_PIN) {
		buf_put_cstring(&b, "my token");
		buf_put_bool(&b, false);
	}
	answer_is(n, &b);
	buf_clear(&b);
}

/* Helpers are process groups, note that they run, give answer.1, answer.2 and
 * so on, and end or hang when there is no more. */
void
helpers(const char *at_last)
{
	char text[1024], *path;

	snprintf(text, sizeof text, "#!/usr/bin/setsid /bin/sh\ncd %s\n"
		 "echo $$ >>started\nn=0\n"
		 "while len=$(head -c 4 | od -An -tu4 --endian=big) &&"
		 " test \"$len\"; do\nhead -c $len >>asked\nn=$((n+1))\n"
		 "cat answer.$n 2>/dev/null || %s\ndone\n", temp_dir, at_last);
	path = temp_file("helper", text);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(setenv("SSH_PKCS11_HELPER", path, 1), 0);
	free(path);
	drop_file("started");
	drop_file("asked");
	for (int i = 1; i < 9; i++) {
		char name[32];

		snprintf(name, sizeof name, "answer.%d", i);
		drop_file(name);
	}
}

/* How many there were; *last is the newest. */
int
started(pid_t *last)
{
	struct buf b = { 0 };
	char path[128], *text, *p;
	int n = 0;

	snprintf(path, sizeof path, "%s/started", temp_dir);
	(void)!file_read(path, &b, 10000);
	assert_non_null(text = buf_dup_string(&b));
	for (p = text; *p != '\0'; p = strchr(p, '\n') + 1) {
		*last = (pid_t)atoi(p);
		n++;
	}
	free(text);
	buf_clear(&b);
	return n;
}

bool
is_gone(pid_t pid)
{
	uint64_t began = clock_ms();

	while (kill(pid, 0) == 0 && clock_ms() - began < LONG_MS)
		assert_int_equal(loop_turn(t_host.loop, 20), 0);
	return kill(pid, 0) == -1 && errno == ESRCH;
}

/* A program in place of a window: notes what is asked in DIR/questions, and
 * says what DIR/say has. */
void
askpass(const char *say)
{
	char text[512], *path;

	snprintf(text, sizeof text, "#!/bin/sh\n"
		 "echo \"$SSH_ASKPASS_PROMPT|$1\" >>%s/questions\n"
		 "test \"$SSH_ASKPASS_PROMPT\" = none && exec sleep 60\n"
		 "cat %s/say\n", temp_dir, temp_dir);
	path = temp_file("askpass", text);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(setenv("SSH_ASKPASS", path, 1), 0);
	assert_int_equal(setenv("SSH_ASKPASS_REQUIRE",
	    say != NULL ? "force" : "never", 1), 0);
	free(path);
	free(temp_file("say", say != NULL ? say : ""));
	drop_file("questions");
}

/* What was, but for notices: they may be taken away before they are noted. */
void
assert_asked(const char *want)
{
	char path[128], *text, *question;
	struct buf b = { 0 };

	snprintf(path, sizeof path, "%s/questions", temp_dir);
	(void)!file_read(path, &b, 10000);
	assert_non_null(text = buf_dup_string(&b));
	question = str_has_prefix(text, "none|") ? strchr(text, '\n') + 1 :
						   text;
	assert_string_equal(question, want);
	free(text);
	buf_clear(&b);
}

/* ---- requests ------------------------------------------------------------ */

void
put_provider(struct buf *b, const char *path, const char *pin,
    const struct buf *constraints)
{
	buf_put_u8(b, constraints != NULL ? AGENT_ADD_PROVIDER_CONSTRAINED :
					    AGENT_ADD_PROVIDER);
	buf_put_cstring(b, path);
	buf_put_cstring(b, pin);
	if (constraints != NULL)
		buf_put_buf(b, constraints);
}

int
add_provider(const char *path, const char *pin)
{
	struct buf b = { 0 };

	put_provider(&b, path, pin, NULL);
	return agent_host_ask(&t_host, fd, &b);
}

int
remove_provider(void)
{
	struct buf b = { 0 };

	put_provider(&b, library, "", NULL);
	((uint8_t *)(uintptr_t)buf_data(&b))[0] = AGENT_REMOVE_PROVIDER;
	return agent_host_ask(&t_host, fd, &b);
}

int
answered(int client)
{
	struct buf b = { 0 };
	int type = -1;

	if (agent_host_answer(&t_host, client, &b, LONG_MS))
		type = buf_data(&b)[0];
	buf_clear(&b);
	return type;
}

int
sign(int client, const struct key *k)
{
	agent_host_send_sign(client, k);
	return answered(client);
}

int
lock(bool on)
{
	struct buf b = { 0 };

	agent_host_put_lock(&b, on, "word");
	return agent_host_ask(&t_host, other, &b);
}

/* Other clients are answered meanwhile. */
void
assert_goes_on(void)
{
	struct key *plain = NULL;
	struct buf b = { 0 };

	assert_int_equal(key_generate("ed25519", 0, &plain), 0);
	agent_host_put_add(&b, plain, "plain", NULL);
	assert_int_equal(agent_host_ask(&t_host, other, &b), AGENT_SUCCESS);
	assert_int_equal(sign(other, plain), AGENT_SIGN_RESPONSE);
	key_free(plain);
}
