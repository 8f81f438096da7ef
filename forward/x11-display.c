/* SPDX-License-Identifier: ISC */
#include "forward/x11-display.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define SOCKETS "/tmp/.X11-unix/X"

/* The name has only harmless characters, because it is passed as an argument to
 * xauth, which interprets it in its own way. */
static bool
has_only_usual_characters(const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    strchr(":/.-_", *p) == NULL)
			return false;
	return text[0] != '-';
}

/* "number[.screen]" */
static int
parse_numbers(const char *text, int64_t *number, int64_t *screen)
{
	size_t len = strcspn(text, ".");
	char digits[8] = "";

	*screen = 0;
	if (len >= sizeof digits || !isdigit((unsigned char)text[0]))
		return ERR_FORMAT;
	memcpy(digits, text, len);
	if (str_to_int(digits, 0, X11_NUMBER_MAX, number) != 0)
		return ERR_FORMAT;
	if (text[len] == '\0')
		return 0;
	text += len + 1;
	if (!isdigit((unsigned char)text[0]) ||
	    str_to_int(text, 0, X11_SCREEN_MAX, screen) != 0)
		return ERR_FORMAT;
	return 0;
}

/* Sets the socket's path of a display whose name is a path: that is the name
 * with the number, without the screen. */
static int
set_path(struct x11_display *d, const char *text, const char *numbers)
{
	size_t len = (size_t)(numbers - text) + strcspn(numbers, ".");

	if (len >= sizeof d->path)
		return ERR_FORMAT;
	memcpy(d->path, text, len);
	return 0;
}

int
x11_display_parse(struct x11_display *d, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t host_len = colon != NULL ? (size_t)(colon - text) : 0;
	int64_t number, screen;

	memset(d, 0, sizeof *d);
	if (colon == NULL || !has_only_usual_characters(text) ||
	    parse_numbers(colon + 1, &number, &screen) != 0 ||
	    host_len >= sizeof d->host)
		return ERR_FORMAT;
	d->screen = (uint32_t)screen;
	if (text[0] == '/')
		return set_path(d, text, colon + 1);
	if (host_len == 0 || str_is_span_nocase("unix", text, host_len)) {
		snprintf(d->path, sizeof d->path, SOCKETS "%u",
		    (unsigned)number);
		return 0;
	}
	memcpy(d->host, text, host_len);
	d->port = (uint16_t)(X11_PORT + number);
	return 0;
}
