/* SPDX-License-Identifier: ISC */
#include "client/hosts/known-hosts-command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/command-words.h"

enum {
	TIME_MAX_MS = 30 * 1000,
	OUTPUT_MAX = 1024 * 1024, /* bytes */
};

#define WHAT "KnownHostsCommand"

/* ---- the command line --------------------------------------------------- */

static char *
base64_of(const struct key *k)
{
	struct buf blob = { 0 };
	char *text = NULL;

	if (key_to_blob(k, &blob) == 0)
		text = str_base64_encode(buf_data(&blob), buf_len(&blob));
	buf_clear(&blob);
	if (text == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return text;
}

/* Appends the words of the command to argv, with the tokens (%H and others) in
 * its arguments expanded. The path of the program has no tokens. */
static int
expand_words(const struct client_conf *conf,
    const struct client_host_tokens *tokens, const struct strlist *words,
    struct strlist *argv)
{
	int r = strlist_add(argv, words->v[0]);

	for (size_t i = 1; r == 0 && i < words->n; i++) {
		char *word;

		r = client_conf_expand_host(conf, tokens, WHAT, words->v[i],
		    &word);
		if (r == 0)
			r = strlist_add(argv, word);
		free(word);
	}
	return r;
}

static int
make_argv(const struct client_conf *conf,
    const struct client_host_tokens *tokens, struct strlist *argv)
{
	struct strlist words = { 0 };
	int r = command_words(conf->known.known_hosts_command, &words);

	if (r == 0 && (words.n == 0 || words.v[0][0] != '/')) {
		log_error(WHAT ": the path of the program is not absolute");
		r = ERR_ARGUMENT;
	}
	if (r == 0)
		r = expand_words(conf, tokens, &words, argv);
	strlist_clear(&words);
	return r;
}

/* ---- the program -------------------------------------------------------- */

/* Waits until the program has ended, and kills it at the deadline: it may go on
 * after it has closed its output, but not for longer. Returns its exit status
 * (128 and more: a signal), or ERR_TIMEOUT. */
static int
end_program(pid_t pid, uint64_t deadline_ms)
{
	int status, r = child_reap_until(pid, deadline_ms, &status);

	if (r == 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) :
					   128 + WTERMSIG(status);
	(void)kill(pid, SIGKILL);
	(void)!child_wait(pid);
	return r;
}

static void
explain(const char *program, int r, int limit_ms)
{
	if (r == ERR_TIMEOUT)
		log_error(WHAT ": %s did not end within %d s", program,
		    limit_ms / 1000);
	else if (r == ERR_LIMIT)
		log_error(WHAT ": %s prints more than %d bytes", program,
		    OUTPUT_MAX);
	else if (r != ERR_HOSTKEY)
		log_error(WHAT ": %s: %s", program, err_text(r));
	log_error("KnownHostsCommand failed");
}

/* Turns end_program()'s result into an error: status 0 is success, another
 * status is ERR_HOSTKEY, which is logged. */
static int
check_status(const char *program, int status)
{
	if (status <= 0)
		return status;
	log_error(WHAT ": %s ended with status %d", program, status);
	return ERR_HOSTKEY;
}

static int
run(char *const argv[], int limit_ms, struct buf *out)
{
	uint64_t deadline_ms = clock_ms() + (uint64_t)limit_ms;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2] = { -1, -1 };
	int r = null != -1 ? child_pipe(ends) : ERR_SYSTEM, status;
	pid_t pid;

	if (r == 0)
		r = child_spawn(&pid, argv, null, ends[1]);
	fd_close(&null);
	fd_close(&ends[1]);
	if (r == 0) {
		r = child_read_all(ends[0], deadline_ms, OUTPUT_MAX, out);
		fd_close(&ends[0]); /* what it prints from now on is not read */
		status = end_program(pid, r == 0 ? deadline_ms : 0);
		if (r == 0)
			r = check_status(argv[0], status);
	}
	fd_close(&ends[0]);
	if (r != 0)
		explain(argv[0], r, limit_ms);
	return r;
}

int
known_hosts_command_within(int limit_ms, const struct client_conf *conf,
    const char *reason, const char *name, const struct key *k,
    struct buf *out)
{
	struct client_host_tokens tokens = { .reason = reason, .name = name };
	char *fp = NULL, *base64 = NULL;
	struct strlist argv = { 0 };
	int r;

	if (conf->known.known_hosts_command == NULL)
		return 0;
	if (k != NULL) {
		tokens.key_type = key_type(k);
		tokens.base64 = base64 = base64_of(k);
		tokens.fingerprint = fp = key_fingerprint(k,
		    (enum digest_alg)conf->known.fingerprint_hash);
	}
	r = make_argv(conf, &tokens, &argv);
	if (r == 0) {
		log_debug(WHAT ": runs %s for %s", argv.v[0], reason);
		r = run(argv.v, limit_ms, out);
	}
	strlist_clear(&argv);
	free(base64);
	free(fp);
	return r;
}

int
known_hosts_command(const struct client_conf *conf, const char *reason,
    const char *name, const struct key *k, struct buf *out)
{
	return known_hosts_command_within(TIME_MAX_MS, conf, reason, name, k,
	    out);
}
