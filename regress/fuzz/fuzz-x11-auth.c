/* SPDX-License-Identifier: ISC */
/* Any bytes, in pieces of any length, as the beginning of an X11 connection:
 * what gets through knew the cookie, and differs from it there only. The first
 * byte chooses the length of the pieces. And any bytes as a DISPLAY. */
#include "regress/fuzz/fuzz.h"

#include <string.h>

#include "base/mem.h"
#include "forward/x11-auth.h"
#include "forward/x11-display.h"

#define NAME "MIT-MAGIC-COOKIE-1"

static const struct x11_cookie fake = { NAME, "0123456789abcdef", 16 };
static const struct x11_cookie real = { NAME, "ABCDEFGHIJKLMNOP", 16 };

static void
try_display(const uint8_t *data, size_t len)
{
	struct x11_display d;
	char *text = xstrndup((const char *)data, len);

	if (x11_display_parse(&d, text) == 0)
		ENSURE((d.path[0] != '\0') != (d.host[0] != '\0'));
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct x11_setup g;
	size_t piece, at = 1, n;

	if (len == 0)
		return 0;
	piece = 1 + data[0];
	x11_setup_init(&g, &fake, &real);
	while (g.state == X11_SETUP_INCOMPLETE && at < len) {
		n = x11_setup_take(&g, data + at, MIN(piece, len - at));
		ENSURE(n <= len - at);
		ENSURE(g.state != X11_SETUP_INCOMPLETE || n > 0);
		at += n;
	}
	if (g.state == X11_SETUP_ACCEPTED) {
		const uint8_t *p = buf_data(&g.packet);

		ENSURE(buf_len(&g.packet) == at - 1 && at - 1 == 48);
		ENSURE(memcmp(p, data + 1, 32) == 0);
		ENSURE(memcmp(data + 33, fake.data, 16) == 0);
		ENSURE(memcmp(p + 32, real.data, 16) == 0);
	}
	x11_setup_clear(&g);
	try_display(data, len);
	return 0;
}
