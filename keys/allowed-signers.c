/* SPDX-License-Identifier: ISC */
#include "keys/allowed-signers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "keys/cert.h"
#include "keys/timestamp.h"

void
signer_clear(struct signer *s)
{
	free(s->principals);
	free(s->namespaces);
	key_free(s->key);
	*s = (struct signer){ .key = NULL };
}

/* ---- reading ------------------------------------------------------------ */

/* Returns the text between the quotes that begin at *s, with \" in it replaced
 * by ". The caller frees it. Moves *s behind the closing quote. NULL: there is
 * no closing quote, or memory is out. */
static char *
take_quoted(const char **s)
{
	const char *p = *s + 1;
	char *out = malloc(strlen(p) + 1);
	size_t n = 0;

	if (out == NULL)
		return NULL;
	while (*p != '\0' && *p != '"') {
		if (p[0] == '\\' && p[1] == '"')
			p++;
		out[n++] = *p++;
	}
	if (*p != '"') {
		free(out);
		return NULL;
	}
	out[n] = '\0';
	*s = p + 1;
	return out;
}

static char *
take_word(const char **s)
{
	size_t len = strcspn(*s, " \t");
	char *word;

	if (**s == '"') {
		word = take_quoted(s);
		if (word != NULL && **s != ' ' && **s != '\t' && **s != '\0') {
			free(word);
			return NULL;
		}
		return word;
	}
	word = strndup(*s, len);
	*s += len;
	return word;
}

static const char *
take_time(const char **s, uint64_t *to, const char *twice, const char *wrong)
{
	char *text;
	int r;

	if (*to != 0)
		return twice;
	text = take_quoted(s);
	r = text != NULL ? timestamp_parse(text, to) : ERR_SYNTAX;
	free(text);
	return r == 0 && *to != 0 ? NULL : wrong;
}

/* If *s begins with name, moves *s behind it and returns true. */
static bool
is_option(const char **s, const char *name)
{
	if (strncasecmp(*s, name, strlen(name)) != 0)
		return false;
	*s += strlen(name);
	return true;
}

/* Reads one option of the line at *s into *out and moves *s behind it. Returns
 * NULL, or a text that says what is wrong. */
static const char *
take_option(struct signer *out, const char **s)
{
	if (is_option(s, "cert-authority")) {
		out->is_ca = true;
		return NULL;
	}
	if (is_option(s, "namespaces=\"")) {
		--*s;
		if (out->namespaces != NULL)
			return "bad options: multiple \"namespaces\" clauses";
		out->namespaces = take_quoted(s);
		return out->namespaces != NULL ?
		    NULL :
		    "bad options: missing end quote";
	}
	if (is_option(s, "valid-after=\"")) {
		--*s;
		return take_time(s, &out->valid_after,
		    "bad options: multiple \"valid-after\" clauses",
		    "bad options: invalid \"valid-after\" time");
	}
	if (is_option(s, "valid-before=\"")) {
		--*s;
		return take_time(s, &out->valid_before,
		    "bad options: multiple \"valid-before\" clauses",
		    "bad options: invalid \"valid-before\" time");
	}
	return "bad options: unknown key option";
}

static const char *
take_options(struct signer *out, const char **s)
{
	const char *why;

	for (;;) {
		if ((why = take_option(out, s)) != NULL)
			return why;
		if (**s == ' ' || **s == '\t' || **s == '\0')
			break;
		if (**s != ',')
			return "bad options: unknown key option";
		++*s;
	}
	if (out->valid_after != 0 && out->valid_before != 0 &&
	    out->valid_before <= out->valid_after)
		return "bad options: \"valid-before\" time is before "
		       "\"valid-after\"";
	return NULL;
}

static const char *
parse(struct signer *out, const char *s)
{
	const char *why;
	int r;

	out->principals = take_word(&s);
	if (out->principals == NULL || *out->principals == '\0')
		return "invalid line";
	s += strspn(s, " \t");
	if (s[strcspn(s, " \t")] == '\0')
		return "missing key";
	r = key_parse_line(&s, &out->key);
	if (r == ERR_KEY_TYPE) {
		if ((why = take_options(out, &s)) != NULL)
			return why;
		s += strspn(s, " \t");
		if (*s == '\0')
			return "missing key";
		r = key_parse_line(&s, &out->key);
	}
	return r == 0 ? NULL : "invalid key";
}

int
signer_parse(const char *line, struct signer *out, const char **why)
{
	*out = (struct signer){ .key = NULL };
	line += strspn(line, " \t");
	if (*line == '\0' || *line == '#')
		return ERR_NOT_FOUND;
	*why = parse(out, line);
	return *why == NULL ? 0 : ERR_FORMAT;
}

bool
signer_is_named(const struct signer *s, const char *principal)
{
	return str_match_list(principal, s->principals, false) == 1;
}

/* ---- checking ----------------------------------------------------------- */

/* Sets *why to the reason for which a signature is refused; the caller frees
 * it. Returns ERR_DENIED, or ERR_NOMEM. */
static int deny(char **why, const char *format, ...) printf_like(2, 3);

static int
deny(char **why, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(why, format, ap);
	va_end(ap);
	if (n == -1)
		*why = NULL;
	return n == -1 ? ERR_NOMEM : ERR_DENIED;
}

static int
check_times(const struct signer *s, uint64_t when, char **why)
{
	bool early = s->valid_after != 0 && when < s->valid_after;
	bool late = s->valid_before != 0 && when > s->valid_before;
	char *now, *limit;
	int r = 0;

	if (!early && !late)
		return 0;
	now = timestamp_format(when);
	limit = timestamp_format(early ? s->valid_after : s->valid_before);
	if (now == NULL || limit == NULL)
		r = ERR_NOMEM;
	else if (early)
		r = deny(why, "key is not yet valid: verify time %s < "
			      "valid-after %s", now, limit);
	else
		r = deny(why, "key has expired: verify time %s > "
			      "valid-before %s", now, limit);
	free(now);
	free(limit);
	return r;
}

/* Adds to names the principals of the certificate that the line s names,
 * too. */
static int
common_names(const struct signer *s, const struct cert *c,
    struct strlist *names)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->principals.n; i++)
		if (signer_is_named(s, c->principals.v[i]))
			r = strlist_add(names, c->principals.v[i]);
	return r;
}

static int
check_cert(const struct signer *s, const struct signer_query *q,
    struct strlist *names, char **why)
{
	const struct cert *c = key_cert(q->key);
	const char *refusal;
	struct strlist common = { 0 };
	int r;

	if (c == NULL || !key_equal_public(c->ca, s->key))
		return ERR_NOT_FOUND;
	refusal = cert_refusal(c, CERT_USER, q->when, q->principal);
	if (refusal != NULL)
		return deny(why, "certificate not authorized: %s", refusal);
	if (q->principal != NULL)
		return 0;
	r = common_names(s, c, &common);
	if (r == 0 && common.n == 0)
		r = deny(why, "no valid principals found");
	for (size_t i = 0; r == 0 && names != NULL && i < common.n; i++)
		r = strlist_add(names, common.v[i]);
	strlist_clear(&common);
	return r;
}

static int
check_key(const struct signer *s, const struct signer_query *q,
    struct strlist *names)
{
	if (!key_equal_public(s->key, q->key))
		return ERR_NOT_FOUND;
	if (q->principal != NULL || names == NULL)
		return 0;
	return strlist_split(names, s->principals, ",");
}

int
signer_check(const struct signer *s, const struct signer_query *q,
    struct strlist *names, char **why)
{
	int r;

	*why = NULL;
	if (q->principal != NULL && !signer_is_named(s, q->principal))
		return ERR_NOT_FOUND;
	r = s->is_ca ? check_cert(s, q, names, why) : check_key(s, q, names);
	if (r != 0)
		return r;
	if (q->namespace != NULL && s->namespaces != NULL &&
	    str_match_list(q->namespace, s->namespaces, false) != 1)
		r = deny(why, "key is not permitted for use in signature "
			      "namespace \"%s\"", q->namespace);
	if (r == 0)
		r = check_times(s, q->when, why);
	if (r != 0 && names != NULL)
		strlist_clear(names);
	return r;
}
