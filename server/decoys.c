/* SPDX-License-Identifier: ISC */
#include "server/decoys.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/libc.h"

enum {
	DES_LEN = 13,	  /* bytes of a traditional hash with salt */
	BCRYPT_HEAD = 7,  /* "$2b$12$" */
	SCRYPT_HEAD = 14, /* "$7$" and its costs; no '$' ends them */
};

static const char des_digits[] = "./0123456789abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool
decoy_is_hash(const char *field)
{
	return field[0] == '$' ||
	    (strlen(field) == DES_LEN && strspn(field, des_digits) == DES_LEN);
}

/* How many bytes of the field stand in front of its salt: those of "$method$"
 * or "$method$costs$". 0: the field does not have that form. */
static size_t
head_len(const char *field)
{
	size_t end = strlen(field);

	while (end > 0 && field[end - 1] != '$') /* skips the hash */
		end--;
	while (end > 0 && field[end - 1] == '$')
		end--;
	while (end > 0 && field[end - 1] != '$') /* skips the salt */
		end--;
	return end > 1 ? end : 0;
}

/* The salt consists of dots, which all methods accept. */
char *
decoy_setting(const char *field)
{
	const char *salt = "........$";
	size_t head;
	char *setting;

	if (!decoy_is_hash(field))
		return NULL;
	if (field[0] != '$')
		return xstrdup("..");
	head = head_len(field);
	if (str_has_prefix(field, "$2")) {
		head = BCRYPT_HEAD;
		salt = "......................";
	} else if (str_has_prefix(field, "$7$")) {
		head = SCRYPT_HEAD;
	}
	if (head == 0 || strlen(field) <= head)
		return NULL;
	xasprintf(&setting, "%.*s%s", (int)head, field, salt);
	return setting;
}

void
decoys_clear(struct decoys *d)
{
	strlist_clear(&d->settings);
	*d = (struct decoys){ 0 };
}

static void
add(struct decoys *d, const char *setting, uint64_t cost_us)
{
	d->cost_us[d->settings.n] = cost_us;
	xstrlist_add(&d->settings, setting);
}

/* The row of the account in the middle: the cheapest row such that at least
 * half of the accounts cost no more. */
static size_t
median_of(const struct decoy_use *uses, size_t n)
{
	uint64_t all = 0, below;
	size_t found = n;

	for (size_t i = 0; i < n; i++)
		all += uses[i].accounts;
	for (size_t i = 0; i < n; i++) {
		below = 0;
		for (size_t j = 0; j < n; j++)
			if (uses[j].cost_us <= uses[i].cost_us)
				below += uses[j].accounts;
		if (2 * below >= all &&
		    (found == n || uses[i].cost_us < uses[found].cost_us))
			found = i;
	}
	return found;
}

/* The row that every failed try hashes with first. */
static size_t
base_of(const struct decoy_use *uses, size_t n)
{
	size_t found = median_of(uses, n);

	for (size_t i = 0; i < n; i++)
		if (uses[i].is_first && uses[i].cost_us < uses[found].cost_us)
			found = i;
	return found;
}

void
decoys_choose(struct decoys *d, const struct decoy_use *uses, size_t n)
{
	const char *standard;
	uint64_t left_us;
	size_t base;

	*d = (struct decoys){ 0 };
	if (n == 0) {
		standard = libc_password_setting();
		add(d, standard != NULL ? standard : DECOY_STANDARD, 0);
		return;
	}
	base = base_of(uses, n);
	add(d, uses[base].setting, uses[base].cost_us);
	left_us = uses[base].cost_us / 2;
	for (size_t i = 0; i < n; i++) {
		d->dearest_us = MAX(d->dearest_us, uses[i].cost_us);
		if (i == base || d->settings.n == DECOY_METHODS_MAX ||
		    uses[i].cost_us == 0 || uses[i].cost_us > left_us)
			continue;
		add(d, uses[i].setting, uses[i].cost_us);
		left_us -= uses[i].cost_us;
	}
}

void
decoys_export(const struct decoys *d, struct buf *out)
{
	buf_put_u32(out, (uint32_t)d->settings.n);
	for (size_t i = 0; i < d->settings.n; i++) {
		buf_put_cstring(out, d->settings.v[i]);
		buf_put_u64(out, d->cost_us[i]);
	}
	buf_put_u64(out, d->dearest_us);
}

int
decoys_import(struct decoys *d, struct rd *in)
{
	uint32_t n = rd_u32(in);

	*d = (struct decoys){ 0 };
	if (n > DECOY_METHODS_MAX)
		rd_fail(in, ERR_LIMIT);
	for (uint32_t i = 0; i < n && rd_err(in) == 0; i++) {
		char *setting = rd_cstring(in, DECOY_SETTING_MAX);
		uint64_t cost_us = rd_u64(in);

		if (rd_err(in) == 0)
			add(d, setting, cost_us);
		free(setting);
	}
	d->dearest_us = rd_u64(in);
	return rd_err(in);
}
