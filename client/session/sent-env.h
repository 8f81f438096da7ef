/* SPDX-License-Identifier: ISC */
/*
 * Chooses the environment variables that are sent for a session: those of this
 * process that SendEnv names, and those that SetEnv defines.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_SENT_ENV_H
#define HPN_CLIENT_SESSION_SENT_ENV_H

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* Adds the variables to out, each as NAME=value. Errors were logged. */
int sent_env_choose(const struct client_conf *conf,
    struct strlist *out) must_check;
/* Completes the variables that a mux client has chosen: adds those of this
 * process's SetEnv whose names are not among them. */
int sent_env_complete(const struct client_conf *conf,
    struct strlist *env) must_check;

#endif
