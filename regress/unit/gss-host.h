/* SPDX-License-Identifier: ISC */
/*
 * The acceptor's half of gss/gss.h for tests of the monitor, without a ticket:
 * a token "go on" is answered with "answer", "done" completes the context,
 * "done+" does so with an answer, any other is wrong and leaves "error"; the
 * right MIC is "mic". And a login that tries it.
 */
#ifndef HPN_REGRESS_UNIT_GSS_HOST_H
#define HPN_REGRESS_UNIT_GSS_HOST_H

#include "regress/unit/help.h"

#include "gss/gss.h"
#include "server/monitor/login-internal.h"

struct gss_acceptor {
	bool complete;
};

/* What tests set, and what the library was asked. Zeros for each test. */
extern struct gss_library {
	bool no_key, not_the_user;
	int opened, open; /* contexts: ever, and now */
	char host[256];
	struct buf signed_data;
	const char *asked_for; /* whose account */
} gss_library;

/* A context, as if a client had gone through with it. */
struct gss_acceptor *gss_acceptor_done(void);

extern struct login login;
extern struct monitor_verdict verdict;

/* For cmocka. The method is one of two: public keys come first. */
int gss_login_setup(const char *method);
int gss_login_teardown(void **state);
/* The login's methods, in place of those that there are. */
void gss_login_methods(const char *available);
/* What was signed is this connection's, for this method. */
void gss_assert_signed(const char *method);

#endif
