/* SPDX-License-Identifier: ISC */
#include "base/help.h"

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"

enum { OPTION_WIDTH = 18 };

static void
show(const struct help *h)
{
	const struct help_row *r;

	printf("usage: %s\n", h->usage);
	for (r = h->rows; r->text != NULL; r++)
		if (r->option == NULL)
			printf("\n%s:\n", r->text);
		else if (strlen(r->option) <= OPTION_WIDTH)
			printf("  %-*s %s\n", OPTION_WIDTH, r->option,
			    r->text);
		else
			printf("  %s\n  %*s %s\n", r->option, OPTION_WIDTH, "",
			    r->text);
	printf("\n%sThe manual has the whole of it: man %s\n",
	    h->foot != NULL ? h->foot : "", h->manual);
}

bool
help_is_asked(int argc, char *const argv[])
{
	return argc == 2 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-V") == 0 ||
		strcmp(argv[1], "--version") == 0);
}

void
help_answer(const struct help *h, int argc, char *const argv[],
    const char *crypto)
{
	if (!help_is_asked(argc, argv))
		return;
	if (strcmp(argv[1], "--help") == 0)
		show(h);
	else
		fprintf(stderr, "%s HPNSSH_%s%s%s\n", HPN_SOFTWARE, VERSION,
		    crypto != NULL ? ", " : "", crypto != NULL ? crypto : "");
	exit(fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1);
}
