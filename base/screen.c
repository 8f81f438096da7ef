/* SPDX-License-Identifier: ISC */
#include "base/screen.h"

#include <stddef.h>

static struct {
	void (*clear)(void *arg);
	void *arg;
} line;

void
screen_set_line(void (*clear)(void *arg), void *arg)
{
	line.clear = clear;
	line.arg = arg;
}

void
screen_clear(void)
{
	if (line.clear != NULL)
		line.clear(line.arg);
}
