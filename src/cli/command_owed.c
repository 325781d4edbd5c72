/* eden owed: lists owed actions, which are reactions to changes that have not run yet. */
#include "base/utc.h"
#include "cli/output.h"
#include "cli/table.h"
#include "facts/facts.h"
#include "run/journal.h"
#include "run/lock.h"
#include "run/node_paths.h"

/* The ID of the current boot; empty if unknown. */
static Str boot_id(const Invocation *invocation)
{
    FactSources sources;
    Error err;
    Problems ignored;
    problems_init(&ignored, invocation->arena);
    if (!fact_sources_open("/", &sources, &err)) {
        return STR_EMPTY;
    }
    Value id = fact_collect(fact_find(STR("boot_id")), &sources, invocation->arena, &ignored);
    fact_sources_close(&sources);
    return id.kind == VALUE_STRING ? value_str(id) : STR_EMPTY;
}

/* Reads the owed reactions. If the directory does not exist, nothing was ever applied and there are
 * none. Returns false if it cannot be read. */
static bool read_owed(const Invocation *invocation, DebtBook *debts, bool *is_running, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    const char *path;
    *is_running = false;
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"),
                         invocation_text(invocation, "root"), &path, err)) {
        return false;
    }
    Error open_error;
    if (!directory_open(path, &state, &open_error)) {
        debt_book_init(debts, invocation->arena);
        *err = open_error;
        return open_error.kind == ERROR_NOT_FOUND;
    }
    if (!journal_read(&state, invocation->arena, debts, err)) {
        return false;
    }
    *is_running = run_lock_is_held(&state);
    if (!*is_running) {
        /* Reactions that an interrupted run left pending are now owed. */
        debt_book_recover(debts, boot_id(invocation));
    }
    return true;
}

static int print_json(const Invocation *invocation, const DebtBook *debts, bool is_running)
{
    Arena *arena = invocation->arena;
    List *owed = list_new(arena, 0);
    const Debt *debt;
    for (uint32_t at = 0; (debt = debt_book_next(debts, &at, true)) != NULL;) {
        list_push(arena, owed, debt_value(arena, debt));
    }
    Map *map = map_new(arena, 3);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.owed/1")));
    map_set_str(arena, map, STR("running"), value_bool(is_running));
    map_set_str(arena, map, STR("owed"), value_list(owed));
    return output_json(invocation, value_map(map));
}

static int print_table(const Invocation *invocation, const DebtBook *debts, bool is_running)
{
    static const char *const headings[] = { "STEP", "KIND", "CAUSE", "SINCE", "STATE", NULL };
    Arena *arena = invocation->arena;
    Table table;
    table_init(&table, arena, headings);
    const Debt *debt;
    for (uint32_t at = 0; (debt = debt_book_next(debts, &at, true)) != NULL;) {
        table_add(&table, debt->step);
        table_add(&table, str_from_c(debt_kind_name(debt->kind)));
        table_add(&table, debt->cause);
        table_add(&table, utc_text(arena, debt->at_ms));
        table_add(&table, debt->state == DEBT_OWED ? STR("owed") : STR("in progress"));
    }
    table_print(&table, invocation->out);
    if (is_running) {
        stream_put_format(invocation->err, "a run is in progress; this may change\n");
    } else if (table.cells.len == 0) {
        stream_put_format(invocation->err, "nothing is owed\n");
    } else {
        stream_put_format(invocation->err, "the next 'eden apply' performs them\n");
    }
    return EXIT_OK;
}

static int run_owed(Invocation *invocation)
{
    DebtBook debts;
    bool is_running;
    Error err;
    if (!read_owed(invocation, &debts, &is_running, &err)) {
        Inputs inputs;
        inputs_init(&inputs, invocation->arena);
        inputs_add_file_error(&inputs, &err);
        return inputs_report(&inputs, invocation);
    }
    return invocation_prints(invocation, "json") ? print_json(invocation, &debts, is_running)
                                                 : print_table(invocation, &debts, is_running);
}

static const Option options[] = {
    { .name = "root",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .fallback = "/",
      .help = "root directory of the system" },
    { .name = "state-dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "directory with run records; default: var/lib/eden under --root" },
    OUTPUT_OPTION("table|json", "table", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden owed -o json", "print JSON, for scripts" },
    { 0 },
};

const Command command_owed = {
    .name = "owed",
    .group = GROUP_OPERATE,
    .help = "List owed actions.",
    .text =
        "An owed action is a reaction that has become necessary but has not been performed yet.\n"
        "For example, when a file changes, a service that watches it owes a restart. If the run\n"
        "is killed before the restart, or another step fails, the restart remains owed: the next\n"
        "run performs it even if the file has not changed again. 'listen' and 'onchanges' work\n"
        "in the same way.\n"
        "\n"
        "An action is no longer owed once the step has reacted, the service has been restarted\n"
        "by other means, or the step has been removed from the site.",
    .options = options,
    .examples = examples,
    .run = run_owed,
};
