/* SPDX-License-Identifier: ISC */
/*
 * PAM: passwords, dialogues, accounts, sessions. It all happens in the
 * monitor, with one handle, so that modules keep what they remember between
 * the steps. Modules ask their questions by a callback, which may wait for
 * the client's answer.
 *
 * Threads: loop thread only. Modules may block; the alarm that the monitor
 * sets is the limit.
 */
#ifndef HPN_SERVER_MONITOR_PAM_H
#define HPN_SERVER_MONITOR_PAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct pam;

struct pam_question {
	const char *text;
	bool echo;
};

/* Puts questions (count may be 0: only the text is shown) to the client.
 * answers[i] is allocated by the callee. An error drops the dialogue. */
struct pam_dialogue {
	void *arg;
	int (*ask)(void *arg, const char *info,
	    const struct pam_question *questions, size_t count,
	    char **answers);
};

/* Ours, which is installed in /usr/lib/pam.d. Where /etc/pam.d has no file of
 * that name, OpenSSH's "sshd" stands for it while that is there. */
#define PAM_OWN_SERVICE "hpnsshd"

/* service, user, host: copied. NULL if PAM refuses to start. */
struct pam *pam_new(const char *service, const char *user, const char *host);
/* Ends the session if one is open. */
/* What went wrong in the last step, in the words of PAM. */
const char *pam_error(const struct pam *p);
void pam_free(struct pam *p);

/* A variable for modules; it does not get into the session. */
void pam_set_variable(struct pam *p, const char *name, const char *value);
/* This user is refused whatever is answered: modules get decoys instead of the
 * answers, so that neither the time nor a further question shows whether a
 * password is right. */
void pam_use_decoys(struct pam *p, bool use);
/* Bytes of the last answer to a hidden question; 0: none. */
size_t pam_secret_len(const struct pam *p);
/* The try has failed, and modules want it to be told no earlier (clock_us());
 * 0: they do not mind. */
uint64_t pam_delay_until_us(const struct pam *p);

/* 0, ERR_DENIED (also if modules have changed the user); ERR_CANCELLED if the
 * dialogue was dropped. */
int pam_check_password(struct pam *p, const char *password,
    bool permit_empty) must_check;
int pam_check_dialogue(struct pam *p, const struct pam_dialogue *talk,
    bool permit_empty) must_check;
/* May the account log in now? talk may be NULL; with it an expired password
 * is changed in the dialogue, without it *must_change is set: the login is
 * good for changing it only. */
int pam_check_account(struct pam *p, const struct pam_dialogue *talk,
    bool *must_change) must_check;
/* Credentials and session, as the superuser. tty may be NULL. */
int pam_begin_session(struct pam *p) must_check;
/* Variables that modules set for the session, NAME=value. */
void pam_environment(struct pam *p, struct strlist *env);
/* What modules had to say and was not taken yet. */
void pam_copy_messages(const struct pam *p, struct buf *out);
void pam_take_messages(struct pam *p, struct buf *out);

#endif
