/* SPDX-License-Identifier: ISC */
/*
 * Inside of conf/: how rows of a keyword table are written, and what kinds
 * of values are made of. A file with a table says first what its fields are
 * in: #define FIELDS struct client_conf
 */
#ifndef HPN_CONF_CONF_IMPL_H
#define HPN_CONF_CONF_IMPL_H

#include "conf/conf.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define AT(field) .offset = offsetof(FIELDS, field)
#define FLAG(field, value) .type = &conf_flag, AT(field), .def = value
#define NUMBER(field, low, high, value)                                       \
	.type = &conf_int, AT(field), .min = low, .max = high, .def = value
#define TIME(field, value) .type = &conf_time, AT(field), .def = value
#define CHOICE(field, table, value)                                           \
	.type = &conf_choice, AT(field), .values = table, .def = value
#define TEXTUAL(field) .type = &conf_string, AT(field)
#define ALGS(field, kind) .type = &conf_algs, AT(field), .param = kind
#define LIST(field) .type = &conf_list, AT(field)
/* Only these values, since they tell what is the case. */
#define ONLY(list) .type = &conf_fixed, .def = list
#define OFF ONLY("no,false")
#define REFUSED .type = &conf_refused
#define DEPRECATED .type = &conf_deprecated
#define IGNORED .type = &conf_deprecated, .param = 1
#define STRUCTURE .type = &conf_structure

/* Values that both sides have. */
extern const struct conf_enum conf_families[];
extern const struct conf_enum conf_threads[];
extern const struct conf_enum conf_forms[];

/* Steps of struct conf_type. */
void conf_clear_string(void *field);
void conf_clear_list(void *field);
int conf_format_list(const struct conf_row *row, const void *field,
    struct strlist *words) must_check;

#endif
