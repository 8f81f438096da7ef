/* SPDX-License-Identifier: ISC */
/*
 * Prints lines for contrib/moduli: make-moduli BITS [BITS ...]
 *
 * Takes half a minute for 2048 bits, ten minutes for 4096, more or less. Not
 * built by make; from the top of the source:
 * cc -O2 -D_GNU_SOURCE -I. -Iobj/include build-aux/make-moduli.c \
 *     obj/lib{spine,crypto,base,compat}-hpn.a -lcrypto -lz -lresolv \
 *     -lpthread -o /tmp/make-moduli
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "crypto/moduli.h"

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct modulus m = { 0 };
		struct buf line;
		int r;

		buf_init(&line);
		r = moduli_generate((uint32_t)atoi(argv[i]), &m, NULL, NULL);
		if (r == 0)
			r = moduli_format(&line, &m);
		if (r != 0) {
			fprintf(stderr, "make-moduli: %s: %s\n", argv[i],
			    err_text(r));
			return 1;
		}
		fwrite(buf_data(&line), 1, buf_len(&line), stdout);
		fflush(stdout);
		buf_clear(&line);
		moduli_clear(&m);
	}
	return 0;
}
