/* SPDX-License-Identifier: ISC */
/*
 * Learns the other keys of a host whose key is known (UpdateHostKeys): after
 * the login the server announces all its keys (hostkeys-00@openssh.com), proves
 * that it has those that are new here (hostkeys-prove-00@openssh.com), and
 * known_hosts is updated. So a host can change its keys without a question to
 * the user, and all its keys get known, not only the one that it showed first.
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

/* The name of the server's global request that announces its keys. */
#define HOSTLEARN_ANNOUNCE "hostkeys-00@openssh.com"

struct hostlearn;
struct uses;

/* The arguments are borrowed and have to outlive *out, which is NULL if nothing
 * is to be learnt from this host. */
int hostlearn_new(struct hostlearn **out, const struct client_conf *conf,
    const struct hostcheck *check, const struct kex *k,
    struct channels *chs) must_check;
/* Has the connection count as used until the proofs have arrived, or a short
 * time has passed: a short command may end before that. loop and uses are
 * borrowed and outlive h. */
void hostlearn_hold(struct hostlearn *h, struct loop *loop, struct uses *uses);
/* Handles an announcement; data is its body. A wrong announcement is only
 * logged. Returns CHANNEL_FAILURE, the reply to it in any case, or an error,
 * which ends the connection: the request for the proofs could not be sent. */
int hostlearn_announced(struct hostlearn *h, struct rd *data) must_check;
void hostlearn_free(struct hostlearn *h);

#endif
