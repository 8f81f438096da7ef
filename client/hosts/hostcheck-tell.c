/* SPDX-License-Identifier: ISC */
/* Messages and questions to the user about a host's key. */
#include "client/hosts/hostcheck-internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"

char *
hostcheck_fingerprint(const struct hostcheck *h, const struct key *k)
{
	char *fp = key_fingerprint(
	    k, (enum digest_alg)h->conf->known.fingerprint_hash);

	if (fp == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return fp;
}

static void
log_lines(enum log_level level, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		log_msg(level, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void
hostcheck_show_picture(const struct hostcheck *h, const struct key *k)
{
	char *fp, *art;

	if (!h->conf->known.visual_host_key)
		return;
	fp = hostcheck_fingerprint(h, k);
	art =
	    key_randomart(k, (enum digest_alg)h->conf->known.fingerprint_hash);
	log_info("Host key fingerprint is %s", fp);
	if (art != NULL)
		log_lines(LOG_LVL_INFO, art);
	free(art);
	free(fp);
}

static void
banner(const char *text)
{
	enum { left = 4 };
	static const char line[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
				   "@@@@@@@@@@@@@@@@@@@";

	log_error("%s", line);
	/* As many blanks in front of the text as OpenSSH prints. */
	log_error("@%*s%-*s@", left, "", (int)sizeof line - 3 - left, text);
	log_error("%s", line);
}

void
hostcheck_warn_changed(const struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	const struct knownhosts_found *found = &v->found;
	char *fp = hostcheck_fingerprint(h, k);

	banner("WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!");
	log_error("IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!");
	log_error("This host is known under another key. Either its key was "
		  "replaced, or");
	log_error("SOMEBODY IS BETWEEN YOU AND THE HOST and reads along "
		  "(man-in-the-middle attack).");
	log_error("It now shows the %s key %s.", key_short_name(k), fp);
	if (found->path != NULL)
		log_error("Add correct host key in %s to get rid of this "
			  "message.", found->path);
	log_error("If you can make sure, by another way than this connection, "
		  "that this is right,");
	log_error("remove the old key:  hpnssh-keygen -f '%s' -R '%s'",
	    found->path != NULL ? found->path : "known_hosts", v->name);
	if (v->name == h->other_name)
		log_error("(No port was given, so this key counts for %s as "
			  "well. If another server is meant to be there, give "
			  "its port with -p.)",
		    h->name);
	if (found->path != NULL)
		log_error("Offending %s key in %s:%u", found->type,
		    found->path, found->line);
	free(fp);
}

void
hostcheck_warn_revoked(const struct hostcheck *h, const struct key *k,
    const struct knownhosts_found *found)
{
	banner("WARNING: REVOKED HOST KEY DETECTED!");
	log_error("The %s key of %s is marked as revoked in %s:%u.",
	    key_short_name(k), h->name,
	    found->path != NULL ? found->path : "?", found->line);
	log_error("Somebody may be using a stolen key to pass as this host.");
}

/* Warns that known_hosts has another key for the name. If it also has another
 * key for the address, the host itself probably has a new key; else the name
 * may lead to another host now. */
void
hostcheck_warn_spoofing(const struct hostcheck *h, const struct key *k,
    const struct address_verdict *a)
{
	if (a->found.verdict == KNOWNHOSTS_CHANGED)
		return;
	banner("WARNING: POSSIBLE DNS SPOOFING DETECTED!");
	log_error("%s is not known under this %s key, and its address", h->name,
	    key_short_name(k));
	log_error("%s is %s.", a->name,
	    a->found.verdict == KNOWNHOSTS_OK ? "known under it" :
						"not known at all");
	log_error("The name may lead to somebody else's machine now, or it "
		  "was given to another one.");
	if (a->found.verdict == KNOWNHOSTS_OK && a->found.path != NULL)
		log_error("Offending key for IP in %s:%u", a->found.path,
		    a->found.line);
}

void
hostcheck_warn_dns(const struct hostcheck *h, const struct key *k)
{
	char *fp = hostcheck_fingerprint(h, k);

	banner("WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!");
	log_error("IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!");
	log_error("The DNS has SSHFP records of %s, and none of them is that "
		  "of its %s key",
	    h->conf->host.hostname, key_short_name(k));
	log_error("%s.", fp);
	log_error("Update the SSHFP RR in DNS with the new host key to get rid "
		  "of this message.");
	free(fp);
}

void
hostcheck_explain_refusal(const struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	switch (v->found.verdict) {
	case KNOWNHOSTS_CHANGED:
		log_error("Host key for %s has changed and you have requested "
			  "strict checking.",
		    v->name);
		break;
	case KNOWNHOSTS_IS_REVOKED:
		break;
	default:
		log_error("No %s host key is known for %s and you have "
			  "requested strict checking.",
		    key_short_name(k), h->name);
	}
}

struct names {
	struct buf *out;
	unsigned found;
};

static int
list_name(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	struct names *n = arg;

	if (line->marker == KNOWNHOSTS_NONE)
		buf_printf(n->out, "%s    %s:%u: %.200s\n",
		    n->found++ == 0 ? "The same key is known for:\n" : "",
		    path, number,
		    line->hosts[0] == '|' ? "(hashed name)" : line->hosts);
	return 0;
}

/* Appends the other names under which the files have this same key, as a hint
 * for the user. */
static void
list_other_names(const struct hostcheck *h, const struct key *k,
    struct buf *out)
{
	struct names n = { .out = out };

	for (size_t i = 0; i < h->all_files.n; i++)
		(void)!knownhosts_each_of_key(h->all_files.v[i], k, list_name,
		    &n);
	if (n.found == 0)
		buf_printf(out,
		    "This key is not known by any other names.\n");
}

static bool
is_yes(const char *answer, const char *fp, bool *decided)
{
	*decided = true;
	if (strcasecmp(answer, "yes") == 0 || strcmp(answer, fp) == 0)
		return true;
	/* An empty answer may be the end of the input (^D): it counts as "no",
	 * so that the question is not repeated for ever. */
	*decided = *answer == '\0' || strcasecmp(answer, "no") == 0;
	return false;
}

bool
hostcheck_ask_user(const struct hostcheck *h, const struct key *k)
{
	struct buf text = { 0 };
	char *fp = hostcheck_fingerprint(h, k), *question, *answer;
	bool accepted = false, decided = false;

	buf_printf(&text, "The authenticity of host '%s", h->name);
	if (h->address != NULL)
		buf_printf(&text, " (%s)", h->address);
	buf_printf(&text, "' can't be established.\n");
	buf_printf(&text, "%s key fingerprint is %s.\n", key_short_name(k), fp);
	if (h->conf->known.verify_host_key_dns != CLIENT_ASK_NO)
		buf_printf(&text, "%s host key fingerprint found in DNS.\n",
		    h->in_dns == SSHFP_MATCH ? "Matching" : "No matching");
	list_other_names(h, k, &text);
	buf_printf(&text, "Are you sure you want to continue connecting "
			  "(yes/no/[fingerprint])? ");
	question = buf_dup_string(&text);
	while (!decided && question != NULL) {
		answer = prompt_ask(question, PROMPT_VISIBLE);
		if (answer == NULL)
			break;
		answer[strcspn(answer, "\r\n")] = '\0';
		accepted = is_yes(answer, fp, &decided);
		prompt_free(answer);
		free(question);
		question = xstrdup(
		    "Please type 'yes', 'no' or the fingerprint: ");
	}
	free(question);
	free(fp);
	buf_clear(&text);
	return accepted;
}

