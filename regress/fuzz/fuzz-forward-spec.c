/* SPDX-License-Identifier: ISC */
/* Any text as -L, -R, -D and -W: what is accepted is written as a text that
 * means the same. */
#include "regress/fuzz/fuzz.h"

#include "base/mem.h"
#include "conf/forward-spec.h"

static void
check(enum forward_kind kind, const char *text)
{
	struct forward_spec s, again;
	char *listen, *target, *both;

	if (forward_spec_parse(&s, kind, text) != 0)
		return;
	listen = forward_listen_text(&s);
	target = forward_target_text(&s);
	if (s.target_is_socks)
		both = xstrdup(listen);
	else
		xasprintf(&both, "%s:%s", listen, target);
	ENSURE(forward_spec_parse(&again, kind, both) == 0);
	ENSURE(forward_spec_equals(&s, &again));
	forward_spec_clear(&s);
	forward_spec_clear(&again);
	free(listen);
	free(target);
	free(both);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = xstrndup((const char *)data, len);
	struct forward_endpoint e;

	for (int kind = FORWARD_LOCAL; kind <= FORWARD_DYNAMIC; kind++)
		check((enum forward_kind)kind, text);
	if (forward_target_parse(&e, text) == 0) {
		ENSURE((e.path != NULL) == (e.host == NULL));
		forward_endpoint_clear(&e);
	}
	free(text);
	return 0;
}
