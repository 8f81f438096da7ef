/* SPDX-License-Identifier: ISC */
/*
 * Security keys (FIDO). The public key is one of Ed25519 or of ECDSA over
 * nistp256, together with the name of the application that it was made for. The
 * private key is in the authenticator; the key file holds only a handle to it.
 *
 * An authenticator does not sign the message itself, but SHA-256 of the
 * application, a byte of flags, a counter and SHA-256 of the message
 * (PROTOCOL.u2f of OpenSSH). If a browser is between (WebAuthn), the message is
 * a part of a text that the browser writes, and the hash of that text is
 * signed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "crypto/digest.h"
#include "keys/key-internal.h"

enum {
	APPLICATION_MAX = 1024, /* bytes */
	HANDLE_MAX = 64 * 1024,
	ORIGIN_MAX = 1024,
	CLIENT_DATA_MAX = 16 * 1024,
	HASH_LEN = 32, /* SHA-256 */
};

void
key_sk_free(struct key_sk *sk)
{
	if (sk == NULL)
		return;
	free(sk->application);
	buf_clear(&sk->handle);
	buf_clear(&sk->reserved);
	free(sk);
}

int
key_sk_dup(const struct key_sk *sk, struct key_sk **out)
{
	struct key_sk *copy;
	int r;

	*out = NULL;
	if (sk == NULL)
		return 0;
	copy = calloc(1, sizeof *copy);
	if (copy == NULL)
		return ERR_NOMEM;
	copy->flags = sk->flags;
	copy->application = strdup(sk->application);
	buf_put_buf(&copy->handle, &sk->handle);
	buf_put_buf(&copy->reserved, &sk->reserved);
	r = copy->application == NULL ? ERR_NOMEM : buf_err(&copy->handle);
	if (r == 0)
		r = buf_err(&copy->reserved);
	if (r == 0)
		*out = copy;
	else
		key_sk_free(copy);
	return r;
}

/* ---- fields ------------------------------------------------------------- */

int
key_sk_get_public(struct rd *r, struct key_sk **out)
{
	struct key_sk *sk;
	char *application = rd_cstring(r, APPLICATION_MAX);

	if (rd_err(r) != 0) {
		free(application);
		return rd_err(r);
	}
	sk = calloc(1, sizeof *sk);
	if (sk == NULL) {
		free(application);
		return ERR_NOMEM;
	}
	sk->application = application;
	*out = sk;
	return 0;
}

int
key_sk_put_public(const struct key_sk *sk, struct buf *out)
{
	buf_put_cstring(out, sk->application);
	return buf_err(out);
}

int
key_sk_get_private(struct rd *r, struct key_sk *sk)
{
	struct span handle, reserved;

	sk->flags = rd_u8(r);
	handle = rd_string(r);
	reserved = rd_string(r);
	if (rd_err(r) != 0)
		return rd_err(r);
	if (handle.len > HANDLE_MAX || reserved.len > HANDLE_MAX)
		return ERR_LIMIT;
	buf_put(&sk->handle, handle.p, handle.len);
	buf_put(&sk->reserved, reserved.p, reserved.len);
	if (buf_err(&sk->handle) != 0)
		return buf_err(&sk->handle);
	return buf_err(&sk->reserved);
}

int
key_sk_put_private(const struct key_sk *sk, struct buf *out)
{
	buf_put_u8(out, sk->flags);
	buf_put_string_buf(out, &sk->handle);
	buf_put_string_buf(out, &sk->reserved);
	return buf_err(out);
}

/* ---- signatures --------------------------------------------------------- */

/* The fields of a signature blob that follow the signature itself. */
struct statement {
	uint8_t flags;
	uint32_t counter;
	/* These are set for WebAuthn only. */
	struct span origin, client_data, extensions;
};

static struct statement
read_statement(struct rd *r, bool webauthn)
{
	struct statement s = { .flags = rd_u8(r), .counter = rd_u32(r) };

	if (webauthn) {
		s.origin = rd_string(r);
		s.client_data = rd_string(r);
		s.extensions = rd_string(r);
	}
	return s;
}

static bool
take(struct span *text, const void *p, size_t len)
{
	if (text->len < len || memcmp(text->p, p, len) != 0)
		return false;
	text->p += len;
	text->len -= len;
	return true;
}

static bool
take_text(struct span *text, const char *s)
{
	return take(text, s, strlen(s));
}

/* base64url (RFC 4648 section 5) without padding: - and _ instead of + and /.
 * The caller frees it. NULL: memory is out. */
static char *
url_base64(struct span data)
{
	char *text = str_base64_encode(data.p, data.len);

	if (text == NULL)
		return NULL;
	text[strcspn(text, "=")] = '\0';
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '+')
			*p = '-';
		else if (*p == '/')
			*p = '_';
	}
	return text;
}

/* ERR_SIGNATURE unless the browser's text names this message, and the origin
 * that the signature has as a field, too. The text must begin byte by byte as
 * browsers write it; it is not parsed as JSON. */
static int
check_client_data(const struct statement *s, struct span message)
{
	struct span rest = s->client_data;
	char *challenge;
	bool ok;

	if (s->client_data.len > CLIENT_DATA_MAX ||
	    s->origin.len > ORIGIN_MAX ||
	    memchr(s->origin.p, '"', s->origin.len) != NULL)
		return ERR_SIGNATURE;
	/* Flag 0x40 stands for attested data, which only registering a key has.
	 * Flag 0x80 stands for extensions. */
	if ((s->flags & 0x40) != 0 ||
	    ((s->flags & 0x80) != 0) != (s->extensions.len > 0))
		return ERR_SIGNATURE;
	challenge = url_base64(message);
	if (challenge == NULL)
		return ERR_NOMEM;
	ok = take_text(&rest, "{\"type\":\"webauthn.get\",\"challenge\":\"") &&
	    take_text(&rest, challenge) &&
	    take_text(&rest, "\",\"origin\":\"") &&
	    take(&rest, s->origin.p, s->origin.len) && take_text(&rest, "\"");
	free(challenge);
	return ok ? 0 : ERR_SIGNATURE;
}

static int
put_hash(struct span data, struct buf *out)
{
	uint8_t hash[HASH_LEN];
	int r = digest_once(DIGEST_SHA256, data.p, data.len, hash);

	if (r == 0)
		buf_put(out, hash, sizeof hash);
	return r;
}

int
key_sk_verify(const struct key *k, bool webauthn, key_sk_verify_fn verify,
    struct span message, struct span raw, struct rd *rest,
    struct key_sk_seen *seen)
{
	const char *application = k->sk->application;
	struct statement s = read_statement(rest, webauthn);
	struct buf text = { 0 };
	int r;

	if (rd_end(rest) != 0)
		return ERR_SIGNATURE;
	if (webauthn && (r = check_client_data(&s, message)) != 0)
		return r;
	r = put_hash((struct span){ (const uint8_t *)application,
			 strlen(application) },
	    &text);
	buf_put_u8(&text, s.flags);
	buf_put_u32(&text, s.counter);
	buf_put(&text, s.extensions.p, s.extensions.len);
	if (r == 0)
		r = put_hash(webauthn ? s.client_data : message, &text);
	if (r == 0)
		r = buf_err(&text);
	if (r == 0)
		r = verify(k, buf_span(&text),
		    raw);
	buf_clear(&text);
	if (r == 0 && seen != NULL)
		*seen = (struct key_sk_seen){ .touched = (s.flags & 1) != 0,
			.user_verified = (s.flags & 4) != 0,
			.counter = s.counter };
	return r;
}
