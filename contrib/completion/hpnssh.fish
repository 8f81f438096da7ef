# SPDX-License-Identifier: ISC
# Completion of the programs of HPN-SSH for fish. hpnssh-complete(sh) knows what
# may come; here it is only handed to fish.

function __hpnssh_complete
    set -l helper /usr/libexec/hpnssh/hpnssh-complete
    set -q HPN_COMPLETE; and set helper $HPN_COMPLETE
    test -x $helper; or return
    set -l current (commandline -ct)
    # without the backslashes and quotes that were typed
    set -l word (string unescape -- $current; or printf '%s\n' $current)
    for line in ($helper (commandline -opc) "$word" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            printf '%s\n' $line
        end
    end
end

for program in hpnssh hpnscp hpnsftp hpnsync hpnssh-agent hpnssh-copy-id hpnssh-keygen hpnssh-keyscan
    complete -c $program -f -a '(__hpnssh_complete)'
end
