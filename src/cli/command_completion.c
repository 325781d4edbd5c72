/* eden completion: scripts that make shells complete eden's command lines. They only ask the program
 * (`eden complete line`), which knows the rows. */
#include "base/bug.h"
#include "cli/invocation.h"

static const char script_bash[] =
    "# Completion of eden for bash, made by `eden completion bash`. To use it:\n"
    "#     source <(eden completion bash)\n"
    "\n"
    "_eden()\n"
    "{\n"
    "    local kind candidate split= word=${COMP_WORDS[COMP_CWORD]}\n"
    "    # --name=value arrives as three words, of which the last one is completed.\n"
    "    [[ $word == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && split='*='\n"
    "    [[ $word == = ]] && word=\n"
    "    COMPREPLY=()\n"
    "    {\n"
    "        read -r kind\n"
    "        while IFS=$'\\t' read -r candidate _; do\n"
    "            candidate=${candidate#$split}\n"
    "            [[ -n $candidate && $candidate == \"$word\"* ]] && COMPREPLY+=(\"$candidate\")\n"
    "        done\n"
    "    } < <(command eden complete line -- \"${COMP_WORDS[@]:0:COMP_CWORD + 1}\" 2>/dev/null)\n"
    "    # Names of files are left to readline, which knows how to quote them.\n"
    "    [[ $kind == files ]] || compopt +o default 2>/dev/null\n"
    "    [[ $kind == directories ]] && compopt -o dirnames 2>/dev/null\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "    return 0\n"
    "}\n"
    "\n"
    "complete -o default -F _eden eden\n";

static const char script_zsh[] =
    "#compdef eden\n"
    "# Completion of eden for zsh, made by `eden completion zsh`. To use it, save it as\n"
    "# _eden in a directory of $fpath, or: source <(eden completion zsh)\n"
    "\n"
    "_eden() {\n"
    "    local line kind\n"
    "    local -a lines candidates\n"
    "    local -a typed=(\"${(@Q)words[1,CURRENT-1]}\" \"${(Q)PREFIX}\")\n"
    "    lines=(\"${(@f)$(command eden complete line -- \"${typed[@]}\" 2>/dev/null)}\")\n"
    "    kind=$lines[1]\n"
    "    if [[ $kind == files || $kind == directories ]]; then\n"
    "        compset -P '--*='\n"
    "        [[ $kind == files ]] && _files || _files -/\n"
    "        return\n"
    "    fi\n"
    "    # _describe takes WORD:HELP.\n"
    "    for line in \"${(@)lines[2,-1]}\"; do\n"
    "        [[ $line == *$'\\t'* ]] || line=${line//:/\\\\:}\n"
    "        candidates+=(\"${line/$'\\t'/:}\")\n"
    "    done\n"
    "    _describe -t candidates candidate candidates\n"
    "}\n"
    "\n"
    "# Called by the completion system, or sourced?\n"
    "if [[ $funcstack[1] == _eden ]]; then\n"
    "    _eden \"$@\"\n"
    "else\n"
    "    compdef _eden eden\n"
    "fi\n";

static const char script_fish[] =
    "# Completion of eden for fish, made by `eden completion fish`. To use it:\n"
    "#     eden completion fish >~/.config/fish/completions/eden.fish\n"
    "\n"
    "function __eden_complete\n"
    "    set -l word (commandline -ct)\n"
    "    set -l lines (command eden complete line -- (commandline -opc) \"$word\" 2>/dev/null)\n"
    "    # --name=value is one word, and its files are those of the value.\n"
    "    set -l option (string match -r -- '^--[^=]*=' \"$word\"; or echo)\n"
    "    set -l value (string replace -r -- '^--[^=]*=' '' \"$word\")\n"
    "    switch \"$lines[1]\"\n"
    "        case files\n"
    "            string join \\n -- $option(__fish_complete_path $value)\n"
    "        case directories\n"
    "            string join \\n -- $option(__fish_complete_directories $value)\n"
    "        case '*'\n"
    "            set -e lines[1]\n"
    "            string join \\n -- $lines\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c eden -e\n"
    "complete -c eden -f -a '(__eden_complete)'\n";

static int completion_run(Invocation *invocation)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {
        { "bash", script_bash },
        { "zsh", script_zsh },
        { "fish", script_fish },
    };
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        if (strcmp(scripts[i].shell, invocation->args[0]) == 0) {
            stream_put(invocation->out, str_from_c(scripts[i].script));
            return EXIT_OK;
        }
    }
    BUG("the row lists the choices");
}

static const Example examples[] = {
    { "source <(eden completion bash)", "for the running bash, or as a line of ~/.bashrc" },
    { "eden completion zsh > ~/.zfunc/_eden", "for zsh, with ~/.zfunc in its fpath" },
    { "eden completion fish > ~/.config/fish/completions/eden.fish", "for fish" },
    { 0 },
};

const Command command_completion = {
    .name = "completion",
    .group = GROUP_SYSTEM,
    .args = { { "SHELL", .choices = "bash|zsh|fish" } },
    .help = "Print a script that lets a shell complete eden's commands.",
    .text = "It completes commands, verbs, options and their values, files, help topics,\n"
            "names that 'eden explain' knows, and the names of contexts, nodes, tokens and\n"
            "roles. The script calls 'eden complete', and need not be created again after an\n"
            "upgrade.",
    .examples = examples,
    .run = completion_run,
};
