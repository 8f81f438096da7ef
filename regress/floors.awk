# SPDX-License-Identifier: ISC
# floors.awk: the rooms of docs/ARCHITECTURE.md, and what each may use. layers.sh
# holds includes to this table, symbols.sh what was compiled.
BEGIN {
	# floor or room: those that it may use, itself among them
	low = "compat base crypto cipher keys packet"
	may["compat"] = "compat"
	may["base"] = "compat base"
	may["crypto/fallback"] = "compat base crypto/fallback"
	may["crypto"] = "compat base crypto/fallback crypto"
	may["cipher"] = "compat base crypto cipher"
	may["keys"] = "compat base crypto cipher keys"
	may["packet"] = low
	may["kex"] = low " kex"
	may["channels"] = low " channels"
	may["gss"] = low " gss"
	may["connection"] = low " kex channels connection"
	may["conf"] = may["connection"] " conf"
	may["forward"] = may["conf"] " forward"

	may["xfer"] = "compat base crypto xfer"
	may["xfer/local"] = may["xfer"] " xfer/local"
	may["xfer/sftp"] = may["xfer"] " xfer/sftp"
	may["xfer/serve"] = may["xfer/sftp"] " xfer/local xfer/serve"
	may["xfer/state"] = may["xfer/sftp"] " xfer/local xfer/state"
	may["xfer/streams"] = may["xfer/state"] " xfer/streams"
	may["xfer/trees"] = may["xfer/streams"] " xfer/trees"
	may["xfer/delta"] = may["xfer/streams"] " xfer/delta"
	may["xfer/orders"] = may["xfer/streams"] " xfer/orders"
	may["xfer/transfer"] = may["xfer/trees"] " xfer/delta xfer/orders xfer/transfer"
	may["xfer/rcp"] = may["xfer/local"] " xfer/rcp"
	may["xfer/rules"] = may["xfer"] " xfer/rules"
	may["xfer/sync"] = may["xfer/transfer"] " xfer/rules xfer/sync"
	may["xfer/shell"] = may["xfer/transfer"] " xfer/shell"

	may["agent"] = may["keys"] " agent"
	may["tokens/p11"] = may["keys"] " tokens/p11"
	may["tokens/sk"] = may["keys"] " tokens/sk"
	may["keytools/keygen"] = may["keys"] " keytools/keygen"
	may["keytools/add"] = may["keys"] " keytools/add"
	may["keytools/keyscan"] = may["conf"] " keytools/keyscan"
	may["keytools/keysign"] = may["keys"] " keytools/keysign"
	may["client/common"] = may["conf"] " client/common"
	may["client/hosts"] = may["client/common"] " client/hosts"
	may["client/auth"] = may["client/common"] " gss client/auth"
	may["client/connect"] = may["client/auth"] " client/hosts client/connect"
	may["client/forwards"] = may["client/connect"] " forward client/forwards"
	may["client/session"] = may["client/forwards"] " client/session"
	may["client/mux"] = may["client/session"] " client/mux"
	may["client"] = may["client/mux"] " client"
	may["client/report"] = may["client"] " xfer client/report"
	may["client/copy"] = may["client/report"] " xfer xfer/sftp xfer/state xfer/streams xfer/trees" \
	    " xfer/delta xfer/orders xfer/transfer xfer/rcp client/copy"
	may["client/direct"] = may["client/copy"] " xfer/local client/direct"
	may["client/check"] = may["client/copy"] " client/check"
	may["client/job"] = may["client/common"] " client/job"
	may["client/syncopts"] = may["client/report"] " xfer/sftp xfer/state xfer/rules xfer/sync" \
	    " client/syncopts"
	may["client/sync"] = may["client/copy"] " client/job client/syncopts xfer/local xfer/rules" \
	    " xfer/sync client/sync"
	may["server"] = may["conf"] " server gss"
	may["server/events"] = may["conf"] " server/events"
	may["server/listener"] = may["server"] " server/events server/listener"
	may["server/auth"] = may["server"] " server/auth"
	may["server/session"] = may["forward"] " server server/events server/session xfer xfer/serve"
	may["server/monitor"] = may["server"] " server/events server/monitor"
	may["program"] = may["client/sync"] " client/direct client/check agent tokens/p11 tokens/sk keytools/keygen" \
	    " keytools/add keytools/keyscan keytools/keysign server server/events server/listener server/monitor" \
	    " server/auth server/session xfer xfer/local xfer/sftp xfer/serve xfer/state xfer/streams" \
	    " xfer/trees xfer/delta xfer/orders xfer/transfer xfer/rules xfer/sync xfer/rcp" \
	    " xfer/shell program"
	may["test"] = may["program"] " crypto/fallback test"
}

function floor_of(path, top) {
	top = path
	if (sub(/\/[^\/]*$/, "", top))
		return top ~ /^regress/ ? "test" : top
	if (path ~ /^cipher/) return "cipher"
	if (path ~ /^(packet|pipeline)/) return "packet"
	if (path ~ /^(kex|peer-version)/) return "kex"
	if (path ~ /^(channels|window)/) return "channels"
	if (path ~ /^connection/) return "connection"
	if (path ~ /^sshconnect/) return "client/connect"
	return "program"
}
