#!/bin/sh
# SPDX-License-Identifier: ISC
# signals.sh [srcdir]: there are three signal handlers in the tree; one does
# nothing but note the signal and write to a pipe, one only calls _exit, and one,
# while a question is asked on a terminal, only notes.
# So there can be no unsafe call in a handler (CVE-2024-6387), with any number
# of timers. (TAP)
srcdir=${1:-$(dirname "$0")/..}
cd "$srcdir" || exit 1
sources=$(sh build-aux/tree-files.sh | grep '\.c$' | grep -v '^regress/')
n=0 failed=0

verdict() { # text, offending lines
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		failed=1
		echo "$2" | sed 's/^/# /'
		echo "not ok $n - $1"
	fi
}

# shellcheck disable=SC2086
verdict "signal() only ignores or restores" \
	"$(grep -nE '(^|[^_a-z])signal\(' $sources |
		grep -vE 'signal\([A-Za-z_]+, SIG_(IGN|DFL)\)')"
# shellcheck disable=SC2086
verdict "handlers are installed by base/loop.c and for questions only" \
	"$(grep -nE 'sigaction\(|sa_handler =|sa_sigaction|sigset\(|sigvec\(' \
		$sources | grep -vE '^(base/loop|compat/readpassphrase)\.c:|sigaction\([A-Z0-9a-z]+, NULL,')"
verdict "the handler calls write() and nothing else" \
	"$(awk '/^on_signal\(int signo\)/ { on = 1; next }
		on && /^}/ { exit }
		on && /[a-z_]+\(/ && !/\(void\)!write\(wake_pipe\[1\], "", 1\)/' \
		base/loop.c)"
verdict "the other handler calls _exit() and nothing else" \
	"$(awk '/^on_exit_signal\(int signo\)/ { on = 1; next }
		on && /^}/ { exit }
		on && /[a-z_]+\(/ && !/\t_exit\(exit_status\);/' base/loop.c)"
verdict "the handler of questions calls nothing" \
	"$(awk '/^note\(int signo\)/ { on = 1; next }
		on && /^}/ { exit }
		on && /[a-z_]+\(/' compat/readpassphrase.c |
		grep -v 'for (int')"
verdict "the handlers are where this script looks for them" \
	"$(grep -q '^on_signal(int signo)' base/loop.c &&
		grep -q '^on_exit_signal(int signo)' base/loop.c &&
		grep -q '^note(int signo)' compat/readpassphrase.c ||
		echo missing)"
echo "1..$n"
exit "$failed"
