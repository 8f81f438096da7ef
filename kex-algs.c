/* SPDX-License-Identifier: ISC */
/* Composes our KEXINIT, and finds the algorithms that both sides have (RFC 4253
 * section 7.1). */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/rand.h"
#include "kex-internal.h"

#define STRICT_CLIENT "kex-strict-c-v00@openssh.com"
#define STRICT_SERVER "kex-strict-s-v00@openssh.com"

enum { LIST_MAX = 16 * 1024 }; /* bytes of one name-list */

void
kex_free_lists(char *lists[KEX_LIST_COUNT])
{
	for (int i = 0; i < KEX_LIST_COUNT; i++) {
		free(lists[i]);
		lists[i] = NULL;
	}
}

int
kex_copy_proposal(char *to[KEX_LIST_COUNT], const struct kex_proposal *from)
{
	const char *lists[KEX_LIST_COUNT] = {
		[KEX_LIST_KEX] = from->kex,
		[KEX_LIST_HOSTKEY] = from->hostkey,
		[KEX_LIST_CIPHER_CS] = from->cipher,
		[KEX_LIST_CIPHER_SC] = from->cipher,
		[KEX_LIST_MAC_CS] = from->mac,
		[KEX_LIST_MAC_SC] = from->mac,
		[KEX_LIST_COMP_CS] = from->compression,
		[KEX_LIST_COMP_SC] = from->compression,
		[KEX_LIST_LANG_CS] = "",
		[KEX_LIST_LANG_SC] = "",
	};

	kex_free_lists(to);
	for (int i = 0; i < KEX_LIST_COUNT; i++)
		if ((to[i] = strdup(lists[i])) == NULL)
			return ERR_NOMEM;
	return 0;
}

/* A copy of list with "none" put in front, at the end, or not at all; caller
 * frees. */
static char *
with_none(const char *list, enum kex_none where)
{
	struct buf b = { 0 };
	char *text;

	if (where == KEX_NONE_NEVER)
		return strdup(list);
	if (where == KEX_NONE_FIRST)
		buf_printf(&b, "none,%s", list);
	else
		buf_printf(&b, "%s,none", list);
	text = buf_dup_string(&b);
	buf_clear(&b);
	return text;
}

static int
settle_ciphers(struct kex *k)
{
	free(k->sent_ciphers);
	free(k->sent_macs);
	k->sent_ciphers = with_none(k->mine[KEX_LIST_CIPHER_CS], k->none);
	k->sent_macs = with_none(k->mine[KEX_LIST_MAC_CS],
	    k->none_mac ? k->none : KEX_NONE_NEVER);
	return k->sent_ciphers != NULL && k->sent_macs != NULL ? 0 : ERR_NOMEM;
}

/* Puts the methods of GSSAPI in front of our key exchange methods. The host key
 * algorithm "null" says that no host key is needed (RFC 4462 section 5): a
 * client names it last, a server only if it has no other. */
static int
settle_gss(struct kex *k)
{
	const char *keys = k->mine[KEX_LIST_HOSTKEY];
	struct kex_gss *g = &k->gss;
	struct buf b = { 0 };

	free(g->sent_kex);
	free(g->sent_hostkeys);
	g->sent_kex = g->sent_hostkeys = NULL;
	if (!kex_gss_offered(k))
		return 0;
	buf_printf(&b, "%s,%s", g->methods, k->mine[KEX_LIST_KEX]);
	g->sent_kex = buf_dup_string(&b);
	buf_reset(&b);
	buf_printf(&b, "%s%s%s", keys, *keys != '\0' && !k->server ? "," : "",
	    *keys == '\0' || !k->server ? "null" : "");
	g->sent_hostkeys = buf_dup_string(&b);
	buf_clear(&b);
	return g->sent_kex != NULL && g->sent_hostkeys != NULL ? 0 : ERR_NOMEM;
}

/* The list that our KEXINIT has. Lists that change between exchanges are the
 * same for both directions. */
static const char *
sent_list(const struct kex *k, enum kex_list list)
{
	switch (list) {
	case KEX_LIST_KEX:
		return k->gss.sent_kex != NULL ? k->gss.sent_kex :
						 k->mine[list];
	case KEX_LIST_HOSTKEY:
		return k->gss.sent_hostkeys != NULL ? k->gss.sent_hostkeys :
						      k->mine[list];
	case KEX_LIST_CIPHER_CS:
	case KEX_LIST_CIPHER_SC:
		return k->sent_ciphers;
	case KEX_LIST_MAC_CS:
	case KEX_LIST_MAC_SC:
		return k->sent_macs;
	default:
		return k->mine[list];
	}
}

int
kex_compose_init(struct kex *k)
{
	uint8_t cookie[KEX_COOKIE_LEN];
	struct buf *b = &k->my_init;
	int r;

	if ((r = settle_ciphers(k)) != 0 || (r = settle_gss(k)) != 0)
		return r;
	rand_bytes(cookie, sizeof cookie);
	buf_reset(b);
	buf_put_u8(b, SSH_MSG_KEXINIT);
	buf_put(b, cookie, sizeof cookie);
	for (int i = 0; i < KEX_LIST_COUNT; i++) {
		const char *list = sent_list(k, (enum kex_list)i);
		size_t mark = buf_open_string(b);

		buf_put(b, list, strlen(list));
		if (i == KEX_LIST_KEX && !k->first_done)
			buf_printf(b, "%s",
			    k->server ? ",ext-info-s," STRICT_SERVER :
					",ext-info-c," STRICT_CLIENT);
		buf_close_string(b, mark);
	}
	buf_put_bool(b, k->guessed);
	buf_put_u32(b, 0);
	return buf_err(b);
}

int
kex_parse_init(struct kex *k, struct rd r, bool *follows)
{
	int err;

	(void)rd_bytes(&r, KEX_COOKIE_LEN);
	kex_free_lists(k->peer);
	for (int i = 0; i < KEX_LIST_COUNT; i++)
		k->peer[i] = rd_cstring(&r, LIST_MAX);
	*follows = rd_bool(&r);
	(void)rd_u32(&r);
	if ((err = rd_end(&r)) != 0 || k->first_done)
		return err;
	k->ext.peer_wants = csv_has(k->peer[KEX_LIST_KEX],
	    k->server ? "ext-info-c" : "ext-info-s");
	k->strict = csv_has(k->peer[KEX_LIST_KEX],
	    k->server ? STRICT_CLIENT : STRICT_SERVER);
	return 0;
}

/* The first name of the client's list that the server's list has, too. */
static char *
common(const struct kex *k, enum kex_list list)
{
	const char *mine = sent_list(k, list);

	return k->server ? csv_first_common(k->peer[list], mine) :
			   csv_first_common(mine, k->peer[list]);
}

static int
agree_cipher(struct kex *k, enum kex_list list, struct packet_keys *keys)
{
	char *name = common(k, list);

	keys->cipher = name != NULL ? cipher_by_name(name) : NULL;
	free(name);
	return keys->cipher != NULL ? 0 : ERR_NO_CIPHER_MATCH;
}

static int
agree_mac(struct kex *k, enum kex_list list, struct packet_keys *keys)
{
	char *name;

	keys->mac = NULL;
	if (!keys->cipher->needs_mac)
		return 0;
	name = common(k, list);
	if (name != NULL)
		keys->mac = mac_by_name(name);
	free(name);
	/* MAC "none" is only for cipher "none": any other cipher that needs a
	 * MAC gives no protection without one. */
	if (keys->mac == mac_by_name("none") && !cipher_is_none(keys->cipher))
		keys->mac = NULL;
	return keys->mac != NULL ? 0 : ERR_NO_MAC_MATCH;
}

static int
agree_compression(struct kex *k, enum kex_list list,
    struct packet_keys *keys)
{
	char *name = common(k, list);
	int r = 0;

	if (name == NULL)
		r = ERR_NO_COMP_MATCH;
	else
		keys->compress = strcmp(name, "zlib@openssh.com") == 0;
	free(name);
	return r;
}

static int
agree_direction(struct kex *k, bool client_to_server,
    struct packet_keys *keys)
{
	int sc = client_to_server ? 0 : 1, r;

	memset(keys, 0, sizeof *keys);
	r = agree_cipher(k, (enum kex_list)(KEX_LIST_CIPHER_CS + sc), keys);
	if (r == 0)
		r = agree_mac(k, (enum kex_list)(KEX_LIST_MAC_CS + sc), keys);
	if (r == 0)
		r = agree_compression(k,
		    (enum kex_list)(KEX_LIST_COMP_CS + sc), keys);
	return r;
}

static void
note_result(struct kex *k)
{
	struct kex_result *res = &k->result;

	res->kex = k->kem_alg->name;
	res->post_quantum = k->kem_alg->post_quantum;
	res->cipher_tx = k->tx.cipher->name;
	res->cipher_rx = k->rx.cipher->name;
	res->mac_tx = k->tx.mac != NULL ? k->tx.mac->name : "<implicit>";
	res->mac_rx = k->rx.mac != NULL ? k->rx.mac->name : "<implicit>";
	res->comp_tx = k->tx.compress ? "zlib@openssh.com" : "none";
	res->comp_rx = k->rx.compress ? "zlib@openssh.com" : "none";
	log_debug("kex: algorithm: %s", res->kex);
	log_debug("kex: host key algorithm: %s", res->hostkey_alg);
	log_debug("kex: %s cipher: %s MAC: %s compression: %s",
	    k->server ? "client->server" : "server->client", res->cipher_rx,
	    res->mac_rx, res->comp_rx);
	log_debug("kex: %s cipher: %s MAC: %s compression: %s",
	    k->server ? "server->client" : "client->server", res->cipher_tx,
	    res->mac_tx, res->comp_tx);
}

int
kex_agree(struct kex *k)
{
	char *name = common(k, KEX_LIST_KEX);
	int r;

	k->kem_alg = name != NULL ? kem_by_name(name) : NULL;
	free(name);
	if (k->kem_alg == NULL)
		return ERR_NO_KEX_MATCH;
	free(k->result.hostkey_alg);
	k->result.hostkey_alg = common(k, KEX_LIST_HOSTKEY);
	/* Without a host key, GSSAPI must prove who the host is. */
	if (k->result.hostkey_alg == NULL ||
	    (k->kem_alg->gss_prefix == NULL &&
		strcmp(k->result.hostkey_alg, "null") == 0))
		return ERR_NO_HOSTKEY_MATCH;
	if ((r = agree_direction(k, !k->server, &k->tx)) != 0 ||
	    (r = agree_direction(k, k->server, &k->rx)) != 0)
		return r;
	if (k->none == KEX_NONE_NEVER &&
	    (cipher_is_none(k->tx.cipher) || cipher_is_none(k->rx.cipher))) {
		log_error("The cipher \"none\" is not allowed here and now.");
		return ERR_DENIED;
	}
	note_result(k);
	return 0;
}

/* A copy of the first name of a list; caller frees. */
static char *
first_of(const char *list)
{
	const char *name;
	size_t len;

	return csv_next(&list, &name, &len) ? strndup(name, len) : NULL;
}

const struct kem_alg *
kex_first_method(const struct kex *k)
{
	char *name = first_of(kex_gss_offered(k) ? k->gss.methods :
						   k->mine[KEX_LIST_KEX]);
	const struct kem_alg *alg = name != NULL ? kem_by_name(name) : NULL;

	free(name);
	return alg != NULL && !alg->group_exchange ? alg : NULL;
}

bool
kex_peer_first(const struct kex *k, char **kex, char **hostkey)
{
	if (k->peer[KEX_LIST_KEX] == NULL ||
	    k->peer[KEX_LIST_HOSTKEY] == NULL)
		return false;
	*kex = first_of(k->peer[KEX_LIST_KEX]);
	*hostkey = first_of(k->peer[KEX_LIST_HOSTKEY]);
	if (*kex != NULL && *hostkey != NULL)
		return true;
	free(*kex);
	free(*hostkey);
	return false;
}

static bool
same_first(const char *a, const char *b)
{
	const char *name_a, *name_b;
	size_t len_a, len_b;

	return csv_next(&a, &name_a, &len_a) &&
	    csv_next(&b, &name_b, &len_b) && len_a == len_b &&
	    memcmp(name_a, name_b, len_a) == 0;
}

bool
kex_guess_is_right(const struct kex *k)
{
	return same_first(sent_list(k, KEX_LIST_KEX),
		   k->peer[KEX_LIST_KEX]) &&
	    same_first(sent_list(k, KEX_LIST_HOSTKEY),
		k->peer[KEX_LIST_HOSTKEY]);
}
