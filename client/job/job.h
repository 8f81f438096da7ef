/* SPDX-License-Identifier: ISC */
/*
 * A job of hpnsync: one run in parts, by processes on one machine or on several
 * that share a directory (docs/SYNC.md, "Shards"). --plan compares both trees
 * and divides the files that are to be copied into lists; --shard copies the
 * files of one list; --finish is an ordinary run, which finds most of the work
 * done.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_JOB_JOB_H
#define HPN_CLIENT_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

enum {
	JOB_SHARDS_MAX = 4096,
	JOB_DIGEST = 32, /* bytes of SHA-256 */
	JOB_NAME_MAX = 32, /* bytes of the name of a file in a job's
			    * directory */
};

struct job_shard {
	uint8_t digest[JOB_DIGEST]; /* of its list */
	uint64_t names, bytes;
};

/* What the file `plan` of a job's directory says. */
struct job_plan {
	char *cwd; /* the directory that relative names in argv start from */
	struct strlist argv;
	struct job_shard *shards; /* owned */
	uint32_t n;
	uint8_t digest[JOB_DIGEST]; /* of the file */
};

/* Makes the directory of a new job, for its owner only, and opens it. Errors
 * are ERR_*, with errno if ERR_SYSTEM. */
int job_make(const char *path, int *dir) must_check;
/* Opens the directory of a job. ERR_PERMISSION: users other than this one can
 * change it. */
int job_open(const char *path, int *dir) must_check;
/* Opens a file of the job's directory; a new one gets a mode for its owner
 * only. -1 with errno. */
int job_file(int dir, const char *name, int flags);
/* True if errno tells that a file is not there (any more): on NFS one that
 * another machine has removed may be stale. */
bool job_is_gone(int error);
/* Writes a file of the job's directory in one step; it replaces an old one.
 * After an error there is nothing of it, and errno is kept. */
int job_put(int dir, const char *name, const void *p, size_t len) must_check;
/* Writes the file `plan`, which makes the directory a job. */
int job_put_plan(int dir, const struct job_plan *p) must_check;
/* Reads the file `plan`. ERR_FORMAT and the like: it is no plan, has another
 * version, or was changed. */
int job_get_plan(int dir, struct job_plan *p) must_check;
void job_clear_plan(struct job_plan *p);
/* Computes the SHA-256 of a file's content. */
int job_digest(int fd, uint8_t digest[JOB_DIGEST]) must_check;
/* job_mark() notes that a shard was carried out, with its exit status.
 * job_is_marked() tells whether it was, by this very plan. */
int job_mark(int dir, const struct job_plan *p, uint32_t shard,
    int status) must_check;
bool job_is_marked(int dir, const struct job_plan *p, uint32_t shard);
/* Writes the name of the list of a shard, counted from 1. */
void job_list_name(char name[JOB_NAME_MAX], uint32_t shard);

/* job-divide.c: divides the records of the spool into lists, which it writes,
 * and fills in p->shards. */
int job_divide(int dir, FILE *spool, struct job_plan *p) must_check;
/* Appends a record, a path and the size of its file, to the spool. */
int job_spool(FILE *spool, const char *path, uint64_t size) must_check;

#endif
