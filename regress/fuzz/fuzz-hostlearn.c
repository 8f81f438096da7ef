/* SPDX-License-Identifier: ISC */
/*
 * A server that tells and proves its host keys (UpdateHostKeys). The input is
 * a row of steps: 'k' and 'o' put the key of the connection and another one
 * into the next message, 's' a good signature of the other, 'b' bytes behind
 * a 16 bit length; 'a' sends that as the announcement, 'p' as the proof, and
 * 'f' refuses a proof. Whatever the server says, known_hosts gets no key that
 * it did not prove, and keeps the line of another host.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "channels.h"
#include "client/hostcheck.h"
#include "client/hostlearn.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "keys/key.h"
#include "regress/fuzz/fuzz.h"

#define PROVE "hostkeys-prove-00@openssh.com"
#define STRANGER "stranger ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l" \
		 "6yDaVMgnNOSESWYceGQCPcRLkkTIUOy2\n"

enum { FILE_MAX = 65536 };

static char path[] = "/tmp/fuzz-hostlearn-XXXXXX";
static struct key *shown, *other;
static struct buf shown_blob, other_blob;
static struct client_conf conf;
static const uint8_t session_id[32];

static void
remove_file(void)
{
	unlink(path);
}

static void
set_up(void)
{
	char option[128];
	int fd = mkstemp(path);

	log_set_level(LOG_LVL_QUIET);
	client_conf_init(&conf);
	snprintf(option, sizeof option, "UserKnownHostsFile=%s", path);
	if (fd == -1 || key_generate("ed25519", 0, &shown) != 0 ||
	    key_generate("ed25519", 0, &other) != 0 ||
	    key_to_blob(shown, &shown_blob) != 0 ||
	    key_to_blob(other, &other_blob) != 0 ||
	    client_conf_set_option(&conf, option) != 0 ||
	    client_conf_set_option(&conf, "GlobalKnownHostsFile=none") != 0 ||
	    client_conf_set_option(&conf, "UpdateHostKeys=yes") != 0 ||
	    client_conf_set_option(&conf, "BatchMode=yes") != 0 ||
	    client_conf_finish(&conf) != 0)
		abort();
	free(conf.host.hostname);
	conf.host.hostname = strdup("host");
	close(fd);
	atexit(remove_file);
}

static char *
line_of(const struct key *k)
{
	struct buf b = { 0 };
	char *line;

	buf_put(&b, "host ", 5);
	if (key_format_line(k, NULL, &b) != 0)
		abort();
	buf_put(&b, "\n", 1);
	line = buf_dup_string(&b);
	buf_clear(&b);
	if (line == NULL)
		abort();
	return line;
}

static void
write_file(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *line = line_of(shown);

	if (fd == -1 || fd_write_all(fd, STRANGER, strlen(STRANGER)) != 0 ||
	    fd_write_all(fd, line, strlen(line)) != 0)
		abort();
	free(line);
	close(fd);
}

/* The file must hold the line of the other host and that of the key shown, may
 * hold that of the other key, each once, and nothing else. */
static void
check_file(void)
{
	char text[FILE_MAX], *lines[3] = { strdup(STRANGER), line_of(shown),
		line_of(other) }, *at = text;
	int fd = open(path, O_RDONLY | O_CLOEXEC), left = 3;
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof text - 1);

	if (n < 0)
		abort();
	text[n] = '\0';
	close(fd);
	while (*at != '\0' && left > 0) {
		int i = 0;

		while (i < 3 && (lines[i] == NULL ||
			strncmp(at, lines[i], strlen(lines[i])) != 0))
			i++;
		if (i == 3)
			abort();
		at += strlen(lines[i]);
		free(lines[i]);
		lines[i] = NULL;
		left--;
	}
	if (*at != '\0' || lines[0] != NULL || lines[1] != NULL)
		abort();
	free(lines[2]);
}

static void
put_signature(struct buf *to)
{
	struct buf b = { 0 }, signature = { 0 };
	struct span data;

	buf_put_cstring(&b, PROVE);
	buf_put_string(&b, session_id, sizeof session_id);
	buf_put_string_buf(&b, &other_blob);
	data = (struct span){ buf_data(&b), buf_len(&b) };
	if (key_sign(other, "ssh-ed25519", data, &signature) != 0)
		abort();
	buf_put_string_buf(to, &signature);
	buf_clear(&signature);
	buf_clear(&b);
}

static int
send_message(struct channels *chs, int step, struct buf *body)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, step == 'a' ? SSH_MSG_GLOBAL_REQUEST :
		step == 'p'	   ? SSH_MSG_REQUEST_SUCCESS :
				     SSH_MSG_REQUEST_FAILURE);
	if (step == 'a') {
		buf_put_cstring(&b, "hostkeys-00@openssh.com");
		buf_put_bool(&b, false);
	}
	buf_put_buf(&b, body);
	buf_reset(body);
	r = channels_input(chs, rd_from(buf_data(&b), buf_len(&b)));
	buf_clear(&b);
	return r;
}

static void
play(struct channels *chs, struct rd in)
{
	struct buf body = { 0 };
	struct span bytes;
	uint16_t n;
	int step, r = 0;

	while (in.len > 0 && r == 0) {
		switch (step = rd_u8(&in)) {
		case 'k':
			buf_put_string_buf(&body, &shown_blob);
			break;
		case 'o':
			buf_put_string_buf(&body, &other_blob);
			break;
		case 's':
			put_signature(&body);
			break;
		case 'b':
			n = rd_u16(&in);
			bytes = rd_bytes(&in, n < in.len ? n : in.len);
			buf_put(&body, bytes.p, bytes.len);
			break;
		case 'a':
		case 'p':
		case 'f':
			r = send_message(chs, step, &body);
			break;
		default:
			r = -1;
		}
	}
	buf_clear(&body);
}

/* A key exchange that has ended, in which the server showed its key. */
static struct kex *
some_kex(struct packet *p)
{
	struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		"aes128-ctr", "hmac-sha2-256", "none" };
	struct kex_hooks hooks = { 0 };
	struct buf b = { 0 };
	struct rd in;
	struct kex *k;

	buf_put_string(&b, session_id, sizeof session_id);
	buf_put_string_buf(&b, &shown_blob);
	for (int i = 0; i < 4; i++)
		buf_put_bool(&b, false);
	buf_put_cstring(&b, "curve25519-sha256");
	buf_put_cstring(&b, "ssh-ed25519");
	for (int i = 0; i < 2; i++)
		buf_put_cstring(&b, "aes128-ctr");
	for (int i = 0; i < 2; i++)
		buf_put_cstring(&b, "hmac-sha2-256");
	for (int i = 0; i < 2; i++)
		buf_put_bool(&b, false);
	in = rd_from(buf_data(&b), buf_len(&b));
	if (kex_new(&k, p, &hooks, &mine, "c", "s") != 0 ||
	    kex_import(k, &in) != 0)
		abort();
	buf_clear(&b);
	return k;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hostlearn *learn = NULL;
	struct channels *chs = NULL;
	struct hostcheck *check;
	struct packet *p;
	struct loop *l;
	struct kex *k;
	int fd[2];

	if (shown == NULL)
		set_up();
	write_file();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0 ||
	    (l = loop_new()) == NULL ||
	    (p = packet_new(fd[0], fd[0], false)) == NULL)
		abort();
	k = some_kex(p);
	if (hostcheck_new(&check, &conf, "127.0.0.1", 22) != 0 ||
	    hostcheck_key(check, kex_hostkey(k)) != 0 ||
	    channels_new(&chs, p, l) != 0 ||
	    hostlearn_new(&learn, &conf, check, k, chs) != 0 || learn == NULL)
		abort();
	play(chs, rd_from(data, len));
	check_file();
	hostlearn_free(learn);
	channels_free(chs);
	hostcheck_free(check);
	kex_free(k);
	packet_free(p);
	loop_free(l);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
