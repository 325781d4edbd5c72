#include "cli/help_text.h"

enum {
    COLUMN = 26
};

void help_write_option_name(const Option *option, Buf *out)
{
    if (option->letter != 0) {
        buf_put_format(out, "-%c, ", option->letter);
    }
    buf_put_format(out, "--%s", option->name);
    if (option->argument != NULL) {
        buf_put_format(out, " %s", option->argument);
    }
}

/* Pads what was written since `start` to the column of the explanations. */
static void put_column(Buf *out, size_t start)
{
    size_t width = out->len - start;
    if (width + 2 > COLUMN) {
        buf_put_char(out, '\n');
        width = 0;
    }
    buf_put_repeat(out, ' ', COLUMN - width);
}

static void write_option(const Option *option, Buf *out)
{
    size_t start = out->len;
    buf_put_c(out, "  ");
    help_write_option_name(option, out);
    put_column(out, start);
    buf_put_c(out, option->help);
    if (option->choices != NULL) {
        buf_put_format(out, " (%s)", option->choices);
    }
    if (option->fallback != NULL) {
        buf_put_format(out, " [%s]", option->fallback);
    }
    if (option->repeats) {
        buf_put_c(out, "; may be repeated");
    }
    buf_put_char(out, '\n');
}

void help_write_command(const Command *command, Buf *out)
{
    buf_put_format(out, "%s\n\nusage: eden %s [OPTION]...%s%s\n", command->help, command->name,
                   command->args[0] == '\0' ? "" : " ", command->args);
    if (command->text != NULL) {
        buf_put_format(out, "\n%s\n", command->text);
    }
    buf_put_c(out, "\noptions:\n");
    const Option *lists[] = { command->options, common_options };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const Option *option = lists[i]; option != NULL && option->name != NULL; option++) {
            write_option(option, out);
        }
    }
    if (command->examples != NULL) {
        buf_put_c(out, "\nexamples:\n");
        for (const Example *example = command->examples; example->command != NULL; example++) {
            buf_put_format(out, "  %s\n      %s\n", example->command, example->help);
        }
    }
}

void help_write_overview(Buf *out)
{
    buf_put_c(out, "eden takes a fleet of servers from bare metal to serving.\n\n"
                   "usage: eden COMMAND [OPTION]... [ARGUMENT]...\n\ncommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        size_t start = out->len;
        buf_put_format(out, "  %s", commands[i]->name);
        while (out->len - start < 14) {
            buf_put_char(out, ' ');
        }
        buf_put_format(out, "%s\n", commands[i]->help);
    }
    buf_put_c(out, "\n'eden help COMMAND' tells more about one, 'eden help TOPIC' about: filters, "
                   "tests,\nglobals, exit-codes.\n");
}

static void print(const Buf *text, FILE *stream)
{
    fwrite(text->data, 1, text->len, stream);
}

int help_print_command(const Command *command)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    help_write_command(command, &text);
    print(&text, stdout);
    return EXIT_OK;
}

void help_print_overview(FILE *stream)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    help_write_overview(&text);
    print(&text, stream);
}
