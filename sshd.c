/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd: reads command line, configuration and host keys, then runs
 * server/listener/listener.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/version.h"
#include "compat/bsd.h"
#include "compat/proc.h"
#include "conf/defaults.h"
#include "conf/server-conf.h"
#include "crypto/library.h"
#include "crypto/rand.h"
#include "server/listener/listener.h"
#include "server/listener/listen-addresses.h"
#include "server/listener/session-start.h"
#include "server/state.h"

struct options {
	struct server_state state;
	struct server_conf_spec spec; /* connection that -C describes */
	bool have_spec;
	const char *config;
	const char *log_file;
	int debug; /* how often -d was given */
	bool foreground, inetd, test, dump, dump_only, log_to_stderr, quiet;
};

static _Noreturn void
usage(void)
{
	fputs("usage: hpnsshd [-46DdeGiqTtV] [-C connection_spec]"
	      " [-c host_certificate]\n"
	      "               [-E log_file] [-f config_file]"
	      " [-g login_grace_time]\n"
	      "               [-h host_key_file] [-o option] [-p port]"
	      " [-u len]\n",
	    stderr);
	exit(1);
}

static void
must(int r)
{
	if (r != 0) /* the error was logged where it was found */
		exit(255);
}

/* Ends the process if a flag of the command line is wrong. The exit status is
 * 1, as in OpenSSH, because scripts know it. */
static void
must_flag(int r)
{
	if (r != 0)
		exit(1);
}

/* Flags that set a keyword of the configuration. */
static const struct {
	char flag;
	const char *keyword, *value; /* value NULL: the flag's argument */
	/* The message for a wrong argument, as in OpenSSH, since programs read
	 * it. NULL: the usual message of the keyword. */
	const char *wrong;
} keyword_flags[] = {
	{ '4', "AddressFamily", "inet", NULL },
	{ '6', "AddressFamily", "inet6", NULL },
	{ 'c', "HostCertificate", NULL, NULL },
	{ 'g', "LoginGraceTime", NULL, "Invalid login grace time." },
	{ 'h', "HostKey", NULL, NULL },
	{ 'p', "Port", NULL, "Bad port number." },
};

static void
set(struct options *o, const char *keyword, const char *value,
    const char *wrong)
{
	enum log_level level = log_get_level();
	int r;

	if (wrong != NULL)
		log_set_level(LOG_LVL_QUIET);
	r = server_conf_set(&o->state.conf, keyword, value);
	log_set_level(level);
	if (r != 0 && wrong != NULL)
		log_error("%s", wrong);
	must_flag(r);
}

static bool
set_keyword_flag(struct options *o, int flag)
{
	for (size_t i = 0; i < ARRAY_LEN(keyword_flags); i++) {
		const char *value = keyword_flags[i].value;

		if (keyword_flags[i].flag != flag)
			continue;
		set(o, keyword_flags[i].keyword,
		    value != NULL ? value : optarg, keyword_flags[i].wrong);
		return true;
	}
	return false;
}

/* -u: the longest host name in login records. 0 means no names at all, so none
 * are looked up. Other numbers have no effect: the system sets the length. */
static void
set_utmp_len(struct options *o, const char *arg)
{
	const char *err;
	long long len = strtonum(arg, 0, INT_MAX, &err);

	if (err != NULL)
		fatal("-u %s: %s", arg, err);
	if (len == 0)
		set(o, "UseDNS", "no", NULL);
}

static void
set_flag(struct options *o, int flag)
{
	switch (flag) {
	case 'C':
		must_flag(server_conf_spec_parse(&o->spec, optarg));
		o->have_spec = true;
		break;
	case 'D':
		o->foreground = true;
		break;
	case 'd':
		o->debug++;
		o->foreground = o->log_to_stderr = o->state.once = true;
		break;
	case 'E':
		o->log_file = optarg;
		o->log_to_stderr = true;
		break;
	case 'e':
		o->log_to_stderr = true;
		break;
	case 'f':
		o->config = optarg;
		break;
	case 'G':
		o->dump_only = true;
		break;
	case 'i':
		o->inetd = true;
		break;
	case 'o':
		must_flag(server_conf_set_option(&o->state.conf, optarg));
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'b': /* flags of old versions, without meaning: */
	case 'k': /* accepted and ignored, as in OpenSSH */
	case 'Q':
	case 'r':
		break;
	case 'R':
		fatal("-R is internal to sshd, and hpnsshd has no use for it.");
	case 'T':
		o->dump = true;
		break;
	case 't':
		o->test = true;
		break;
	case 'u':
		set_utmp_len(o, optarg);
		break;
	case 'V':
		fprintf(stderr, "%s HPNSSH_%s, %s\n", HPN_SOFTWARE, VERSION,
		    crypto_library_version());
		exit(0);
	default:
		if (!set_keyword_flag(o, flag))
			usage();
	}
}

static void
parse_argv(struct options *o, int argc, char **argv)
{
	int flag;

	while ((flag = flags_getopt(argc, argv,
		    "46b:C:c:DdE:ef:Gg:h:ik:o:p:QqRrTtu:V")) != -1)
		set_flag(o, flag);
	if (optind != argc) {
		fprintf(stderr, "Extra argument %s.\n", argv[optind]);
		exit(1);
	}
	if (o->have_spec && !o->dump && !o->dump_only)
		fatal("Config test connection parameters (-C) provided "
		      "without test mode (-T)");
}

static void
redirect_log(const char *path)
{
	int fd = open_named(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd == -1 || dup2(fd, STDERR_FILENO) == -1) {
		log_error("Couldn't open logfile %s: %s", path,
		    strerror(errno));
		exit(1);
	}
	if (fd != STDERR_FILENO)
		close(fd);
}

/* Opens the log before the configuration is read, for the log lines about that.
 * With -i standard error may be the client's, so the log goes to syslog. */
static void
open_log(const struct options *o)
{
	static const enum log_level levels[] = { LOG_LVL_INFO, LOG_LVL_DEBUG1,
		LOG_LVL_DEBUG2, LOG_LVL_DEBUG3 };

	log_set_level(o->quiet ? LOG_LVL_QUIET : levels[MIN(o->debug, 3)]);
	if (o->log_file != NULL)
		redirect_log(o->log_file);
	if (o->inetd && !o->log_to_stderr) {
		session_start_reserve(); /* so that the log gets no descriptor
					  * of a session */
		log_to_syslog(LOG_AUTH);
	}
}

/* Sets up the log as the configuration says. With -t and -T LogLevel does not
 * apply, so that all faults of the configuration are shown. */
static void
set_up_log(struct options *o)
{
	struct server_conf *c = &o->state.conf;

	log_init(c->log.name, log_get_level());
	if (o->quiet || o->debug > 0)
		c->log.log_level = log_get_level();
	else if (!o->test && !o->dump)
		log_set_level((enum log_level)c->log.log_level);
	if (o->inetd && !o->log_to_stderr)
		log_to_syslog(c->log.syslog_facility);
	state_log_locations(c);
	o->state.log_to_stderr = o->log_to_stderr;
	log_debug("sshd version %s, %s", &HPN_IDENT[strlen("SSH-2.0-")],
	    crypto_library_version());
}

/* Checks routing domains. This is not done while the file is read, because
 * other processes of this server also read the whole configuration and see no
 * network interfaces. */
static void
check_domains(const struct server_conf *conf)
{
	struct server_listen at;

	for (size_t i = 0; server_conf_listen(conf, i, &at); i++)
		if (at.rdomain[0] != '\0' && if_nametoindex(at.rdomain) == 0)
			fatal("ListenAddress: bad routing domain \"%s\": there "
			      "is no such interface", at.rdomain);
}

static void
read_config(struct options *o)
{
	const char *path = o->config;
	int r = 0;

	if (path == NULL)
		path = SYSCONFDIR "/sshd_config";
	if (strcmp(path, "none") != 0)
		r = server_conf_read_file(&o->state.conf, path);
	if (r == ERR_NOT_FOUND && o->config == NULL)
		log_error("make install, or the package, puts one there; -f "
			  "FILE reads another, -f none does without");
	if (r == ERR_NOT_FOUND)
		exit(1);
	must(r);
	must(server_conf_finish(&o->state.conf));
	check_domains(&o->state.conf);
}

static _Noreturn void
dump_config(struct options *o)
{
	struct server_conf conf;
	struct buf out = { 0 };

	if (o->spec.lport == 0 && server_conf_asks_for_port(&o->state.conf))
		fatal("'Match LocalPort' in configuration but 'lport' not in "
		      "connection test specification.");
	if (o->have_spec) {
		must(server_conf_for(&o->state.conf, &o->spec, &conf));
		must(server_conf_dump(&conf, &out));
	} else {
		must(server_conf_dump(&o->state.conf, &out));
	}
	if (fwrite(buf_data(&out), 1, buf_len(&out), stdout) !=
		buf_len(&out) ||
	    fflush(stdout) == EOF)
		fatal("write: %s", strerror(errno));
	exit(0);
}

static bool
is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool empty = d != NULL;

	while (empty && (e = readdir(d)) != NULL)
		empty = strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0;
	if (d != NULL)
		closedir(d);
	return empty;
}

/* Sets the user that hpnsshd-auth becomes and the directory that it is locked
 * in. The user must not be shared with other services, as nobody is: they could
 * signal and trace hpnsshd-auth. */
static void
find_privsep(struct server_state *s)
{
	static const char *const names[] = { "hpnsshd", "sshd" };
	static const char dir[] = PRIVSEPDIR;
	const struct passwd *pw = NULL;
	struct stat st;

	if (geteuid() != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(names) && pw == NULL; i++)
		pw = getpwnam(names[i]);
	if (pw == NULL || pw->pw_uid == 0)
		fatal("Privilege separation user hpnsshd does not exist, nor "
		      "does sshd: useradd --system --no-create-home hpnsshd");
	(void)mkdir(LOCALSTATEDIR, 0755);
	(void)mkdir(dir, 0755);
	if (stat(dir, &st) == -1 || !S_ISDIR(st.st_mode))
		fatal("Missing privilege separation directory: %s", dir);
	if (st.st_uid != 0 || (st.st_mode & 022) != 0)
		fatal("%s must be owned by root and not group or "
		      "world-writable.",
		    dir);
	if (!is_empty(dir))
		log_error("%s is not empty: hpnsshd-auth, which is locked in "
			  "there, could reach what is in it", dir);
	s->auth_uid = pw->pw_uid;
	s->auth_gid = pw->pw_gid;
	s->chroot = xstrdup(dir);
}

/* Logs which of the default host keys are missing, and how to make them. Keys
 * that the configuration names are not looked at, because hostkeys_load() has
 * reported each of them. */
static void
tell_missing_keys(const struct server_conf *c)
{
	const struct strlist *keys = &c->algs.host_key;
	struct buf names = { 0 };

	for (size_t i = 0; !c->algs.host_key_given && i < keys->n; i++)
		if (access(keys->v[i], F_OK) == -1)
			buf_printf(&names, "%s%s",
			    buf_len(&names) > 0 ? ", " : "", keys->v[i]);
	if (buf_len(&names) > 0)
		log_error("there is no %.*s: %s; -h FILE names another key",
		    (int)buf_len(&names), (const char *)buf_data(&names),
		    access(SYSCONFDIR, F_OK) == 0 ?
			BINDIR "/hpnssh-keygen -A makes them" :
			"make install, or the package, makes the directory, "
			"then " BINDIR "/hpnssh-keygen -A the keys");
	buf_clear(&names);
}

static void
load_keys(struct server_state *s)
{
	if (hostkeys_load(&s->keys, &s->conf) > 0)
		return;
	if (s->conf.login.gssapi_key_exchange) {
		log_info("no hostkeys available: keys are exchanged by GSSAPI "
			 "only");
		return;
	}
	tell_missing_keys(&s->conf);
	log_msg(LOG_LVL_FATAL, "sshd: no hostkeys available -- exiting.");
	exit(1);
}

/* The path of this program, to start it again at SIGHUP. It is the path by
 * which it was called, so that a newer program at that path is found. */
static const char *
find_exe(const char *argv0)
{
	static char path[PATH_MAX];

	if (argv0[0] == '/' || proc_self_path(path, sizeof path) != 0)
		return argv0;
	return path;
}

/* Copies the arguments, because the title of the process is written over the
 * originals. */
static char **
copy_arguments(int argc, char **argv)
{
	char **copy = xcalloc((size_t)argc + 1, sizeof *copy);

	for (int i = 0; i < argc; i++)
		copy[i] = xstrdup(argv[i]);
	return copy;
}

static void
find_programs(struct server_state *s)
{
	program_find(&s->programs[PROGRAM_SESSION], PROGRAM_SESSION,
	    s->conf.listen.sshd_session_path);
	program_find(&s->programs[PROGRAM_AUTH], PROGRAM_AUTH,
	    s->conf.listen.sshd_auth_path);
	program_find(&s->programs[PROGRAM_USER], PROGRAM_USER, NULL);
}

/* Ends a run with -t. Returns the exit status. A listener that is to be
 * restarted has started this run (server/listener/reload.h): it goes on as it
 * is if the new one could not begin. */
static int
end_test(struct server_state *s)
{
	const char *held = getenv(LISTEN_ADDRESSES_HELD);
	bool possible = held == NULL ||
	    (listener_hold_programs(s) == 0 &&
		listen_addresses_possible(&s->conf, held));

	state_clear(s);
	return possible ? 0 : 255;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static char **original; /* static: there until the process has ended */
	struct listener_opts opts;

	original = copy_arguments(argc, argv);
	proc_title_begin(argc, argv, NULL);
	fd_sanitise_stdio();
	crypto_library_start();
	help_answer(&sshd_help, argc, argv, crypto_library_version());
	proc_close_from(STDERR_FILENO + 1);
	log_init(STATE_SYSLOG_NAME, LOG_LVL_INFO);
	signal(SIGPIPE, SIG_IGN);
	umask(umask(077) | 022);
	server_conf_init(&o.state.conf);
	parse_argv(&o, argc, argv);
	open_log(&o);
	read_config(&o);
	if (o.dump_only)
		dump_config(&o);
	set_up_log(&o);
	load_keys(&o.state);
	find_privsep(&o.state);
	if (o.dump)
		dump_config(&o);
	find_programs(&o.state);
	if (o.test)
		return end_test(&o.state);
	state_make_run_directory();
	rand_bytes(o.state.salt, sizeof o.state.salt);
	opts = (struct listener_opts){ .foreground = o.foreground,
		.debug = o.debug > 0,
		.exe = find_exe(original[0]),
		.argv = original };
	if (o.inetd)
		listener_inetd(&o.state);
	return listener_run(&o.state, &opts);
}
