/* SPDX-License-Identifier: ISC */
#include "kex.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd-mem.h"
#include "kex-internal.h"
#include "peer-version.h"

/* DES3_STRENGTH: bytes of a 3DES key that count, those of two of three keys. */
enum { DES3_STRENGTH = 14 };

int
kex_new(struct kex **out, struct packet *p, const struct kex_hooks *hooks,
    const struct kex_proposal *mine, const char *id_local,
    const char *id_remote)
{
	struct kex *k = calloc(1, sizeof *k);
	int r = ERR_NOMEM;

	if (k == NULL)
		return ERR_NOMEM;
	k->packet = p;
	k->hooks = *hooks;
	k->server = packet_is_server(p);
	k->moduli_fd = -1;
	*(k->server ? &k->id_server : &k->id_client) = strdup(id_local);
	if ((k->server ? k->id_server : k->id_client) != NULL)
		r = kex_copy_proposal(k->mine, mine);
	if (r == 0 && id_remote != NULL)
		r = kex_set_remote_id(k, id_remote);
	if (r != 0) {
		kex_free(k);
		return r;
	}
	*out = k;
	return 0;
}

int
kex_new_proxied(struct kex **out, struct packet *p)
{
	struct kex *k = calloc(1, sizeof *k);

	if (k == NULL)
		return ERR_NOMEM;
	k->packet = p;
	k->moduli_fd = -1;
	k->first_done = k->proxied = true;
	*out = k;
	return 0;
}

/* Forgets the exchange that has ended, except what belongs to the
 * connection. */
void
kex_end_exchange(struct kex *k)
{
	kem_free(k->kem);
	k->kem = NULL;
	buf_clear(&k->my_init);
	buf_clear(&k->peer_init);
	buf_clear(&k->gex.prime);
	buf_clear(&k->gex.generator);
	buf_clear(&k->client_value);
	kex_gss_end_exchange(k);
	explicit_bzero(&k->tx, sizeof k->tx);
	explicit_bzero(&k->rx, sizeof k->rx);
	k->sent_init = k->got_init = false;
	k->sent_newkeys = k->got_newkeys = false;
	k->skip_guess = k->gex.got_group = k->guessed = false;
}

void
kex_free(struct kex *k)
{
	if (k == NULL)
		return;
	kex_end_exchange(k);
	kex_free_lists(k->mine);
	kex_free_lists(k->peer);
	kex_gss_free(k);
	free(k->sent_ciphers);
	free(k->sent_macs);
	free(k->id_client);
	free(k->id_server);
	free(k->moduli_path);
	free(k->ext.sig_algs);
	free(k->ext.peer_sig_algs);
	free(k->result.hostkey_alg);
	buf_clear(&k->hostkey);
	mem_free_secret(k, sizeof *k);
}

void
kex_set_none(struct kex *k, enum kex_none none, bool mac)
{
	ENSURE(none == KEX_NONE_NEVER || k->first_done);
	k->none = none;
	k->none_mac = mac && none != KEX_NONE_NEVER;
}

static int
set_string(char **field, const char *value)
{
	char *copy = value != NULL ? strdup(value) : NULL;

	if (value != NULL && copy == NULL)
		return ERR_NOMEM;
	free(*field);
	*field = copy;
	return 0;
}

int
kex_set_remote_id(struct kex *k, const char *id_remote)
{
	int r = set_string(k->server ? &k->id_client : &k->id_server,
	    id_remote);

	if (r == 0)
		k->peer_traits = peer_version_traits(id_remote);
	return r;
}

void
kex_set_guess(struct kex *k, bool guess)
{
	k->guess = guess && !k->server;
}

int
kex_set_moduli(struct kex *k, const char *path)
{
	return set_string(&k->moduli_path, path);
}

void
kex_set_moduli_fd(struct kex *k, int fd)
{
	k->moduli_fd = fd;
}

int
kex_set_sig_algs(struct kex *k, const char *list)
{
	return set_string(&k->ext.sig_algs, list);
}

int
kex_send_and_clear(struct kex *k, struct buf *b)
{
	int r = packet_put(k->packet, b);

	buf_clear(b);
	return r;
}

/* Derives a key of len bytes (RFC 4253 section 7.2): a hash of the shared
 * secret and more, and of the bytes so far if one hash is too short. */
static int
derive(const struct kex *k, char letter, const struct buf *shared,
    const uint8_t *hash, uint8_t *out, size_t len)
{
	enum digest_alg alg = k->kem_alg->digest;
	size_t step = digest_len(alg), have = 0;
	uint8_t block[DIGEST_MAX_LEN];
	struct buf in;
	int r = 0;

	buf_init_secret(&in);
	while (have < len && r == 0) {
		buf_reset(&in);
		buf_put_buf(&in, shared);
		buf_put(&in, hash, step);
		if (have == 0) {
			buf_put_u8(&in, (uint8_t)letter);
			buf_put(&in, k->session_id, k->session_id_len);
		} else {
			buf_put(&in, out, have);
		}
		if ((r = buf_err(&in)) == 0)
			r = digest_once(alg, buf_data(&in), buf_len(&in),
			    block);
		if (r == 0) {
			memcpy(out + have, block, MIN(step, len - have));
			have += MIN(step, len - have);
		}
	}
	buf_clear(&in);
	explicit_bzero(block, sizeof block);
	return r;
}

static int
derive_direction(const struct kex *k, bool client_to_server,
    const struct buf *shared, const uint8_t *hash, struct packet_keys *keys)
{
	int sc = client_to_server ? 0 : 1, r;

	r = derive(k, (char)('A' + sc), shared, hash, keys->iv,
	    keys->cipher->iv_len);
	if (r == 0)
		r = derive(k, (char)('C' + sc), shared, hash, keys->key,
		    keys->cipher->key_len);
	if (r == 0 && keys->mac != NULL)
		r = derive(k, (char)('E' + sc), shared, hash, keys->mac_key,
		    keys->mac->key_len);
	return r;
}

int
kex_exchange_hash(const struct kex *k, struct span client_value,
    struct span server_value, const struct buf *shared, uint8_t *hash)
{
	const struct buf *ic = k->server ? &k->peer_init : &k->my_init;
	const struct buf *is = k->server ? &k->my_init : &k->peer_init;
	bool gss = k->kem_alg->gss_prefix != NULL;
	struct buf in;
	int r;

	buf_init_secret(&in);
	buf_put_cstring(&in, k->id_client);
	buf_put_cstring(&in, k->id_server);
	buf_put_string_buf(&in, ic);
	buf_put_string_buf(&in, is);
	buf_put_string_buf(&in, gss ? &k->gss.hostkey : &k->hostkey);
	if (k->kem_alg->group_exchange) {
		buf_put_u32(&in, k->gex.min);
		buf_put_u32(&in, k->gex.want);
		buf_put_u32(&in, k->gex.max);
		buf_put_mpint(&in, buf_data(&k->gex.prime),
		    buf_len(&k->gex.prime));
		buf_put_mpint(&in, buf_data(&k->gex.generator),
		    buf_len(&k->gex.generator));
	}
	buf_put_string(&in, client_value.p, client_value.len);
	buf_put_string(&in, server_value.p, server_value.len);
	buf_put_buf(&in, shared);
	if ((r = buf_err(&in)) == 0)
		r = digest_once(k->kem_alg->digest, buf_data(&in),
		    buf_len(&in), hash);
	buf_clear(&in);
	return r;
}

#define IN_AUTH "ext-info-in-auth@openssh.com"
#define EARLY "early-messages@hpnssh.org"

static int
client_send_ext_info(struct kex *k)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_EXT_INFO);
	buf_put_u32(&b, 2);
	buf_put_cstring(&b, IN_AUTH);
	buf_put_cstring(&b, "0");
	buf_put_cstring(&b, EARLY);
	buf_put_cstring(&b, "0");
	return kex_send_and_clear(k, &b);
}

static int
send_ext_info(struct kex *k)
{
	struct buf b;

	if (!k->server)
		return client_send_ext_info(k);
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_EXT_INFO);
	buf_put_u32(&b, 5);
	buf_put_cstring(&b, "server-sig-algs");
	buf_put_cstring(&b, k->ext.sig_algs != NULL ? k->ext.sig_algs : "");
	buf_put_cstring(&b, "publickey-hostbound@openssh.com");
	buf_put_cstring(&b, "0");
	buf_put_cstring(&b, "ping@openssh.com");
	buf_put_cstring(&b, "0");
	buf_put_cstring(&b, "agent-forward");
	buf_put_cstring(&b, "0");
	buf_put_cstring(&b, EARLY);
	buf_put_cstring(&b, "0");
	return kex_send_and_clear(k, &b);
}

int
kex_take_secret(struct kex *k, const struct buf *shared, const uint8_t *hash)
{
	struct buf b;
	int r;

	if (!k->first_done) {
		k->session_id_len = digest_len(k->kem_alg->digest);
		memcpy(k->session_id, hash, k->session_id_len);
	}
	r = derive_direction(k, !k->server, shared, hash, &k->tx);
	if (r == 0)
		r = derive_direction(k, k->server, shared, hash, &k->rx);
	if (r != 0)
		return r;
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_NEWKEYS);
	if ((r = kex_send_and_clear(k, &b)) != 0)
		return r;
	r = packet_set_keys(k->packet, PACKET_TX, &k->tx, k->strict);
	if (r != 0)
		return r;
	k->sent_newkeys = true;
	log_debug("SSH2_MSG_NEWKEYS sent");
	if (!k->first_done && k->ext.peer_wants &&
	    (r = send_ext_info(k)) != 0)
		return r;
	if ((r = packet_postpone(k->packet, false)) == 0 && k->server &&
	    !k->first_done && k->hooks.keys_sent != NULL)
		r = k->hooks.keys_sent(k->hooks.arg);
	return r;
}

/* The bytes of secret that an exchange must give for the keys of a
 * direction. */
static size_t
secret_wanted(const struct packet_keys *keys)
{
	const struct cipher_alg *c = keys->cipher;
	size_t n = c->kind == CIPHER_DES3_CBC ? DES3_STRENGTH : c->key_len;

	n = MAX(n, MAX(c->block_len, c->iv_len));
	return keys->mac != NULL ? MAX(n, keys->mac->key_len) : n;
}

/* The bits of a group that is about as strong as the keys (NIST SP 800-57). */
static uint32_t
group_size_wanted(const struct kex *k)
{
	static const struct {
		size_t secret;
		uint32_t bits;
	} sizes[] = { { 14, 2048 }, { 16, 3072 }, { 24, 7680 } };
	size_t n = MAX(secret_wanted(&k->tx), secret_wanted(&k->rx));

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (n <= sizes[i].secret)
			return sizes[i].bits;
	return KEX_GEX_MAX;
}

static int
client_send_value(struct kex *k)
{
	struct buf b;
	int r;

	if (k->kem_alg->gss_prefix != NULL)
		return kex_gss_client_begin(k);
	buf_reset(&k->client_value);
	if ((r = kem_client_init(k->kem, &k->client_value)) != 0)
		return r;
	buf_init(&b);
	buf_put_u8(&b, k->kem_alg->group_exchange ? SSH_MSG_GEX_INIT :
						    SSH_MSG_KEX_INIT);
	buf_put_string_buf(&b, &k->client_value);
	return kex_send_and_clear(k, &b);
}

int
kex_start(struct kex *k)
{
	int r;

	if (k->proxied)
		return ERR_UNSUPPORTED;
	if (k->sent_init || (r = kex_gss_wait(k)) == 1)
		return 0;
	if (r != 0)
		return r;
	if (k->guess && !k->first_done)
		k->kem_alg = kex_first_method(k);
	k->guessed = k->guess && !k->first_done && k->kem_alg != NULL;
	if ((r = kex_compose_init(k)) != 0 ||
	    (r = packet_put(k->packet, &k->my_init)) != 0)
		return r;
	k->sent_init = true;
	log_debug("SSH2_MSG_KEXINIT sent");
	if ((r = packet_postpone(k->packet, true)) != 0 || !k->guessed)
		return r;
	log_debug2("guessed key exchange packet sent: %s", k->kem_alg->name);
	r = kem_new(&k->kem, k->kem_alg);
	return r != 0 ? r : client_send_value(k);
}

static int
client_begin(struct kex *k)
{
	struct buf b;
	int r;

	if (k->guessed) {
		if (kex_guess_is_right(k))
			return 0; /* the server will answer the guess */
		log_debug2("guess was wrong");
		kem_free(k->kem);
		k->kem = NULL;
	}
	if (!k->kem_alg->group_exchange) {
		if ((r = kem_new(&k->kem, k->kem_alg)) != 0)
			return r;
		return client_send_value(k);
	}
	k->gex.min = KEX_GEX_MIN;
	k->gex.want = group_size_wanted(k);
	k->gex.max = KEX_GEX_MAX;
	buf_init(&b);
	buf_put_u8(&b, kex_is_gss(k) ? SSH_MSG_KEXGSS_GROUPREQ :
				       SSH_MSG_GEX_REQUEST);
	buf_put_u32(&b, k->gex.min);
	buf_put_u32(&b, k->gex.want);
	buf_put_u32(&b, k->gex.max);
	log_debug("SSH2_MSG_KEX_DH_GEX_REQUEST(%u<%u<%u) sent", k->gex.min,
	    k->gex.want, k->gex.max);
	return kex_send_and_clear(k, &b);
}

int
kex_client_on_group(struct kex *k, struct rd r)
{
	struct span prime = rd_mpint(&r), generator = rd_mpint(&r);
	int err;

	if ((err = rd_end(&r)) != 0)
		return err;
	if (k->gex.got_group)
		return ERR_PROTOCOL;
	k->gex.got_group = true;
	buf_put(&k->gex.prime, prime.p, prime.len);
	buf_put(&k->gex.generator, generator.p, generator.len);
	if ((err = buf_err(&k->gex.prime)) != 0 ||
	    (err = buf_err(&k->gex.generator)) != 0)
		return err;
	err = kem_new_group(&k->kem, k->kem_alg, prime, generator);
	return err != 0 ? err : client_send_value(k);
}

static int
client_on_reply(struct kex *k, struct rd r)
{
	struct span blob = rd_string(&r), value = rd_string(&r);
	struct span signature = rd_string(&r), signed_data, mine;
	const char *alg = k->result.hostkey_alg;
	uint8_t hash[DIGEST_MAX_LEN];
	struct buf shared;
	int err;

	buf_init_secret(&shared);
	if ((err = rd_end(&r)) != 0)
		goto out;
	if (k->kem == NULL || k->sent_newkeys) {
		err = ERR_PROTOCOL;
		goto out;
	}
	buf_reset(&k->hostkey);
	buf_put(&k->hostkey, blob.p, blob.len);
	if ((err = buf_err(&k->hostkey)) != 0 ||
	    (err = kem_client_finish(k->kem, value, &shared)) != 0)
		goto out;
	mine = buf_span(&k->client_value);
	if ((err = kex_exchange_hash(k, mine, value, &shared, hash)) != 0)
		goto out;
	signed_data = (struct span){ hash, digest_len(k->kem_alg->digest) };
	err = k->hooks.verify(k->hooks.arg, alg, blob, signed_data, signature);
	if (err == 0)
		err = k->hooks.check_hostkey(k->hooks.arg, blob, alg);
	if (err == 0)
		err = kex_take_secret(k, &shared, hash);
out:
	buf_clear(&shared);
	return err;
}

static int
choose_group(struct kex *k)
{
	uint32_t min = MAX(k->gex.min, (uint32_t)KEX_GEX_MIN);
	uint32_t max = MIN(k->gex.max, (uint32_t)KEX_GEX_MAX);

	if (k->moduli_fd != -1)
		return kem_choose_group_fd(k->moduli_fd, min, k->gex.want, max,
		    &k->gex.prime, &k->gex.generator);
	return kem_choose_group(k->moduli_path, min, k->gex.want, max,
	    &k->gex.prime, &k->gex.generator);
}

int
kex_server_on_group_request(struct kex *k, struct rd r)
{
	struct buf b;
	int err;

	k->gex.min = rd_u32(&r);
	k->gex.want = rd_u32(&r);
	k->gex.max = rd_u32(&r);
	if ((err = rd_end(&r)) != 0)
		return err;
	if (k->gex.got_group || k->gex.min > k->gex.want ||
	    k->gex.want > k->gex.max || k->gex.max < KEX_GEX_MIN ||
	    k->gex.min > KEX_GEX_MAX)
		return ERR_PROTOCOL;
	k->gex.got_group = true;
	if ((err = choose_group(k)) != 0)
		return err;
	err = kem_new_group(&k->kem, k->kem_alg,
	    buf_span(&k->gex.prime),
	    buf_span(&k->gex.generator));
	if (err != 0)
		return err;
	buf_init(&b);
	buf_put_u8(&b, kex_is_gss(k) ? SSH_MSG_KEXGSS_GROUP :
				       SSH_MSG_GEX_GROUP);
	buf_put_mpint(&b, buf_data(&k->gex.prime), buf_len(&k->gex.prime));
	buf_put_mpint(&b, buf_data(&k->gex.generator),
	    buf_len(&k->gex.generator));
	return kex_send_and_clear(k, &b);
}

static int
server_send_reply(struct kex *k, const struct buf *value,
    const uint8_t *hash)
{
	struct buf b, signature;
	int r;

	buf_init(&b);
	buf_init(&signature);
	r = k->hooks.sign(k->hooks.arg, k->result.hostkey_alg,
	    (struct span){ hash, digest_len(k->kem_alg->digest) }, &signature);
	if (r == 0) {
		buf_put_u8(&b, k->kem_alg->group_exchange ?
				   SSH_MSG_GEX_REPLY :
				   SSH_MSG_KEX_REPLY);
		buf_put_string_buf(&b, &k->hostkey);
		buf_put_string_buf(&b, value);
		buf_put_string_buf(&b, &signature);
		r = packet_put(k->packet, &b);
	}
	buf_clear(&signature);
	buf_clear(&b);
	return r;
}

static int
server_on_value(struct kex *k, struct rd r)
{
	struct span client_value = rd_string(&r), mine;
	uint8_t hash[DIGEST_MAX_LEN];
	struct buf shared, value;
	int err;

	buf_init_secret(&shared);
	buf_init(&value);
	if ((err = rd_end(&r)) != 0)
		goto out;
	if (k->sent_newkeys ||
	    (k->kem_alg->group_exchange && k->kem == NULL)) {
		err = ERR_PROTOCOL;
		goto out;
	}
	if (k->kem == NULL && (err = kem_new(&k->kem, k->kem_alg)) != 0)
		goto out;
	err = kem_server_reply(k->kem, client_value, &value, &shared);
	if (err != 0)
		goto out;
	buf_reset(&k->hostkey);
	err = k->hooks.hostkey_blob(k->hooks.arg, k->result.hostkey_alg,
	    &k->hostkey);
	if (err != 0)
		goto out;
	mine = buf_span(&value);
	err = kex_exchange_hash(k, client_value, mine, &shared, hash);
	if (err == 0)
		err = server_send_reply(k, &value, hash);
	if (err == 0)
		err = kex_take_secret(k, &shared, hash);
out:
	buf_clear(&shared);
	buf_clear(&value);
	return err;
}

/* A server makes a signature in each exchange, so a client that has not logged
 * in gets only the first one. Exchanges are cheap for a client: it takes part
 * in up to KEX_EARLY_MAX more before it has logged in. */
static int
count_early_exchange(struct kex *k)
{
	if (!k->first_done || packet_is_authenticated(k->packet))
		return 0;
	return k->server || k->early++ >= KEX_EARLY_MAX ? ERR_KEX_EARLY : 0;
}

int
kex_begin(struct kex *k, bool peer_follows)
{
	int r = kex_agree(k);

	if (r != 0)
		return r;
	k->skip_guess = peer_follows && !kex_guess_is_right(k);
	return k->server ? 0 : client_begin(k);
}

static int
on_kexinit(struct kex *k, struct rd payload)
{
	struct rd body = payload;
	bool follows;
	int r;

	if (k->got_init)
		return ERR_PROTOCOL;
	if ((r = count_early_exchange(k)) != 0)
		return r;
	log_debug("SSH2_MSG_KEXINIT received");
	buf_reset(&k->peer_init);
	buf_put(&k->peer_init, payload.p, payload.len);
	if ((r = buf_err(&k->peer_init)) != 0)
		return r;
	(void)rd_u8(&body);
	if ((r = kex_parse_init(k, body, &follows)) != 0)
		return r;
	/* Strict key exchange: KEXINIT has to be the peer's first packet. */
	if (!k->first_done && k->strict && packet_rx_seqnr(k->packet) != 0) {
		log_error("strict key exchange: KEXINIT was not the first "
			  "packet");
		return ERR_PROTOCOL;
	}
	if ((r = kex_start(k)) != 0)
		return r;
	k->got_init = true;
	packet_set_expect(k->packet, !k->first_done && k->strict ?
		PACKET_EXPECT_STRICT :
		PACKET_EXPECT_KEX);
	if (k->sent_init)
		return kex_begin(k, follows);
	k->gss.peer_follows = follows;
	return 0;
}

static int
on_newkeys(struct kex *k, struct rd r)
{
	bool first = !k->first_done;
	int err;

	if ((err = rd_end(&r)) != 0)
		return err;
	if (!k->sent_newkeys)
		return ERR_PROTOCOL;
	err = packet_set_keys(k->packet, PACKET_RX, &k->rx, k->strict);
	if (err != 0)
		return err;
	log_debug("SSH2_MSG_NEWKEYS received");
	packet_set_expect(k->packet, PACKET_EXPECT_ANY);
	k->first_done = true;
	kex_end_exchange(k);
	log_debug2("key exchange is complete");
	if (k->hooks.done != NULL)
		k->hooks.done(k->hooks.arg, first);
	return 0;
}

static int
note_extension(struct kex *k, struct span name, struct span value)
{
	char *copy;

	if (span_equals(name, "server-sig-algs") && !k->server) {
		if (value.len > KEX_SIG_ALGS_MAX)
			return ERR_LIMIT;
		if ((copy = span_dup(value)) == NULL)
			return ERR_FORMAT;
		free(k->ext.peer_sig_algs);
		k->ext.peer_sig_algs = copy;
	} else if (span_equals(name, "publickey-hostbound@openssh.com")) {
		k->ext.peer_hostbound = span_equals(value, "0");
	} else if (span_equals(name, "ping@openssh.com")) {
		k->ext.peer_pings = span_equals(value, "0");
	} else if (span_equals(name, IN_AUTH)) {
		k->ext.peer_in_auth = span_equals(value, "0");
	} else if (span_equals(name, "agent-forward")) {
		k->ext.peer_agent_forward = span_equals(value, "0");
	} else if (span_equals(name, KEX_EXT_TICKET) && !k->server) {
		k->ext.peer_tickets = span_equals(value, "1");
	} else if (span_equals(name, KEX_EXT_SURVIVE) && !k->server) {
		k->ext.peer_survives = span_equals(value, "1");
	} else if (span_equals(name, EARLY)) {
		k->ext.peer_takes_early = span_equals(value, "0");
	}
	if (k->hooks.ext_info != NULL)
		k->hooks.ext_info(k->hooks.arg, name, value);
	return 0;
}

static int
on_ext_info(struct kex *k, struct rd r)
{
	uint32_t count = rd_u32(&r);
	int err;

	if (!k->first_done || count > KEX_EXT_MAX)
		return ERR_PROTOCOL;
	/* Some peers send EXT_INFO after each exchange. After authentication
	 * nothing asks for its contents any more. */
	if (packet_is_authenticated(k->packet))
		return 0;
	while (count-- > 0) {
		struct span name = rd_string(&r), value = rd_string(&r);

		if ((err = rd_err(&r)) != 0 ||
		    (err = note_extension(k, name, value)) != 0)
			return err;
	}
	return rd_end(&r);
}

static int
server_input(struct kex *k, uint8_t type, struct rd r)
{
	bool gex = k->kem_alg->group_exchange;

	if (gex && type == SSH_MSG_GEX_REQUEST)
		return kex_server_on_group_request(k, r);
	if (type == (gex ? SSH_MSG_GEX_INIT : SSH_MSG_KEX_INIT))
		return server_on_value(k, r);
	return ERR_PROTOCOL;
}

static int
client_input(struct kex *k, uint8_t type, struct rd r)
{
	bool gex = k->kem_alg->group_exchange;

	if (gex && type == SSH_MSG_GEX_GROUP)
		return kex_client_on_group(k, r);
	if (type == (gex ? SSH_MSG_GEX_REPLY : SSH_MSG_KEX_REPLY))
		return client_on_reply(k, r);
	return ERR_PROTOCOL;
}

int
kex_input(struct kex *k, struct rd payload)
{
	struct rd r = payload;
	uint8_t type = rd_u8(&r);

	switch (type) {
	case SSH_MSG_EXT_INFO:
		return on_ext_info(k, r);
	case SSH_MSG_KEXINIT:
		return on_kexinit(k, payload);
	case SSH_MSG_NEWKEYS:
		return on_newkeys(k, r);
	default:
		break;
	}
	if (!k->got_init || !k->sent_init)
		return ERR_PROTOCOL;
	if (k->skip_guess) {
		k->skip_guess = false;
		return 0;
	}
	if (k->kem_alg->gss_prefix != NULL)
		return kex_gss_input(k, type, r);
	return k->server ? server_input(k, type, r) :
			   client_input(k, type, r);
}

bool
kex_running(const struct kex *k)
{
	return k->sent_init || k->got_init;
}

bool
kex_first_done(const struct kex *k)
{
	return k->first_done;
}

struct span
kex_session_id(const struct kex *k)
{
	return (struct span){ k->session_id, k->session_id_len };
}

const struct kex_result *
kex_result(const struct kex *k)
{
	return k->proxied ? NULL : &k->result;
}

struct span
kex_hostkey(const struct kex *k)
{
	return buf_span(&k->hostkey);
}

const char *
kex_server_sig_algs(const struct kex *k)
{
	return k->ext.peer_sig_algs;
}

uint32_t
kex_peer_traits(const struct kex *k)
{
	return k->peer_traits;
}

const char *
kex_id_server(const struct kex *k)
{
	return k->id_server;
}

const char *
kex_peer_offer(const struct kex *k, int err)
{
	switch (err) {
	case ERR_NO_KEX_MATCH:
		return k->peer[KEX_LIST_KEX];
	case ERR_NO_HOSTKEY_MATCH:
		return k->peer[KEX_LIST_HOSTKEY];
	case ERR_NO_CIPHER_MATCH:
		return k->peer[KEX_LIST_CIPHER_SC];
	case ERR_NO_MAC_MATCH:
		return k->peer[KEX_LIST_MAC_SC];
	case ERR_NO_COMP_MATCH:
		return k->peer[KEX_LIST_COMP_SC];
	default:
		return NULL;
	}
}
