/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-receipt.h"

#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/copy/remote.h"
#include "client/sshclient.h"
#include "crypto/digest.h"
#include "keys/key.h"
#include "xfer/whole-file.h"

enum { RECEIPT_VERSION = 1 };

struct direct_receipt {
	bool pull;
	struct whole_file *file;
	struct digest *digest; /* of the file's bytes */
	bool begun;	       /* direct_receipt_begin() was called */
	bool some;	       /* there is a file */
	struct buf grants; /* their list, as it is written at the end */
	char began[32];
};

struct direct_parties
direct_parties_of(const struct remote *remote, const struct xfer_target *teller)
{
	const struct client_conf *conf = remote_conf(remote);

	return (struct direct_parties){ .teller = teller,
		.host = conf->host.hostname,
		.user = conf->host.user,
		.port = conf->host.port,
		.hostkey = sshclient_hostkey(remote_client(remote, 0)) };
}

static void
now_text(char text[32])
{
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL ||
	    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		text[0] = '\0';
}

int
direct_receipt_new(struct direct_receipt **out, const char *path, bool pull)
{
	struct whole_file *file;
	struct direct_receipt *r;
	int err = whole_file_create(&file, path, 0666);

	if (err != 0)
		return err;
	r = xcalloc(1, sizeof *r);
	r->file = file;
	r->pull = pull;
	now_text(r->began);
	if (digest_new(&r->digest, DIGEST_SHA256) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
	*out = r;
	return 0;
}

/* ---- its parts ----------------------------------------------------------- */

static void
put_fingerprint(struct buf *b, const char *name, struct span blob)
{
	struct key *k = NULL;
	char *text = key_from_blob(blob, &k) == 0 ?
	    key_fingerprint(k, DIGEST_SHA256) : NULL;

	if (text != NULL)
		json_put_text(b, name, text);
	free(text);
	key_free(k);
}

static void
must(const struct buf *b)
{
	if (buf_err(b) != 0)
		fatal("%s", err_text(buf_err(b)));
}

static void
write_out(struct direct_receipt *r, struct buf *b)
{
	must(b);
	whole_file_write(r->file, buf_data(b), buf_len(b));
	if (digest_update(r->digest, buf_data(b), buf_len(b)) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
	buf_clear(b);
}

/* Writes one of the two hosts, with what is known of it. */
static void
put_host(struct buf *b, const char *name, const char *host, const char *user,
    int port, struct span hostkey)
{
	json_put_key(b, name);
	buf_printf(b, "{\"host\":");
	json_put_string(b, host);
	if (user != NULL)
		json_put_text(b, "user", user);
	if (port != 0)
		json_put_number(b, "port", (uint64_t)port);
	put_fingerprint(b, "hostkey", hostkey);
	buf_printf(b, "}");
}

static void
put_teller(struct buf *b, const char *name, const struct direct_parties *who)
{
	const struct xfer_target *t = who->teller;

	put_host(b, name, t->host, t->user, t->port, (struct span){ NULL, 0 });
}

static void
put_asked(struct buf *b, const char *name, const struct direct_parties *who)
{
	put_host(b, name, who->host, who->user, who->port, who->hostkey);
}

void
direct_receipt_begin(struct direct_receipt *r,
    const struct direct_parties *who)
{
	struct buf b = { 0 };

	if (r == NULL)
		return;
	buf_printf(&b, "{\"receipt\":%d", RECEIPT_VERSION);
	json_put_text(&b, "direct", r->pull ? "pull" : "push");
	json_put_text(&b, "began", r->began);
	(r->pull ? put_asked : put_teller)(&b, "from", who);
	(r->pull ? put_teller : put_asked)(&b, "to", who);
	json_put_key(&b, "files");
	buf_printf(&b, "[");
	r->begun = true;
	write_out(r, &b);
}

void
direct_receipt_grant(struct direct_receipt *r, struct span key,
    const char *directory)
{
	if (r == NULL)
		return;
	buf_printf(&r->grants, "%s{\"directory\":",
	    buf_len(&r->grants) > 0 ? "," : "");
	json_put_string(&r->grants, directory);
	put_fingerprint(&r->grants, "key", key);
	buf_printf(&r->grants, "}");
	must(&r->grants);
}

static void
put_digest(struct buf *b, const char *name, const uint8_t *digest)
{
	char *text;

	if (digest == NULL)
		return;
	if ((text = str_hex(digest, DIRECT_SUM_LEN)) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	json_put_text(b, name, text);
	free(text);
}

void
direct_receipt_put(struct direct_receipt *r,
    const struct direct_receipt_file *f)
{
	struct buf b = { 0 };

	if (r == NULL)
		return;
	buf_printf(&b, "%s\n{\"path\":", r->some ? "," : "");
	json_put_string(&b, f->path);
	if (f->has_size)
		json_put_number(&b, "size", f->size);
	put_digest(&b, "source", r->pull ? f->asked : f->told);
	put_digest(&b, "target", r->pull ? f->told : f->asked);
	buf_printf(&b, "}");
	r->some = true;
	write_out(r, &b);
}

/* ---- its end ------------------------------------------------------------- */

static void
write_end(struct direct_receipt *r, bool whole)
{
	struct buf b = { 0 };
	char now[32];

	now_text(now);
	buf_printf(&b, "\n]");
	json_put_key(&b, "grants");
	buf_printf(&b, "[");
	buf_put(&b, buf_data(&r->grants), buf_len(&r->grants));
	buf_printf(&b, "]");
	json_put_text(&b, "ended", now);
	json_put_bool(&b, "whole", whole);
	buf_printf(&b, "}\n");
	write_out(r, &b);
}

int
direct_receipt_end(struct direct_receipt *r, bool keep, bool whole,
    uint8_t digest[DIRECT_SUM_LEN])
{
	struct whole_file *file;
	int err;

	if (r == NULL)
		return ERR_NOT_FOUND;
	keep &= r->begun;
	if (keep)
		write_end(r, whole);
	if (digest_final(r->digest, digest) != 0)
		fatal("%s", err_text(ERR_CRYPTO));
	digest_free(r->digest);
	buf_clear(&r->grants);
	file = r->file;
	free(r);
	err = whole_file_end(file, keep);
	return !keep ? ERR_NOT_FOUND : err;
}
