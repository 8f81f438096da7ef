/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-keyscan: collects the host keys of many hosts.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/library.h"
#include "keytools/keyscan/scan.h"

enum {
	OK = 0,
	FAILED = 1,
	FILE_MAX_BYTES = 64 * 1024 * 1024, /* of a file of -f */
	TIMEOUT_MAX_S = 24 * 60 * 60,
};

struct options {
	struct scan_options scan;
	struct strlist files, lines;
	const char *types;
};

static _Noreturn void
usage(void)
{
	fputs("usage: hpnssh-keyscan [-46cDHqv] [-f file] [-O option]"
	      " [-p port]\n"
	      "                      [-T timeout] [-t type]"
	      " [host | addresses names | network]\n",
	    stderr);
	exit(FAILED);
}

/* ---- types of keys ------------------------------------------------------ */

/* The key types of -t. Each host gets a connection for each type, in this
 * order. */
static const struct type {
	const char *name; /* for -t; any name in algs is accepted, too */
	const char *algs; /* of these, those that are built in are asked for */
} types[] = {
	{ "rsa", "rsa-sha2-512,rsa-sha2-256,ssh-rsa" },
	{ "ecdsa",
	    "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521" },
	{ "ed25519", "ssh-ed25519" },
	{ "ecdsa-sk", "sk-ecdsa-sha2-nistp256@openssh.com" },
	{ "ed25519-sk", "sk-ssh-ed25519@openssh.com" },
	{ "mldsa44-ed25519", "ssh-mldsa44-ed25519@openssh.com" },
};

_Static_assert(ARRAY_LEN(types) <= SCAN_TYPES_MAX, "types are too many");

/* The list of the type's algorithms that are built in; NULL: there are none. It
 * is never freed. */
static char *
algorithms_of(const struct type *t, bool certificates)
{
	struct buf out = { 0 };
	const char *pos = t->algs, *name;
	char *list = NULL;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		char *alg = xstrndup(name, len);
		const struct key_alg *row = key_alg_by_name(alg);

		if (row != NULL)
			buf_printf(&out, "%s%s", buf_len(&out) > 0 ? "," : "",
			    certificates ? row->cert_name : row->name);
		free(alg);
	}
	if (buf_len(&out) > 0 && (list = buf_dup_string(&out)) == NULL)
		fatal("out of memory");
	buf_clear(&out);
	return list;
}

static bool
has_alg(const struct type *t, const char *name, size_t len)
{
	const char *pos = t->algs, *alg;
	size_t alg_len;

	while (csv_next(&pos, &alg, &alg_len))
		if (alg_len == len && strncasecmp(alg, name, len) == 0)
			return true;
	return false;
}

static const struct type *
find_type(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_is_span_nocase(types[i].name, name, len) ||
		    has_alg(&types[i], name, len))
			return &types[i];
	fatal("Unknown key type \"%.*s\"", (int)len, name);
}

/* Fills o->scan.types in the order of the table, with each type of -t once.
 * Without -t, all types that are built in. */
static void
choose_types(struct options *o)
{
	bool wanted[ARRAY_LEN(types)] = { false };
	const char *pos = o->types, *name;
	size_t len;

	while (o->types != NULL && csv_next(&pos, &name, &len))
		if (len > 0)
			wanted[find_type(name, len) - types] = true;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		char *algs;

		if (o->types != NULL && !wanted[i])
			continue;
		algs = algorithms_of(&types[i], o->scan.certificates);
		if (algs != NULL)
			o->scan.types[o->scan.n_types++] = algs;
		else if (o->types != NULL)
			fatal("key type \"%s\" is not supported by this "
			      "version", types[i].name);
	}
}

/* ---- the command line --------------------------------------------------- */

static void
set_port(struct options *o, const char *text)
{
	int64_t port;

	if (str_to_int(text, 1, 65535, &port) != 0) {
		fprintf(stderr, "Bad port '%s'\n", text);
		exit(FAILED);
	}
	o->scan.style.port = (uint16_t)port;
}

static void
set_timeout(struct options *o, const char *text)
{
	int64_t seconds;

	if (str_to_seconds(text, &seconds) != 0 || seconds < 1 ||
	    seconds > TIMEOUT_MAX_S) {
		fprintf(stderr, "Bad timeout '%s'\n", text);
		usage();
	}
	o->scan.limit_ms = (unsigned)seconds * 1000;
}

static void
set_option(struct options *o, const char *text)
{
	struct scan_style *s = &o->scan.style;

	if (!str_has_prefix(text, "hashalg="))
		fatal("Unsupported -O option \"%s\"", text);
	text += strlen("hashalg=");
	s->sha1 = str_equal_nocase(text, "sha1");
	s->sha256 = str_equal_nocase(text, "sha256");
	if (!s->sha1 && !s->sha256)
		fatal("Unsupported hash algorithm \"%s\"", text);
}

static void
more_verbose(void)
{
	enum log_level level = log_get_level();

	if (level < LOG_LVL_DEBUG1)
		log_set_level(LOG_LVL_DEBUG1);
	else if (level < LOG_LVL_DEBUG3)
		log_set_level((enum log_level)(level + 1));
}

static void
set_flag(struct options *o, int flag)
{
	struct scan_style *s = &o->scan.style;

	switch (flag) {
	case '4':
		o->scan.family = AF_INET;
		break;
	case '6':
		o->scan.family = AF_INET6;
		break;
	case 'c':
		o->scan.certificates = true;
		break;
	case 'D':
		s->records = true;
		break;
	case 'f':
		xstrlist_add(&o->files, optarg);
		break;
	case 'H':
		s->hash_names = true;
		break;
	case 'O':
		set_option(o, optarg);
		break;
	case 'p':
		set_port(o, optarg);
		break;
	case 'q':
		s->no_banner = true;
		break;
	case 'T':
		set_timeout(o, optarg);
		break;
	case 't':
		o->types = optarg;
		break;
	case 'v':
		more_verbose();
		break;
	default:
		usage();
	}
}

/* Reads all lines of the file before the scan begins: waiting for a pipe later
 * would hold up connections. */
static void
read_lines(const char *path, struct strlist *lines)
{
	struct buf content = { 0 };
	char *text;
	int r = strcmp(path, "-") == 0 ?
	    fd_read_file(STDIN_FILENO, &content, FILE_MAX_BYTES) :
	    file_read(path, &content, FILE_MAX_BYTES);

	if (r != 0)
		fatal("hpnssh-keyscan: %s: %s", path, err_text(r));
	for (size_t i = 0; i < buf_len(&content); i++)
		if (buf_data(&content)[i] == '\0')
			fatal("hpnssh-keyscan: %s: is no text", path);
	if ((text = buf_dup_string(&content)) == NULL ||
	    strlist_split(lines, text, "\n") != 0)
		fatal("out of memory");
	free(text);
	buf_clear(&content);
}

static void
parse_argv(struct options *o, int argc, char **argv)
{
	int flag;

	while ((flag = flags_getopt(argc, argv, "46cDf:HO:p:qT:t:v")) != -1)
		set_flag(o, flag);
	if (optind == argc && o->files.n == 0)
		usage();
	if (o->scan.certificates && o->scan.style.records)
		fatal("hpnssh-keyscan: there are no records of certificates: "
		      "-c and -D cannot be used together");
	choose_types(o);
	for (size_t i = 0; i < o->files.n; i++)
		read_lines(o->files.v[i], &o->lines);
	for (; optind < argc; optind++)
		xstrlist_add(&o->lines, argv[optind]);
}

int
main(int argc, char **argv)
{
	static struct options o = { .scan = {
		.style = { .port = 22, .sha1 = true, .sha256 = true },
		.family = AF_UNSPEC,
		.limit_ms = 5000 } };
	bool found;

	fd_sanitise_stdio();
	crypto_library_start();
	log_init("hpnssh-keyscan", LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&keyscan_help, argc, argv, NULL);
	signal(SIGPIPE, SIG_IGN);
	parse_argv(&o, argc, argv);
	found = scan_run(&o.scan, &o.lines);
	strlist_clear(&o.files);
	strlist_clear(&o.lines);
	return found ? OK : FAILED;
}
