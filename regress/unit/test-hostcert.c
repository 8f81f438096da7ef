/* SPDX-License-Identifier: ISC */
/* Which certificates of hosts are good: a table of all that can be wrong. */
#include "regress/unit/hex.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/hosts/hostcert.h"
#include "client/hosts/hostcheck.h"
#include "regress/unit/make-cert.h"

static struct key *ca, *other_ca, *rsa_ca, *host, *other_host;

enum { NOW = 1000 };

/* NULL and 0 stand for what is right. */
struct sample {
	const char *name; /* of the host */
	const char *principals; /* with blanks between; "": none */
	uint64_t after, before;
	enum cert_kind kind;
	const char *option; /* critical */
	const char *ca_algorithms;
	bool unknown_ca, revoked, rsa;
};

static struct key *
make(const struct sample *s)
{
	struct cert_request request = {
		.kind = s->kind != 0 ? s->kind : CERT_HOST,
		.id = "h",
		.valid_after = s->after,
		.valid_before = s->before != 0 ? s->before : CERT_FOREVER,
	};
	struct key *cert;

	assert_int_equal(strlist_split(&request.principals,
			     s->principals != NULL ? s->principals : "h.test",
			     " "), 0);
	if (s->option != NULL)
		assert_int_equal(cert_options_add(&request.critical,
				     s->option, NULL), 0);
	cert = s->rsa ? make_cert_by(host, &request, rsa_ca, "rsa-sha2-256") :
			make_cert_by(host, &request, ca, "ssh-ed25519");
	cert_options_clear(&request.critical);
	strlist_clear(&request.principals);
	return cert;
}

#define NOT_LISTED "Certificate invalid: name is not a listed principal"
#define EXPIRED "Certificate invalid: expired"

static void
decisions(void **state)
{
	static const struct {
		struct sample s;
		enum hostcert_verdict want;
		const char *why;
	} t[] = {
		{ { .name = NULL }, HOSTCERT_ACCEPT, NULL },
		{ { .name = "H.Test" }, HOSTCERT_ACCEPT, NULL },
		{ { .principals = "a *.test" }, HOSTCERT_ACCEPT, NULL },
		{ { .principals = "?.test" }, HOSTCERT_ACCEPT, NULL },
		{ { .name = "h.test.evil", .principals = "*.test" },
		    HOSTCERT_USELESS, NOT_LISTED },
		{ { .name = "other.test" }, HOSTCERT_USELESS, NOT_LISTED },
		{ { .principals = "H.TEST" }, HOSTCERT_USELESS, NOT_LISTED },
		{ { .principals = "[h.test]:22" }, HOSTCERT_USELESS,
		    NOT_LISTED },
		{ { .principals = "" }, HOSTCERT_USELESS,
		    "Certificate lacks principal list" },
		{ { .kind = CERT_USER }, HOSTCERT_USELESS,
		    "Certificate invalid: not a host certificate" },
		{ { .after = NOW, .before = NOW + 1 }, HOSTCERT_ACCEPT, NULL },
		{ { .after = NOW + 1 }, HOSTCERT_USELESS,
		    "Certificate invalid: not yet valid" },
		{ { .before = NOW }, HOSTCERT_USELESS, EXPIRED },
		{ { .option = "force-command" }, HOSTCERT_USELESS,
		    "Certificate contains unsupported critical options" },
		{ { .ca_algorithms = "rsa-sha2-512" }, HOSTCERT_USELESS,
		    "Certificate signed with disallowed algorithm" },
		{ { .rsa = true }, HOSTCERT_USELESS,
		    "Certificate signed with disallowed algorithm" },
		{ { .rsa = true, .ca_algorithms = "rsa-sha2-256" },
		    HOSTCERT_ACCEPT, NULL },
		/* Nobody is told what is wrong with a stranger's. */
		{ { .unknown_ca = true }, HOSTCERT_UNKNOWN, NULL },
		{ { .unknown_ca = true, .before = NOW }, HOSTCERT_UNKNOWN,
		    NULL },
		{ { .revoked = true }, HOSTCERT_REFUSE, NULL },
		{ { .revoked = true, .unknown_ca = true }, HOSTCERT_REFUSE,
		    NULL },
		{ { .revoked = true, .before = NOW }, HOSTCERT_REFUSE, NULL },
		/* The order of the reasons. */
		{ { .kind = CERT_USER, .before = NOW }, HOSTCERT_USELESS,
		    "Certificate invalid: not a host certificate" },
		{ { .before = NOW, .principals = "" }, HOSTCERT_USELESS,
		    EXPIRED },
		{ { .name = "x", .option = "o" }, HOSTCERT_USELESS,
		    NOT_LISTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		const struct sample *s = &t[i].s;
		struct hostcert_facts f = { .revoked = s->revoked,
			.ca_known = !s->unknown_ca,
			.host = s->name != NULL ? s->name : "h.test",
			.now = NOW,
			.ca_algorithms = s->ca_algorithms != NULL ?
			    s->ca_algorithms : "ssh-ed25519" };
		struct key *cert = make(s);
		const char *why = "?";

		assert_int_equal(hostcert_decide(key_cert(cert), &f, &why),
		    t[i].want);
		assert_true((why == NULL) == (t[i].why == NULL));
		if (why != NULL)
			assert_string_equal(why, t[i].why);
		key_free(cert);
	}
}

/* ---- the check with files ----------------------------------------------- */

static char dir[] = "/tmp/test-hostcert-XXXXXX";
static char known_hosts[64], revoked[64];
static struct client_conf conf;

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(known_hosts, sizeof known_hosts, "%s/known_hosts", dir);
	snprintf(revoked, sizeof revoked, "%s/revoked", dir);
	client_conf_init(&conf);
	assert_int_equal(client_conf_set(&conf, "RevokedHostKeys", revoked),
	    0);
	assert_int_equal(client_conf_finish(&conf), 0);
	conf.host.hostname = strdup("h.test");
	conf.known.strict_host_key_checking = CLIENT_ASK_YES;
	strlist_clear(&conf.known.global_known_hosts_file);
	strlist_clear(&conf.known.user_known_hosts_file);
	assert_int_equal(
	    strlist_add(&conf.known.user_known_hosts_file, known_hosts), 0);
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	assert_int_equal(key_generate("ed25519", 0, &other_ca), 0);
	assert_int_equal(key_generate("rsa", 2048, &rsa_ca), 0);
	assert_int_equal(key_generate("ed25519", 0, &host), 0);
	assert_int_equal(key_generate("ed25519", 0, &other_host), 0);
	log_set_level(LOG_LVL_QUIET);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(ca);
	key_free(other_ca);
	key_free(rsa_ca);
	key_free(host);
	key_free(other_host);
	client_conf_clear(&conf);
	unlink(known_hosts);
	unlink(revoked);
	rmdir(dir);
	return 0;
}

/* Replaces the file by lines that begin with these words; "C" stands for the
 * authority, "O" for another one, "H" for the host's key, "K" for another key
 * of a host. */
static void
write_lines(const char *file, const char *lines)
{
	struct buf b = { 0 };

	for (const char *s = lines; *s != '\0'; s++) {
		const struct key *k = *s == 'C' ? ca :
		    *s == 'O'		       ? other_ca :
		    *s == 'H'		       ? host :
		    *s == 'K'		       ? other_host :
						 NULL;

		if (k != NULL)
			assert_int_equal(key_format_line(k, NULL, &b), 0);
		else
			buf_put_u8(&b, (uint8_t)*s);
	}
	assert_int_equal(file_replace(file, buf_data(&b), buf_len(&b), 0600),
	    0);
	buf_clear(&b);
}

static int
show(struct hostcheck *h, const struct key *k)
{
	struct buf blob = { 0 };
	int r;

	assert_int_equal(key_to_blob(k, &blob), 0);
	r = hostcheck_key(h, buf_span(&blob));
	buf_clear(&blob);
	return r;
}

/* A host that shows the key, at that port. */
static int
check(const struct key *k, uint16_t port, bool *may_learn)
{
	struct hostcheck *h = NULL;
	int r;

	assert_int_equal(hostcheck_new(&h, &conf, "192.0.2.1", port), 0);
	r = show(h, k);
	*may_learn = hostcheck_noted_in(h) != NULL;
	hostcheck_free(h);
	return r;
}

static void
lines_and_certificates(void **state)
{
	static const struct {
		const char *known, *revoked;
		uint16_t port;
		struct sample s;
		bool good, may_learn;
	} t[] = {
		{ "@cert-authority h.test C\n", "", 22, { 0 }, true, false },
		{ "@cert-authority *.test C\n", "", 2222, { 0 }, true, false },
		{ "@cert-authority [h.test]:2222 C\n", "", 2222, { 0 }, true,
		    false },
		{ "@cert-authority [h.test]:2224 C\n", "", 2223, { 0 }, false,
		    false },
		{ "@cert-authority *,!h.test C\n", "", 22, { 0 }, false,
		    false },
		{ "@cert-authority * O\n", "", 22, { 0 }, false, false },
		{ "* C\n", "", 22, { 0 }, false, false },
		{ "@cert-authority * H\n", "", 22, { 0 }, false, false },
		{ "", "", 22, { 0 }, false, false },
		/* The plain key counts where the certificate does not. */
		{ "h.test H\n", "", 22, { 0 }, true, true },
		{ "@cert-authority * C\nh.test H\n", "", 22,
		    { .before = NOW }, true, true },
		{ "@cert-authority * C\nh.test K\n", "", 22,
		    { .before = NOW }, false, false },
		/* An authority is more than an old line. */
		{ "@cert-authority * C\nh.test K\n", "", 22, { 0 }, true,
		    false },
		{ "@cert-authority * C\nh.test H\n", "", 22, { 0 }, true,
		    false },
		/* Revoked: nothing else counts. */
		{ "@cert-authority * C\nh.test H\n@revoked * C\n", "", 22,
		    { 0 }, false, false },
		{ "@cert-authority * C\n@revoked * H\n", "", 22, { 0 }, false,
		    false },
		{ "@cert-authority * C\nh.test H\n@revoked x C\n", "", 22,
		    { 0 }, true, false },
		{ "h.test H\n@revoked h.test C\n", "", 22, { 0 }, false,
		    false },
		{ "@cert-authority * C\nh.test H\n", "C\n", 22, { 0 }, false,
		    false },
		{ "@cert-authority * C\nh.test H\n", "H\n", 22, { 0 }, false,
		    false },
		{ "@cert-authority * C\n", "O\n", 22, { 0 }, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct key *cert = make(&t[i].s);
		bool may_learn;

		write_lines(known_hosts, t[i].known);
		write_lines(revoked, t[i].revoked);
		assert_int_equal(check(cert, t[i].port, &may_learn),
		    t[i].good ? 0 : ERR_HOSTKEY);
		assert_int_equal(may_learn, t[i].may_learn);
		key_free(cert);
	}
}

/* The alias, without a port, is what principals and lines are for. */
static void
an_alias(void **state)
{
	struct key *cert = make(&(struct sample){ .principals = "al*" });
	bool may_learn;

	(void)state;
	write_lines(revoked, "");
	write_lines(known_hosts, "@cert-authority alias C\n");
	assert_int_equal(check(cert, 2222, &may_learn), ERR_HOSTKEY);
	conf.host.host_key_alias = strdup("alias");
	assert_int_equal(check(cert, 2222, &may_learn), 0);
	free(conf.host.host_key_alias);
	conf.host.host_key_alias = NULL;
	key_free(cert);
}

/* A certificate may be renewed while a connection stands; the key may not. */
static void
a_rekey_and_a_further_connection(void **state)
{
	struct key *cert = make(&(struct sample){ .name = NULL });
	struct key *renewed = make(&(struct sample){ .principals = "x" });
	struct hostcheck *h, *further;

	(void)state;
	write_lines(known_hosts, "@cert-authority * C\n");
	assert_int_equal(hostcheck_new(&h, &conf, NULL, 22), 0);
	assert_int_equal(hostcheck_new(&further, &conf, NULL, 22), 0);
	assert_int_equal(show(h, cert), 0);
	assert_int_equal(show(h, renewed), 0);
	assert_int_equal(show(h, host), 0);
	assert_int_equal(show(h, other_host), ERR_HOSTKEY);
	hostcheck_set_first(further, h, false);
	assert_true(hostcheck_knows(further,
	    "ssh-ed25519-cert-v01@openssh.com"));
	assert_int_equal(show(further, other_host), ERR_HOSTKEY);
	assert_int_equal(show(further, cert), 0);
	hostcheck_free(further);
	hostcheck_free(h);
	key_free(renewed);
	key_free(cert);
}

/* With an authority, certificates are asked for; no hint changes that. */
static void
proposals(void **state)
{
	static const struct {
		const char *known, *first;
		bool plain_may_lead, cert_may_lead;
	} t[] = {
		{ "", "ssh-ed25519-cert-v01@openssh.com", false, false },
		{ "h.test H\n", "ssh-ed25519-cert-v01@openssh.com", true,
		    true },
		{ "@cert-authority * C\nh.test H\n",
		    "ssh-ed25519-cert-v01@openssh.com", false, true },
		{ "@cert-authority x C\nh.test H\n",
		    "ssh-ed25519-cert-v01@openssh.com", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct hostcheck *h;
		char *list;

		write_lines(known_hosts, t[i].known);
		assert_int_equal(hostcheck_new(&h, &conf, NULL, 22), 0);
		list = hostcheck_algorithms(h);
		assert_true(str_has_prefix(list, t[i].first));
		assert_true(csv_has(list, "rsa-sha2-512"));
		assert_int_equal(hostcheck_knows(h, "ssh-ed25519"),
		    t[i].plain_may_lead);
		assert_int_equal(
		    hostcheck_knows(h, "ssh-ed25519-cert-v01@openssh.com"),
		    t[i].cert_may_lead);
		assert_false(hostcheck_knows(h, "rsa-sha2-512"));
		free(list);
		hostcheck_free(h);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(lines_and_certificates),
		cmocka_unit_test(an_alias),
		cmocka_unit_test(a_rekey_and_a_further_connection),
		cmocka_unit_test(proposals),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
