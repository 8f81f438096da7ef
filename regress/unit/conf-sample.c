/* SPDX-License-Identifier: ISC */
#include "regress/unit/conf-sample.h"

#include <string.h>

#include "regress/unit/help.h"

const char *
conf_sample(const struct conf_row *row, const struct conf_sample *v, size_t n)
{
	if (row->type == &conf_flag || row->type == &conf_unbuilt_kept)
		return strcmp(row->def, "yes") == 0 ? "no" : "yes";
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, row->name) == 0)
			return v[i].value;
	if (row->type == &conf_int || row->type == &conf_time ||
	    row->type == &conf_port)
		return "17";
	fail_msg("no sample for %s", row->name);
	return NULL;
}
