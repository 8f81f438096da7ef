#!/bin/sh
# SPDX-License-Identifier: ISC
# check.sh srcdir test...: what `make check` runs. Each script and unit test
# (TAP) and each corpus replay runs in parallel, bounded in time, with its
# output in regress/logs; what failed is shown at the end.
# A few unit tests that fail are run once more, each alone, when all others have
# ended: one that passes then counts as passed, and is named as unsteady, with
# the end of the first try's log. Scripts and replays have no second try, since
# nothing beside them changes what they say; nor has what a sanitizer reported,
# which is a fault even if it comes once.
# "skip: N REASON" tells what was skipped, for run-tests' table.
# Closing line: N passed, N failed[, N skipped].
srcdir=$1
shift
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
logs=$PWD/regress/logs
rm -rf "$logs"
mkdir -p "$logs" || exit 1
# Of processor time; and five times as long if it waits, be it for a processor.
seconds=${HPN_CHECK_SECONDS:-180}
export srcdir logs seconds
export CMOCKA_MESSAGE_OUTPUT=TAP
# The hints of tests' clients are none of the caller's.
export XDG_STATE_HOME="$logs/state"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

# The script calls itself for one test: log, then exit status into NAME.rc.
one='
name=${1##*/}
case $name in
replay-*) set -- "./$1" "$srcdir/regress/fuzz/corpus/${name#replay-}" ;;
*.sh) set -- sh "$1" "$srcdir" ;;
*) set -- "./$1" ;;
esac
ulimit -S -t "$seconds"
timeout -k 5 $((seconds * 5)) "$@" </dev/null >"$logs/$name.log" 2>&1
rc=$?
case $rc in # by timeout(1), SIGXCPU
124) echo "timed out after $((seconds * 5)) s" ;;
152) echo "more than $seconds s of processor time" ;;
esac >>"$logs/$name.log"
echo $rc >"$logs/$name.rc"
'
printf '%s\n' "$@" | xargs -P "$jobs" -n 1 sh -c "$one" check

# judge NAME: sets log; rc, the exit status; and ok, bad and skip, how many tests
# of the program passed, failed and were skipped.
judge()
{
	log=$logs/$1.log
	rc=$(cat "$logs/$1.rc" 2>/dev/null || echo 127)
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep '^not ok ' "$log" | grep -vci '# skip')
	skip=$(grep -ci '^\(not \)\{0,1\}ok .*# skip' "$log")
	ok=$((ok - $(grep -ci '^ok .*# skip' "$log")))
	if [ "$rc" != 0 ] && [ "$bad" = 0 ]; then
		bad=1
	elif [ "$rc" = 0 ] && [ "$ok" = 0 ] && [ "$skip" = 0 ]; then
		ok=1
	fi
}

# show_end LOG: what a failed program said last.
show_end()
{
	grep -v '^ok ' "$1" | tail -n 40 | sed 's/^/    /'
}

# More failures than these are no accident: then there is no second try.
unsteady_max=5
reported='ERROR: [A-Za-z]*Sanitizer|WARNING: [A-Za-z]*Sanitizer|runtime error:'
again=''
for t; do
	name=${t##*/}
	judge "$name"
	[ "$bad" != 0 ] || continue
	case $name in
	test-*) grep -qE "$reported" "$log" || again="$again $t" ;;
	esac
done
# shellcheck disable=SC2086 # none of the names has a blank
[ "$(printf '%s\n' $again | wc -l)" -le "$unsteady_max" ] || again=''
for t in $again; do
	name=${t##*/}
	mv "$logs/$name.log" "$logs/$name.first.log"
	sh -c "$one" check "$t"
done

passed=0 failed=0 skipped=0
for t; do
	name=${t##*/}
	judge "$name"
	if [ "$bad" != 0 ]; then
		echo "FAIL $name (exit status $rc); the end of $log:"
		show_end "$log"
	elif [ -f "$logs/$name.first.log" ]; then
		echo "unsteady: $name ($ok); the end of the first try's log:"
		show_end "$logs/$name.first.log"
	else
		echo "pass $name ($ok)"
	fi
	# A test prints why before it skips itself.
	awk -v name="$name" '
		tolower($0) ~ /^(not )?ok .*# skip/ {
			if (why == "")
				why = name ": " $0
			print "skip: 1 " why
		}
		{ why = $0 ~ /^((not )?ok |[0-9]+\.\.|TAP )/ ? "" : $0 }' "$log"
	passed=$((passed + ok)) failed=$((failed + bad))
	skipped=$((skipped + skip))
done
line="$passed passed, $failed failed"
[ "$skipped" = 0 ] || line="$line, $skipped skipped"
echo "$line"
[ "$failed" = 0 ]
