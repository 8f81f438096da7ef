/* SPDX-License-Identifier: ISC */
/*
 * Makes the host keys of this host that are missing (-A). When there are none
 * yet, and an OpenSSH server is installed, hpnsshd is also configured to use
 * that server's keys (those that it would accept as private:
 * keyfile_is_private()), so that clients which know the host by these keys
 * still recognize it. The keys are named in a file of hpnsshd's configuration
 * (NOTE) and not copied, so that each key is in one place only.
 */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "keys/host-key-files.h"

#define STOCK OPENSSH_DIR
#define NOTE SYSCONFDIR "/sshd_config.d/10-host-keys.conf"

enum {
	CONFIG_MAX = 1 << 20, /* bytes of a configuration file */
	DEPTH_MAX = 8,	      /* levels of Include */
	FILES_MAX = 256,
};

static const struct {
	const char *type, *name, *text;
} kinds[] = {
	{ "rsa", "rsa", "RSA" },
	{ "ecdsa", "ecdsa", "ECDSA" },
	{ "ed25519", "ed25519", "ED25519" },
	{ "mldsa44-ed25519", "mldsa44_ed25519", "MLDSA44-ED25519" },
};

static const char *
prefix(const struct keygen_options *o)
{
	return o->file != NULL ? o->file : "";
}

/* ---- which keys a server is configured to have -------------------------- */

struct config {
	const char *dir; /* directory that relative Includes refer to */
	struct strlist keys;
	bool includes_note;
	unsigned depth, files;
};

static void read_config(const struct keygen_options *o, struct config *c,
    const char *path);

/* Appends the words of a keyword's value; a quoted word may have blanks. */
static void
split_words(const char *s, struct strlist *words)
{
	while (*(s += strspn(s, " \t\r=")) != '\0' && *s != '#') {
		bool quoted = *s == '"';
		size_t len = strcspn(s += quoted, quoted ? "\"" : " \t\r");

		xstrlist_add_len(words, s, len);
		s += len + (quoted && s[len] == '"');
	}
}

static void
read_included(const struct keygen_options *o, struct config *c,
    const char *pattern)
{
	char *path, *below;
	glob_t found = { 0 };

	xasprintf(&path, "%s%s%s", *pattern == '/' ? "" : c->dir,
	    *pattern == '/' ? "" : "/", pattern);
	c->includes_note |= fnmatch(path, NOTE, FNM_PATHNAME) == 0;
	xasprintf(&below, "%s%s", prefix(o), path);
	if (c->depth < DEPTH_MAX && glob(below, 0, NULL, &found) == 0) {
		c->depth++;
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_config(o, c, found.gl_pathv[i]);
		c->depth--;
	}
	globfree(&found);
	free(below);
	free(path);
}

/* Reads a line of a server's configuration. False: a Match block begins, in
 * which host keys cannot be named. */
static bool
read_line(const struct keygen_options *o, struct config *c, const char *line)
{
	struct strlist words = { 0 };
	const char *s = line + strspn(line, " \t");
	size_t len = strcspn(s, " \t=");
	bool go_on = !str_is_span_nocase("Match", s, len);

	split_words(s + len, &words);
	if (str_is_span_nocase("HostKey", s, len) && words.n > 0) {
		xstrlist_add(&c->keys, words.v[0]);
	} else if (str_is_span_nocase("Include", s, len)) {
		for (size_t i = 0; i < words.n; i++)
			read_included(o, c, words.v[i]);
	}
	strlist_clear(&words);
	return go_on;
}

/* Reads a configuration file. A file that cannot be read is treated as
 * empty. */
static void
read_config(const struct keygen_options *o, struct config *c, const char *path)
{
	struct strlist lines = { 0 };
	struct buf content = { 0 };
	char *text = NULL;

	if (c->files++ < FILES_MAX &&
	    file_read(path, &content, CONFIG_MAX) == 0 &&
	    (text = buf_dup_string(&content)) != NULL &&
	    strlist_split(&lines, text, "\n") == 0)
		for (size_t i = 0;
		     i < lines.n && read_line(o, c, lines.v[i]); i++)
			;
	free(text);
	strlist_clear(&lines);
	buf_clear(&content);
}

/* ---- those of OpenSSH's server ------------------------------------------ */

/* True if hpnsshd can use the host key of this file: only its owner can read
 * it, and its name is absolute and needs no escapes as one word of a
 * configuration. */
static bool
is_usable(const struct keygen_options *o, const char *name)
{
	struct key *k = NULL;
	char *path;
	struct stat st;
	bool usable;

	xasprintf(&path, "%s%s", prefix(o), name);
	usable = *name == '/' && strpbrk(name, "\"\\%\n") == NULL &&
	    stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() &&
	    keyfile_load_private(path, NULL, true, &k, NULL) == 0;
	key_free(k);
	free(path);
	return usable;
}

/* Appends a HostKey line for each of the OpenSSH server's keys that is
 * usable. */
static void
put_stock_keys(const struct keygen_options *o, struct buf *out)
{
	struct config c = { .dir = STOCK };
	char *path;

	xasprintf(&path, "%s%s/sshd_config", prefix(o), STOCK);
	read_config(o, &c, path);
	free(path);
	for (size_t i = 0; c.keys.n == 0 && i < ARRAY_LEN(kinds); i++) {
		char *key;

		xasprintf(&key, "%s/ssh_host_%s_key", STOCK, kinds[i].name);
		if (is_usable(o, key))
			buf_printf(out, "HostKey %s\n", key);
		free(key);
	}
	for (size_t i = 0; i < c.keys.n; i++)
		if (is_usable(o, c.keys.v[i]))
			buf_printf(out, "HostKey \"%s\"\n", c.keys.v[i]);
	strlist_clear(&c.keys);
}

/* True if hpnsshd's configuration includes the file NOTE, and names no host
 * keys itself. */
static bool
may_add_note(const struct keygen_options *o)
{
	struct config c = { .dir = SYSCONFDIR };
	char *path;
	bool may;

	xasprintf(&path, "%s%s/sshd_config", prefix(o), SYSCONFDIR);
	read_config(o, &c, path);
	free(path);
	may = c.includes_note && c.keys.n == 0;
	strlist_clear(&c.keys);
	return may && strcmp(SYSCONFDIR, STOCK) != 0;
}

/* Writes the file NOTE: the OpenSSH server's keys, then our own. hpnsshd uses
 * the first key of each type and announces the others, so that clients know our
 * own keys already when OpenSSH is removed with its keys. An existing file is
 * not changed. */
static void
show_stock_keys(const struct keygen_options *o)
{
	static const char why[] =
	    "# Written by hpnssh-keygen -A when there were no keys of "
	    "hpnsshd's own: clients\n"
	    "# that know this host by its OpenSSH server know it by "
	    "these. Of each type the\n"
	    "# first is shown, and the others are announced. One that is "
	    "gone is passed over.\n";
	struct buf keys = { 0 }, text = { 0 };
	char *path;
	int fd;

	put_stock_keys(o, &keys);
	buf_printf(&text, "%s", why);
	buf_put(&text, buf_data(&keys), buf_len(&keys));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		buf_printf(&text, "HostKey %s/ssh_host_%s_key\n", SYSCONFDIR,
		    kinds[i].name);
	if (buf_err(&keys) != 0 || buf_err(&text) != 0)
		fatal("out of memory");
	xasprintf(&path, "%s%s", prefix(o), NOTE);
	fd = buf_len(&keys) == 0 ? -1 :
	    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd != -1 &&
	    fd_write_all(fd, buf_data(&text), buf_len(&text)) != 0) {
		unlink(path);
		fd_close(&fd);
	}
	if (fd != -1 && !o->quiet)
		printf("hpnssh-keygen: hpnsshd shows the host keys of "
		       "OpenSSH's server here (%s)\n", path);
	if (fd != -1)
		fd_close(&fd);
	free(path);
	buf_clear(&keys);
	buf_clear(&text);
}

/* ---- our own ------------------------------------------------------------ */

static char *
own_path(const struct keygen_options *o, size_t kind)
{
	char *path;

	xasprintf(&path, "%s%s/ssh_host_%s_key", prefix(o), SYSCONFDIR,
	    kinds[kind].name);
	return path;
}

/* True if the key file exists. An empty one counts as missing, because an
 * interrupted image build leaves such a file. */
static bool
is_there(const struct keygen_options *o, size_t kind)
{
	char *path = own_path(o, kind);
	struct stat st;
	bool there = stat(path, &st) == 0 && st.st_size > 0;

	free(path);
	return there;
}

static bool
make_host_key(const struct keygen_options *o, size_t kind)
{
	char *path = own_path(o, kind), *comment;
	struct key *k = NULL;
	bool ok;
	int r;

	r = key_generate(kinds[kind].type, 0, &k);
	if (r != 0)
		fatal("Cannot generate a %s key: %s", kinds[kind].type,
		    err_text(r));
	comment = o->comment != NULL ? xstrdup(o->comment) :
				       keygen_default_comment();
	ok = keygen_save_pair(o, path, k, keygen_private_format(o), "",
	    comment);
	key_free(k);
	free(comment);
	free(path);
	return ok;
}

int
keygen_host_keys(const struct keygen_options *o)
{
	bool there[ARRAY_LEN(kinds)], ok = true;
	size_t missing = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		missing += !(there[i] = is_there(o, i));
	if (missing == ARRAY_LEN(kinds) && may_add_note(o))
		show_stock_keys(o);
	if (missing > 0 && !o->quiet)
		printf("hpnssh-keygen: generating new host keys:");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (there[i])
			continue;
		if (!o->quiet)
			printf(" %s", kinds[i].text);
		fflush(stdout);
		ok &= make_host_key(o, i);
	}
	if (missing > 0 && !o->quiet)
		printf("\n");
	return ok ? OK : FAILED;
}
