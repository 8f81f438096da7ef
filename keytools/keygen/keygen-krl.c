/* SPDX-License-Identifier: ISC */
/* Makes key revocation lists (KRL), shows them, and looks keys up in them (-k,
 * -Q). */
#include "keytools/keygen/keygen.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/cert.h"
#include "keys/krl.h"

enum { KRL_MAX = 128 * 1024 * 1024 }; /* bytes of a KRL file */

static char *
fingerprint_of(const struct key *k)
{
	char *fp = key_fingerprint(k, DIGEST_SHA256);

	if (fp == NULL)
		fatal("out of memory");
	return fp;
}

/* ---- what is to be revoked ---------------------------------------------- */

/* A line of a list of what is to be revoked, and the KRL that it is added
 * to. */
struct source {
	struct krl *krl;
	/* Authority of serials and ids; NULL: any authority. */
	const struct key *ca;
	bool has_ca;	      /* -s was given */
	const char *file;
	unsigned line;
};

static _Noreturn void
bad_line(const struct source *s, const char *what, const char *text)
{
	fatal("%s:%u: %s \"%s\"", s->file, s->line, what, text);
}

static void
done(const struct source *s, int r)
{
	if (r != 0)
		fatal("%s:%u: %s", s->file, s->line, err_text(r));
}

/* Parses a serial number: decimal, hexadecimal with 0x, or octal with 0. */
static uint64_t
serial(const struct source *s, const char *text)
{
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0)
		bad_line(s, "invalid serial", text);
	if (n == 0)
		bad_line(s, "0 is no serial number:", text);
	return n;
}

static void
need_ca(const struct source *s)
{
	if (!s->has_ca)
		fatal("%s:%u: revoking certificates by serial number or key "
		      "ID requires specification of a CA key", s->file,
		    s->line);
}

static void
take_serials(const struct source *s, char *text)
{
	char *dash = strchr(text, '-');
	uint64_t first, last;

	need_ca(s);
	if (dash != NULL)
		*dash++ = '\0';
	first = serial(s, text);
	last = dash != NULL ? serial(s, dash) : first;
	if (last < first)
		bad_line(s, "invalid serial range that ends with", dash);
	done(s, krl_add_serials(s->krl, s->ca, first, last));
}

static void
take_id(const struct source *s, char *text)
{
	need_ca(s);
	done(s, krl_add_id(s->krl, s->ca,
		    (struct span){ (uint8_t *)text, strlen(text) }));
}

static struct key *
read_key(const struct source *s, const char *text)
{
	const char *pos = text;
	struct key *k = NULL;
	int r = key_parse_line(&pos, &k);

	if (r != 0)
		fatal("%s:%u: invalid key: %s", s->file, s->line,
		    err_text(r));
	return k;
}

static void
take_key(const struct source *s, char *text)
{
	struct key *k = read_key(s, text);

	done(s, krl_add_key(s->krl, k));
	key_free(k);
}

static void
take_sha1(const struct source *s, char *text)
{
	struct key *k = read_key(s, text);

	done(s, krl_add_digest_of(s->krl, k, DIGEST_SHA1));
	key_free(k);
}

static void
take_sha256(const struct source *s, char *text)
{
	struct key *k = read_key(s, text);

	done(s, krl_add_digest_of(s->krl, k, DIGEST_SHA256));
	key_free(k);
}

/* Revokes the key with this fingerprint, which is base64 without padding. */
static void
take_hash(const struct source *s, char *text)
{
	char *base64;
	uint8_t *digest = NULL;
	size_t len = 0;
	int r;

	if (!str_has_prefix(text, "SHA256:"))
		bad_line(s, "unsupported hash algorithm in", text);
	xasprintf(&base64, "%s=", text + strlen("SHA256:"));
	r = str_base64_decode(base64, strlen(base64), &digest, &len);
	if (r == 0)
		r = krl_add_sha256(s->krl, (struct span){ digest, len });
	if (r != 0)
		bad_line(s, "invalid fingerprint", text);
	free(digest);
	free(base64);
}

/* Handles a line that is a key without a word in front. A certificate is
 * revoked by its serial number, or by its id if it has no number; its plain key
 * is not revoked. */
static void
take_bare(const struct source *s, char *text)
{
	struct key *k = read_key(s, text);
	const struct cert *c = key_cert(k);

	if (c == NULL)
		done(s, krl_add_key(s->krl, k));
	else if (c->serial != 0)
		done(s, krl_add_serials(s->krl, c->ca, c->serial, c->serial));
	else
		done(s, krl_add_id(s->krl, c->ca,
			    (struct span){ (const uint8_t *)c->id,
				strlen(c->id) }));
	key_free(k);
}

static const struct {
	const char *word;
	void (*take)(const struct source *s, char *text);
} words[] = {
	{ "serial:", take_serials },
	{ "id:", take_id },
	{ "key:", take_key },
	{ "sha1:", take_sha1 },
	{ "sha256:", take_sha256 },
	{ "hash:", take_hash },
};

static void
take_line(const struct source *s, char *line)
{
	size_t len;

	line[strcspn(line, "#\r")] = '\0';
	line += strspn(line, " \t");
	len = strlen(line);
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		line[--len] = '\0';
	if (len == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i].word);

		if (strncasecmp(line, words[i].word, n) != 0)
			continue;
		words[i].take(s, line + n + strspn(line + n, " \t"));
		return;
	}
	take_bare(s, line);
}

static void
take_file(const struct keygen_options *o, struct source s, const char *path)
{
	char *text = keygen_read_text(path), *rest = text, *line;

	s.file = strcmp(path, "-") == 0 ? "(standard input)" : path;
	if (!o->quiet)
		printf("Revoking from %s\n", s.file);
	while ((line = strsep(&rest, "\n")) != NULL) {
		s.line++;
		take_line(&s, line);
	}
	free(text);
}

/* ---- making ------------------------------------------------------------- */

static void
read_krl(const char *path, struct buf *content)
{
	int r = file_read(path, content, KRL_MAX);

	if (r != 0)
		fatal("Unable to load KRL %s: %s", path, err_text(r));
}

static struct key *
load_ca(const struct keygen_options *o)
{
	struct key *k = NULL;
	int r;

	if (o->ca == NULL || strcasecmp(o->ca, "none") == 0)
		return NULL;
	r = keyfile_load_public(o->ca, &k, NULL);
	if (r == 0 && key_is_cert(k))
		r = ERR_KEY_TYPE;
	if (r != 0)
		fatal("Cannot load CA public key %s: %s", o->ca,
		    err_text(r));
	return k;
}

static void
set_header(const struct keygen_options *o, struct krl_header *h)
{
	if (o->number != NULL && !keygen_number(o->number, &h->version))
		fatal("Invalid KRL version number \"%s\"", o->number);
	if (o->comment != NULL)
		h->comment = (struct span){ (const uint8_t *)o->comment,
			strlen(o->comment) };
}

int
keygen_make_krl(const struct keygen_options *o)
{
	struct key *ca = load_ca(o);
	struct source s = { .ca = ca, .has_ca = o->ca != NULL };
	struct krl_header header = { .generated = (uint64_t)time(NULL) };
	struct buf old = { 0 }, new = { 0 };
	int r;

	if (o->file == NULL)
		fatal("KRL generation requires an output file");
	if (o->update && access(o->file, F_OK) == -1 && errno == ENOENT)
		fatal("KRL \"%s\" does not exist", o->file);
	if (krl_new(&s.krl) != 0)
		fatal("out of memory");
	if (o->update) {
		read_krl(o->file, &old);
		r = krl_add_all(s.krl, buf_span(&old), &header);
		if (r != 0)
			fatal("Invalid KRL file %s: %s", o->file,
			    err_text(r));
	}
	set_header(o, &header);
	for (size_t i = 0; i < o->n_args; i++)
		take_file(o, s, o->args[i]);
	r = krl_write(s.krl, &header, &new);
	if (r == 0)
		r = file_replace(o->file, buf_data(&new), buf_len(&new),
		    0644);
	if (r != 0)
		fatal("Couldn't write KRL %s: %s", o->file, err_text(r));
	krl_free(s.krl);
	buf_clear(&new);
	buf_clear(&old);
	key_free(ca);
	return OK;
}

/* ---- showing ------------------------------------------------------------ */

static char *
hex(struct span s)
{
	char *text = str_hex(s.p, s.len);

	if (text == NULL)
		fatal("out of memory");
	return text;
}

static void
show_key(struct span blob)
{
	struct key *k = NULL;
	char *text;

	if (key_from_blob(blob, &k) == 0) {
		text = fingerprint_of(k);
		printf("hash: %s # %s\n", text, key_type(k));
		key_free(k);
	} else {
		text = hex(blob);
		printf("# key of unknown type: %s\n", text);
	}
	free(text);
}

static void
show_ca(struct span blob)
{
	struct key *k = NULL;
	char *fp;

	if (blob.len == 0) {
		printf("\n# Wildcard CA\n");
	} else if (key_from_blob(blob, &k) == 0) {
		fp = fingerprint_of(k);
		printf("\n# CA key %s %s\n", key_type(k), fp);
		free(fp);
		key_free(k);
	} else {
		printf("\n# CA key of unknown type\n");
	}
}

static void
show_cert_item(const struct krl_item *item)
{
	char *id, *shown;

	if (item->what == KRL_SERIALS && item->first == item->last) {
		printf("serial: %llu\n", (unsigned long long)item->first);
	} else if (item->what == KRL_SERIALS) {
		printf("serial: %llu-%llu\n", (unsigned long long)item->first,
		    (unsigned long long)item->last);
	} else {
		id = span_dup(item->bytes);
		shown = xstr_escape(id != NULL ? id : "(no text)");
		printf("id: %s\n", shown);
		free(shown);
		free(id);
	}
}

struct shown {
	bool any;
	struct span ca; /* authority of the item that was shown last */
};

static int
show_item(void *arg, const struct krl_item *item)
{
	struct shown *s = arg;
	char *text;

	switch (item->what) {
	case KRL_KEY:
		show_key(item->bytes);
		return 0;
	case KRL_SHA256:
	case KRL_SHA1:
		text = hex(item->bytes);
		printf(item->what == KRL_SHA256 ? "hash: SHA256:%s\n" :
						  "# hash SHA1:%s\n", text);
		free(text);
		return 0;
	case KRL_SERIALS:
	case KRL_ID:
		break;
	}
	if (!s->any || s->ca.p != item->ca.p)
		show_ca(item->ca);
	s->any = true;
	s->ca = item->ca;
	show_cert_item(item);
	return 0;
}

static void
show_krl(struct span content)
{
	struct krl_header h = { .version = 0 };
	struct shown shown = { .any = false };
	struct krl *krl = NULL;
	char text[64] = "?", *comment, *printable;
	time_t when;
	struct tm tm;
	int r = krl_new(&krl);

	if (r == 0)
		r = krl_add_all(krl, content, &h);
	if (r != 0)
		fatal("%s", err_text(r));
	when = (time_t)h.generated;
	if (localtime_r(&when, &tm) != NULL)
		strftime(text, sizeof text, "%Y%m%dT%H%M%S", &tm);
	printf("# KRL version %llu\n# Generated at %s\n",
	    (unsigned long long)h.version, text);
	comment = span_dup(h.comment);
	if (comment != NULL && *comment != '\0') {
		printable = xstr_escape(comment);
		printf("# Comment: %s\n", printable);
		free(printable);
	}
	printf("\n");
	r = krl_each(krl, show_item, &shown);
	if (r != 0)
		fatal("%s", err_text(r));
	free(comment);
	krl_free(krl);
}

/* True if the key in the file is revoked. */
static bool
query_file(struct span content, const char *path)
{
	struct key *k = NULL;
	char *comment = NULL, *shown;
	bool revoked;
	int r = keyfile_load_public(path, &k, &comment);

	if (r != 0)
		fatal("Cannot load public key %s: %s", path, err_text(r));
	r = krl_find(content, k, &revoked);
	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	shown = xstr_escape(comment != NULL ? comment : "");
	printf("%s%s%s%s: %s\n", path, *shown != '\0' ? " (" : "", shown,
	    *shown != '\0' ? ")" : "", revoked ? "REVOKED" : "ok");
	free(shown);
	free(comment);
	key_free(k);
	return revoked;
}

int
keygen_query_krl(const struct keygen_options *o)
{
	struct buf content = { 0 };
	bool revoked = false;
	int r;

	if (o->file == NULL)
		fatal("KRL checking requires an input file");
	read_krl(o->file, &content);
	r = krl_read(buf_span(&content), NULL, NULL, NULL);
	if (r != 0)
		fatal("Invalid KRL file %s: %s", o->file,
		    krl_is(buf_span(&content)) ? err_text(r) :
						"it does not begin as one");
	if (o->fingerprint)
		show_krl(buf_span(&content));
	for (size_t i = 0; i < o->n_args; i++)
		revoked |= query_file(buf_span(&content), o->args[i]);
	buf_clear(&content);
	return revoked ? FAILED : OK;
}
