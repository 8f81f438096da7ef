# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154 # $failed and $dir are the readers
# result.sh: read by scripts that write their complaints to $dir/bad.
failed=0
n=0

# result TEXT: a line of TAP: not ok if there are complaints in $dir/bad, which is
# emptied.
result()
{
	n=$((n + 1))
	if [ -s "$dir/bad" ]; then
		sed 's/^/# /' "$dir/bad"
		echo "not ok $n - $1"
		failed=1
	else
		echo "ok $n - $1"
	fi
	: >"$dir/bad"
}
