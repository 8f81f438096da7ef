/* SPDX-License-Identifier: ISC */
/*
 * The client engine for tests that play its server message by message, true or
 * false. All of it fails the test that runs when it cannot do its work.
 */
#ifndef HPN_SFTP_SCRIPT_H
#define HPN_SFTP_SCRIPT_H

#include "regress/unit/help.h"

#include "base/buf.h"
#include "base/wire.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-proto.h"

struct script {
	struct sftp *s;
	struct buf said; /* what the session has sent */
};

struct script_request {
	uint8_t type;
	uint32_t id;
	struct rd fields; /* behind the id; until the next request */
};

/* A session whose server has told its version; extension: the one that it has,
 * or NULL. */
void script_begin(struct script *c, const char *extension);
void script_end(struct script *c);
/* The next request that the session has made. False: there is none. */
bool script_next(struct script *c, struct script_request *q);
/* Sends a message, which is given without its length. */
void script_say(struct script *c, const struct buf *body);
/* Answers with a STATUS; with a message that is one string; with fields. */
void script_status(struct script *c, uint32_t id, uint32_t status);
void script_string(struct script *c, uint8_t type, uint32_t id, const void *p,
    size_t len);
void script_fields(struct script *c, uint8_t type, uint32_t id,
    const struct buf *fields);

/* Answers an OPEN, READ or CLOSE: text_of() gives the content of a file, NULL
 * if there is none. piece: most bytes of an answer. */
void script_file(struct script *c, struct script_request *q,
    const char *(*text_of)(const char *path), size_t piece);

#endif
