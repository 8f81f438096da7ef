# SPDX-License-Identifier: ISC
"""Shells that are asked what they would complete a line to."""

import shlex

from harness import TOP, clean_env, run, stock
from terminal import Terminal

COMPLETIONS = TOP / "contrib/completion"
NAMES = ("bash", "zsh", "fish")

BASH = f"""cd "$HOME"; . {COMPLETIONS}/hpnssh.bash
COMP_LINE=$1 COMP_POINT=${{#1}}
_hpnssh
[ ${{#COMPREPLY[@]}} = 0 ] || printf '%s\\n' "${{COMPREPLY[@]}}"
"""

FISH = f"""cd "$HOME"; source {COMPLETIONS}/hpnssh.fish
complete -C $argv[1]
"""

# What is added to a list of candidates is noted on the way.
ZSHRC = f"""fpath=({COMPLETIONS} $fpath)
autoload -Uz compinit && compinit -C -d "$HOME/functions"
unsetopt beep
PS1='ready> '
compadd() {{
	local -a hits
	builtin compadd -O hits "$@"
	print -rl -- $hits >>"$HOME/candidates"
	builtin compadd "$@"
}}
told() {{
	print -r -- "$BUFFER" >"$HOME/line"
	print told
}}
zle -N told
bindkey '^X^X' told
cd "$HOME"
"""


def bash(home, line, env):
    done = run([stock("bash"), "--norc", "-c", BASH, "bash", line], env=env,
               timeout=60).ok()
    assert done.errors == "", done
    # bash replaces only what follows the last break of the word
    current = "" if line.endswith(" ") else shlex.split(line)[-1]
    kept = current[:max(current.rfind(":"), current.rfind("=")) + 1]
    return [kept + word for found in done.text.splitlines()
            for word in shlex.split(found)]


def fish(home, line, env):
    done = run([stock("fish"), "--no-config", "-c", FISH, line], env=env,
               timeout=60).ok()
    assert done.errors == "", done
    return [found.split("\t")[0] for found in done.text.splitlines()]


def zsh_types(home, line, env):
    """What a person with zsh has in the line after a press of Tab, and the
    candidates."""
    (home / ".zshrc").write_text(ZSHRC)
    (home / "candidates").write_text("")
    with Terminal([stock("zsh"), "-d", "-i"], env=env, columns=200) as zsh:
        zsh.expect("ready> ")
        zsh.type(line + "\t\x18\x18")
        zsh.expect("told")
        return ((home / "line").read_text().rstrip("\n"),
                (home / "candidates").read_text().split("\n"))


def zsh(home, line, env):
    # It may ask a second time, with what it has completed so far.
    return sorted(set(zsh_types(home, line, env)[1]) - {""})


def offer(name, home, line, **env):
    """The words that the shell would complete the last word of line to, or
    show as candidates."""
    env = clean_env(HOME=home, ZDOTDIR=home, TERM="dumb", LC_ALL="C.UTF-8",
                    XDG_CONFIG_HOME=home, XDG_DATA_HOME=home,
                    HPN_COMPLETE=COMPLETIONS / "hpnssh-complete", **env)
    return {"bash": bash, "fish": fish, "zsh": zsh}[name](home, line, env)
