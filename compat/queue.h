/* SPDX-License-Identifier: ISC */
/*
 * Lists with two ends, whose links are in their elements: the part of the BSDs'
 * <sys/queue.h> that this tree uses, because not every C library has that
 * header. Nothing is allocated; an element is in as many lists as it has links
 * (TAILQ_ENTRY). A list of zeros is an empty one.
 *
 * TAILQ_REMOVE leaves the links of what it takes out as they are, and
 * TAILQ_FOREACH reads them after its body: who removes there keeps TAILQ_NEXT
 * first. The name of a list's type, which TAILQ_LAST and TAILQ_PREV are given,
 * is for those other headers only.
 *
 * Threads: one at a time for each list.
 */
#ifndef HPN_COMPAT_QUEUE_H
#define HPN_COMPAT_QUEUE_H

#include <stddef.h>

#define TAILQ_HEAD(name, type) \
	struct name { \
		struct type *first, *last; \
	}

#define TAILQ_ENTRY(type) \
	struct { \
		struct type *next, *prev; \
	}

#define TAILQ_INIT(list) ((void)((list)->first = (list)->last = NULL))
#define TAILQ_EMPTY(list) ((list)->first == NULL)
#define TAILQ_FIRST(list) ((list)->first)
#define TAILQ_LAST(list, name) ((list)->last)
#define TAILQ_NEXT(element, entry) ((element)->entry.next)
#define TAILQ_PREV(element, name, entry) ((element)->entry.prev)

#define TAILQ_FOREACH(element, list, entry) \
	for ((element) = TAILQ_FIRST(list); (element) != NULL; \
	    (element) = TAILQ_NEXT(element, entry))

#define TAILQ_INSERT_HEAD(list, element, entry) \
	do { \
		(element)->entry.prev = NULL; \
		(element)->entry.next = (list)->first; \
		if ((list)->first == NULL) \
			(list)->last = (element); \
		else \
			(list)->first->entry.prev = (element); \
		(list)->first = (element); \
	} while (0)

#define TAILQ_INSERT_TAIL(list, element, entry) \
	do { \
		(element)->entry.next = NULL; \
		(element)->entry.prev = (list)->last; \
		if ((list)->last == NULL) \
			(list)->first = (element); \
		else \
			(list)->last->entry.next = (element); \
		(list)->last = (element); \
	} while (0)

#define TAILQ_REMOVE(list, element, entry) \
	do { \
		if ((element)->entry.prev == NULL) \
			(list)->first = (element)->entry.next; \
		else \
			(element)->entry.prev->entry.next = \
			    (element)->entry.next; \
		if ((element)->entry.next == NULL) \
			(list)->last = (element)->entry.prev; \
		else \
			(element)->entry.next->entry.prev = \
			    (element)->entry.prev; \
	} while (0)

#endif
