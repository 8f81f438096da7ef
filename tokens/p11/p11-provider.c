/* SPDX-License-Identifier: ISC */
#include "tokens/p11/p11-provider.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "tokens/p11/p11-internal.h"

#define ENTRY "C_GetFunctionList"

/* ---- the library --------------------------------------------------------- */

/* True if the file contains the name of the entry point. It is checked before
 * the library is loaded, because that runs its code. */
static bool
names_entry(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;
	void *map = MAP_FAILED;
	bool found = false;

	if (fd != -1 && fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) &&
	    sb.st_size > 0)
		map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE,
		    fd, 0);
	if (map != MAP_FAILED) {
		found = memmem(map, (size_t)sb.st_size, ENTRY,
			    strlen(ENTRY)) != NULL;
		(void)munmap(map, (size_t)sb.st_size);
	}
	fd_close(&fd);
	return found;
}

static bool
load(struct provider *p, const char *path)
{
	CK_RV (*get)(CK_FUNCTION_LIST **) = NULL;
	char *full = realpath(path, NULL);

	if (full == NULL || !names_entry(full)) {
		log_error("provider %s is not a PKCS11 library", path);
		free(full);
		return false;
	}
	p->library = dlopen(full, RTLD_NOW | RTLD_LOCAL);
	free(full);
	if (p->library == NULL) {
		log_error("provider %s: %s", path, dlerror());
		return false;
	}
	*(void **)&get = dlsym(p->library, ENTRY);
	if (get == NULL || get(&p->f) != CKR_OK || p->f == NULL) {
		log_error("provider %s is not a PKCS11 library", path);
		p->f = NULL;
		return false;
	}
	if (p->f->version.major != 2) {
		log_error("provider %s speaks version %u of PKCS#11, not 2",
		    path, p->f->version.major);
		p->f = NULL;
		return false;
	}
	return true;
}

/* ---- tokens -------------------------------------------------------------- */

static void
set_label(struct token *t, const CK_TOKEN_INFO *info)
{
	size_t len = sizeof info->label;

	while (len > 0 && (info->label[len - 1] == ' ' ||
			      info->label[len - 1] == '\0'))
		len--;
	/* A NUL byte would end the string. */
	for (size_t i = 0; i < len; i++)
		t->label[i] = info->label[i] != '\0' ? (char)info->label[i] :
						       ' ';
	t->label[len] = '\0';
}

static void
open_token(struct provider *p, CK_SLOT_ID slot)
{
	struct token *t = &p->tokens[p->n_tokens];
	CK_TOKEN_INFO info = { 0 };
	CK_RV rv = p->f->C_GetTokenInfo(slot, &info);

	if (rv != CKR_OK || (info.flags & CKF_TOKEN_INITIALIZED) == 0) {
		log_debug("slot %lu has no token that is in use", slot);
		return;
	}
	*t = (struct token){ .slot = slot };
	set_label(t, &info);
	t->wants_login = (info.flags & CKF_LOGIN_REQUIRED) != 0 &&
	    (info.flags & CKF_USER_PIN_INITIALIZED) != 0;
	t->on_reader = (info.flags & CKF_PROTECTED_AUTHENTICATION_PATH) != 0;
	rv = p->f->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL,
	    &t->session);
	if (rv == CKR_OK)
		p->n_tokens++;
	else
		log_error("token %s: no session: error 0x%lx", t->label, rv);
}

static bool
open_tokens(struct provider *p, const char *path)
{
	CK_SLOT_ID slots[P11_TOKENS_MAX];
	CK_ULONG n = P11_TOKENS_MAX;
	CK_RV rv = p->f->C_GetSlotList(CK_TRUE, slots, &n);

	if (rv != CKR_OK || n > P11_TOKENS_MAX) {
		log_error("provider %s: no list of slots: error 0x%lx", path,
		    rv);
		return false;
	}
	for (CK_ULONG i = 0; i < n; i++)
		open_token(p, slots[i]);
	return true;
}

struct provider *
provider_load(const char *path)
{
	struct provider *p = calloc(1, sizeof *p);
	CK_RV rv;

	if (p == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	if (!load(p, path))
		goto fail;
	rv = p->f->C_Initialize(NULL);
	if (rv != CKR_OK) {
		log_error("provider %s does not start: error 0x%lx", path, rv);
		p->f = NULL;
		goto fail;
	}
	if (open_tokens(p, path))
		return p;
fail:
	provider_free(p);
	return NULL;
}

void
provider_free(struct provider *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n_tokens; i++)
		(void)p->f->C_CloseSession(p->tokens[i].session);
	for (size_t i = 0; i < p->n_listed; i++)
		buf_clear(&p->listed[i].blob);
	if (p->f != NULL)
		(void)p->f->C_Finalize(NULL);
	/* No dlclose(): the library may have threads that still run. */
	free(p);
}

/* ---- logging in ---------------------------------------------------------- */

enum p11_status
provider_status(CK_RV rv)
{
	switch (rv) {
	case CKR_OK:
	case CKR_USER_ALREADY_LOGGED_IN:
		return P11_DONE;
	case CKR_PIN_INCORRECT:
	case CKR_PIN_INVALID:
	case CKR_PIN_LEN_RANGE:
		return P11_PIN_WRONG;
	case CKR_PIN_LOCKED:
		return P11_PIN_LOCKED;
	case CKR_USER_NOT_LOGGED_IN:
		return P11_NEEDS_PIN;
	default:
		return P11_FAILED;
	}
}

static enum p11_status
log_in_to(struct provider *p, struct token *t, const struct p11_request *q)
{
	bool given = q->pin_kind == P11_PIN_GIVEN;
	CK_RV rv;

	if (!t->wants_login || t->logged_in)
		return P11_DONE;
	/* C_Login() without a PIN makes the token's reader ask for it, so that
	 * is done only if the request allows it; and a token with such a reader
	 * gets no PIN from us. */
	if (q->pin_kind == P11_PIN_NONE || given == t->on_reader)
		return P11_NEEDS_PIN;
	rv = p->f->C_Login(t->session, CKU_USER,
	    given ? (CK_UTF8CHAR *)q->pin.p : NULL, q->pin.len);
	t->logged_in = provider_status(rv) == P11_DONE;
	if (provider_status(rv) == P11_FAILED)
		log_error("token %s: login: error 0x%lx", t->label, rv);
	return provider_status(rv);
}

enum p11_status
provider_log_in(struct provider *p, uint32_t token,
    const struct p11_request *q)
{
	enum p11_status s = P11_DONE;

	if (token != P11_ALL_TOKENS)
		return token < p->n_tokens ?
		    log_in_to(p, &p->tokens[token], q) :
		    P11_FAILED;
	for (size_t i = 0; s == P11_DONE && i < p->n_tokens; i++)
		s = log_in_to(p, &p->tokens[i], q);
	return s;
}
