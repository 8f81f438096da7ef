/* SPDX-License-Identifier: ISC */
/*
 * The numbers and names of the agent protocol (RFC 9987), for both of its
 * sides. A message is a string: u32 length, then u8 type and its fields.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_AGENT_WIRE_H
#define HPN_KEYS_AGENT_WIRE_H

enum agent_message {
	/* Answers. */
	AGENT_FAILURE = 5,
	AGENT_SUCCESS = 6,
	AGENT_IDENTITIES_ANSWER = 12, /* u32 n, n x (string blob, comment) */
	AGENT_SIGN_RESPONSE = 14,     /* string signature */
	AGENT_EXTENSION_FAILURE = 28,
	AGENT_EXTENSION_RESPONSE = 29, /* string name, what it says */

	/* Requests. */
	AGENT_REMOVE_ALL_V1 = 9, /* removes all keys of protocol 1 */
	AGENT_REQUEST_IDENTITIES = 11,
	AGENT_SIGN_REQUEST = 13,     /* string blob, data; u32 flags */
	AGENT_ADD_IDENTITY = 17,     /* private key, string comment */
	AGENT_REMOVE_IDENTITY = 18,  /* string blob */
	AGENT_REMOVE_ALL = 19,
	AGENT_ADD_PROVIDER = 20,     /* string library, PIN */
	AGENT_REMOVE_PROVIDER = 21,  /* string library, PIN */
	AGENT_LOCK = 22,	     /* string passphrase */
	AGENT_UNLOCK = 23,	     /* string passphrase */
	/* as AGENT_ADD_IDENTITY, then constraints */
	AGENT_ADD_CONSTRAINED = 25,
	/* as AGENT_ADD_PROVIDER, then constraints */
	AGENT_ADD_PROVIDER_CONSTRAINED = 26,
	AGENT_EXTENSION = 27,		     /* string name, its fields */
};

/* The flags of AGENT_SIGN_REQUEST: the digest for a signature of an RSA key.
 * Without a flag it is SHA-1. */
enum agent_sign_flag {
	AGENT_SIGN_RSA_SHA2_256 = 2,
	AGENT_SIGN_RSA_SHA2_512 = 4,
};

enum agent_constraint {
	AGENT_CONSTRAIN_LIFETIME = 1, /* u32 seconds */
	AGENT_CONSTRAIN_CONFIRM = 2,
	AGENT_CONSTRAIN_EXTENSION = 255, /* string name, its fields */
};

/* Names behind AGENT_CONSTRAIN_EXTENSION. */
#define AGENT_CONSTRAIN_DESTINATIONS "restrict-destination-v00@openssh.com"
#define AGENT_CONSTRAIN_SK_PROVIDER  "sk-provider@openssh.com"
#define AGENT_CONSTRAIN_CERTS	     "associated-certs-v00@openssh.com"

/* Names behind AGENT_EXTENSION. */
#define AGENT_EXT_BIND	"session-bind@openssh.com"
#define AGENT_EXT_QUERY "query"

/* Limits that both sides set to what they receive. */
enum {
	AGENT_MESSAGE_MAX = 256 * 1024, /* bytes behind the length */
	AGENT_KEYS_MAX = 2048,		/* keys in a list */
	AGENT_DESTINATIONS_MAX = 1024,	/* destinations of a key */
	/* certificates of AGENT_CONSTRAIN_CERTS */
	AGENT_CERTS_MAX = 1024,
	AGENT_SESSION_ID_MAX = 128,	/* bytes */
};

#endif
