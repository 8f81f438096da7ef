/* SPDX-License-Identifier: ISC */
/*
 * Every decision about a host's key beside OpenSSH's: the rows, and what their
 * letters mean, are of regress/data/make-hostcheck-stock.py.
 */
#include "compat/bsd.h"
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/hosts/hostcheck.h"
#include "keys/cert.h"
#include "regress/unit/make-cert.h"

#define ADDRESS "192.0.2.7"

enum { MODES = 5 };

static const struct row {
	const char *name, *lines, *shown, *answers, *offending;
} rows[] = {
#include "regress/data/hostcheck-stock.inc"
};

static const struct {
	int strict;
	bool batch;
} modes[MODES] = {
	{ CLIENT_ASK_YES, false },
	{ CLIENT_ASK_NO, false },
	{ CLIENT_ASK_ACCEPT_NEW, false },
	{ CLIENT_ASK_ASK, false },
	{ CLIENT_ASK_ASK, true },
};

static struct {
	const char *name;
	struct key *key;
} made[] = { { "e1", NULL }, { "e2", NULL }, { "c1", NULL }, { "c2", NULL },
	{ "r1", NULL }, { "r2", NULL }, { "A", NULL }, { "B", NULL },
	{ "e1@A", NULL }, { "e1@A!", NULL } };

static struct client_conf conf;
static char *known_hosts, *askpass, *asked;

static struct key *
key_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		if (strcmp(made[i].name, name) == 0)
			return made[i].key;
	fail_msg("no key %s", name);
	return NULL;
}

static struct key *
certify(const char *principal)
{
	struct cert_request request = { .kind = CERT_HOST, .id = "id",
		.valid_before = CERT_FOREVER };
	struct key *cert;

	assert_int_equal(strlist_add(&request.principals, principal), 0);
	cert = make_cert_by(key_named("e1"), &request, key_named("A"),
	    "ssh-ed25519");
	strlist_clear(&request.principals);
	return cert;
}

static struct key *
make(const char *name)
{
	struct key *k = NULL;

	if (strchr(name, '@') != NULL)
		return certify(strchr(name, '!') != NULL ? "x" : "h");
	if (*name == 'c')
		assert_int_equal(key_generate("ecdsa", 256, &k), 0);
	else if (*name == 'r')
		assert_int_equal(key_generate("rsa", 2048, &k), 0);
	else
		assert_int_equal(key_generate("ed25519", 0, &k), 0);
	return k;
}

static int
set_up(void **state)
{
	char *script;

	assert_int_equal(temp_make_memory(state), 0);
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		made[i].key = make(made[i].name);
	known_hosts = temp_file("known_hosts", "");
	xasprintf(&asked, "%s/asked", temp_dir);
	xasprintf(&script, "#!/bin/sh\n>%s\necho no\n", asked);
	askpass = temp_file("askpass", script);
	free(script);
	assert_int_equal(chmod(askpass, 0700), 0);
	setenv("SSH_ASKPASS", askpass, 1);
	setenv("SSH_ASKPASS_REQUIRE", "force", 1);
	client_conf_init(&conf);
	assert_int_equal(client_conf_finish(&conf), 0);
	conf.host.hostname = strdup("h");
	strlist_clear(&conf.known.global_known_hosts_file);
	strlist_clear(&conf.known.user_known_hosts_file);
	assert_int_equal(
	    strlist_add(&conf.known.user_known_hosts_file, known_hosts), 0);
	messages_keep();
	return 0;
}

static int
tear_down(void **state)
{
	client_conf_clear(&conf);
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		key_free(made[i].key);
	unlink(known_hosts);
	unlink(askpass);
	unlink(asked);
	free(known_hosts);
	free(askpass);
	free(asked);
	return temp_remove(state);
}

/* ---- a row -------------------------------------------------------------- */

/* One word of a hosts field, for lines that name the host at this port. */
static void
put_host(struct buf *out, const char *word, int port)
{
	char letter = word[strlen(word) - 1], *name = NULL;

	if (strchr("HNn", letter) != NULL)
		name = knownhosts_name(letter == 'H' ? "h" : ADDRESS,
		    letter == 'n' ? 22 : (uint16_t)port);
	if (name != NULL)
		buf_printf(out, "%.*s%s", (int)strlen(word) - 1, word, name);
	else
		buf_printf(out, "%s", word);
	free(name);
}

/* "@marker |H,o key" as a line of known_hosts. */
static void
put_line(struct buf *out, const char *spec, int port)
{
	struct strlist words = { 0 }, hosts = { 0 };
	const char *field;
	struct buf b = { 0 };
	char *plain, *hashed = NULL;

	assert_int_equal(strlist_split(&words, spec, " "), 0);
	field = words.v[words.n - 2];
	assert_int_equal(strlist_split(&hosts, field + (*field == '|'), ","),
	    0);
	for (size_t i = 0; i < hosts.n; i++) {
		buf_printf(&b, "%s", i > 0 ? "," : "");
		if (strchr(hosts.v[i], ']') != NULL) /* written out */
			buf_printf(&b, "%s", hosts.v[i]);
		else
			put_host(&b, hosts.v[i], port);
	}
	plain = buf_dup_string(&b);
	if (*field == '|')
		hashed = knownhosts_hash(plain);
	if (words.n == 3)
		buf_printf(out, "%s ", words.v[0]);
	buf_printf(out, "%s ", hashed != NULL ? hashed : plain);
	assert_int_equal(key_format_line(key_named(words.v[words.n - 1]), NULL,
			     out), 0);
	buf_put_u8(out, '\n');
	free(hashed);
	free(plain);
	buf_clear(&b);
	strlist_clear(&hosts);
	strlist_clear(&words);
}

static void
put_file(const char *lines, int port)
{
	struct buf out = { 0 };
	const char *next;

	for (; *lines != '\0' && *lines != '-'; lines = next) {
		size_t len = strcspn(lines, ";");
		char *line = strndup(lines, len);

		put_line(&out, line, port);
		free(line);
		next = lines + len;
		next += strspn(next, "; ");
	}
	assert_int_equal(file_replace(known_hosts, buf_data(&out),
			     buf_len(&out), 0600), 0);
	buf_clear(&out);
}

/* On a line of its own: a pattern is no note. */
static bool
is_noted(const char *host, int port)
{
	char *name = knownhosts_name(host, (uint16_t)port), *line, *all;
	struct buf text = { 0 };
	bool noted;

	assert_int_equal(file_read(known_hosts, &text, 1 << 20), 0);
	all = buf_dup_string(&text);
	xasprintf(&line, "\n%s ", name);
	noted = str_has_prefix(all, line + 1) || strstr(all, line) != NULL;
	free(line);
	free(all);
	free(name);
	buf_clear(&text);
	return noted;
}

static off_t
size_of_file(void)
{
	struct stat st;

	assert_int_equal(stat(known_hosts, &st), 0);
	return st.st_size;
}

/* What is done when the host of that port shows the key. */
static char
visit(const struct row *row, int port, int mode)
{
	struct hostcheck *h = NULL;
	struct buf blob = { 0 };
	off_t before = size_of_file();
	bool had_name = is_noted("h", port), distrusted, name, address;
	bool had_address = is_noted(ADDRESS, port);
	int r;

	unlink(asked);
	messages_forget();
	conf.known.strict_host_key_checking = modes[mode].strict;
	conf.auth.batch_mode = modes[mode].batch;
	conf.known.check_host_ip = strchr(row->name, '+') != NULL;
	assert_int_equal(hostcheck_new(&h, &conf, ADDRESS, (uint16_t)port), 0);
	assert_int_equal(key_to_blob(key_named(row->shown), &blob), 0);
	r = hostcheck_key(h, buf_span(&blob));
	distrusted = hostcheck_distrusted(h);
	/* Who is taken for somebody else teaches nothing. */
	if (r != 0 || distrusted)
		assert_null(hostcheck_noted_in(h));
	buf_clear(&blob);
	hostcheck_free(h);
	if (access(asked, F_OK) == 0)
		return '?';
	if (r != 0 || distrusted) {
		assert_int_equal(size_of_file(), before);
		return r != 0 ? 'R' : 'D';
	}
	if (size_of_file() == before)
		return 'A';
	name = !had_name && is_noted("h", port);
	address = !had_address && is_noted(ADDRESS, port);
	return name && address ? 'B' : name ? 'N' : 'I';
}

/* In the words of the last column. */
static void
told_offending(char out[32])
{
	static const char word[] = "Offending ", ip[] = "key for IP";
	const char *of_ip = NULL, *of_key = NULL, *at = messages, *line;

	while ((at = strstr(at, word)) != NULL) {
		at += strlen(word);
		if (str_has_prefix(at, ip))
			of_ip = at;
		else
			of_key = at;
	}
	at = of_key != NULL ? of_key : of_ip;
	strlcpy(out, "-", 32);
	if (at == NULL || (line = strstr(at, "known_hosts:")) == NULL)
		return;
	snprintf(out, 32, "%.*s:%d", of_key != NULL ?
		(int)strcspn(at, " ") : 2, of_key != NULL ? at : "ip",
	    atoi(line + strlen("known_hosts:")));
}

/* ---- where ours is stricter -------------------------------------------- */

static const struct row *
row_of(const char *name, const char *lines, const char *shown)
{
	for (const struct row *row = rows; row < rows + ARRAY_LEN(rows); row++)
		if (strcmp(row->name, name) == 0 &&
		    strcmp(row->lines, lines) == 0 &&
		    strcmp(row->shown, shown) == 0)
			return row;
	fail_msg("no row %s \"%s\" %s", name, lines, shown);
	return NULL;
}

/* Stock goes on with a revoked key in the mode no, without passwords, and looks
 * at what the address has only for changes. */
static bool
is_revoked(const struct row *row)
{
	return (row->answers[1] == 'D' && strcmp(row->offending, "-") == 0) ||
	    (strstr(row->lines, "@revoked N e1") != NULL &&
		str_has_prefix(row->shown, "e1"));
}

/* A host that is known without its port, by another key at its address: for
 * accept-new it is a new one to stock. */
static bool
leads_elsewhere(const struct row *row)
{
	return str_has_prefix(row->lines, "h e1; n ") &&
	    strcmp(row->lines, "h e1; n e1") != 0 &&
	    strcmp(row->answers, "RAB?R") == 0;
}

/* A certificate that no authority of the file vouches for is its plain key.
 * Stock forgets the address then, and takes a key of the host without its port
 * for that of the port, though that has another. */
static const char *
expected(const struct row *row)
{
	bool by_authority = strstr(row->lines, "@cert-authority") != NULL &&
	    strcmp(row->answers, "AAAAA") == 0;

	if (is_revoked(row))
		return "RRRRR";
	if (leads_elsewhere(row))
		return "RAR?R";
	if (strchr(row->shown, '@') == NULL || by_authority)
		return row->answers;
	return expected(row_of(row->name, row->lines, "e1"));
}

/* ---- all rows ----------------------------------------------------------- */

static int
port_of(const struct row *row)
{
	return row->name[0] == '[' ? 2222 : 22;
}

/* The file names the host at one port, and it is reached at that or at another
 * one. Returns how many of the modes differ from what is wanted. */
static unsigned
try_row(const struct row *row, int port, const char *want)
{
	char got[MODES + 1] = "", told[32];

	for (int i = 0; i < MODES; i++) {
		put_file(row->lines, port_of(row));
		got[i] = visit(row, port, i);
		if (i != 0)
			continue;
		told_offending(told);
		/* Where stock refuses at once, ours may tell of the address. */
		if (strcmp(told, row->offending) != 0 && (row->offending[0] !=
			'-' || !str_has_prefix(told, "ip:")) &&
		    strcmp(want, row->answers) == 0)
			got[i] = '!';
	}
	if (strcmp(got, want) == 0)
		return 0;
	print_error("%s at %d, \"%s\", shown %s: %s %s; want %s, stock %s "
		    "%s\n", row->name, port, row->lines, row->shown, got, told,
	    want, row->answers, row->offending);
	return 1;
}

static void
as_stock(void **state)
{
	unsigned wrong = 0;

	(void)state;
	conf.load.port_given = true;
	for (const struct row *row = rows; row < rows + ARRAY_LEN(rows); row++)
		wrong += try_row(row, port_of(row), expected(row));
	assert_int_equal(wrong, 0);
}

/* Do the lines mean the same when the host is reached at the other default
 * port? Not those that leave a name out, or name one at all ports; and an
 * authority counts for a port, or for all. */
static bool
is_for_both(const struct row *row)
{
	if (strchr(row->lines, '!') != NULL)
		return false;
	return row->name[0] == 'h' || (strstr(row->lines, "h ") == NULL &&
	    strstr(row->lines, "n ") == NULL &&
	    strstr(row->lines, "[h]") == NULL &&
	    strstr(row->lines, "@cert-authority") == NULL);
}

/* Who gives no port, and knows a host at one default port, is answered as stock
 * answers at that, whichever of the ports was reached: it is no new host. Only
 * its address is not noted beside a name that is not the reached one's. */
static void
under_the_other_default_port(void **state)
{
	unsigned wrong = 0, tried = 0;

	(void)state;
	conf.load.port_given = false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		char want[MODES + 1];

		if (!is_for_both(row))
			continue;
		strlcpy(want, expected(row), sizeof want);
		for (char *c = want; *c != '\0'; c++)
			if (*c == 'I')
				*c = 'A';
		wrong += try_row(row, port_of(row) == 22 ? 2222 : 22, want);
		tried++;
	}
	assert_int_equal(wrong, 0);
	assert_true(tried > 400);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_stock),
		cmocka_unit_test(under_the_other_default_port),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
