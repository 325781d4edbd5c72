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
    const char *programs; /* each with a space before and after it */
} ScopeRow;

/* Programs that can run others (find, xargs, awk, env, ssh, make) are not listed. */
static const ScopeRow programs[] = {
    { SCOPE_NOTHING,
      " : [ arch b2sum basename blkid cat cd cksum cmp comm cut date df diff dig dirname dmesg du "
      "echo egrep exit export expr false fgrep file findmnt free getent grep groups head hexdump "
      "host hostname id journalctl kill killall last ldd logger logname ls lsblk lscpu lsmod lsof "
      "lspci lsusb md5sum mountpoint netstat nproc nslookup od pgrep pidof ping pkill printenv "
      "printf ps pwd readlink realpath seq set sha1sum sha256sum sha512sum sleep ss stat strings "
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
    const char *claims[10]; /* the classes of run/provisions.c */
} classes[] = {
    { SCOPE_FILES,
      { "provides:path", "provides:program", "provides:unit", "provides:package",
        "provides:timezone", "provides:remote", "provides:alternative" } },
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

/* Output to these paths creates no file. */
static bool is_no_file(Str target)
{
    return str_eq(target, STR("/dev/null")) || str_eq(target, STR("/dev/stdout")) ||
           str_eq(target, STR("/dev/stderr"));
}

/* --- Shell commands -------------------------------------------------------------------------- */

typedef enum Expect {
    EXPECT_PROGRAM,
    EXPECT_ARGUMENT,
    EXPECT_TARGET, /* of ">" */
    EXPECT_SOURCE, /* of "<" */
} Expect;

typedef struct Shell {
    Arena *arena;
    Str text;
    size_t at;
    Expect expect, after; /* `after`: what follows a redirection */
    Scope scope;
} Shell;

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
        if (quote != '\'' && (c == '`' || (c == '$' && next == '('))) {
            return false;
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

/* Reads a redirection, or the end of a command. Returns false for a group or here-document. */
static bool read_operator(Shell *shell)
{
    char c = char_at(shell, shell->at), next = char_at(shell, shell->at + 1);
    if (c == '(' || c == ')' || (c == '<' && (next == '<' || next == '(')) ||
        (c == '>' && next == '(')) {
        return false;
    }
    shell->at++;
    if (c != '<' && c != '>' && !(c == '&' && next == '>')) {
        shell->expect = EXPECT_PROGRAM;
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

static void take_word(Shell *shell, Str word)
{
    if (is_number_before_redirection(shell, word)) {
        return;
    }
    switch (shell->expect) {
    case EXPECT_PROGRAM:
        if (!is_assignment(word)) {
            shell->scope |= program_scope(shell->arena, word);
            shell->expect = EXPECT_ARGUMENT;
        }
        break;
    case EXPECT_TARGET:
        shell->scope |= is_no_file(word) ? SCOPE_NOTHING : SCOPE_FILES;
        shell->expect = shell->after;
        break;
    case EXPECT_SOURCE: shell->expect = shell->after; break;
    case EXPECT_ARGUMENT: break;
    }
}

static Scope text_scope(Arena *arena, Str text)
{
    Shell shell = { .arena = arena, .text = text };
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
            if (!read_word(&shell, &word)) {
                return SCOPE_ANYTHING;
            }
            take_word(&shell, buf_str(&word));
        }
    }
    return shell.scope;
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
        Scope scope = text_scope(arena, text);
        bool edits = (scope & SCOPE_FILES) != 0 && mentions_accounts(text);
        return edits ? scope | SCOPE_ACCOUNTS : scope;
    }
    if (!is_text && value_is_sequence(command) && command.list->len > 0 &&
        value_is_string(command.list->items[0])) {
        Scope scope = program_scope(arena, value_str(command.list->items[0]));
        bool edits = (scope & SCOPE_FILES) != 0;
        return edits ? scope | SCOPE_ACCOUNTS : scope;
    }
    return SCOPE_ANYTHING;
}

/* What an unknown command with `creates` provides: the path, and what is beside and below it. */
static void provide_beside(Arena *arena, Str path, List *claims)
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
                provide_beside(arena, value_str(path), claims);
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

void command_provides_any(Arena *arena, Value creates, List *claims)
{
    provide(arena, SCOPE_ANYTHING, creates, claims);
}
