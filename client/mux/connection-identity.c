/* SPDX-License-Identifier: ISC */
#include "client/mux/connection-identity.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "conf/destination.h"
#include "keys/key.h"

enum {
	ADDRESS_MAX = 128, /* bytes of an IP address, with %interface */
	USER_MAX = 1024,
	LOGIN_MAX = 256,
	HOST_KEY_MAX = 32 * 1024,
};
#define RTT_MAX_US (UINT64_C(3600) * 1000 * 1000)

void
connection_identity_clear(struct connection_identity *id)
{
	free(id->address);
	free(id->user);
	free(id->login);
	buf_clear(&id->host_key);
	*id = (struct connection_identity){ 0 };
}

void
connection_identity_put(struct buf *b, const struct connection_identity *id)
{
	buf_put_cstring(b, id->address);
	buf_put_u32(b, id->port);
	buf_put_cstring(b, id->user);
	buf_put_cstring(b, id->login);
	buf_put_string_buf(b, &id->host_key);
	buf_put_u64(b, id->rtt_us);
}

static bool
is_address(const char *text)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *ai;
	bool ip;

	if (getaddrinfo(text, NULL, &hints, &ai) != 0)
		return false;
	ip = ai->ai_family == AF_INET || ai->ai_family == AF_INET6;
	freeaddrinfo(ai);
	return ip;
}

/* The text that names the key of the login is shown to users, and compared: it
 * has to be printable, without blanks. */
static bool
is_login(const char *text)
{
	const char *at = text;

	while (*at > ' ' && *at < 0x7f)
		at++;
	return at > text && *at == '\0';
}

static int
check_host_key(const struct buf *blob)
{
	struct buf identity = { 0 };
	int r = key_identity_of_blob(
	    buf_span(blob), &identity);

	if (r == 0 && (buf_len(&identity) != buf_len(blob) ||
	    memcmp(buf_data(&identity), buf_data(blob), buf_len(blob)) != 0))
		r = ERR_FORMAT;
	buf_clear(&identity);
	return r;
}

static int
check(const struct connection_identity *id, uint32_t port)
{
	if (!is_address(id->address) || port == 0 || port > UINT16_MAX ||
	    *id->user == '\0' || !destination_user_ok(id->user) ||
	    !is_login(id->login) || id->rtt_us > RTT_MAX_US)
		return ERR_FORMAT;
	return check_host_key(&id->host_key);
}

int
connection_identity_read(struct rd *r, struct connection_identity *id)
{
	struct span key;
	uint32_t port;
	int err;

	*id = (struct connection_identity){ 0 };
	id->address = rd_cstring(r, ADDRESS_MAX);
	port = rd_u32(r);
	id->user = rd_cstring(r, USER_MAX);
	id->login = rd_cstring(r, LOGIN_MAX);
	key = rd_string(r);
	id->rtt_us = rd_u64(r);
	if ((err = rd_end(r)) != 0)
		return err;
	if (key.len > HOST_KEY_MAX)
		return ERR_LIMIT;
	buf_put(&id->host_key, key.p, key.len);
	if ((err = buf_err(&id->host_key)) == 0)
		err = check(id, port);
	id->port = (uint16_t)port;
	return err;
}

static int
read_answer(const struct mux_conn *c, struct rd *rest,
    struct connection_identity *id)
{
	bool told = rd_u32(rest) != 0;
	struct span text = rd_string(rest);
	struct rd r = rd_from(text.p, text.len);
	int err = rd_end(rest);

	if (err != 0)
		return err;
	if (c->type != MUX_INFO_TEXT)
		return ERR_PROTOCOL;
	if (!told)
		return ERR_UNSUPPORTED;
	if ((err = connection_identity_read(&r, id)) == 0)
		return 0;
	log_debug("what the master tells of its connection: %s",
	    err_text(err));
	connection_identity_clear(id);
	return ERR_UNSUPPORTED;
}

int
connection_identity_ask(struct mux_conn *c, struct connection_identity *id)
{
	struct buf b = { 0 };
	struct rd rest;
	int r;

	*id = (struct connection_identity){ 0 };
	if (!c->knows_identity)
		return ERR_UNSUPPORTED;
	mux_conn_begin(c, &b, MUX_INFO);
	buf_put_cstring(&b, CONNECTION_IDENTITY_NAME);
	r = mux_conn_ask(c, &b, NULL, 0, &rest);
	buf_clear(&b);
	if (r == ERR_DENIED) /* the master still serves sessions */
		return ERR_UNSUPPORTED;
	return r == 0 ? read_answer(c, &rest, id) : r;
}
