/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd-user reads before all else: its user, configuration and
 * permissions, and then the connection's keys. The input is the second message
 * behind a 16 bit length, then the first one without its version. What is taken
 * has an account that can log in and no private key, and is the same again
 * after a way to a next process.
 */
#include <string.h>

#include "config.h"

#include "base/log.h"
#include "regress/fuzz/fuzz.h"
#include "server/user-state.h"

static void
need(bool right)
{
	if (!right)
		abort();
}

static void
check(const struct user_state *s)
{
	need(s->user.valid && s->user.name[0] != '\0' &&
	    s->user.shell[0] != '\0' && s->user.home != NULL);
	need(s->user.uid != (uid_t)-1 && s->user.gid != (gid_t)-1);
	need(s->peer.address != NULL && s->remote != NULL);
	need(s->log_level <= LOG_LVL_DEBUG3 && s->keys.agent == NULL);
	need(s->keys.n <= sizeof s->keys.v / sizeof s->keys.v[0]);
	for (size_t i = 0; i < s->keys.n; i++)
		need(s->keys.v[i].key == NULL &&
		    buf_len(&s->keys.v[i].private) == 0);
}

/* from, as another process has it. */
static void
carry(const struct user_state *from, struct buf *out)
{
	struct user_state to;
	struct buf way;
	struct rd in;

	buf_init(&way);
	need(user_state_export(from, &way) == 0);
	in = rd_from_buf(&way);
	need(user_state_import(&to, &in) == 0);
	check(&to);
	need(user_state_export(&to, out) == 0);
	need(buf_len(out) == buf_len(&way) &&
	    memcmp(buf_data(out), buf_data(&way), buf_len(out)) == 0);
	user_state_clear(&to);
	buf_clear(&way);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len), rd;
	struct span keys = fuzz_piece(&in);
	struct user_state s;
	struct buf b;

	log_init("fuzz", LOG_LVL_QUIET);
	buf_init(&b);
	buf_put_cstring(&b, VERSION);
	buf_put(&b, in.p, in.len);
	rd = rd_from_buf(&b);
	if (user_state_import(&s, &rd) == 0) {
		check(&s);
		buf_reset(&b);
		carry(&s, &b);
		rd = rd_from(keys.p, keys.len);
		if (user_state_import_keys(&s, &rd) == 0)
			need(buf_len(&s.packet_state) <= keys.len &&
			    buf_len(&s.kex_state) <= keys.len);
	}
	user_state_clear(&s);
	buf_clear(&b);
	return 0;
}
