/* SPDX-License-Identifier: ISC */
/* From numbers to words: the reason with the largest share comes first. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "client/why-slow.h"

/* 10 s, 1 GB to the server over TCP. */
static struct why_slow
upload(void)
{
	struct why_slow w = { .elapsed_ms = 10000, .sent = 1000000000,
		.received = 4000, .cpu_ms = 1000, .cipher = "aes128-ctr" };

	w.times.total_ms = 10000;
	w.local.kernel = TCP_KERNEL(6, 1);
	w.local.v[TCP_RTT] = 100500;
	w.local.v[TCP_SND_CWND] = 4000;
	w.local.v[TCP_DATA_SEGS_OUT] = 700000;
	w.local.v[TCP_SND_WND] = 3000000;
	w.rcvbuf = 131072;
	w.rcvbuf_limit = 6291456;
	w.sndbuf_limit = 4194304;
	return w;
}

static struct why_slow
download(void)
{
	struct why_slow w = upload();

	w.received = w.sent;
	w.sent = 4000;
	return w;
}

/* All of these in this order, separated by "|"; or none of those behind !. */
static void
check(const struct why_slow *w, const char *wants)
{
	struct buf out = { 0 };
	char *text, *at, *list = xstrdup(wants), *rest = list, *want;

	assert_true(why_slow_text(w, &out));
	at = text = buf_dup_string(&out);
	while ((want = strsep(&rest, "|")) != NULL) {
		char *found = strstr(*want == '!' ? text : at,
		    *want == '!' ? want + 1 : want);

		if ((found != NULL) == (*want == '!'))
			fail_msg("%s: %s", want, text);
		if (found != NULL)
			at = found;
	}
	assert_null(strchr(text, '\n'));
	free(list);
	free(text);
	buf_clear(&out);
}

static void
test_too_little(void **state)
{
	struct why_slow w = upload();
	struct buf out = { 0 };

	(void)state;
	w.sent = 1000;
	assert_false(why_slow_text(&w, &out));
	w = upload();
	w.elapsed_ms = 20;
	assert_false(why_slow_text(&w, &out));
	w.elapsed_ms = 0;
	assert_false(why_slow_text(&w, &out));
	assert_int_equal(buf_len(&out), 0);
}

static void
test_upload(void **state)
{
	struct why_slow w = upload();

	(void)state;
	check(&w, "953 MiB sent in 10.0 s (100.0 MB/s)|Nothing here did");
	w.times.window_ms = 8100;
	check(&w, "81 % of the time: the SSH window of the server|"
		  "9814 KiB in a round trip of 100 ms");
	w.local.v[TCP_RTT] = 900;
	check(&w, "81 % of the time: the server's program or disk");
	w.local.v[TCP_RTT] = 100500;
	w.times.source_ms = 1000;
	check(&w, "81 %|10 % of the time: the source");
	w.local.v[TCP_BUSY_TIME] = 10000000;
	w.local.v[TCP_RWND_LIMITED] = 9000000;
	check(&w, "90 % of the time: the receive buffer of TCP on the server: "
		  "raise|to 16777216|81 %|10 %");
	w.local.v[TCP_SNDBUF_LIMITED] = 600000;
	check(&w, "90 %|6 % of the time: the send buffer of TCP on the "
		  "client|8388608|!the path");
	w.local.v[TCP_SNDBUF_LIMITED] = 0;
	w.local.v[TCP_RWND_LIMITED] = 0;
	check(&w, "!the path");
	w.times.network_ms = 900;
	check(&w, "81 %|10 %|9 % of the time: the path");
	w.times.network_ms = 10000;
	check(&w, "100 % of the time: the path|4000 packets|100.5 ms|"
		  "0.00 %|!bbr");
	w.local.v[TCP_TOTAL_RETRANS] = 700;
	check(&w, "0.10 % of the packets sent again|bbr");
	w.bbr = true;
	check(&w, "!bbr");
	w.cpu_ms = 9500;
	check(&w, "100 %|95 % of the time: this computer: aes128-ctr");
	w.local.kernel = 0;
	check(&w, "!the path");
}

static void
test_download(void **state)
{
	struct why_slow w = download();

	(void)state;
	check(&w, "received|the server or the path gave no more");
	w.times.sink_ms = 5000;
	w.times.own_window_ms = 600;
	check(&w, "50 % of the time: the output here|6 % of the time: the SSH "
		  "window of the client.");
	w.fixed_windows = true;
	check(&w, "50 %|6 %|the SSH window of the client, most likely: "
		  "HPNDisabled");
	w.received = 90000000;
	check(&w, "!HPNDisabled");
	w = download();
	w.rcvbuf = w.rcvbuf_limit;
	w.local.v[TCP_RCV_SPACE] = 3000000;
	check(&w, "receive buffer of TCP on the client, most likely|16777216|"
		  "!gave no more");
	w.remote = w.local;
	w.remote_ms = 10000;
	w.remote.v[TCP_BUSY_TIME] = 9900000;
	w.remote.v[TCP_RWND_LIMITED] = 9900000;
	check(&w, "99 % of the time: the receive buffer of TCP on the client: "
		  "raise|!most likely");
	w.remote_ms = 20000;
	check(&w, "49 % of the time");
	w.remote.v[TCP_RWND_LIMITED] = 0;
	check(&w, "49 % of the time: the path");
}

/* FreeBSD and macOS tell windows, and no times: the verdicts are the same, and
 * the settings that are named are their own. */
static void
test_windows_only(void **state)
{
	struct why_slow w = upload();

	(void)state;
	w.local.kernel = 0;
	w.local.v[TCP_DATA_SEGS_OUT] = 0;
	w.local.v[TCP_SND_MSS] = 1448;
	w.sndbuf_setting = "net.inet.tcp.sendbuf_max";
	w.rcvbuf_setting = "net.inet.tcp.recvbuf_max";
	w.sndbuf_limit = w.sndbuf = 8388608;
	w.times.network_ms = 9000;
	check(&w, "Nothing here did"); /* nothing was measured */
	w.measured = true;
	check(&w, "90 % of the time: the receive buffer of TCP on the server, "
		  "most likely|2929 KiB in a round trip|!the path|!rmem");
	w.local.v[TCP_SND_WND] = 30000000;
	check(&w, "90 % of the time: the path: congestion window of 4000 "
		  "packets|100.5 ms|0.00 %|!buffer");
	w.local.v[TCP_TOTAL_RETRANS] = 700;
	check(&w, "0.10 % of the packets sent again|bbr");
	w.sndbuf_limit = w.sndbuf = 2097152;
	check(&w, "90 % of the time: the send buffer of TCP on the client, "
		  "most likely: raise net.inet.tcp.sendbuf_max here to "
		  "4194304|!the path|!wmem");
	w.times.network_ms = 100;
	check(&w, "Nothing here did|!buffer");

	w = download();
	w.local.kernel = 0;
	w.measured = true;
	w.rcvbuf_setting = "net.inet.tcp.recvbuf_max";
	w.rcvbuf = w.rcvbuf_limit = 2097152;
	w.local.v[TCP_RCV_SPACE] = 2097152;
	check(&w, "receive buffer of TCP on the client, most likely|"
		  "net.inet.tcp.recvbuf_max here to 4194304|!rmem");
	w.local.v[TCP_RTT] = 1000; /* far less is on the way */
	check(&w, "gave no more|!buffer");
	w.local.v[TCP_RTT] = 100500;
	w.fixed_windows = true;
	check(&w, "the SSH window of the client, most likely: HPNDisabled");
}

/* The server tells what it likes: the user gets words with numbers that a
 * system takes. */
static void
test_numbers_of_a_liar(void **state)
{
	struct why_slow w = download();

	(void)state;
	w.remote.kernel = TCP_KERNEL(6, 1);
	w.remote_ms = 10000;
	for (size_t i = 0; i < TCP_FIELD_COUNT; i++)
		w.remote.v[i] = UINT64_MAX;
	check(&w, "the receive buffer of TCP on the client: raise|"
		  " to 1073741824");
	w.remote.v[TCP_RWND_LIMITED] = w.remote.v[TCP_SNDBUF_LIMITED] = 0;
	check(&w, "the path|100.00 % of the packets sent again");
	w.remote.v[TCP_DATA_SEGS_OUT] = 1;
	check(&w, "100.00 % of the packets sent again");
	assert_int_equal(why_slow_buffer(5 << 20), 8 << 20);
	assert_int_equal(why_slow_buffer(UINT64_MAX), 1 << 30);
	assert_int_equal(why_slow_again(0, 0), 0);
	assert_int_equal(why_slow_again(1, 1000), 1000);
	assert_int_equal(why_slow_again(1000, 1), 1000000);
	assert_in_range(why_slow_again(UINT64_MAX / 2, UINT64_MAX), 499999,
	    500001);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_upload),
		cmocka_unit_test(test_download),
		cmocka_unit_test(test_windows_only),
		cmocka_unit_test(test_numbers_of_a_liar),
	};

	return cmocka_run_group_tests_name("why-slow", tests, NULL, NULL);
}
