/* SPDX-License-Identifier: ISC */
/*
 * The roles of the legacy copy protocol get any bytes from their peer, in a
 * private directory. Whatever a source says, nothing may appear beside "in".
 *
 * The first byte chooses the role: 0 sink, 1 sink with -Z, 2 source, 3 source
 * with -Z, 4 relay; and with bit 3 the sink's target is no directory yet.
 */
#include <sys/mman.h>

#include "base/mem.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/workdir.h"
#include "xfer/rcp/rcp-proto.h"
#include "xfer/rcp/rcp.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static int null_fd = -1;

static int
replay(const uint8_t *data, size_t len)
{
	int fd = memfd_create("peer", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static void
say(void *arg, const char *line)
{
	(void)arg;
	for (; *line != '\0'; line++)
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			abort();
}

static void
play(unsigned role, struct rcp *c, struct rcp *to)
{
	char *paths[] = { (char *)"out", (char *)"." };
	struct strlist wanted = { NULL, 0 };

	if (role < 2) {
		(void)!rcp_wanted_add(&wanted, "{f,d}*");
		(void)!rcp_receive(c, "in", &wanted);
	} else if (role < 4) {
		(void)!rcp_send(c, paths, 2);
	} else {
		(void)!rcp_copy_between(c, to, NULL);
	}
	strlist_clear(&wanted);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rcp_opts opts = { .recursive = true, .print = say };
	struct rcp *c, *to;
	unsigned role;
	int in, back;

	if (len == 0 || len > FILE_BYTES_MAX)
		return 0;
	workdir_enter(FILE_BYTES_MAX, 8);
	if (null_fd < 0)
		null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	role = (data[0] & 7) % 5;
	opts.resume = role == 1 || role == 3;
	opts.preserve = (data[0] & 16) != 0;
	if (null_fd < 0 || (!(data[0] & 8) && mkdir("in", 0700) != 0))
		abort();
	in = replay(data + 1, len - 1);
	/* What the sink of a relay says. */
	back = replay(data + len / 2, len - len / 2);
	if (rcp_new(&c, in, null_fd, &opts) != 0 ||
	    rcp_new(&to, back, null_fd, &opts) != 0)
		abort();
	play(role, c, to);
	rcp_free(c);
	rcp_free(to);
	close(in);
	close(back);
	workdir_leave();
	return 0;
}
