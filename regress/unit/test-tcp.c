/* SPDX-License-Identifier: ISC */
/*
 * TCP_INFO: what the kernel gives for a connection to ourselves, and its
 * form on the wire against vectors made by hand from the format; and what can
 * be set.
 */
#include "regress/unit/hex.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tcp.h"
#include "base/wire.h"
#include "client/metrics-files.h"

static void
connect_pair(int fd[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof sa;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &len),
	    0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&sa, len), 0);
	fd[1] = accept(listener, NULL, NULL);
	assert_true(fd[1] >= 0);
	close(listener);
}

static void
test_measure(void **state)
{
	struct tcp_numbers t;
	char text[1000] = { 0 };
	int fd[2];

	(void)state;
	connect_pair(fd);
	assert_int_equal(write(fd[0], text, sizeof text), sizeof text);
	assert_int_equal(recv(fd[1], text, sizeof text, MSG_WAITALL),
	    sizeof text);
	if (tcp_measure(fd[1], &t) != 0) {
		print_message("the kernel tells nothing of a connection\n");
		skip();
	}
	assert_int_equal(t.v[TCP_STATE], 1); /* established */
	assert_true(t.kernel > TCP_KERNEL(3, 0));
	assert_true(t.v[TCP_ADVMSS] > 500);
	assert_true(t.v[TCP_PMTU] > 500);
	if (tcp_field_in(TCP_BYTES_RECEIVED, t.kernel))
		assert_int_equal(t.v[TCP_BYTES_RECEIVED], sizeof text);
	if (tcp_field_in(TCP_DATA_SEGS_IN, t.kernel))
		assert_true(t.v[TCP_DATA_SEGS_IN] >= 1);
	assert_int_equal(tcp_measure(fd[0], &t), 0);
	if (tcp_field_in(TCP_BYTES_SENT, t.kernel))
		assert_int_equal(t.v[TCP_BYTES_SENT], sizeof text);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(tcp_measure(STDIN_FILENO, &t), ERR_UNSUPPORTED);
}

static void
test_congestion(void **state)
{
	int fd[2];

	(void)state;
	connect_pair(fd);
	log_set_level(LOG_LVL_QUIET);
	assert_true(tcp_set_congestion(fd[0], NULL));
	assert_false(tcp_set_congestion(fd[0], "no-such-one"));
	assert_true(tcp_set_congestion(fd[0], "reno"));
	assert_true(tcp_congestion_is(fd[0], "reno"));
	assert_false(tcp_congestion_is(fd[0], "ren"));
	close(fd[0]);
	close(fd[1]);
}

static int
get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof value;

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void
test_type_of_service(void **state)
{
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6 };
	int fd[2], both;

	(void)state;
	connect_pair(fd);
	tcp_set_tos(fd[0], 0x48);
	assert_int_equal(get_int(fd[0], IPPROTO_IP, IP_TOS), 0x48);
	tcp_set_tos(fd[0], -1); /* "none" */
	assert_int_equal(get_int(fd[0], IPPROTO_IP, IP_TOS), 0x48);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	tcp_set_tos(fd[0], 0x48);
	close(fd[0]);
	close(fd[1]);
	if ((both = socket(AF_INET6, SOCK_STREAM, 0)) == -1) {
		print_message("there is no IPv6 here\n");
		skip();
	}
	tcp_set_tos(both, 0x20);
	assert_int_equal(get_int(both, IPPROTO_IPV6, IPV6_TCLASS), 0x20);
	mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
	mapped.sin6_addr.s6_addr[12] = 127;
	mapped.sin6_addr.s6_addr[15] = 1;
	assert_int_equal(bind(both, (struct sockaddr *)&mapped,
			     sizeof mapped),
	    0);
	tcp_set_tos(both, 0x48);
	assert_int_equal(get_int(both, IPPROTO_IP, IP_TOS), 0x48);
	assert_int_equal(get_int(both, IPPROTO_IPV6, IPV6_TCLASS), 0x20);
	close(both);
}

static void
test_unsent(void **state)
{
	char text[1000] = { 0 };
	int fd[2];

	(void)state;
	connect_pair(fd);
#ifdef TCP_NOTSENT_LOWAT
	socklen_t len = sizeof(int);
	int value = 0;

	assert_true(tcp_set_unsent(fd[0], 128 * 1024));
	assert_int_equal(getsockopt(fd[0], IPPROTO_TCP, TCP_NOTSENT_LOWAT,
			     &value, &len), 0);
	assert_int_equal(value, 128 * 1024);
#endif
	assert_int_equal(write(fd[0], text, sizeof text), sizeof text);
	assert_int_equal(recv(fd[1], text, sizeof text, MSG_WAITALL),
	    sizeof text);
	close(fd[0]);
	close(fd[1]);
	assert_false(tcp_set_unsent(STDIN_FILENO, 128 * 1024));
	assert_int_equal(tcp_send_rate(STDIN_FILENO), 0);
}

static void
test_names(void **state)
{
	(void)state;
	for (int i = 0; i < TCP_FIELD_COUNT; i++) {
		const char *key = tcp_field_key((enum tcp_field)i);
		const char *column = tcp_field_column((enum tcp_field)i);

		assert_non_null(column);
		assert_memory_equal(key, "tcpi_", 5);
		if (i == TCP_DATA_SEGS_OUT) {
			assert_string_equal(key, "tcpi_data_segs_out");
			assert_string_equal(column, "data_seg_out");
		} else {
			assert_string_equal(key + 5, column);
		}
	}
	assert_true(tcp_field_in(TCP_RTT, 0));
	assert_false(tcp_field_in(TCP_SND_WND, TCP_KERNEL(5, 3) | 255));
	assert_true(tcp_field_in(TCP_SND_WND, TCP_KERNEL(5, 4)));
}

/* An object, 0x32 bytes, 3 entries. */
static const char small[] =
    "e23203"
    "0e 6b65726e656c5f76657273696f6e 60 0005040a" /* kernel_version 5.4.10 */
    "08 746370695f727474 40 0102" /* tcpi_rtt 258 */
    "0c 746370695f756e6b6e6f776e 20 07"; /* tcpi_unknown: passed over */

/* The same with a size in four bytes and a count in four. */
static const char large[] =
    "e2 80000038 80000003"
    "0e 6b65726e656c5f76657273696f6e 60 0005040a"
    "08 746370695f727474 40 0102"
    "0c 746370695f756e6b6e6f776e 20 07";

static size_t
unhex(const char *text, uint8_t *out)
{
	size_t n = 0, digits = 0;

	for (; *text != '\0'; text++) {
		if (*text == ' ')
			continue;
		out[n] = (uint8_t)(out[n] << 4 |
		    (*text <= '9' ? *text - '0' : *text - 'a' + 10));
		if (++digits % 2 == 0)
			n++;
	}
	return n;
}

static int
get(const uint8_t *p, size_t len, struct tcp_numbers *t)
{
	struct rd r = rd_from(p, len);

	return tcp_numbers_get(&r, t);
}

static void
test_vectors(void **state)
{
	const char *const texts[] = { small, large };
	uint8_t blob[256];
	struct tcp_numbers t;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		memset(blob, 0, sizeof blob);
		len = unhex(texts[i], blob);
		assert_int_equal(len, i == 0 ? 0x32 : 0x38);
		assert_int_equal(get(blob, len, &t), 0);
		assert_int_equal(t.kernel, TCP_KERNEL(5, 4) | 10);
		assert_int_equal(t.v[TCP_RTT], 258);
		assert_int_equal(t.v[TCP_STATE], 0);
		/* Cut anywhere, longer, or not an object: refused. */
		for (size_t cut = 0; cut < len; cut++)
			assert_true(get(blob, cut, &t) < 0);
		assert_true(get(blob, len + 1, &t) < 0);
		blob[0] = 0xe0;
		assert_true(get(blob, len, &t) < 0);
	}
}

/* Only what the kernel of that version has, each as small as it can be. */
static void
test_made(void **state)
{
	struct tcp_numbers t = { .kernel = TCP_KERNEL(4, 1) | 3 }, back;
	static const uint64_t values[] = { 0, 255, 256, 65535, 65536,
		UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX };
	struct buf b = { 0 };
	const uint8_t *p;
	size_t len;

	(void)state;
	for (int i = 0; i < TCP_FIELD_COUNT; i++)
		t.v[i] = values[(size_t)i % ARRAY_LEN(values)];
	tcp_numbers_put(&b, &t);
	assert_int_equal(buf_err(&b), 0);
	p = buf_data(&b);
	len = buf_len(&b);
	assert_int_equal(p[0], 0xe2);
	assert_int_equal(wire_get_u32(p + 1), len | 0x80000000);
	assert_int_equal(p[5], 1 + 36); /* fields up to bytes_received */
	assert_int_equal(p[6], 14);
	assert_memory_equal(p + 7, "kernel_version\x60\x00\x04\x01\x03", 19);
	assert_memory_equal(p + 26, "\x0atcpi_state\x20\x00\x0dtcpi_ca_state"
				    "\x20\xff\x10tcpi_retransmits\x40\x01\x00",
	    49);
	assert_int_equal(get(p, len, &back), 0);
	assert_int_equal(back.kernel, t.kernel);
	for (int i = 0; i < TCP_FIELD_COUNT; i++)
		assert_int_equal(back.v[i],
		    tcp_field_in((enum tcp_field)i, t.kernel) ? t.v[i] : 0);
	buf_clear(&b);
	/* Without Linux: the oldest fields, zero. */
	t.kernel = 0;
	tcp_numbers_put(&b, &t);
	assert_int_equal(get(buf_data(&b), buf_len(&b), &back), 0);
	buf_clear(&b);
}

static void
test_table_text(void **state)
{
	struct tcp_numbers t = { .kernel = TCP_KERNEL(3, 15) };
	struct tm when = { .tm_mday = 9, .tm_mon = 1, .tm_year = 126,
		.tm_hour = 7, .tm_min = 8, .tm_sec = 5 };
	struct buf b = { 0 };
	char *s;

	(void)state;
	t.v[TCP_STATE] = 1;
	t.v[TCP_PACING_RATE] = UINT64_MAX;
	metrics_put_heading(&b, true, t.kernel);
	s = buf_dup_string(&b);
	assert_true(str_has_prefix(s,
	    "REMOTE CONNECTION\ntimestamp, state, ca_state, retransmits, "));
	assert_non_null(strstr(s, "total_retrans, max_pacing_rate, "
				  "pacing_rate\n\n"));
	free(s);
	buf_clear(&b);
	metrics_put_row(&b, &t, &when);
	s = buf_dup_string(&b);
	assert_true(str_has_prefix(s, "09-02-2026 07:08:05, 1, 0, 0, "));
	assert_non_null(strstr(s, ", 0, 18446744073709551615\n"));
	free(s);
	buf_clear(&b);
}

/* A listener lets nobody in, once its queue is full. */
static void
test_is_connected(void **state)
{
	enum { MOST = 16 };
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd[MOST], peer;
	const struct linger reset = { .l_onoff = 1 };
	size_t n = 0;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len),
	    0);
	do {
		fd[n] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(fd_set_nonblock(fd[n], true), 0);
		(void)connect(fd[n], (struct sockaddr *)&at, len);
	} while (tcp_is_connected(fd[n++]) && n < MOST);
	assert_in_range(n, 2, MOST - 1);
	assert_false(tcp_is_connected(fd[n - 1]));
	/* The first one was let in, and is reset. */
	peer = accept(listener, NULL, NULL);
	assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset,
			     sizeof reset), 0);
	close(peer);
	assert_true(tcp_is_connected(fd[0]));
	close(listener);
	while (n > 0)
		close(fd[--n]);
	/* Another one is refused. */
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(fd_set_nonblock(fd[0], true), 0);
	(void)connect(fd[0], (struct sockaddr *)&at, len);
	assert_true(tcp_is_connected(fd[0]));
	close(fd[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_congestion),
		cmocka_unit_test(test_type_of_service),
		cmocka_unit_test(test_unsent),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_is_connected),
		cmocka_unit_test(test_table_text),
	};

	return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
