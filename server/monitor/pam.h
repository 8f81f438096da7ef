/* SPDX-License-Identifier: ISC */
/*
 * PAM: passwords, dialogues, accounts, sessions. All steps are done in the
 * monitor with one handle, so that modules remember what they need between the
 * steps. Modules ask their questions by a callback, which may wait for the
 * client's answer.
 *
 * Threads: loop thread only. Modules may block; the alarm that the monitor sets
 * is the limit.
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

/* Asks the client the questions and shows info. count may be 0: then info is
 * only shown. The callee allocates each answers[i]. An error ends the
 * dialogue. */
struct pam_dialogue {
	void *arg;
	int (*ask)(void *arg, const char *info,
	    const struct pam_question *questions, size_t count,
	    char **answers);
};

/* Our service of PAM, whose file is in /usr/lib/pam.d. If /etc/pam.d has no
 * file of this name, the service "sshd" of OpenSSH is used where it exists. */
#define PAM_OWN_SERVICE "hpnsshd"

/* Starts PAM. The texts are copied. NULL, after a log line: it cannot be
 * started. */
struct pam *pam_new(const char *service, const char *user, const char *host);
/* What went wrong in the last step, in the words of PAM; static. */
const char *pam_error(const struct pam *p);
/* Closes the session if it is open. NULL is fine. */
void pam_free(struct pam *p);

/* Sets a variable in PAM's environment, which modules see. */
void pam_set_variable(struct pam *p, const char *name, const char *value);
/* For a user who is refused whatever they answer: modules get decoys instead of
 * the answers, so that neither the time nor a further question shows whether a
 * password is right. */
void pam_use_decoys(struct pam *p, bool use);
/* Bytes of the last answer to a hidden question; 0: none. */
size_t pam_secret_len(const struct pam *p);
/* The time (clock_us()) before which modules do not want the client to hear of
 * a failed try; 0: they do not mind. */
uint64_t pam_delay_until_us(const struct pam *p);

/* Check a password, or lead a dialogue. ERR_DENIED: modules refuse, or have
 * changed the user. ERR_CANCELLED: the client has ended the dialogue. */
int pam_check_password(struct pam *p, const char *password,
    bool permit_empty) must_check;
int pam_check_dialogue(struct pam *p, const struct pam_dialogue *talk,
    bool permit_empty) must_check;
/* Checks whether the account may log in now. If the password has expired it is
 * changed in the dialogue talk. If talk is NULL *must_change is set instead:
 * the login may only change the password. Errors as above. */
int pam_check_account(struct pam *p, const struct pam_dialogue *talk,
    bool *must_change) must_check;
/* Sets credentials and opens the session, with the superuser's rights. */
int pam_begin_session(struct pam *p) must_check;
/* Appends the variables, NAME=value, that modules have set for the session. */
void pam_environment(struct pam *p, struct strlist *env);
/* Append the messages of modules that were not taken yet. pam_take_messages()
 * also removes them. */
void pam_copy_messages(const struct pam *p, struct buf *out);
void pam_take_messages(struct pam *p, struct buf *out);

#endif
