/* SPDX-License-Identifier: ISC */
#include "cipher-gcm-wide.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "cipher.h"

#ifdef HAVE_IPSEC_MB

#include <dlfcn.h>
#include <intel-ipsec-mb.h>
#include <openssl/evp.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"

enum { KEY_ALIGN = 64, OPENSSL_WIDE = 0x30100000 };

struct gcm_wide {
	struct gcm_key_data key; /* first: the library wants it aligned */
	aes_gcm_enc_dec_t encrypt, decrypt;
};

/* From 3.1 on OpenSSL has wide code of its own. Also true if OpenSSL is
 * restricted to FIPS 140: then only OpenSSL may be used. */
static bool
openssl_is_as_good(void)
{
	return OpenSSL_version_num() >= OPENSSL_WIDE ||
	    EVP_default_properties_is_fips_enabled(NULL) == 1;
}

#define FUNCTIONS(f)                                                           \
	f(alloc_mb_mgr) f(free_mb_mgr) f(init_mb_mgr_avx512) f(imb_get_errno)

struct library {
#define MEMBER(name) __typeof__(&name) name;
	FUNCTIONS(MEMBER)
};

/* The library is loaded when it is needed, not linked with: linking would delay
 * the start of every program, and most connections end before it pays. */
static bool
load_library(struct library *lib)
{
	void *handle = dlopen(IPSEC_MB_LIBRARY, RTLD_NOW);

	if (handle == NULL)
		return false;
#define FIND(name)                                                            \
	*(void **)&lib->name = dlsym(handle, #name);                          \
	if (lib->name == NULL)                                                \
		return false;
	FUNCTIONS(FIND)
	return true;
}

/* The library, as cipher_load_wide_gcm() has loaded it. */
static struct library early;
static enum { WHEN_NEEDED, LOADED, MISSING } library_is;

void
cipher_load_wide_gcm(void)
{
	if (library_is == WHEN_NEEDED)
		library_is =
		    !openssl_is_as_good() && load_library(&early) ? LOADED :
								    MISSING;
}

/* Finds the library; several threads may call this at the same time. */
static bool
find_library(struct library *lib)
{
	if (library_is == LOADED)
		*lib = early;
	return library_is == LOADED ||
	    (library_is == WHEN_NEEDED && load_library(lib));
}

/* The library's table of functions. NULL: this processor lacks the instructions
 * that make them fast, or the library's test of itself fails. */
static IMB_MGR *
make_manager(const struct library *lib)
{
	IMB_MGR *m = lib->alloc_mb_mgr(0);

	if (m == NULL)
		return NULL;
	if ((m->features & IMB_CPUFLAGS_AVX512_T2) == IMB_CPUFLAGS_AVX512_T2) {
		lib->init_mb_mgr_avx512(m);
		if (lib->imb_get_errno(m) == 0)
			return m;
	}
	lib->free_mb_mgr(m);
	return NULL;
}

static void
set_key(struct gcm_wide *w, const IMB_MGR *m, const uint8_t *key,
    size_t key_len)
{
	if (key_len == IMB_KEY_128_BYTES) {
		m->gcm128_pre(key, &w->key);
		w->encrypt = m->gcm128_enc;
		w->decrypt = m->gcm128_dec;
	} else {
		m->gcm256_pre(key, &w->key);
		w->encrypt = m->gcm256_enc;
		w->decrypt = m->gcm256_dec;
	}
}

struct gcm_wide *
gcm_wide_new(const uint8_t *key, size_t key_len)
{
	struct library lib;
	struct gcm_wide *w;
	IMB_MGR *m;

	ENSURE(key_len == IMB_KEY_128_BYTES || key_len == IMB_KEY_256_BYTES);
	if (openssl_is_as_good() || !find_library(&lib) ||
	    (m = make_manager(&lib)) == NULL)
		return NULL;
	if ((w = aligned_alloc(KEY_ALIGN, sizeof *w)) != NULL)
		set_key(w, m, key, key_len);
	lib.free_mb_mgr(m);
	return w;
}

void
gcm_wide_free(struct gcm_wide *w)
{
	if (w != NULL)
		freezero(w, sizeof *w);
}

void
gcm_wide_encrypt(struct gcm_wide *w, const uint8_t nonce[12], uint8_t *pkt,
    size_t len)
{
	uint8_t *data = pkt + GCM_WIDE_HEAD;
	struct gcm_context_data state;

	w->encrypt(&w->key, &state, data, data, len, nonce, pkt,
	    GCM_WIDE_HEAD, data + len, GCM_WIDE_TAG);
	explicit_bzero(&state, sizeof state);
}

bool
gcm_wide_decrypt(struct gcm_wide *w, const uint8_t nonce[12], uint8_t *pkt,
    size_t len)
{
	uint8_t *data = pkt + GCM_WIDE_HEAD, tag[GCM_WIDE_TAG];
	struct gcm_context_data state;
	bool good;

	w->decrypt(&w->key, &state, data, data, len, nonce, pkt,
	    GCM_WIDE_HEAD, tag, sizeof tag);
	good = mem_equal_ct(tag, data + len, sizeof tag);
	explicit_bzero(&state, sizeof state);
	/* Whoever could read the right tag could forge the packet. */
	explicit_bzero(tag, sizeof tag);
	return good;
}

#else

void
cipher_load_wide_gcm(void)
{
}

struct gcm_wide *
gcm_wide_new(const uint8_t *key, size_t key_len)
{
	(void)key;
	(void)key_len;
	return NULL;
}

void
gcm_wide_free(struct gcm_wide *w)
{
	(void)w;
}

void
gcm_wide_encrypt(struct gcm_wide *w, const uint8_t nonce[12], uint8_t *pkt,
    size_t len)
{
	(void)w;
	(void)nonce;
	(void)pkt;
	(void)len;
	abort(); /* there is none */
}

bool
gcm_wide_decrypt(struct gcm_wide *w, const uint8_t nonce[12], uint8_t *pkt,
    size_t len)
{
	gcm_wide_encrypt(w, nonce, pkt, len);
	return false;
}

#endif

void
cipher_use_wide_gcm(void)
{
	static const struct gcm_wide_ops ops = {
		.new = gcm_wide_new,
		.free = gcm_wide_free,
		.encrypt = gcm_wide_encrypt,
		.decrypt = gcm_wide_decrypt,
	};

	cipher_gcm_take_wide(&ops);
}
