#!/bin/sh
# SPDX-License-Identifier: ISC
# run.sh srcdir seconds program...: what `make fuzz` runs: every libFuzzer
# program for so many seconds on a copy of its corpus, as many at a time as
# there are processors. Finds are left in regress/logs.
# Closing line: N passed, N failed.
srcdir=$1 seconds=$2
shift 2
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
logs=regress/logs
mkdir -p "$logs" || exit 1
export srcdir seconds logs
one='
name=${1##*/fuzz-}
work=$logs/corpus-$name
rm -rf "$work"
mkdir -p "$work"
timeout -k 10 $((seconds + 60)) "./$1" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -max_len=66000 -print_final_stats=1 \
    -artifact_prefix="$logs/$name-" "$work" "$srcdir/regress/fuzz/corpus/$name" \
    </dev/null >"$logs/fuzz-$name.log" 2>&1
echo $? >"$logs/fuzz-$name.rc"
rm -rf "$work"
'
printf '%s\n' "$@" | xargs -P "$jobs" -n 1 sh -c "$one" fuzz
passed=0 failed=0
for t in "$@"; do
	name=${t##*/}
	rc=$(cat "$logs/$name.rc" 2>/dev/null || echo 127)
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$name.log")
	if [ "$rc" = 0 ]; then
		echo "pass $name (${runs:-?} inputs in $seconds s)"
		passed=$((passed + 1))
	else
		echo "FAIL $name (exit status $rc); the end of $logs/$name.log:"
		tail -n 40 "$logs/$name.log" | sed 's/^/    /'
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
