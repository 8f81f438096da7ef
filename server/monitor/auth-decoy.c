/* SPDX-License-Identifier: ISC */
#include "server/monitor/auth-decoy.h"

#include <crypt.h>
#include <shadow.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/libc.h"

enum {
	DES_LEN = 13,	  /* of the traditional hash and its salt */
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

/* Bytes in front of the salt: those of "$method$" or "$method$costs$". 0: the
 * field does not have that form. */
static size_t
head_len(const char *field)
{
	size_t end = strlen(field);

	while (end > 0 && field[end - 1] != '$') /* the hash */
		end--;
	while (end > 0 && field[end - 1] == '$')
		end--;
	while (end > 0 && field[end - 1] != '$') /* the salt */
		end--;
	return end > 1 ? end : 0;
}

/* The salt is made of dots, which all methods accept. */
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

uint64_t
decoy_cpu_us(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t us = 0;
	struct rusage r;

	for (size_t i = 0; i < ARRAY_LEN(whose); i++) {
		if (getrusage(whose[i], &r) == -1)
			continue;
		us += (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) *
		    1000000;
		us += (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
	}
	return us;
}

static void
hash(const char *password, const char *setting)
{
	struct crypt_data *data = xcalloc(1, sizeof *data);

	(void)crypt_r(password, setting, data);
	mem_free_secret(data, sizeof *data);
}

/* Collects one setting for each method that accounts of the file use. If there
 * is none, the setting that new passwords get. */
static void
collect(FILE *shadow, struct strlist *settings)
{
	const struct spwd *sp;
	const char *standard;
	char *setting;

	for (int i = 0; shadow != NULL && i < DECOY_ACCOUNTS_MAX &&
	    settings->n < DECOY_METHODS_MAX; i++) {
		if ((sp = fgetspent(shadow)) == NULL)
			break;
		setting = decoy_setting(sp->sp_pwdp);
		if (setting != NULL && !strlist_has(settings, setting) &&
		    strlist_add(settings, setting) != 0)
			fatal("out of memory");
		free(setting);
	}
	if (settings->n > 0)
		return;
	standard = libc_password_setting();
	if (strlist_add(settings, standard != NULL ? standard : "$6$....$") !=
	    0)
		fatal("out of memory");
}

void
decoys_load(struct decoys *d, FILE *shadow)
{
	collect(shadow, &d->settings);
	for (size_t i = 0; i < d->settings.n; i++) {
		uint64_t before = decoy_cpu_us();

		hash("", d->settings.v[i]);
		d->cost_us[i] = decoy_cpu_us() - before;
	}
}

void
decoys_load_system(struct decoys *d)
{
	FILE *shadow = fopen(SHADOW, "re");

	decoys_load(d, shadow);
	if (shadow != NULL)
		fclose(shadow);
}

void
decoys_clear(struct decoys *d)
{
	strlist_clear(&d->settings);
	*d = (struct decoys){ 0 };
}

/* Index in d->settings of the field's method. A method that is not among them
 * counts as the first. settings.n if the field holds no hash. */
static size_t
index_of(const struct decoys *d, const char *field)
{
	const struct strlist *settings = &d->settings;
	char *own = field != NULL ? decoy_setting(field) : NULL;
	size_t i;

	if (own == NULL)
		return settings->n;
	for (i = settings->n; i-- > 1;)
		if (strcmp(settings->v[i], own) == 0)
			break;
	free(own);
	return i;
}

unsigned
decoys_done(const struct decoys *d, const char *field, uint64_t spent_us,
    unsigned max)
{
	size_t i = index_of(d, field);
	uint64_t cost_us, count;

	if (i == d->settings.n)
		return 0;
	cost_us = MAX(d->cost_us[i], (uint64_t)1);
	count = (spent_us + cost_us / 2) / cost_us;
	return count < max ? (unsigned)count : max;
}

unsigned
decoys_spend(const struct decoys *d, const char *field, unsigned done,
    unsigned times, const char *password)
{
	size_t own = index_of(d, field);
	unsigned count = 0;

	for (size_t i = 0; i < d->settings.n; i++) {
		for (unsigned j = i == own ? done : 0; j < times; j++) {
			hash(password, d->settings.v[i]);
			count++;
		}
	}
	return count;
}

char *
decoy_password(size_t len)
{
	char *password = xcalloc(1, len + 1);

	/* No password has these characters: they edit the line when typed. */
	for (size_t i = 0; i < len; i++)
		password[i] = i % 2 == 0 ? '\177' : '\b';
	return password;
}
