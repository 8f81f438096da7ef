/* SPDX-License-Identifier: ISC */
/* Values for all keywords of a table, each another one than the default. */
#ifndef HPN_REGRESS_UNIT_CONF_SAMPLE_H
#define HPN_REGRESS_UNIT_CONF_SAMPLE_H

#include <stddef.h>

#include "conf/conf.h"

struct conf_sample {
	const char *name, *value;
};

/* That of v (n of them), or what suits its type; else the test fails. */
const char *conf_sample(const struct conf_row *row,
    const struct conf_sample *v, size_t n);

#endif
