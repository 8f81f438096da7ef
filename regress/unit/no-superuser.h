/* SPDX-License-Identifier: ISC */
/*
 * For the one source of a test of the monitor: it is never the superuser, so
 * nothing goes into the records of this system. Not in help.a, since all other
 * tests want to know who they are.
 */
#ifndef HPN_REGRESS_UNIT_NO_SUPERUSER_H
#define HPN_REGRESS_UNIT_NO_SUPERUSER_H

#include <unistd.h>

uid_t geteuid(void);

uid_t
geteuid(void)
{
	return 65534;
}

#endif
