/* SPDX-License-Identifier: ISC */
/*
 * A host's streams: sessions on channels of one connection, and further
 * connections, with our own server behind a proxy command: how many there can
 * be, that each works, and what their end means to the others.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/copy/remote.h"
#include "xfer/sftp/sftp-engine.h"

static char dir[] = "/tmp/test-remote-XXXXXX", build[PATH_MAX - 64];
static struct loop *loop;
static struct strlist options;
static bool no_server;
static char why_no_server[256];

/* ---- a server ----------------------------------------------------------- */

static void
put_file(const char *name, const char *text, mode_t mode)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_non_null(f = fopen(path, "w"));
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
shell(const char *format, ...)
{
	char *command;
	va_list ap;

	va_start(ap, format);
	assert_true(vasprintf(&command, format, ap) > 0);
	va_end(ap);
	assert_int_equal(system(command), 0);
	free(command);
}

static void
add_option(const char *format, ...)
{
	char *text;
	va_list ap;

	va_start(ap, format);
	assert_true(vasprintf(&text, format, ap) > 0);
	va_end(ap);
	assert_int_equal(strlist_add(&options, text), 0);
	free(text);
}

/* Each connection is a server of its own, which notes that it was there. */
static void
configure(const char *more)
{
	char *text;

	xasprintf(&text,
	    "HostKey %s/host\nAuthorizedKeysFile %s/key.pub\n"
	    "StrictModes no\nPermitRootLogin yes\nUsePAM no\n"
	    "Subsystem sftp internal-sftp\nPidFile none\n%s",
	    dir, dir, more);
	put_file("config", text, 0600);
	free(text);
	xasprintf(&text,
	    "#!/bin/sh\necho $$ >>%s/pids\n"
	    "exec %s/hpnsshd -i -f %s/config -E %s/log\n",
	    dir, build, dir, dir);
	put_file("server", text, 0700);
	free(text);
	put_file("pids", "", 0600);
	put_file("log", "", 0600);
}

static unsigned
connections_made(void)
{
	char path[PATH_MAX], line[64];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/pids", dir);
	assert_non_null(f = fopen(path, "r"));
	while (fgets(line, sizeof line, f) != NULL)
		n++;
	fclose(f);
	return n;
}

/* Root's hpnsshd wants a user of its own, and an empty directory; before an
 * installation they may be missing. */
static void
ask_server(void)
{
	char *command;
	FILE *f;

	configure("");
	xasprintf(&command, "%s/hpnsshd -t -f %s/config 2>&1", build, dir);
	assert_non_null(f = popen(command, "r"));
	free(command);
	(void)!fgets(why_no_server, sizeof why_no_server, f);
	no_server = pclose(f) != 0 &&
	    strstr(why_no_server, "rivilege separation") != NULL;
}

static int
setup(void **state)
{
	char *slash;
	ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);

	(void)state;
	assert_true(n > 0);
	for (int i = 0; i < 3; i++) /* regress/unit/test-remote */
		if ((slash = strrchr(build, '/')) != NULL)
			*slash = '\0';
	assert_non_null(mkdtemp(dir));
	shell("%s/hpnssh-keygen -q -t ed25519 -N '' -f %s/host && "
	      "%s/hpnssh-keygen -q -t ed25519 -N '' -f %s/key", build, dir,
	    build, dir);
	shell("printf 'there ' >%s/known && cut -d' ' -f1,2 %s/host.pub "
	      ">>%s/known", dir, dir, dir);
	add_option("-F");
	add_option("none");
	add_option("-oBatchMode=yes");
	add_option("-oIdentitiesOnly=yes");
	add_option("-oStrictHostKeyChecking=yes");
	add_option("-oLogLevel=QUIET");
	add_option("-oUserKnownHostsFile=%s/known", dir);
	add_option("-oProxyCommand=%s/server", dir);
	add_option("-i%s/key", dir);
	signal(SIGPIPE, SIG_IGN);
	log_init("test", LOG_LVL_QUIET);
	ask_server();
	loop = loop_new();
	return loop == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	loop_free(loop);
	strlist_clear(&options);
	shell("rm -r %s", dir);
	return 0;
}

/* ---- what is asked of the streams --------------------------------------- */

static struct remote *
begin(const char *server_config)
{
	struct remote_params params = { .loop = loop, .host = "there",
		.options = &options };
	struct remote *r;

	if (no_server) {
		printf("%s", why_no_server);
		skip();
	}
	configure(server_config);
	assert_int_equal(remote_open(&r, &params), 0);
	return r;
}

static void
check_stream(struct sftp *s)
{
	struct sftp_attrs a;

	assert_int_equal(sftp_call_stat(s, "/", true, &a), 0);
	assert_true(S_ISDIR(a.mode));
}

/* Turns until it has ended, which it must. */
static int
wait_end(struct sftp *s)
{
	while (sftp_error(s) == 0)
		(void)!sftp_step(s, false, 10000);
	return sftp_error(s);
}

static void
test_channels(void **state)
{
	struct remote *r = begin("MaxSessions 10\n");
	struct xfer_streams streams = remote_streams(r);
	struct sftp *s[9] = { remote_sftp(r) };
	struct xfer_stream_stats path;

	(void)state;
	/* Not before the user is authenticated. */
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0, &s[1]),
	    ERR_LIMIT);
	check_stream(s[0]);
	for (int i = 1; i < 8; i++)
		assert_int_equal(
		    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0,
			&s[i]),
		    0);
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0, &s[8]),
	    ERR_LIMIT);
	for (int i = 7; i >= 0; i--)
		check_stream(s[i]);
	streams.ops->path(streams.arg, s[7], &path);
	assert_int_equal(path.connection, 0);
	assert_true(path.send_window >= 1024 * 1024);
	/* A place is free again, and the others go on. */
	streams.ops->close(streams.arg, s[3]);
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0, &s[3]), 0);
	check_stream(s[3]);
	check_stream(s[0]);
	assert_int_equal(connections_made(), 1);
	assert_int_equal(remote_close(r), 0);
}

/* Those that the server refuses end by themselves, with nothing else. */
static void
test_refused_channels(void **state)
{
	struct remote *r = begin("MaxSessions 2\n");
	struct xfer_streams streams = remote_streams(r);
	struct sftp *s[4] = { remote_sftp(r) };

	(void)state;
	check_stream(s[0]);
	for (int i = 1; i < 4; i++)
		assert_int_equal(
		    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0,
			&s[i]),
		    0);
	check_stream(s[1]);
	assert_int_equal(wait_end(s[2]), ERR_CLOSED);
	assert_int_equal(wait_end(s[3]), ERR_CLOSED);
	streams.ops->close(streams.arg, s[2]);
	streams.ops->close(streams.arg, s[3]);
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0, &s[2]),
	    ERR_LIMIT);
	check_stream(s[0]);
	check_stream(s[1]);
	assert_int_equal(remote_close(r), 0);
}

/* Requests are taken at once by all; and when one connection dies, only what
 * it carried ends. */
static void
test_connections(void **state)
{
	struct remote *r = begin("MaxSessions 10\n");
	struct xfer_streams streams = remote_streams(r);
	struct sftp *s[5] = { remote_sftp(r) };
	struct xfer_stream_stats path;

	(void)state;
	for (int i = 1; i < 4; i++)
		assert_int_equal(streams.ops->open(streams.arg,
				     XFER_STREAM_CONNECTION, 0, &s[i]), 0);
	for (int i = 3; i >= 0; i--)
		check_stream(s[i]);
	assert_int_equal(connections_made(), 4);
	for (unsigned i = 0; i < 4; i++) {
		streams.ops->path(streams.arg, s[i], &path);
		assert_int_equal(path.connection, i);
	}
	shell("kill -9 $(sed -n 1p %s/pids)", dir);
	assert_int_equal(wait_end(s[0]), ERR_CLOSED);
	streams.ops->close(streams.arg, s[0]);
	assert_null(remote_sftp(r));
	for (int i = 1; i < 4; i++)
		check_stream(s[i]);
	/* Another in its place; channels go where there is a connection. */
	assert_int_equal(streams.ops->open(streams.arg,
			     XFER_STREAM_CONNECTION, 0, &s[0]), 0);
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0, &s[4]), 0);
	check_stream(s[0]);
	check_stream(s[4]);
	streams.ops->path(streams.arg, s[4], &path);
	assert_int_equal(path.connection, 1);
	assert_int_equal(connections_made(), 5);
	assert_int_equal(remote_close(r), 255);
}

/* One that comes to another host is not used, though it is known too. */
static void
test_other_host_key(void **state)
{
	struct remote *r = begin("MaxSessions 10\n");
	struct xfer_streams streams = remote_streams(r);
	struct sftp *first = remote_sftp(r), *s;

	(void)state;
	check_stream(first);
	shell("%s/hpnssh-keygen -q -t ed25519 -N '' -f %s/other && "
	      "printf 'there ' >>%s/known && cut -d' ' -f1,2 %s/other.pub "
	      ">>%s/known && sed -i 's|/host$|/other|' %s/config", build,
	    dir, dir, dir, dir, dir);
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CONNECTION, 0, &s), 0);
	assert_int_equal(wait_end(s), ERR_DENIED);
	check_stream(first);
	assert_int_equal(connections_made(), 2);
	assert_int_equal(remote_close(r), 0);
}

/* Where it is not known whether others will be let in, as behind a proxy, one
 * tries; with it the others are given up. */
static void
test_refused_connections(void **state)
{
	struct remote *r = begin("MaxSessions 10\n");
	struct xfer_streams streams = remote_streams(r);
	struct sftp *first = remote_sftp(r), *s[4];

	(void)state;
	check_stream(first);
	shell("sed -i '/^exec/i exit 1' %s/server", dir);
	for (int i = 0; i < 3; i++)
		assert_int_equal(streams.ops->open(streams.arg,
				     XFER_STREAM_CONNECTION, 0, &s[i]), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wait_end(s[i]), ERR_CLOSED);
	assert_int_equal(connections_made(), 2);
	/* Channels have nothing to do with it. */
	assert_int_equal(
	    streams.ops->open(streams.arg, XFER_STREAM_CHANNEL, 0, &s[3]), 0);
	check_stream(s[3]);
	assert_int_equal(remote_close(r), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_refused_channels),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_refused_connections),
		cmocka_unit_test(test_other_host_key),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
