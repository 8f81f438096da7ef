/* SPDX-License-Identifier: ISC */
/*
 * The client's authentication, against a server that the test plays. All of it
 * fails the test that runs when something else happens than is expected.
 */
#ifndef HPN_USERAUTH_HOST_H
#define HPN_USERAUTH_HOST_H

#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/prompt.h"
#include "client/auth/userauth.h"
#include "keys/key.h"

/* Keys of the user: ed25519, but key 1 is RSA and has the passphrase
 * "secret". */
enum { USER_KEYS = 5 };
extern struct key *user_keys[USER_KEYS];

/* One conversation. */
struct userauth_host {
	struct client_conf conf;
	struct packet *packet;
	struct userauth *ua;
	int peer;
	struct buf message; /* the client's last one */
};
extern struct userauth_host auth_host;

/* For cmocka: of all tests, and of each one. */
int login_set_up_all(void **state);
int login_tear_down_all(void **state);
int login_set_up(void **state);
int login_tear_down(void **state);
#define LOGIN_TEST(f)                                                         \
	cmocka_unit_test_setup_teardown(f, login_set_up, login_tear_down)

/* A new login, with params beside the usual ones. */
void login_anew(struct userauth_params params);
/* Adds user_keys[i] to the configuration. */
void add_key(int i);
/* The user answers each prompt with the next line of text. */
void answer_with(const char *text);

/* Starts the login: the service request and the first request leave together.
 * The latter is yet to be read. */
void start(void);
void accept_service(void);
/* Both, for a user without keys: the client asks for the methods. */
void start_without_keys(void);

/* What the client sent next; rd is behind the type, or behind the method. */
struct rd sent(uint8_t type);
struct rd sent_request(const char *method);
bool nothing_sent(void);
/* An offer of key i; a request that key i has signed, checked. bound: it names
 * the host key. */
void expect_probe(const char *method, int i, const char *alg);
void expect_signed(const char *method, int i, const char *alg, bool bound);
/* The same with the usual method and algorithm. */
void expect_offer(int i);
void expect_signature(int i);

/* The server's answers; body is cleared. The result of userauth_input(). */
int give(uint8_t type, struct buf *body);
int fail_with(const char *methods, bool partial);
int accept_key(int i, const char *alg);
/* Answers with which the client goes on, and ends. */
void welcome(int i);
void refused(const char *methods);
void denied(const char *methods);
void succeed(const char *method);

#endif
