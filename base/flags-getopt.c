/* SPDX-License-Identifier: ISC */
#include "base/flags-getopt.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Tells the user which letter is wrong. A letter that takes an argument is
 * known, so it is wrong only because the argument is missing. */
static void
complain(const char *letters, char *const argv[])
{
	const char *known = optopt != 0 && optopt != ':' ?
	    strchr(letters, optopt) : NULL;

	/* A long name, as --nosuch. Known names have numbers above 0x7f. */
	if (optopt == 0 || optopt > 0x7f)
		fprintf(stderr, "%s -- %s\n", optopt == 0 ? "unknown option" :
		    strchr(argv[optind - 1], '=') != NULL ?
		    "option doesn't take an argument" :
		    "option requires an argument",
		    argv[optind - 1] + strspn(argv[optind - 1], "-"));
	else if (known != NULL && known[1] == ':')
		fprintf(stderr, "option requires an argument -- %c\n", optopt);
	else
		fprintf(stderr, "unknown option -- %c\n", optopt);
}

int
flags_getopt(int argc, char *const argv[], const char *letters)
{
	int letter;

	opterr = 0;
	letter = getopt(argc, argv, letters);
	if (letter == '?')
		complain(letters, argv);
	return letter;
}

int
flags_getopt_long(int argc, char *const argv[], const char *letters,
    const struct option *names)
{
	int letter;

	opterr = 0;
	letter = getopt_long(argc, argv, letters, names, NULL);
	if (letter == '?')
		complain(letters, argv);
	return letter;
}
