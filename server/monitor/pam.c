/* SPDX-License-Identifier: ISC */
#include "server/monitor/pam.h"

#include "config.h"

#ifdef HAVE_PAM /* else pam-none.c */

#include <dlfcn.h>
#include <security/pam_appl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/decoy-hash.h"

/* Bytes of messages that are kept to be shown later: as many as fit into a
 * packet. */
enum { MESSAGES_MAX = 240 * 1024 };

struct pam {
	pam_handle_t *handle;
	char *user; /* as pam_new() got it; modules may change PAM_USER */
	const struct pam_dialogue *talk; /* set only during a dialogue */
	const char *password;	     /* set only in pam_check_password() */
	bool shows_messages;	     /* kept messages are sent with the
				      * dialogue's next question */
	bool use_decoys;	     /* answers are replaced by decoys */
	size_t secret_len;	     /* of the last hidden answer */
	uint64_t answered_us; /* clock_us() of the last answer, or of the begin
			       * of the step */
	unsigned delay_us;    /* delay that modules want after a failure */
	struct buf messages;
	bool cancelled, proven, session, cred;
	int last; /* PAM's last result */
};

/* ---- the library ------------------------------------------------------ */

#define PAM_FUNCTIONS(f)                                                      \
	f(start) f(end) f(set_item) f(strerror) f(authenticate)               \
	f(acct_mgmt) f(chauthtok) f(setcred) f(open_session)                  \
	f(close_session) f(getenvlist) f(putenv) f(get_item)

/*
 * The library is loaded when it is needed, because a connection without PAM
 * should not pay for it, and for libraries that it needs, in time and memory.
 */
static struct {
	void *library;
#define MEMBER(name) __typeof__(&pam_##name) name;
	PAM_FUNCTIONS(MEMBER)
} lib;

static bool
load_library(void)
{
	if (lib.library != NULL)
		return true;
	/* RTLD_GLOBAL is for modules that are not linked with the library.
	 * RTLD_DEFAULT finds its functions as in a program that is linked with
	 * it, so a preloaded library may replace them. */
	lib.library = dlopen(PAM_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
	if (lib.library == NULL) {
		log_error("PAM: %s", dlerror());
		return false;
	}
#define FIND(name)                                                            \
	*(void **)&lib.name = dlsym(RTLD_DEFAULT, "pam_" #name);              \
	if (lib.name == NULL) {                                               \
		log_error("PAM: %s", dlerror());                              \
		dlclose(lib.library);                                         \
		lib.library = NULL;                                           \
		return false;                                                 \
	}
	PAM_FUNCTIONS(FIND)
	return true;
}

/* ---- conversation ----------------------------------------------------- */

/* A text that has no room is cut: its beginning is what a user has to know. */
static void
keep_message(struct pam *p, const char *text)
{
	size_t used = buf_len(&p->messages), len = strlen(text);

	if (used + 1 >= MESSAGES_MAX)
		return;
	if (len > MESSAGES_MAX - used - 1) {
		len = MESSAGES_MAX - used - 1;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--; /* not amid a character */
		log_info("PAM: a message is cut after %zu bytes", len);
	}
	buf_put(&p->messages, text, len);
	buf_put_u8(&p->messages, '\n');
}

static void
free_responses(struct pam_response *resp, int n)
{
	for (int i = 0; i < n; i++)
		if (resp[i].resp != NULL)
			mem_free_secret(resp[i].resp, strlen(resp[i].resp));
	free(resp);
}

static bool
is_question(const struct pam_message *m)
{
	return m->msg_style == PAM_PROMPT_ECHO_OFF ||
	    m->msg_style == PAM_PROMPT_ECHO_ON;
}

/* Answers hidden questions with the password of pam_check_password(). Any other
 * question is an error. */
static int
answer_with_password(struct pam *p, int n, const struct pam_message **msg,
    struct pam_response *resp)
{
	for (int i = 0; i < n; i++) {
		if (!is_question(msg[i])) {
			keep_message(p, msg[i]->msg);
			continue;
		}
		if (msg[i]->msg_style != PAM_PROMPT_ECHO_OFF ||
		    p->password == NULL)
			return PAM_CONV_ERR;
		resp[i].resp = xstrdup(p->password);
	}
	return PAM_SUCCESS;
}

/* Lets the client answer. All questions of one call are sent together, and with
 * them the other texts. */
static int
answer_by_client(struct pam *p, int n, const struct pam_message **msg,
    struct pam_response *resp)
{
	struct pam_question questions[PAM_MAX_NUM_MSG];
	char *answers[PAM_MAX_NUM_MSG] = { NULL }, *info;
	size_t count = 0, used = 0;
	struct buf text = { 0 };
	int r;

	if (p->shows_messages)
		pam_take_messages(p, &text);
	for (int i = 0; i < n; i++) {
		if (is_question(msg[i]))
			questions[count++] = (struct pam_question){
				.text = msg[i]->msg,
				.echo = msg[i]->msg_style ==
				    PAM_PROMPT_ECHO_ON,
			};
		else
			buf_printf(&text, "%s\n", msg[i]->msg);
	}
	info = buf_dup_string(&text);
	buf_clear(&text);
	if (info == NULL)
		return PAM_BUF_ERR;
	r = p->talk->ask(p->talk->arg, info, questions, count, answers);
	free(info);
	for (int i = 0; i < n; i++)
		if (is_question(msg[i]))
			resp[i].resp = answers[used++];
	if (r != 0)
		p->cancelled = true;
	return r == 0 ? PAM_SUCCESS : PAM_CONV_ERR;
}

/* Notes the length of the last hidden answer, and replaces answers by decoys if
 * modules must not see them. */
static void
filter_answers(struct pam *p, int n, const struct pam_message **msg,
    struct pam_response *resp)
{
	for (int i = 0; i < n; i++) {
		size_t len = resp[i].resp != NULL ? strlen(resp[i].resp) : 0;

		if (resp[i].resp == NULL)
			continue;
		if (msg[i]->msg_style == PAM_PROMPT_ECHO_OFF)
			p->secret_len = len;
		if (p->use_decoys) {
			mem_free_secret(resp[i].resp, len);
			resp[i].resp = decoy_password(len);
		}
	}
}

static int
converse(int n, const struct pam_message **msg, struct pam_response **out,
    void *arg)
{
	struct pam *p = arg;
	struct pam_response *resp;
	int r;

	*out = NULL;
	if (n <= 0 || n > PAM_MAX_NUM_MSG)
		return PAM_CONV_ERR;
	resp = xcalloc((size_t)n, sizeof *resp);
	r = p->talk != NULL ? answer_by_client(p, n, msg, resp) :
			      answer_with_password(p, n, msg, resp);
	if (r != PAM_SUCCESS) {
		free_responses(resp, n);
		return r;
	}
	if (p->talk != NULL)
		p->answered_us = clock_us();
	filter_answers(p, n, msg, resp);
	*out = resp;
	return PAM_SUCCESS;
}

/* Notes the delay that a module asks for. The library would wait at once; then
 * the hashing that is done later, to make all failures cost the same, would
 * show in the time. */
static void
note_delay(int retval, unsigned usec, void *arg)
{
	struct pam *p = arg;

	if (retval != PAM_SUCCESS)
		p->delay_us = usec;
}

/* ---- steps ------------------------------------------------------------ */

static bool
is_there(const char *service)
{
	static const char *const dirs[] = { "/etc/pam.d", "/usr/lib/pam.d" };
	char *path;
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(dirs) && !found; i++) {
		xasprintf(&path, "%s/%s", dirs[i], service);
		found = access(path, F_OK) == 0;
		free(path);
	}
	return found;
}

/*
 * The service to use. If OpenSSH's service exists, its rules apply to this
 * server too, under its name, by which modules know it. This is checked at each
 * login, because packages come and go: a file of ours that includes OpenSSH's
 * would lock everybody out when that is removed.
 */
static const char *
service_of(const char *wanted)
{
	if (strcmp(wanted, PAM_OWN_SERVICE) != 0 ||
	    access("/etc/pam.d/" PAM_OWN_SERVICE, F_OK) == 0)
		return wanted;
	return is_there("sshd") ? "sshd" : wanted;
}

struct pam *
pam_new(const char *service, const char *user, const char *host)
{
	struct pam_conv conv = { .conv = converse };
	struct pam *p;

	if (!load_library())
		return NULL;
	service = service_of(service);
	log_debug("PAM: service %s", service);
	conv.appdata_ptr = p = xcalloc(1, sizeof *p);
	p->last = lib.start(service, user, &conv, &p->handle);
	if (p->last != PAM_SUCCESS) {
		log_error("PAM: cannot start service %s", service);
		free(p);
		return NULL;
	}
	p->user = xstrdup(user);
	(void)lib.set_item(p->handle, PAM_RHOST, host);
	(void)lib.set_item(p->handle, PAM_TTY, "ssh");
	(void)lib.set_item(p->handle, PAM_FAIL_DELAY,
	    (const void *)(uintptr_t)note_delay);
	return p;
}

void
pam_free(struct pam *p)
{
	if (p == NULL)
		return;
	p->talk = NULL;
	if (p->session)
		p->last = lib.close_session(p->handle, PAM_SILENT);
	if (p->cred)
		p->last = lib.setcred(p->handle, PAM_DELETE_CRED | PAM_SILENT);
	(void)lib.end(p->handle, p->last);
	buf_clear(&p->messages);
	free(p->user);
	free(p);
}

const char *
pam_error(const struct pam *p)
{
	return lib.strerror(p->handle, p->last);
}

void
pam_set_variable(struct pam *p, const char *name, const char *value)
{
	char *assignment;

	xasprintf(&assignment, "%s=%s", name, value);
	if (lib.putenv(p->handle, assignment) != PAM_SUCCESS)
		log_error("PAM: cannot set %s for modules", name);
	free(assignment);
}

/* Whether PAM's user is still the one who logs in. If a module has changed it,
 * what modules found is about another user. */
static bool
is_same_user(struct pam *p)
{
	const void *user = NULL;

	if (lib.get_item(p->handle, PAM_USER, &user) == PAM_SUCCESS &&
	    user != NULL && strcmp(user, p->user) == 0)
		return true;
	log_error("PAM: user %s was changed to %s", p->user,
	    user != NULL ? (const char *)user : "nobody");
	return false;
}

/* The result of a step: 0, ERR_DENIED or ERR_CANCELLED. */
static int
result(struct pam *p, const char *what)
{
	if (p->last == PAM_SUCCESS)
		return is_same_user(p) ? 0 : ERR_DENIED;
	if (p->cancelled)
		return ERR_CANCELLED;
	log_debug("PAM: %s: %s", what, lib.strerror(p->handle, p->last));
	return ERR_DENIED;
}

static int
authenticate(struct pam *p, bool permit_empty)
{
	p->cancelled = false;
	p->answered_us = clock_us();
	p->delay_us = 0;
	p->last = lib.authenticate(p->handle,
	    permit_empty ? 0 : PAM_DISALLOW_NULL_AUTHTOK);
	p->proven = p->last == PAM_SUCCESS;
	return result(p, "authentication");
}

void
pam_use_decoys(struct pam *p, bool use)
{
	p->use_decoys = use;
}

size_t
pam_secret_len(const struct pam *p)
{
	return p->secret_len;
}

uint64_t
pam_delay_until_us(const struct pam *p)
{
	return p->delay_us != 0 ? p->answered_us + p->delay_us : 0;
}

int
pam_check_password(struct pam *p, const char *password, bool permit_empty)
{
	int r;

	p->password = password;
	r = authenticate(p, permit_empty);
	p->password = NULL;
	return r;
}

int
pam_check_dialogue(struct pam *p, const struct pam_dialogue *talk,
    bool permit_empty)
{
	int r;

	p->talk = talk;
	r = authenticate(p, permit_empty);
	p->talk = NULL;
	return r;
}

int
pam_check_account(struct pam *p, const struct pam_dialogue *talk,
    bool *must_change)
{
	*must_change = false;
	p->cancelled = false;
	p->last = lib.acct_mgmt(p->handle, 0);
	if (p->last == PAM_NEW_AUTHTOK_REQD && talk != NULL) {
		p->talk = talk;
		p->shows_messages = true;
		p->last = lib.chauthtok(p->handle,
		    PAM_CHANGE_EXPIRED_AUTHTOK);
		p->talk = NULL;
		p->shows_messages = false;
	} else if (p->last == PAM_NEW_AUTHTOK_REQD) {
		*must_change = true;
		p->last = PAM_SUCCESS;
	}
	return result(p, "account");
}

int
pam_begin_session(struct pam *p)
{
	p->last = lib.setcred(p->handle, PAM_ESTABLISH_CRED);
	p->cred = p->last == PAM_SUCCESS;
	/* After a login by key, modules have seen no password, so they may have
	 * no credentials to set. */
	if (!p->cred && p->proven)
		return result(p, "credentials");
	if (!p->cred)
		log_debug("PAM has no credentials for user %s: %s", p->user,
		    pam_error(p));
	p->last = lib.open_session(p->handle, 0);
	p->session = p->last == PAM_SUCCESS;
	return result(p, "session");
}

/* Whether the session gets this variable of PAM. It gets none that are only for
 * modules, and none that only the server can set truly. */
static bool
is_for_session(const char *assignment)
{
	static const char *const kept_out[] = { "SSH_AUTH_INFO*",
		"SSH_CONNECTION*", "SSH_CLIENT", "SSH_ORIGINAL_COMMAND",
		"SSH_TTY", "SSH_USER_AUTH" };
	char *name = xstrndup(assignment, strcspn(assignment, "="));
	bool ok = true;

	for (size_t i = 0; i < ARRAY_LEN(kept_out) && ok; i++)
		ok = !str_match(name, kept_out[i]);
	free(name);
	return ok;
}

void
pam_environment(struct pam *p, struct strlist *env)
{
	char **list = lib.getenvlist(p->handle);

	if (list == NULL)
		return;
	for (size_t i = 0; list[i] != NULL; i++) {
		if (is_for_session(list[i]))
			xstrlist_add(env, list[i]);
		free(list[i]);
	}
	free(list);
}

void
pam_copy_messages(const struct pam *p, struct buf *out)
{
	buf_put_buf(out, &p->messages);
}

void
pam_take_messages(struct pam *p, struct buf *out)
{
	buf_put_buf(out, &p->messages);
	buf_reset(&p->messages);
}

#endif
