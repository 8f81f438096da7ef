/* SPDX-License-Identifier: ISC */
#include "base/called.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

static bool by_others_name;
static const char *found;

const char *
called_as(const char *argv0, const char *usual)
{
	const char *slash = argv0 != NULL ? strrchr(argv0, '/') : NULL;
	const char *name = slash != NULL ? slash + 1 : argv0;

	if (name == NULL || *name == '\0')
		name = usual;
	by_others_name = !str_has_prefix(name, "hpn");
	found = name;
	return name;
}

const char *
called_name(const char *usual)
{
	return found != NULL ? found : usual;
}

const char *
called_ssh(void)
{
	return by_others_name ? "ssh" : "hpnssh";
}
