/* SPDX-License-Identifier: ISC */
/*
 * Learning the other keys of a host whose key is known (UpdateHostKeys): after
 * login the server announces them all (hostkeys-00@openssh.com), proves that it
 * has those that are new here (hostkeys-prove-00@openssh.com), and known_hosts
 * is updated. So a host may change its keys without the user having to decide,
 * and all keys of a host get known, not only the one that it shows first.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_HOSTS_HOSTLEARN_H
#define HPN_CLIENT_HOSTS_HOSTLEARN_H

#include "base/err.h"
#include "base/loop.h"
#include "channels.h"
#include "client/hosts/hostcheck.h"
#include "conf/client-conf.h"
#include "kex.h"

/* The server's global request. */
#define HOSTLEARN_ANNOUNCE "hostkeys-00@openssh.com"

struct hostlearn;
struct uses;

/* All borrowed; they outlive it. *out is NULL if nothing is to be learnt from
 * this host. */
int hostlearn_new(struct hostlearn **out, const struct client_conf *conf,
    const struct hostcheck *check, const struct kex *k,
    struct channels *chs) must_check;
/* A command may be over before the proofs are there: the connection counts as
 * used until they are, or some time has passed. Both outlive h. */
void hostlearn_hold(struct hostlearn *h, struct loop *loop, struct uses *uses);
/* The announcement came; data is its body. What is wrong with it is only
 * logged. An error, which ends the connection: the answer could not be sent. */
int hostlearn_announced(struct hostlearn *h, struct rd *data) must_check;
void hostlearn_free(struct hostlearn *h);

#endif
