/* SPDX-License-Identifier: ISC */
/* A host that shows its key to what checks it. */
#ifndef HPN_REGRESS_UNIT_SHOW_KEY_H
#define HPN_REGRESS_UNIT_SHOW_KEY_H

#include "regress/unit/help.h"

#include <stdlib.h>

#include "client/hosts/hostcheck.h"
#include "keys/key.h"

/* conf, which is finished, is of a host of that name; no known_hosts but the
 * file counts, NULL: none. */
static inline void
conf_of_host(struct client_conf *conf, const char *name,
    const char *known_hosts)
{
	free(conf->host.hostname);
	assert_non_null(conf->host.hostname = strdup(name));
	strlist_clear(&conf->known.global_known_hosts_file);
	strlist_clear(&conf->known.user_known_hosts_file);
	if (known_hosts != NULL)
		assert_int_equal(
		    strlist_add(&conf->known.user_known_hosts_file,
			known_hosts), 0);
}

static inline int
show_key(struct hostcheck *h, const struct key *k)
{
	struct buf blob = { 0 };
	int r;

	assert_int_equal(key_to_blob(k, &blob), 0);
	r = hostcheck_key(h, buf_span(&blob));
	buf_clear(&blob);
	return r;
}

#endif
