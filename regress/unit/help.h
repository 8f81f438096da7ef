/* SPDX-License-Identifier: ISC */
/*
 * What several tests need: a directory, kept messages, connections.
 * All of it fails the test that runs when it cannot do its work.
 */
#ifndef HPN_REGRESS_UNIT_HELP_H
#define HPN_REGRESS_UNIT_HELP_H

#include "regress/unit/hex.h"

#include "base/buf.h"
#include "base/wire.h"

/* A directory for all tests of the program; no links lead to it. */
extern char temp_dir[64];
int temp_make(void **state);
/* The same, where nothing waits for a disk, if there is such a place: for those
 * that write a file thousands of times. */
int temp_make_memory(void **state);
int temp_remove(void **state);
/* The same, entered; nothing is logged. At the end it must be empty. */
int temp_enter(void **state);
int temp_enter_memory(void **state); /* of temp_make_memory() */
int temp_leave(void **state);
/* Writes DIR/NAME; its path, caller frees. */
char *temp_file(const char *name, const char *content);
/* Bytes that look random, and follow from the seed. */
void fill_bytes(uint8_t *p, size_t len, unsigned seed);
/* len bytes that follow from the seed. */
void fill_file(const char *path, size_t len, unsigned seed);
/* Have two files the same content? */
bool same_files(const char *one, const char *two);

/* What was logged since they were forgotten, a line each. */
extern char messages[2048];
/* The last of them, without its end. */
extern char last_message[4096];
void messages_keep(void);
void messages_forget(void);

/* want may be NULL. */
void assert_text(const char *got, const char *want);

/* Borrowed. */
struct span span_text(const char *s);

/* Both ends of a UNIX socket, which do not wait. */
void socket_pair(int type, int ends[2]);
/* Both ends of a connection over loopback. Its buffers grow, so that reads
 * and writes are large. */
void tcp_pair(int fd[2]);

/* A program that calls this knows "http", "socks" and "ssh" as ports, and no
 * other name, whatever the system's /etc/services has. */
void know_names_of_ports(void);

#endif
