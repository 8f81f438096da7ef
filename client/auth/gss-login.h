/* SPDX-License-Identifier: ISC */
/*
 * Has GSSAPI prove who the user is, in a child process for each proof: if a KDC
 * does not answer or the library crashes, only the child ends.
 *
 * Threads: loop thread only. The functions block, but not longer than their
 * limit.
 */
#ifndef HPN_CLIENT_AUTH_GSS_LOGIN_H
#define HPN_CLIENT_AUTH_GSS_LOGIN_H

#include "base/err.h"
#include "conf/client-conf.h"
#include "gss/gss.h"

struct gss_login;

enum { GSS_LOGIN_MAX_S = 120 }; /* upper bound of every limit */

/* Fills in for which service the ticket has to be, and for which user, by the
 * configuration and the server's numeric address (NULL: not known). The texts
 * are borrowed from conf and address. (In gss-target.c.) */
void gss_login_target(struct gss_request *request,
    const struct client_conf *conf, const char *address);

/* Starts a child, which makes the first token. limit_s: seconds for this and
 * each later call; 0: GSS_LOGIN_MAX_S. The caller clears *out and frees *why
 * (see gss/gss.h), also after an error. ERR_TIMEOUT: no answer in time; other
 * errors: there is no ticket, or no library. After an error *login is NULL. */
int gss_login_start(struct gss_login **login, const struct gss_request *request,
    int limit_s, struct gss_proof *out, char **why) must_check;
/* gss_login_start() in two halves, for callers that have a loop:
 * gss_login_begin() starts the child, and when gss_login_fd() can be read,
 * gss_login_first() returns the first token without waiting. */
int gss_login_begin(struct gss_login **login, const struct gss_request *request,
    int limit_s) must_check;
int gss_login_fd(const struct gss_login *login);
int gss_login_first(struct gss_login *login, struct gss_proof *out,
    char **why) must_check;
/* Gives the server's token to the library. *out gets the next token for the
 * server, or a complete proof. */
int gss_login_step(struct gss_login *login, struct span token,
    struct gss_proof *out, char **why) must_check;
/* Only once the proof is complete: gss_login_sign() appends a MIC over data,
 * gss_login_verify() checks the server's MIC over data. */
int gss_login_sign(struct gss_login *login, struct span data, struct buf *mic,
    char **why) must_check;
int gss_login_verify(struct gss_login *login, struct span data,
    struct span mic, char **why) must_check;
void gss_login_end(struct gss_login *login);

#endif
