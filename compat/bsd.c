/* SPDX-License-Identifier: ISC */
#include "compat/bsd.h"

#include <sys/stat.h>

#include <errno.h>

#ifndef HAVE_STRLCPY
size_t
strlcpy(char *to, const char *from, size_t size)
{
	size_t len = strlen(from);
	size_t fits = len < size ? len : size - 1;

	if (size == 0)
		return len;
	memcpy(to, from, fits);
	to[fits] = '\0';
	return len;
}
#endif

#ifndef HAVE_STRLCAT
size_t
strlcat(char *to, const char *from, size_t size)
{
	size_t len = strnlen(to, size);

	return len + strlcpy(to + len, from, size - len);
}
#endif

#ifndef HAVE_STRTONUM
long long
strtonum(const char *text, long long min, long long max, const char **why)
{
	const char *wrong = NULL;
	const int before = errno;
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (min > max || end == text || *end != '\0')
		wrong = "invalid";
	else if (n < min || (errno == ERANGE && n < 0))
		wrong = "too small";
	else if (n > max || errno == ERANGE)
		wrong = "too large";
	if (why != NULL)
		*why = wrong;
	if (wrong == NULL) {
		errno = before;
		return n;
	}
	errno = *wrong == 'i' ? EINVAL : ERANGE;
	return 0;
}
#endif

#ifndef HAVE_STRMODE
static char
letter_of_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return '-';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	default:
		return '?';
	}
}

void
strmode(mode_t mode, char *text)
{
	static const char rights[] = "rwxrwxrwx";
	static const struct {
		mode_t bit;
		int at; /* of the x that it shares a place with */
		char with, without;
	} marks[] = {
		{ S_ISUID, 3, 's', 'S' },
		{ S_ISGID, 6, 's', 'S' },
		{ S_ISVTX, 9, 't', 'T' },
	};

	text[0] = letter_of_type(mode);
	for (int i = 0; i < 9; i++)
		text[1 + i] = '-';
	for (int i = 0; i < 9; i++)
		if (mode & (0400u >> i))
			text[1 + i] = rights[i];
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (mode & marks[i].bit)
			text[marks[i].at] = text[marks[i].at] == 'x' ?
			    marks[i].with : marks[i].without;
	text[10] = ' ';
	text[11] = '\0';
}
#endif
