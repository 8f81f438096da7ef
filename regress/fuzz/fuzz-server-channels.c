/* SPDX-License-Identifier: ISC */
/*
 * What an authenticated client may ask for, sessions and forwards: messages
 * 80-127, each behind a 16 bit length. No process is ever started, because
 * fork() fails here, nothing is connected to, and sockets that listen are in
 * nobody's reach. internal-sftp, which needs no process, may only read, and
 * cannot leave the current directory.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/tun-device.h"
#include "channels.h"
#include "forward/forwarded.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/some.h"
#include "server/session/forward-listen.h"
#include "server/session/forward-tunnel.h"
#include "server/session/hostprove.h"
#include "server/session/session.h"

pid_t fork(void);
int chdir(const char *path);
int connect(int fd, const struct sockaddr *sa, socklen_t len);
int bind(int fd, const struct sockaddr *sa, socklen_t len);
int listen(int fd, int backlog);

pid_t
fork(void)
{
	errno = EAGAIN;
	return -1;
}

int
chdir(const char *path)
{
	(void)path;
	errno = EACCES;
	return -1;
}

int
connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)fd;
	(void)sa;
	(void)len;
	errno = ECONNREFUSED;
	return -1;
}

int
bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)fd;
	(void)sa;
	(void)len;
	return 0;
}

int
listen(int fd, int backlog)
{
	(void)fd;
	(void)backlog;
	return 0;
}

/* An interface that takes and gives nothing. */
int
tun_device_open(struct tun_device *out, bool ethernet, int64_t unit)
{
	int pair[2];

	if (unit > 9 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0)
		return ERR_UNSUPPORTED;
	close(pair[1]);
	*out = (struct tun_device){ .fd = pair[0], .ethernet = ethernet,
		.name = "test0" };
	return 0;
}

/* Made once: it is the same for all inputs. */
static struct serve_params *
params(void)
{
	static struct user user = {
	    .name = "u", .home = "/", .shell = "/bin/sh", .valid = true};
	static struct peer peer = { .address = "192.0.2.7",
		.local_address = "192.0.2.1", .host = "h" };
	static struct server_conf conf;
	static struct permits permits;
	static struct hostkeys keys; /* none */
	static struct strlist none;
	static struct buf info;
	static struct serve_params p = {.conf = &conf,
	    .user = &user,
	    .permits = &permits,
	    .keys = &keys,
	    .peer = &peer,
	    .peer_text = "peer",
	    .remote = "peer",
	    .id_local = "",
	    .login_env = &none,
	    .client_lines = &none,
	    .auth_info = &info,
	    .socket_fd = -1,
	    .monitor_fd = -1};

	if (conf.session.max_sessions == 0) {
		server_conf_init(&conf);
		if (server_conf_set(&conf, "AcceptEnv", "LC_*") != 0 ||
		    server_conf_set(&conf, "GatewayPorts", "clientspecified") !=
			0 ||
		    server_conf_set_option(&conf,
			"Subsystem=sftp internal-sftp -R") != 0 ||
		    server_conf_finish(&conf) != 0)
			return NULL;
		permits_init(&permits);
	}
	return &p;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct serve_params *sp;
	struct sessions *ss;
	struct service_owners owners;
	struct services *services = NULL;
	struct channels *chs = NULL;
	struct packet *p = NULL;
	struct kex *k = NULL;
	struct loop *l;
	int fd[2];

	if (len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	if ((sp = params()) == NULL || (l = loop_new()) == NULL)
		return 0;
	owners = (struct service_owners){ .params = sp };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		goto out;
	p = packet_new(fd[0], fd[0], true);
	if (p != NULL && channels_new(&chs, p, l) == 0 &&
	    kex_new(&k, p, &(struct kex_hooks){ 0 },
		&(struct kex_proposal){ "", "", "", "", "" }, "", "") == 0) {
		channels_take_early(chs);
		owners.channels = chs;
		owners.packet = p;
		ss = owners.sessions = sessions_new(l, p, k, sp, NULL);
		owners.listens = forward_listens_new(l, &owners);
		owners.tunnels = forward_tunnels_new(l);
		owners.kex = k;
		if (forwarded_list_new(&owners.forwarded,
			&(struct forwarded_params){ .loop = l,
			    .channels = chs }) == 0 &&
		    hostprove_new(&owners.hostprove, chs, k, sp) == 0 &&
		    services_new(&services, &owners) == 0)
			feed_channels(chs, l, rd_from(data, len));
		sessions_free(ss);
	}
	forwarded_list_free(owners.forwarded);
	forward_listens_free(owners.listens);
	forward_tunnels_free(owners.tunnels);
	channels_free(chs);
	services_free(services);
	hostprove_free(owners.hostprove);
	kex_free(k);
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
out:
	loop_free(l);
	return 0;
}
