#include "modules/command_provides.h"

#include "base/buf.h"

typedef enum Scope {
    SCOPE_NOTHING = 0,
    SCOPE_FILES = 1,
    SCOPE_ACCOUNTS = 2,
    SCOPE_PACKAGES = 4,
    SCOPE_KERNEL = 8,
    SCOPE_ANYTHING = 16,
} Scope;

typedef struct ScopeRow {
    Scope scope;
    const char *programs; /* names are surrounded by spaces */
} ScopeRow;

/* Programs that can run other programs (find, xargs, awk, env, ssh, make) are not listed. */
static const ScopeRow programs[] = {
    { SCOPE_NOTHING,
      " : [ [[ arch b2sum basename blkid cat cd cksum cmp comm cut date df diff dig dirname dmesg "
      "du "
      "echo egrep exit export expr false fgrep file findmnt free getent grep groups head hexdump "
      "host hostname id journalctl kill killall last ldd logger logname ls lsblk lscpu lsmod lsof "
      "lspci lsusb md5sum mountpoint netstat nproc nslookup od pgrep pidof ping pkill printenv "
      "printf ps pwd read readlink realpath return seq set shift sha1sum sha256sum sha512sum sleep "
      "ss stat strings "
      "sync sysctl tac tail test tr true tty umask uname uniq unset uptime wall wc which who "
      "whoami " },
    { SCOPE_FILES,
      " base64 bunzip2 bzip2 cargo chattr chgrp chmod chown cp crontab curl dd fallocate gem git "
      "go "
      "gpg gunzip gzip hostnamectl install ldconfig ln locale-gen localectl mkdir mktemp mv npm "
      "openssl patch pip pip3 rm rmdir rsync scp sed setfacl sort split ssh-keygen ssh-keyscan tar "
      "tee timedatectl touch truncate "
      "unlink unxz unzip update-ca-certificates wget xz zcat zip zstd " },
    { SCOPE_ACCOUNTS,
      " addgroup adduser chfn chpasswd chsh delgroup deluser gpasswd groupadd groupdel groupmod "
      "newusers passwd useradd userdel usermod " },
    { SCOPE_PACKAGES | SCOPE_ACCOUNTS | SCOPE_FILES,
      " apk apt apt-get aptitude dnf dpkg pacman rpm yum zypper " },
    { SCOPE_KERNEL, " depmod insmod modprobe rmmod " },
};

static const struct {
    Scope scope;
    const char *claims[10]; /* classes of claims, as in run/provisions.c */
} classes[] = {
    { SCOPE_FILES,
      { "provides:path", "provides:program", "provides:unit", "provides:package",
        "provides:timezone", "provides:remote", "provides:alternative", "provides:filesystem" } },
    { SCOPE_ACCOUNTS, { "provides:user", "provides:group", "provides:path" } },
    { SCOPE_PACKAGES,
      { "provides:kmod", "provides:filesystem", "provides:pkg", "provides:removal" } },
    { SCOPE_KERNEL,
      { "provides:sysctl", "provides:kmod", "provides:filesystem", "provides:device" } },
    { SCOPE_ANYTHING, { "provides:*" } },
};

static Scope program_scope(Arena *arena, Str program)
{
    size_t slash = str_find_last(program, STR("/"));
    Str directory = slash == STR_NOT_FOUND ? STR_EMPTY : str_slice(program, 0, slash);
    bool is_of_system = slash == STR_NOT_FOUND || str_eq(directory, STR("/bin")) ||
                        str_eq(directory, STR("/sbin")) || str_eq(directory, STR("/usr/bin")) ||
                        str_eq(directory, STR("/usr/sbin"));
    Str name = slash == STR_NOT_FOUND ? program : str_from_offset(program, slash + 1);
    Str wanted = arena_format(arena, " %" STR_FMT " ", STR_ARG(name));
    for (size_t i = 0; is_of_system && name.len > 0 && i < COUNT_OF(programs); i++) {
        if (str_find(str_from_c(programs[i].programs), wanted, 0) != STR_NOT_FOUND) {
            return programs[i].scope;
        }
    }
    return SCOPE_ANYTHING;
}

/* Whether redirecting output to this path creates no file. */
static bool creates_no_file(Str target)
{
    return str_eq(target, STR("/dev/null")) || str_eq(target, STR("/dev/stdout")) ||
           str_eq(target, STR("/dev/stderr"));
}

/* --- Shell commands -------------------------------------------------------------------------- */

typedef enum Expect {
    EXPECT_PROGRAM,
    EXPECT_ARGUMENT,
    EXPECT_TARGET, /* the operand of ">" */
    EXPECT_SOURCE, /* the operand of "<" */
    EXPECT_SHELL_OPTION,
    EXPECT_SHELL_TEXT, /* the argument of "sh -c" */
    EXPECT_VERB,       /* the command of systemctl */
} Expect;

enum {
    NESTING_MAX = 8 /* maximum nesting of command substitutions */
};

typedef struct Shell {
    Arena *arena;
    Str text;
    size_t at;
    Expect expect, after; /* `after`: what follows a redirection */
    Scope scope;
    unsigned depth;
    bool computed; /* the current word contains the output of a command */
    bool is_open; /* the current command may change anything, unless a later word shows otherwise */
    bool names_kernel; /* a word is a path below /sys or /proc */
} Shell;

static Scope text_scope(Arena *arena, Str text, unsigned depth);

/* Position after the parenthesis that closes the one at `at`; the length if there is none. */
static size_t find_end_of_group(Str text, size_t at)
{
    unsigned open = 0;
    char quote = '\0';
    for (; at < text.len; at++) {
        char c = text.data[at];
        if (c == '\\' && quote != '\'') {
            at++;
        } else if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(') {
            open++;
        } else if (c == ')' && --open == 0) {
            return at + 1;
        }
    }
    return text.len;
}

/* Reads $(command) or $((expression)). */
static void read_substitution(Shell *shell)
{
    size_t start = shell->at + 1, end = find_end_of_group(shell->text, start);
    Str inside = str_slice(shell->text, start + 1, end > start + 1 ? end - 1 : end);
    if (!str_starts(inside, STR("("))) {
        shell->scope |= text_scope(shell->arena, inside, shell->depth + 1);
    }
    shell->computed = true;
    shell->at = end - 1;
}

static char char_at(const Shell *shell, size_t at)
{
    return at < shell->text.len ? shell->text.data[at] : '\0';
}

/* Reads a word and removes its quotes. Returns false if only a shell can expand it. */
static bool read_word(Shell *shell, Buf *word)
{
    char quote = '\0';
    for (; shell->at < shell->text.len; shell->at++) {
        char c = char_at(shell, shell->at), next = char_at(shell, shell->at + 1);
        if (quote != '\'' && c == '`') {
            return false;
        }
        if (quote != '\'' && c == '$' && next == '(') {
            read_substitution(shell);
            continue;
        }
        if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == quote) {
            quote = '\0';
        } else if (c == '\\' && quote != '\'') {
            buf_put_char(word, next);
            shell->at++;
        } else if (quote == '\0' && strchr(" \t\n;&|<>()", c) != NULL) {
            return true;
        } else {
            buf_put_char(word, c);
        }
    }
    return quote == '\0';
}

static bool is_assignment(Str word)
{
    size_t equals = str_find(word, STR("="), 0);
    for (size_t i = 0; equals != STR_NOT_FOUND && i < equals; i++) {
        if (!ascii_is_name(word.data[i])) {
            return false;
        }
    }
    return equals != STR_NOT_FOUND && equals > 0;
}

static void end_command(Shell *shell, Expect next)
{
    shell->scope |= shell->is_open ? SCOPE_ANYTHING : SCOPE_NOTHING;
    shell->is_open = false;
    shell->expect = next;
}

/* Reads a redirection, or the start or end of a command or group. Returns false for a
 * here-document and a function. */
static bool read_operator(Shell *shell)
{
    char c = char_at(shell, shell->at), next = char_at(shell, shell->at + 1);
    if ((c == '(' && shell->expect != EXPECT_PROGRAM) ||
        (c == '<' && (next == '<' || next == '(')) || (c == '>' && next == '(')) {
        return false;
    }
    shell->at++;
    if (c != '<' && c != '>' && !(c == '&' && next == '>')) {
        end_command(shell, c == ')' ? EXPECT_ARGUMENT : EXPECT_PROGRAM);
        return true;
    }
    while (strchr("<>|", char_at(shell, shell->at)) != NULL && shell->at < shell->text.len) {
        shell->at++;
    }
    bool copies = char_at(shell, shell->at) == '&'; /* 2>&1 */
    shell->at += copies;
    shell->after = shell->expect;
    shell->expect = copies || c == '<' ? EXPECT_SOURCE : EXPECT_TARGET;
    return true;
}

static bool is_number_before_redirection(const Shell *shell, Str word)
{
    int64_t number;
    char next = char_at(shell, shell->at);
    return (next == '<' || next == '>') && str_to_i64(word, &number);
}

static bool list_contains(const char *words, Str word)
{
    Str rest = str_from_c(words), one;
    while (rest.len > 0 && str_split_next(&rest, ' ', &one)) {
        if (str_eq(one, word)) {
            return true;
        }
    }
    return false;
}

static bool is_shell(Str program)
{
    return list_contains("sh bash dash /bin/sh /bin/bash /bin/dash /usr/bin/sh /usr/bin/bash",
                         program);
}

static void handle_program(Shell *shell, Str word)
{
    if (is_assignment(word)) {
        return;
    }
    if (shell->computed) {
        shell->scope |= SCOPE_ANYTHING;
    } else if (list_contains("if then elif else while until do ! { time", word)) {
        return; /* a command follows */
    } else if (list_contains("fi done } for", word)) {
        shell->expect = EXPECT_ARGUMENT;
    } else if (is_shell(word) || str_eq(word, STR("systemctl"))) {
        shell->is_open = true;
        shell->expect = is_shell(word) ? EXPECT_SHELL_OPTION : EXPECT_VERB;
    } else {
        shell->scope |= program_scope(shell->arena, word);
        shell->expect = EXPECT_ARGUMENT;
    }
}

/* The first argument of systemctl that is not an option. */
static void handle_verb(Shell *shell, Str word)
{
    if (str_starts(word, STR("-"))) {
        shell->expect = str_eq(word, STR("--now")) ? EXPECT_ARGUMENT : EXPECT_VERB;
    } else {
        bool reads =
            list_contains("cat is-active is-enabled is-failed list-dependencies list-timers "
                          "list-unit-files list-units show status",
                          word);
        bool writes = list_contains("daemon-reload disable enable mask preset unmask", word);
        shell->scope |= writes ? SCOPE_FILES : SCOPE_NOTHING;
        shell->is_open = !reads && !writes;
        shell->expect = EXPECT_ARGUMENT;
    }
}

static void handle_word(Shell *shell, Str word)
{
    if (is_number_before_redirection(shell, word)) {
        return;
    }
    shell->names_kernel =
        shell->names_kernel || str_starts(word, STR("/sys/")) || str_starts(word, STR("/proc/"));
    switch (shell->expect) {
    case EXPECT_PROGRAM: handle_program(shell, word); break;
    case EXPECT_TARGET:
        shell->scope |= creates_no_file(word) && !shell->computed ? SCOPE_NOTHING : SCOPE_FILES;
        shell->expect = shell->after;
        break;
    case EXPECT_SOURCE: shell->expect = shell->after; break;
    case EXPECT_SHELL_OPTION:
        shell->expect = !str_starts(word, STR("-")) ? EXPECT_ARGUMENT
                        : str_ends(word, STR("c"))  ? EXPECT_SHELL_TEXT
                                                    : EXPECT_SHELL_OPTION;
        break;
    case EXPECT_SHELL_TEXT:
        shell->scope |=
            shell->computed ? SCOPE_ANYTHING : text_scope(shell->arena, word, shell->depth + 1);
        shell->is_open = false;
        shell->expect = EXPECT_ARGUMENT;
        break;
    case EXPECT_VERB: handle_verb(shell, word); break;
    case EXPECT_ARGUMENT: shell->is_open = shell->is_open || str_eq(word, STR("--now")); break;
    }
}

static Scope text_scope(Arena *arena, Str text, unsigned depth)
{
    Shell shell = { .arena = arena, .text = text, .depth = depth };
    if (depth >= NESTING_MAX) {
        return SCOPE_ANYTHING;
    }
    while (shell.at < text.len && (shell.scope & SCOPE_ANYTHING) == 0) {
        char c = text.data[shell.at];
        if (c == ' ' || c == '\t') {
            shell.at++;
        } else if (c == '#') {
            size_t end = str_find(text, STR("\n"), shell.at);
            shell.at = end == STR_NOT_FOUND ? text.len : end;
        } else if (strchr("\n;&|<>()", c) != NULL) {
            if (!read_operator(&shell)) {
                return SCOPE_ANYTHING;
            }
        } else {
            Buf word = buf_make_in(arena, BUF_UNLIMITED);
            shell.computed = false;
            if (!read_word(&shell, &word)) {
                return SCOPE_ANYTHING;
            }
            handle_word(&shell, buf_str(&word));
        }
    }
    end_command(&shell, EXPECT_PROGRAM);
    bool writes_kernel = shell.names_kernel && (shell.scope & SCOPE_FILES) != 0;
    return writes_kernel ? SCOPE_ANYTHING : shell.scope;
}

/* --- Claims ---------------------------------------------------------------------------------- */

static bool mentions_accounts(Str text)
{
    return str_find(text, STR("/etc/passwd"), 0) != STR_NOT_FOUND ||
           str_find(text, STR("/etc/group"), 0) != STR_NOT_FOUND;
}

static Scope command_scope(Arena *arena, Value command, Str shell)
{
    bool is_text = value_is_string(command);
    if (is_text && (shell.len == 0 || str_ends(shell, STR("/sh")) ||
                    str_ends(shell, STR("/bash")) || str_ends(shell, STR("/dash")))) {
        Str text = value_str(command);
        Scope scope = text_scope(arena, text, 0);
        bool edits = (scope & SCOPE_FILES) != 0 && mentions_accounts(text);
        return edits ? scope | SCOPE_ACCOUNTS : scope;
    }
    if (!is_text && value_is_sequence(command) && command.list->len > 0 &&
        value_is_string(command.list->items[0])) {
        const List *words = command.list;
        Str program = value_str(words->items[0]);
        if (words->len > 2 && is_shell(program) && value_is_string(words->items[1]) &&
            value_is_string(words->items[2]) && str_eq(value_str(words->items[1]), STR("-c"))) {
            return command_scope(arena, words->items[2], STR_EMPTY);
        }
        Scope scope = program_scope(arena, program);
        bool edits = (scope & SCOPE_FILES) != 0;
        return edits ? scope | SCOPE_ACCOUNTS : scope;
    }
    return SCOPE_ANYTHING;
}

/* Adds what an unknown command with `creates` may provide: the path, other entries of its
 * directory, and anything below it. */
static void provide_creates(Arena *arena, Str path, List *claims)
{
    size_t slash = str_find_last(path, STR("/"));
    Str directory = slash == STR_NOT_FOUND ? STR_EMPTY : str_slice(path, 0, slash);
    claims_add(arena, claims, "provides:path:", path);
    claims_add(arena, claims, "provides:path:", arena_join(arena, path, STR("/"), STR_EMPTY));
    if (directory.len > 0) {
        claims_add(arena, claims,
                   "provides:path:", arena_join(arena, directory, STR("/"), STR_EMPTY));
    }
    if (str_ends(directory, STR("/bin")) || str_ends(directory, STR("/sbin"))) {
        claims_add(arena, claims, "provides:program", STR_EMPTY);
    }
    if (str_ends(directory, STR("/systemd/system"))) {
        claims_add(arena, claims, "provides:unit", STR_EMPTY);
    }
}

static void provide(Arena *arena, Scope scope, Value creates, List *claims)
{
    bool is_limited = value_is_sequence(creates) && creates.list->len > 0;
    if (is_limited && (scope & SCOPE_ANYTHING) != 0) {
        scope &= ~(unsigned)SCOPE_ANYTHING;
        for (uint32_t i = 0; i < creates.list->len; i++) {
            Value path = creates.list->items[i];
            if (value_is_string(path)) {
                provide_creates(arena, value_str(path), claims);
            }
        }
    }
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        for (size_t k = 0; (scope & classes[i].scope) != 0 && classes[i].claims[k] != NULL; k++) {
            claims_add(arena, claims, classes[i].claims[k], STR_EMPTY);
        }
    }
}

void command_provides(Arena *arena, Value command, Str shell, Value creates, List *claims)
{
    provide(arena, command_scope(arena, command, shell), creates, claims);
}

void command_provides_script(Arena *arena, Str script, Value creates, List *claims)
{
    Str line = str_slice(script, 0, str_find(script, STR("\n"), 0));
    bool is_shell_script = script.len > 0 && (!str_starts(line, STR("#!")) ||
                                              is_shell(str_trim(str_from_offset(line, 2))));
    provide(arena,
            is_shell_script ? command_scope(arena, value_string(script), STR_EMPTY)
                            : SCOPE_ANYTHING,
            creates, claims);
}
