/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/ring.h"
#include "base/worker.h"
#include "cipher.h"
#include "crypto/rand.h"

/* ---- a job that takes a while and says what it saw -------------------- */

struct job {
	uint32_t number;
	uint32_t turns; /* how long it takes */
	uint32_t answer;
	bool signals_blocked;
};

static atomic_int locals; /* made and not freed */

static void
run_job(void *job, void **local)
{
	struct job *j = job;
	sigset_t set;

	if (*local == NULL) {
		*local = malloc(1);
		atomic_fetch_add(&locals, 1);
	}
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	j->signals_blocked = sigismember(&set, SIGTERM) == 1;
	for (uint32_t i = 0; i < j->turns; i++) {
		if (i % 64 == 63)
			sched_yield();
	}
	j->answer = j->number * 3;
}

static void
end_local(void *local)
{
	free(local);
	atomic_fetch_sub(&locals, 1);
}

static void
wake_pipe(void *arg)
{
	const int *fds = arg;

	if (write(fds[1], "", 1) < 0)
		abort();
}

static void
wait_pipe(const int *fds)
{
	struct pollfd pfd = { .fd = fds[0], .events = POLLIN };
	char byte;

	assert_int_equal(poll(&pfd, 1, 20000), 1);
	assert_int_equal(read(fds[0], &byte, 1), 1);
}

static void
post(struct ring *r, uint32_t number)
{
	struct job *j = ring_next(r);

	j->number = number;
	j->turns = rand_uniform(8) == 0 ? rand_uniform(1000) : 0;
	j->answer = 0;
	ring_post(r);
}

static void
collect(struct ring *r, const struct job *j, uint32_t number)
{
	assert_non_null(j);
	assert_int_equal(j->number, number);
	assert_int_equal(j->answer, number * 3);
	ring_release(r);
}

/* ---- tests ------------------------------------------------------------ */

/* The life of a loop: fill, kick, sleep until woken, collect in order. */
static void
check_flow(size_t threads, size_t places, uint32_t jobs)
{
	struct worker_conf conf = { .threads = threads, .run = run_job,
		.end = end_local, .wake = wake_pipe };
	struct ring *r = ring_new(places, sizeof(struct job));
	struct worker_pool *p;
	uint32_t posted = 0, collected = 0;
	int fds[2];

	assert_non_null(r);
	assert_int_equal(pipe(fds), 0);
	conf.rings[0] = r;
	conf.arg = fds;
	assert_int_equal(worker_start(&p, &conf), 0);
	assert_int_equal(worker_count(p), threads);
	while (collected < jobs) {
		const struct job *j;

		while (posted < jobs && ring_next(r) != NULL)
			post(r, posted++);
		worker_kick(p);
		if (ring_await(r))
			wait_pipe(fds);
		while ((j = ring_oldest(r)) != NULL) {
			assert_true(j->signals_blocked);
			collect(r, j, collected++);
		}
	}
	worker_stop(p);
	assert_int_equal(atomic_load(&locals), 0);
	ring_free(r);
	close(fds[0]);
	close(fds[1]);
}

static void
test_flow(void **state)
{
	(void)state;
	check_flow(1, 1, 500);
	check_flow(1, 16, 5000);
	check_flow(3, 4, 10000);
	check_flow(4, 64, 20000);
}

/* Two rings; the loop helps, and drains them. */
static void
test_help_and_wait(void **state)
{
	enum { JOBS = 3000 };
	struct worker_conf conf = { .threads = 2, .run = run_job,
		.end = end_local, .wake = wake_pipe };
	struct worker_pool *p;
	uint32_t posted[2] = { 0 }, collected[2] = { 0 };

	(void)state;
	conf.rings[0] = ring_new(32, sizeof(struct job));
	conf.rings[1] = ring_new(8, sizeof(struct job));
	assert_int_equal(worker_start(&p, &conf), 0);
	assert_null(worker_wait(p, conf.rings[0]));
	while (collected[0] < JOBS || collected[1] < JOBS) {
		size_t i = rand_uniform(2);
		struct ring *r = conf.rings[i];
		const struct job *j;

		while (posted[i] < JOBS && ring_next(r) != NULL)
			post(r, posted[i]++);
		worker_kick(p);
		if (rand_uniform(3) == 0)
			worker_help(p, r);
		while ((j = ring_oldest(r)) != NULL)
			collect(r, j, collected[i]++);
		/* Now and then all of it, as when keys change. */
		while (rand_uniform(16) != 0 &&
		    (j = worker_wait(p, r)) != NULL)
			collect(r, j, collected[i]++);
	}
	worker_stop(p);
	assert_int_equal(atomic_load(&locals), 0);
	ring_free(conf.rings[0]);
	ring_free(conf.rings[1]);
}

/* Stopping with jobs ready, in hand and done loses none of them: those that
 * nobody took are still there. */
static void
test_early_stop(void **state)
{
	struct worker_conf conf = { .threads = 2, .run = run_job,
		.end = end_local, .wake = wake_pipe };

	(void)state;
	for (int turn = 0; turn < 200; turn++) {
		struct ring *r = ring_new(64, sizeof(struct job));
		struct worker_pool *p;
		uint32_t collected = 0;
		size_t ticket;
		struct job *j;

		conf.rings[0] = r;
		assert_int_equal(worker_start(&p, &conf), 0);
		for (uint32_t i = 0; i < 64; i++)
			post(r, i);
		worker_kick(p);
		worker_stop(p);
		/* Serial from here on. */
		while (collected < 64) {
			while ((j = ring_oldest(r)) != NULL)
				collect(r, j, collected++);
			j = ring_take(r, &ticket);
			if (j == NULL)
				continue;
			j->answer = j->number * 3;
			ring_finish(r, ticket);
		}
		assert_null(ring_take(r, &ticket));
		ring_free(r);
	}
	assert_int_equal(atomic_load(&locals), 0);
	worker_stop(NULL);
}

/* No threads to be had: an error, and the caller goes on without. */
static void
test_start_fails(void **state)
{
	struct rlimit none = { 0, 0 };
	struct worker_conf conf = { .run = run_job, .wake = wake_pipe };
	struct worker_pool *p;
	int status;
	pid_t pid;

	(void)state;
	conf.rings[0] = ring_new(1, 1);
	assert_int_equal(worker_start(&p, &conf), ERR_ARGUMENT);
	assert_null(p);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* The limit does not hold for root. */
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(2);
		if (setrlimit(RLIMIT_NPROC, &none) != 0)
			_exit(3);
		conf.threads = 4;
		if (worker_start(&p, &conf) != ERR_SYSTEM || errno != EAGAIN)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ring_free(conf.rings[0]);
}

/* ---- what it is for: packets ------------------------------------------- */

static struct {
	const struct cipher_alg *alg;
	const struct mac_alg *mac;
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX];
	uint8_t mac_key[MAC_KEY_MAX_LEN];
} shared_keys;

struct packet_job {
	struct cipher_pos pos;
	uint32_t len;
	int err;
	uint8_t pkt[4 + 4096 + MAC_MAX_LEN];
};

static int
new_sealer(struct cipher **out)
{
	return cipher_new(out, shared_keys.alg, shared_keys.mac, true,
	    shared_keys.key, shared_keys.iv, shared_keys.mac_key);
}

static void
run_seal(void *job, void **local)
{
	struct packet_job *j = job;
	struct cipher *c = *local;

	j->err = c == NULL ? new_sealer(&c) : 0;
	*local = c;
	if (j->err == 0)
		j->err = cipher_encrypt(c, &j->pos, j->pkt, j->len);
}

static void
end_seal(void *local)
{
	cipher_free(local);
}

static void
make_packet(uint8_t *pkt, const struct cipher_pos *pos, uint32_t len)
{
	memset(pkt, (int)pos->seqnr, 4 + len);
}

/* The bytes are those of the serial cipher. */
static void
check_packets(void)
{
	enum { PACKETS = 400, PLACES = 8 };
	struct worker_conf conf = { .threads = 3, .run = run_seal,
		.end = end_seal, .wake = wake_pipe };
	struct packet_job expected = { .len = 0 };
	struct cipher_pos pos = { 0 };
	struct worker_pool *p;
	struct cipher *serial;
	struct packet_job *j;

	rand_bytes(shared_keys.key, sizeof shared_keys.key);
	rand_bytes(shared_keys.iv, sizeof shared_keys.iv);
	rand_bytes(shared_keys.mac_key, sizeof shared_keys.mac_key);
	assert_int_equal(new_sealer(&serial), 0);
	conf.rings[0] = ring_new(PLACES, sizeof(struct packet_job));
	assert_int_equal(worker_start(&p, &conf), 0);
	while (expected.pos.seqnr < PACKETS) {
		while (pos.seqnr < PACKETS &&
		    (j = ring_next(conf.rings[0])) != NULL) {
			j->pos = pos;
			j->len = 16 * (1 + rand_uniform(255));
			if (!cipher_length_apart(serial))
				j->len -= 4;
			make_packet(j->pkt, &pos, j->len);
			pos.seqnr++;
			pos.packet++;
			pos.block += cipher_blocks(serial, j->len);
			ring_post(conf.rings[0]);
		}
		worker_kick(p);
		j = worker_wait(p, conf.rings[0]);
		assert_int_equal(j->err, 0);
		make_packet(expected.pkt, &expected.pos, j->len);
		assert_int_equal(cipher_encrypt(serial, &expected.pos,
				     expected.pkt, j->len),
		    0);
		assert_memory_equal(j->pkt, expected.pkt,
		    4 + j->len + cipher_tag_len(serial));
		expected.pos.seqnr++;
		expected.pos.packet++;
		expected.pos.block += cipher_blocks(serial, j->len);
		ring_release(conf.rings[0]);
	}
	worker_stop(p);
	ring_free(conf.rings[0]);
	cipher_free(serial);
}

static void
test_packets(void **state)
{
	static const char *const macs[] = { "umac-64-etm@openssh.com",
		"hmac-sha2-256" };

	(void)state;
	for (size_t i = 0; (shared_keys.alg = cipher_at(i)) != NULL; i++) {
		if (cipher_is_chained(shared_keys.alg))
			continue;
		shared_keys.mac = NULL;
		if (shared_keys.alg->needs_mac)
			shared_keys.mac = mac_by_name(macs[i % 2]);
		check_packets();
	}
}

/* ---- a job that stands still over a fork -------------------------------- */

static int still[2]; /* a pipe: the job reads from it */

static void
run_still(void *job, void **local)
{
	(void)job;
	(void)local;
	assert_int_equal(write(still[1], "", 1), 1); /* it has begun */
	while (poll(NULL, 0, 1), access("go", F_OK) != 0)
		;
}

static void
test_over_forks(void **state)
{
	char dir[] = "/tmp/test-worker-XXXXXX", byte;
	struct ring *r = ring_new(2, sizeof(int));
	struct worker_conf conf = { .rings = { r }, .threads = 1,
		.over_forks = true, .run = run_still, .wake = wake_pipe };
	struct worker_pool *p;
	int status, fd;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(pipe(still), 0);
	assert_int_equal(worker_start(&p, &conf), 0);
	(void)ring_next(r);
	ring_post(r);
	worker_kick(p);
	assert_int_equal(read(still[0], &byte, 1), 1);
	pid = fork(); /* does not wait for it */
	if (pid == 0) {
		worker_stop(p); /* nor does the child */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_null(ring_oldest(r));
	assert_int_equal(worker_count(p), 1);
	fd = open("go", O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_non_null(worker_wait(p, r));
	ring_release(r);
	worker_stop(p);
	ring_free(r);
	close(fd);
	close(still[0]);
	close(still[1]);
	assert_int_equal(unlink("go"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_help_and_wait),
		cmocka_unit_test(test_early_stop),
		cmocka_unit_test(test_start_fails),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_over_forks),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
