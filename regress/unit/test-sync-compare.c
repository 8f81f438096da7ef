/* SPDX-License-Identifier: ISC */
/* What is done for one name, and the letters for it: each as rsync 3.5.0 said,
 * asked for the same pair. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/rules/sync-chmod.h"
#include "xfer/sync/sync-compare.h"

enum { OLD = 1000000000, NEW = 1100000000 };

static const uint8_t one[WALK_DIGEST_LEN] = { 1 };
static const uint8_t other[WALK_DIGEST_LEN] = { 2 };

/* Options, as letters of a short form of rsync's. */
static struct sync_opts
options(const char *flags)
{
	struct sync_opts o = { .chown_user = SYNC_ANY_ID,
		.chown_group = SYNC_ANY_ID };

	for (; *flags != '\0'; flags++)
		switch (*flags) {
		case 'a':
			o.recursive = o.links = o.perms = o.times = true;
			o.owner = o.group = o.devices = o.specials = true;
			break;
		case 'r': o.recursive = true; break;
		case 'd': o.dirs = true; break;
		case 'l': o.links = true; break;
		case 't': o.times = true; break;
		case 'p': o.perms = true; break;
		case 'E': o.also.executability = true; break;
		case 'O': o.omit.dir_times = true; break;
		case 'J': o.omit.link_times = true; break;
		case 'c': o.checksum = true; break;
		case 'I': o.ignore_times = true; break;
		case 'u': o.update = true; break;
		case 's': o.size_only = true; break;
		case 'e': o.existing = true; break;
		case 'i': o.ignore_existing = true; break;
		case 'w': o.modify_window = 5; break;
		case '3': o.size.max_given = true; o.size.max = 3; break;
		case '2': o.size.min = 2; break;
		case 'C': o.chown_user = 1; o.chown_group = 2; break;
		default: fail_msg("no such option: %c", *flags);
		}
	return o;
}

/* An entry from its kind ("f", "d", "l", "p"), and after blanks what is special
 * of it: "s2" the size, "T" and "t3" a later time, by much and by 3 s, "m600"
 * the mode, "o1" and "g2" the owners, "x" another digest, "n" none, "=b" a
 * link's text. */
static struct walk_item
item(const char *words)
{
	struct walk_item it = { .mode = 0755, .mtime = OLD, .text = "a" };

	it.kind = *words == 'f' ? WALK_FILE : *words == 'd' ? WALK_DIR :
	    *words == 'l' ? WALK_LINK : WALK_FIFO;
	if (it.kind == WALK_FILE) {
		it.mode = 0644;
		it.size = 1;
		it.digest = one;
	}
	while ((words = strchr(words, ' ')) != NULL) {
		const char *value = ++words + 1;
		uint32_t n = (uint32_t)strtoul(value, NULL,
		    *words == 'm' ? 8 : 10);

		switch (*words) {
		case 's': it.size = n; break;
		case 'T': it.mtime = NEW; break;
		case 't': it.mtime = OLD + n; break;
		case 'm': it.mode = n; break;
		case 'o': it.uid = n; break;
		case 'g': it.gid = n; break;
		case 'x': it.digest = other; break;
		case 'n': it.digest = NULL; break;
		case '=': it.text = value; break;
		default: fail_msg("no such word: %s", words);
		}
	}
	return it;
}

/* No target: there is none. No letters: rsync says nothing. */
static const struct row {
	const char *flags;
	const char *source, *target; /* as item() has them */
	const char *letters;
	enum sync_action action;
} rows[] = {
	{ "a", "f", NULL, ">f+++++++++", SYNC_COPY },
	{ "a", "l", NULL, "cL+++++++++", SYNC_MAKE_LINK },
	{ "a", "d", NULL, "cd+++++++++", SYNC_MAKE_DIR },
	{ "a", "f", "f T", ">f..t......", SYNC_COPY },
	{ "r", "f", "f T", ">f..T......", SYNC_COPY },
	{ "a", "f s2", "f", ">f.s.......", SYNC_COPY },
	{ "r", "f s2", "f", ">f.sT......", SYNC_COPY },
	{ "a", "f s2", "f T", ">f.st......", SYNC_COPY },
	{ "aI", "f", "f", ">f.........", SYNC_COPY },
	{ "rI", "f", "f", ">f..T......", SYNC_COPY },
	{ "as", "f", "f T", ".f..t......", SYNC_ATTRS },
	{ "rs", "f", "f T", NULL, SYNC_NOTHING },
	{ "ac", "f", "f T", ".f..t......", SYNC_ATTRS },
	{ "ac", "f", "f x", ">fc........", SYNC_COPY },
	{ "ac", "f", "f n", ">fc........", SYNC_COPY },
	{ "ac", "f n", "f n", ">fc........", SYNC_COPY },
	{ "acs", "f", "f x", ">fc........", SYNC_COPY },
	{ "ac", "f", "f s3", ">fcs.......", SYNC_COPY },
	{ "rc", "f", "f s3 x", ">fcsT......", SYNC_COPY },
	{ "acI", "f", "f", NULL, SYNC_NOTHING },
	{ "a", "f m600", "f", ".f...p.....", SYNC_ATTRS },
	{ "a", "f m600", "f T", ">f..tp.....", SYNC_COPY },
	{ "r", "f m600", "f", NULL, SYNC_NOTHING },
	{ "a", "f o1 g2", "f", ".f....og...", SYNC_ATTRS },
	{ "rC", "f", "f", ".f....og...", SYNC_ATTRS },
	{ "rtE", "f m700", "f", ".f...p.....", SYNC_ATTRS },
	{ "rtE", "f", "f m755", ".f...p.....", SYNC_ATTRS },
	{ "rtE", "f m711", "f m755", NULL, SYNC_NOTHING },
	{ "a", "l", "l =b", "cLc........", SYNC_MAKE_LINK },
	{ "a", "l", "l =b T", "cLc.t......", SYNC_MAKE_LINK },
	{ "rl", "l", "l =b", "cLc.T......", SYNC_MAKE_LINK },
	{ "aJ", "l", "l =b", "cLc.t......", SYNC_MAKE_LINK },
	{ "a", "l", "l T", ".L..t......", SYNC_ATTRS },
	{ "rl", "l", "l T", NULL, SYNC_NOTHING },
	{ "aJ", "l", "l T", NULL, SYNC_NOTHING },
	{ "a", "l o1 g2", "l", ".L....og...", SYNC_ATTRS },
	{ "r", "l", NULL, NULL, SYNC_SKIP },
	{ "r", "l", "f", NULL, SYNC_SKIP },
	{ "a", "p", NULL, NULL, SYNC_SKIP },
	{ "t", "d", NULL, NULL, SYNC_SKIP },
	{ "d", "d", NULL, "cd+++++++++", SYNC_MAKE_DIR },
	{ "a", "l", "f", "cL+++++++++", SYNC_MAKE_LINK },
	{ "a", "f", "l", ">f+++++++++", SYNC_COPY },
	{ "a", "f", "d", ">f+++++++++", SYNC_COPY },
	{ "a", "d", "f", "cd+++++++++", SYNC_MAKE_DIR },
	{ "a", "d", "d T", ".d..t......", SYNC_ATTRS },
	{ "r", "d", "d T", NULL, SYNC_NOTHING },
	{ "aO", "d", "d T", NULL, SYNC_NOTHING },
	{ "aO", "d m700", "d T", ".d...p.....", SYNC_ATTRS },
	{ "au", "f s2", "f T", NULL, SYNC_NOTHING },
	{ "au", "f m600", "f T", NULL, SYNC_NOTHING },
	{ "au", "f T", "f s2", ">f.st......", SYNC_COPY },
	{ "au", "f s2", "f", ">f.s.......", SYNC_COPY },
	{ "au", "f", "l T", ">f+++++++++", SYNC_COPY },
	{ "au", "l", "l =b T", "cLc.t......", SYNC_MAKE_LINK },
	{ "aw", "f", "f t5", NULL, SYNC_NOTHING },
	{ "aw", "f", "f t6", ">f..t......", SYNC_COPY },
	{ "auw", "f s2", "f t3", NULL, SYNC_NOTHING },
	{ "auw", "f s2 t4", "f", NULL, SYNC_NOTHING },
	{ "auw", "f s2 t5", "f", ">f.s.......", SYNC_COPY },
	{ "ae", "f", NULL, NULL, SYNC_NOTHING },
	{ "ae", "d", NULL, NULL, SYNC_NOTHING },
	{ "ae", "f s2", "f", ">f.s.......", SYNC_COPY },
	{ "ai", "f", NULL, ">f+++++++++", SYNC_COPY },
	{ "ai", "f s2", "f", NULL, SYNC_NOTHING },
	{ "ai", "l", "l =b", NULL, SYNC_NOTHING },
	{ "ai", "d", "f", NULL, SYNC_NOTHING },
	{ "ai", "d", "d T", ".d..t......", SYNC_ATTRS },
	{ "a3", "f s4", NULL, NULL, SYNC_NOTHING },
	{ "a3", "f s3", NULL, ">f+++++++++", SYNC_COPY },
	{ "a2", "f", "f s3", NULL, SYNC_NOTHING },
	{ "a2", "f s2", NULL, ">f+++++++++", SYNC_COPY },
};

static const struct sync_ends root_ends = { .target_is_root = true,
	.umask_target = 022 };

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		struct sync_opts o = options(r->flags);
		struct walk_item source = item(r->source);
		struct walk_item target = item(r->target != NULL ?
		    r->target : "f");
		struct sync_decision d = sync_decide(&o, &root_ends, &source,
		    r->target != NULL ? &target : NULL);
		char letters[SYNC_ITEM_LEN + 1];

		sync_itemise(&d, false, &source, letters);
		if (d.action != r->action || (r->letters != NULL &&
		    strcmp(letters, r->letters) != 0))
			fail_msg("row %zu, -%s: %s, action %d", i, r->flags,
			    letters, (int)d.action);
	}
}

static void
test_upload(void **state)
{
	const struct walk_item file = item("f");
	struct sync_opts o = options("a");
	struct sync_decision d = sync_decide(&o, &root_ends, &file, NULL);
	char letters[SYNC_ITEM_LEN + 1];

	(void)state;
	sync_itemise(&d, true, &file, letters);
	assert_string_equal(letters, "<f+++++++++");
	assert_true(d.is_new);
	assert_false(d.replaces_kind);
}

static uint32_t
mode_of(const char *flags, const struct walk_item *source,
    const struct walk_item *target)
{
	struct sync_opts o = options(flags);

	return sync_decide(&o, &root_ends, source, target).mode;
}

static void
test_modes(void **state)
{
	const struct walk_item f = item("f m4711"), d = item("d m2777");
	const struct walk_item old = item("f m640");
	struct sync_opts o = options("rp");
	const char *why;

	(void)state;
	assert_int_equal(mode_of("rtE", &f, NULL), 0711);
	assert_int_equal(mode_of("rtE", &f, &old), 0750);
	assert_int_equal(mode_of("rt", &f, &old), 0640);
	assert_int_equal(mode_of("r", &d, NULL), 0755);
	assert_int_equal(mode_of("rp", &d, NULL), 02777);
	/* What another kind had does not count. */
	assert_int_equal(mode_of("rE", &d, &old), 0755);

	struct sync_chmod *rules = sync_chmod_new(022);
	assert_non_null(rules);
	assert_int_equal(sync_chmod_add(rules, "D700,F600", &why), 0);
	o.chmod = rules;
	assert_int_equal(sync_decide(&o, &root_ends, &f, &old).mode, 0600);
	assert_int_equal(sync_decide(&o, &root_ends, &d, NULL).mode, 0700);
	o.perms = false;
	assert_int_equal(sync_decide(&o, &root_ends, &f, &old).mode, 0640);
	sync_chmod_free(rules);
}

static void
test_owners(void **state)
{
	const struct walk_item f = item("f o5 g6"), old = item("f");
	const uint32_t groups[] = { 4, 6 };
	struct sync_opts o = options("a");
	struct sync_ends user = { .groups = groups, .n_groups = 1 };
	struct sync_decision d = sync_decide(&o, &root_ends, &f, NULL);

	(void)state;
	assert_true(d.sets_owner && d.sets_group);
	assert_int_equal(d.uid, 5);
	assert_int_equal(d.gid, 6);
	/* Others than root keep their own, and give to their groups only. */
	d = sync_decide(&o, &user, &f, &old);
	assert_false(d.sets_owner || d.sets_group);
	assert_int_equal(d.action, SYNC_NOTHING);
	user.n_groups = 2;
	d = sync_decide(&o, &user, &f, &old);
	assert_true(d.sets_group);
	assert_int_equal(d.differs, SYNC_DIFFERS_GROUP);
}

static void
test_nanoseconds(void **state)
{
	static const struct {
		uint32_t source, target;
		bool same;
	} times[] = { { 123456789, 123456789, true },
		{ 123456789, 123456700, true }, { 123456789, 120000000, true },
		{ 123456789, 0, true }, { 123456789, 123456780, false },
		{ 123456789, 130000000, false }, { 0, 1, false } };
	struct sync_ends ends = root_ends;
	struct sync_opts o = options("a");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct walk_item s = item("f"), t = s;

		s.nsec = times[i].source;
		t.nsec = times[i].target;
		ends.ns = true;
		assert_int_equal(sync_decide(&o, &ends, &s, &t).action,
		    times[i].same ? SYNC_NOTHING : SYNC_COPY);
		ends.ns = false;
		assert_int_equal(sync_decide(&o, &ends, &s, &t).action,
		    SYNC_NOTHING);
	}
}

static void
test_far_times(void **state)
{
	struct walk_item s = item("f"), t = s;
	struct sync_opts o = options("au");

	(void)state;
	s.mtime = INT64_MIN;
	t.mtime = INT64_MAX;
	assert_int_equal(sync_decide(&o, &root_ends, &s, &t).action,
	    SYNC_NOTHING);
	assert_int_equal(sync_decide(&o, &root_ends, &t, &s).action, SYNC_COPY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_upload),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_nanoseconds),
		cmocka_unit_test(test_far_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
