/* SPDX-License-Identifier: ISC */
#include "base/tree.h"

/* The pointer that leads to n, or to where it would be below `link`. */
static struct tree_node **
link_to(struct tree_node **link, const struct tree_node *n,
    tree_compare *compare)
{
	int order;

	while (*link != NULL && (order = compare(n, *link)) != 0)
		link = order < 0 ? &(*link)->less : &(*link)->more;
	return link;
}

/* Parts the nodes below `top`: n gets those before it and those after it. */
static void
part(struct tree_node *top, struct tree_node *n, tree_compare *compare)
{
	struct tree_node **less = &n->less, **more = &n->more;

	while (top != NULL)
		if (compare(top, n) < 0) {
			*less = top;
			less = &top->more;
			top = top->more;
		} else {
			*more = top;
			more = &top->less;
			top = top->less;
		}
	*less = *more = NULL;
}

void
tree_insert(struct tree_node **set, struct tree_node *n, uint32_t rank,
    tree_compare *compare)
{
	struct tree_node **link = set;

	n->rank = rank;
	while (*link != NULL && (*link)->rank >= rank)
		link = compare(n, *link) < 0 ? &(*link)->less : &(*link)->more;
	part(*link, n, compare);
	*link = n;
}

void
tree_remove(struct tree_node **set, struct tree_node *n, tree_compare *compare)
{
	struct tree_node **link = link_to(set, n, compare);
	struct tree_node *less = n->less, *more = n->more;

	/* All nodes of `less` come before those of `more`: joins the two. */
	while (less != NULL && more != NULL)
		if (less->rank >= more->rank) {
			*link = less;
			link = &less->more;
			less = less->more;
		} else {
			*link = more;
			link = &more->less;
			more = more->less;
		}
	*link = less != NULL ? less : more;
}

struct tree_node *
tree_find(struct tree_node *set, const struct tree_node *wanted,
    tree_compare *compare)
{
	return *link_to(&set, wanted, compare);
}

struct tree_node *
tree_first(struct tree_node *set)
{
	while (set != NULL && set->less != NULL)
		set = set->less;
	return set;
}
