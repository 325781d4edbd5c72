/* eden owed: reactions that changes owe and that have not happened yet. */
#include "base/utc.h"
#include "cli/output.h"
#include "cli/table.h"
#include "facts/facts.h"
#include "run/journal.h"
#include "run/lock.h"
#include "run/node_paths.h"

/* Tells this boot from others; empty when it is not known. */
static Str boot_id(const Invocation *invocation)
{
    FactWorld world;
    Error err;
    Problems unheard;
    problems_init(&unheard, invocation->arena);
    if (!fact_world_open("/", &world, &err)) {
        return STR_EMPTY;
    }
    Value id = fact_collect(fact_find(STR("boot_id")), &world, invocation->arena, &unheard);
    fact_world_close(&world);
    return id.kind == VALUE_STRING ? value_str(id) : STR_EMPTY;
}

/* An absent directory means that nothing was ever applied. False: it cannot be read. */
static bool read_book(const Invocation *invocation, DebtBook *book, bool *running, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    const char *path;
    *running = false;
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"),
                         invocation_text(invocation, "root"), &path, err)) {
        return false;
    }
    Error why;
    if (!directory_open(path, &state, &why)) {
        debt_book_init(book, invocation->arena);
        *err = why;
        return why.kind == ERROR_NOT_FOUND;
    }
    if (!journal_read(&state, invocation->arena, book, err)) {
        return false;
    }
    *running = run_lock_is_held(&state);
    if (!*running) {
        /* What an interrupted run left open is owed by now. */
        debt_book_recover(book, boot_id(invocation));
    }
    return true;
}

static int print_json(const Invocation *invocation, const DebtBook *book, bool running)
{
    Arena *arena = invocation->arena;
    List *owed = list_new(arena, 0);
    const Debt *debt;
    for (uint32_t at = 0; (debt = debt_book_next(book, &at, true)) != NULL;) {
        list_push(arena, owed, debt_value(arena, debt));
    }
    Map *map = map_new(arena, 3);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.owed/1")));
    map_set_str(arena, map, STR("running"), value_bool(running));
    map_set_str(arena, map, STR("owed"), value_list(owed));
    return output_json(invocation, value_map(map));
}

static int print_table(const Invocation *invocation, const DebtBook *book, bool running)
{
    static const char *const headings[] = { "STEP", "KIND", "BECAUSE OF", "SINCE", "STATE", NULL };
    Arena *arena = invocation->arena;
    Table table;
    table_init(&table, arena, headings);
    const Debt *debt;
    for (uint32_t at = 0; (debt = debt_book_next(book, &at, true)) != NULL;) {
        table_add(&table, debt->step);
        table_add(&table, str_from_c(debt_kind_name(debt->kind)));
        table_add(&table, debt->cause);
        table_add(&table, utc_text(arena, debt->at_ms));
        table_add(&table, debt->state == DEBT_OWED ? STR("owed") : STR("being changed"));
    }
    table_print(&table, invocation->out);
    if (running) {
        stream_put_format(invocation->err, "a run goes on; this may change any moment\n");
    } else if (table.cells.len == 0) {
        stream_put_format(invocation->err, "nothing is owed\n");
    } else {
        stream_put_format(invocation->err, "the next 'eden apply' pays them\n");
    }
    return EXIT_OK;
}

static int owed_run(Invocation *invocation)
{
    DebtBook book;
    bool running;
    Error err;
    if (!read_book(invocation, &book, &running, &err)) {
        Inputs inputs;
        inputs_init(&inputs, invocation->arena);
        inputs_add_file_error(&inputs, &err);
        return inputs_report(&inputs, invocation);
    }
    return invocation_prints(invocation, "json") ? print_json(invocation, &book, running)
                                                 : print_table(invocation, &book, running);
}

static const Option options[] = {
    { .name = "root",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .fallback = "/",
      .help = "the system that was applied to" },
    { .name = "state-dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "where runs are recorded; default: var/lib/eden below the root" },
    OUTPUT_OPTION("table|json", "table", "how to print them"),
    { 0 },
};

static const Example examples[] = {
    { "eden owed -o json", "for another program" },
    { 0 },
};

const Command command_owed = {
    .name = "owed",
    .group = GROUP_OPERATE,
    .help = "List reactions that are owed.",
    .text =
        "When a file changes and a service watches it, the service owes a restart. If the run "
        "ends\n"
        "before that, because it was killed or because something in between failed, the restart "
        "is\n"
        "still owed, and the next run makes up for it even though it finds the file unchanged. "
        "The\n"
        "same holds for listen and onchanges.\n"
        "\n"
        "A debt ends when the step reacted, when its service was restarted by somebody else, or\n"
        "when the step is no longer in the site.",
    .options = options,
    .examples = examples,
    .run = owed_run,
};
