/* SPDX-License-Identifier: ISC */
/*
 * A server that shows a host key, and then tells and proves its others
 * (UpdateHostKeys), to a user who has something in known_hosts already.
 *
 * The first byte is settings (below). Then come steps. 'l' is a line that
 * is in known_hosts from the beginning: a byte for its names, one for its key
 * and its marker. The rest is what the server says: 'k' and a byte put that
 * key into the next message, 's' and a byte a good signature of it, 't' and a
 * byte a spoilt one, 'b' bytes behind a 16 bit length; 'a' sends that as the
 * announcement, 'p' as the proof, and 'f' refuses a proof.
 *
 * Whatever it says, a key that is revoked is not accepted; one that is known
 * is; a host whose line has another key is refused, or distrusted. No line gets
 * into known_hosts for a key that was neither shown nor proved; and none goes
 * but one of this host alone, for a key that it no longer announces.
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
#include "base/mem.h"
#include "channels.h"
#include "client/hosts/hostcheck.h"
#include "client/hosts/hostlearn.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "keys/key.h"
#include "regress/fuzz/fuzz.h"

#define PROVE "hostkeys-prove-00@openssh.com"
#define ADDRESS "192.0.2.1"

enum { FILE_MAX = 65536, LINES_MAX = 16, KEYS = 6, NAMES = 12, PORT = 2222 };
enum { SHOWN }; /* the key of the connection; the others are by number */

/* Of the first byte; two more of its bits are StrictHostKeyChecking. */
enum { OTHER_PORT = 1, HASH = 2, CHECK_IP = 4, GIVEN_PORT = 8,
	LARGE_RSA = 16 };

static char path[] = "/tmp/fuzz-hostlearn-XXXXXX",
	    revoked_path[] = "/tmp/fuzz-hostlearn-XXXXXX";
static const char *const key_types[KEYS] = { "ed25519", "ed25519", "ecdsa",
	"rsa", "ed25519", "ecdsa" };
/* "" stands for a name that is hashed. */
static const char *const names[NAMES] = { "host", "[host]:2222",
	"host,alias", "h?st", "", "", ADDRESS, "[" ADDRESS "]:2222",
	"stranger", "*,!host", "alias,[host]:2222", "HOST" };
enum { HASHED = 4, HASHED_PORT = 5 };
static struct key *keys[KEYS];
static struct buf blobs[KEYS], signatures[KEYS];
static char *key_texts[KEYS], *hashed[2];
static struct client_conf conf;
static const uint8_t session_id[32];

/* A line that was there from the beginning. */
struct line {
	char *text;
	int name, key;
	bool marked;
};

struct story {
	uint8_t settings;
	struct line lines[LINES_MAX];
	size_t n;
	bool announced[KEYS]; /* in the first announcement */
	bool heard;
	bool proved[KEYS];
	struct channels *chs;
};

/* ---- what is the same in all stories ------------------------------------- */

static void
remove_files(void)
{
	unlink(path);
	unlink(revoked_path);
}

static void
set_option(const char *name, const char *value)
{
	char option[128];

	snprintf(option, sizeof option, "%s=%s", name, value);
	if (client_conf_set_option(&conf, option) != 0)
		abort();
}

static void
sign(int i)
{
	static const char *const algs[KEYS] = { "ssh-ed25519", "ssh-ed25519",
		"ecdsa-sha2-nistp256", "rsa-sha2-512", "ssh-ed25519",
		"ecdsa-sha2-nistp256" };
	struct buf b = { 0 };

	buf_put_cstring(&b, PROVE);
	buf_put_string(&b, session_id, sizeof session_id);
	buf_put_string_buf(&b, &blobs[i]);
	if (key_sign(keys[i], algs[i],
		buf_span(&b),
		&signatures[i]) != 0)
		abort();
	buf_clear(&b);
}

static void
make_keys(void)
{
	struct buf b = { 0 };

	for (int i = 0; i < KEYS; i++) {
		if (key_generate(key_types[i], 0, &keys[i]) != 0 ||
		    key_to_blob(keys[i], &blobs[i]) != 0 ||
		    key_format_line(keys[i], NULL, &b) != 0)
			abort();
		key_texts[i] = buf_dup_string(&b);
		buf_reset(&b);
		sign(i);
	}
	buf_clear(&b);
	hashed[0] = knownhosts_hash("host");
	hashed[1] = knownhosts_hash("[host]:2222");
}

static void
set_up(void)
{
	int fd = mkstemp(path), fd2 = mkstemp(revoked_path);

	log_set_level(LOG_LVL_QUIET);
	make_keys();
	client_conf_init(&conf);
	set_option("UserKnownHostsFile", path);
	set_option("GlobalKnownHostsFile", "none");
	set_option("RevokedHostKeys", revoked_path);
	set_option("UpdateHostKeys", "yes");
	set_option("BatchMode", "yes");
	if (fd == -1 || fd2 == -1 || client_conf_finish(&conf) != 0 ||
	    fd_write_all(fd2, key_texts[4], strlen(key_texts[4])) != 0 ||
	    fd_write_all(fd2, "\n", 1) != 0)
		abort();
	free(conf.host.hostname);
	conf.host.hostname = strdup("host");
	close(fd);
	close(fd2);
	atexit(remove_files);
}

static void
choose_settings(const struct story *s)
{
	static const int strict[] = { CLIENT_ASK_YES, CLIENT_ASK_NO,
		CLIENT_ASK_ASK, CLIENT_ASK_ACCEPT_NEW };

	conf.known.strict_host_key_checking = strict[s->settings >> 6];
	conf.known.hash_known_hosts = (s->settings & HASH) != 0;
	conf.known.check_host_ip = (s->settings & CHECK_IP) != 0;
	conf.load.port_given = (s->settings & GIVEN_PORT) != 0;
	conf.algs.required_rsa_size = s->settings & LARGE_RSA ? 4096 : 1024;
}

static int
port(const struct story *s)
{
	return s->settings & OTHER_PORT ? PORT : 22;
}

/* ---- known_hosts --------------------------------------------------------- */

static void
add_line(struct story *s, int names_and_key, int marker)
{
	static const char *const markers[] = { "", "@revoked ",
		"@cert-authority ", "" };
	struct line *l = &s->lines[s->n];
	int name = names_and_key % NAMES, key = names_and_key / NAMES % KEYS;

	if (s->n == LINES_MAX)
		return;
	*l = (struct line){ .name = name, .key = key,
		.marked = *markers[marker % 4] != '\0' };
	if (marker >= 250) /* none of ours, and stays as it is */
		xasprintf(&l->text, "host ssh-ed25519 %d", marker);
	else
		xasprintf(&l->text, "%s%s %s%s", markers[marker % 4],
		    name == HASHED	    ? hashed[0] :
			name == HASHED_PORT ? hashed[1] :
					      names[name],
		    key_texts[key], marker & 4 ? " a comment" : "");
	if (marker >= 250)
		l->name = -1;
	s->n++;
}

static void
write_file(const struct story *s)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct buf b = { 0 };

	for (size_t i = 0; i < s->n; i++)
		buf_printf(&b, "%s\n", s->lines[i].text);
	if (fd == -1 || fd_write_all(fd, buf_data(&b), buf_len(&b)) != 0)
		abort();
	buf_clear(&b);
	close(fd);
}

/* Is the line about the host with this port, or else its address? */
static bool
is_about(const struct line *l, int of_port, bool address)
{
	if (l->name < 0)
		return false;
	switch (l->name) {
	case 0:
	case 2:
	case 3:
	case HASHED:
	case 11:
		return !address && of_port == 22;
	case 1:
	case 10:
	case HASHED_PORT:
		return !address && of_port == PORT;
	case 6:
		return address && of_port == 22;
	case 7:
		return address && of_port == PORT;
	case 9: /* what has a port begins with a bracket */
		return of_port == PORT || address;
	default:
		return false;
	}
}

static bool
is_alone(const struct line *l)
{
	return l->name != 2 && l->name != 3 && l->name != 9 && l->name != 10;
}

/* A line may go if it is of this host (or of its address) alone, and of a key
 * that the host does not announce any more. */
static bool
may_go(const struct story *s, const struct line *l)
{
	return !l->marked && is_alone(l) && s->heard &&
	    s->announced[SHOWN] && !s->announced[l->key] &&
	    (is_about(l, port(s), false) ||
		(conf.known.check_host_ip && is_about(l, port(s), true)));
}

/* Of a key that was shown or proved, and may be used. */
static bool
may_come(const struct story *s, const char *text)
{
	struct knownhosts_line line;
	char *name = knownhosts_name("host", (uint16_t)port(s)),
	     *address = knownhosts_name(ADDRESS, (uint16_t)port(s));
	bool good = false;

	if (knownhosts_parse_line(text, &line) != 0)
		abort();
	for (int i = 0; i < KEYS && line.key != NULL; i++) {
		if (!key_equal_public(line.key, keys[i]))
			continue;
		good = i == SHOWN || s->proved[i];
		if (i != SHOWN && conf.algs.required_rsa_size == 4096 &&
		    strcmp(key_types[i], "rsa") == 0)
			good = false;
		if (i == 4)
			good = false;
		/* At an address goes what is known under the name. */
		if (conf.known.check_host_ip &&
		    knownhosts_hosts_match(line.hosts, address)) {
			for (size_t j = 0; j < s->n; j++)
				good |= s->lines[j].key == i &&
				    !s->lines[j].marked &&
				    is_about(&s->lines[j], port(s), false);
		}
	}
	good &= line.marker == KNOWNHOSTS_NONE &&
	    (knownhosts_hosts_match(line.hosts, name) ||
		(conf.known.check_host_ip &&
		    knownhosts_hosts_match(line.hosts, address)));
	knownhosts_line_clear(&line);
	free(name);
	free(address);
	return good;
}

/* What was there is there, in the same order, but what may go; and behind it
 * stands only what may come. */
static void
check_file(const struct story *s)
{
	static char text[FILE_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof text - 1);
	char *rest = text, *line;
	size_t i = 0;

	if (n < 0)
		abort();
	text[n] = '\0';
	close(fd);
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
		while (i < s->n && strcmp(line, s->lines[i].text) != 0) {
			if (!may_go(s, &s->lines[i]))
				abort();
			i++;
		}
		if (i < s->n)
			i++;
		else if (!may_come(s, line))
			abort();
	}
	for (; i < s->n; i++)
		if (!may_go(s, &s->lines[i]))
			abort();
}

/* ---- the key that is shown ----------------------------------------------- */

/* The host as it was reached: what the lines say of it. */
struct said {
	bool known, other, revoked;
};

static struct said
said_of(const struct story *s, int of_port, bool address)
{
	struct said said = { false, false, false };

	for (size_t i = 0; i < s->n; i++) {
		const struct line *l = &s->lines[i];

		if (!is_about(l, of_port, address))
			continue;
		if (!l->marked && l->key == SHOWN)
			said.known = true;
		else if (!l->marked)
			said.other = true;
		else if (l->key == SHOWN &&
		    strncmp(l->text, "@revoked", 8) == 0)
			said.revoked = true;
	}
	return said;
}

static void
check_decision(const struct story *s, const struct hostcheck *check, bool ok)
{
	struct said here = said_of(s, port(s), false),
		    there = said_of(s, port(s) == 22 ? PORT : 22, false);
	bool trusted = ok && !hostcheck_distrusted(check);

	if (here.revoked && ok)
		abort();
	if (here.known && !here.revoked && !there.revoked &&
	    !conf.known.check_host_ip && !trusted)
		abort();
	if (here.other && !here.known && !there.known && trusted)
		abort();
	if (!here.known && !there.known && ok &&
	    conf.known.strict_host_key_checking == CLIENT_ASK_YES)
		abort();
}

/* ---- what the server says ------------------------------------------------ */

static int
send_message(struct story *s, int step, struct buf *body)
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
	r = channels_input(s->chs, rd_from(buf_data(&b), buf_len(&b)));
	buf_clear(&b);
	return r;
}

static void
put_spoilt(struct buf *body, const struct buf *signature)
{
	size_t len = buf_len(signature) - 1;

	buf_put_u32(body, (uint32_t)len + 1);
	buf_put(body, buf_data(signature), len);
	buf_put_u8(body, buf_data(signature)[len] ^ 1);
}

/* Bytes may be a key, too. */
static void
note_announced(struct story *s, const struct buf *body)
{
	struct rd r = rd_from(buf_data(body), buf_len(body));

	s->heard = true;
	while (r.len > 0 && rd_err(&r) == 0) {
		struct span blob = rd_string(&r);

		for (int i = 0; i < KEYS; i++)
			s->announced[i] |= blob.len == buf_len(&blobs[i]) &&
			    memcmp(blob.p, buf_data(&blobs[i]), blob.len) == 0;
	}
}

static void
play(struct story *s, struct rd in)
{
	struct buf body = { 0 };
	struct span bytes;
	int step, i, r = 0;

	while (in.len > 0 && r == 0) {
		switch (step = rd_u8(&in)) {
		case 'k':
			buf_put_string_buf(&body, &blobs[rd_u8(&in) % KEYS]);
			break;
		case 's':
			i = rd_u8(&in) % KEYS;
			s->proved[i] = true;
			buf_put_string_buf(&body, &signatures[i]);
			break;
		case 't':
			put_spoilt(&body, &signatures[rd_u8(&in) % KEYS]);
			break;
		case 'b':
			bytes = fuzz_piece(&in);
			buf_put(&body, bytes.p, bytes.len);
			break;
		case 'a':
			if (!s->heard)
				note_announced(s, &body);
			/* FALLTHROUGH */
		case 'p':
		case 'f':
			r = send_message(s, step, &body);
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
	buf_put_cstring(&b, "s"); /* identification, traits */
	buf_put_u32(&b, 0);
	buf_put_string_buf(&b, &blobs[SHOWN]);
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

/* The host was accepted. */
static void
learn(struct story *s, const struct hostcheck *check, struct kex *k,
    struct packet *p, struct rd in)
{
	struct hostlearn *learn = NULL;
	struct loop *l = loop_new();

	if (l == NULL || channels_new(&s->chs, p, l) != 0 ||
	    hostlearn_new(&learn, &conf, check, k, s->chs) != 0)
		abort();
	if (learn != NULL)
		play(s, in);
	hostlearn_free(learn);
	channels_free(s->chs);
	loop_free(l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int fd[2] = { -1, -1 };
	struct story s = { .n = 0 };
	struct rd in = rd_from(data, len);
	struct hostcheck *check;
	struct packet *p;
	struct kex *k;
	bool ok;

	if (fd[0] == -1) {
		set_up();
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
			abort();
	}
	s.settings = rd_u8(&in);
	while (in.len >= 3 && *in.p == 'l') {
		(void)rd_u8(&in);
		int what = rd_u8(&in);
		add_line(&s, what, rd_u8(&in));
	}
	choose_settings(&s);
	write_file(&s);
	if ((p = packet_new(fd[0], fd[0], false)) == NULL)
		abort();
	k = some_kex(p);
	if (hostcheck_new(&check, &conf, ADDRESS, (uint16_t)port(&s)) != 0)
		abort();
	ok = hostcheck_key(check, kex_hostkey(k)) == 0;
	check_decision(&s, check, ok);
	if (ok)
		learn(&s, check, k, p, in);
	check_file(&s);
	for (size_t i = 0; i < s.n; i++)
		free(s.lines[i].text);
	hostcheck_free(check);
	kex_free(k);
	packet_free(p);
	return 0;
}
