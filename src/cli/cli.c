/* Parses argv, finds the command and runs it. */
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/help_text.h"
#include "cli/invocation.h"
#include "cli/output.h"
#include "sys/signals.h"

static bool env_is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

static bool env_is_true(const char *variable)
{
    return env_is_set(variable) && strcmp(getenv(variable), "0") != 0;
}

static bool is_smart_terminal(const Stream *stream)
{
    return stream_is_terminal(stream) && env_is_set("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
}

static bool use_color(const Invocation *invocation, const Stream *stream)
{
    const char *when = invocation_text(invocation, "color");
    if (strcmp(when, "auto") != 0) {
        return strcmp(when, "always") == 0;
    }
    if (env_is_set("NO_COLOR")) {
        return false;
    }
    if (env_is_true("FORCE_COLOR") || env_is_true("CLICOLOR_FORCE")) {
        return true;
    }
    return is_smart_terminal(stream);
}

static int run_command(Invocation *invocation, int argc, char **argv)
{
    if (!invocation_parse(invocation, argc, argv)) {
        return EXIT_USAGE;
    }
    invocation->color_out = use_color(invocation, invocation->out);
    invocation->color_err = use_color(invocation, invocation->err);
    invocation->can_redraw_err = is_smart_terminal(invocation->err);
    if (invocation_flag(invocation, "help")) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        if (invocation->verb != NULL) {
            help_write_verb(invocation->command, invocation->verb, &text);
        } else {
            help_write_command(invocation->command, &text);
        }
        stream_put(invocation->out, buf_str(&text));
        return EXIT_OK;
    }
    RunFunction *run = invocation->verb != NULL ? invocation->verb->run : invocation->command->run;
    return output_check(invocation) ? run(invocation) : EXIT_USAGE;
}

static int unknown_command(const Invocation *invocation, const char *word)
{
    if (strcmp(word, "-v") == 0 || strcmp(word, "-version") == 0) {
        return usage_error_suggest(invocation, STR("--version"), "unknown option '%s'", word);
    }
    if (word[0] == '-') {
        return usage_error(invocation, "'%s' must come after the command", word);
    }
    return usage_error_command(invocation, word);
}

int cli_run(int argc, char **argv, Stream *out, Stream *err)
{
    if (argc < 2) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        help_write_usage(&text);
        stream_put(err, buf_str(&text));
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        word = "help";
    } else if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        word = "version";
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    bool stale_warned = false;
    Invocation invocation = {
        .command = command_find(str_from_c(word)),
        .arena = &arena,
        .out = out,
        .err = err,
        .stale_warned = &stale_warned,
        .json = args_request_json(argc - 2, argv + 2),
    };
    return invocation.command == NULL ? unknown_command(&invocation, word)
                                      : run_command(&invocation, argc - 2, argv + 2);
}

int cli_main(int argc, char **argv)
{
    signals_prepare();
    AUTO_CLEAR(Stream) out = stream_make(STDOUT_FILENO);
    AUTO_CLEAR(Stream) err = stream_make(STDERR_FILENO);
    int code = cli_run(argc, argv, &out, &err);
    /* A failed write, for example because the disk is full, must not be reported as success. */
    if (!stream_flush(&out)) {
        stream_put_format(&err, "eden: standard output: %s\n", out.error.text);
        code = code == EXIT_OK ? EXIT_FAILED : code;
    }
    stream_flush(&err);
    return code;
}
