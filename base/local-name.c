/* SPDX-License-Identifier: ISC */
#include "base/local-name.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

static bool
name_of_address(int fd, char *name, size_t size)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	memset(&ss, 0, sizeof ss);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1 ||
	    (ss.ss_family != AF_INET && ss.ss_family != AF_INET6))
		return false;
	return getnameinfo((struct sockaddr *)&ss, len, name,
		   (socklen_t)size, NULL, 0, NI_NAMEREQD) == 0;
}

char *
local_name(int fd)
{
	char name[NI_MAXHOST] = "";

	if (!name_of_address(fd, name, sizeof name) &&
	    gethostname(name, sizeof name - 1) == -1)
		return NULL;
	return *name != '\0' ? strdup(name) : NULL;
}

bool
local_name_is(const char *name, const char *sent)
{
	size_t len = strlen(name);

	return strlen(sent) == len + 1 && sent[len] == '.' &&
	    str_is_span_nocase(name, sent, len);
}
