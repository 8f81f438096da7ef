#!/bin/sh
# SPDX-License-Identifier: ISC
# commit-message.sh FILE | -a: a commit has a subject `area: what it does` of at most
# 72 columns, an empty line, and a body: the problem, the reason, how it was checked.
#   FILE   the message in it; so it is a hook of git:
#          ln -s ../../build-aux/commit-message.sh .git/hooks/commit-msg
#   -a     of all commits since this check came (that takes a clone with a history)
set -u

# check WHOSE: the message is on standard input. Prints what is wrong.
check()
{
	sed '/^# -* >8 -*$/,$d' | grep -v '^#' | awk -v whose="$1" '
	NR == 1 { subject = $0; next }
	NR == 2 { second = $0; next }
	/^([A-Z][A-Za-z-]+-by|Fixes|Closes|Refs): ./ { next }
	/[^ \t]/ { body++ }
	END {
		# those are written by git
		if (subject ~ /^(Merge|Revert|fixup!|squash!) /)
			exit 0
		gsub(/[\200-\277]/, "", subject)
		if (length(subject) > 72)
			wrong = wrong ": the subject has " length(subject) " columns, more than 72"
		if (subject !~ /^[^ :][^:]*: [^ ]/)
			wrong = wrong ": the subject is not \"area: what it does\""
		if (second != "")
			wrong = wrong ": the second line is not empty"
		if (!body)
			wrong = wrong ": there is no body"
		if (wrong == "")
			exit 0
		print whose " " subject wrong
		exit 1
	}'
}

case ${1:-} in
-a) ;;
-* | '') sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
*) LC_ALL=C check commit: <"$1" >&2; exit ;;
esac
cd "$(dirname "$0")/.." || exit 1
first=$(git log --no-merges --diff-filter=A --format=%H -- build-aux/commit-message.sh |
	tail -n 1)
[ -n "$first" ] || exit 1
status=0
for commit in $(git rev-list --no-merges "$first..HEAD"); do
	git log -1 --format=%B "$commit" |
		LC_ALL=C check "$(echo "$commit" | cut -c 1-12)" || status=1
done
exit $status
