/* SPDX-License-Identifier: ISC */
/*
 * A long path inside of one machine: two network namespaces whose only link is
 * this program. It carries packets between two TUN devices with a delay, a
 * rate, a queue and random loss.
 *
 * The namespaces have no names: they exist as long as this process has their
 * descriptors open, and others enter them by /proc/PID/fd/N. So nothing
 * remains, however this process ends. It ends when its input is closed, or
 * after -t.
 *
 * Large segments (TSO) cross the devices whole, which is what makes 10 Gbit/s
 * possible. Loss is decided for each segment as the wire would have it: a large
 * one is split around those that are lost.
 *
 * usage: netpath [-n] [-r Mbit/s] [-d one-way ms] [-q queue bytes]
 *                [-l loss probability] [-S seed] [-t seconds] [-1]
 *	-1 a firewall: while A has a TCP connection, the SYNs of further ones
 *	   are dropped
 *	-n only makes the namespaces (for a link that tc(8) shapes)
 *	-r, -q and -l take one number for both directions, or two, A:B: from
 *	   A to B, and from B to A
 * A byte on its input is a new seed, with which losses begin anew.
 * Prints "ready FD-A FD-B" on its output when the devices are there, and one
 * line of counters for each direction on its error output at the end.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <math.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define DEVICE	   "path0"
#define PACKET_MAX (sizeof(struct virtio_net_hdr) + 65536 + 64)
#define READS_MAX  16 /* packets taken from a device per turn */
#define SLOT_WRAP  UINT32_MAX
#define NEVER	   UINT64_MAX

/* The header of each packet in a ring. */
struct slot {
	uint64_t due_ns;
	uint32_t len; /* SLOT_WRAP: go on at the start of the ring */
	uint32_t pad;
};

struct direction {
	int from, to;
	uint8_t *ring; /* oldest packet at tail, next one at head */
	size_t size, head, tail;
	double ns_per_byte;    /* 0: no limit */
	uint64_t queue_bytes;
	double loss;
	unsigned short chance[3]; /* state of erand48() */
	uint64_t line_free_ns; /* when all accepted bytes will have left */
	uint64_t segments_to_loss;
	uint64_t segments, bytes, overflows, lost;
};

struct path {
	uint64_t delay_ns;
	bool firewall;
	uint16_t live; /* port at A of the connection that passes; 0: none */
	struct direction dir[2];
};

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Makes a namespace, and moves this process into it. */
static int
namespace_make(void)
{
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		err(1, "can't make a network namespace");
	if ((fd = open("/proc/self/ns/net", O_RDONLY)) < 0)
		err(1, "/proc/self/ns/net");
	return fd;
}

static int
tun_make(void)
{
	struct ifreq ifr;
	int fd, hdr = sizeof(struct virtio_net_hdr);

	if ((fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		err(1, "/dev/net/tun");
	memset(&ifr, 0, sizeof ifr);
	snprintf(ifr.ifr_name, sizeof ifr.ifr_name, DEVICE);
	ifr.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
	if (ioctl(fd, TUNSETIFF, &ifr) < 0)
		err(1, "TUNSETIFF");
	if (ioctl(fd, TUNSETVNETHDRSZ, &hdr) < 0)
		err(1, "TUNSETVNETHDRSZ");
	if (ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) < 0)
		err(1, "TUNSETOFFLOAD");
	return fd;
}

/* ---- the queue of one direction ----------------------------------------- */

static struct slot *
slot_at(struct direction *d, size_t at)
{
	return (struct slot *)(void *)(d->ring + at);
}

static size_t
slot_size(uint32_t len)
{
	return sizeof(struct slot) + (((size_t)len + 15) & ~(size_t)15);
}

/* Room for the largest packet at head, or NULL if the ring is full. */
static struct slot *
slot_reserve(struct direction *d)
{
	size_t need = slot_size(PACKET_MAX) + sizeof(struct slot);

	if (d->head >= d->tail) {
		if (d->size - d->head >= need)
			return slot_at(d, d->head);
		if (d->tail < need)
			return NULL;
		slot_at(d, d->head)->len = SLOT_WRAP;
		d->head = 0;
		return slot_at(d, 0);
	}
	return d->tail - d->head > need ? slot_at(d, d->head) : NULL;
}

static struct slot *
slot_first(struct direction *d)
{
	if (d->head == d->tail)
		return NULL;
	if (slot_at(d, d->tail)->len == SLOT_WRAP) {
		d->tail = 0;
		if (d->head == 0)
			return NULL;
	}
	return slot_at(d, d->tail);
}

static uint8_t *
slot_data(struct slot *s)
{
	return (uint8_t *)(s + 1);
}

/* Bytes on the wire of the packet in a slot, with headers for each segment. */
static uint64_t
wire_bytes(const struct virtio_net_hdr *v, uint32_t len)
{
	uint64_t segments = 1;
	uint32_t ip = len - (uint32_t)sizeof *v;

	if (v->gso_type != VIRTIO_NET_HDR_GSO_NONE && v->gso_size > 0 &&
	    ip > v->hdr_len)
		segments = (ip - v->hdr_len + v->gso_size - 1) / v->gso_size;
	return ip + (segments - 1) * v->hdr_len;
}

/* Sends the packet in the slot at head, or drops it if the queue is full. */
static void
path_accept(struct path *p, struct direction *d, struct slot *s, uint32_t len,
    uint64_t now)
{
	const struct virtio_net_hdr *v = (const void *)slot_data(s);
	uint64_t bytes = wire_bytes(v, len), start = now;

	if (d->line_free_ns > now && d->ns_per_byte > 0) {
		double waiting =
		    (double)(d->line_free_ns - now) / d->ns_per_byte;

		if (waiting + (double)bytes > (double)d->queue_bytes) {
			d->overflows++;
			return;
		}
		start = d->line_free_ns;
	}
	d->line_free_ns = start + (uint64_t)((double)bytes * d->ns_per_byte);
	d->bytes += bytes;
	s->due_ns = d->line_free_ns + p->delay_ns;
	s->len = len;
	d->head += slot_size(len);
}

static void
path_deliver(struct direction *d, uint64_t now)
{
	struct slot *s;

	while ((s = slot_first(d)) != NULL && s->due_ns <= now) {
		/* A packet that the device refuses counts as lost. */
		if (write(d->to, slot_data(s), s->len) < 0)
			d->overflows++;
		d->tail += slot_size(s->len);
	}
}

/* ---- loss --------------------------------------------------------------- */

static uint64_t
loss_distance(struct direction *d)
{
	if (d->loss <= 0)
		return NEVER;
	return (uint64_t)(log(1.0 - erand48(d->chance)) / log(1.0 - d->loss));
}

static void
path_seed(struct path *p, unsigned long seed)
{
	for (int i = 0; i < 2; i++) {
		struct direction *d = &p->dir[i];

		d->chance[0] = (unsigned short)(0x330e + i);
		d->chance[1] = (unsigned short)seed;
		d->chance[2] = (unsigned short)(seed >> 16);
		d->segments_to_loss = loss_distance(d);
	}
}

static uint32_t
sum16(const void *data, size_t len, uint32_t sum)
{
	const uint8_t *b = data;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)b[i] << 8 | b[i + 1];
	return sum;
}

static uint16_t
fold16(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)sum);
}

/*
 * Writes segments [first, end) of a large packet as a packet of its own.
 * The TCP checksum is left to the receiver's offload: only the sum of the
 * pseudo-header stands in it, as in what came from the device.
 */
static uint32_t
packet_cut(uint8_t *out, const uint8_t *in, uint32_t len, uint32_t first,
    uint32_t end)
{
	struct virtio_net_hdr v;
	struct iphdr ip;
	struct tcphdr tcp;
	uint32_t iplen, hdr, from, to, payload;

	memcpy(&v, in, sizeof v);
	memcpy(&ip, in + sizeof v, sizeof ip);
	iplen = ip.ihl * 4u;
	memcpy(&tcp, in + sizeof v + iplen, sizeof tcp);
	hdr = iplen + tcp.doff * 4u;
	payload = len - (uint32_t)sizeof v - hdr;
	from = first * v.gso_size;
	to = end * v.gso_size < payload ? end * v.gso_size : payload;

	memcpy(out, in, sizeof v + hdr);
	memcpy(out + sizeof v + hdr, in + sizeof v + hdr + from, to - from);
	if (end - first == 1) {
		v.gso_type = VIRTIO_NET_HDR_GSO_NONE;
		v.gso_size = 0;
	}
	ip.tot_len = htons((uint16_t)(hdr + to - from));
	ip.id = htons((uint16_t)(ntohs(ip.id) + first));
	ip.check = 0;
	memcpy(out + sizeof v, &ip, sizeof ip);
	ip.check = (uint16_t)~fold16(sum16(out + sizeof v, iplen, 0));
	tcp.seq = htonl(ntohl(tcp.seq) + from);
	if (to < payload)
		tcp.fin = tcp.psh = 0;
	tcp.check = fold16(sum16(&ip.saddr, 8,
	    IPPROTO_TCP + (hdr - iplen) + (to - from)));
	memcpy(out, &v, sizeof v);
	memcpy(out + sizeof v, &ip, sizeof ip);
	memcpy(out + sizeof v + iplen, &tcp, sizeof tcp);
	return (uint32_t)sizeof v + hdr + to - from;
}

static uint32_t
packet_segments(const uint8_t *packet, uint32_t len)
{
	struct virtio_net_hdr v;

	memcpy(&v, packet, sizeof v);
	if (v.gso_type != VIRTIO_NET_HDR_GSO_TCPV4 || v.gso_size == 0)
		return 1;
	return (len - (uint32_t)sizeof v - v.hdr_len + v.gso_size - 1) /
	    v.gso_size;
}

/* Drops those segments of the packet at head that are to be lost, and sends
 * the others. */
static void
path_lose(struct path *p, struct direction *d, struct slot *s, uint32_t len,
    uint32_t segments, uint64_t now)
{
	static uint8_t copy[PACKET_MAX];
	uint32_t first = 0;

	memcpy(copy, slot_data(s), len);
	while (first < segments) {
		uint32_t end = segments;
		bool hit = d->segments_to_loss < segments - first;

		if (hit)
			end = first + (uint32_t)d->segments_to_loss;
		else
			d->segments_to_loss -= segments - first;
		if (end > first && (s = slot_reserve(d)) != NULL) {
			uint32_t cut = packet_cut(
			    slot_data(s), copy, len, first, end);

			path_accept(p, d, s, cut, now);
		}
		if (hit) {
			d->lost++;
			end++;
			d->segments_to_loss = loss_distance(d);
		}
		first = end;
	}
}

/* Whether the firewall drops this packet from A. */
static bool
path_refuses(struct path *p, const uint8_t *packet, size_t len)
{
	struct iphdr ip;
	struct tcphdr tcp;

	packet += sizeof(struct virtio_net_hdr);
	len -= sizeof(struct virtio_net_hdr);
	memcpy(&ip, packet, sizeof ip);
	if (ip.protocol != IPPROTO_TCP || ip.ihl * 4u + sizeof tcp > len)
		return false;
	memcpy(&tcp, packet + ip.ihl * 4u, sizeof tcp);
	if (tcp.syn && p->live != 0 && p->live != tcp.source)
		return true;
	if (tcp.syn)
		p->live = tcp.source;
	else if ((tcp.fin || tcp.rst) && p->live == tcp.source)
		p->live = 0;
	return false;
}

/* ---- the loop ----------------------------------------------------------- */

/* Reads the packets of a device. True if it may have more. */
static bool
path_take(struct path *p, struct direction *d)
{
	static uint8_t nowhere[PACKET_MAX];

	for (int i = 0; i < READS_MAX; i++) {
		struct slot *s = slot_reserve(d);
		uint8_t *data = s != NULL ? slot_data(s) : nowhere;
		ssize_t n = read(d->from, data, PACKET_MAX);
		uint32_t segments;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (n < 0)
			err(1, "read");
		/* Only IPv4: a new namespace sends some IPv6 by itself. */
		if ((size_t)n < sizeof(struct virtio_net_hdr) + 40 ||
		    data[sizeof(struct virtio_net_hdr)] >> 4 != 4)
			continue;
		if (p->firewall && d == &p->dir[0] &&
		    path_refuses(p, data, (size_t)n))
			continue;
		segments = packet_segments(data, (uint32_t)n);
		d->segments += segments;
		if (s == NULL) {
			d->overflows++;
		} else if (d->segments_to_loss < segments) {
			path_lose(p, d, s, (uint32_t)n, segments, now_ns());
		} else {
			if (d->segments_to_loss != NEVER)
				d->segments_to_loss -= segments;
			path_accept(p, d, s, (uint32_t)n, now_ns());
		}
	}
	return true;
}

static void
path_run(struct path *p, uint64_t end_ns)
{
	struct pollfd pfd[3] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = p->dir[0].from, .events = POLLIN },
		{ .fd = p->dir[1].from, .events = POLLIN },
	};
	bool more = false;
	unsigned char c;

	for (;;) {
		uint64_t now = now_ns(), next = end_ns;
		struct timespec wait = { 0, 0 };

		if (now >= end_ns)
			return;
		for (int i = 0; i < 2; i++) {
			struct slot *s;

			path_deliver(&p->dir[i], now);
			s = slot_first(&p->dir[i]);
			if (s != NULL && s->due_ns < next)
				next = s->due_ns;
		}
		now = now_ns();
		if (next > now && !more) {
			wait.tv_sec = (time_t)((next - now) / 1000000000);
			wait.tv_nsec = (long)((next - now) % 1000000000);
		}
		if (ppoll(pfd, 3, &wait, NULL) < 0 && errno != EINTR)
			err(1, "ppoll");
		if (pfd[0].revents != 0) {
			if (read(STDIN_FILENO, &c, 1) <= 0)
				return;
			path_seed(p, c);
		}
		more = false;
		for (int i = 0; i < 2; i++)
			if (pfd[1 + i].revents != 0)
				more |= path_take(p, &p->dir[i]);
	}
}

static void
path_open(struct path *p, int *tun)
{
	for (int i = 0; i < 2; i++) {
		struct direction *d = &p->dir[i];
		uint64_t in_flight = d->queue_bytes;

		if (d->ns_per_byte > 0)
			in_flight += (uint64_t)((double)p->delay_ns /
			    d->ns_per_byte);
		d->from = tun[i];
		d->to = tun[1 - i];
		/* Twice as much: small packets have headers of slots too. */
		d->size = (size_t)(2 * in_flight + (16u << 20)) & ~(size_t)15;
		d->ring = mmap(NULL, d->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (d->ring == MAP_FAILED)
			err(1, "mmap");
	}
}

static double
number(const char *name, const char *text, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value >= 0 && value <= max))
		errx(1, "bad %s: %s", name, text);
	return value;
}

/* For both directions, or for each its own. */
static void
numbers(const char *name, char *text, double max, double out[2])
{
	char *second = strchr(text, ':');

	if (second != NULL)
		*second++ = '\0';
	out[0] = number(name, text, max);
	out[1] = second != NULL ? number(name, second, max) : out[0];
}

static void
path_option(struct path *p, int opt, char *text)
{
	double v[2];

	numbers(opt == 'r' ? "rate" : opt == 'q' ? "queue" : "loss", text,
	    opt == 'r' ? 1e6 : opt == 'q' ? 1e9 : 0.5, v);
	for (int i = 0; i < 2; i++) {
		struct direction *d = &p->dir[i];

		if (opt == 'r')
			d->ns_per_byte = 8000 / fmax(1e-3, v[i]);
		else if (opt == 'q')
			d->queue_bytes = (uint64_t)v[i];
		else
			d->loss = v[i];
	}
}

int
main(int argc, char **argv)
{
	struct path p = { .dir = { { .queue_bytes = 1 << 20 },
				    { .queue_bytes = 1 << 20 } } };
	uint64_t lifetime_s = 600;
	unsigned long seed = 0;
	int ns[2], tun[2] = { -1, -1 }, opt, home;
	bool shaped = true;

	while ((opt = getopt(argc, argv, "1nr:d:q:l:S:t:")) != -1) {
		if (opt == 'n')
			shaped = false;
		else if (opt == '1')
			p.firewall = true;
		else if (opt == 'r' || opt == 'q' || opt == 'l')
			path_option(&p, opt, optarg);
		else if (opt == 'd')
			p.delay_ns = (uint64_t)(number("delay", optarg, 1e5) *
			    1e6);
		else if (opt == 'S')
			seed = (unsigned long)number("seed", optarg, INT_MAX);
		else if (opt == 't')
			lifetime_s = (uint64_t)number("time", optarg, 1e6);
		else
			errx(1, "see the head of netpath.c for its options");
	}
	if ((home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0)
		err(1, "/proc/self/ns/net");
	for (int i = 0; i < 2; i++) {
		ns[i] = namespace_make();
		if (shaped)
			tun[i] = tun_make();
	}
	if (setns(home, CLONE_NEWNET) < 0)
		err(1, "setns");
	if (shaped)
		path_open(&p, tun);
	path_seed(&p, seed);
	prctl(PR_SET_TIMERSLACK, 1);
	printf("ready %d %d\n", ns[0], ns[1]);
	fflush(stdout);
	path_run(&p, now_ns() + lifetime_s * 1000000000);
	for (int i = 0; i < 2 && shaped; i++) {
		struct direction *d = &p.dir[i];

		fprintf(stderr, "%s: %llu segments, %llu bytes, "
		    "%llu dropped by the queue, %llu lost\n",
		    i == 0 ? "a-b" : "b-a", (unsigned long long)d->segments,
		    (unsigned long long)d->bytes,
		    (unsigned long long)d->overflows,
		    (unsigned long long)d->lost);
	}
	return 0;
}
