/* SPDX-License-Identifier: ISC */
#include "gss/gss.h"

#include "config.h"

#ifdef HAVE_GSSAPI /* else gss-none.c is used */

#include <dlfcn.h>
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <krb5.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "gss/gss-wire.h"

/* Lines of the library that are shown about one error. */
enum { REASONS_MAX = 4 };

struct gss_initiator {
	gss_ctx_id_t context;
	gss_name_t service;
	gss_cred_id_t cred; /* of request.identity; else none */
	struct gss_request request;
	bool complete;
};

struct gss_acceptor {
	gss_cred_id_t cred; /* the host's keys */
	gss_ctx_id_t context;
	gss_cred_id_t delegated; /* credentials that the client has delegated */
	/* The client's; NULL: context is not complete. */
	char *principal;
	char *error;		 /* reason of the last call's error, or NULL */
};

/* ---- the library ------------------------------------------------------- */

#define GSS_FUNCTIONS(f)                                                      \
	f(acquire_cred) f(release_cred) f(import_name) f(release_name)        \
	f(display_name) f(display_status) f(release_buffer)                   \
	f(init_sec_context) f(accept_sec_context) f(delete_sec_context)       \
	f(get_mic) f(verify_mic) f(store_cred_into)
#define KRB5_FUNCTIONS(f)                                                     \
	f(init_context) f(free_context) f(parse_name) f(free_principal)       \
	f(kuserok)

/* The library is loaded when it is first needed, so that logins by other
 * methods need no time and memory for it. */
static struct {
	void *gss, *krb5;
#define GSS_MEMBER(name) __typeof__(&gss_##name) name;
	GSS_FUNCTIONS(GSS_MEMBER)
#define KRB5_MEMBER(name) __typeof__(&krb5_##name) krb5_##name;
	KRB5_FUNCTIONS(KRB5_MEMBER)
} lib;

static bool
find_functions(void)
{
#define GSS_FIND(name)                                                        \
	*(void **)&lib.name = dlsym(lib.gss, "gss_" #name);                   \
	if (lib.name == NULL)                                                 \
		return false;
	GSS_FUNCTIONS(GSS_FIND)
#define KRB5_FIND(name)                                                       \
	*(void **)&lib.krb5_##name = dlsym(lib.krb5, "krb5_" #name);          \
	if (lib.krb5_##name == NULL)                                          \
		return false;
	KRB5_FUNCTIONS(KRB5_FIND)
	return true;
}

static bool
load_library(char **why)
{
	if (lib.gss != NULL)
		return true;
	lib.gss = dlopen(GSSAPI_LIBRARY, RTLD_NOW);
	if (lib.gss != NULL)
		lib.krb5 = dlopen(KRB5_LIBRARY, RTLD_NOW);
	if (lib.krb5 != NULL && find_functions())
		return true;
	*why = xstrdup(dlerror());
	if (lib.krb5 != NULL)
		dlclose(lib.krb5);
	if (lib.gss != NULL)
		dlclose(lib.gss);
	lib.gss = lib.krb5 = NULL;
	return false;
}

/* ---- types of the library ---------------------------------------------- */

/* The OID of Kerberos 5 as the library wants it: without DER's tag and
 * length. */
static gss_OID_desc
kerberos(void)
{
	struct span der = gss_wire_kerberos();

	return (gss_OID_desc){ .length = (OM_uint32)der.len - 2,
		.elements = (void *)(uintptr_t)(der.p + 2) };
}

static gss_buffer_desc
buffer_of(struct span s)
{
	return (gss_buffer_desc){ .length = s.len,
		.value = (void *)(uintptr_t)s.p };
}

static void
take_buffer(struct buf *out, gss_buffer_t b)
{
	OM_uint32 minor;

	buf_put(out, b->value, b->length);
	(void)lib.release_buffer(&minor, b);
}

static void
put_reason(struct buf *text, OM_uint32 code, int type)
{
	gss_OID_desc mech = kerberos();
	gss_buffer_desc line = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor, more = 0;

	for (int i = 0; i < REASONS_MAX; i++) {
		if (lib.display_status(&minor, code, type, &mech, &more,
			&line) != GSS_S_COMPLETE)
			return;
		buf_printf(text, "%s%.*s", buf_len(text) > 0 ? ": " : "",
		    (int)line.length, (const char *)line.value);
		(void)lib.release_buffer(&minor, &line);
		if (more == 0)
			return;
	}
}

/* The reason of an error, in the library's words. Caller frees. */
static char *
reason(OM_uint32 major, OM_uint32 minor)
{
	struct buf text = { 0 };
	char *s;

	put_reason(&text, major, GSS_C_GSS_CODE);
	if (minor != 0)
		put_reason(&text, minor, GSS_C_MECH_CODE);
	s = buf_dup_string(&text);
	buf_clear(&text);
	return s;
}

/* Types of names, as OIDs: a service at a host (1.2.840.113554.1.2.1.4), and a
 * user (1.2.840.113554.1.2.1.1). */
static const uint8_t service_type[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12,
	0x01, 0x02, 0x01, 0x04 };
static const uint8_t user_type[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01,
	0x02, 0x01, 0x01 };

/* Makes the library's form of a name of this type. ERR_DENIED: *why has the
 * reason. */
static int
import_name(const char *name, const uint8_t oid[sizeof service_type],
    gss_name_t *out, char **why)
{
	gss_OID_desc type = { .length = sizeof service_type,
		.elements = (void *)(uintptr_t)oid };
	gss_buffer_desc text;
	OM_uint32 major, minor;

	text = buffer_of((struct span){ (const uint8_t *)name, strlen(name) });
	major = lib.import_name(&minor, &text, &type, out);
	if (!GSS_ERROR(major))
		return 0;
	*why = reason(major, minor);
	return ERR_DENIED;
}

/* Makes the name of the service "host" at a host. */
static int
import_service(const char *host, gss_name_t *name, char **why)
{
	char *service;
	int r;

	xasprintf(&service, "host@%s", host);
	r = import_name(service, service_type, name, why);
	free(service);
	return r;
}

/* ---- the client's side ------------------------------------------------- */

static int
sign(gss_ctx_id_t context, struct span data, struct buf *mic, char **why)
{
	gss_buffer_desc in = buffer_of(data), out = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor, major;

	major = lib.get_mic(&minor, context, GSS_C_QOP_DEFAULT, &in, &out);
	if (GSS_ERROR(major)) {
		*why = reason(major, minor);
		return ERR_DENIED;
	}
	take_buffer(mic, &out);
	return buf_err(mic);
}

/* Takes the credentials of the principal request.identity, of those that the
 * user has. Without an identity it does nothing. */
static int
take_identity(struct gss_initiator *i, char **why)
{
	gss_OID_desc mech = kerberos();
	gss_OID_set_desc mechs = { .count = 1, .elements = &mech };
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 major, minor, unused;

	if (i->request.identity == NULL)
		return 0;
	if (import_name(i->request.identity, user_type, &name, why) != 0)
		return ERR_DENIED;
	major = lib.acquire_cred(&minor, name, GSS_C_INDEFINITE, &mechs,
	    GSS_C_INITIATE, &i->cred, NULL, NULL);
	if (GSS_ERROR(major))
		*why = reason(major, minor);
	(void)lib.release_name(&unused, &name);
	return GSS_ERROR(major) ? ERR_DENIED : 0;
}

int
gss_initiator_new(struct gss_initiator **out, const struct gss_request *request,
    char **why)
{
	struct gss_initiator *i;
	int r;

	*why = NULL;
	if (!load_library(why))
		return ERR_UNSUPPORTED;
	i = xcalloc(1, sizeof *i);
	i->context = GSS_C_NO_CONTEXT;
	i->cred = GSS_C_NO_CREDENTIAL;
	i->request = *request;
	if ((r = import_service(request->host, &i->service, why)) != 0 ||
	    (r = take_identity(i, why)) != 0) {
		gss_initiator_free(i);
		return r;
	}
	*out = i;
	return 0;
}

void
gss_initiator_free(struct gss_initiator *i)
{
	OM_uint32 minor;

	if (i == NULL)
		return;
	(void)lib.delete_sec_context(&minor, &i->context, GSS_C_NO_BUFFER);
	(void)lib.release_name(&minor, &i->service);
	(void)lib.release_cred(&minor, &i->cred);
	free(i);
}

static OM_uint32
flags_of(const struct gss_request *request)
{
	return GSS_C_INTEG_FLAG | (request->mutual ? GSS_C_MUTUAL_FLAG : 0) |
	    (request->delegate ? GSS_C_DELEG_FLAG : 0);
}

/* Handles a complete context. It must have the properties that were requested,
 * because a library may leave out those that it cannot provide. Then makes the
 * MIC. */
static int
conclude(struct gss_initiator *i, OM_uint32 got, struct gss_proof *out,
    char **why)
{
	OM_uint32 must = flags_of(&i->request) & ~(OM_uint32)GSS_C_DELEG_FLAG;

	if ((got & must) != must)
		return ERR_DENIED;
	out->complete = i->complete = true;
	out->delegated = (got & GSS_C_DELEG_FLAG) != 0;
	if (i->request.signed_data.p == NULL)
		return 0;
	return sign(i->context, i->request.signed_data, &out->mic, why);
}

int
gss_initiator_step(struct gss_initiator *i, struct span token,
    struct gss_proof *out, char **why)
{
	gss_OID_desc mech = kerberos();
	gss_buffer_desc in = buffer_of(token), reply = GSS_C_EMPTY_BUFFER;
	OM_uint32 major, minor, got = 0, left_s = 0;

	*why = NULL;
	*out = (struct gss_proof){ .complete = false };
	if (i->complete)
		return ERR_PROTOCOL; /* a token too many */
	major = lib.init_sec_context(&minor, i->cred, &i->context,
	    i->service, &mech, flags_of(&i->request), 0,
	    GSS_C_NO_CHANNEL_BINDINGS, token.len > 0 ? &in : GSS_C_NO_BUFFER,
	    NULL, &reply, &got, &left_s);
	take_buffer(&out->token, &reply);
	out->expires_s = (uint64_t)time(NULL) + left_s;
	if (GSS_ERROR(major)) {
		*why = reason(major, minor);
		return ERR_DENIED;
	}
	if ((major & GSS_S_CONTINUE_NEEDED) == 0)
		return conclude(i, got, out, why);
	return buf_err(&out->token);
}

int
gss_initiator_sign(struct gss_initiator *i, struct span data, struct buf *mic,
    char **why)
{
	*why = NULL;
	return i->complete ? sign(i->context, data, mic, why) : ERR_PROTOCOL;
}

/* Verifies a MIC over data. ERR_DENIED: *why has the reason. */
static int
verify(gss_ctx_id_t context, struct span data, struct span mic, char **why)
{
	gss_buffer_desc text = buffer_of(data), sum = buffer_of(mic);
	OM_uint32 major, minor;

	major = lib.verify_mic(&minor, context, &text, &sum, NULL);
	/* Any other result is an error, also one with supplementary bits only:
	 * they mean that the message is replayed or old. */
	if (major == GSS_S_COMPLETE)
		return 0;
	*why = reason(major, minor);
	return ERR_DENIED;
}

int
gss_initiator_verify(struct gss_initiator *i, struct span data,
    struct span mic, char **why)
{
	*why = NULL;
	return i->complete ? verify(i->context, data, mic, why) : ERR_PROTOCOL;
}

/* ---- the server's side ------------------------------------------------- */

static int
acquire(struct gss_acceptor *a, const char *host, char **why)
{
	gss_OID_desc mech = kerberos();
	gss_OID_set_desc mechs = { .count = 1, .elements = &mech };
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 major, minor, unused;

	if (host != NULL && import_service(host, &name, why) != 0)
		return ERR_DENIED;
	major = lib.acquire_cred(&minor, name, GSS_C_INDEFINITE, &mechs,
	    GSS_C_ACCEPT, &a->cred, NULL, NULL);
	if (GSS_ERROR(major))
		*why = reason(major, minor);
	(void)lib.release_name(&unused, &name);
	return GSS_ERROR(major) ? ERR_DENIED : 0;
}

int
gss_acceptor_new(struct gss_acceptor **out, const char *host, char **why)
{
	struct gss_acceptor *a;
	int r;

	*why = NULL;
	if (!load_library(why))
		return ERR_UNSUPPORTED;
	a = xcalloc(1, sizeof *a);
	a->cred = a->delegated = GSS_C_NO_CREDENTIAL;
	a->context = GSS_C_NO_CONTEXT;
	if ((r = acquire(a, host, why)) != 0) {
		gss_acceptor_free(a);
		return r;
	}
	*out = a;
	return 0;
}

void
gss_acceptor_free(struct gss_acceptor *a)
{
	OM_uint32 minor;

	if (a == NULL)
		return;
	(void)lib.delete_sec_context(&minor, &a->context, GSS_C_NO_BUFFER);
	(void)lib.release_cred(&minor, &a->delegated);
	(void)lib.release_cred(&minor, &a->cred);
	free(a->principal);
	free(a->error);
	free(a);
}

/* Keeps text, which is taken over, as the reason. Returns ERR_DENIED. */
static int
fail(struct gss_acceptor *a, char *text)
{
	free(a->error);
	a->error = text;
	return ERR_DENIED;
}

static bool
is_kerberos(gss_OID mech)
{
	gss_OID_desc want = kerberos();

	return mech != GSS_C_NO_OID && mech->length == want.length &&
	    memcmp(mech->elements, want.elements, want.length) == 0;
}

/* Handles a complete context: checks whether it is good for a login, and notes
 * the client's principal. */
static int
complete(struct gss_acceptor *a, gss_name_t client, gss_OID mech,
    OM_uint32 flags)
{
	gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
	OM_uint32 major, minor;

	if (!is_kerberos(mech))
		return fail(a, xstrdup("another mechanism than asked for"));
	/* Without integrity nothing would tie the tokens to this connection,
	 * and somebody who saw them could use them. */
	if ((flags & GSS_C_INTEG_FLAG) == 0 || (flags & GSS_C_ANON_FLAG) != 0)
		return fail(a, xstrdup("no integrity, or anonymous"));
	major = lib.display_name(&minor, client, &text, NULL);
	if (GSS_ERROR(major))
		return fail(a, reason(major, minor));
	if (memchr(text.value, '\0', text.length) == NULL)
		a->principal = xstrndup(text.value, text.length);
	(void)lib.release_buffer(&minor, &text);
	return a->principal != NULL ? 0 : fail(a, xstrdup("a NUL in a name"));
}

int
gss_acceptor_step(struct gss_acceptor *a, struct span token, struct buf *out,
    bool *is_complete)
{
	gss_buffer_desc in = buffer_of(token), reply = GSS_C_EMPTY_BUFFER;
	gss_name_t client = GSS_C_NO_NAME;
	gss_OID mech = GSS_C_NO_OID;
	OM_uint32 major, minor, unused, flags = 0;
	int r = 0;

	*is_complete = false;
	if (a->principal != NULL)
		return fail(a, xstrdup("a token too many"));
	(void)lib.release_cred(&unused, &a->delegated);
	major = lib.accept_sec_context(&minor, &a->context, a->cred, &in,
	    GSS_C_NO_CHANNEL_BINDINGS, &client, &mech, &reply, &flags, NULL,
	    &a->delegated);
	take_buffer(out, &reply);
	if (GSS_ERROR(major)) {
		r = fail(a, reason(major, minor));
	} else if ((major & GSS_S_CONTINUE_NEEDED) == 0) {
		*is_complete = true;
		r = complete(a, client, mech, flags);
	}
	(void)lib.release_name(&unused, &client);
	return r != 0 ? r : buf_err(out);
}

int
gss_acceptor_verify(struct gss_acceptor *a, struct span data, struct span mic)
{
	char *why;

	if (a->principal == NULL)
		return fail(a, xstrdup("a MIC too early"));
	return verify(a->context, data, mic, &why) == 0 ? 0 : fail(a, why);
}

int
gss_acceptor_sign(struct gss_acceptor *a, struct span data, struct buf *mic)
{
	char *why = NULL;

	if (a->principal == NULL)
		return fail(a, xstrdup("a MIC is asked for too early"));
	return sign(a->context, data, mic, &why) == 0 ? 0 : fail(a, why);
}

const char *
gss_acceptor_error(const struct gss_acceptor *a)
{
	return a->error != NULL ? a->error : "no reason given";
}

const char *
gss_acceptor_principal(const struct gss_acceptor *a)
{
	return a->principal;
}

bool
gss_acceptor_may_be(const struct gss_acceptor *a, const char *user)
{
	krb5_principal principal = NULL;
	krb5_context context = NULL;
	bool may = false;

	if (a->principal == NULL || lib.krb5_init_context(&context) != 0)
		return false;
	if (lib.krb5_parse_name(context, a->principal, &principal) == 0) {
		may = lib.krb5_kuserok(context, principal, user) != 0;
		lib.krb5_free_principal(context, principal);
	}
	lib.krb5_free_context(context);
	return may;
}

bool
gss_acceptor_has_credentials(const struct gss_acceptor *a)
{
	return a->delegated != GSS_C_NO_CREDENTIAL;
}

int
gss_acceptor_store(struct gss_acceptor *a, const char *path)
{
	gss_OID_desc mech = kerberos();
	gss_key_value_element_desc where = { .key = "ccache" };
	gss_key_value_set_desc set = { .count = 1, .elements = &where };
	OM_uint32 major, minor;
	char *name;

	if (a->delegated == GSS_C_NO_CREDENTIAL)
		return ERR_NOT_FOUND;
	xasprintf(&name, "FILE:%s", path);
	where.value = name;
	major = lib.store_cred_into(&minor, a->delegated, GSS_C_INITIATE,
	    &mech, 1, 0, &set, NULL, NULL);
	free(name);
	return GSS_ERROR(major) ? fail(a, reason(major, minor)) : 0;
}

#endif
