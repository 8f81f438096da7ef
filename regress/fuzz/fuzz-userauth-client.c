/* SPDX-License-Identifier: ISC */
/*
 * A server that answers a client's authentication: the first byte chooses
 * the client's configuration, then a row of messages, each behind a 16 bit
 * length. There is no user to answer prompts.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "client/auth/gss-login.h"
#include "client/auth/userauth.h"
#include "keys/key.h"
#include "keys/keyfile.h"
#include "regress/fuzz/fuzz.h"

enum {
	HAS_KEY = 1,
	BATCH = 2,
	PASSWORD_FIRST = 4,
	BOUND = 8,
	TRUSTED = 16,
	TICKET = 32,
	FORGIVES = 64,
};

/* In place of client/auth/gss-login.c: a library that is easily pleased. */
struct gss_login {
	int steps;
};

int
gss_login_start(struct gss_login **login, const struct gss_request *request,
    int limit_s, struct gss_proof *out, char **why)
{
	(void)limit_s;
	*why = NULL;
	*out = (struct gss_proof){ .complete = !request->mutual };
	buf_put(&out->token, "token", 5);
	if (out->complete)
		buf_put(&out->mic, "mic", 3);
	if ((*login = calloc(1, sizeof **login)) == NULL)
		abort();
	return 0;
}

int
gss_login_step(struct gss_login *login, struct span token,
    struct gss_proof *out, char **why)
{
	*why = NULL;
	*out = (struct gss_proof){ .complete = token.len % 2 == 0 };
	buf_put(&out->token, token.p, token.len);
	return ++login->steps > 8 ? ERR_DENIED : 0;
}

void
gss_login_end(struct gss_login *login)
{
	free(login);
}

static char key_path[] = "/tmp/fuzz-userauth-XXXXXX";

static void
remove_key(void)
{
	unlink(key_path);
}

static void
set_up(void)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC), fd;
	struct key *k;

	if (tty != -1) {
		(void)ioctl(tty, TIOCNOTTY);
		close(tty);
	}
	setenv("SSH_ASKPASS_REQUIRE", "never", 1);
	unsetenv("SSH_AUTH_SOCK");
	log_set_level(LOG_LVL_QUIET);
	if ((fd = mkstemp(key_path)) == -1 ||
	    key_generate("ed25519", 0, &k) != 0 ||
	    keyfile_save_private(key_path, k, KEYFILE_OPENSSH, NULL, "fuzz",
		NULL, 4) != 0)
		abort();
	close(fd);
	key_free(k);
	atexit(remove_key);
}

static void
configure(struct client_conf *conf, uint8_t choice)
{
	client_conf_init(conf);
	if (client_conf_set(conf, "User", "me") != 0 ||
	    client_conf_finish(conf) != 0)
		abort();
	free(conf->host.hostname);
	free(conf->load.original_host);
	conf->host.hostname = strdup("host");
	conf->load.original_host = strdup("host");
	conf->auth.batch_mode = (choice & BATCH) != 0;
	conf->auth.gssapi_authentication = (choice & TICKET) != 0;
	strlist_clear(&conf->auth.identity_file);
	if ((choice & HAS_KEY) &&
	    strlist_add(&conf->auth.identity_file, key_path) != 0)
		abort();
	if (choice & PASSWORD_FIRST) {
		free(conf->auth.preferred_authentications);
		conf->auth.preferred_authentications =
		    strdup("password,keyboard-interactive,publickey");
	}
}

static void
converse(struct userauth *ua, struct packet *p, int peer, const uint8_t *data,
    size_t len)
{
	struct rd in = rd_from(data, len);
	uint8_t drain[4096];
	int r = userauth_start(ua);

	while (r >= 0 && in.len >= 3) {
		uint16_t n = rd_u16(&in);
		uint8_t type = rd_u8(&in);
		struct span body = rd_bytes(&in, n < in.len ? n : in.len);

		r = userauth_input(ua, type, rd_from_span(body));
		if (packet_flush(p) != 0)
			break;
		while (recv(peer, drain, sizeof drain, MSG_DONTWAIT) > 0)
			;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t id[32];
	static bool ready;
	struct userauth_params params = {
		.session_id = { id, sizeof id },
		.hostkey = { id, sizeof id },
	};
	struct client_conf conf;
	struct userauth *ua;
	int fd[2];

	if (len < 1 || len > 65536)
		return 0;
	if (!ready)
		set_up();
	ready = true;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		return 0;
	configure(&conf, data[0]);
	params.conf = &conf;
	params.packet = packet_new(fd[0], fd[0], false);
	params.no_passwords = !(data[0] & TRUSTED);
	params.forgives = (data[0] & FORGIVES) != 0;
	if (params.packet == NULL || userauth_new(&ua, &params) != 0)
		abort();
	userauth_set_extensions(ua, NULL, (data[0] & BOUND) != 0);
	converse(ua, params.packet, fd[1], data + 1, len - 1);
	userauth_free(ua);
	packet_free(params.packet);
	client_conf_clear(&conf);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
