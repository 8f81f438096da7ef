/* SPDX-License-Identifier: ISC */
/*
 * Inside of conf/: how rows of a keyword table are written, and what kinds
 * of values are made of. A file with a table says first what its fields are
 * in: #define FIELDS struct client_conf
 */
#ifndef HPN_CONF_CONF_INTERNAL_H
#define HPN_CONF_CONF_INTERNAL_H

#include "config.h"

#include "conf/conf.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define AT(field) .offset = offsetof(FIELDS, field)
#define FLAG(field, value) .type = &conf_flag, AT(field), .def = value
#define NUMBER(field, low, high, value)                                       \
	.type = &conf_int, AT(field), .min = low, .max = high, .def = value
#define PORT(field, value) .type = &conf_port, AT(field), .def = value
#define TIME(field, value) .type = &conf_time, AT(field), .def = value
#define OCTAL(field, value) .type = &conf_octal, AT(field), .def = value
#define CHOICE(field, table, value)                                           \
	.type = &conf_choice, AT(field), .values = table, .def = value
#define TEXTUAL(field) .type = &conf_string, AT(field)
#define ALGS(field, kind) .type = &conf_algs, AT(field), .param = kind
#define LIST(field) .type = &conf_list, AT(field)
/* port_alone: without a host, the port means any. */
#define PERMITS(field, port_alone)                                            \
	.type = &conf_permits, AT(field), .param = port_alone, .def = "any"
#define CHANNEL_TIMEOUTS(field)                                               \
	.type = &conf_channel_timeouts_type, AT(field),                       \
	.flags = CONF_NONE
/* A keyword with only these values, because they describe what happens
 * anyway. */
#define ONLY(list) .type = &conf_fixed, .def = list
/* A keyword of a function that is not built. The values in `list` give no
 * notice, because they describe what happens anyway. */
#define UNBUILT(kind, list, what)                                             \
	.type = &conf_unbuilt, .as = &conf_##kind, .def = list, .notice = what
#define UNBUILT_FLAG(what) UNBUILT(flag, "no,false", what)
#define UNBUILT_ANY(what) .type = &conf_unbuilt, .notice = what
/* Rows of Kerberos logins, with and without GSSAPI in the build. GSS_FLAG:
 * `off` has the values that give no notice in a build without it; NULL: none.
 * GSS_OFF: a keyword that can only be off. */
#ifdef HAVE_GSSAPI
#define GSS_FLAG(field, value, off) FLAG(field, value)
#define GSS_TEXT(field) TEXTUAL(field)
#define GSS_KEX(field) ALGS(field, ALGS_KEX_GSS)
#define GSS_OFF ONLY("no,false")
#else
#define GSS_FLAG(field, value, off) UNBUILT(flag, off, &unsupported)
#define GSS_TEXT(field) UNBUILT_ANY(&unsupported)
#define GSS_KEX(field) UNBUILT_ANY(&unsupported)
#define GSS_OFF UNBUILT_FLAG(&unsupported)
#endif
/* The library of a token, where a helper is built that loads it. */
#ifdef HAVE_PKCS11
#define P11_TEXT(field) TEXTUAL(field), .flags = CONF_NONE
#else
#define P11_TEXT(field) UNBUILT(string, "none", &unsupported)
#endif
/* A flag that is kept, and that is said to be unsupported when it is on. */
#define UNBUILT_KEPT(field, value, what)                                      \
	.type = &conf_unbuilt_kept, AT(field), .def = value, .notice = what
#ifdef HAVE_PAM
#define PAM_FLAG(field, value) FLAG(field, value)
#else
#define PAM_FLAG(field, value) UNBUILT_KEPT(field, value, &unsupported)
#endif
#define GONE(what) .type = &conf_deprecated, .notice = what
#define IGNORED .type = &conf_deprecated
#define STRUCTURE .type = &conf_structure

/* Values that both sides have. */
extern const struct conf_enum conf_families[];
extern const struct conf_enum conf_threads[];
extern const struct conf_enum conf_forms[];
extern const struct conf_enum conf_no_time[];

/* Room for the field of any row: words are parsed into it to be checked. */
union conf_scratch {
	int number;
	char *text;
	struct strlist list;
	struct conf_rekey rekey;
	struct conf_qos qos;
	int64_t room[CONF_FIELD_MAX / 8];
};

/* Caller frees. */
char *conf_lower(const char *keyword);

/* "Bad configuration option: keyword (why)": programs look for this line to
 * learn what an ssh can not do. ERR_UNSUPPORTED. */
int conf_unsupported_keyword(const struct conf_row *row, const char *why,
    const struct conf_location *at) must_check;

/* Functions for struct conf_type. */
void conf_clear_list(void *field);
int conf_format_list(const struct conf_row *row, const void *field,
    struct strlist *words) must_check;

/* As conf_import(), but it is an error if a row is missing, as in a message of
 * a program of another version. */
int conf_import_all(const struct conf_table *t, void *fields,
    struct rd *in) must_check;

#endif
