/* SPDX-License-Identifier: ISC */
/*
 * Has GSSAPI prove who the user is, in a process of its own: a KDC that does
 * not answer, or a fault in the library, ends that process and not this one.
 *
 * Threads: loop thread only. Blocks, but no longer than it is told to.
 */
#ifndef HPN_CLIENT_AUTH_GSS_LOGIN_H
#define HPN_CLIENT_AUTH_GSS_LOGIN_H

#include "base/err.h"
#include "conf/client-conf.h"
#include "gss/gss.h"

struct gss_login;

enum { GSS_LOGIN_MAX_S = 120 }; /* whatever is asked for */

/* The request for a ticket gets the service, and who we are: by the
 * configuration, and the server's numeric address or NULL. The texts are
 * borrowed. (In gss-target.c.) */
void gss_login_target(struct gss_request *request,
    const struct client_conf *conf, const char *address);

/* Makes the first token. limit_s: seconds for each call; 0: GSS_LOGIN_MAX_S.
 * *out is to be cleared, also after an error. *why as in gss/gss.h.
 * ERR_TIMEOUT; other errors: there is no ticket, or no library. */
int gss_login_start(struct gss_login **login, const struct gss_request *request,
    int limit_s, struct gss_proof *out, char **why) must_check;
/* The same in two halves, for whoever has a loop to wait in: until the
 * descriptor can be read. */
int gss_login_begin(struct gss_login **login, const struct gss_request *request,
    int limit_s) must_check;
int gss_login_fd(const struct gss_login *login);
int gss_login_first(struct gss_login *login, struct gss_proof *out,
    char **why) must_check;
/* Goes on with a token of the server. */
int gss_login_step(struct gss_login *login, struct span token,
    struct gss_proof *out, char **why) must_check;
/* Once there is a complete proof: a MIC over data, and is this one the
 * server's? */
int gss_login_sign(struct gss_login *login, struct span data, struct buf *mic,
    char **why) must_check;
int gss_login_verify(struct gss_login *login, struct span data,
    struct span mic, char **why) must_check;
void gss_login_end(struct gss_login *login);

#endif
