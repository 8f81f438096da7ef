/* SPDX-License-Identifier: ISC */
#include "client/common/ssh-flags.h"

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/* Flags of ssh that set a keyword. value NULL: the keyword gets the flag's
 * argument. */
static const struct {
	char flag;
	const char *keyword, *value;
} keyword_flags[] = {
	{ '4', "AddressFamily", "inet" },
	{ '6', "AddressFamily", "inet6" },
	{ 'B', "BindInterface", NULL },
	{ 'b', "BindAddress", NULL },
	{ 'C', "Compression", "yes" },
	{ 'c', "Ciphers", NULL },
	{ 'e', "EscapeChar", NULL },
	{ 'f', "ForkAfterAuthentication", "yes" },
#ifdef HAVE_PKCS11 /* without PKCS#11, ssh.c handles -I */
	{ 'I', "PKCS11Provider", NULL },
#endif
#ifdef HAVE_GSSAPI /* without GSSAPI, ssh.c handles -K and -k */
	{ 'K', "GSSAPIAuthentication", "yes" },
	{ 'K', "GSSAPIDelegateCredentials", "yes" },
	{ 'k', "GSSAPIDelegateCredentials", "no" },
#endif
	{ 'l', "User", NULL },
	{ 'm', "MACs", NULL },
	{ 'N', "SessionType", "none" },
	{ 'n', "StdinNull", "yes" },
	{ 'P', "Tag", NULL },
	{ 'p', "Port", NULL },
	{ 's', "SessionType", "subsystem" },
};

/* The message for a wrong argument of a flag, which programs look for: before,
 * the argument, behind. Other flags get the message of their keyword, which is
 * better because it says why. */
static const struct {
	char flag;
	const char *before, *behind;
} wrong_arguments[] = {
	{ 'c', "Unknown cipher type '", "'" },
	{ 'e', "Bad escape character '", "'." },
	{ 'm', "Unknown mac type '", "'" },
	{ 'p', "Bad port '", "'" },
};

static int
set_or_say(struct client_conf *conf, int flag, const char *keyword,
    const char *value)
{
	enum log_level level = log_get_level();
	size_t i = 0;
	int r;

	while (i < ARRAY_LEN(wrong_arguments) &&
	    wrong_arguments[i].flag != flag)
		i++;
	if (i == ARRAY_LEN(wrong_arguments))
		return client_conf_set(conf, keyword, value);
	log_set_level(LOG_LVL_QUIET);
	r = client_conf_set(conf, keyword, value);
	log_set_level(level);
	if (r == ERR_SYNTAX || r == ERR_UNSUPPORTED)
		log_error("%s%s%s", wrong_arguments[i].before, value,
		    wrong_arguments[i].behind);
	else if (r < 0)
		log_error("-%c %s: %s", flag, value, err_text(r));
	return r;
}

/* Warns that the file of -i cannot be read, and goes on without it, as OpenSSH
 * does: other keys may let the user in. */
static int
pass_over_identity(const char *path)
{
	log_info("Warning: Identity file %s not accessible: %s.", path,
	    strerror(errno));
	return 1;
}

/* -i. A missing file is reported at once, because a proxy may end the run
 * before any key is read. A path with tokens, variables or "~" is checked
 * later, when it can be expanded. */
static int
take_identity(struct client_conf *conf, const char *path)
{
	bool known = strpbrk(path, "%$") == NULL && path[0] != '~' &&
	    strcmp(path, "none") != 0;

	if (known && access(path, F_OK) != 0)
		return pass_over_identity(path);
	return set_or_say(conf, 'i', "IdentityFile", path) < 0 ? ERR_SYNTAX : 1;
}

static int
set_by_keyword(struct client_conf *conf, int flag, const char *argument)
{
	int r = 0, found = 0;

	for (size_t i = 0; i < ARRAY_LEN(keyword_flags) && r == 0; i++) {
		if (keyword_flags[i].flag != flag)
			continue;
		found = 1;
		r = set_or_say(conf, flag, keyword_flags[i].keyword,
		    keyword_flags[i].value != NULL ? keyword_flags[i].value :
						     argument);
	}
	return r != 0 ? r : found;
}

/* -J. With keywords the first proxy counts; here a second one is an error, so
 * that it is not silently ignored. */
static int
take_jump(struct client_conf *conf, const char *list)
{
	int r;

	if (client_conf_is_set(conf, "ProxyJump")) {
		log_error("Only a single -J option is permitted (use commas "
			  "to separate multiple jump hops)");
		return ERR_ARGUMENT;
	}
	if (client_conf_is_set(conf, "ProxyCommand")) {
		log_error("Cannot specify -J with ProxyCommand");
		return ERR_ARGUMENT;
	}
	r = client_conf_set(conf, "ProxyJump", list);
	return r != 0 ? r : 1;
}

static int
take_tunnel(struct client_conf *conf, const char *device)
{
	int r;

	if (!client_conf_is_tunnel_device(device)) {
		log_error("Bad tun device '%s'", device);
		return ERR_SYNTAX;
	}
	r = client_conf_replace(conf, "TunnelDevice", device);
	if (r == 0 && !client_conf_is_set(conf, "Tunnel"))
		r = client_conf_set(conf, "Tunnel", "point-to-point");
	return r != 0 ? r : 1;
}

/* -M: become a master (ControlMaster yes). A second -M: a master that asks the
 * user before each use (ControlMaster ask). */
static int
take_master(struct client_conf *conf)
{
	bool again = conf->mux.control_master == CLIENT_MASTER_YES;
	int r = client_conf_replace(conf, "ControlMaster",
	    again ? "ask" : "yes");

	return r != 0 ? r : 1;
}

static int
take_control_command(struct ssh_flags *f, const char *word)
{
	static const char *const words[] = { "cancel", "channels", "check",
		"conninfo", "exit", "forward", "proxy", "stop" };

	if (f->control_command != NULL) {
		log_error("Multiplexing command already specified");
		return ERR_ARGUMENT;
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i], word) == 0)
			f->control_command = words[i];
	if (f->control_command != NULL)
		return 1;
	log_error("Invalid multiplex command.");
	return ERR_ARGUMENT;
}

static int
take_forward(struct client_conf *conf, int flag, const char *text)
{
	enum forward_kind kind = flag == 'L' ? FORWARD_LOCAL :
	    flag == 'R'			     ? FORWARD_REMOTE :
					       FORWARD_DYNAMIC;
	int r = client_conf_add_forward(conf, kind, text);

	return r != 0 ? r : 1;
}

static int
take_x11(struct ssh_flags *f, int flag)
{
	f->x11 = flag == 'x' ? -1 : 1;
	f->x11_trusted = f->x11_trusted || flag == 'Y';
	return 1;
}

/* -v. The level is set at once, so that it counts for messages about the
 * options behind it. */
static int
take_verbose(struct ssh_flags *f)
{
	f->verbosity++;
	log_set_level((enum log_level)MIN((int)LOG_LVL_VERBOSE + f->verbosity,
	    (int)LOG_LVL_DEBUG3));
	return 1;
}

/* The flags that take an argument and are not in keyword_flags. */
static const char with_argument[] = "DFJLORSiow";

int
ssh_flag_take(struct ssh_flags *f, struct client_conf *conf, int flag,
    const char *argument)
{
	int r;

	switch (flag) {
	case 'A':
	case 'a':
		f->agent = flag == 'A' ? 1 : -1;
		return 1;
	case 'X':
	case 'Y':
	case 'x':
		return take_x11(f, flag);
	case 'F':
		f->config_path = argument;
		return 1;
	case 'J':
		return take_jump(conf, argument);
	case 'D':
	case 'L':
	case 'R':
		return take_forward(conf, flag, argument);
	case 'M':
		return take_master(conf);
	case 'O':
		return take_control_command(f, argument);
	case 'S':
		r = client_conf_replace(conf, "ControlPath", argument);
		return r != 0 ? r : 1;
	case 'g':
		r = client_conf_replace(conf, "GatewayPorts", "yes");
		return r != 0 ? r : 1;
	case 'o':
		r = client_conf_set_option(conf, argument);
		return r != 0 ? r : 1;
	case 'i':
		return take_identity(conf, argument);
	case 'q':
		f->quiet = true;
		return 1;
	case 'v':
		return take_verbose(f);
	case 'w':
		return take_tunnel(conf, argument);
	default:
		return set_by_keyword(conf, flag, argument);
	}
}

static bool
has_argument(int flag)
{
	for (size_t i = 0; i < ARRAY_LEN(keyword_flags); i++)
		if (keyword_flags[i].flag == flag)
			return keyword_flags[i].value == NULL;
	return strchr(with_argument, flag) != NULL;
}

int
ssh_flags_take_all(struct ssh_flags *f, struct client_conf *conf,
    const struct strlist *list)
{
	const char *text, *argument;
	int r;

	for (size_t i = 0; i < list->n; i++) {
		text = list->v[i];
		argument = NULL;
		if (text[0] != '-' || text[1] == '\0')
			goto unknown;
		if (has_argument(text[1]))
			argument = text[2] != '\0' ? text + 2 :
			    i + 1 < list->n	   ? list->v[++i] :
						     NULL;
		else if (text[2] != '\0')
			goto unknown;
		if (argument == NULL && has_argument(text[1]))
			goto unknown;
		r = ssh_flag_take(f, conf, text[1], argument);
		if (r < 0)
			return r;
		if (r == 0)
			goto unknown;
	}
	return 0;
unknown:
	log_error("%s: not an option of a connection", text);
	return ERR_SYNTAX;
}

void
ssh_flags_apply(const struct ssh_flags *f, struct client_conf *conf)
{
	static const enum log_level levels[] = { LOG_LVL_DEBUG1,
		LOG_LVL_DEBUG2, LOG_LVL_DEBUG3 };

	if (f->agent != 0) {
		free(conf->forward.forward_agent);
		conf->forward.forward_agent =
		    f->agent > 0 ? xstrdup("yes") : NULL;
	}
	if (f->x11 != 0)
		conf->forward.forward_x11 = f->x11 > 0;
	if (f->x11_trusted)
		conf->forward.forward_x11_trusted = 1;
	conf->log.verbosity = f->verbosity > 0 ? f->verbosity : -(int)f->quiet;
	if (f->verbosity > 0)
		conf->log.log_level = (int)levels[MIN(f->verbosity, 3) - 1];
	else if (f->quiet)
		conf->log.log_level = LOG_LVL_QUIET;
}
