/* SPDX-License-Identifier: ISC */
/*
 * The messages between a master, which shares its connection, and its clients:
 * protocol 4 of OpenSSH, over a Unix-domain socket.
 *
 * A message is a u32 length, and that many bytes: u32 type, in most messages
 * u32 request id, then the fields of the type. Flags are u32. Descriptors
 * follow their message one by one, each with a byte of its own.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_MUX_MUX_WIRE_H
#define HPN_CLIENT_MUX_MUX_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"

enum {
	MUX_VERSION = 4,
	MUX_MESSAGE_MAX = 256 * 1024, /* bytes behind the length */
	MUX_ENV_MAX = 4096,	      /* variables of a session */
	MUX_SESSION_FDS = 3,	      /* input, output, errors */
	MUX_STDIO_FDS = 2,
};

/* MUX_PORT_PATH in place of a port number: the host field has the path of a
 * socket. MUX_ESCAPE_NONE in place of an escape character: there is none. */
#define MUX_PORT_PATH ((uint32_t)-2)
#define MUX_ESCAPE_NONE UINT32_MAX

/* The names say what a message is for; the numbers are the protocol's. */
enum mux_type {
	MUX_HELLO = 0x00000001, /* the first message of both ends */
	/* Requests of a client. */
	MUX_SESSION = 0x10000002,
	MUX_CHECK = 0x10000004,
	MUX_EXIT = 0x10000005,
	MUX_ADD_FORWARD = 0x10000006,
	MUX_CANCEL_FORWARD = 0x10000007,
	MUX_STDIO = 0x10000008,
	MUX_STOP = 0x10000009,
	MUX_PROXY = 0x1000000f,
	MUX_INFO = 0x20000001,
	/* Messages of the master. */
	MUX_OK = 0x80000001,
	MUX_DENIED = 0x80000002,
	MUX_FAILURE = 0x80000003,
	MUX_STATUS = 0x80000004,
	MUX_ALIVE = 0x80000005,
	MUX_OPENED = 0x80000006,
	MUX_PORT = 0x80000007,
	MUX_NO_TTY = 0x80000008,
	MUX_PROXY_OK = 0x8000000f,
	MUX_INFO_TEXT = 0x90000001,
};

enum mux_forward_type {
	MUX_FORWARD_LOCAL = 1,
	MUX_FORWARD_REMOTE = 2,
	MUX_FORWARD_DYNAMIC = 3,
};

/* The session that a client asks for. Texts are owned. */
struct mux_session {
	bool tty, x11, agent, subsystem;
	uint32_t escape; /* a byte, or MUX_ESCAPE_NONE */
	char *term, *command;
	struct strlist env; /* NAME=value */
};

struct mux_forward {
	uint32_t type; /* enum mux_forward_type, or something else */
	char *listen_host; /* "": none was given; "*": all addresses */
	uint32_t listen_port; /* or MUX_PORT_PATH */
	char *target_host;
	uint32_t target_port;
};

/* The target of a mux client's standard input and output. */
struct mux_stdio {
	char *host;
	uint32_t port; /* or MUX_PORT_PATH */
};

/* Empties b and begins a message in it; its fields are appended by the caller.
 * mux_begin() is for the messages without a request id: MUX_HELLO, and also
 * MUX_STATUS and MUX_NO_TTY, which have a channel number in its place, so that
 * mux_begin_request() can write it. */
void mux_begin(struct buf *b, enum mux_type type);
void mux_begin_request(struct buf *b, enum mux_type type, uint32_t id);
/* Appends the message, with its length in front, to out. ERR_LIMIT: it is
 * longer than MUX_MESSAGE_MAX. */
int mux_frame(struct buf *out, const struct buf *message) must_check;
/* 1: a whole message is at the front of in, and *message is its bytes,
 * borrowed. 0: it has not all come yet. ERR_LIMIT: its length is more than the
 * protocol allows. */
int mux_unframe(const struct buf *in, struct rd *message) must_check;
/* Removes the message at the front of in. */
void mux_consume(struct buf *in);

/* Appends the fields of a hello: the version, and an extension's name and value
 * unless extension is NULL. */
void mux_put_hello(struct buf *b, const char *extension, const char *value);
/* Appends one more extension to a hello. */
void mux_put_extension(struct buf *b, const char *name, const char *value);
/* Reads the fields of a hello; its extensions are ignored. ERR_UNSUPPORTED: the
 * version is not MUX_VERSION. */
int mux_read_hello(struct rd *r) must_check;

/* Append and read the fields of a request that follow its request id. The
 * readers check that nothing is left. The caller clears what they have read,
 * also after an error. */
void mux_put_session(struct buf *b, const struct mux_session *s);
int mux_read_session(struct rd *r, struct mux_session *s) must_check;
void mux_session_clear(struct mux_session *s);
void mux_put_forward(struct buf *b, const struct mux_forward *f);
int mux_read_forward(struct rd *r, struct mux_forward *f) must_check;
void mux_forward_clear(struct mux_forward *f);
void mux_put_stdio(struct buf *b, const struct mux_stdio *s);
int mux_read_stdio(struct rd *r, struct mux_stdio *s) must_check;
void mux_stdio_clear(struct mux_stdio *s);

#endif
