/* SPDX-License-Identifier: ISC */
/* The name of this host: what counts as it in a request, and that there is one
 * where no address leads to it. */
#include "regress/unit/help.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local-name.h"
#include "base/mem.h"

static void
test_sent_names(void **state)
{
	static const struct {
		const char *sent;
		bool is;
	} rows[] = { { "here.example.", true }, { "HERE.Example.", true },
		{ "here.example", false }, { "here.example..", false },
		{ "here.exampl.", false }, { "xhere.example.", false },
		{ ".", false }, { "", false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (local_name_is("here.example", rows[i].sent) != rows[i].is)
			fail_msg("%s", rows[i].sent);
}

/* What is no connection has the system's name. */
static void
test_no_connection(void **state)
{
	char system[256] = "";
	int ends[2];
	char *name;

	(void)state;
	assert_int_equal(gethostname(system, sizeof system - 1), 0);
	assert_int_equal(pipe(ends), 0);
	assert_text(name = local_name(ends[0]), system);
	free(name);
	assert_text(name = local_name(-1), system);
	free(name);
	close(ends[0]);
	close(ends[1]);
}

/* An address that a socket only claims does not name this host. */
static void
test_claimed_address(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	char system[256] = "";
	char *name;

	(void)state;
	assert_int_equal(gethostname(system, sizeof system - 1), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
	assert_text(name = local_name(fd), system);
	free(name);
	close(fd);
#ifdef IP_FREEBIND
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	to.sin_addr.s_addr = htonl(0xc0000207); /* of no host */
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on,
			     sizeof on), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
	assert_text(name = local_name(fd), system);
	free(name);
	close(fd);
#endif
	(void)on;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent_names),
		cmocka_unit_test(test_no_connection),
		cmocka_unit_test(test_claimed_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
