/* SPDX-License-Identifier: ISC */
/* Checks whether a certificate is valid for a purpose and a name, and reads
 * what its options allow. */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/cert.h"

static bool
names_host(const struct cert *c, const char *host)
{
	for (size_t i = 0; i < c->principals.n; i++)
		if (str_match(host, c->principals.v[i]))
			return true;
	return false;
}

static bool
names(const struct cert *c, const char *name)
{
	char *lower;
	bool found;

	if (c->kind == CERT_USER)
		return strlist_has(&c->principals, name);
	if ((lower = strdup(name)) == NULL)
		return false;
	for (char *p = lower; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	found = names_host(c, lower);
	free(lower);
	return found;
}

const char *
cert_refusal(const struct cert *c, enum cert_kind kind, uint64_t now,
    const char *name)
{
	if (c->kind != kind)
		return kind == CERT_HOST ?
		    "Certificate invalid: not a host certificate" :
		    "Certificate invalid: not a user certificate";
	if (now < c->valid_after)
		return "Certificate invalid: not yet valid";
	if (now >= c->valid_before)
		return "Certificate invalid: expired";
	if (c->principals.n == 0)
		return "Certificate lacks principal list";
	if (name != NULL && !names(c, name))
		return "Certificate invalid: name is not a listed principal";
	return NULL;
}

bool
cert_alg_allowed(const struct cert *c, const char *algorithms)
{
	return csv_has(algorithms, c->signature_alg);
}

const char *
cert_host_refusal(const struct cert *c, uint64_t now, const char *host,
    const char *ca_algorithms)
{
	const char *why = cert_refusal(c, CERT_HOST, now, host);

	if (why != NULL)
		return why;
	if (c->critical.len > 0)
		return "Certificate contains unsupported critical options";
	if (!cert_alg_allowed(c, ca_algorithms))
		return "Certificate signed with disallowed algorithm";
	return NULL;
}

/* ---- options ------------------------------------------------------------ */

/* The options of certificates that are known here, and the fields of struct
 * cert_grants that they set. */
static const struct option {
	const char *name;
	bool critical;
	bool valued; /* the field is a char *, not a bool */
	size_t field;
} options[] = {
#define CRITICAL(name, valued, field)                                         \
	{ name, true, valued, offsetof(struct cert_grants, field) },
#define EXTENSION(name, field)                                                \
	{ name, false, false, offsetof(struct cert_grants, field) },
	CRITICAL("force-command", true, command)
	CRITICAL("source-address", true, addresses)
	CRITICAL("verify-required", false, verify_required)
	EXTENSION("no-touch-required", no_touch)
	EXTENSION("permit-X11-forwarding", x11_forwarding)
	EXTENSION("permit-agent-forwarding", agent_forwarding)
	EXTENSION("permit-port-forwarding", port_forwarding)
	EXTENSION("permit-pty", pty)
	EXTENSION("permit-user-rc", user_rc)
};

static const struct option *
find(struct span name, bool critical)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].critical == critical &&
		    span_equals(name, options[i].name))
			return &options[i];
	return NULL;
}

char *
cert_option_value(struct span data)
{
	struct rd r = rd_from_span(data);
	struct span text = rd_string(&r);

	return rd_end(&r) == 0 ? span_dup(text) : NULL;
}

static const char *
set(struct cert_grants *g, const struct option *o, struct span data)
{
	char *field = (char *)g + o->field, *old;

	if (!o->valued) {
		*(bool *)(void *)field = true;
		return data.len == 0 ? NULL :
		    "an option of the certificate has data, and may not";
	}
	memcpy(&old, field, sizeof old);
	if (old != NULL)
		return "a critical option stands twice in the certificate";
	old = cert_option_value(data);
	memcpy(field, &old, sizeof old);
	return old != NULL ? NULL :
	    "an option of the certificate has bad data";
}

/* An option that is not in options[]: a critical one makes the certificate
 * useless (ERR_DENIED), an extension is ignored and its name goes to
 * g->ignored. */
static int
set_unknown(struct cert_grants *g, struct span name, bool critical,
    const char **why)
{
	if (critical) {
		*why = "the certificate has a critical option that is not "
		       "known here";
		return ERR_DENIED;
	}
	return strlist_add_len(&g->ignored, (const char *)name.p, name.len);
}

static int
read_options(struct cert_grants *g, struct span list, bool critical,
    const char **why)
{
	struct rd r = rd_from_span(list);
	struct span name, data;
	int res = 0;

	while (res == 0 && cert_option_next(&r, &name, &data)) {
		const struct option *o = find(name, critical);

		if (o == NULL) {
			res = set_unknown(g, name, critical, why);
			continue;
		}
		*why = set(g, o, data);
		if (*why != NULL)
			res = ERR_DENIED;
	}
	return res != 0 ? res : rd_end(&r);
}

int
cert_grants_read(const struct cert *c, struct cert_grants *out,
    const char **why)
{
	int r;

	*out = (struct cert_grants){ 0 };
	*why = err_text(ERR_FORMAT);
	r = read_options(out, c->critical, true, why);
	if (r == 0)
		r = read_options(out, c->extensions, false, why);
	if (r != 0)
		cert_grants_clear(out);
	return r;
}

void
cert_grants_clear(struct cert_grants *g)
{
	free(g->command);
	free(g->addresses);
	strlist_clear(&g->ignored);
	*g = (struct cert_grants){ 0 };
}
