/* SPDX-License-Identifier: ISC */
/*
 * The one list of error codes. A function that can fail returns 0 (or a
 * count) or one of these, all negative.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_ERR_H
#define HPN_BASE_ERR_H

/* Every function whose result may be an error carries this mark. */
#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, first) __attribute__((format(printf, fmt, first)))

#define ERR_LIST(ERR)                                                         \
	ERR(INTERNAL, "internal error")                                       \
	ERR(NOMEM, "out of memory")                                           \
	ERR(SYSTEM, "system error") /* errno tells more */                    \
	ERR(AGAIN, "operation would block")                                   \
	ERR(EOF, "unexpected end of data")                                    \
	ERR(TRUNCATED, "message is too short")                                \
	ERR(TRAILING, "message has trailing data")                            \
	ERR(LIMIT, "length is over the limit")                                \
	ERR(SYNTAX, "syntax error")                                           \
	ERR(ARGUMENT, "invalid argument")                                     \
	ERR(FORMAT, "invalid format")                                         \
	ERR(UNSUPPORTED, "not supported")                                     \
	ERR(PROTOCOL, "protocol error")                                       \
	ERR(PACKET_LENGTH, "bad packet length")                               \
	ERR(MAC, "message authentication code incorrect")                     \
	ERR(COMPRESSION, "compressed data is corrupt")                        \
	ERR(NO_KEX_MATCH, "no matching key exchange method found")            \
	ERR(NO_HOSTKEY_MATCH, "no matching host key type found")              \
	ERR(NO_CIPHER_MATCH, "no matching cipher found")                      \
	ERR(NO_MAC_MATCH, "no matching MAC found")                            \
	ERR(NO_COMP_MATCH, "no matching compression method found")            \
	ERR(KEX_VALUE, "invalid key exchange value")                          \
	ERR(KEX_EARLY, "new keys before authentication")                      \
	ERR(SIGNATURE, "incorrect signature")                                 \
	ERR(CRYPTO, "error in the cryptographic library")                     \
	ERR(KEY_TYPE, "unknown or unsupported key type")                      \
	ERR(KEY_LENGTH, "key length is not allowed")                          \
	ERR(PASSPHRASE, "incorrect passphrase")                               \
	ERR(PERMISSION, "permissions are too open")                           \
	ERR(NOT_FOUND, "not found")                                           \
	ERR(DENIED, "permission denied")                                      \
	ERR(REVOKED, "key is revoked")                                        \
	ERR(HOSTKEY, "host key verification failed")                          \
	ERR(AGENT, "agent refused or failed")                                 \
	ERR(P11, "the PKCS#11 provider failed")                               \
	ERR(PIN, "PIN incorrect")                                             \
	ERR(PIN_LOCKED, "PIN locked")                                         \
	ERR(PIN_NEEDED, "pin required")                                       \
	ERR(DISCONNECTED, "disconnected by the peer")                         \
	ERR(CLOSED, "connection closed")                                      \
	ERR(TIMEOUT, "timed out")                                             \
	ERR(CANCELLED, "cancelled")                                           \
	ERR(SK_HELPER, "the helper for security keys failed")                 \
	ERR(SK_PIN, "a PIN is required, or it is wrong")                      \
	ERR(SK_DEVICE, "device not found")                                    \
	ERR(SK_EXISTS, "the authenticator has such a key already")

#define ERR_ENUM(name, text) ERR_ORD_##name,
enum err_ord { ERR_LIST(ERR_ENUM) ERR_ORD_COUNT };
#undef ERR_ENUM

#define ERR_ENUM(name, text) ERR_##name = -1 - ERR_ORD_##name,
enum err { ERR_LIST(ERR_ENUM) ERR_NONE = 0 };
#undef ERR_ENUM

/*
 * Text of a code, without newline; for ERR_SYSTEM the text of errno.
 * Static storage, or strerror's.
 */
const char *err_text(int code);

#endif
