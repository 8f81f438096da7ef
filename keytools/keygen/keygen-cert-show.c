/* SPDX-License-Identifier: ISC */
/* Shows the content of certificates (-L). */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keytools/keygen/keygen-cert.h"

static char *
fingerprint(const struct keygen_options *o, const struct key *k)
{
	char *fp = key_fingerprint(k, o->hash);

	if (fp == NULL)
		fatal("out of memory");
	return fp;
}

static void
show_text(const char *before, const char *text, const char *after)
{
	char *shown = xstr_escape(text);

	printf("%s%s%s", before, shown, after);
	free(shown);
}

/* True for an option whose value is shown as text. */
static bool
has_text(const char *name, bool critical)
{
	return critical && (strcmp(name, "force-command") == 0 ||
			       strcmp(name, "source-address") == 0);
}

static bool
is_known_flag(const char *name, bool critical)
{
	static const char *const extensions[] = { "permit-X11-forwarding",
		"permit-agent-forwarding", "permit-port-forwarding",
		"permit-pty", "permit-user-rc", "no-touch-required" };

	if (critical)
		return strcmp(name, "verify-required") == 0;
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++)
		if (strcmp(name, extensions[i]) == 0)
			return true;
	return false;
}

static void
show_option(const char *name, struct span data, bool critical)
{
	char *value = cert_option_value(data), *hex;

	show_text("                ", name, "");
	if (has_text(name, critical) && value != NULL) {
		show_text(" ", value, "\n");
	} else if (data.len == 0) {
		printf(is_known_flag(name, critical) ?
			"\n" : " UNKNOWN FLAG OPTION\n");
	} else {
		hex = str_hex(data.p, data.len);
		if (hex == NULL)
			fatal("out of memory");
		printf(" UNKNOWN OPTION: %s (len %zu)\n", hex, data.len);
		free(hex);
	}
	free(value);
}

static void
show_options(const char *title, struct span options, bool critical)
{
	struct rd r = rd_from_span(options);
	struct span name, data;

	printf("        %s: %s\n", title, options.len == 0 ? "(none)" : "");
	while (cert_option_next(&r, &name, &data)) {
		char *text = span_dup(name);

		show_option(text != NULL ? text : "(no text)", data, critical);
		free(text);
	}
}

static void
show_cert(const struct keygen_options *o, const struct key *k)
{
	const struct cert *c = key_cert(k);
	char *fp = fingerprint(o, k), *ca_fp = fingerprint(o, c->ca);
	char *range = keygen_validity(c);

	printf("        Type: %s %s certificate\n", key_type(k),
	    c->kind == CERT_HOST ? "host" : "user");
	printf("        Public key: %s %s\n", key_short_name(k), fp);
	printf("        Signing CA: %s %s (using %s)\n",
	    key_short_name(c->ca), ca_fp, c->signature_alg);
	show_text("        Key ID: \"", c->id, "\"\n");
	printf("        Serial: %llu\n", (unsigned long long)c->serial);
	printf("        Valid: %s\n", range);
	printf("        Principals: %s\n",
	    c->principals.n == 0 ? "(none)" : "");
	for (size_t i = 0; i < c->principals.n; i++)
		show_text("                ", c->principals.v[i], "\n");
	show_options("Critical Options", c->critical, true);
	show_options("Extensions", c->extensions, false);
	free(range);
	free(ca_fp);
	free(fp);
}

/* Shows a line that is a certificate. False: the line is no certificate. */
static bool
show_line(const struct keygen_options *o, const char *file, unsigned number,
    const char *line)
{
	const char *s = line + strspn(line, " \t");
	struct key *k = NULL;
	bool shown = false;
	int r;

	if (*s == '\0' || *s == '#')
		return false;
	r = key_parse_line(&s, &k);
	if (r != 0) {
		log_error("%s:%u: invalid key: %s", file, number,
		    err_text(r));
	} else if (!key_is_cert(k)) {
		log_error("%s:%u is not a certificate", file, number);
	} else {
		if (number == 1 && strcmp(file, "(stdin)") != 0)
			printf("%s:\n", file);
		else
			printf("%s:%u:\n", file, number);
		show_cert(o, k);
		shown = true;
	}
	key_free(k);
	return shown;
}

int
keygen_show_certs(const struct keygen_options *o)
{
	char *path = keygen_key_path(o, "Enter file in which the key is");
	const char *name = strcmp(path, "-") == 0 ? "(stdin)" : path;
	char *text = keygen_read_text(path), *rest = text, *line;
	unsigned number = 0;
	bool found = false;

	while ((line = strsep(&rest, "\n")) != NULL) {
		line[strcspn(line, "\r")] = '\0';
		found |= show_line(o, name, ++number, line);
	}
	free(text);
	free(path);
	return found ? OK : FAILED;
}
