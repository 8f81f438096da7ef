/* SPDX-License-Identifier: ISC */
/*
 * Scans of a server that answers from a script (scripted.h). Whatever it says,
 * groups and names come in ascending order, no name leads out of its directory,
 * and the scan ends. The first byte has options, the second one extensions of
 * the server, the rest is its script.
 */
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/scripted.h"
#include "xfer/sync/sync-scan.h"

enum { LINKS = 1, DIR_LINKS = 2, NAMES = 4, RECURSIVE = 8, ONE_DEVICE = 16,
	GIVE_UP = 32, RULES = 64, PIECES = 128 };

struct told {
	char group[WALK_PATH_MAX + 1], name[WALK_NAME_MAX + 1];
	bool any;
	unsigned count;
};

static void
check(struct told *t, const struct walk_item *item)
{
	t->count++;
	if (item->is_group) {
		if (item->path[0] == '/' || strstr(item->path, "//") != NULL ||
		    (t->any && walk_path_cmp(t->group, item->path) >= 0))
			abort();
		strcpy(t->group, item->path);
		t->name[0] = '\0';
		t->any = true;
		return;
	}
	if (!t->any || strcmp(t->name, item->name) >= 0 ||
	    strchr(item->name, '/') != NULL || strcmp(item->name, ".") == 0 ||
	    strcmp(item->name, "..") == 0)
		abort();
	if (item->mode > WALK_MODE_MAX || item->nsec > WALK_NSEC_MAX ||
	    item->size > INT64_MAX || item->kind >= WALK_KINDS)
		abort();
	strcpy(t->name, item->name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char rules[] = "-z\0+x\0-/y/f";
	static const char *const names[] = { "y/x", "x", "f", "y", "d/f" };
	static struct told told;
	struct rd in = rd_from(data, len);
	uint8_t how = rd_u8(&in);
	struct scripted v = { .extensions = rd_u8(&in),
		.piece = (how & PIECES) != 0 ? 7 : 1 << 16 };
	struct sync_scan_opts o = { .root = "t",
		.want = WALK_WANT_ALL & ~(unsigned)(WALK_AFTER |
		    ((how & ONE_DEVICE) != 0 ? 0 : WALK_ONE_DEVICE)),
		.recursive = how & RECURSIVE, .copy_links = how & LINKS,
		.copy_dirlinks = how & DIR_LINKS };
	struct sync_scan *c;
	struct walk_item item;
	int r;

	if ((how & NAMES) != 0) {
		o.names = names;
		o.n_names = ARRAY_LEN(names);
	}
	if ((how & RULES) != 0) {
		o.rules = rules;
		o.rules_len = sizeof rules;
	}
	told = (struct told){ .any = false };
	v.script = in;
	if (sftp_new(&v.sftp) != 0 || sync_scan_new(&c, v.sftp, &o) != 0)
		abort();
	sftp_attach(v.sftp, (struct xfer_carrier){ &scripted_ops, &v });
	while ((r = sync_scan_next(c, &item)) > 0) {
		if (r == 1)
			check(&told, &item);
		else if (sftp_step(v.sftp, false, -1) != 0)
			r = ERR_CLOSED; /* told by the next call, too */
		if ((how & GIVE_UP) != 0 && told.count >= 3)
			break;
	}
	(void)!sync_scan_top(c, &item);
	sync_scan_free(c);
	sftp_free(v.sftp);
	return 0;
}
