/* SPDX-License-Identifier: ISC */
#include "server/session/user-run.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/label.h"
#include "base/log.h"
#include "base/lookup.h"
#include "compat/proc.h"
#include "server/privs.h"
#include "server/session/serve.h"
#include "server/state.h"
#include "server/user-state.h"

static void
set_up_log(const struct user_state *s)
{
	log_init(s->conf.log.name, (enum log_level)s->log_level);
	if (log_set_locations(&s->log_locations) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	if (s->log_to_stderr)
		log_to_stderr();
	else
		log_to_syslog(s->conf.log.syslog_facility);
}

static void
receive(struct user_state *s, int monitor_fd)
{
	int r;

	log_init(STATE_SYSLOG_NAME, LOG_LVL_INFO);
	log_to_syslog(LOG_AUTH);
	r = user_state_receive(s, monitor_fd);
	if (r == ERR_EOF)
		_exit(255); /* the monitor has logged why */
	if (r != 0)
		fatal("cannot read the monitor's state: %s", err_text(r));
	set_up_log(s);
}

/* Sets the attributes again that PAM had set for the user's programs and that
 * were lost when this program was executed. */
static void
restore_attributes(const struct user_state *s)
{
	if (s->exec_label != NULL && label_set_of_programs(s->exec_label) != 0)
		fatal("cannot set the attribute of programs \"%s\": %s",
		    s->exec_label, strerror(errno));
	if (s->keep_caps)
		proc_keep_caps();
}

/* Callback of lookup_begin(): the process that looks up names for this one
 * becomes the user. */
static void
become(const void *user)
{
	privs_become(user);
}

/* A process that was killed has closed its descriptors a moment before its
 * children get another parent. */
static bool
monitor_has_ended(const struct user_state *s, int monitor_fd)
{
	char byte;

	return getppid() != s->monitor ||
	    recv(monitor_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Removes the file with the credentials if the monitor has ended: otherwise the
 * monitor removes it. */
static void
remove_orphan(const struct user_state *s, int monitor_fd)
{
	if (s->ccache == NULL || !monitor_has_ended(s, monitor_fd))
		return;
	if (unlink(s->ccache) == -1 && errno != ENOENT)
		log_error("%s: %s", s->ccache, strerror(errno));
}

static struct serve_params
params_of(struct user_state *s)
{
	return (struct serve_params){ .conf = &s->conf,
		.user = &s->user,
		.permits = &s->permits,
		.peer = &s->peer,
		.peer_text = s->peer_text,
		.remote = s->remote,
		.id_local = s->id_local,
		.keys = &s->keys,
		.gss_kex = s->gss_kex,
		.login_env = &s->login_env,
		.client_lines = &s->client_lines,
		.auth_info = &s->auth_info,
		.grant = s->grant.path != NULL ? &s->grant : NULL,
		.must_change = s->must_change,
		.packet_state = &s->packet_state,
		.kex_state = &s->kex_state,
		.began_ms = s->began_ms };
}

int
user_run(int socket_fd, int monitor_fd)
{
	static struct user_state s;
	struct serve_params params;
	int r, status;

	if (fd_set_cloexec(socket_fd, true) != 0 ||
	    fd_set_cloexec(monitor_fd, true) != 0)
		return 255;
	lookup_execute("hpnsshd-user");
	receive(&s, monitor_fd);
	if (s.conf.session.chroot_directory != NULL &&
	    lookup_begin(become, &s.user) != 0)
		fatal("look-ups: %s", strerror(errno));
	restore_attributes(&s);
	params = params_of(&s);
	params.socket_fd = socket_fd;
	params.monitor_fd = monitor_fd;
	if ((r = user_state_receive_keys(&s, monitor_fd)) != 0)
		fatal("cannot read the connection's state: %s", err_text(r));
	status = serve_run(&params);
	remove_orphan(&s, monitor_fd);
	user_state_clear(&s);
	return status;
}
