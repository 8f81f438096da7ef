/* SPDX-License-Identifier: ISC */
/*
 * A queue holds what a sink did not take, as a list of pieces. So it grows and
 * shrinks without moving bytes, and uses about as much memory as it has bytes.
 * One free piece is kept for all queues of a connection.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "channels-internal.h"

/* PIECE_BYTES is small, because one unread byte keeps its whole piece alive. */
enum { PIECE_BYTES = 32 * 1024 };

struct queue_piece {
	struct queue_piece *next;
	size_t off, end;
	uint8_t data[PIECE_BYTES];
};

static struct queue_piece *
take_piece(struct queue_pool *pool)
{
	struct queue_piece *p = pool->spare;

	pool->spare = NULL;
	if (p == NULL && (p = malloc(sizeof *p)) == NULL)
		return NULL;
	p->next = NULL;
	p->off = p->end = 0;
	return p;
}

static void
give_piece(struct queue_pool *pool, struct queue_piece *p)
{
	if (pool->spare == NULL)
		pool->spare = p;
	else
		free(p);
}

int
queue_put(struct queue *q, struct queue_pool *pool, struct span s)
{
	struct queue_piece *last = q->last;
	size_t n;

	while (s.len > 0) {
		if (last == NULL || last->end == PIECE_BYTES) {
			if ((last = take_piece(pool)) == NULL)
				return ERR_NOMEM;
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
queue_consume(struct queue *q, struct queue_pool *pool, size_t len)
{
	struct queue_piece *p = q->first;

	ENSURE(len <= queue_front(q).len);
	if (len == 0)
		return;
	q->len -= len;
	p->off += len;
	if (p->off < p->end)
		return;
	q->first = p->next;
	if (q->first == NULL)
		q->last = NULL;
	give_piece(pool, p);
}

void
queue_clear(struct queue *q, struct queue_pool *pool)
{
	struct queue_piece *p, *next;

	for (p = q->first; p != NULL; p = next) {
		next = p->next;
		give_piece(pool, p);
	}
	*q = (struct queue){ 0 };
}

void
queue_pool_clear(struct queue_pool *pool)
{
	free(pool->spare);
	pool->spare = NULL;
}
