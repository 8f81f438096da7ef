/* SPDX-License-Identifier: ISC */
#include "client/copy/direct.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/common/ssh-command.h"
#include "client/copy/direct-places.h"
#include "client/copy/direct-progress.h"
#include "client/copy/direct-sums.h"
#include "client/copy/direct-wire.h"
#include "client/copy/scp-asks.h"
#include "client/sshclient.h"
#include "peer-version.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	GRANT_VERSION = 1,
	STEP_MS = 1000,
	BEGIN_S = 60,
	LIFE_S = 24 * 3600,
	CONNECTIONS = 4, /* one, and further ones after it is lost */
	EXIT_UNREACHABLE = 255, /* exit status of ssh and of hpnscp */
	HELLO_MAX = 1024, /* bytes */
	TAKE_BACK_TRIES = 20, /* each takes a second at most */
};

struct direct {
	struct scp *scp;
	struct scp_host *giver; /* gives the grant: the target's host, or with
				 * `pull` the source's */
	bool pull;
	const char *scope; /* the grant's directory */
	struct direct_places places;
	pid_t child;	 /* hpnssh to the other host, which runs the program
			  * that uses the grant; 0: none */
	int in, out;	 /* pipes from and to the child; -1: closed */
	struct loop_fd *watch;
	struct buf got;	 /* bytes of the program's hello that have come */
	struct buf told; /* bytes behind the hello that are not read yet */
	bool deaf;	 /* the program has told nonsense: the rest of what it
			  * tells is passed over */
	struct direct_sums *sums; /* --verify, --receipt; or NULL */
	struct direct_progress progress;
	struct span key; /* the program's public key, in got, which is not
			  * changed once key is set */
	bool ended;	 /* no more bytes come from the program */
	bool answered;	  /* the giver's server has answered a request */
	bool granted;	  /* there is a grant */
	bool ended_grant; /* the grant has ended */
	uint8_t grant[LOGIN_TICKET_NAME_LEN];
};

/* ---- the program at the source's host ----------------------------------- */

/* True once the whole hello has come. d->key is then set, and is empty if the
 * bytes are no hello, for instance a text that the shell there printed. */
static bool
read_hello(struct direct *d)
{
	struct rd size = rd_from_buf(&d->got), r = size, body;
	uint32_t len = rd_u32(&size);

	if (rd_err(&size) != 0)
		return false;
	body = rd_from_span(rd_string(&r));
	if (len <= HELLO_MAX && rd_err(&r) != 0)
		return false;
	if (len <= HELLO_MAX && rd_u8(&body) == DIRECT_VERSION)
		d->key = rd_string(&body);
	if (rd_err(&body) != 0)
		d->key = (struct span){ NULL, 0 };
	else if (buf_len(&d->got) > sizeof len + len)
		buf_put(&d->told, buf_data(&d->got) + sizeof len + len,
		    buf_len(&d->got) - sizeof len - len);
	return true;
}

/* Reads what the program tells behind its hello. */
static void
read_told(struct direct *d)
{
	while (!d->deaf && buf_len(&d->told) >= sizeof(uint32_t)) {
		struct rd r = rd_from_buf(&d->told);
		uint32_t len = rd_u32(&r);
		struct span m = rd_bytes(&r, len);

		if (len > DIRECT_TOLD_MAX)
			d->deaf = true;
		if (d->deaf || rd_err(&r) != 0)
			break;
		if (d->sums != NULL && m.len > 0 && m.p[0] == DIRECT_SUM)
			direct_sums_take(d->sums, m);
		else
			direct_progress_take(&d->progress, m);
		buf_consume(&d->told, sizeof len + len);
	}
	if (d->deaf)
		buf_clear(&d->told);
}

static void
close_input(struct direct *d)
{
	if (d->watch != NULL)
		loop_unwatch(d->scp->loop, d->watch);
	d->watch = NULL;
	fd_close(&d->in);
}

static void
on_input(void *arg, int fd, int events)
{
	struct direct *d = arg;
	uint8_t bytes[4096];
	ssize_t n = read(fd, bytes, sizeof bytes);

	(void)events;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && !d->deaf)
		buf_put(d->key.len == 0 ? &d->got : &d->told, bytes,
		    (size_t)n);
	if (d->granted)
		read_told(d);
	else if (buf_len(&d->told) > DIRECT_TOLD_MAX)
		d->deaf = true; /* there is nothing to tell yet */
	if (n <= 0 || buf_err(&d->got) != 0 || buf_err(&d->told) != 0) {
		d->ended = true;
		close_input(d);
	}
}

static void
start_program(struct direct *d, const struct xfer_target *at)
{
	char *program = ssh_command_find();
	const struct ssh_command c = { .program = program,
		.purpose = SSH_COMMAND_CARRY,
		.options = &d->scp->flags.ssh,
		.port = at->port != 0 ? at->port : d->scp->flags.port,
		.user = at->user,
		.host = at->host,
		.command = "hpnscp --direct-end" };
	struct strlist argv = { 0 };
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };

	if (ssh_command_line(&argv, &c) != 0 || child_pipe(to) != 0 ||
	    child_pipe(from) != 0 || fd_set_nonblock(from[0], true) != 0 ||
	    child_spawn(&d->child, argv.v, to[0], from[1]) != 0)
		scp_die(d->scp, program, strerror(errno));
	fd_close(&to[0]);
	fd_close(&from[1]);
	d->out = to[1];
	d->in = from[0];
	d->watch = loop_watch(d->scp->loop, d->in, LOOP_READ, on_input, d);
	if (d->watch == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	strlist_clear(&argv);
	free(program);
}

/* Serves the connection to the target's host until done() returns true or the
 * program at the source's host has ended. */
static void
wait_until(struct direct *d, bool (*done)(struct direct *d))
{
	while (!done(d) && !d->ended) {
		(void)scp_host_result(d->scp,
		    sftp_step(d->giver->sftp, false, STEP_MS));
		if (d->granted)
			direct_progress_tick(&d->progress);
	}
}

static bool
never(struct direct *d)
{
	(void)d;
	return false;
}

/* Closes the pipes to the program, waits for it, and returns its exit
 * status. */
static int
end_program(struct direct *d)
{
	int status = 0;

	fd_close(&d->out);
	close_input(d);
	if (d->child != 0)
		status = child_wait(d->child);
	d->child = 0;
	return status;
}

/* ---- the grant ---------------------------------------------------------- */

static void
on_grant(void *arg, bool ok, struct rd data)
{
	struct direct *d = arg;
	struct span name = ok ? rd_string(&data) : (struct span){ NULL, 0 };

	d->answered = true;
	d->granted = ok && rd_end(&data) == 0 && name.len == sizeof d->grant;
	if (d->granted)
		memcpy(d->grant, name.p, sizeof d->grant);
}

/* Puts the fields of grant@hpnssh.org. The new directory belongs to this copy
 * alone, so the owner of the key gets every right there that a copy can need,
 * but none that TransferGrants put would not allow. Another one is only
 * read. */
static void
put_fields(const struct direct *d, struct buf *b)
{
	const uint32_t rights = d->pull ? SFTP_MAY_LIST | SFTP_MAY_READ :
	    SFTP_MAY_LIST | SFTP_MAY_MAKE | SFTP_MAY_CHANGE | SFTP_MAY_LINK |
	    SFTP_MAY_DELETE | SFTP_MAY_MODE | SFTP_MAY_TIMES;

	buf_put_u8(b, GRANT_VERSION);
	buf_put_string(b, d->key.p, d->key.len);
	buf_put_cstring(b, d->scope);
	buf_put_u32(b, rights);
	buf_put_u64(b, UINT64_MAX);
	buf_put_u64(b, UINT64_MAX);
	buf_put_u64(b, UINT64_MAX);
	buf_put_u32(b, CONNECTIONS);
	buf_put_u32(b, BEGIN_S);
	buf_put_u32(b, LIFE_S);
	buf_put_cstring(b, ""); /* from any address */
}

/* on_grant() and on_ended() write to d, so the answer is waited for even if the
 * program at the other host has ended meanwhile. A lost connection ends this
 * process. */
static void
wait_for_answer(struct direct *d)
{
	while (!d->answered)
		(void)scp_host_result(d->scp,
		    sftp_step(d->giver->sftp, false, STEP_MS));
}

/* Asks for the grant. Returns NULL, or the reason (static) why there is
 * none. */
static const char *
get_grant(struct direct *d)
{
	const struct sshclient *c = remote_client(d->giver->remote, 0);
	struct buf fields = { 0 };
	int r = ERR_UNSUPPORTED;

	put_fields(d, &fields);
	if (c != NULL && !sshclient_is_distrusted(c) &&
	    (sshclient_peer_traits(c) & PEER_FORGIVES) != 0 &&
	    (r = buf_err(&fields)) == 0)
		r = channels_global_request(sshclient_channels(c),
		    "grant@hpnssh.org", &fields, on_grant, d);
	buf_clear(&fields);
	if (r == 0)
		wait_for_answer(d);
	if (d->granted)
		return NULL;
	if (r == ERR_UNSUPPORTED)
		return d->pull ? "the source's host is not an hpnsshd that "
				 "this process has logged in to" :
				 "the target's host is not an hpnsshd that "
				 "this process has logged in to";
	return d->pull ? "the source's host gives no grant (TransferGrants)" :
			 "the target's host gives no grant (TransferGrants)";
}

static void
on_ended(void *arg, bool ok, struct rd data)
{
	struct direct *d = arg;

	(void)data;
	d->answered = true;
	d->ended_grant = ok;
}

static void
on_told(void *arg, bool ok, struct rd data)
{
	struct direct *d = arg;

	(void)ok;
	(void)data;
	d->answered = true;
}

/* Takes the grant back, and waits until all connections by it have ended. What
 * is looked at and moved after that is nobody else's any more: the source's
 * host might have kept a file open that it could write to at its place. */
static bool
take_back(struct direct *d)
{
	const struct sshclient *c = remote_client(d->giver->remote, 0);
	struct buf fields;
	int r = 0;

	for (int i = 0; i < TAKE_BACK_TRIES && r == 0 && !d->ended_grant;
	     i++) {
		fields = (struct buf){ 0 };
		buf_put_u8(&fields, GRANT_VERSION);
		buf_put_string(&fields, d->grant, sizeof d->grant);
		d->answered = false;
		r = c == NULL ? ERR_CLOSED : buf_err(&fields);
		if (r == 0)
			r = channels_global_request(sshclient_channels(c),
			    "grant-end@hpnssh.org", &fields, on_ended, d);
		buf_clear(&fields);
		if (r == 0)
			wait_for_answer(d);
	}
	if (!d->ended_grant)
		scp_report(d->scp, NULL, d->scope, d->pull ?
			"the target's host may still read there" :
			"the source's host may still write there");
	return d->ended_grant;
}

/* Has the host that gave the grant write down which receipt there is of it. The
 * receipt is as good if that host keeps no such records. */
static void
tell_receipt(struct direct *d, const uint8_t digest[DIRECT_SUM_LEN])
{
	const struct sshclient *c = remote_client(d->giver->remote, 0);
	struct buf fields = { 0 };

	if (c == NULL || !d->granted)
		return;
	buf_put_u8(&fields, GRANT_VERSION);
	buf_put_string(&fields, d->grant, sizeof d->grant);
	buf_put_string(&fields, digest, DIRECT_SUM_LEN);
	d->answered = false;
	if (buf_err(&fields) == 0 &&
	    channels_global_request(sshclient_channels(c),
		"grant-receipt@hpnssh.org", &fields, on_told, d) == 0)
		wait_for_answer(d);
	buf_clear(&fields);
}

static uint32_t
flags_of(const struct direct *d)
{
	const struct scp *scp = d->scp;
	const struct xfer_opts *x = &scp->xfer;

	return (d->sums != NULL ? DIRECT_SUMS : 0U) |
	    (d->pull ? DIRECT_PULL : 0U) |
	    (progress_style_of(x->progress) == PROGRESS_JSON ?
		DIRECT_FILES : 0U) |
	    (scp->recursive ? DIRECT_RECURSIVE : 0U) |
	    (x->preserve ? DIRECT_PRESERVE : 0U) |
	    (scp->flags.verbose ? DIRECT_VERBOSE : 0U) |
	    (x->fsync ? DIRECT_FSYNC : 0U) | (x->sparse ? DIRECT_SPARSE : 0U) |
	    (x->links ? DIRECT_LINKS : 0U) |
	    (x->hard_links ? DIRECT_HARD_LINKS : 0U) |
	    (x->check_space ? 0U : DIRECT_NO_SPACE_CHECK);
}

/* sources: as in struct direct_job; is taken over. */
static int
send_job(struct direct *d, struct strlist *sources)
{
	const struct client_conf *conf = remote_conf(d->giver->remote);
	struct span hostkey =
	    sshclient_hostkey(remote_client(d->giver->remote, 0));
	struct direct_job job = { .host = conf->host.hostname,
		.user = conf->host.user,
		.port = (uint16_t)conf->host.port,
		.flags = flags_of(d),
		.rate_bytes = d->scp->xfer.rate_bytes };
	struct buf b = { 0 };
	int r;

	memcpy(job.grant, d->grant, sizeof job.grant);
	buf_put(&job.hostkey, hostkey.p, hostkey.len);
	job.sources = *sources;
	*sources = (struct strlist){ NULL, 0 };
	direct_job_put(&b, &job);
	if ((r = buf_err(&b)) == 0)
		r = fd_send_msg(d->out, &b);
	buf_clear(&b);
	job.host = job.user = NULL; /* borrowed */
	direct_job_clear(&job);
	return r;
}

/* ---- all of it ---------------------------------------------------------- */

/* True if a source has no name of its own in its path, such as "." or "~user":
 * only its host knows the name. */
static bool
is_unnamed(const struct xfer_target *sources, int n)
{
	bool unnamed = false;

	for (int i = 0; i < n && !unnamed; i++) {
		char *name = direct_name_of(sources[i].path);

		unnamed = strcmp(name, ".") == 0 || name[0] == '~';
		free(name);
	}
	return unnamed;
}

/* True if the sources' paths do not fit into one job. */
static bool
is_too_much(const struct xfer_target *sources, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += strlen(sources[i].path) + sizeof(uint32_t);
	return n > DIRECT_SOURCES_MAX || bytes > DIRECT_MESSAGE_MAX / 2;
}

/* Ends the program on ^C. The new directory stays on the target's host, as any
 * copy keeps the files that it has got. */
static void
on_interrupt(void *arg, int signo)
{
	struct direct *d = arg;
	uint8_t digest[DIRECT_SUM_LEN];

	(void)signo;
	(void)direct_sums_end(d->sums, false, digest);
	if (d->child != 0)
		(void)kill(d->child, SIGTERM);
	if (d->pull)
		scp_report(d->scp, NULL, d->scope, "interrupted");
	else
		scp_report(d->scp, NULL, d->places.outer,
		    "interrupted: is left on the target's host");
	scp_exit(d->scp, 1);
}

static void
catch_interrupts(struct direct *d)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_on_signal_if_wanted(d->scp->loop, signals[i],
		    on_interrupt, d);
}

/* teller: the end where the program has run. */
static bool
check_sums(struct direct *d, const struct xfer_target *teller)
{
	const struct remote *r = d->giver->remote;
	const struct client_conf *conf = remote_conf(r);
	const struct direct_parties who = { .teller = teller,
		.host = conf->host.hostname,
		.user = conf->host.user,
		.port = conf->host.port,
		.hostkey = sshclient_hostkey(remote_client(r, 0)),
		.key = d->key };

	return direct_sums_check(d->sums, &d->places, &who);
}

/* --verify and --receipt ask the host that gives the grant for digests of its
 * files, and for all names. */
static bool
has_digests(const struct direct *d)
{
	return scp_host_has(d->scp, d->giver, SFTP_EXT_CHECK_FILE) &&
	    scp_host_has(d->scp, d->giver, SFTP_EXT_WALK);
}

/* Copies. Returns NULL if it was done, also if some files failed, which was
 * reported; or the reason (static) why --direct cannot be used here. */
static const char *
copy(struct direct *d, const struct xfer_target *sources, int n)
{
	struct strlist paths = { NULL, 0 };
	const char *why;
	int status;

	if (d->sums != NULL && !has_digests(d))
		return "the target's server has no digests";
	if (is_unnamed(sources, n))
		return "a source has no name of its own";
	if (is_too_much(sources, n))
		return "there are too many sources";
	if ((why = direct_places_look(&d->places, sources, n)) != NULL)
		return why;
	start_program(d, &sources[0]);
	wait_until(d, read_hello);
	if (d->key.len == 0)
		return "hpnscp does not run on the source's host";
	if (!direct_places_make(&d->places))
		return NULL;
	d->scope = d->places.inner;
	catch_interrupts(d);
	if ((why = get_grant(d)) != NULL)
		return why;
	for (int i = 0; i < n; i++)
		xstrlist_add(&paths, sources[i].path);
	if (send_job(d, &paths) == 0)
		wait_until(d, never);
	status = end_program(d);
	direct_progress_end(&d->progress);
	if (!take_back(d))
		return NULL;
	if (status == EXIT_UNREACHABLE &&
	    direct_places_remove_empty(&d->places))
		return "the source's host has no connection to the target's";
	if (status != 0)
		d->scp->failed = true;
	if (d->sums != NULL && !check_sums(d, &sources[0]))
		return NULL;
	direct_places_move(&d->places, sources, n);
	return NULL;
}

/* Tells which way the copy went; why: the reason why it was not from host to
 * host. NULL: it was. */
static void
tell_way(struct scp *scp, const char *why, const char *more)
{
	char *text;

	if (why == NULL && scp->failed)
		return;
	if (why == NULL)
		xasprintf(&text, "the copy went from host to host%s", more);
	else
		xasprintf(&text, "the copy goes through this machine: %s",
		    why);
	scp_note(scp, NULL, text);
	free(text);
}

bool
direct_is_summed(const struct scp *scp)
{
	return scp->xfer.verify || scp->receipt != NULL;
}

/* Ends what direct_copy() and direct_pull() have begun. Returns their
 * result. */
static bool
finish(struct direct *d, const char *why)
{
	const bool summed = d->sums != NULL;
	uint64_t files = summed ? direct_sums_files(d->sums) : 0;
	uint8_t digest[DIRECT_SUM_LEN];

	/* A child that still runs has nothing left to do, and may not notice
	 * the end of its standard input. */
	if (d->child != 0)
		(void)kill(d->child, SIGTERM);
	(void)end_program(d);
	direct_places_end(&d->places);
	scp_catch_signals();
	if (direct_sums_end(d->sums, why == NULL, digest))
		tell_receipt(d, digest);
	/* A copy that goes through this machine cannot be verified so, and has
	 * no receipt: it does not take the place of one that should. */
	if (why != NULL && summed)
		scp_die(d->scp, "--direct with --verify or --receipt", why);
	tell_way(d->scp, why, !summed ? "" : files > 0 ?
		", and is the same there" : "; there was no file in it");
	buf_clear(&d->got);
	buf_clear(&d->told);
	return why == NULL;
}

bool
direct_copy(struct scp *scp, const struct xfer_target *sources, int n,
    struct scp_host *to, const char *dir, bool is_dir)
{
	struct direct d = { .scp = scp, .giver = to, .in = -1, .out = -1,
		.progress = { .p = scp->xfer.progress },
		.places = { .scp = scp, .to = to, .dir = dir,
		    .is_dir = is_dir } };

	if (direct_is_summed(scp))
		d.sums = direct_sums_new(scp, scp->receipt, false);
	return finish(&d, copy(&d, sources, n));
}

/* ---- the other way round ------------------------------------------------- */

/* The directory that is to be fetched, without links. The caller frees it;
 * NULL: it is none, or cannot be looked at. */
static char *
real_directory(struct direct *d, const char *path)
{
	struct scp_asks asks = { .n = 0 };
	char *real = NULL;

	(void)scp_asks_add(&asks, SCP_ASK_STAT, path, NULL);
	(void)scp_asks_add(&asks, SCP_ASK_REALPATH, path, NULL);
	scp_asks_run(&asks, d->scp, d->giver);
	if (scp_ask_found(&asks.v[0], S_IFDIR) && asks.v[1].status == 0)
		real = xstrdup(asks.v[1].name);
	scp_asks_clear(&asks);
	return real;
}

static const char *
pull(struct direct *d, const char *name, const struct xfer_target *target)
{
	struct strlist paths = { NULL, 0 };
	const char *why;
	int status;

	if (d->sums != NULL && !has_digests(d))
		return "the source's server has no digests";
	start_program(d, target);
	wait_until(d, read_hello);
	if (d->key.len == 0)
		return "hpnscp does not run on the target's host";
	catch_interrupts(d);
	if ((why = get_grant(d)) != NULL)
		return why;
	xstrlist_add(&paths, target->path[0] != '\0' ? target->path : ".");
	xstrlist_add(&paths, name);
	if (send_job(d, &paths) == 0)
		wait_until(d, never);
	status = end_program(d);
	direct_progress_end(&d->progress);
	(void)take_back(d);
	if (status == DIRECT_EXIT_THERE)
		return "the target has something of that name";
	if (status == EXIT_UNREACHABLE && !d->progress.begun)
		return "the target's host has no connection to the source's";
	d->scp->failed |= status != 0;
	/* The files that the target's host has made stay where they are. Those
	 * that differ from the source's are reported. */
	if (d->sums != NULL)
		(void)check_sums(d, target);
	return NULL;
}

bool
direct_pull(struct scp *scp, struct scp_host *from, const char *path,
    const struct xfer_target *target)
{
	struct direct d = { .scp = scp, .giver = from, .pull = true,
		.in = -1, .out = -1, .progress = { .p = scp->xfer.progress },
		.places = { .scp = scp, .to = from, .is_dir = true } };
	char *name = direct_name_of(path), *real = NULL;
	const char *why = NULL;
	bool done;

	if (direct_is_summed(scp))
		d.sums = direct_sums_new(scp, scp->receipt, true);
	if (!scp->recursive || (real = real_directory(&d, path)) == NULL)
		why = "with pull, only a directory goes from host to host";
	else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		why = "the source has no name of its own";
	else if (target->path[0] == '~')
		why = "only this machine knows what ~ is there";
	d.scope = d.places.dir = real;
	if (why == NULL) {
		d.places.inner = xstrdup(real); /* what digests are asked of */
		why = pull(&d, name, target);
	}
	done = finish(&d, why);
	free(real);
	free(name);
	return done;
}
