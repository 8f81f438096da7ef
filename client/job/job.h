/* SPDX-License-Identifier: ISC */
/*
 * A job of hpnsync: one run in parts, by processes on one machine or several
 * that share a directory (docs/SYNC.md, "Shards"). --plan compares both trees
 * and divides the files that are to be copied into lists; --shard copies those
 * of one list; --finish is the run itself, which finds most of it done.
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
	JOB_NAME_MAX = 32, /* of a file in its directory */
};

struct job_shard {
	uint8_t digest[JOB_DIGEST]; /* of its list */
	uint64_t names, bytes;
};

/* What the file `plan` of a job's directory says. */
struct job_plan {
	char *cwd; /* where the names of argv begin */
	struct strlist argv;
	struct job_shard *shards; /* owned */
	uint32_t n;
	uint8_t digest[JOB_DIGEST]; /* of the file */
};

/* Makes the directory of a new job, for its owner only, and opens it. The error
 * is that of errno. */
int job_make(const char *path, int *dir) must_check;
/* Opens that of a job. ERR_PERMISSION: others than this user can change it. */
int job_open(const char *path, int *dir) must_check;
/* Opens a file of it; the mode of a new one is its owner's only. -1: errno. */
int job_file(int dir, const char *name, int flags);
/* Writes a file in one step, in place of one that is there. */
int job_put(int dir, const char *name, const void *p, size_t len) must_check;
/* Writes the plan, by which the directory becomes a job. */
int job_put_plan(int dir, const struct job_plan *p) must_check;
/* ERR_FORMAT and the like: it is no plan, another version's, or changed. */
int job_get_plan(int dir, struct job_plan *p) must_check;
void job_clear_plan(struct job_plan *p);
/* The digest of what is in a file. */
int job_digest(int fd, uint8_t digest[JOB_DIGEST]) must_check;
/* Marks a shard as done, with its exit status; and is it that, by this very
 * plan? */
int job_mark(int dir, const struct job_plan *p, uint32_t shard,
    int status) must_check;
bool job_is_marked(int dir, const struct job_plan *p, uint32_t shard);
/* The name of a shard's list. */
void job_list_name(char name[JOB_NAME_MAX], uint32_t shard);

/* job-divide.c: divides the records of a spool into lists, by bytes, and fills
 * in p->shards. */
int job_divide(int dir, FILE *spool, struct job_plan *p) must_check;
/* Appends a record to the spool. */
int job_spool(FILE *spool, const char *path, uint64_t size) must_check;

#endif
