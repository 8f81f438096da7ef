/* SPDX-License-Identifier: ISC */
/* Writes the run's events for programs (--json), but for those of files, which
 * the progress writes. hpnsync(1) has the schema. */
#include "client/sync/sync-run.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "xfer/progress.h"

static const char *const kinds[WALK_KINDS] = {
	[WALK_UNKNOWN] = "unknown",
	[WALK_FILE] = "file",
	[WALK_DIR] = "dir",
	[WALK_LINK] = "link",
	[WALK_FIFO] = "fifo",
	[WALK_CHAR] = "device",
	[WALK_BLOCK] = "device",
	[WALK_SOCKET] = "socket",
};

static void
end_event(struct sync_run *run, struct buf *b)
{
	buf_put(b, "}\n", 2);
	progress_event(run->args.xfer.progress, buf_data(b), buf_len(b));
	buf_clear(b);
}

void
sync_event_item(struct sync_run *run, const char *letters, const char *path,
    const struct walk_item *source)
{
	size_t len = strlen(path);
	bool is_dir = len > 1 && path[len - 1] == '/';
	char *name = xstrndup(path, is_dir ? len - 1 : len);
	struct buf b;

	buf_init(&b);
	buf_printf(&b, "{\"event\":\"%s\"", source != NULL ? "item" : "delete");
	json_put_text(&b, "path", name);
	if (source != NULL) {
		json_put_text(&b, "letters", letters);
		json_put_text(&b, "kind", kinds[source->kind]);
	} else {
		json_put_bool(&b, "dir", is_dir);
	}
	end_event(run, &b);
	free(name);
}

void
sync_event_plan(void *arg, const struct sync_counts *c)
{
	struct buf b;

	buf_init(&b);
	buf_printf(&b, "{\"event\":\"plan\"");
	json_put_number(&b, "entries", c->entries);
	json_put_number(&b, "files", c->files);
	json_put_number(&b, "size", c->bytes);
	json_put_number(&b, "copies", c->to_copy);
	json_put_number(&b, "copy_size", c->to_copy_bytes);
	json_put_number(&b, "deletes", c->to_delete);
	end_event(arg, &b);
}
