/* SPDX-License-Identifier: ISC */
/*
 * "internal-sftp": the SFTP engine in a child of the session process, so
 * that no program has to exist in a user's restricted root directory.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/session.h"
#include "xfer/sftp-serve.h"

enum { INPUT_BYTES = 256 * 1024, ARGS_MAX = 32 };

bool
internal_sftp_is(const char *command)
{
	static const char name[] = "internal-sftp";
	size_t len = sizeof name - 1;

	return strncmp(command, name, len) == 0 &&
	    (command[len] == '\0' || command[len] == ' ' ||
		command[len] == '\t');
}

struct options {
	struct sftp_serve_opts serve;
	const char *directory;
	mode_t mask;
	bool have_mask;
};

static bool
set_option(struct options *o, int opt, const char *arg)
{
	char *end;
	int level;

	switch (opt) {
	case 'R':
		o->serve.read_only = true;
		return true;
	case 'P':
		o->serve.denied = arg;
		return sftp_serve_names_valid(arg);
	case 'p':
		o->serve.allowed = arg;
		return sftp_serve_names_valid(arg);
	case 'd':
		o->directory = arg;
		return true;
	case 'u':
		o->mask = (mode_t)strtoul(arg, &end, 8);
		o->have_mask = true;
		return *arg != '\0' && *end == '\0' && o->mask <= 0777;
	case 'l':
		level = log_level_parse(arg);
		if (level != -1)
			log_set_level((enum log_level)level);
		return level != -1;
	case 'f':
		level = log_facility_parse(arg);
		if (level != -1)
			log_to_syslog(level);
		return level != -1;
	case 'e':
		log_to_stderr();
		return true;
	default:
		return false;
	}
}

/* text is cut into words in place, which the options then borrow. */
static bool
parse(struct options *o, char *text)
{
	char *argv[ARGS_MAX + 1], *word;
	int argc = 0, opt;

	while ((word = strsep(&text, " \t")) != NULL)
		if (*word != '\0' && argc < ARGS_MAX)
			argv[argc++] = word;
	argv[argc] = NULL;
	optind = 0;
	opterr = 0;
	while ((opt = getopt(argc, argv, "+RP:p:d:u:l:f:e")) != -1)
		if (!set_option(o, opt, optarg))
			return false;
	return optind == argc;
}

static int
send_output(struct sftp_serve *s)
{
	struct buf *out = sftp_serve_output(s);
	int r;

	if (buf_len(out) == 0)
		return 0;
	r = fd_write_all(STDOUT_FILENO, buf_data(out), buf_len(out));
	buf_consume(out, buf_len(out));
	return r;
}

static int
take_input(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	ssize_t used;
	int r;

	while (len > 0) {
		used = sftp_serve_input(s, p, len);
		if (used < 0)
			return (int)used;
		p += used;
		len -= (size_t)used;
		if ((r = send_output(s)) != 0)
			return r;
	}
	return 0;
}

static int
serve(struct sftp_serve *s)
{
	uint8_t *input = xmalloc(INPUT_BYTES);
	ssize_t n;
	int r = 0;

	while (r == 0) {
		n = read(STDIN_FILENO, input, INPUT_BYTES);
		if (n == 0)
			break;
		if (n == -1 && errno == EINTR)
			continue;
		r = n == -1 ? ERR_SYSTEM : take_input(s, input, (size_t)n);
	}
	free(input);
	return r;
}

int
internal_sftp_run(const char *command, const struct user *user)
{
	struct options o = { .serve = { .home = user->home } };
	char *text = xstrdup(command);
	struct sftp_serve *s = NULL;
	int r;

	if (!parse(&o, text)) {
		log_error("bad arguments: %s", command);
		free(text);
		return 1;
	}
	if (o.have_mask)
		(void)umask(o.mask);
	if (o.directory != NULL && chdir(o.directory) == -1)
		log_error("cannot change to %s: %s", o.directory,
		    strerror(errno));
	if ((r = sftp_serve_new(&s, &o.serve)) == 0)
		r = serve(s);
	if (r != 0)
		log_error("%s", err_text(r));
	sftp_serve_free(s);
	free(text);
	return r == 0 ? 0 : 1;
}
