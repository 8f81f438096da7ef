/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

/* Throwaway keys. */
#define ED1                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQC" \
	"PcRLkkTIUOy2"
#define CERT1                                                                  \
	"ssh-ed25519-cert-v01@openssh.com "                                    \
	"AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIC3q/wYm"         \
	"osUlA3jjr4iRf9FUbd5QnTBo47yVaqfTMUNhAAAAIBo1xFDz3pfeaBrXRsUY"         \
	"BwiJ7Pu8uc8P72rpmCQO1xxqAAAAAAAAAE0AAAABAAAACnZlY3RvciBvbmUA"         \
	"AAAQAAAABWFsaWNlAAAAA2JvYgAAAAAAAAAQAAAAAAAAACAAAABEAAAADWZv"         \
	"cmNlLWNvbW1hbmQAAAALAAAAB2VjaG8gaGkAAAAOc291cmNlLWFkZHJlc3MA"         \
	"AAAOAAAACjEwLjAuMC4wLzgAAAASAAAACnBlcm1pdC1wdHkAAAAAAAAAAAAA"         \
	"ADMAAAALc3NoLWVkMjU1MTkAAAAg9aqkRC+9LcAz1+/n2Aft7n1RGK7S7jqk"         \
	"kEtyeDGwurYAAABTAAAAC3NzaC1lZDI1NTE5AAAAQMowWljEUqgKL2uzDlws"         \
	"i5XRzozntIvu61ZRcsGzCxUH8R2vnzqHTsO4L13UIwdQhrBsxKwT/5MFMdxu"         \
	"+LqKmQE="
#define ED2                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftjVlsrKmhoV" \
	"HNu/YpNL/zNk"
#define EC1                                                                    \
	"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYA" \
	"AABBBMNYuv9LrmBCkHdXfBp5F9MmMuIvyeaxi6mGGGnJ+1bArn1+wb/UoVROY976eMy0" \
	"G87hQwY/k4euzdlGOGrXlKk="
#define EC2                                                                    \
	"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYA" \
	"AABBBLnTsNfFumsRkYXjW7+G7VpOHpNOtxyW20FCA0oo26TkxIXlFFdXtUEWzrON6J5O" \
	"vt36caeaxSvEos6SJZaoYAU="
/* ssh-keygen -H of OpenSSH 9.2 made this of "alpha", and this of "beta". */
#define HASHED_BETA                                                            \
	"|1|2FmxTqjqFdaA8QpwJKAZHyIsa+c=|Ciq2a1XqhLZnf9mO9Xr5Dhr3nDc="
#define HASHED_ALPHA                                                           \
	"|1|bf6tiEuk6hIR7qtBSWQvvz6Faws=|CAy7Hwu5bmmFLpe5eFn96pTIpVg="

static char dir[] = "/tmp/hpn-knownhosts-XXXXXX";
static char path[sizeof dir + 32], path2[sizeof dir + 32];

static char *
content_of(const char *file)
{
	struct buf b = {0};
	char *s;

	assert_int_equal(file_read(file, &b, 1 << 20), 0);
	s = buf_dup_string(&b);
	buf_clear(&b);
	return s;
}

static void
assert_content(const char *file, const char *want)
{
	char *s = content_of(file);

	assert_string_equal(s, want);
	free(s);
}

static void
test_match(void **state)
{
	static const struct {
		const char *hosts, *host;
		bool want;
	} cases[] = {
	    {"alpha", "alpha", true},
	    {"alpha", "ALPHA", true},
	    {"Alpha", "alpha", true},
	    {"alpha", "alphab", false},
	    {"alpha,beta", "beta", true},
	    {"alpha,10.0.0.1", "10.0.0.1", true},
	    {"*.example.org", "www.example.org", true},
	    {"*.example.org", "example.org", false},
	    {"h?st", "host", true},
	    {"h?st", "hst", false},
	    {"*,!bad", "good", true},
	    {"*,!bad", "bad", false},
	    {"!bad", "good", false},
	    {"[alpha]:2222", "[alpha]:2222", true},
	    {"[alpha]:2222", "alpha", false},
	    {"alpha", "[alpha]:2222", false},
	    {"[*]:2222", "[alpha]:2222", true},
	    {"fe80::1", "fe80::1", true},
	    {HASHED_ALPHA, "alpha", true},
	    {HASHED_ALPHA, "Alpha", true},
	    {HASHED_ALPHA, "alph", false},
	    {HASHED_ALPHA, "*", false},
	    {"|1|bf6tiEuk6hIR7qtBSWQvvz6Faws=|", "alpha", false},
	    {"|1|bf6tiEuk6hIR7qtBSWQvvz6Faws=", "alpha", false},
	    {"|1||", "alpha", false},
	    {"|1|", "", false},
	    {"|2|xx|yy", "alpha", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(
		    knownhosts_hosts_match(cases[i].hosts, cases[i].host),
		    cases[i].want);
}

static void
test_names(void **state)
{
	char *s, *t;

	(void)state;
	s = knownhosts_name("Host.Example.ORG", 22);
	assert_string_equal(s, "host.example.org");
	free(s);
	s = knownhosts_name("Host", 2222);
	assert_string_equal(s, "[host]:2222");
	free(s);
	s = knownhosts_hash("Host");
	assert_true(knownhosts_hosts_match(s, "host"));
	assert_false(knownhosts_hosts_match(s, "hoss"));
	t = knownhosts_hash("Host");
	assert_string_not_equal(s, t);
	free(t);
	free(s);
}

static void
test_parse(void **state)
{
	static const struct {
		const char *line;
		int want;
		enum knownhosts_marker marker;
		const char *hosts, *comment;
		bool has_key;
	} cases[] = {
	    {"a " ED1, 0, KNOWNHOSTS_NONE, "a", "", true},
	    {"\ta,b \t" ED1 "\t c d\r", 0, KNOWNHOSTS_NONE, "a,b", "c d", true},
	    {"@revoked * " ED1, 0, KNOWNHOSTS_REVOKED, "*", "", true},
	    {"@cert-authority *.x " EC1 " ca", 0, KNOWNHOSTS_CA, "*.x", "ca",
		true},
	    /* Certificates are not known, but they may be revoked. */
	    {"a " CERT1 " c", 0, KNOWNHOSTS_NONE, "a", "c", true},
	    {"@cert-authority a " CERT1 " c", 0, KNOWNHOSTS_CA, "a", "c",
		false},
	    {"@revoked a " CERT1 " c", 0, KNOWNHOSTS_REVOKED, "a", "c", true},
	    /* types of other times */
	    {"a ssh-xmss@openssh.com AAAA c", 0, KNOWNHOSTS_NONE,
		"a", "c", false},
	    {"a 1024 35 1234567 c", 0, KNOWNHOSTS_NONE, "a", "1234567 c",
		false},
	    {"", ERR_NOT_FOUND, 0, NULL, NULL, false},
	    {"  \r", ERR_NOT_FOUND, 0, NULL, NULL, false},
	    {" # a " ED1, ERR_NOT_FOUND, 0, NULL, NULL, false},
	    {"a", ERR_FORMAT, 0, NULL, NULL, false},
	    {"a ssh-ed25519", ERR_FORMAT, 0, NULL, NULL, false},
	    {"a ssh-ed25519 ####", ERR_FORMAT, 0, NULL, NULL, false},
	    {"@unknown a " ED1, ERR_FORMAT, 0, NULL, NULL, false},
	    {"@revoked", ERR_FORMAT, 0, NULL, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct knownhosts_line l = {0};

		assert_int_equal(
		    knownhosts_parse_line(cases[i].line, &l), cases[i].want);
		if (cases[i].want != 0)
			continue;
		assert_int_equal(l.marker, cases[i].marker);
		assert_string_equal(l.hosts, cases[i].hosts);
		assert_string_equal(l.comment, cases[i].comment);
		assert_int_equal(l.key != NULL, cases[i].has_key);
		knownhosts_line_clear(&l);
	}
}

static void
test_check(void **state)
{
	static const char file1[] =
	    "# remark\r\n"
	    "\n"
	    "this is not a line\n"
	    "plain,other " ED1 "\r\n"
	    "two " ED1 "\n"
	    "two " ED2 "\n"
	    "ec " EC1 "\n"
	    "ca.only " EC1 "\n"
	    "@cert-authority ca.only " ED1 "\n"
	    "gone " ED1 "\n"
	    "[port]:2222 " ED1 "\n" HASHED_ALPHA " " ED2 "\n"
	    "bare\r" ED1 "\n" /* no blank behind the name */
	    "last " ED1; /* no end of line */
	static const char file2[] = "@revoked gone,never " ED1 "\n"
				    "plain " EC1 "\n"
				    "second " ED2 "\n";
	static const struct {
		const char *name, *key;
		enum knownhosts_verdict want;
		int file;
		unsigned line;
	} cases[] = {
	    {"plain", ED1, KNOWNHOSTS_OK, 1, 4},
	    {"other", ED1, KNOWNHOSTS_OK, 1, 4},
	    {"plain", ED2, KNOWNHOSTS_CHANGED, 2, 2},
	    {"plain", EC1, KNOWNHOSTS_OK, 2, 2},
	    {"two", ED2, KNOWNHOSTS_OK, 1, 6},
	    {"two", EC1, KNOWNHOSTS_CHANGED, 1, 6},
	    {"ec", ED1, KNOWNHOSTS_CHANGED, 1, 7},
	    {"ca.only", ED1, KNOWNHOSTS_CHANGED, 1, 8},
	    {"ca.only", EC1, KNOWNHOSTS_OK, 1, 8},
	    {"gone", ED1, KNOWNHOSTS_IS_REVOKED, 2, 1},
	    {"gone", ED2, KNOWNHOSTS_CHANGED, 1, 10},
	    {"never", ED1, KNOWNHOSTS_IS_REVOKED, 2, 1},
	    {"never", ED2, KNOWNHOSTS_NEW, 0, 0},
	    {"port", ED1, KNOWNHOSTS_NEW, 0, 0},
	    {"[port]:2222", ED1, KNOWNHOSTS_OK, 1, 11},
	    {"alpha", ED2, KNOWNHOSTS_OK, 1, 12},
	    {"alpha", ED1, KNOWNHOSTS_CHANGED, 1, 12},
	    {"bare", ED1, KNOWNHOSTS_NEW, 0, 0},
	    {"last", ED1, KNOWNHOSTS_OK, 1, 14},
	    {"second", ED2, KNOWNHOSTS_OK, 2, 3},
	    {"unknown", ED1, KNOWNHOSTS_NEW, 0, 0},
	};
	struct strlist paths = {0}, types = {0};
	struct knownhosts_sources sources = {.files = &paths};

	(void)state;
	assert_int_equal(file_replace(path, file1, strlen(file1), 0600), 0);
	assert_int_equal(file_replace(path2, file2, strlen(file2), 0600), 0);
	assert_int_equal(strlist_add(&paths, "/nonexistent/known_hosts"), 0);
	assert_int_equal(strlist_add(&paths, path), 0);
	assert_int_equal(strlist_add(&paths, path2), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct knownhosts_found f;
		struct key *k = key_of(cases[i].key);
		struct key *cert = make_cert_for(k);

		/* Lines are of keys; a certificate is its key to them. */
		assert_int_equal(
		    knownhosts_check(&sources, cases[i].name, cert, &f), 0);
		assert_int_equal(f.verdict, cases[i].want);
		knownhosts_found_clear(&f);
		assert_int_equal(
		    knownhosts_check(&sources, cases[i].name, k, &f), 0);
		assert_int_equal(f.verdict, cases[i].want);
		assert_int_equal(f.line, cases[i].line);
		if (cases[i].file != 0)
			assert_string_equal(
			    f.path, cases[i].file == 1 ? path : path2);
		else
			assert_null(f.path);
		knownhosts_found_clear(&f);
		key_free(cert);
		key_free(k);
	}
	assert_int_equal(knownhosts_types(&sources, "plain", &types), 0);
	assert_int_equal(types.n, 2);
	assert_string_equal(types.v[0], "ssh-ed25519");
	assert_string_equal(types.v[1], "ecdsa-sha2-nistp256");
	strlist_clear(&types);
	assert_int_equal(knownhosts_types(&sources, "never", &types), 0);
	assert_int_equal(types.n, 0);
	strlist_clear(&paths);
}

/* A line of a megabyte and one with NUL in it, between good ones. */
static void
test_odd_lines(void **state)
{
	struct strlist paths = {0};
	struct knownhosts_sources sources = {.files = &paths};
	struct knownhosts_found f;
	struct key *k = key_of(ED1);
	struct buf b = {0};
	uint8_t *p;

	(void)state;
	p = buf_reserve(&b, 1 << 20);
	memset(p, 'a', 1 << 20);
	buf_commit(&b, 1 << 20);
	buf_printf(&b, " " ED1 "\nx%cy " ED1 "\nhost " ED1 "\n", 0);
	assert_int_equal(
	    file_replace(path, buf_data(&b), buf_len(&b), 0600), 0);
	assert_int_equal(strlist_add(&paths, path), 0);
	assert_int_equal(knownhosts_check(&sources, "host", k, &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_OK);
	assert_int_equal(f.line, 3);
	knownhosts_found_clear(&f);
	assert_int_equal(knownhosts_check(&sources, "x", k, &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_NEW);
	knownhosts_found_clear(&f);
	strlist_clear(&paths);
	buf_clear(&b);
	key_free(k);
}

static void
test_add(void **state)
{
	struct strlist paths = {0};
	struct knownhosts_sources sources = {.files = &paths};
	struct knownhosts_found f;
	struct key *k = key_of(ED1), *ec = key_of(EC1);
	struct key *cert = make_cert_for(k);
	char deep[sizeof dir + 32];
	struct stat st;
	char *s;

	(void)state;
	unlink(path);
	assert_int_equal(knownhosts_add(path, "New.Host", k, false), 0);
	assert_content(path, "new.host " ED1 "\n");
	unlink(path);
	assert_int_equal(knownhosts_add(path, "New.Host", cert, false), 0);
	assert_content(path, "new.host " ED1 "\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* after a file that does not end in a newline */
	assert_int_equal(file_replace(path, "# end", 5, 0644), 0);
	assert_int_equal(knownhosts_add(path, "[h]:2222", ec, false), 0);
	assert_content(path, "# end\n[h]:2222 " EC1 "\n");
	assert_int_equal(knownhosts_add(path, "secret", k, true), 0);
	s = content_of(path);
	assert_null(strstr(s, "secret"));
	assert_non_null(strstr(s, "\n|1|"));
	free(s);
	assert_int_equal(strlist_add(&paths, path), 0);
	assert_int_equal(knownhosts_check(&sources, "secret", k, &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_OK);
	knownhosts_found_clear(&f);
	strlist_clear(&paths);
	/* a name must not write lines of its own */
	assert_int_equal(knownhosts_add(path, "a\nb", k, false), ERR_ARGUMENT);
	assert_int_equal(knownhosts_add(path, "a b", k, false), ERR_ARGUMENT);
	assert_int_equal(knownhosts_add(path, "#a", k, false), ERR_ARGUMENT);
	assert_int_equal(
	    knownhosts_add("/dev/full", "a", k, false), ERR_SYSTEM);
	assert_int_equal(errno, ENOSPC);
	/* its directory is made, but one level only */
	snprintf(deep, sizeof deep, "%s/sub/known_hosts", dir);
	assert_int_equal(knownhosts_add(deep, "a", k, false), 0);
	assert_content(deep, "a " ED1 "\n");
	unlink(deep);
	snprintf(deep, sizeof deep, "%s/sub", dir);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	rmdir(deep);
	snprintf(deep, sizeof deep, "%s/no/sub/known_hosts", dir);
	assert_int_equal(knownhosts_add(deep, "a", k, false), ERR_SYSTEM);
	key_free(ec);
	key_free(cert);
	key_free(k);
}

struct notes {
	unsigned removed, patterns, bad;
};

static void
count(void *arg, enum knownhosts_note note, unsigned number, const char *s)
{
	struct notes *n = arg;

	(void)number;
	n->removed += note == KNOWNHOSTS_NOTE_REMOVED;
	n->patterns += note == KNOWNHOSTS_NOTE_PATTERN;
	n->bad += note == KNOWNHOSTS_NOTE_BAD_LINE;
	assert_int_equal(s != NULL, note == KNOWNHOSTS_NOTE_PATTERN);
}

static const char edited[] = "# remark\n"
			     "a,b " ED1 " c1\n"
			     "*.wild " ED2 "\n"
			     "@revoked a " EC1 "\n"
			     "@cert-authority a " EC1 "\n"
			     HASHED_ALPHA " " ED2 "\r\n"
			     "  b " EC1; /* no end of line */

static void
test_remove(void **state)
{
	char old[sizeof path + 4];
	struct notes n = {0};
	unsigned changed;

	(void)state;
	snprintf(old, sizeof old, "%s.old", path);
	unlink(old);
	assert_int_equal(file_replace(path, edited, strlen(edited), 0640), 0);
	assert_int_equal(
	    knownhosts_remove(path, "none", count, &n, &changed), 0);
	assert_int_equal(changed, 0);
	assert_int_equal(n.bad, 0);
	assert_content(path, edited);
	assert_int_equal(access(old, F_OK), -1);

	assert_int_equal(knownhosts_remove(path, "b", count, &n, &changed), 0);
	assert_int_equal(changed, 2);
	assert_int_equal(n.removed, 2);
	assert_content(old, edited);
	assert_content(path, "# remark\n"
			     "*.wild " ED2 "\n"
			     "@revoked a " EC1 "\n"
			     "@cert-authority a " EC1 "\n"
			     HASHED_ALPHA " " ED2 "\r\n");
	assert_int_equal(
	    knownhosts_remove(path, "alpha", count, &n, &changed), 0);
	assert_int_equal(changed, 1);
	assert_int_equal(
	    knownhosts_remove(path, "x.wild", NULL, NULL, &changed), 0);
	assert_int_equal(changed, 1);
	assert_content(path, "# remark\n"
			     "@revoked a " EC1 "\n"
			     "@cert-authority a " EC1 "\n");
	unlink(old);
	assert_int_equal(
	    knownhosts_remove("/nonexistent", "a", NULL, NULL, &changed),
	    ERR_SYSTEM);
}

static void
test_hash_all(void **state)
{
	char old[sizeof path + 4];
	struct notes n = {0};
	struct strlist paths = {0};
	struct knownhosts_sources sources = {.files = &paths};
	struct knownhosts_found f;
	struct key *k = key_of(ED1);
	unsigned changed;
	char *s;

	(void)state;
	snprintf(old, sizeof old, "%s.old", path);
	assert_int_equal(file_replace(path, edited, strlen(edited), 0600), 0);
	assert_int_equal(knownhosts_hash_all(path, count, &n, &changed), 0);
	assert_int_equal(changed, 3);
	assert_int_equal(n.patterns, 1);
	assert_int_equal(n.bad, 0);
	assert_content(old, edited);
	s = content_of(path);
	assert_null(strstr(s, "a,b"));
	assert_non_null(strstr(s, "= " ED1 " c1\n|1|"));
	assert_non_null(strstr(s, "\n*.wild " ED2 "\n@revoked a "));
	assert_non_null(strstr(s, HASHED_ALPHA));
	free(s);
	assert_int_equal(strlist_add(&paths, path), 0);
	for (const char *const *h = (const char *const[]){"a", "b", NULL};
	     *h != NULL; h++) {
		assert_int_equal(knownhosts_check(&sources, *h, k, &f), 0);
		assert_int_equal(f.verdict, KNOWNHOSTS_OK);
		knownhosts_found_clear(&f);
	}
	assert_int_equal(knownhosts_hash_all(path, count, &n, &changed), 0);
	assert_int_equal(changed, 0);
	strlist_clear(&paths);
	unlink(old);
	key_free(k);
}

/* A file that is not understood is no file to rewrite. */
static void
test_broken_file(void **state)
{
	static const char text[] = "a " ED1 "\nnonsense\nb " ED2 "\n";
	char old[sizeof path + 4];
	struct notes n = {0};
	unsigned changed;

	(void)state;
	snprintf(old, sizeof old, "%s.old", path);
	assert_int_equal(file_replace(path, text, strlen(text), 0600), 0);
	assert_int_equal(knownhosts_remove(path, "a", count, &n, &changed),
	    ERR_FORMAT);
	assert_int_equal(knownhosts_hash_all(path, count, &n, &changed),
	    ERR_FORMAT);
	assert_int_equal(n.bad, 2);
	assert_content(path, text);
	assert_int_equal(access(old, F_OK), -1);
}

static void
test_renew(void **state)
{
	struct key *k[2] = { key_of(ED1), key_of(EC1) };
	struct knownhosts_renewal rn = { .name = "alpha", .shown = k[0],
		.keys = k, .n = 2 };
	static const char before[] = "# remark\nalpha " ED2 "\n"
				     "beta,alpha " ED1 "\n"
				     "alpha ssh-what AAAA\n"
				     "nonsense\n" HASHED_ALPHA " " ED2;

	(void)state;
	assert_int_equal(file_replace(path, before, strlen(before), 0640), 0);
	assert_int_equal(knownhosts_renew(path, &rn, true), 0);
	assert_content(path, before);
	assert_true(rn.had[0]);
	assert_false(rn.had[1]);
	assert_int_equal(rn.added, 1);
	assert_int_equal(rn.dropped, 2);
	assert_int_equal(knownhosts_renew(path, &rn, false), 0);
	assert_content(path, "# remark\nbeta,alpha " ED1 "\n"
			     "alpha ssh-what AAAA\n"
			     "nonsense\nalpha " EC1 "\n");
	/* Now there is nothing to do. */
	assert_int_equal(knownhosts_renew(path, &rn, true), 0);
	assert_int_equal(rn.added + rn.dropped, 0);
	/* Nobody known by a pattern, or not at all. */
	rn.name = "alfa";
	assert_int_equal(knownhosts_renew(path, &rn, false), ERR_NOT_FOUND);
	rn.name = "alpha";
	rn.n = KNOWNHOSTS_RENEW_MAX + 1;
	assert_int_equal(knownhosts_renew(path, &rn, false), ERR_LIMIT);
	unlink(path);
	rn.n = 2;
	assert_int_equal(knownhosts_renew(path, &rn, false), ERR_SYSTEM);
	key_free(k[0]);
	key_free(k[1]);
}

/* Lines that keep a file from being renewed, beside "alpha ED1", which is shown
 * and stays, and "alpha ED2", which would go; EC1 would come. */
static void
test_renew_by_hand(void **state)
{
	static const struct {
		const char *line;
		bool renewed;
	} cases[] = {
		{ "beta " EC2, true },
		{ "beta,gamma,delta " EC2, true },
		{ "@revoked beta " EC2, true },
		{ "@cert-authority beta " EC2, true },
		{ "b* " EC2, true },
		{ "alpha,beta " EC2, true },
		{ "beta,gamma,alpha " EC2, false },
		{ "@revoked alpha " EC2, false },
		{ "@revoked * " EC2, false },
		{ "@cert-authority alpha " EC2, false },
		{ "al* " EC2, false },
		{ "!beta,alpha " EC2, false },
		/* What is on file, comes or goes, under another name. */
		{ "beta " ED1, false },
		{ "beta\t " EC1 " comment", false },
		{ "beta " ED2, false },
		{ HASHED_BETA " " EC1, false },
		{ "@revoked beta " EC1, false },
		{ "@revoked beta " ED2, false },
		/* A name of the same host. */
		{ "[alpha]:2222 " EC1, true },
		{ "[alpha]:2222 " ED2, true },
		{ "[alpha]:2223 " EC1, false },
	};
	struct key *k[2] = { key_of(ED1), key_of(EC1) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct knownhosts_renewal rn = { .name = "alpha",
			.also = { NULL, "[alpha]:2222" }, .shown = k[0],
			.keys = k, .n = 2 };
		char *text, *after;
		int r;

		xasprintf(&text, "alpha " ED1 "\nalpha " ED2 "\n%s\n",
		    cases[i].line);
		xasprintf(&after, "alpha " ED1 "\n%s\nalpha " EC1 "\n",
		    cases[i].line);
		assert_int_equal(file_replace(path, text, strlen(text), 0600),
		    0);
		r = knownhosts_renew(path, &rn, false);
		if (r != (cases[i].renewed ? 0 : ERR_NOT_FOUND))
			fail_msg("%s: %d", cases[i].line, r);
		assert_int_equal(rn.why == NULL, cases[i].renewed);
		assert_content(path, cases[i].renewed ? after : text);
		free(after);
		free(text);
	}
	key_free(k[0]);
	key_free(k[1]);
}

static int
make_dir(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/known_hosts", dir);
	snprintf(path2, sizeof path2, "%s/known_hosts2", dir);
	return 0;
}

static int
remove_dir(void **state)
{
	(void)state;
	unlink(path);
	unlink(path2);
	return rmdir(dir);
}

/* Who may certify hosts, in files and in lines from elsewhere. */
static void
test_authorities(void **state)
{
	static const char file[] = "host " ED1 "\n"
				   "@cert-authority *.a,!no.a " ED1 "\n"
				   "@cert-authority *.a " ED2 "\n"
				   "@revoked *.a " EC1 "\n"
				   "@cert-authority x.b " CERT1 "\n";
	static const char lines[] = "# comment\n"
				    "@cert-authority [h]:* " ED2 "\n";
	static const struct {
		const char *name, *ca; /* NULL: any */
		int line;	       /* 0: none; -n: of lines */
	} cases[] = {
		{ "host", ED1, 0 },
		{ "x.a", ED1, 2 },
		{ "no.a", ED1, 0 },
		{ "no.a", ED2, 3 },
		{ "x.a", EC1, 0 },
		{ "x.a", NULL, 2 },
		{ "host", NULL, 0 },
		{ "x.b", NULL, 0 },
		{ "[h]:22", ED2, -2 },
		{ "[h]:22", ED1, 0 },
		{ "h", NULL, 0 },
	};
	struct strlist paths = {0};
	struct knownhosts_sources sources = { .files = &paths,
		.lines = { (const uint8_t *)lines, strlen(lines) },
		.lines_name = "lines" };

	(void)state;
	assert_int_equal(file_replace(path, file, strlen(file), 0600), 0);
	assert_int_equal(strlist_add(&paths, path), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct knownhosts_found f;
		struct key *ca =
		    cases[i].ca != NULL ? key_of(cases[i].ca) : NULL;

		assert_int_equal(
		    knownhosts_find_ca(&sources, cases[i].name, ca, &f), 0);
		assert_int_equal(f.verdict, cases[i].line != 0 ?
			KNOWNHOSTS_OK : KNOWNHOSTS_NEW);
		assert_int_equal(f.line, abs(cases[i].line));
		if (cases[i].line != 0)
			assert_string_equal(f.path,
			    cases[i].line > 0 ? path : "lines");
		knownhosts_found_clear(&f);
		key_free(ca);
	}
	strlist_clear(&paths);
}

/* A key in @revoked revokes what it certified, and only under that name. */
static void
test_revoked_authority(void **state)
{
	static const struct cert_request request = { .kind = CERT_HOST,
		.id = "h", .valid_before = CERT_FOREVER };
	struct key *ca, *k = key_of(ED1), *cert;
	struct strlist paths = {0};
	struct knownhosts_sources sources = { .files = &paths,
		.lines_name = "lines" };
	struct knownhosts_found f;
	struct buf text = {0};

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	cert = make_cert_by(k, &request, ca, "ssh-ed25519");
	buf_printf(&text, "a,b " ED1 "\n@revoked a ");
	assert_int_equal(key_format_line(ca, NULL, &text), 0);
	sources.lines = buf_span(&text);
	assert_int_equal(knownhosts_check(&sources, "a", cert, &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_IS_REVOKED);
	knownhosts_found_clear(&f);
	assert_int_equal(knownhosts_check(&sources, "a", k, &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_OK);
	knownhosts_found_clear(&f);
	assert_int_equal(knownhosts_check(&sources, "b", cert, &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_OK);
	knownhosts_found_clear(&f);
	buf_clear(&text);
	key_free(cert);
	key_free(ca);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_match),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_check),
	    cmocka_unit_test(test_authorities),
	    cmocka_unit_test(test_revoked_authority),
	    cmocka_unit_test(test_odd_lines),
	    cmocka_unit_test(test_add),
	    cmocka_unit_test(test_remove),
	    cmocka_unit_test(test_hash_all),
	    cmocka_unit_test(test_broken_file),
	    cmocka_unit_test(test_renew),
	    cmocka_unit_test(test_renew_by_hand),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
