/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-keygen: makes, changes, shows and converts keys, and keeps
 * known_hosts files.
 */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "config.h"

enum { ROUNDS_MAX = 1000000 };

static struct keygen_options opt = { .hash = DIGEST_SHA256 };

static _Noreturn void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnssh-keygen [-q] [-a rounds] [-b bits] [-C comment] "
	    "[-f file]\n"
	    "                     [-m format] [-N new_passphrase] "
	    "[-t ed25519 | ecdsa | rsa |\n"
	    "                     ed25519-sk | ecdsa-sk | mldsa44-ed25519] "
	    "[-O option]\n"
	    "                     [-w provider] [-Z cipher]\n"
	    "       hpnssh-keygen -K [-q] [-N new_passphrase] [-O device=path] "
	    "[-w provider]\n"
	    "       hpnssh-keygen -p [-a rounds] [-f file] [-m format] "
	    "[-N new_passphrase]\n"
	    "                     [-P old_passphrase] [-Z cipher]\n"
	    "       hpnssh-keygen -c [-a rounds] [-C comment] [-f file] "
	    "[-P passphrase]\n"
	    "       hpnssh-keygen -y [-f file] [-P passphrase]\n"
	    "       hpnssh-keygen -l | -B [-v] [-E hash] [-f file]\n"
	    "       hpnssh-keygen -i | -e [-f file] "
	    "[-m RFC4716 | PKCS8 | PEM]\n"
	    "       hpnssh-keygen -F host [-Hlv] [-f known_hosts]\n"
	    "       hpnssh-keygen -H [-f known_hosts]\n"
	    "       hpnssh-keygen -R host [-f known_hosts]\n"
	    "       hpnssh-keygen -r host [-g] [-f file] [-O option]\n"
	    "       hpnssh-keygen -A [-q] [-f prefix]\n"
	    "       hpnssh-keygen -D pkcs11 [-lv] [-E hash]\n"
	    "       hpnssh-keygen -s ca_key -I identity [-hqU] "
	    "[-D pkcs11]\n"
	    "                     [-n principals] [-O option] "
	    "[-t algorithm]\n"
	    "                     [-V validity] [-z serial]\n"
	    "                     file ...\n"
	    "       hpnssh-keygen -L [-f file]\n"
	    "       hpnssh-keygen -k -f krl [-qu] [-C comment] "
	    "[-s ca_public_key]\n"
	    "                     [-z version] [file ...]\n"
	    "       hpnssh-keygen -Q [-l] -f krl [key_file ...]\n"
	    "       hpnssh-keygen -M generate [-O option] output_file\n"
	    "       hpnssh-keygen -M screen [-f input_file] [-O option] "
	    "output_file\n"
	    "       hpnssh-keygen -Y sign -f key_file -n namespace "
	    "[-qU] [-O option]\n"
	    "                     [file ...]\n"
	    "       hpnssh-keygen -Y verify -f allowed_signers "
	    "-I identity -n namespace\n"
	    "                     -s signature [-q] [-O option] "
	    "[-r revoked_keys]\n"
	    "       hpnssh-keygen -Y check-novalidate -n namespace "
	    "-s signature [-q]\n"
	    "       hpnssh-keygen -Y find-principals -f allowed_signers "
	    "-s signature\n"
	    "       hpnssh-keygen -Y match-principals -f allowed_signers "
	    "-I identity\n"
	    "       hpnssh-keygen -V\n");
	exit(FAILED);
}

/* Sets the mode, which is a letter. Two different modes are an error. -H and -l
 * may also be options of other modes, so mode_of_flags() decides about them at
 * the end. */
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

/* Handles an option with a value. False: the letter is none of these. */
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
	case 'D':
#ifndef HAVE_PKCS11
		fatal("no pkcs11 support");
#endif
		opt.library = value;
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
	case 'I':
		opt.identity = value;
		return true;
	case 'm':
		check_format(value);
		opt.format = value;
		return true;
	case 'N':
		opt.new_pass = value;
		return true;
	case 'n':
		opt.names = value;
		return true;
	case 'O':
		xstrlist_add(&opt.options, value);
		return true;
	case 'P':
		opt.pass = value;
		return true;
	case 'r':
		opt.revoked = value;
		return true;
	case 's':
		opt.ca = value;
		return true;
	case 't':
		opt.type = value;
		return true;
	case 'V':
		opt.validity = value;
		return true;
	case 'w':
		opt.provider = value;
		return true;
	case 'Z':
		if (!keyfile_cipher_known(value))
			fatal("Invalid cipher \"%s\" for a private key",
			    value);
		opt.cipher = value;
		return true;
	case 'z':
		opt.number = value;
		return true;
	}
	return false;
}

/* The modes: the letter that chooses the mode, and whether it takes arguments
 * behind the options. */
static const struct {
	int letter;
	bool takes_args;
	int (*run)(const struct keygen_options *o);
} modes[] = {
	{ 'A', false, keygen_host_keys },
	{ 'B', false, keygen_bubblebabble },
	{ 'D', false, keygen_list_token },
	{ 'F', false, keygen_find_host },
	{ 'H', false, keygen_hash_hosts },
	{ 'K', false, keygen_resident },
	{ 'L', false, keygen_show_certs },
	{ 'M', true, keygen_moduli },
	{ 'Q', true, keygen_query_krl },
	{ 'R', false, keygen_remove_host },
	{ 'Y', true, keygen_signature },
	{ 'c', false, keygen_comment },
	{ 'e', false, keygen_export },
	{ 'i', false, keygen_import },
	{ 'k', true, keygen_make_krl },
	{ 'l', false, keygen_fingerprint },
	{ 'p', false, keygen_passphrase },
	{ 'r', false, keygen_dns_records },
	{ 's', true, keygen_certify },
	{ 'y', false, keygen_public },
};

/* Handles an option without a value. False: the letter is none of these. */
static bool
flag_option(int letter)
{
	switch (letter) {
	case 'g':
		opt.generic = true;
		return true;
	case 'H':
		opt.hash_hosts = true;
		return true;
	case 'h':
		opt.for_host = true;
		return true;
	case 'l':
		opt.fingerprint = true;
		return true;
	case 'o': /* -o chose the native format, which is the default now */
		opt.format = NULL;
		return true;
	case 'q':
		opt.quiet = true;
		return true;
	case 'U':
		opt.use_agent = true;
		return true;
	case 'u':
		opt.update = true;
		return true;
	case 'v':
		opt.verbose = true;
		return true;
	}
	return false;
}

/* Returns the mode. Some letters choose a mode if they stand alone, and are an
 * option of another mode if they stand with its letter. */
static int
mode_of_flags(int mode)
{
	if (mode != 'F') {
		if (opt.hash_hosts)
			set_mode(&mode, 'H');
		if (opt.fingerprint && mode != 'Q' && mode != 'B')
			set_mode(&mode, 'l');
	}
	if (mode == 0 && opt.revoked != NULL)
		return 'r';
	if (opt.library != NULL && opt.ca == NULL &&
	    (mode == 0 || mode == 'l'))
		return 'D';
	return mode == 0 && opt.ca != NULL ? 's' : mode;
}

/* Ends the program if an option was given that the mode would ignore. */
static void
check_belonging(int mode)
{
	const struct {
		int letter;
		bool given;
		const char *modes;
	} belongs[] = {
		{ 'D', opt.library != NULL, "Ds" },
		{ 'g', opt.generic, "r" },
		{ 'h', opt.for_host, "s" },
		{ 'I', opt.identity != NULL, "sY" },
		{ 'n', opt.names != NULL, "sY" },
		{ 'O', opt.options.n > 0 && mode != 0, "MYrsKp" },
		{ 'r', opt.revoked != NULL, "Yr" },
		{ 's', opt.ca != NULL, "Yks" },
		{ 'U', opt.use_agent, "Ys" },
		{ 'u', opt.update, "k" },
		{ 'V', opt.validity != NULL, "s" },
		{ 'z', opt.number != NULL, "ks" },
	};

	for (size_t i = 0; i < ARRAY_LEN(belongs); i++) {
		if (belongs[i].given &&
		    (mode == 0 || strchr(belongs[i].modes, mode) == NULL))
			fatal("option -%c is not available without -%c",
			    belongs[i].letter, belongs[i].modes[0]);
	}
}

static void
take_args(int mode, char **args, int n)
{
	bool takes = false;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		takes |= modes[i].letter == mode && modes[i].takes_args;
	if (n > 0 && !takes) {
		fprintf(stderr, "Too many arguments.\n");
		usage();
	}
	if (mode == 's' && n == 0) {
		fprintf(stderr, "Too few arguments.\n");
		usage();
	}
	opt.args = args;
	opt.n_args = (size_t)n;
}

static int
parse_options(int argc, char **argv)
{
	/* All letters that OpenSSH has, so that those that are missing here get
	 * an error message of their own instead of the usage. */
	static const char letters[] = "ABHKLQUXceghiklopquvy"
				      "C:D:E:F:I:M:N:O:P:R:V:Y:Z:"
				      "a:b:f:m:n:r:s:t:w:z:";
	int letter, mode = 0;

	while ((letter = flags_getopt(argc, argv, letters)) != -1) {
		if (value_option(letter, optarg) || flag_option(letter))
			continue;
		switch (letter) {
		case 'F':
		case 'R':
			opt.host = optarg;
			set_mode(&mode, letter);
			break;
		case 'M':
		case 'Y':
			opt.operation = optarg;
			set_mode(&mode, letter);
			break;
		case 'A':
		case 'B':
		case 'K':
		case 'L':
		case 'Q':
		case 'c':
		case 'e':
		case 'i':
		case 'k':
		case 'p':
		case 'y':
			set_mode(&mode, letter);
			break;
		case 'X': /* the old name of -i */
			set_mode(&mode, 'i');
			break;
		case '?':
			usage();
		default:
			fatal("option -%c is not available in this version",
			    letter);
		}
	}
	mode = mode_of_flags(mode);
	check_belonging(mode);
	take_args(mode, argv + optind, argc - optind);
	return mode;
}

static int
run_mode(int mode)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (modes[i].letter == mode)
			return modes[i].run(&opt);
	return keygen_generate(&opt);
}

int
main(int argc, char **argv)
{
	int status;

	fd_sanitise_stdio();
	/* Passphrases are read from stdin without stdio. If stdin is a pipe,
	 * stdio must not read more of it than a line, so it has no buffer. */
	setvbuf(stdin, NULL, _IONBF, 0);
	log_init("hpnssh-keygen", LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&keygen_help, argc, argv, NULL);
	status = run_mode(parse_options(argc, argv));
	/* An error while writing to stdout, such as a full disk, must not be
	 * missed. */
	if (fflush(stdout) != 0 || ferror(stdout))
		fatal("Cannot write the output: %s", strerror(errno));
	return status;
}
