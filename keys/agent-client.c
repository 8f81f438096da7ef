/* SPDX-License-Identifier: ISC */
#include "keys/agent-client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/agent-wire.h"

enum { COMMENT_MAX = 64 * 1024 };

struct agent {
	int fd;
};

int
agent_open(struct agent **out, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct agent *a;
	int fd;

	if (path == NULL)
		path = getenv("SSH_AUTH_SOCK");
	if (path == NULL || *path == '\0')
		return ERR_NOT_FOUND;
	if (strlcpy(sun.sun_path, path, sizeof sun.sun_path) >=
	    sizeof sun.sun_path) {
		errno = ENAMETOOLONG;
		return ERR_SYSTEM;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return ERR_SYSTEM;
	if (connect(fd, (struct sockaddr *)&sun, sizeof sun) == -1) {
		fd_close(&fd);
		return ERR_SYSTEM;
	}
	a = malloc(sizeof *a);
	if (a == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	a->fd = fd;
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

/* Sends the request and reads the answer, which must be of type want. After an
 * error other than ERR_AGENT the connection cannot be used any more. */
static int
exchange(struct agent *a, const struct buf *request, uint8_t want,
    struct buf *answer, struct rd *rd)
{
	uint8_t type;
	int r;

	if (buf_len(request) > AGENT_MESSAGE_MAX)
		return ERR_LIMIT;
	r = fd_send_msg(a->fd, request);
	if (r == 0)
		r = fd_receive_msg(a->fd, answer, AGENT_MESSAGE_MAX);
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
		r = exchange(a, &request, AGENT_SUCCESS, &answer, &rd);
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
	r = exchange(a, &request, AGENT_IDENTITIES_ANSWER, &answer, &rd);
	if (r != 0)
		goto out;
	announced = rd_u32(&rd);
	if (announced > AGENT_KEYS_MAX) {
		r = ERR_LIMIT;
		goto out;
	}
	/* One entry more than keys: a key is parsed into the entry behind the
	 * last one, and stays there only if its type is known. */
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
		/* Parsing may have failed with a comment in the entry n. */
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

/* The name that a signature by alg carries. */
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
	r = exchange(a, &request, AGENT_SIGN_RESPONSE, &answer, &rd);
	if (r != 0)
		goto out;
	sig = rd_string(&rd);
	r = rd_end(&rd);
	if (r != 0)
		goto out;
	/* An old agent ignores the flags and signs with SHA-1: refused. */
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
