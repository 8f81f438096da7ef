# SPDX-License-Identifier: ISC
# Completion of the programs of HPN-SSH for bash. hpnssh-complete(sh) knows what
# may come; here it is only handed to bash.
# shellcheck shell=bash

_hpnssh()
{
	local helper=${HPN_COMPLETE:-/usr/libexec/hpnssh/hpnssh-complete}
	local words current line cut
	[ -x "$helper" ] || return 0
	# Not COMP_WORDS: bash cuts host:path and key=value into pieces. Without
	# -r, so that a blank behind a backslash is a part of its word.
	# shellcheck disable=SC2162
	read -a words <<<"${COMP_LINE:0:COMP_POINT}"
	current=
	case ${COMP_LINE:0:COMP_POINT} in
	*[!\\][[:blank:]]) ;;
	*) current=${words[${#words[@]} - 1]}
		unset "words[${#words[@]} - 1]" ;;
	esac
	# Of the word, bash replaces only what follows its last break.
	cut=
	[[ $COMP_WORDBREAKS != *:* || $current != *:* ]] || cut=${current%:*}:
	[[ $COMP_WORDBREAKS != *=* || $current != *=* ]] || cut=${current%=*}=
	COMPREPLY=()
	while IFS= read -r line; do
		if [ "$line" = :files ]; then
			compopt -o default 2>/dev/null
			while IFS= read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen -f -- "$current")
			continue
		fi
		printf -v line %q "${line#"$cut"}"
		COMPREPLY+=("$line")
	done < <("$helper" "${words[@]}" "$current" 2>/dev/null)
	case ${COMPREPLY[0]-} in
	*[/=:]) [ ${#COMPREPLY[@]} != 1 ] || compopt -o nospace 2>/dev/null ;;
	esac
	return 0
}

complete -F _hpnssh hpnssh hpnscp hpnsftp hpnsync hpnssh-agent hpnssh-copy-id \
	hpnssh-keygen hpnssh-keyscan
