/* SPDX-License-Identifier: ISC */
/*
 * Sorted sets whose nodes are in their elements: nothing is allocated, and an
 * element is in as many sets as it has nodes. A set is a pointer to its topmost
 * node, NULL when it is empty.
 *
 * A node stands above those of lower rank, and ranks are random: so a set is as
 * deep as the logarithm of its size, whatever the order that elements come in,
 * as long as nobody who chooses them can foresee the ranks.
 *
 * Threads: one at a time for each set.
 */
#ifndef HPN_BASE_TREE_H
#define HPN_BASE_TREE_H

#include <stddef.h>
#include <stdint.h>

struct tree_node {
	struct tree_node *less, *more;
	uint32_t rank;
};

/* Compares two elements. Below 0: a comes first; 0: they are the same. */
typedef int tree_compare(const struct tree_node *a, const struct tree_node *b);

/* Adds n. The set must have no element that compares as the same. */
void tree_insert(struct tree_node **set, struct tree_node *n, uint32_t rank,
    tree_compare *compare);
/* Removes n, which must be in the set, and have been put there by the same
 * comparison. */
void tree_remove(struct tree_node **set, struct tree_node *n,
    tree_compare *compare);
/* The element that compares as the same as wanted; NULL: there is none. */
struct tree_node *tree_find(struct tree_node *set,
    const struct tree_node *wanted, tree_compare *compare);
/* The element that comes first; NULL: the set is empty. */
struct tree_node *tree_first(struct tree_node *set);

#endif
