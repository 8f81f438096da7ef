/* SPDX-License-Identifier: ISC */
#include "base/owners.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/lookup.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "compat/sock.h"

enum {
	CACHE_SIZE = 256, /* names of users, and of groups */
	SHOWN_MAX = 4096, /* users, and groups, that files have shown */
	USER_MAX = OWNERS_ASKED_MAX + 1, /* room for a name in a question */
	WAIT_MS = 1000,	  /* for an answer */
	KIND_HOME = OWNERS_GROUP + 1,
	KIND_USER_ID,
	KIND_GROUP_ID,
};

/* A question is one message, and so is its answer; each of one length. */
struct question {
	uint32_t kind; /* enum owners_kind, KIND_HOME */
	uint32_t id; /* for the kinds from KIND_HOME on: a number that the
		      * answer repeats */
	char user[USER_MAX]; /* name of a user, or of a group for
			      * KIND_GROUP_ID */
};

struct answer {
	uint32_t kind, id;
	char text[OWNERS_HOME_MAX]; /* "": there is none */
};

/* ---- in a process of its own -------------------------------------------- */

static struct shown {
	uint32_t v[SHOWN_MAX];
	size_t n;
} shown_users, shown_groups;

static bool
was_shown(const struct shown *s, uint32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == id)
			return true;
	return false;
}

static void
show(struct shown *s, uint32_t id)
{
	if (s->n < SHOWN_MAX && !was_shown(s, id))
		s->v[s->n++] = id;
}

/* Notes the owner and group of a file that was shown as a descriptor: it proves
 * that the user can reach a file with that owner. */
static void
take_file(int fd)
{
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		return;
	show(&shown_users, st.st_uid);
	show(&shown_groups, st.st_gid);
}

/* Puts a name into the answer, unless it has characters that could upset a
 * terminal. A name that is too long is left out, because its beginning could be
 * somebody else's name. */
static void
put_name(char *text, const char *name)
{
	if (owners_may_name(name, strlen(name)))
		strlcpy(text, name, OWNERS_NAME_MAX);
}

/* Puts the id of a name into the answer, in digits; an empty text means that
 * there is no such name. */
static void
look_up_id(const struct question *q, struct answer *a)
{
	const struct passwd *pw;
	const struct group *gr;

	if (q->kind == KIND_USER_ID && (pw = getpwnam(q->user)) != NULL)
		snprintf(a->text, sizeof a->text, "%u", (unsigned)pw->pw_uid);
	if (q->kind == KIND_GROUP_ID && (gr = getgrnam(q->user)) != NULL)
		snprintf(a->text, sizeof a->text, "%u", (unsigned)gr->gr_gid);
}

static void
look_up(const struct question *q, bool shown_only, struct answer *a)
{
	const struct passwd *pw;
	const struct group *gr;

	if (q->kind == OWNERS_USER &&
	    (!shown_only || was_shown(&shown_users, q->id)) &&
	    (pw = getpwuid(q->id)) != NULL)
		put_name(a->text, pw->pw_name);
	if (q->kind == OWNERS_GROUP &&
	    (!shown_only || was_shown(&shown_groups, q->id)) &&
	    (gr = getgrgid(q->id)) != NULL)
		put_name(a->text, gr->gr_name);
	if (q->kind == KIND_HOME && !shown_only &&
	    memchr(q->user, '\0', sizeof q->user) != NULL &&
	    (pw = getpwnam(q->user)) != NULL &&
	    strlen(pw->pw_dir) < sizeof a->text)
		strlcpy(a->text, pw->pw_dir, sizeof a->text);
	if (!shown_only && memchr(q->user, '\0', sizeof q->user) != NULL)
		look_up_id(q, a);
}

void
owners_serve(int sock, bool shown_only)
{
	static struct question q;
	static struct answer a;
	int file;

	while (fd_receive_with(sock, &q, sizeof q, &file) ==
	    (ssize_t)sizeof q) {
		take_file(file);
		fd_close(&file);
		memset(&a, 0, sizeof a);
		a.kind = q.kind;
		a.id = q.id;
		look_up(&q, shown_only, &a);
		if (send(sock, &a, sizeof a, MSG_NOSIGNAL) == -1)
			return;
	}
}

/* ---- in the process that asks ------------------------------------------- */

struct name {
	bool known;
	uint32_t id;
	char text[OWNERS_NAME_MAX]; /* "": the id has no name */
};

struct owners {
	int sock;	    /* -1: not started */
	bool failed;	    /* the process could not be started: no retry */
	bool late;	    /* a question was given up waiting for */
	struct answer next; /* the answer that is arriving */
	size_t arrived;	    /* how many bytes of it have come */
	uint32_t named;	    /* number of questions with a name so far */
	struct name users[CACHE_SIZE], groups[CACHE_SIZE];
};

struct owners *
owners_new(void)
{
	struct owners *o = calloc(1, sizeof *o);

	if (o != NULL)
		o->sock = -1;
	return o;
}

void
owners_free(struct owners *o)
{
	if (o == NULL)
		return;
	fd_close(&o->sock);
	free(o);
}

int
owners_start(struct owners *o)
{
	int ends[2];

	if (o->sock != -1 || o->failed)
		return o->sock;
	o->failed = true; /* until the process has started */
	if (sock_pair(SOCK_STREAM, ends) == -1)
		return -1;
	if (lookup_process(LOOKUP_OWNERS, ends[1]) == 0) {
		o->failed = false;
		o->sock = ends[0];
	} else {
		fd_close(&ends[0]);
	}
	fd_close(&ends[1]);
	return o->sock;
}

void
owners_moved(struct owners *o, int fd)
{
	o->sock = fd;
}

static struct name *
slot_of(struct owners *o, uint32_t kind, uint32_t id)
{
	struct name *all = kind == OWNERS_USER ? o->users : o->groups;

	return &all[(id ^ (id >> 8) ^ (id >> 16)) % CACHE_SIZE];
}

bool
owners_knows(const struct owners *o, enum owners_kind kind, uint32_t id)
{
	const struct name *n =
	    slot_of((struct owners *)(uintptr_t)o, kind, id);

	return n->known && n->id == id;
}

static void
give_up(struct owners *o)
{
	fd_close(&o->sock);
	o->failed = true;
}

static void
remember(struct owners *o, const struct answer *a)
{
	struct name *n = slot_of(o, a->kind, a->id);

	n->known = true;
	n->id = a->id;
	strlcpy(n->text, a->text, sizeof n->text);
}

/* The next answer, or ERR_AGAIN. There is one for each question. */
static int
take_answer(struct owners *o, struct answer *a)
{
	ssize_t n;

	while (o->arrived < sizeof *a) {
		n = recv(o->sock, (uint8_t *)&o->next + o->arrived,
		    sizeof *a - o->arrived, MSG_DONTWAIT);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return ERR_AGAIN;
		if (n <= 0) {
			give_up(o);
			return ERR_EOF;
		}
		o->arrived += (size_t)n;
	}
	o->arrived = 0;
	*a = o->next;
	if (memchr(a->text, '\0', sizeof a->text) == NULL) {
		give_up(o);
		return ERR_EOF;
	}
	if (a->kind == OWNERS_USER || a->kind == OWNERS_GROUP)
		remember(o, a);
	return 0;
}

static int
wait_answer(struct owners *o, const struct question *q, struct answer *a)
{
	uint64_t end_ms = clock_ms() + WAIT_MS, now;
	struct pollfd p = { .fd = o->sock, .events = POLLIN };
	int r;

	while ((r = take_answer(o, a)) == ERR_AGAIN) {
		if ((now = clock_ms()) >= end_ms)
			break;
		(void)poll(&p, 1, (int)(end_ms - now));
	}
	if (r == ERR_AGAIN)
		o->late = true;
	if (r == 0 && (a->kind != q->kind || a->id != q->id)) {
		give_up(o);
		r = ERR_EOF;
	}
	return r;
}

static bool
ask(struct owners *o, const struct question *q, int file, struct answer *a)
{
	if (owners_start(o) == -1)
		return false;
	if (o->late) {
		if (take_answer(o, a) != 0)
			return false;
		o->late = false;
	}
	if (fd_send_with(o->sock, q, sizeof *q, file) != 0) {
		give_up(o);
		return false;
	}
	return wait_answer(o, q, a) == 0 && a->text[0] != '\0';
}

/* In a root directory of the user's, that a file was not shown yet is no
 * reason to believe that its owner has no name. */
static void
forget_refusal(struct owners *o, enum owners_kind kind, uint32_t id)
{
	slot_of(o, kind, id)->known = false;
}

bool
owners_name(struct owners *o, enum owners_kind kind, uint32_t id, int file,
    char name[OWNERS_NAME_MAX])
{
	struct question q = { .kind = kind, .id = id };
	struct answer a;

	if (!owners_knows(o, kind, id)) {
		bool found = ask(o, &q, file, &a);

		if (!found && file == -1)
			forget_refusal(o, kind, id);
		if (!found)
			return false;
	}
	strlcpy(name, slot_of(o, kind, id)->text, OWNERS_NAME_MAX);
	return name[0] != '\0';
}

static bool
ask_by_name(struct owners *o, uint32_t kind, const char *name,
    struct answer *a)
{
	struct question q = { .kind = kind, .id = o->named++ };

	if (strlen(name) >= sizeof q.user)
		return false;
	strlcpy(q.user, name, sizeof q.user);
	return ask(o, &q, -1, a);
}

bool
owners_home(struct owners *o, const char *user, char home[OWNERS_HOME_MAX])
{
	struct answer a;

	if (!ask_by_name(o, KIND_HOME, user, &a))
		return false;
	strlcpy(home, a.text, OWNERS_HOME_MAX);
	return true;
}

bool
owners_may_name(const void *name, size_t len)
{
	const uint8_t *c = name;

	for (size_t i = 0; i < len; i++)
		if (c[i] < ' ' || c[i] == 0x7f || c[i] == ':')
			return false;
	return len > 0 && len <= OWNERS_ASKED_MAX;
}

bool
owners_id(struct owners *o, enum owners_kind kind, const char *name,
    uint32_t *id)
{
	struct answer a;
	int64_t v;

	if (!ask_by_name(o, kind == OWNERS_USER ? KIND_USER_ID : KIND_GROUP_ID,
		name, &a) || str_to_int(a.text, 0, UINT32_MAX - 1, &v) < 0)
		return false;
	*id = (uint32_t)v;
	return true;
}
