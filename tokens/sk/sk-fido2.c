/* SPDX-License-Identifier: ISC */
#include "tokens/sk/sk-fido2.h"

#include "config.h"

#ifndef HAVE_LIBFIDO2

bool
sk_fido2_api(struct sk_api *out)
{
	(void)out;
	return false;
}

#else

#include <fido.h>
#include <fido/credman.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/key.h"
#include "tokens/sk/sk-der.h"

enum {
	DEVICES_MAX = 16,
	USER_LEN = 32, /* user id: a name of at most 31 bytes, then zeros */
	KEYS_MAX = 512,
	POINT_LEN = 64, /* bytes of both numbers of a point on P-256 */
};

struct options {
	const char *device;
	uint8_t user[USER_LEN];
};

static int
read_options(struct sk_option **list, struct options *o)
{
	*o = (struct options){ .device = NULL };
	for (; list != NULL && *list != NULL; list++) {
		const struct sk_option *one = *list;

		if (strcmp(one->name, "device") == 0) {
			o->device = one->value;
		} else if (strcmp(one->name, "user") == 0) {
			if (strlen(one->value) >= USER_LEN) {
				log_error("the name of a user has at most %d "
					  "bytes",
				    USER_LEN - 1);
				return SK_API_FAILED;
			}
			memcpy(o->user, one->value, strlen(one->value));
		} else if (one->required) {
			return SK_API_UNSUPPORTED;
		}
	}
	return 0;
}

static int
error_of(int r)
{
	switch (r) {
	case FIDO_ERR_UNSUPPORTED_OPTION:
	case FIDO_ERR_UNSUPPORTED_ALGORITHM:
	case FIDO_ERR_UNSUPPORTED_EXTENSION:
		return SK_API_UNSUPPORTED;
	case FIDO_ERR_PIN_REQUIRED:
	case FIDO_ERR_PIN_INVALID:
	case FIDO_ERR_UV_BLOCKED:
	case FIDO_ERR_UV_INVALID:
	case FIDO_ERR_OPERATION_DENIED:
		return SK_API_NEEDS_PIN;
	case FIDO_ERR_NO_CREDENTIALS:
		return SK_API_NO_DEVICE;
	default:
		log_error("the authenticator: %s", fido_strerr(r));
		return SK_API_FAILED;
	}
}

static int
copy(const uint8_t *p, size_t len, uint8_t **out, size_t *out_len)
{
	*out_len = 0;
	if (p == NULL || len == 0)
		return 0;
	*out = malloc(len);
	if (*out == NULL)
		return SK_API_FAILED;
	memcpy(*out, p, len);
	*out_len = len;
	return 0;
}

/* ---- authenticators ------------------------------------------------------ */

static fido_dev_t *
open_device(const char *path)
{
	fido_dev_t *dev = fido_dev_new();

	if (dev != NULL && fido_dev_open(dev, path) != FIDO_OK)
		fido_dev_free(&dev);
	return dev;
}

static void
close_device(fido_dev_t **dev)
{
	if (*dev != NULL)
		(void)fido_dev_close(*dev);
	fido_dev_free(dev);
}

/* Whether a device suits, because it has the wanted key. NULL: any device
 * does. */
typedef bool (*suits_fn)(fido_dev_t *dev, const void *arg);

/* Opens the device with this name; without a name the only device, or the first
 * of several that suits. NULL: there is none. */
static fido_dev_t *
find_device(const char *name, suits_fn suits, const void *arg)
{
	fido_dev_info_t *list;
	fido_dev_t *dev = NULL;
	size_t n = 0;

	if (name != NULL)
		return open_device(name);
	list = fido_dev_info_new(DEVICES_MAX);
	if (list == NULL ||
	    fido_dev_info_manifest(list, DEVICES_MAX, &n) != FIDO_OK)
		n = 0;
	if (n > 1 && suits == NULL) {
		log_error("there are several authenticators: name the device");
		n = 0;
	}
	for (size_t i = 0; i < n && dev == NULL; i++) {
		dev = open_device(
		    fido_dev_info_path(fido_dev_info_ptr(list, i)));
		if (dev != NULL && n > 1 && !suits(dev, arg))
			close_device(&dev);
	}
	fido_dev_info_free(&list, DEVICES_MAX);
	return dev;
}

/* ---- signing ------------------------------------------------------------- */

struct wanted {
	const char *application, *pin;
	const uint8_t *handle;
	size_t handle_len;
};

static fido_assert_t *
new_assert(const struct wanted *w, const uint8_t *data, size_t len)
{
	fido_assert_t *a = fido_assert_new();

	if (a != NULL &&
	    (fido_assert_set_clientdata(a, data, len) != FIDO_OK ||
		fido_assert_set_rp(a, w->application) != FIDO_OK ||
		(w->handle != NULL &&
		    fido_assert_allow_cred(a, w->handle, w->handle_len) !=
			FIDO_OK)))
		fido_assert_free(&a);
	return a;
}

/* True if the device has the key. The user need not touch it for that. */
static bool
has_key(fido_dev_t *dev, const void *arg)
{
	const struct wanted *w = arg;
	fido_assert_t *a = new_assert(w, (const uint8_t *)"?", 1);
	bool has = a != NULL &&
	    fido_assert_set_up(a, FIDO_OPT_FALSE) == FIDO_OK &&
	    fido_dev_get_assert(dev, a, w->pin) == FIDO_OK;

	fido_assert_free(&a);
	return has;
}

static int
take_assert(uint32_t alg, const fido_assert_t *a, struct sk_sign_response *s)
{
	struct span sig = { fido_assert_sig_ptr(a, 0),
		fido_assert_sig_len(a, 0) };
	struct span one = sig, two = { NULL, 0 };

	if (fido_assert_count(a) != 1 || sig.p == NULL)
		return SK_API_FAILED;
	if (alg == 0 && sk_der_split(sig, &one, &two) != 0)
		return SK_API_FAILED;
	s->flags = fido_assert_flags(a, 0);
	s->counter = fido_assert_sigcount(a, 0);
	if (copy(one.p, one.len, &s->sig_r, &s->sig_r_len) != 0)
		return SK_API_FAILED;
	return copy(two.p, two.len, &s->sig_s, &s->sig_s_len);
}

/* Makes the authenticator verify the user itself, if the key requires it and no
 * PIN is given; a PIN verifies the user, too. */
static int
set_verification(fido_dev_t *dev, fido_assert_t *a, uint8_t flags,
    const char *pin)
{
	if ((flags & KEY_SK_VERIFY) == 0 || pin != NULL)
		return 0;
	if (!fido_dev_has_uv(dev))
		return SK_API_NEEDS_PIN;
	return fido_assert_set_uv(a, FIDO_OPT_TRUE) == FIDO_OK ?
	    0 :
	    SK_API_FAILED;
}

static int
fido2_sign(uint32_t alg, const uint8_t *data, size_t data_len,
    const char *application, const uint8_t *key_handle,
    size_t key_handle_len, uint8_t flags, const char *pin,
    struct sk_option **list, struct sk_sign_response **response)
{
	const struct wanted w = { application, pin, key_handle,
		key_handle_len };
	struct sk_sign_response *s = calloc(1, sizeof *s);
	fido_assert_t *a = new_assert(&w, data, data_len);
	fido_dev_t *dev = NULL;
	struct options o;
	int r = read_options(list, &o);

	if (r == 0 && (s == NULL || a == NULL))
		r = SK_API_FAILED;
	if (r == 0) {
		dev = find_device(o.device, has_key, &w);
		if (dev == NULL)
			r = (flags & KEY_SK_VERIFY) != 0 && pin == NULL ?
			    SK_API_NEEDS_PIN :
			    SK_API_NO_DEVICE;
	}
	if (r == 0)
		r = set_verification(dev, a, flags, pin);
	if (r == 0 &&
	    fido_assert_set_up(a, (flags & KEY_SK_TOUCH) != 0 ?
		FIDO_OPT_TRUE : FIDO_OPT_FALSE) != FIDO_OK)
		r = SK_API_FAILED;
	if (r == 0 && (r = fido_dev_get_assert(dev, a, pin)) != FIDO_OK)
		r = error_of(r);
	if (r == 0)
		r = take_assert(alg, a, s);
	close_device(&dev);
	fido_assert_free(&a);
	if (r == 0) {
		*response = s;
	} else if (s != NULL) {
		free(s->sig_r);
		free(s->sig_s);
		free(s);
	}
	return r;
}

/* ---- new keys ------------------------------------------------------------ */

/* SK_API_HAS_KEY if the device has a resident key of this application and user
 * already; 0 if not. */
static int
check_free(fido_dev_t *dev, const char *application, const uint8_t *user,
    const char *pin)
{
	const struct wanted w = { .application = application };
	fido_assert_t *a = new_assert(&w, (const uint8_t *)"?", 1);
	int r = a == NULL ? FIDO_ERR_INTERNAL :
			    fido_assert_set_up(a, FIDO_OPT_FALSE);
	bool taken = false;

	if (r == FIDO_OK)
		r = fido_dev_get_assert(dev, a, pin);
	for (size_t i = 0; r == FIDO_OK && i < fido_assert_count(a); i++)
		taken |= fido_assert_user_id_len(a, i) == USER_LEN &&
		    memcmp(fido_assert_user_id_ptr(a, i), user, USER_LEN) ==
			0;
	fido_assert_free(&a);
	if (taken)
		return SK_API_HAS_KEY;
	return r == FIDO_OK || r == FIDO_ERR_NO_CREDENTIALS ? 0 : error_of(r);
}

static int
prepare_cred(fido_dev_t *dev, fido_cred_t *c, uint8_t flags, const char *pin)
{
	bool resident = (flags & KEY_SK_RESIDENT) != 0;
	bool verify = (flags & KEY_SK_VERIFY) != 0;
	int r = fido_cred_set_rk(c, resident ? FIDO_OPT_TRUE : FIDO_OPT_OMIT);

	if (r == FIDO_OK && verify && pin == NULL) {
		if (!fido_dev_has_uv(dev))
			return SK_API_NEEDS_PIN;
		r = fido_cred_set_uv(c, FIDO_OPT_TRUE);
	}
	if (r == FIDO_OK && (resident || verify)) {
		if (fido_dev_supports_cred_prot(dev))
			r = fido_cred_set_prot(c, verify ?
				FIDO_CRED_PROT_UV_REQUIRED :
				FIDO_CRED_PROT_UV_OPTIONAL_WITH_ID);
		else if (verify)
			return SK_API_UNSUPPORTED;
	}
	return r == FIDO_OK ? 0 : SK_API_FAILED;
}

static fido_cred_t *
new_cred(uint32_t alg, const uint8_t *challenge, size_t len,
    const char *application, const struct options *o)
{
	fido_cred_t *c = fido_cred_new();

	if (c != NULL &&
	    (fido_cred_set_type(c, alg == 0 ? COSE_ES256 : COSE_EDDSA) !=
		    FIDO_OK ||
		fido_cred_set_clientdata(c, challenge, len) != FIDO_OK ||
		fido_cred_set_user(c, o->user, USER_LEN, "hpnssh", "hpnssh",
		    NULL) != FIDO_OK ||
		fido_cred_set_rp(c, application, NULL) != FIDO_OK))
		fido_cred_free(&c);
	return c;
}

/* Copies the public key. A point gets the byte 4 in front, which means that
 * both its numbers follow. */
static int
take_public(const fido_cred_t *c, struct sk_enroll_response *e)
{
	const uint8_t *p = fido_cred_pubkey_ptr(c);
	size_t len = fido_cred_pubkey_len(c);

	if (fido_cred_type(c) != COSE_ES256)
		return copy(p, len, &e->public_key, &e->public_key_len);
	if (p == NULL || len != POINT_LEN)
		return SK_API_FAILED;
	e->public_key = malloc(1 + POINT_LEN);
	if (e->public_key == NULL)
		return SK_API_FAILED;
	e->public_key[0] = 4;
	memcpy(e->public_key + 1, p, POINT_LEN);
	e->public_key_len = 1 + POINT_LEN;
	return 0;
}

static void
clear_response(struct sk_enroll_response *e)
{
	free(e->public_key);
	free(e->key_handle);
	free(e->signature);
	free(e->attestation_cert);
	free(e->authdata);
}

static int
take_cred(const fido_cred_t *c, struct sk_enroll_response *e)
{
	if (take_public(c, e) != 0 || e->public_key_len == 0 ||
	    copy(fido_cred_id_ptr(c), fido_cred_id_len(c), &e->key_handle,
		&e->key_handle_len) != 0 ||
	    copy(fido_cred_sig_ptr(c), fido_cred_sig_len(c), &e->signature,
		&e->signature_len) != 0 ||
	    copy(fido_cred_x5c_ptr(c), fido_cred_x5c_len(c),
		&e->attestation_cert, &e->attestation_cert_len) != 0)
		return SK_API_FAILED;
	return copy(fido_cred_authdata_ptr(c), fido_cred_authdata_len(c),
	    &e->authdata, &e->authdata_len);
}

static int
make_cred(fido_dev_t *dev, fido_cred_t *c, const char *pin)
{
	int r = fido_dev_make_cred(dev, c, pin);

	if (r != FIDO_OK)
		return error_of(r);
	r = fido_cred_x5c_ptr(c) != NULL ? fido_cred_verify(c) :
					   fido_cred_verify_self(c);
	if (r != FIDO_OK) {
		log_error("what the authenticator says of the key: %s",
		    fido_strerr(r));
		return SK_API_FAILED;
	}
	return 0;
}

static int
fido2_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len,
    const char *application, uint8_t flags, const char *pin,
    struct sk_option **list, struct sk_enroll_response **response)
{
	struct sk_enroll_response *e = calloc(1, sizeof *e);
	fido_cred_t *c = NULL;
	fido_dev_t *dev = NULL;
	struct options o;
	int r = read_options(list, &o);

	if (r == 0) {
		c = new_cred(alg, challenge, challenge_len, application, &o);
		r = c == NULL || e == NULL ? SK_API_FAILED : 0;
	}
	if (r == 0 && (dev = find_device(o.device, NULL, NULL)) == NULL)
		r = SK_API_NO_DEVICE;
	if (r == 0)
		r = prepare_cred(dev, c, flags, pin);
	if (r == 0 && (flags & KEY_SK_RESIDENT) != 0 &&
	    (flags & KEY_SK_FORCE) == 0)
		r = check_free(dev, application, o.user, pin);
	if (r == 0)
		r = make_cred(dev, c, pin);
	if (r == 0)
		r = take_cred(c, e);
	close_device(&dev);
	fido_cred_free(&c);
	if (r == 0) {
		e->flags = flags & (uint8_t)~KEY_SK_FORCE;
		*response = e;
	} else if (e != NULL) {
		clear_response(e);
		free(e);
	}
	return r;
}

/* ---- resident keys ------------------------------------------------------- */

struct found {
	struct sk_resident_key **v;
	size_t n;
};

static int
take_resident(const fido_cred_t *c, const char *application, struct found *f)
{
	struct sk_resident_key *k;

	if (fido_cred_type(c) != COSE_ES256 && fido_cred_type(c) != COSE_EDDSA)
		return 0;
	if (f->n == KEYS_MAX)
		return SK_API_FAILED;
	k = calloc(1, sizeof *k);
	if (k == NULL)
		return SK_API_FAILED;
	f->v[f->n] = k;
	k->slot = f->n++;
	k->alg = fido_cred_type(c) == COSE_ES256 ? 0 : 1;
	k->application = strdup(application);
	k->flags = KEY_SK_TOUCH | KEY_SK_RESIDENT;
	if (fido_cred_prot(c) == FIDO_CRED_PROT_UV_REQUIRED)
		k->flags |= KEY_SK_VERIFY;
	k->key.flags = k->flags;
	if (k->application == NULL || take_public(c, &k->key) != 0 ||
	    copy(fido_cred_id_ptr(c), fido_cred_id_len(c), &k->key.key_handle,
		&k->key.key_handle_len) != 0)
		return SK_API_FAILED;
	return copy(fido_cred_user_id_ptr(c), fido_cred_user_id_len(c),
	    &k->user_id, &k->user_id_len);
}

static int
load_application(fido_dev_t *dev, const char *application, const char *pin,
    struct found *f)
{
	fido_credman_rk_t *rk = fido_credman_rk_new();
	int r = rk == NULL ? FIDO_ERR_INTERNAL :
			     fido_credman_get_dev_rk(dev, application, rk, pin);

	r = r == FIDO_OK ? 0 : error_of(r);
	for (size_t i = 0; r == 0 && i < fido_credman_rk_count(rk); i++)
		r = take_resident(fido_credman_rk(rk, i), application, f);
	fido_credman_rk_free(&rk);
	return r;
}

static int
load_device(fido_dev_t *dev, const char *pin, struct found *f)
{
	fido_credman_rp_t *rp = fido_credman_rp_new();
	int r = rp == NULL ? FIDO_ERR_INTERNAL :
			     fido_credman_get_dev_rp(dev, rp, pin);

	r = r == FIDO_OK ? 0 : error_of(r);
	for (size_t i = 0; r == 0 && i < fido_credman_rp_count(rp); i++) {
		const char *id = fido_credman_rp_id(rp, i);

		if (id != NULL && str_has_prefix(id, "ssh:"))
			r = load_application(dev, id, pin, f);
	}
	fido_credman_rp_free(&rp);
	return r;
}

static void
free_found(struct found *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i]->application);
		clear_response(&f->v[i]->key);
		free(f->v[i]->user_id);
		free(f->v[i]);
	}
	free(f->v);
}

static int
fido2_load(const char *pin, struct sk_option **list,
    struct sk_resident_key ***keys, size_t *n)
{
	struct found f = { .v = calloc(KEYS_MAX, sizeof *f.v) };
	fido_dev_t *dev = NULL;
	struct options o;
	int r = read_options(list, &o);

	if (r == 0 && f.v == NULL)
		r = SK_API_FAILED;
	if (r == 0 && (dev = find_device(o.device, NULL, NULL)) == NULL)
		r = SK_API_NO_DEVICE;
	if (r == 0)
		r = load_device(dev, pin, &f);
	close_device(&dev);
	if (r == 0) {
		*keys = f.v;
		*n = f.n;
	} else {
		free_found(&f);
	}
	return r;
}

bool
sk_fido2_api(struct sk_api *out)
{
	fido_init(0);
	*out = (struct sk_api){ .enroll = fido2_enroll, .sign = fido2_sign,
		.load = fido2_load };
	return true;
}

#endif
