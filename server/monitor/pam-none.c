/* SPDX-License-Identifier: ISC */
/*
 * In place of pam.c where there is no PAM: pam_new() fails with a log line, so
 * nobody logs in with UsePAM.
 */
#include "server/monitor/pam.h"

#include "config.h"

#ifndef HAVE_PAM

#include "base/log.h"

struct pam *
pam_new(const char *service, const char *user, const char *host)
{
	(void)service;
	(void)user;
	(void)host;
	log_error("UsePAM: hpnsshd was built without PAM");
	return NULL;
}

const char *
pam_error(const struct pam *p)
{
	(void)p;
	return "";
}

void
pam_free(struct pam *p)
{
	(void)p;
}

void
pam_set_variable(struct pam *p, const char *name, const char *value)
{
	(void)p;
	(void)name;
	(void)value;
}

void
pam_use_decoys(struct pam *p, bool use)
{
	(void)p;
	(void)use;
}

size_t
pam_secret_len(const struct pam *p)
{
	(void)p;
	return 0;
}

uint64_t
pam_delay_until_us(const struct pam *p)
{
	(void)p;
	return 0;
}

int
pam_check_password(struct pam *p, const char *password, bool permit_empty)
{
	(void)p;
	(void)password;
	(void)permit_empty;
	return ERR_UNSUPPORTED;
}

int
pam_check_dialogue(struct pam *p, const struct pam_dialogue *talk,
    bool permit_empty)
{
	(void)p;
	(void)talk;
	(void)permit_empty;
	return ERR_UNSUPPORTED;
}

int
pam_check_account(struct pam *p, const struct pam_dialogue *talk,
    bool *must_change)
{
	(void)p;
	(void)talk;
	*must_change = false;
	return ERR_UNSUPPORTED;
}

int
pam_begin_session(struct pam *p)
{
	(void)p;
	return ERR_UNSUPPORTED;
}

void
pam_environment(struct pam *p, struct strlist *env)
{
	(void)p;
	(void)env;
}

void
pam_copy_messages(const struct pam *p, struct buf *out)
{
	(void)p;
	(void)out;
}

void
pam_take_messages(struct pam *p, struct buf *out)
{
	(void)p;
	(void)out;
}

#endif
