/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-keygen: makes, changes, shows and converts keys, and keeps
 * known_hosts files.
 */
#include "keygen/keygen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"

enum { ROUNDS_MAX = 1000000 };

struct keygen_options opt = { .hash = DIGEST_SHA256 };

static _Noreturn void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnssh-keygen [-q] [-a rounds] [-b bits] [-C comment] "
	    "[-f file]\n"
	    "                     [-m format] [-N new_passphrase] "
	    "[-t ed25519 | ecdsa | rsa]\n"
	    "                     [-Z cipher]\n"
	    "       hpnssh-keygen -p [-a rounds] [-f file] [-m format] "
	    "[-N new_passphrase]\n"
	    "                     [-P old_passphrase] [-Z cipher]\n"
	    "       hpnssh-keygen -c [-a rounds] [-C comment] [-f file] "
	    "[-P passphrase]\n"
	    "       hpnssh-keygen -y [-f file] [-P passphrase]\n"
	    "       hpnssh-keygen -l [-v] [-E hash] [-f file]\n"
	    "       hpnssh-keygen -i | -e [-f file] "
	    "[-m RFC4716 | PKCS8 | PEM]\n"
	    "       hpnssh-keygen -F host [-Hlv] [-f known_hosts]\n"
	    "       hpnssh-keygen -H [-f known_hosts]\n"
	    "       hpnssh-keygen -R host [-f known_hosts]\n"
	    "       hpnssh-keygen -A [-q] [-f prefix]\n"
	    "       hpnssh-keygen -V\n");
	exit(FAILED);
}

/* Each mode is a letter. Two of them are an error, unless they may be combined
 * with -F. */
static void
set_mode(int *mode, int letter)
{
	if (*mode != 0 && *mode != letter)
		fatal("-%c and -%c cannot be used together", *mode, letter);
	*mode = letter;
}

static unsigned
number(const char *text, unsigned min, unsigned max, const char *what)
{
	const char *why = NULL;
	long long n = strtonum(text, min, max, &why);

	if (why != NULL)
		fatal("%s %s is %s (%u to %u are possible)", what, text, why,
		    min, max);
	return (unsigned)n;
}

static void
check_format(const char *format)
{
	if (strcasecmp(format, "RFC4716") != 0 &&
	    strcasecmp(format, "PKCS8") != 0 && strcasecmp(format, "PEM") != 0)
		fatal("Unsupported conversion format \"%s\"", format);
}

/* True if the letter was an option with a value. */
static bool
value_option(int letter, const char *value)
{
	int hash;

	switch (letter) {
	case 'a':
		opt.rounds = number(value, 1, ROUNDS_MAX, "KDF rounds");
		return true;
	case 'b':
		opt.bits = number(value, 1, 65536, "key length");
		return true;
	case 'C':
		opt.comment = value;
		return true;
	case 'E':
		hash = digest_parse(value);
		if (hash < 0 || !key_fingerprint_hash_ok((enum digest_alg)hash))
			fatal("Invalid hash algorithm \"%s\"", value);
		opt.hash = (enum digest_alg)hash;
		return true;
	case 'f':
		opt.file = value;
		return true;
	case 'm':
		check_format(value);
		opt.format = value;
		return true;
	case 'N':
		opt.new_pass = value;
		return true;
	case 'P':
		opt.pass = value;
		return true;
	case 't':
		opt.type = value;
		return true;
	case 'Z':
		if (!keyfile_cipher_known(value))
			fatal("Invalid cipher \"%s\" for a private key",
			    value);
		opt.cipher = value;
		return true;
	}
	return false;
}

static int
parse_options(int argc, char **argv)
{
	/* All letters of OpenSSH's, so that those that are not built yet are
	 * refused by name, and not as typing errors. */
	static const char letters[] = "ABHKLQUXceghiklopquvy"
				      "C:D:E:F:I:M:N:O:P:R:V:Y:Z:"
				      "a:b:f:m:n:r:s:t:w:z:";
	int letter, mode = 0;

	while ((letter = getopt(argc, argv, letters)) != -1) {
		if (value_option(letter, optarg))
			continue;
		switch (letter) {
		case 'F':
		case 'R':
			opt.host = optarg;
			set_mode(&mode, letter);
			break;
		case 'A':
		case 'c':
		case 'e':
		case 'i':
		case 'p':
		case 'y':
			set_mode(&mode, letter);
			break;
		case 'H':
			opt.hash_hosts = true;
			break;
		case 'l':
			opt.fingerprint = true;
			break;
		case 'o': /* the native format is the only default */
			opt.format = NULL;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case '?':
			usage();
		default:
			fatal("option -%c is not available in this version",
			    letter);
		}
	}
	if (mode != 'F') {
		if (opt.hash_hosts)
			set_mode(&mode, 'H');
		if (opt.fingerprint)
			set_mode(&mode, 'l');
	}
	if (optind < argc) {
		fprintf(stderr, "Too many arguments.\n");
		usage();
	}
	return mode;
}

static const struct {
	int letter;
	int (*run)(void);
} modes[] = {
	{ 'A', keygen_host_keys },
	{ 'F', keygen_find_host },
	{ 'H', keygen_hash_hosts },
	{ 'R', keygen_remove_host },
	{ 'c', keygen_comment },
	{ 'e', keygen_export },
	{ 'i', keygen_import },
	{ 'l', keygen_fingerprint },
	{ 'p', keygen_passphrase },
	{ 'y', keygen_public },
};

static int
run_mode(int mode)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (modes[i].letter == mode)
			return modes[i].run();
	return keygen_generate();
}

int
main(int argc, char **argv)
{
	int status;

	fd_sanitise_stdio();
	/* Passphrases are read without stdio, perhaps from the same pipe: what
	 * follows a line must not get into a buffer of stdio. */
	setvbuf(stdin, NULL, _IONBF, 0);
	log_init("hpnssh-keygen", LOG_LVL_INFO);
	log_to_stderr();
	if (argc == 2 && strcmp(argv[1], "-V") == 0) {
		fprintf(stderr, "%s HPNSSH_%s\n", HPN_SOFTWARE, VERSION);
		return OK;
	}
	status = run_mode(parse_options(argc, argv));
	/* A full disk behind stdout must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout))
		fatal("Cannot write the output: %s", strerror(errno));
	return status;
}
