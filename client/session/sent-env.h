/* SPDX-License-Identifier: ISC */
/*
 * The variables that go with a session: those of this process that SendEnv
 * names, and those that SetEnv makes.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_SENT_ENV_H
#define HPN_CLIENT_SESSION_SENT_ENV_H

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* Adds them to out, each as NAME=value. Faults were logged. */
int sent_env_choose(const struct client_conf *conf,
    struct strlist *out) must_check;
/* The variables of a mux client, who has chosen them, and
 * those of SetEnv here that are not among them. */
int sent_env_complete(const struct client_conf *conf,
    struct strlist *env) must_check;

#endif
