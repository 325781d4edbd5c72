/* eden man: the manual. */
#include "cli/invocation.h"
#include "cli/man_page.h"
#include "sys/file.h"

static void write_page(const Command *command, Buf *out)
{
    if (command == NULL) {
        man_write_overview(out);
    } else {
        man_write_command(command, out);
    }
}

static bool save_page(const char *directory, const Command *command, Error *err)
{
    AUTO_CLEAR(Buf) path = buf_make(BUF_UNLIMITED);
    buf_put_format(&path, "%s/", directory);
    man_write_name(command, &path);
    AUTO_CLEAR(Buf) page = buf_make(BUF_UNLIMITED);
    write_page(command, &page);
    return file_write_atomic(buf_c(&path), buf_str(&page), err);
}

static int save_all(const Invocation *invocation, const char *directory)
{
    Error err;
    bool ok = save_page(directory, NULL, &err);
    for (size_t i = 0; ok && commands[i] != NULL; i++) {
        ok = save_page(directory, commands[i], &err);
    }
    if (!ok) {
        stream_put_format(invocation->err, "eden man: %s\n", err.text);
        return error_kind_exit_code(err.kind);
    }
    return EXIT_OK;
}

static int man_run(Invocation *invocation)
{
    const char *directory = invocation_text(invocation, "dir");
    if (directory != NULL) {
        return invocation->arg_count == 0
                   ? save_all(invocation, directory)
                   : usage_error(invocation, "--dir writes all pages and takes no COMMAND");
    }
    const Command *command = NULL;
    if (invocation->arg_count > 0) {
        command = command_find(str_from_c(invocation->args[0]));
        if (command == NULL) {
            return usage_error_command(invocation, invocation->args[0]);
        }
    }
    AUTO_CLEAR(Buf) page = buf_make(BUF_UNLIMITED);
    write_page(command, &page);
    stream_put(invocation->out, buf_str(&page));
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "write eden.1 and a page for each command there" },
    { 0 },
};

static const Example examples[] = {
    { "eden man render | man -l -", "read the page of a command" },
    { "eden man --dir ~/.local/share/man/man1", "install the pages for yourself" },
    { 0 },
};

const Command command_man = {
    .name = "man",
    .group = GROUP_SYSTEM,
    .args = { { "[COMMAND]", WORD_COMMAND } },
    .help = "Print the manual, or write its pages to a directory.",
    .text = "The pages are in mdoc, for man(1). Each file is replaced as a whole or not at all.",
    .options = options,
    .examples = examples,
    .run = man_run,
};
