/* SPDX-License-Identifier: ISC */
/* What hpnsync is asked for, in the words of rsync(1) and with its meanings. */
#ifndef HPN_XFER_SYNC_SYNC_OPTS_H
#define HPN_XFER_SYNC_SYNC_OPTS_H

#include <stdbool.h>
#include <stdint.h>

enum { SYNC_ANY_ID = -1 }; /* the id stays as it is at the source */

struct sync_chmod; /* rules of --chmod: xfer/rules/sync-chmod.h */

/* The purpose of the further directories. */
enum sync_dest {
	SYNC_DEST_NONE,
	SYNC_DEST_LINK,	   /* --link-dest: targets become links to files
			    * there */
	SYNC_DEST_COMPARE, /* --compare-dest: files that are there are not
			    * copied */
	SYNC_DEST_COPY,	   /* --copy-dest: files there serve as copies */
};

enum { SYNC_DESTS_MAX = 20 };

struct sync_opts {
	/* What is copied. */
	bool recursive;	      /* -r */
	bool dirs;	      /* -d: directories without what is in them */
	bool links;	      /* -l */
	bool copy_links;      /* -L */
	bool copy_dirlinks;   /* -k */
	bool keep_dirlinks;   /* -K */
	bool devices, specials; /* -D: both */
	bool one_device;      /* -x */
	bool prune_empty;     /* -m */
	struct {
		bool max_given;
		bool grows; /* --append-verify: only a target that is smaller
			     * than the source is written */
		uint64_t max, min;
	} size; /* of files, in bytes */

	/* What of each file. */
	bool perms, times, owner, group; /* -p -t -o -g */
	struct {
		bool xattrs, acls, executability; /* -X -A -E */
		bool recall; /* --recall: read files that lie on a tape */
		bool listed; /* only names of a list are scanned, so nothing
			      * tells of parts */
	} also;
	struct {
		bool dir_times, link_times; /* -O -J */
		bool owner_names; /* --numeric-ids */
	} omit;
	const struct sync_chmod *chmod;			/* NULL: none */
	/* SYNC_ANY_ID, or an id that all get: that implies owner, group. */
	int64_t chown_user, chown_group;

	/* Which files have changed. */
	bool update;	      /* -u */
	bool checksum;	      /* -c */
	bool size_only, ignore_times;
	bool existing, ignore_existing;
	uint32_t modify_window; /* seconds */

	/* What happens to the target. */
	bool in_place;
	bool backup;
	const char *backup_dir; /* below the target; NULL: beside the file */
	const char *suffix;	/* of backups; "~" without backup_dir */
	struct {
		enum sync_dest dest;
		bool hard_links; /* -H */
		/* -y, --detect-renames: other files of the target serve as a
		 * basis for new files. */
		bool similar, renamed;
	} one_file; /* options for files that have several names, now or one
		     * after the other */
	bool remove_source;
	bool delete, delete_excluded, ignore_errors, force;
	bool max_delete_given;
	uint64_t max_delete;

	bool dry_run;
};

#endif
