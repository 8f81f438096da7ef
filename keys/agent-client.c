/* SPDX-License-Identifier: ISC */
#include "keys/agent-client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/sock.h"
#include "keys/agent-client-internal.h"

enum { COMMENT_MAX = 64 * 1024 };

/* Connects within limit_ms milliseconds; 0: without a limit. connect(2) blocks
 * while the agent's queue of connections is full; SO_SNDTIMEO limits that wait,
 * and its end is EAGAIN. With a limit, fd is nonblocking afterwards. */
static int
connect_within(int fd, const struct sockaddr_un *sun, unsigned limit_ms)
{
	const struct timeval tv = { .tv_sec = limit_ms / 1000,
		.tv_usec = (suseconds_t)(limit_ms % 1000) * 1000 };

	if (limit_ms > 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) == -1)
		return ERR_SYSTEM;
	if (connect(fd, (const struct sockaddr *)sun, sizeof *sun) == -1)
		return limit_ms > 0 && errno == EAGAIN ? ERR_TIMEOUT :
							 ERR_SYSTEM;
	return limit_ms > 0 ? fd_set_nonblock(fd, true) : 0;
}

int
agent_open(struct agent **out, const char *path)
{
	return agent_open_within(out, path, 0);
}

int
agent_open_within(struct agent **out, const char *path, unsigned limit_ms)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct agent *a;
	int fd, r;

	if (path == NULL)
		path = getenv("SSH_AUTH_SOCK");
	if (path == NULL || *path == '\0')
		return ERR_NOT_FOUND;
	if (strlcpy(sun.sun_path, path, sizeof sun.sun_path) >=
	    sizeof sun.sun_path) {
		errno = ENAMETOOLONG;
		return ERR_SYSTEM;
	}
	fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_WAITS);
	if (fd == -1)
		return ERR_SYSTEM;
	if ((r = connect_within(fd, &sun, limit_ms)) != 0) {
		fd_close(&fd);
		return r;
	}
	a = malloc(sizeof *a);
	if (a == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	*a = (struct agent){ .fd = fd, .limit_ms = limit_ms };
	*out = a;
	return 0;
}

void
agent_close(struct agent *a)
{
	if (a == NULL)
		return;
	fd_close(&a->fd);
	free(a);
}

static int
exchange_within(struct agent *a, const struct buf *request,
    struct buf *answer)
{
	uint64_t end_ms = clock_ms() + a->limit_ms;
	uint8_t head[4], *to;
	uint32_t len;
	int r;

	wire_put_u32(head, (uint32_t)buf_len(request));
	if ((r = fd_write_until(a->fd, head, sizeof head, end_ms)) != 0 ||
	    (r = fd_write_until(a->fd, buf_data(request), buf_len(request),
		 end_ms)) != 0 ||
	    (r = fd_read_until(a->fd, head, sizeof head, end_ms)) != 0)
		return r;
	if ((len = wire_get_u32(head)) > AGENT_MESSAGE_MAX)
		return ERR_LIMIT;
	if ((to = buf_reserve(answer, len)) == NULL)
		return buf_err(answer);
	if ((r = fd_read_until(a->fd, to, len, end_ms)) == 0)
		buf_commit(answer, len);
	return r;
}

static int
exchange_patiently(struct agent *a, const struct buf *request,
    struct buf *answer)
{
	int r = fd_send_msg(a->fd, request);

	return r == 0 ? fd_receive_msg(a->fd, answer, AGENT_MESSAGE_MAX) : r;
}

int
agent_exchange(struct agent *a, const struct buf *request,
    enum agent_message want, struct buf *answer, struct rd *rd)
{
	uint8_t type;
	int r;

	if ((r = buf_err(request)) != 0)
		return r;
	if (buf_len(request) > AGENT_MESSAGE_MAX)
		return ERR_LIMIT;
	r = a->limit_ms > 0 ? exchange_within(a, request, answer) :
			      exchange_patiently(a, request, answer);
	if (r != 0)
		return r;
	*rd = rd_from_buf(answer);
	type = rd_u8(rd);
	if (type == want)
		return 0;
	return type == AGENT_FAILURE || type == AGENT_EXTENSION_FAILURE ?
	    ERR_AGENT :
	    ERR_PROTOCOL;
}

static void
compose_bind(struct buf *b, struct span hostkey, struct span session_id,
    struct span signature, bool forwarding)
{
	buf_put_u8(b, AGENT_EXTENSION);
	buf_put_cstring(b, AGENT_EXT_BIND);
	buf_put_string(b, hostkey.p, hostkey.len);
	buf_put_string(b, session_id.p, session_id.len);
	buf_put_string(b, signature.p, signature.len);
	buf_put_bool(b, forwarding);
}

void
agent_put_bind(struct buf *b, struct span hostkey, struct span session_id,
    struct span signature, bool forwarding)
{
	size_t mark = buf_open_string(b);

	compose_bind(b, hostkey, session_id, signature, forwarding);
	buf_close_string(b, mark);
}

int
agent_bind(struct agent *a, struct span hostkey, struct span session_id,
    struct span signature, bool forwarding)
{
	struct buf request = { 0 }, answer = { 0 };
	struct rd rd;
	int r;

	compose_bind(&request, hostkey, session_id, signature, forwarding);
	if ((r = buf_err(&request)) == 0)
		r = agent_exchange(a, &request, AGENT_SUCCESS, &answer, &rd);
	buf_clear(&answer);
	buf_clear(&request);
	return r;
}

static int
parse_keys(struct rd *rd, struct agent_key *keys, uint32_t announced,
    size_t *count)
{
	struct span blob;
	int r;

	for (uint32_t i = 0; i < announced; i++) {
		blob = rd_string(rd);
		keys[*count].comment = rd_cstring(rd, COMMENT_MAX);
		if ((r = rd_err(rd)) != 0)
			return r;
		if (key_from_blob(blob, &keys[*count].key) == 0) {
			(*count)++;
			continue;
		}
		free(keys[*count].comment);
		keys[*count].comment = NULL;
	}
	return rd_end(rd);
}

int
agent_list(struct agent *a, struct agent_key **keys, size_t *count)
{
	struct buf request = { 0 }, answer = { 0 };
	struct agent_key *list = NULL;
	uint32_t announced;
	size_t n = 0;
	struct rd rd;
	int r;

	buf_put_u8(&request, AGENT_REQUEST_IDENTITIES);
	r = agent_exchange(a, &request, AGENT_IDENTITIES_ANSWER, &answer, &rd);
	if (r != 0)
		goto out;
	announced = rd_u32(&rd);
	if (announced > AGENT_KEYS_MAX) {
		r = ERR_LIMIT;
		goto out;
	}
	/* Room for one entry more than there are keys: parse_keys() parses each
	 * key into the entry behind the last one that is kept, and counts it
	 * only if its type is known. */
	list = calloc((size_t)announced + 1, sizeof *list);
	if (list == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	r = parse_keys(&rd, list, announced, &n);
out:
	if (r == 0) {
		*keys = list;
		*count = n;
	} else if (list != NULL) {
		/* Parsing may have failed with a comment, but no key, in the
		 * entry n. */
		agent_keys_free(list, n + 1);
	}
	buf_clear(&answer);
	buf_clear(&request);
	return r;
}

void
agent_keys_free(struct agent_key *keys, size_t count)
{
	for (size_t i = 0; keys != NULL && i < count; i++) {
		key_free(keys[i].key);
		free(keys[i].comment);
	}
	free(keys);
}

/* The algorithm's name inside a signature that k makes by alg. For a
 * certificate it is the name without -cert-v01@openssh.com. */
static const char *
name_in_signature(const struct key *k, const char *alg)
{
	return key_is_cert(k) ? key_alg_by_cert_name(alg)->name : alg;
}

static uint32_t
flags_of(const char *alg)
{
	if (strcmp(alg, "rsa-sha2-256") == 0)
		return AGENT_SIGN_RSA_SHA2_256;
	if (strcmp(alg, "rsa-sha2-512") == 0)
		return AGENT_SIGN_RSA_SHA2_512;
	return 0;
}

int
agent_sign(struct agent *a, const struct key *k, const char *alg,
    struct span data, struct buf *signature)
{
	struct buf request = { 0 }, answer = { 0 };
	struct span sig, name;
	struct rd rd, inner;
	size_t mark;
	int r;

	if (!key_serves(k, alg))
		return ERR_KEY_TYPE;
	alg = name_in_signature(k, alg);
	buf_put_u8(&request, AGENT_SIGN_REQUEST);
	mark = buf_open_string(&request);
	r = key_to_blob(k, &request);
	if (r != 0)
		goto out;
	buf_close_string(&request, mark);
	buf_put_string(&request, data.p, data.len);
	buf_put_u32(&request, flags_of(alg));
	r = agent_exchange(a, &request, AGENT_SIGN_RESPONSE, &answer, &rd);
	if (r != 0)
		goto out;
	sig = rd_string(&rd);
	r = rd_end(&rd);
	if (r != 0)
		goto out;
	/* An old agent ignores the flags and signs with SHA-1. Then the name in
	 * the signature is not alg, and the signature is refused. */
	inner = rd_from_span(sig);
	name = rd_string(&inner);
	if (rd_err(&inner) != 0 || !span_equals(name, alg)) {
		r = ERR_AGENT;
		goto out;
	}
	buf_put(signature, sig.p, sig.len);
	r = buf_err(signature);
out:
	buf_clear(&answer);
	buf_clear(&request);
	return r;
}
