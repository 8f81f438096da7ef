/* SPDX-License-Identifier: ISC */
/*
 * The agent's client against an agent of our own making, that says what the
 * test wants, and against the ssh-agent that is installed, if there is one.
 */
#include "regress/unit/hex.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "keys/agent-client.h"
#include "regress/unit/make-cert.h"

static char dir[] = "/tmp/hpn-agent-XXXXXX";
static char path[sizeof dir + 16];

static struct span
text(const char *s)
{
	return (struct span){(const uint8_t *)s, strlen(s)};
}

/* ---- an agent of one answer --------------------------------------------- */

static int
listen_at_path(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(path);
	strlcpy(sun.sun_path, path, sizeof sun.sun_path);
	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof sun), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* A child that takes one request and gives the bytes, as they are. */
static pid_t
start_answering(const void *p, size_t len)
{
	int fd = listen_at_path(), peer;
	struct buf request = {0};
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		peer = accept(fd, NULL, NULL);
		if (peer != -1 && fd_receive_msg(peer, &request, 1 << 20) == 0)
			(void)!fd_write_all(peer, p, len);
		_exit(0);
	}
	close(fd);
	return pid;
}

static int
list_from(const void *p, size_t len, size_t *count)
{
	pid_t pid = start_answering(p, len);
	struct agent_key *keys = NULL;
	struct agent *a = NULL;
	int r;

	assert_int_equal(agent_open(&a, path), 0);
	r = agent_list(a, &keys, count);
	if (r == 0)
		agent_keys_free(keys, *count);
	else
		assert_null(keys);
	agent_close(a);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return r;
}

static void
test_bad_answers(void **state)
{
	static const struct {
		const char *hex;
		int want;
		size_t count;
	} cases[] = {
	    {"000000050c00000000", 0, 0},
	    {"00000001"
	     "05",
		ERR_AGENT, 0},
	    {"00000001"
	     "0c",
		ERR_TRUNCATED, 0},
	    {"00000005"
	     "0e00000000",
		ERR_PROTOCOL, 0},
	    {"00000006"
	     "0c0000000000",
		ERR_TRAILING, 0},
	    {"00000005"
	     "0c00000001",
		ERR_TRUNCATED, 0},
	    {"00000005"
	     "0cffffffff",
		ERR_LIMIT, 0},
	    {"00000005"
	     "0c000007ff",
		ERR_TRUNCATED, 0},
	    {"00040001"
	     "0c",
		ERR_LIMIT, 0},
	    {"00000010"
	     "0c",
		ERR_EOF, 0},
	    {"0000", ERR_EOF, 0},
	    {"", ERR_EOF, 0},
	    {"00000000", ERR_PROTOCOL, 0},
	    /* a key of unknown type, and one whose comment is cut */
	    {"0000000f"
	     "0c00000001"
	     "0000000161"
	     "0000000163",
		0, 0},
	    {"0000000e"
	     "0c00000001"
	     "0000000161"
	     "00000002",
		ERR_TRUNCATED, 0},
	};
	uint8_t bytes[256];
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len = hex_decode(cases[i].hex, bytes, sizeof bytes);

		count = 77;
		assert_int_equal(list_from(bytes, len, &count), cases[i].want);
		if (cases[i].want == 0)
			assert_int_equal(count, cases[i].count);
	}
}

/* An agent that signs with another algorithm than was asked for. */
static void
test_bind(void **state)
{
	static const struct {
		const char *answer;
		int want;
	} cases[] = {
	    {"\0\0\0\1\6", 0},
	    {"\0\0\0\1\5", ERR_AGENT},  /* knows no extensions */
	    {"\0\0\0\1\34", ERR_AGENT}, /* refuses this one */
	    {"\0\0\0\1\14", ERR_PROTOCOL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		pid_t pid = start_answering(cases[i].answer, 5);
		struct agent *a = NULL;

		assert_int_equal(agent_open(&a, path), 0);
		assert_int_equal(agent_bind(a, text("key"), text("id"),
				     text("signature"), false),
		    cases[i].want);
		agent_close(a);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

static void
test_wrong_algorithm(void **state)
{
	struct buf answer = {0}, sig = {0}, out = {0};
	struct key *k = NULL;
	struct agent *a = NULL;
	size_t mark, inner;
	pid_t pid;

	(void)state;
	assert_int_equal(key_generate("rsa", 1024, &k), 0);
	assert_int_equal(key_sign(k, "ssh-rsa", text("x"), &sig), 0);
	mark = buf_open_string(&answer);
	buf_put_u8(&answer, 14);
	inner = buf_open_string(&answer);
	buf_put_buf(&answer, &sig);
	buf_close_string(&answer, inner);
	buf_close_string(&answer, mark);
	pid = start_answering(buf_data(&answer), buf_len(&answer));
	assert_int_equal(agent_open(&a, path), 0);
	assert_int_equal(
	    agent_sign(a, k, "rsa-sha2-256", text("x"), &out), ERR_AGENT);
	assert_int_equal(buf_len(&out), 0);
	assert_int_equal(
	    agent_sign(a, k, "ssh-ed25519", text("x"), &out), ERR_KEY_TYPE);
	agent_close(a);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	buf_clear(&out);
	buf_clear(&sig);
	buf_clear(&answer);
	key_free(k);
}

static void
test_open(void **state)
{
	struct agent *a = NULL;
	char longer[300];

	(void)state;
	unsetenv("SSH_AUTH_SOCK");
	assert_int_equal(agent_open(&a, NULL), ERR_NOT_FOUND);
	setenv("SSH_AUTH_SOCK", "", 1);
	assert_int_equal(agent_open(&a, NULL), ERR_NOT_FOUND);
	assert_int_equal(agent_open(&a, "/nonexistent/agent"), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(agent_open(&a, longer), ERR_SYSTEM);
	assert_int_equal(errno, ENAMETOOLONG);
	agent_close(NULL);
}

/* ---- the agent that is installed ---------------------------------------- */

static pid_t
start_stock_agent(void)
{
	pid_t pid;

	unlink(path);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (freopen("/dev/null", "w", stdout) == NULL)
			_exit(127);
		execlp(
		    "ssh-agent", "ssh-agent", "-D", "-a", path, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 500; i++) {
		if (access(path, F_OK) == 0)
			return pid;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return -1;
		usleep(10000);
	}
	kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
	return -1;
}

static void
add_key(const struct key *k, const char *comment)
{
	struct agent *a = NULL;
	int r = ERR_SYSTEM;

	/* The socket is there before the agent listens. */
	for (int i = 0; i < 6000 && r != 0; i++) {
		r = agent_open(&a, path);
		if (r != 0)
			usleep(10000);
	}
	assert_int_equal(r, 0);
	assert_int_equal(agent_add(a, k, comment, NULL), 0);
	agent_close(a);
}

/* What a stock agent may hold: types of keys, and what they sign by. */
static const struct {
	const char *type;
	unsigned bits;
	const char *algs[3]; /* until NULL */
} kinds[] = {
	{ "ed25519", 0, { "ssh-ed25519" } },
	{ "ecdsa", 256, { "ecdsa-sha2-nistp256" } },
	{ "ecdsa", 384, { "ecdsa-sha2-nistp384" } },
	{ "ecdsa", 521, { "ecdsa-sha2-nistp521" } },
	{ "rsa", 2048, { "rsa-sha2-512", "rsa-sha2-256" } },
};

static void
test_stock_agent(void **state)
{
	struct agent_key *keys = NULL;
	struct key *stranger = NULL;
	struct agent *a = NULL;
	struct buf sig = {0};
	size_t count = 0;
	pid_t pid = start_stock_agent();

	(void)state;
	if (pid == -1) {
		print_message("no ssh-agent to test with\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *k = NULL;

		assert_int_equal(
		    key_generate(kinds[i].type, kinds[i].bits, &k), 0);
		add_key(k, kinds[i].algs[0]);
		key_free(k);
	}
	setenv("SSH_AUTH_SOCK", path, 1);
	assert_int_equal(agent_open(&a, NULL), 0);
	assert_int_equal(agent_list(a, &keys, &count), 0);
	assert_int_equal(count, ARRAY_LEN(kinds));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(keys[i].comment, kinds[i].algs[0]);
		for (const char *const *alg = kinds[i].algs; *alg != NULL;
		     alg++) {
			buf_reset(&sig);
			assert_int_equal(agent_sign(a, keys[i].key, *alg,
					     text("to be signed"), &sig),
			    0);
			assert_int_equal(
			    key_verify(keys[i].key, *alg, text("to be signed"),
				buf_span(&sig)),
			    0);
		}
	}
	agent_keys_free(keys, count);
	assert_int_equal(key_generate("ed25519", 0, &stranger), 0);
	assert_int_equal(
	    agent_sign(a, stranger, "ssh-ed25519", text("x"), &sig), ERR_AGENT);
	key_free(stranger);
	agent_close(a);
	buf_clear(&sig);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Certificates with their private halves, in the form that agents take; what
 * they sign has the name of the plain algorithm in it. */
static void
test_stock_agent_and_certificates(void **state)
{
	struct agent_key *keys = NULL;
	struct agent *a = NULL;
	struct buf sig = {0};
	size_t count = 0;
	pid_t pid = start_stock_agent();

	(void)state;
	if (pid == -1) {
		print_message("no ssh-agent to test with\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *k = NULL, *cert;

		assert_int_equal(
		    key_generate(kinds[i].type, kinds[i].bits, &k), 0);
		cert = make_cert_for(k);
		add_key(cert, "c");
		key_free(cert);
		key_free(k);
	}
	assert_int_equal(agent_open(&a, path), 0);
	assert_int_equal(agent_list(a, &keys, &count), 0);
	assert_int_equal(count, ARRAY_LEN(kinds));
	for (size_t i = 0; i < count; i++) {
		const struct key *k = keys[i].key;

		assert_true(key_is_cert(k));
		for (const char *const *alg = kinds[i].algs; *alg != NULL;
		     alg++) {
			const char *name = key_alg_by_name(*alg)->cert_name;

			buf_reset(&sig);
			assert_int_equal(
			    agent_sign(a, k, *alg, text("x"), &sig),
			    ERR_KEY_TYPE);
			assert_int_equal(
			    agent_sign(a, k, name, text("x"), &sig), 0);
			assert_int_equal(
			    key_verify(k, name, text("x"),
				buf_span(&sig)),
			    0);
		}
	}
	agent_keys_free(keys, count);
	agent_close(a);
	buf_clear(&sig);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int
make_dir(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/agent", dir);
	return 0;
}

static int
remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_open),
	    cmocka_unit_test(test_bad_answers),
	    cmocka_unit_test(test_bind),
	    cmocka_unit_test(test_wrong_algorithm),
	    cmocka_unit_test(test_stock_agent),
	    cmocka_unit_test(test_stock_agent_and_certificates),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
