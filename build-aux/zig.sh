# SPDX-License-Identifier: ISC
# The compiler for other systems; read with `.`, after setup.sh.
# shellcheck shell=sh disable=SC2154

zig_version=0.17.1

# find_zig: sets ZIG, unless it is set: zig, if there is one; else a package of
# pip, in build/cross/zig.
find_zig()
{
	[ -z "${ZIG:-}" ] || return 0
	ZIG=$(command -v zig) && return
	venv=$(build_dir cross)/zig
	python=$venv/bin/python3
	if ! "$python" -c 'import ziglang' 2>/dev/null; then
		say "zig $zig_version is installed in $venv now"
		need_packages python3-venv
		python3 -m venv "$venv" &&
			"$venv/bin/pip" install -q "ziglang==$zig_version" ||
			die "no zig: set ZIG, or see that pip works"
	fi
	ZIG=$("$python" -c 'import os, ziglang
print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
}

# zig_tools DIRECTORY TARGET: cc, ar and ranlib for a target there. What zig keeps
# is in build/cross/zig-cache, not at a user's home.
zig_tools()
{
	cache=$(build_dir cross)/zig-cache
	for tool in "cc:cc -target $2" ar:ar ranlib:ranlib; do
		cat >"$1/${tool%%:*}" <<END
#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR="$cache" ZIG_LOCAL_CACHE_DIR="$cache"
exec "$ZIG" ${tool#*:} "\$@"
END
		chmod 755 "$1/${tool%%:*}"
	done
}
