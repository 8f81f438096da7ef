/* SPDX-License-Identifier: ISC */
#include "server/auth-decoy.h"

#include <crypt.h>
#include <shadow.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum {
	DES_LEN = 13,	  /* of the traditional hash: two bytes are the salt */
	BCRYPT_HEAD = 7,  /* "$2b$12$" */
	SCRYPT_HEAD = 14, /* "$7$" and its costs, which end without a mark */
};

static const char des_digits[] = "./0123456789abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool
decoy_is_hash(const char *field)
{
	return field[0] == '$' ||
	    (strlen(field) == DES_LEN && strspn(field, des_digits) == DES_LEN);
}

/* Bytes of "$method$" or "$method$costs$", behind which the salt stands; 0:
 * not of that form. */
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

/* All methods take dots as salt. */
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
decoy_collect(FILE *shadow, struct strlist *settings)
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
	standard = crypt_gensalt(NULL, 0, NULL, 0);
	if (strlist_add(settings, standard != NULL ? standard : "$6$....$") !=
	    0)
		fatal("out of memory");
}

void
decoy_collect_system(struct strlist *settings)
{
	FILE *shadow = fopen(SHADOW, "re");

	decoy_collect(shadow, settings);
	if (shadow != NULL)
		fclose(shadow);
}

static size_t
index_of(const struct strlist *settings, const char *setting)
{
	for (size_t i = 0; i < settings->n; i++)
		if (strcmp(settings->v[i], setting) == 0)
			return i;
	return 0;
}

size_t
decoy_spend(const struct strlist *settings, const char *own,
    const char *password)
{
	char *done = own != NULL ? decoy_setting(own) : NULL;
	struct crypt_data *data = xcalloc(1, sizeof *data);
	size_t skip = settings->n, count = 0;

	if (done != NULL)
		skip = index_of(settings, done);
	for (size_t i = 0; i < settings->n; i++) {
		if (i == skip)
			continue;
		(void)crypt_r(password, settings->v[i], data);
		count++;
	}
	mem_free_secret(data, sizeof *data);
	free(done);
	return count;
}

char *
decoy_password(size_t len)
{
	char *password = xcalloc(1, len + 1);

	/* None of these can be typed where a password is chosen. */
	for (size_t i = 0; i < len; i++)
		password[i] = i % 2 == 0 ? '\177' : '\b';
	return password;
}
