/* SPDX-License-Identifier: ISC */
#include "client/copy/copy-flags.h"

#include "base/log.h"
#include "base/mem.h"

enum action {
	HAND_ON,
	HAND_ON_QUIET,
	HAND_ON_VERBOSE,
	SET_PORT,
	SET_PROGRAM,
	SET_SERVER,
	SET_RATE,
};

static const struct {
	char flag;
	bool has_value;
	enum action action;
} table[] = {
	{ '4', false, HAND_ON },
	{ '6', false, HAND_ON },
	{ 'A', false, HAND_ON },
	{ 'C', false, HAND_ON },
	{ 'c', true, HAND_ON },
	{ 'D', true, SET_SERVER },
	{ 'F', true, HAND_ON },
	{ 'i', true, HAND_ON },
	{ 'J', true, HAND_ON },
	{ 'l', true, SET_RATE },
	{ 'o', true, HAND_ON },
	{ 'P', true, SET_PORT },
	{ 'q', false, HAND_ON_QUIET },
	{ 'S', true, SET_PROGRAM },
	{ 'v', false, HAND_ON_VERBOSE },
};

/* The limits of OpenSSH's scp and sftp for the values of -X and -l.
 * REQUESTS_USED: what a transfer can use of REQUESTS_MAX. */
enum {
	REQUESTS_MAX = 100 * 1024 * 1024,
	REQUESTS_USED = 65535,
	BLOCK_MAX = 256 * 1024, /* bytes */
	RATE_MAX = 100 * 1024 * 1024, /* Kbit/s */
};

static void
add(struct strlist *list, const char *text)
{
	if (strlist_add(list, text) < 0)
		fatal("%s", err_text(ERR_NOMEM));
}

static void
hand_on(struct copy_flags *f, char flag, const char *value)
{
	const char text[] = { '-', flag, '\0' };

	add(&f->ssh, text);
	if (value != NULL)
		add(&f->ssh, value);
}

static int
set_port(struct copy_flags *f, const char *value, const char **why)
{
	int64_t n;

	*why = "bad port";
	if (str_to_int(value, 1, 65535, &n) < 0)
		return ERR_SYNTAX;
	f->port = (int)n;
	return 1;
}

static int
set_rate(struct copy_flags *f, const char *value, const char **why)
{
	int64_t kbits;

	*why = "bad limit";
	if (str_to_int(value, 1, RATE_MAX, &kbits) < 0)
		return ERR_SYNTAX;
	f->rate_bytes = (uint64_t)kbits * 1024 / 8;
	return 1;
}

static int
take(struct copy_flags *f, size_t row, const char *value, const char **why)
{
	switch (table[row].action) {
	case SET_PORT:
		return set_port(f, value, why);
	case SET_RATE:
		return set_rate(f, value, why);
	case SET_PROGRAM:
		f->ssh_program = value;
		return 1;
	case SET_SERVER:
		f->sftp_server = value;
		return 1;
	case HAND_ON_QUIET:
		f->quiet = true;
		break;
	case HAND_ON_VERBOSE:
		f->verbose = true;
		break;
	case HAND_ON:
		break;
	}
	hand_on(f, table[row].flag, table[row].has_value ? value : NULL);
	return 1;
}

int
copy_flag_take(struct copy_flags *f, int flag, const char *value,
    const char **why)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].flag == flag)
			return take(f, i, value, why);
	return 0;
}

void
copy_flags_set_batch(struct copy_flags *f)
{
	add(&f->ssh, "-oBatchMode=yes");
}

void
copy_flags_clear(struct copy_flags *f)
{
	strlist_clear(&f->ssh);
}

int
copy_flag_requests(struct xfer_opts *o, const char *text)
{
	int64_t n;

	if (str_to_int(text, 1, REQUESTS_MAX, &n) < 0)
		return ERR_SYNTAX;
	o->requests_max = (unsigned)MIN(n, REQUESTS_USED);
	return 0;
}

int
copy_flag_block(struct xfer_opts *o, const char *text)
{
	uint64_t bytes;

	if (str_to_bytes(text, &bytes) < 0 || bytes < 1 || bytes > BLOCK_MAX)
		return ERR_SYNTAX;
	o->block_bytes = (uint32_t)MIN(bytes, SFTP_DATA_MAX);
	return 0;
}
