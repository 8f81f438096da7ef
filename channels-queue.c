/* SPDX-License-Identifier: ISC */
/*
 * What a sink did not take: a row of pieces, so that it grows and drains
 * without being moved, and takes the memory of what is in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "channels-internal.h"

enum { PIECE_BYTES = 128 * 1024 };

struct queue_piece {
	struct queue_piece *next;
	size_t off, end;
	uint8_t data[PIECE_BYTES];
};

int
queue_put(struct queue *q, struct span s)
{
	struct queue_piece *last = q->last;
	size_t n;

	while (s.len > 0) {
		if (last == NULL || last->end == PIECE_BYTES) {
			if ((last = malloc(sizeof *last)) == NULL)
				return ERR_NOMEM;
			last->next = NULL;
			last->off = last->end = 0;
			if (q->last != NULL)
				q->last->next = last;
			else
				q->first = last;
			q->last = last;
		}
		n = MIN(s.len, PIECE_BYTES - last->end);
		memcpy(last->data + last->end, s.p, n);
		last->end += n;
		q->len += n;
		s = (struct span){ s.p + n, s.len - n };
	}
	return 0;
}

struct span
queue_front(const struct queue *q)
{
	const struct queue_piece *p = q->first;

	return q->len == 0 ? (struct span){ NULL, 0 } :
	    (struct span){ p->data + p->off, p->end - p->off };
}

void
queue_consume(struct queue *q, size_t len)
{
	struct queue_piece *p = q->first;

	ENSURE(len <= queue_front(q).len);
	if (len == 0)
		return;
	q->len -= len;
	p->off += len;
	if (p->off < p->end)
		return;
	if (p->next == NULL) {
		p->off = p->end = 0; /* kept for what comes next */
		return;
	}
	q->first = p->next;
	free(p);
}

void
queue_clear(struct queue *q)
{
	struct queue_piece *p, *next;

	for (p = q->first; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	*q = (struct queue){ 0 };
}
