/* SPDX-License-Identifier: ISC */
/*
 * Plans for tests: a list of orders that is followed by a transfer with a host
 * in memory, both ends in one directory. `from` has the sources and `to` the
 * targets, in each direction.
 */
#ifndef HPN_ORDERS_HOST_H
#define HPN_ORDERS_HOST_H

#include "regress/unit/transfer-host.h"

enum { PLAN_MAX = 8192, PLAN_OLD = 1000, PLAN_NEW = 2000 };

struct plan {
	bool up;
	struct xfer_order orders[PLAN_MAX];
	size_t n, at;
	unsigned later; /* LATER is said so often before each order */
	unsigned waits;
	int end;	/* what follows the last one */
	/* What done() was told, by id, which is the place in orders. */
	unsigned ended[PLAN_MAX];
	bool ok[PLAN_MAX];
	uint64_t bytes[PLAN_MAX];
	struct strlist notes;
	struct local_tree *tree;
	struct local_dir *root; /* that local paths are below; NULL: none */
	struct sftp_attrs attrs[PLAN_MAX], was[PLAN_MAX];
	struct xfer_exact exact[PLAN_MAX];
	char *texts[3 * PLAN_MAX]; /* owned */
	size_t n_texts;
};

/* One plan, that of the test which runs. Clears what an earlier one has left.
 * below: local paths are below the end that is local. */
struct plan *plan_begin(bool up, bool below);
/* Adds an order for `name` in both ends, with the attributes that the source
 * has now, if it has any; flags: what of them is set. */
struct xfer_order *plan_add(enum xfer_order_kind kind, const char *name,
    uint32_t flags);
/* The target of the last order is what it is now, or nothing. */
void plan_was(struct xfer_order *o, const char *name);
/* Follows it. 0, -1 if something failed, or ERR_*. Each order that was taken
 * must have ended once. */
int plan_run(struct host *h, struct xfer_opts opts);
void plan_end(void);

/* Hosts of all kinds: our server; one as OpenSSH's; one that renames as SFTP 3
 * does; one that keeps no order. */
enum { PLAN_HOSTS = 4 };
struct host plan_host(int kind);

/* Files, by their whole paths. */
void plan_file(const char *path, const char *text, int64_t mtime, mode_t mode);
void plan_dir(const char *path, mode_t mode);
void plan_link(const char *path, const char *text);
bool plan_holds(const char *path, const char *text);
mode_t plan_mode(const char *path);
bool plan_exists(const char *path);
/* Removes both ends. */
void plan_clean(void);

#endif
