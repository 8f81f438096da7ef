/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-keygen: makes, changes, shows and converts keys, and keeps
 * known_hosts files. One mode a run; each mode is a function mode_*(),
 * which returns the exit status.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <readpassphrase.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "keys/keyfile.h"
#include "keys/knownhosts.h"

enum {
	ROUNDS_MAX = 1000000,
	PASS_MAX = 1024,
	PASS_MIN_PEM = 5, /* characters, as deployed */
	INPUT_MAX = 16 * 1024 * 1024,
};

/* Exit statuses; fatal() gives 255. */
enum { OK = 0, FAILED = 1, TROUBLE = 255 };

static struct {
	const char *type, *file, *comment, *format, *cipher;
	const char *pass;     /* -P; NULL: ask */
	const char *new_pass; /* -N; NULL: ask */
	const char *hash_name, *host;
	unsigned bits, rounds; /* 0: default */
	bool quiet, verbose, fingerprint, hash_hosts;
} opt;

static enum digest_alg fingerprint_hash = DIGEST_SHA256;

/* --- small helpers ------------------------------------------------------ */

static const struct passwd *
me(void)
{
	const struct passwd *pw = getpwuid(getuid());

	if (pw == NULL)
		fatal("No user exists for uid %u", (unsigned)getuid());
	return pw;
}

static char *
home_file(const char *name)
{
	char *path;

	xasprintf(&path, "%s/.ssh/%s", me()->pw_dir, name);
	return path;
}

static char *
default_comment(void)
{
	char host[256] = "localhost", *text;

	if (gethostname(host, sizeof host) == 0)
		host[sizeof host - 1] = '\0';
	xasprintf(&text, "%s@%s", me()->pw_name, host);
	return text;
}

/* A comment may come from anybody, so it is printed with escapes. */
static char *
printable(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *out = xmalloc(size);

	str_escape(out, size, text);
	return out;
}

/* A line from the terminal or a pipe; without an answer the run ends. */
static char *
ask_line(const char *prompt)
{
	char *line = NULL;
	size_t size = 0;

	printf("%s", prompt);
	fflush(stdout);
	if (getline(&line, &size, stdin) == -1) {
		free(line);
		exit(FAILED);
	}
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

static const char *
default_key_name(void)
{
	const char *type = opt.type != NULL ? opt.type : "ed25519";

	if (strcmp(type, "rsa") == 0)
		return "id_rsa";
	return strcmp(type, "ecdsa") == 0 ? "id_ecdsa" : "id_ed25519";
}

/* -f, or what is answered to the question. Owned by the caller. */
static char *
key_path(const char *question)
{
	char *standard, *prompt, *line;

	if (opt.file != NULL)
		return xstrdup(opt.file);
	standard = home_file(default_key_name());
	xasprintf(&prompt, "%s (%s): ", question, standard);
	line = ask_line(prompt);
	free(prompt);
	if (*line == '\0') {
		free(line);
		return standard;
	}
	free(standard);
	return line;
}

static bool
confirm_overwrite(const char *path)
{
	struct stat st;
	char *line;
	bool yes;

	if (stat(path, &st) == -1)
		return true;
	printf("%s already exists.\n", path);
	line = ask_line("Overwrite (y/n)? ");
	yes = *line == 'y' || *line == 'Y';
	free(line);
	return yes;
}

/* --- passphrases ------------------------------------------------------- */

static void
pass_free(char *pass)
{
	mem_free_secret(pass, pass != NULL ? strlen(pass) : 0);
}

static char *
ask_pass(const char *prompt)
{
	char pass[PASS_MAX], *copy;

	if (readpassphrase(prompt, pass, sizeof pass, RPP_ECHO_OFF) == NULL)
		fatal("Cannot read the passphrase: %s", strerror(errno));
	copy = xstrdup(pass);
	explicit_bzero(pass, sizeof pass);
	return copy;
}

/* Asks until the same has been given twice. */
static char *
ask_new_pass(const char *prompt)
{
	char *first, *second;

	for (;;) {
		first = ask_pass(prompt);
		second = ask_pass("Enter same passphrase again: ");
		if (strcmp(first, second) == 0)
			break;
		pass_free(first);
		pass_free(second);
		printf("Passphrases do not match.  Try again.\n");
	}
	pass_free(second);
	return first;
}

/* The passphrase of a file that is to be written: -N, or asked for. */
static char *
new_pass_for(const char *prompt, enum keyfile_format format)
{
	char *pass = opt.new_pass != NULL ? xstrdup(opt.new_pass) :
					    ask_new_pass(prompt);

	if (format != KEYFILE_OPENSSH && *pass != '\0' &&
	    strlen(pass) < PASS_MIN_PEM)
		fatal("Passphrase is too short (minimum five characters)");
	return pass;
}

/* --- reading keys ------------------------------------------------------ */

static void
warn_permissions(const char *path)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
				  "@@@@@@@@@@@@@@@@";
	struct stat st = { 0 };

	(void)!stat(path, &st);
	log_error("%s", bar);
	log_error("@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @");
	log_error("%s", bar);
	log_error("Permissions %04o for '%s' are too open.",
	    (unsigned)(st.st_mode & 0777), path);
	log_error("A private key must be readable by its owner only, so this "
		  "one is not used.");
}

/* Ends the run if the key cannot be had. *pass and *comment (NULL if the
 * format has none) belong to the caller. */
static struct key *
load_private(const char *path, char **pass, char **comment)
{
	struct key *k = NULL;
	char *prompt;
	int r;

	*pass = xstrdup(opt.pass != NULL ? opt.pass : "");
	r = keyfile_load_private(path, *pass, true, &k, comment);
	if (r == ERR_PASSPHRASE && opt.pass == NULL) {
		xasprintf(&prompt, "Enter passphrase for \"%s\": ", path);
		pass_free(*pass);
		*pass = ask_pass(prompt);
		free(prompt);
		r = keyfile_load_private(path, *pass, true, &k, comment);
	}
	if (r == ERR_PERMISSION)
		warn_permissions(path);
	if (r != 0)
		fatal("Load key \"%s\": %s", path, err_text(r));
	return k;
}

static void
require_file(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) == -1)
		fatal("%s: %s", path, strerror(errno));
}

static enum keyfile_format
private_format(void)
{
	if (opt.format == NULL || strcasecmp(opt.format, "RFC4716") == 0)
		return KEYFILE_OPENSSH;
	if (strcasecmp(opt.format, "PKCS8") == 0)
		return KEYFILE_PKCS8;
	return KEYFILE_PEM;
}

/* For PEM, which holds no comment, that of the .pub file. */
static void
find_comment(const char *path, char **comment)
{
	struct key *k = NULL;

	if (*comment != NULL)
		return;
	if (keyfile_load_public(path, &k, comment) != 0 || *comment == NULL)
		*comment = xstrdup("");
	key_free(k);
}

/* --- generating -------------------------------------------------------- */

/* The options that a key type may be named by. */
static const struct {
	const char *name, *type;
	unsigned bits;
} type_names[] = {
	{ "ed25519", "ed25519", 0 },
	{ "ssh-ed25519", "ed25519", 0 },
	{ "ecdsa", "ecdsa", 0 },
	{ "ecdsa-sha2-nistp256", "ecdsa", 256 },
	{ "ecdsa-sha2-nistp384", "ecdsa", 384 },
	{ "ecdsa-sha2-nistp521", "ecdsa", 521 },
	{ "rsa", "rsa", 0 },
	{ "ssh-rsa", "rsa", 0 },
	{ "rsa-sha2-256", "rsa", 0 },
	{ "rsa-sha2-512", "rsa", 0 },
};

static const char *const later_types[] = { "ed25519-sk", "ecdsa-sk",
	"mldsa44-ed25519", "dsa", "dss" };

static void
resolve_type(void)
{
	if (opt.type == NULL) {
		opt.type = "ed25519";
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
		if (strcasecmp(opt.type, type_names[i].name) != 0)
			continue;
		opt.type = type_names[i].type;
		if (type_names[i].bits != 0)
			opt.bits = type_names[i].bits;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(later_types); i++) {
		if (strcasecmp(opt.type, later_types[i]) == 0)
			fatal("key type %s is not available in this version",
			    opt.type);
	}
	fatal("unknown key type %s", opt.type);
}

static void
check_bits(void)
{
	if (strcmp(opt.type, "rsa") == 0 && opt.bits != 0) {
		if (opt.bits < 1024)
			fatal("Invalid RSA key length: minimum is 1024 bits");
		if (opt.bits > 16384)
			fatal("Invalid RSA key length: maximum is 16384 bits");
	}
	if (strcmp(opt.type, "ecdsa") == 0 && opt.bits != 0 &&
	    opt.bits != 256 && opt.bits != 384 && opt.bits != 521)
		fatal("Invalid ECDSA key length: valid lengths are 256, 384 "
		      "or 521 bits");
}

/* Both files, or neither. */
static bool
save_pair(const char *path, const struct key *k, enum keyfile_format format,
    const char *pass, const char *comment)
{
	char *pub;
	int r;

	r = keyfile_save_private(path, k, format, pass, comment, opt.cipher,
	    opt.rounds);
	if (r != 0) {
		log_error("Saving key \"%s\" failed: %s", path, err_text(r));
		return false;
	}
	xasprintf(&pub, "%s.pub", path);
	r = keyfile_save_public(pub, k, comment);
	if (r != 0) {
		log_error("Saving public key \"%s\" failed: %s", pub,
		    err_text(r));
		unlink(path);
	}
	free(pub);
	return r == 0;
}

static void
make_ssh_directory(const char *path)
{
	char *dir = home_file("");
	size_t len = strlen(dir);

	if (strncmp(path, dir, len) == 0) {
		dir[len - 1] = '\0';
		if (mkdir(dir, 0700) == 0 && !opt.quiet)
			printf("Created directory '%s'.\n", dir);
	}
	free(dir);
}

static void
report_new_key(const struct key *k, const char *path, const char *comment)
{
	char *fp = key_fingerprint(k, fingerprint_hash);
	char *art = key_randomart(k, fingerprint_hash);
	char *shown = printable(comment);

	if (fp == NULL || art == NULL)
		fatal("out of memory");
	printf("Your identification has been saved in %s\n", path);
	printf("Your public key has been saved in %s.pub\n", path);
	printf("The key fingerprint is:\n%s %s\n", fp, shown);
	printf("The key's randomart image is:\n%s\n", art);
	free(shown);
	free(art);
	free(fp);
}

static int
mode_generate(void)
{
	enum keyfile_format format = private_format();
	char *path, *pass, *comment;
	struct key *k = NULL;
	bool saved;
	char *prompt;
	int r;

	resolve_type();
	check_bits();
	if (!opt.quiet)
		printf("Generating public/private %s key pair.\n", opt.type);
	path = key_path("Enter file in which to save the key");
	make_ssh_directory(path);
	if (!confirm_overwrite(path))
		return FAILED;
	xasprintf(&prompt,
	    "Enter passphrase for \"%s\" (empty for no passphrase): ", path);
	pass = new_pass_for(prompt, format);
	free(prompt);
	r = key_generate(opt.type, opt.bits, &k);
	if (r != 0)
		fatal("Cannot generate a %s key: %s", opt.type, err_text(r));
	comment = opt.comment != NULL ? xstrdup(opt.comment) :
					default_comment();
	saved = save_pair(path, k, format, pass, comment);
	if (saved && !opt.quiet)
		report_new_key(k, path, comment);
	pass_free(pass);
	free(comment);
	free(path);
	key_free(k);
	return saved ? OK : FAILED;
}

/* -A. An empty file is what an interrupted image build leaves behind. */
static bool
make_host_key(const char *type, const char *text, bool *announced)
{
	char *path, *comment;
	struct key *k = NULL;
	struct stat st;
	bool ok = true;
	int r;

	xasprintf(&path, "%s%s/ssh_host_%s_key",
	    opt.file != NULL ? opt.file : "", SYSCONFDIR, type);
	if (stat(path, &st) == 0 && st.st_size > 0) {
		free(path);
		return true;
	}
	if (!*announced && !opt.quiet)
		printf("hpnssh-keygen: generating new host keys:");
	*announced = true;
	if (!opt.quiet)
		printf(" %s", text);
	fflush(stdout);
	r = key_generate(type, 0, &k);
	if (r != 0)
		fatal("Cannot generate a %s key: %s", type, err_text(r));
	comment = opt.comment != NULL ? xstrdup(opt.comment) :
					default_comment();
	ok = save_pair(path, k, private_format(), "", comment);
	key_free(k);
	free(comment);
	free(path);
	return ok;
}

static int
mode_host_keys(void)
{
	static const struct {
		const char *type, *text;
	} kinds[] = { { "rsa", "RSA" }, { "ecdsa", "ECDSA" },
		{ "ed25519", "ED25519" } };
	bool announced = false, ok = true;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		ok &= make_host_key(kinds[i].type, kinds[i].text, &announced);
	if (announced && !opt.quiet)
		printf("\n");
	return ok ? OK : FAILED;
}

/* --- changing ---------------------------------------------------------- */

static int
mode_passphrase(void)
{
	enum keyfile_format format = private_format();
	char *path = key_path("Enter file in which the key is");
	char *old = NULL, *new, *comment = NULL, *shown;
	struct key *k;
	int r;

	require_file(path);
	k = load_private(path, &old, &comment);
	find_comment(path, &comment);
	if (*comment != '\0' && !opt.quiet) {
		shown = printable(comment);
		printf("Key has comment '%s'\n", shown);
		free(shown);
	}
	new = new_pass_for(
	    "Enter new passphrase (empty for no passphrase): ", format);
	r = keyfile_save_private(path, k, format, new, comment, opt.cipher,
	    opt.rounds);
	if (r != 0)
		log_error("Saving key \"%s\" failed: %s", path, err_text(r));
	else if (!opt.quiet)
		printf("Your identification has been saved with the new "
		       "passphrase.\n");
	pass_free(new);
	pass_free(old);
	free(comment);
	free(path);
	key_free(k);
	return r == 0 ? OK : FAILED;
}

static int
mode_comment(void)
{
	char *path = key_path("Enter file in which the key is");
	char *pass = NULL, *comment = NULL, *new, *shown;
	struct key *k;
	bool saved;

	require_file(path);
	k = load_private(path, &pass, &comment);
	if (comment == NULL)
		fatal("%s is a PEM file, which holds no comment; "
		      "hpnssh-keygen -p makes it one that does", path);
	shown = printable(comment);
	if (!opt.quiet)
		printf("Old comment: %s\n", shown);
	free(shown);
	new = opt.comment != NULL ? xstrdup(opt.comment) :
				    ask_line("New comment: ");
	saved = save_pair(path, k, KEYFILE_OPENSSH, pass, new);
	if (saved && !opt.quiet) {
		shown = printable(new);
		printf("Comment '%s' applied\n", shown);
		free(shown);
	}
	free(new);
	pass_free(pass);
	free(comment);
	free(path);
	key_free(k);
	return saved ? OK : FAILED;
}

/* --- showing ----------------------------------------------------------- */

static void
print_line(const struct key *k, const char *comment)
{
	struct buf text = { 0 };
	char *line;

	if (key_format_line(k, comment, &text) != 0 ||
	    (line = buf_dup_string(&text)) == NULL)
		fatal("out of memory");
	printf("%s\n", line);
	free(line);
	buf_clear(&text);
}

static int
mode_public(void)
{
	char *path = key_path("Enter file in which the key is");
	char *pass = NULL, *comment = NULL;
	struct key *k;

	require_file(path);
	k = load_private(path, &pass, &comment);
	find_comment(path, &comment);
	print_line(k, comment);
	pass_free(pass);
	free(comment);
	free(path);
	key_free(k);
	return OK;
}

static void
print_fingerprint(const struct key *k, const char *comment)
{
	char *fp = key_fingerprint(k, fingerprint_hash);
	char *shown = printable(*comment != '\0' ? comment : "no comment");
	char *art;

	if (fp == NULL)
		fatal("out of memory");
	printf("%u %s %s (%s)\n", key_bits(k), fp, shown, key_short_name(k));
	if (opt.verbose) {
		art = key_randomart(k, fingerprint_hash);
		if (art == NULL)
			fatal("out of memory");
		printf("%s\n", art);
		free(art);
	}
	free(shown);
	free(fp);
}

/* Length of a first field that may hold quoted blanks. */
static size_t
field_len(const char *s)
{
	bool quoted = false;
	size_t i;

	for (i = 0; s[i] != '\0'; i++) {
		if (s[i] == '\\' && s[i + 1] == '"')
			i++;
		else if (s[i] == '"')
			quoted = !quoted;
		else if (!quoted && (s[i] == ' ' || s[i] == '\t'))
			break;
	}
	return i;
}

/* A line of a public key, authorized_keys or known_hosts file. */
static bool
fingerprint_line(const char *line)
{
	const char *s = line + strspn(line, " \t");
	char *lead = NULL;
	struct key *k = NULL;

	if (*s == '\0' || *s == '#')
		return false;
	if (*s == '@') { /* a marker of known_hosts */
		s += strcspn(s, " \t");
		s += strspn(s, " \t");
	}
	if (key_parse_line(&s, &k) != 0) {
		lead = xstrndup(s, field_len(s));
		s += strlen(lead);
		if (key_parse_line(&s, &k) != 0) {
			free(lead);
			return false;
		}
	}
	s += strspn(s, " \t");
	print_fingerprint(k, *s != '\0' || lead == NULL ? s : lead);
	free(lead);
	key_free(k);
	return true;
}

static bool
fingerprint_private(const char *path)
{
	struct key *k = NULL;
	char *comment = NULL;

	if (keyfile_load_public(path, &k, &comment) != 0)
		return false;
	print_fingerprint(k, comment != NULL ? comment : "");
	free(comment);
	key_free(k);
	return true;
}

static void
read_input(const char *path, struct buf *out)
{
	int r;

	buf_init_secret(out);
	if (strcmp(path, "-") == 0)
		r = fd_read_file(STDIN_FILENO, out, INPUT_MAX);
	else
		r = file_read(path, out, INPUT_MAX);
	if (r != 0)
		fatal("%s: %s", path, err_text(r));
}

static int
mode_fingerprint(void)
{
	char *path = key_path("Enter file in which the key is");
	char *text, *rest, *line;
	struct buf content;
	bool found = false;

	read_input(path, &content);
	text = rest = buf_dup_string(&content);
	if (text == NULL)
		fatal("out of memory");
	if (str_has_prefix(text, "-----BEGIN ")) {
		if (strcmp(path, "-") != 0)
			found = fingerprint_private(path);
	} else {
		while ((line = strsep(&rest, "\r\n")) != NULL)
			found |= fingerprint_line(line);
	}
	if (!found)
		fatal("%s is not a public key file.",
		    strcmp(path, "-") == 0 ? "(stdin)" : path);
	mem_free_secret(text, buf_len(&content));
	buf_clear(&content);
	free(path);
	return OK;
}

/* --- converting -------------------------------------------------------- */

static enum keyfile_public_format
public_format(void)
{
	if (opt.format == NULL || strcasecmp(opt.format, "RFC4716") == 0)
		return KEYFILE_PUBLIC_RFC4716;
	if (strcasecmp(opt.format, "PKCS8") == 0)
		return KEYFILE_PUBLIC_PKCS8;
	return KEYFILE_PUBLIC_PEM;
}

static int
mode_import(void)
{
	char *path = key_path("Enter file in which the key is");
	struct key *k = NULL;
	struct buf content;
	int r;

	read_input(path, &content);
	r = keyfile_import_public((struct span){ buf_data(&content),
				      buf_len(&content) },
	    public_format(), &k);
	if (r != 0)
		fatal("%s: cannot be read as a public key in %s format: %s",
		    path, opt.format != NULL ? opt.format : "RFC4716",
		    err_text(r));
	print_line(k, NULL);
	buf_clear(&content);
	free(path);
	key_free(k);
	return OK;
}

static int
mode_export(void)
{
	char *path = key_path("Enter file in which the key is");
	char *comment, *user = default_comment(), *pass = NULL;
	char *own_comment = NULL, *text;
	struct key *k = NULL;
	struct buf out = { 0 };
	int r;

	require_file(path);
	r = keyfile_load_public(path, &k, &own_comment);
	if (r == ERR_PASSPHRASE)
		k = load_private(path, &pass, &own_comment);
	else if (r != 0)
		fatal("Load key \"%s\": %s", path, err_text(r));
	xasprintf(&comment, "%u-bit %s, converted by %s", key_bits(k),
	    key_short_name(k), user);
	r = keyfile_export_public(k, public_format(), comment, &out);
	if (r != 0)
		fatal("%s keys cannot be written in %s format: %s",
		    key_short_name(k), opt.format != NULL ? opt.format :
		    "RFC4716", err_text(r));
	text = buf_dup_string(&out);
	if (text == NULL)
		fatal("out of memory");
	printf("%s", text);
	free(text);
	buf_clear(&out);
	pass_free(pass);
	free(own_comment);
	free(comment);
	free(user);
	free(path);
	key_free(k);
	return OK;
}

/* --- known_hosts ------------------------------------------------------- */

static char *
hosts_path(void)
{
	struct stat st;
	char *path = opt.file != NULL ? xstrdup(opt.file) :
					home_file("known_hosts");

	if (stat(path, &st) == -1)
		fatal("Cannot stat %s: %s", path, strerror(errno));
	return path;
}

struct find {
	bool found;
};

static void
print_found_fingerprint(const struct knownhosts_line *line)
{
	char *fp = key_fingerprint(line->key, fingerprint_hash), *art;
	char *shown = printable(line->comment);

	if (fp == NULL)
		fatal("out of memory");
	printf("%s %s %s%s%s\n", opt.host, key_short_name(line->key), fp,
	    *shown != '\0' ? " " : "", shown);
	if (opt.verbose) {
		art = key_randomart(line->key, fingerprint_hash);
		if (art == NULL)
			fatal("out of memory");
		printf("%s\n", art);
		free(art);
	}
	free(shown);
	free(fp);
}

static int
find_line(void *arg, const char *text, unsigned number,
    const struct knownhosts_line *line)
{
	static const char *const tags[] = {
		[KNOWNHOSTS_NONE] = "",
		[KNOWNHOSTS_REVOKED] = "REVOKED",
		[KNOWNHOSTS_CA] = "CA",
	};
	struct find *f = arg;
	const char *rest;
	char *hash;

	if (line == NULL || !knownhosts_hosts_match(line->hosts, opt.host))
		return 0;
	f->found = true;
	if (!opt.quiet)
		printf("# Host %s found: line %u %s\n", opt.host, number,
		    tags[line->marker]);
	if (opt.fingerprint && line->key != NULL) {
		print_found_fingerprint(line);
	} else if (opt.hash_hosts && line->marker == KNOWNHOSTS_NONE) {
		hash = knownhosts_hash(opt.host);
		if (hash == NULL)
			return ERR_NOMEM;
		rest = text + strspn(text, " \t") + strlen(line->hosts);
		printf("%s%s\n", hash, rest);
		free(hash);
	} else {
		printf("%s\n", text);
	}
	return 0;
}

static int
mode_find_host(void)
{
	struct find f = { false };
	char *path = hosts_path();
	int r = knownhosts_each_line(path, find_line, &f);

	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	free(path);
	return f.found ? OK : FAILED;
}

static void
note_edit(void *arg, enum knownhosts_note note, unsigned number,
    const char *text)
{
	const char *path = arg;

	switch (note) {
	case KNOWNHOSTS_NOTE_REMOVED:
		if (!opt.quiet)
			printf("# Host %s found: line %u\n", opt.host, number);
		break;
	case KNOWNHOSTS_NOTE_PATTERN:
		log_info("%s:%u: ignoring host name with wildcard: %s", path,
		    number, text);
		break;
	case KNOWNHOSTS_NOTE_BAD_LINE:
		log_info("%s:%u: line is not understood and left as it is",
		    path, number);
		break;
	}
}

static int
mode_remove_host(void)
{
	char *path = hosts_path();
	unsigned changed = 0;
	int r = knownhosts_remove(path, opt.host, note_edit, path, &changed);

	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	if (changed == 0)
		log_info("Host %s not found in %s", opt.host, path);
	else
		printf("%s updated.\nOriginal contents retained as %s.old\n",
		    path, path);
	free(path);
	return OK;
}

static int
mode_hash_hosts(void)
{
	char *path = hosts_path();
	unsigned changed = 0;
	int r = knownhosts_hash_all(path, note_edit, path, &changed);

	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	if (changed > 0) {
		printf("%s updated.\nOriginal contents retained as %s.old\n",
		    path, path);
		log_info("WARNING: %s.old contains unhashed entries", path);
		log_info("Delete this file, or it will still tell the names.");
	}
	free(path);
	return OK;
}

/* --- command line ------------------------------------------------------ */

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

/* One letter per mode; a second one is an error, but for those that go
 * together with -F. */
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
		fingerprint_hash = (enum digest_alg)hash;
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
	/* All letters of the original, so that those that do not work yet
	 * are refused by name and not as typing errors. */
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

static int
run_mode(int mode)
{
	switch (mode) {
	case 'A':
		return mode_host_keys();
	case 'F':
		return mode_find_host();
	case 'H':
		return mode_hash_hosts();
	case 'R':
		return mode_remove_host();
	case 'c':
		return mode_comment();
	case 'e':
		return mode_export();
	case 'i':
		return mode_import();
	case 'l':
		return mode_fingerprint();
	case 'p':
		return mode_passphrase();
	case 'y':
		return mode_public();
	default:
		return mode_generate();
	}
}

int
main(int argc, char **argv)
{
	int status;

	fd_sanitise_stdio();
	/* Passphrases are read past stdio, perhaps from the same pipe. */
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
