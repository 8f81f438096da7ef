/* SPDX-License-Identifier: ISC */
/*
 * Memory helpers. Where an engine serves others, running out of memory is an
 * error that it returns. The x-functions end the process: for programs, and for
 * rooms where none can go on (client/, server/, conf/, gss/, keytools/, and
 * xfer/sync, the plan of one program); layers.sh has the list.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_MEM_H
#define HPN_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Ends the process, telling the place, if cond is false: an error of this
 * program. Never for what a peer has sent. */
#define ENSURE(cond)                                                          \
	((cond) ? (void)0 : mem_ensure_failed(#cond, __FILE__, __LINE__))
_Noreturn void mem_ensure_failed(const char *what, const char *file, int line);

/* Are both areas equal? The time depends on len only, not on their content. */
bool mem_equal_ct(const void *a, const void *b, size_t len);
/* Wipes, then frees. p may be NULL. */
void mem_free_secret(void *p, size_t len);

/* Gives freed memory back to the system, as far as that can be: to be called
 * after much was freed. */
void mem_give_back(void);

/* The functions whose names begin with x end the process when memory runs out.
 * The caller frees the result. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrecallocarray(void *p, size_t old_count, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
int xasprintf(char **out, const char *fmt, ...) printf_like(2, 3);

#endif
