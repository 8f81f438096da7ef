/* SPDX-License-Identifier: ISC */
#include "base/dns-validate.h"

#include "config.h"

#ifdef HAVE_LIBUNBOUND

#include <dlfcn.h>
#include <unbound.h>
#include <unistd.h>

enum { MESSAGE_MAX = 65535, CLASS_IN = 1 };

#define FUNCTIONS(f)                                                          \
	f(ctx_create) f(ctx_set_option) f(ctx_resolvconf) f(ctx_add_ta_file)  \
	f(resolve)

/* libunbound is loaded when it is needed, as it loads six more libraries. */
static struct {
#define MEMBER(name) __typeof__(&ub_##name) name;
	FUNCTIONS(MEMBER)
} lib;

static bool
load_library(void)
{
	void *handle = dlopen(UNBOUND_LIBRARY, RTLD_NOW);

	if (handle == NULL)
		return false;
#define FIND(name)                                                            \
	*(void **)&lib.name = dlsym(handle, "ub_" #name);                     \
	if (lib.name == NULL)                                                 \
		return false;
	FUNCTIONS(FIND)
	return true;
}

/* A context that asks the system's name servers. They need not be trusted,
 * because each answer is validated here. */
static struct ub_ctx *
make_context(void)
{
	struct ub_ctx *c = load_library() ? lib.ctx_create() : NULL;

	if (c != NULL &&
	    (lib.ctx_set_option(c, "do-not-query-localhost:", "no") != 0 ||
		lib.ctx_resolvconf(c, NULL) != 0 ||
		lib.ctx_add_ta_file(c, DNS_ROOT_KEY) != 0))
		return NULL;
	return c;
}

static int
take_result(const struct ub_result *result, struct buf *message, bool *secure)
{
	if (result->bogus)
		return ERR_SIGNATURE;
	if (result->answer_packet == NULL || result->answer_len <= 0 ||
	    result->answer_len > MESSAGE_MAX)
		return ERR_SYSTEM;
	*secure = result->secure;
	buf_put(message, result->answer_packet, (size_t)result->answer_len);
	return buf_err(message);
}

int
dns_validate(const char *name, uint16_t type, struct buf *message,
    bool *secure)
{
	struct ub_result *result = NULL;
	struct ub_ctx *c;

	*secure = false;
	if (access(DNS_ROOT_KEY, R_OK) == -1 || (c = make_context()) == NULL)
		return ERR_UNSUPPORTED;
	if (lib.resolve(c, name, type, CLASS_IN, &result) != 0 ||
	    result == NULL)
		return ERR_SYSTEM;
	return take_result(result, message, secure);
}

#else

int
dns_validate(const char *name, uint16_t type, struct buf *message,
    bool *secure)
{
	(void)name;
	(void)type;
	(void)message;
	*secure = false;
	return ERR_UNSUPPORTED;
}

#endif
