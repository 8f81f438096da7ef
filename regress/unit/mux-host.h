/* SPDX-License-Identifier: ISC */
/*
 * A master of a shared connection, whose server is another end of ours in the
 * same loop, and what its clients may say and expect. All of it fails the
 * test that runs when it cannot do its work.
 */
#ifndef HPN_REGRESS_UNIT_MUX_HOST_H
#define HPN_REGRESS_UNIT_MUX_HOST_H

#include "base/loop.h"
#include "channels.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-wire.h"
#include "packet.h"

enum { REQUEST = 77, CHANNELS = 4 };

struct mux_world {
	struct loop *loop;
	struct client_conf conf;
	struct packet *near_packet;
	struct channels *near;
	struct channel *far_channel[CHANNELS];
	unsigned far_count;
	bool refuses;
	char requests[512]; /* that the server got, a word each */
	int sock[2];
	struct uses uses;
	unsigned unused, exits, stops;
	struct mux_master *master;
};
extern struct mux_world mw;

void mw_run(void);
void mw_send_status(unsigned which, uint32_t status);
void mw_make_pair(int pair[2]);
void mw_make_master(const char *path, int persist_s);
int mw_setup(void **state);
int mw_teardown(void **state);
void mw_send_bytes(int fd, const void *p, size_t len);
void mw_send_message(int fd, struct buf *message);
void mw_send_request(int fd, enum mux_type type);
int mw_silent_client(void);
int mw_new_client(void);
bool mw_is_dropped(int fd);
struct rd mw_receive(int fd, struct buf *in, uint32_t type);
void mw_expect_hello(int fd);
void mw_expect_failure(int fd, const char *text);
uint32_t mw_expect_number(int fd, uint32_t type, uint32_t id);
void mw_send_fds(int fd, const int *fds, size_t n);
void mw_ask_session(int fd, const char *command, const char *env, bool tty);
void mw_check_others(void);
int mw_open_session(int fd, const char *command);
/* Writes message again and again, beginning at so many bytes. */
size_t mw_write_more(int fd, const struct buf *message, size_t sent);

#endif
