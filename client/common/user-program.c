/* SPDX-License-Identifier: ISC */
#include "client/common/user-program.h"

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
#include "base/str.h"
#include "conf/command-words.h"

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

/* Appends the words of the command to argv, with the tokens (%h and others) in
 * its arguments expanded. The path of the program has no tokens. */
static int
expand_words(const struct client_conf *conf, const struct user_program *p,
    const struct client_host_tokens *tokens, const struct strlist *words,
    struct strlist *argv)
{
	int r = strlist_add(argv, words->v[0]);

	for (size_t i = 1; r == 0 && i < words->n; i++) {
		char *word;

		r = client_conf_expand_host(conf, p->tokens, tokens,
		    p->keyword, words->v[i], &word);
		if (r == 0)
			r = strlist_add(argv, word);
		free(word);
	}
	return r;
}

static int
make_argv(const struct client_conf *conf, const struct user_program *p,
    struct strlist *argv)
{
	struct client_host_tokens tokens = { .reason = p->reason,
		.name = p->name };
	struct strlist words = { 0 };
	char *fp = NULL, *base64 = NULL;
	int r = command_words(p->command, &words);

	if (r == 0 && (words.n == 0 || words.v[0][0] != '/')) {
		log_error("%s: the path of the program is not absolute",
		    p->keyword);
		r = ERR_ARGUMENT;
	}
	if (p->key != NULL) {
		tokens.key_type = key_type(p->key);
		tokens.base64 = base64 = base64_of(p->key);
		tokens.fingerprint = fp = key_fingerprint(p->key,
		    (enum digest_alg)conf->known.fingerprint_hash);
	}
	if (r == 0)
		r = expand_words(conf, p, &tokens, &words, argv);
	strlist_clear(&words);
	free(base64);
	free(fp);
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
explain(const struct user_program *p, const char *path, int r)
{
	if (r == ERR_TIMEOUT)
		log_error("%s: %s did not end within %d s", p->keyword, path,
		    p->limit_ms / 1000);
	else if (r == ERR_LIMIT)
		log_error("%s: %s prints more than %zu bytes", p->keyword,
		    path, p->output_max);
	else if (r != ERR_DENIED)
		log_error("%s: %s: %s", p->keyword, path, err_text(r));
}

/* Turns end_program()'s result into an error: status 0 is success, another
 * status is ERR_DENIED, which is logged. */
static int
check_status(const struct user_program *p, const char *path, int status)
{
	if (status <= 0)
		return status;
	log_error("%s: %s ended with status %d", p->keyword, path, status);
	return ERR_DENIED;
}

static int
run(const struct user_program *p, char *const argv[], struct buf *out)
{
	uint64_t deadline_ms = clock_ms() + (uint64_t)p->limit_ms;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2] = { -1, -1 };
	int r = null != -1 ? child_pipe(ends) : ERR_SYSTEM, status;
	pid_t pid;

	if (r == 0)
		r = child_spawn(&pid, argv, null, ends[1]);
	fd_close(&null);
	fd_close(&ends[1]);
	if (r == 0) {
		r = child_read_all(ends[0], deadline_ms, p->output_max, out);
		fd_close(&ends[0]); /* what it prints from now on is not read */
		status = end_program(pid, r == 0 ? deadline_ms : 0);
		if (r == 0)
			r = check_status(p, argv[0], status);
	}
	fd_close(&ends[0]);
	if (r != 0)
		explain(p, argv[0], r);
	return r;
}

int
user_program_run(const struct client_conf *conf, const struct user_program *p,
    struct buf *out)
{
	struct strlist argv = { 0 };
	int r = make_argv(conf, p, &argv);

	if (r == 0) {
		log_debug("%s: runs %s for %s", p->keyword, argv.v[0],
		    p->reason);
		r = run(p, argv.v, out);
	}
	strlist_clear(&argv);
	return r;
}
