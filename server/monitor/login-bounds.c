/* SPDX-License-Identifier: ISC */
#include "server/monitor/login-bounds.h"

#include "base/buf.h"
#include "base/mem.h"
#include "crypto/digest.h"

/* Keywords that the session's process or its monitor looks at while the session
 * runs. Not here: what permits say, too (forwarding), what concerns the login
 * only, which its own rules decide, and what only measures or logs. */
static const char *const held_to[] = {
	"AcceptEnv",
	"ChannelTimeout",
	"ChrootDirectory",
	"ForceCommand",
	"GatewayPorts",
	"GroupRateMax",
	"MaxSessions",
	"MaxSessionsPerUser",
	"PermitTTY",
	"PermitUserEnvironment",
	"PermitUserRC",
	"SetEnv",
	"StreamLocalBindMask",
	"StreamLocalBindUnlink",
	"Subsystem",
	"UserRateMax",
	"X11UseLocalhost",
};

int
login_bounds(const struct login *l, const struct permits *p,
    uint8_t out[LOGIN_BOUNDS_LEN])
{
	struct buf b = { 0 };
	int r = 0;

	permits_export(p, &b);
	buf_put_u32(&b, (uint32_t)l->user->uid);
	buf_put_u32(&b, (uint32_t)l->user->gid);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(held_to); i++)
		r = conf_export_one(&server_conf_table, &l->conf, held_to[i],
		    &b);
	if (r == 0 && (r = buf_err(&b)) == 0)
		r = digest_once(DIGEST_SHA256, buf_data(&b), buf_len(&b), out);
	buf_clear(&b);
	return r;
}
