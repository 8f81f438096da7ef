/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "compat/sock.h"

#ifndef ST_NOEXEC
#define ST_NOEXEC 0 /* statvfs() does not tell it there */
#endif

/* ---- files -------------------------------------------------------------- */

char temp_dir[64];

static int
make_in(const char *place)
{
	char template[64], *real;

	snprintf(template, sizeof template, "%s/hpn-test-XXXXXX", place);
	assert_non_null(mkdtemp(template));
	assert_non_null(real = realpath(template, NULL));
	strlcpy(temp_dir, real, sizeof temp_dir);
	free(real);
	return 0;
}

int
temp_make(void **state)
{
	(void)state;
	return make_in("/tmp");
}

int
temp_make_memory(void **state)
{
	static const char place[] = "/dev/shm";
	struct statvfs s;

	(void)state;
	return make_in(access(place, W_OK) == 0 && statvfs(place, &s) == 0 &&
		    (s.f_flag & ST_NOEXEC) == 0 ? place : "/tmp");
}

int
temp_remove(void **state)
{
	char command[80];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", temp_dir);
	return system(command);
}

static int
enter(void)
{
	log_set_level(LOG_LVL_QUIET);
	umask(022);
	return chdir(temp_dir);
}

int
temp_enter(void **state)
{
	return temp_make(state) != 0 || enter() != 0;
}

int
temp_enter_memory(void **state)
{
	return temp_make_memory(state) != 0 || enter() != 0;
}

int
temp_leave(void **state)
{
	(void)state;
	return chdir("/") != 0 || rmdir(temp_dir) != 0;
}

static void
write_file(const char *path, const void *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, p, len), 0);
	close(fd);
}

char *
temp_file(const char *name, const char *content)
{
	char *path = str_join_path(temp_dir, name);

	assert_string_not_equal(temp_dir, "");
	write_file(path, content, strlen(content));
	return path;
}

void
fill_bytes(uint8_t *p, size_t len, unsigned seed)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)(x >> 32);
	}
}

void
fill_file(const char *path, size_t len, unsigned seed)
{
	uint8_t *p = xmalloc(len + 1);

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((seed = seed * 69069 + 1) >> 24);
	write_file(path, p, len);
	free(p);
}

bool
same_files(const char *one, const char *two)
{
	struct buf a = { 0 }, b = { 0 };
	bool equal;

	assert_int_equal(file_read(one, &a, 1 << 26), 0);
	assert_int_equal(file_read(two, &b, 1 << 26), 0);
	equal = buf_len(&a) == buf_len(&b) &&
	    memcmp(buf_data(&a), buf_data(&b), buf_len(&a)) == 0;
	buf_clear(&a);
	buf_clear(&b);
	return equal;
}

/* ---- messages ----------------------------------------------------------- */

char messages[2048];
char last_message[4096];

static void
keep(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	strlcpy(last_message, text, sizeof last_message);
	strlcat(messages, text, sizeof messages);
	strlcat(messages, "\n", sizeof messages);
}

void
messages_keep(void)
{
	log_to_sink(keep, NULL);
}

void
messages_forget(void)
{
	messages[0] = last_message[0] = '\0';
}

/* ---- the rest ----------------------------------------------------------- */

void
assert_text(const char *got, const char *want)
{
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

struct span
span_text(const char *s)
{
	return (struct span){ (const uint8_t *)s, strlen(s) };
}

void
socket_pair(int type, int ends[2])
{
	assert_int_equal(sock_pair(type, ends), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fd_set_nonblock(ends[i], true), 0);
}

void
tcp_pair(int fd[2])
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof sin;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(s, (struct sockaddr *)&sin, len), 0);
	assert_int_equal(listen(s, 1), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&sin, &len), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&sin, len), 0);
	fd[1] = accept(s, NULL, NULL);
	assert_true(fd[1] >= 0);
	close(s);
}

/* ---- names of ports ----------------------------------------------------- */

/* This stands in for the system's function, as a small system has no
 * /etc/services. */
struct servent *
getservbyname(const char *name, const char *proto)
{
	static const struct {
		const char *name;
		uint16_t port;
	} known[] = { { "http", 80 }, { "socks", 1080 }, { "ssh", 22 } };
	static struct servent found;

	(void)proto;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(known[i].name, name) == 0) {
			found.s_port = htons(known[i].port);
			return &found;
		}
	return NULL;
}

void
know_names_of_ports(void)
{
}
