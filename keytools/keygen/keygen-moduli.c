/* SPDX-License-Identifier: ISC */
/* Makes the groups of a moduli file in two steps: a sieve gives candidates
 * (-M generate), and tests keep those that are safe primes (-M screen). */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/str.h"
#include "crypto/moduli.h"

enum {
	BITS_DEFAULT = 3072,
	/* Rounds of tests that moduli_screen() makes. */
	TESTS_DONE = 64,
	CHECKPOINT_MS = 10 * 1000, /* between two checkpoints */
};

struct moduli_options {
	int64_t bits, generator, tests;
	int64_t lines;	    /* lines to screen (-O lines); 0: all */
	int64_t start_line; /* lines at the beginning that are skipped */
	const char *start, *checkpoint;
};

/* ---- options ------------------------------------------------------------ */

static int64_t
number_of(const char *name, const char *text, int64_t min, int64_t max)
{
	int64_t n;

	if (str_to_int(text, min, max, &n) != 0)
		fatal("-O %s=%s: a number from %" PRId64 " to %" PRId64
		      " is wanted", name, text, min, max);
	return n;
}

static void
take_generator(struct moduli_options *w, const char *text)
{
	w->generator = number_of("generator", text, 2, 5);
	if (w->generator == 4)
		fatal("-O generator=4: it is 2, 3 or 5");
}

/* Takes an option by its name and value; false: this operation (screening or
 * generating) has no such option. */
static bool
take(struct moduli_options *w, bool screens, const char *name,
    const char *value)
{
	if (!screens && strcmp(name, "bits") == 0)
		w->bits = number_of(name, value, 513, MODULI_MAX_BITS);
	else if (!screens && strcmp(name, "start") == 0)
		w->start = value;
	else if (screens && strcmp(name, "lines") == 0)
		w->lines = number_of(name, value, 0, INT64_MAX);
	else if (screens && strcmp(name, "start-line") == 0)
		w->start_line = number_of(name, value, 0, INT64_MAX);
	else if (screens && strcmp(name, "checkpoint") == 0)
		w->checkpoint = value;
	else if (screens && strcmp(name, "prime-tests") == 0)
		w->tests = number_of(name, value, 4, TESTS_DONE);
	else if (screens && strcmp(name, "generator") == 0)
		take_generator(w, value);
	else
		return false;
	return true;
}

static void
take_options(const struct keygen_options *o, struct moduli_options *w,
    bool screens)
{
	for (size_t i = 0; i < o->options.n; i++) {
		const char *text = o->options.v[i];
		size_t len = strcspn(text, "=");
		char *name = xstrndup(text, len);

		if (text[len] == '\0' ||
		    !take(w, screens, name, text + len + 1))
			fatal("Unrecognized moduli option \"%s\"", text);
		free(name);
	}
}

static void
put_line(const struct keygen_options *o, FILE *to, const struct modulus *m)
{
	struct buf line = { 0 };

	if (moduli_format(&line, m) != 0)
		fatal("out of memory");
	if (fwrite(buf_data(&line), 1, buf_len(&line), to) != buf_len(&line))
		fatal("Cannot write %s: %s", o->args[0], strerror(errno));
	buf_clear(&line);
}

static FILE *
open_output(const struct keygen_options *o, const char *mode)
{
	int fd = open_named(o->args[0], O_WRONLY | O_CREAT |
		(*mode == 'a' ? O_APPEND : O_TRUNC), 0666);
	FILE *to = fd != -1 ? fdopen(fd, mode) : NULL;

	if (to == NULL)
		fatal("Couldn't open moduli file \"%s\": %s", o->args[0],
		    strerror(errno));
	return to;
}

static void
close_output(const struct keygen_options *o, FILE *to)
{
	if (fclose(to) != 0)
		fatal("Cannot write %s: %s", o->args[0], strerror(errno));
}

/* ---- candidates --------------------------------------------------------- */

struct candidates {
	const struct keygen_options *o;
	FILE *to;
	unsigned long count;
};

static int
on_candidate(void *arg, const struct modulus *m)
{
	struct candidates *c = arg;

	put_line(c->o, c->to, m);
	c->count++;
	return 0;
}

static void
parse_start(const char *text, struct buf *out)
{
	size_t len = strlen(text);

	if (len == 0 || len > MODULI_MAX_BITS / 4 ||
	    strspn(text, "0123456789abcdefABCDEF") != len)
		fatal("-O start=%s: a hexadecimal number is wanted", text);
	for (size_t i = 0; i < len; i += i == 0 && len % 2 != 0 ? 1 : 2) {
		bool alone = i == 0 && len % 2 != 0;
		char two[3] = { alone ? '0' : text[i],
			alone ? text[0] : text[i + 1], '\0' };

		buf_put_u8(out, (uint8_t)strtoul(two, NULL, 16));
	}
}

static int
generate(const struct keygen_options *o)
{
	struct moduli_options w = { .bits = BITS_DEFAULT };
	struct candidates c = { .o = o };
	struct buf start = { 0 };
	int r;

	take_options(o, &w, false);
	if (w.start != NULL)
		parse_start(w.start, &start);
	c.to = open_output(o, "w");
	r = moduli_candidates((uint32_t)w.bits,
	    w.start != NULL ? &start : NULL, on_candidate, &c);
	if (r == ERR_ARGUMENT)
		fatal("-O start=%s: for %" PRId64 " bits it has to be a "
		      "number of %" PRId64 " bits", w.start, w.bits,
		    w.bits - 1);
	if (r != 0)
		fatal("%s", err_text(r));
	close_output(o, c.to);
	if (!o->quiet)
		log_info("%lu candidates for safe primes of %" PRId64 " bits",
		    c.count, w.bits);
	buf_clear(&start);
	return OK;
}

/* ---- tests -------------------------------------------------------------- */

struct screening {
	const struct keygen_options *o;
	struct moduli_options w;
	FILE *to;
	int64_t line, done, found;
	uint64_t noted_ms; /* when the last checkpoint was written */
};

/* The number of the last line that an earlier run has screened. */
static int64_t
read_checkpoint(const char *path)
{
	struct buf content = { 0 };
	char *text;
	int64_t line = 0;
	int r = file_read(path, &content, 64);

	if (r == ERR_SYSTEM && errno == ENOENT)
		return 0;
	text = r == 0 && buf_len(&content) > 0 ? buf_dup_string(&content) :
						 NULL;
	if (text != NULL)
		text[strcspn(text, "\n")] = '\0';
	if (text == NULL || str_to_int(text, 0, INT64_MAX, &line) != 0)
		fatal("%s is no checkpoint", path);
	free(text);
	buf_clear(&content);
	return line;
}

/* Writes the checkpoint, after the output is on disk: the checkpoint must not
 * be ahead of it. */
static void
write_checkpoint(const struct keygen_options *o, struct screening *s)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%" PRId64 "\n", s->line);
	int r;

	if (s->w.checkpoint == NULL)
		return;
	if (fflush(s->to) != 0 ||
	    (fsync(fileno(s->to)) == -1 && errno != EINVAL && errno != EROFS))
		fatal("Cannot write %s: %s", o->args[0], strerror(errno));
	r = file_replace(s->w.checkpoint, text, (size_t)n, 0644);
	if (r != 0)
		fatal("Cannot write %s: %s", s->w.checkpoint, err_text(r));
	s->noted_ms = clock_ms();
}

/* Tests the candidate of a line, and writes it to the output if it is a safe
 * prime. True: it is. */
static bool
screen_line(struct screening *s, const char *line)
{
	struct modulus m = { .type = 0 };
	bool passed = false;
	int r = moduli_parse(line, &m);

	if (r == 0 && (m.tests & MODULI_TEST_COMPOSITE) == 0)
		r = moduli_screen(&m, &passed);
	if (r == ERR_FORMAT || r == ERR_LIMIT || r == ERR_ARGUMENT)
		log_error("line %" PRId64 " is no candidate", s->line);
	else if (r != 0 && r != ERR_NOT_FOUND)
		fatal("%s", err_text(r));
	if (passed) {
		/* For a safe prime p, any number but 1 and p - 1 is a good
		 * generator. */
		buf_reset(&m.generator);
		buf_put_u8(&m.generator, (uint8_t)s->w.generator);
		put_line(s->o, s->to, &m);
	}
	moduli_clear(&m);
	return passed;
}

static void
screen_lines(const struct keygen_options *o, struct screening *s, FILE *from,
    int64_t done_before)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, from) != -1) {
		bool passed;

		if (s->w.lines != 0 && s->done == s->w.lines)
			break;
		s->line++;
		if (s->line <= s->w.start_line || s->line <= done_before)
			continue;
		s->done++;
		passed = screen_line(s, line);
		s->found += passed;
		if (passed || clock_ms() - s->noted_ms > CHECKPOINT_MS)
			write_checkpoint(o, s);
	}
	free(line);
}

static int
screen(const struct keygen_options *o)
{
	struct screening s = { .o = o, .w = { .generator = 2 },
		.noted_ms = clock_ms() };
	FILE *from = stdin;
	int64_t done_before = 0;

	take_options(o, &s.w, true);
	if (o->file != NULL && strcmp(o->file, "-") != 0)
		from = fopen(o->file, "r");
	if (from == NULL)
		fatal("Couldn't open moduli candidate file \"%s\": %s",
		    o->file, strerror(errno));
	if (s.w.checkpoint != NULL)
		done_before = read_checkpoint(s.w.checkpoint);
	s.to = open_output(o, "a");
	screen_lines(o, &s, from, done_before);
	if (ferror(from))
		fatal("Cannot read %s: %s", from == stdin ? "the candidates" :
			o->file, strerror(errno));
	write_checkpoint(o, &s);
	close_output(o, s.to);
	if (from != stdin)
		fclose(from);
	if (!o->quiet)
		log_info("%" PRId64 " safe primes of %" PRId64 " candidates",
		    s.found, s.done);
	return OK;
}

int
keygen_moduli(const struct keygen_options *o)
{
	if (strcmp(o->operation, "generate") != 0 &&
	    strcmp(o->operation, "screen") != 0)
		fatal("Unsupported moduli action %s", o->operation);
	if (o->n_args != 1)
		fatal("exactly one file for the output is wanted");
	return strcmp(o->operation, "screen") == 0 ? screen(o) : generate(o);
}
