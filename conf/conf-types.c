/* SPDX-License-Identifier: ISC */
/* The types of values that the client and the server share. */
#include "conf/conf-internal.h"

#include <ctype.h>
#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/algs.h"
#include "crypto/digest.h"
#include "packet.h"

static bool
is_none(const struct conf_row *row, const struct strlist *words)
{
	return (row->flags & CONF_NONE) != 0 && words->n == 1 &&
	    str_equal_nocase(words->v[0], "none");
}

/* Refuses "none" among other words, because a list cannot be empty and have
 * elements. */
static int
check_alone(const struct conf_row *row, const struct strlist *words,
    const struct conf_location *at)
{
	if ((row->flags & CONF_ALONE) == 0 || words->n <= 1)
		return 0;
	for (size_t i = 0; i < words->n; i++)
		if (str_equal_nocase(words->v[i], "none"))
			return conf_error(at, "keyword %s \"none\" argument "
			    "must appear alone.", row->name);
	return 0;
}

static int
run_check(const struct conf_row *row, const char *word,
    const struct conf_location *at)
{
	const char *fault;

	fault = row->check != NULL ? row->check(word) : NULL;
	if (fault != NULL)
		return conf_error(at, "%s: %s: %s", row->name, word, fault);
	return 0;
}

static int
add_number(struct strlist *words, int64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)v);
	return strlist_add(words, text);
}

static const char *
enum_name(const struct conf_enum *e, int value)
{
	for (; e != NULL && e->name != NULL; e++)
		if (e->value == value)
			return e->name;
	return NULL;
}

static bool
enum_value(const struct conf_enum *e, const char *name, int *value)
{
	for (; e != NULL && e->name != NULL; e++) {
		if (str_equal_nocase(e->name, name)) {
			*value = e->value;
			return true;
		}
	}
	return false;
}

/* ---- numbers and names: int --------------------------------------------- */

static int
parse_choice(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	if (!enum_value(row->values, words->v[0], field))
		return conf_error(at, "%s: bad value \"%s\"", row->name,
		    words->v[0]);
	return 0;
}

static int
format_choice(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const char *name = enum_name(row->values, *(const int *)field);

	return name != NULL ? strlist_add(words, name) : ERR_INTERNAL;
}

static const struct conf_enum flag_values[] = {
	{ "no", 0 },
	{ "yes", 1 },
	{ "false", 0 },
	{ "true", 1 },
	{ NULL, 0 },
};

static int
parse_flag(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	if (!enum_value(flag_values, words->v[0], field))
		return conf_error(at, "%s: \"%s\" is neither yes nor no",
		    row->name, words->v[0]);
	return 0;
}

static int
format_flag(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)row;
	return strlist_add(words, *(const int *)field ? "yes" : "no");
}

static int
parse_int(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int64_t v;

	if (enum_value(row->values, words->v[0], field))
		return 0;
	if (str_to_int(words->v[0], row->min, row->max, &v) < 0)
		return conf_error(at, "%s: \"%s\" is no number from %lld to "
		    "%lld", row->name, words->v[0], (long long)row->min,
		    (long long)row->max);
	*(int *)field = (int)v;
	return 0;
}

static int
format_int(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const char *name = enum_name(row->values, *(const int *)field);

	return name != NULL ? strlist_add(words, name) :
			      add_number(words, *(const int *)field);
}

/* Reads a port number or the name of a service. -1: it is neither. */
int
conf_port_number(const char *word)
{
	const struct servent *service;
	int64_t v;

	if (str_to_int(word, 1, 65535, &v) == 0)
		return (int)v;
	service = getservbyname(word, "tcp");
	return service != NULL ? ntohs((uint16_t)service->s_port) : -1;
}

static int
parse_port(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int port = conf_port_number(words->v[0]);

	if (port <= 0)
		return conf_error(at, "Bad %s '%s'.",
		    strcmp(row->name, "Port") == 0 ? "port" : row->name,
		    words->v[0]);
	*(int *)field = port;
	return 0;
}

static int
parse_octal(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	const char *s = words->v[0];

	if (*s == '\0' || strspn(s, "01234567") != strlen(s) ||
	    strlen(s) > 8 || strtol(s, NULL, 8) > 0777)
		return conf_error(at, "Bad mask. (%s: \"%s\" is no octal mode)",
		    row->name, s);
	*(int *)field = (int)strtol(s, NULL, 8);
	return 0;
}

static int
format_octal(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	char text[24];

	(void)row;
	snprintf(text, sizeof text, "0%o", (unsigned)*(const int *)field);
	return strlist_add(words, text);
}

static int
parse_time(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int64_t v;

	if (enum_value(row->values, words->v[0], field))
		return 0;
	if (str_to_seconds(words->v[0], &v) < 0 || v > INT_MAX)
		return conf_error(at, "%s: \"%s\" is no time", row->name,
		    words->v[0]);
	*(int *)field = (int)v;
	return 0;
}

static int
parse_log_level(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int level;

	if ((level = log_level_parse(words->v[0])) < 0)
		return conf_error(at, "%s: unknown level \"%s\"", row->name,
		    words->v[0]);
	*(int *)field = level;
	return 0;
}

static int
format_log_level(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)row;
	return strlist_add(words,
	    log_level_name((enum log_level) * (const int *)field));
}

static int
parse_facility(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int facility;

	if ((facility = log_facility_parse(words->v[0])) < 0)
		return conf_error(at, "%s: unknown facility \"%s\"",
		    row->name, words->v[0]);
	*(int *)field = facility;
	return 0;
}

static int
format_facility(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)row;
	return strlist_add(words, log_facility_name(*(const int *)field));
}

const struct conf_enum conf_families[] = {
	{ "any", AF_UNSPEC },
	{ "inet", AF_INET },
	{ "inet6", AF_INET6 },
	{ NULL, 0 },
};

const struct conf_enum conf_threads[] = {
	{ "auto", PACKET_THREADS_AUTO },
	{ NULL, 0 },
};

const struct conf_enum conf_forms[] = {
	{ "auto", PACKET_FORM_AUTO },
	{ "serial", PACKET_FORM_SERIAL },
	{ "pipeline", PACKET_FORM_PIPELINE },
	{ "keystream", PACKET_FORM_KEYSTREAM },
	{ NULL, 0 },
};

const struct conf_enum conf_no_time[] = { { "none", 0 }, { NULL, 0 } };

/* ---- texts: char * ------------------------------------------------------ */

static void
clear_string(void *field)
{
	char **s = field;

	free(*s);
	*s = NULL;
}

static int
parse_string(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int r;

	if (is_none(row, words)) {
		clear_string(field);
		return 0;
	}
	if (words->v[0][0] == '\0')
		return conf_error(at, "%s: empty argument", row->name);
	if ((r = run_check(row, words->v[0], at)) < 0)
		return r;
	clear_string(field);
	*(char **)field = xstrdup(words->v[0]);
	return 0;
}

static int
format_string(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const char *s = *(char *const *)field;

	(void)row;
	return s != NULL ? strlist_add(words, s) : 0;
}

static int
parse_flag_text(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	const char *s = words->v[0];

	if (*s == '\0')
		return conf_error(at, "%s: empty argument", row->name);
	clear_string(field);
	if (str_equal_nocase(s, "yes") || str_equal_nocase(s, "true"))
		*(char **)field = xstrdup("yes");
	else if (!str_equal_nocase(s, "no") && !str_equal_nocase(s, "false"))
		*(char **)field = xstrdup(s);
	return 0;
}

static int
format_flag_text(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const char *s = *(char *const *)field;

	(void)row;
	return strlist_add(words, s != NULL ? s : "no");
}

static int
parse_algs(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct algs_result res;
	int r;

	r = algs_parse((enum algs_kind)row->param, words->v[0], &res);
	if (r == ERR_UNSUPPORTED)
		r = conf_unsupported(at, "%s: unknown algorithm \"%s\"",
		    row->name, res.bad);
	else if (r == ERR_SYNTAX)
		r = conf_error(at, "%s: no algorithm is left by \"%s\"",
		    row->name, words->v[0]);
	if (r == 0) {
		clear_string(field);
		*(char **)field = res.list;
		res.list = NULL;
	}
	algs_result_clear(&res);
	return r;
}

static int
default_algs(const struct conf_row *row, void *field)
{
	char *list = algs_default((enum algs_kind)row->param);

	if (list == NULL)
		return ERR_NOMEM;
	clear_string(field);
	*(char **)field = list;
	return 0;
}

/* ---- lists: struct strlist ---------------------------------------------- */

void
conf_clear_list(void *field)
{
	strlist_clear(field);
}

int
conf_format_list(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)row;
	return strlist_copy(words, field);
}

/* Replaces *list by *next. If r is an error, frees *next instead. Returns r. */
static int
settle_list(struct strlist *list, struct strlist *next, int r)
{
	strlist_clear(r < 0 ? next : list);
	if (r == 0)
		*list = *next;
	return r;
}

static size_t
list_max(const struct conf_row *row)
{
	return row->max != 0 ? (size_t)row->max : CONF_WORDS_MAX;
}

static int
parse_list(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct strlist *list = field, next = { 0 };
	bool none = is_none(row, words);
	int r = check_alone(row, words, at);

	if (r == 0 && (row->flags & CONF_APPEND) != 0)
		r = strlist_copy(&next, list);
	for (size_t i = 0; r == 0 && !none && i < words->n; i++) {
		if (words->v[i][0] == '\0')
			r = conf_error(at, "%s: empty argument", row->name);
		else if (strlist_has(&next, words->v[i]))
			continue;
		else if (next.n >= list_max(row))
			r = conf_error(at, "%s: the list is too long",
			    row->name);
		else if ((r = run_check(row, words->v[i], at)) == 0)
			r = strlist_add(&next, words->v[i]);
	}
	return settle_list(list, &next, r);
}

/* Has the list a value for the name in word, which is NAME=value? */
static bool
has_name(const struct strlist *l, const char *word)
{
	size_t len = (size_t)(strchr(word, '=') - word) + 1;

	for (size_t i = 0; i < l->n; i++)
		if (strncmp(l->v[i], word, len) == 0)
			return true;
	return false;
}

/* SetEnv: only the first line counts and, in that line, the first value of a
 * name. */
static int
parse_env(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct strlist *list = field, next = { 0 };
	const char *eq;
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++) {
		eq = strchr(words->v[i], '=');
		if (eq == NULL || eq == words->v[i])
			r = conf_error(at, "%s: \"%s\" is not NAME=value",
			    row->name, words->v[i]);
		else if (has_name(&next, words->v[i]))
			continue;
		else if (next.n >= CONF_WORDS_MAX)
			r = conf_error(at, "%s: the list is too long",
			    row->name);
		else
			r = strlist_add(&next, words->v[i]);
	}
	return settle_list(list, &next, r);
}

/* ---- RekeyLimit --------------------------------------------------------- */

static int
parse_rekey(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct conf_rekey v = { 0 };
	int64_t seconds = 0;

	if (words->n > 2)
		return conf_error(at, "%s: takes bytes and a time",
		    row->name);
	if (!str_equal_nocase(words->v[0], "default") &&
	    str_to_bytes(words->v[0], &v.bytes) < 0)
		return conf_error(at, "%s: \"%s\" is no number of bytes",
		    row->name, words->v[0]);
	if (v.bytes != 0 && v.bytes < 16)
		return conf_error(at, "%s: less than 16 bytes", row->name);
	if (words->n == 2 && !str_equal_nocase(words->v[1], "none") &&
	    (str_to_seconds(words->v[1], &seconds) < 0 || seconds > INT_MAX))
		return conf_error(at, "%s: \"%s\" is no time", row->name,
		    words->v[1]);
	v.seconds = (int)seconds;
	*(struct conf_rekey *)field = v;
	return 0;
}

static int
format_rekey(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct conf_rekey *v = field;
	char text[24];
	int r;

	(void)row;
	snprintf(text, sizeof text, "%llu", (unsigned long long)v->bytes);
	if ((r = strlist_add(words, text)) < 0)
		return r;
	return add_number(words, v->seconds);
}

/* ---- FingerprintHash ---------------------------------------------------- */

const struct conf_enum conf_fingerprint_hashes[] = {
	{ "SHA256", DIGEST_SHA256 },
	{ "MD5", DIGEST_MD5 },
	{ "SHA1", DIGEST_SHA1 },
	{ "SHA384", DIGEST_SHA384 },
	{ "SHA512", DIGEST_SHA512 },
	{ NULL, 0 },
};

/* ---- IPQoS -------------------------------------------------------------- */

/* Code points (RFC 2474, 2597, 3246, 5865, 8622), shifted to their place in the
 * TOS byte. */
static const struct conf_enum dscp_values[] = {
	{ "none", -1 },
	{ "cs0", 0 },
	{ "cs1", 8 << 2 },
	{ "cs2", 16 << 2 },
	{ "cs3", 24 << 2 },
	{ "cs4", 32 << 2 },
	{ "cs5", 40 << 2 },
	{ "cs6", 48 << 2 },
	{ "cs7", 56 << 2 },
	{ "af11", 10 << 2 },
	{ "af12", 12 << 2 },
	{ "af13", 14 << 2 },
	{ "af21", 18 << 2 },
	{ "af22", 20 << 2 },
	{ "af23", 22 << 2 },
	{ "af31", 26 << 2 },
	{ "af32", 28 << 2 },
	{ "af33", 30 << 2 },
	{ "af41", 34 << 2 },
	{ "af42", 36 << 2 },
	{ "af43", 38 << 2 },
	{ "va", 44 << 2 },
	{ "ef", 46 << 2 },
	{ "le", 1 << 2 },
	/* Names of the obsolete RFC 1349. They leave the system's value
	 * unchanged. */
	{ "lowdelay", -1 },
	{ "throughput", -1 },
	{ "reliability", -1 },
	{ NULL, 0 },
};

/* Reads a name, or a number, which may be hexadecimal as in tables of such
 * values. */
static bool
parse_dscp_word(const char *word, int *out)
{
	char *end;
	long v;

	if (enum_value(dscp_values, word, out))
		return true;
	if (!isdigit((unsigned char)word[0]))
		return false;
	v = strtol(word, &end, 0);
	if (*end != '\0' || v > 255)
		return false;
	*out = (int)v;
	return true;
}

static int
parse_dscp(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct conf_qos v;

	if (words->n > 2)
		return conf_error(at, "%s: takes one or two values",
		    row->name);
	for (size_t i = 0; i < words->n; i++)
		if (!parse_dscp_word(words->v[i],
			i == 0 ? &v.interactive : &v.bulk))
			return conf_error(at, "%s: bad value \"%s\"",
			    row->name, words->v[i]);
	if (words->n == 1)
		v.bulk = v.interactive;
	*(struct conf_qos *)field = v;
	return 0;
}

static int
add_dscp(struct strlist *words, int v)
{
	const char *name = enum_name(dscp_values, v);
	char number[8];

	snprintf(number, sizeof number, "0x%02x", (unsigned)v);
	return strlist_add(words, name != NULL ? name : number);
}

static int
format_dscp(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct conf_qos *v = field;
	int r;

	(void)row;
	r = add_dscp(words, v->interactive);
	return r < 0 ? r : add_dscp(words, v->bulk);
}

const char *
conf_check_env_pattern(const char *word)
{
	return strchr(word, '=') == NULL ? NULL : "a name holds no \"=\"";
}

const char *
conf_check_congestion(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	/* The kernel's names have at most 15 bytes. */
	return len > 0 && len <= 15 && word[len] == '\0' ? NULL :
	    "is no name of a congestion control";
}

/* ---- the types ---------------------------------------------------------- */

const struct conf_type conf_flag = { parse_flag, format_flag, NULL, NULL,
	true };
const struct conf_type conf_int = { parse_int, format_int, NULL, NULL, true };
const struct conf_type conf_port = { parse_port, format_int, NULL, NULL,
	true };
const struct conf_type conf_octal = { parse_octal, format_octal, NULL, NULL,
	true };
const struct conf_type conf_time = { parse_time, format_int, NULL, NULL, true };
const struct conf_type conf_choice = { parse_choice, format_choice, NULL,
	NULL, true };
const struct conf_type conf_string = { parse_string, format_string,
	clear_string, NULL, true };
const struct conf_type conf_flag_text = { parse_flag_text, format_flag_text,
	clear_string, NULL, true };
const struct conf_type conf_algs = { parse_algs, format_string,
	clear_string, default_algs, true };
const struct conf_type conf_list = { parse_list, conf_format_list,
	conf_clear_list, NULL, false };
const struct conf_type conf_env = { parse_env, conf_format_list,
	conf_clear_list, NULL, false };
const struct conf_type conf_bytes_time = { parse_rekey, format_rekey, NULL,
	NULL, false };
const struct conf_type conf_dscp = { parse_dscp, format_dscp, NULL, NULL,
	false };
const struct conf_type conf_log_level = { parse_log_level, format_log_level,
	NULL, NULL, true };
const struct conf_type conf_facility = { parse_facility, format_facility,
	NULL, NULL, true };
