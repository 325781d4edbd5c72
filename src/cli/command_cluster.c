/* eden cluster: checks and repairs the store of a stopped server. */
#include "cli/backup_print.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "server/repair.h"

/* A conflict means that a running server has locked the store. */
static int fail(Invocation *invocation, Error *err)
{
    if (err->kind == ERROR_CONFLICT) {
        Str text = arena_copy(invocation->arena, str_from_c(err->text));
        error_set(err, ERROR_CONFLICT,
                  "%" STR_FMT "; stop the server first ('systemctl stop eden')", STR_ARG(text));
    }
    return daemon_command_fail(invocation, "E0876", err);
}

/* --- check ----------------------------------------------------------------------------------- */

static int print_report_json(const Invocation *invocation, const ClusterReport *report)
{
    Arena *arena = invocation->arena;
    List *bad = list_new(arena, report->bad_count);
    for (uint32_t i = 0; i < report->bad_count; i++) {
        Map *row = map_new(arena, 2);
        map_set_str(arena, row, STR("key"), value_string(report->bad[i].key));
        map_set_str(arena, row, STR("why"), value_string(report->bad[i].why));
        list_push(arena, bad, value_map(row));
    }
    bool is_intact = report->damage.kind == ERROR_NONE;
    Map *map = map_new(arena, 6);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.cluster-check/1")));
    map_set_str(arena, map, STR("whole"), value_bool(is_intact));
    if (!is_intact) {
        map_set_str(arena, map, STR("damage"),
                    value_string(arena_copy(arena, str_from_c(report->damage.text))));
    }
    map_set_str(arena, map, STR("revision"), value_int(report->revision));
    map_set_str(arena, map, STR("keys"), value_int(report->keys));
    map_set_str(arena, map, STR("bad"), value_list(bad));
    map_set_str(arena, map, STR("more"), value_bool(report->has_more));
    return output_json(invocation, value_map(map));
}

static void print_report(const Invocation *invocation, const ClusterReport *report)
{
    static const char *const headings[] = { "RECORD", "REASON", NULL };
    Stream *out = invocation->out;
    Table table;
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < report->bad_count; i++) {
        table_add(&table, report->bad[i].key);
        table_add(&table, report->bad[i].why);
    }
    table_print(&table, out);
    if (report->damage.kind != ERROR_NONE) {
        output_line(out, "damaged: %s", report->damage.text);
    }
    if (report->bad_count > 0) {
        output_line(out, "%u%s bad record%s; 'eden cluster repair KEY' repairs one",
                    report->bad_count, report->has_more ? " and more" : "",
                    report->bad_count == 1 ? "" : "s");
    }
    if (report->damage.kind == ERROR_NONE && report->bad_count == 0) {
        output_line(out, "ok: revision %lld, %lld key%s", (long long)report->revision,
                    (long long)report->keys, report->keys == 1 ? "" : "s");
    }
}

static int run_check(Invocation *invocation)
{
    ClusterReport report;
    Error err;
    if (!cluster_check(invocation->arena, invocation_text(invocation, "state-dir"), &report,
                       &err)) {
        return fail(invocation, &err);
    }
    if (invocation_wants_json(invocation)) {
        (void)print_report_json(invocation, &report);
    } else {
        print_report(invocation, &report);
    }
    return report.damage.kind == ERROR_NONE && report.bad_count == 0 ? EXIT_OK : EXIT_FAILED;
}

/* --- repair ---------------------------------------------------------------------------------- */

static int accept_loss(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    StoreAccepted accepted;
    Error err;
    if (!cluster_accept_loss(arena, invocation_text(invocation, "state-dir"), &accepted, &err)) {
        return fail(invocation, &err);
    }
    int64_t lost = accepted.acknowledged - accepted.found;
    Str warning = STR("nodes, tokens and user certificates that were revoked or removed in these "
                      "revisions are valid again");
    if (invocation_wants_json(invocation)) {
        Map *map = map_new(arena, 7);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.accepted-loss/1")));
        map_set_str(arena, map, STR("found"), value_int(accepted.found));
        map_set_str(arena, map, STR("acknowledged"), value_int(accepted.acknowledged));
        map_set_str(arena, map, STR("lost"), value_int(lost));
        map_set_str(arena, map, STR("revision"), value_int(accepted.revision));
        if (lost > 0) {
            backup_set_review(arena, map, warning);
        }
        return output_json(invocation, value_map(map));
    }
    if (lost > 0) {
        output_line(
            invocation->out,
            "accepted: revisions %lld to %lld are lost; the store continues at revision %lld",
            (long long)accepted.found + 1, (long long)accepted.acknowledged,
            (long long)accepted.revision);
        backup_put_review(invocation, warning);
    } else {
        output_line(invocation->out,
                    "accepted: no writes are lost; the store continues at revision %lld",
                    (long long)accepted.revision);
    }
    return EXIT_OK;
}

static int repair_record(Invocation *invocation, const char *key)
{
    Arena *arena = invocation->arena;
    RepairedRecord repaired;
    Error err;
    if (!cluster_repair_record(arena, invocation_text(invocation, "state-dir"), str_from_c(key),
                               invocation_flag(invocation, "delete"), &repaired, &err)) {
        return fail(invocation, &err);
    }
    if (invocation_wants_json(invocation)) {
        Map *map = map_new(arena, 5);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.repaired-record/1")));
        map_set_str(arena, map, STR("key"), value_string(str_from_c(key)));
        map_set_str(arena, map, STR("why"), value_string(repaired.why));
        map_set_str(arena, map, STR("saved"), value_string(repaired.saved));
        map_set_str(arena, map, STR("revision"),
                    repaired.revision == 0 ? value_null() : value_int(repaired.revision));
        return output_json(invocation, value_map(map));
    }
    output_line(invocation->out, "%s was unreadable: %" STR_FMT, key, STR_ARG(repaired.why));
    output_line(invocation->out, "saved its value as %" STR_FMT, STR_ARG(repaired.saved));
    if (repaired.revision == 0) {
        output_line(invocation->out, "deleted");
    } else {
        output_line(invocation->out, "repaired: restored the value of revision %lld",
                    (long long)repaired.revision);
    }
    return EXIT_OK;
}

static int run_repair(Invocation *invocation)
{
    bool accept = invocation_flag(invocation, "accept-loss");
    if (accept == (invocation->arg_count > 0)) {
        return usage_error(invocation, "exactly one of KEY and --accept-loss is required");
    }
    return accept ? accept_loss(invocation) : repair_record(invocation, invocation->args[0]);
}

static const Option repair_options[] = {
    { .name = "accept-loss",
      .help = "continue even though the store has lost acknowledged writes" },
    { .name = "delete", .help = "delete the record if its history has no readable value" },
    { 0 },
};

static const Option options[] = {
    STATE_DIR_OPTION,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "check",
      .help = "Check the store for damage.",
      .text = "Reads every page of the store and every record in it, and compares the store\n"
              "with the file that records the last acknowledged write. Nothing is changed. The\n"
              "exit code is 1 if a problem is found.",
      .examples = { { "eden cluster check", "check the store of a stopped server" } },
      .run = run_check },
    { .name = "repair",
      .args = { { "[KEY]" } },
      .help = "Repair a record, or accept lost writes.",
      .text = "With KEY, saves an unreadable record to a file in the server's directory and\n"
              "restores its newest readable value from the history. If there is no such value,\n"
              "--delete deletes the record. Be careful with the revocation list: without it,\n"
              "revoked certificates are valid again until 'eden pki rotate' has replaced the\n"
              "CA.\n"
              "\n"
              "With --accept-loss, continues with a store that has lost acknowledged writes,\n"
              "for example because its write-ahead log was deleted. Revisions are skipped, so\n"
              "that nodes and watches that have seen the lost writes fetch all data again.\n"
              "Alternatively, restore a backup ('eden backup restore'). A store with damaged\n"
              "pages cannot be repaired; restore a backup.",
      .options = repair_options,
      .examples = { { "eden cluster repair /eden/internal/pki/revocations",
                      "restore the last readable value of a record" },
                    { "eden cluster repair --accept-loss",
                      "continue with a store that has lost writes" } },
      .run = run_repair },
    { 0 },
};

const Command command_cluster = {
    .name = "cluster",
    .group = GROUP_CLUSTER,
    .help = "Check and repair the cluster's store while the server is stopped.",
    .options = options,
    .verbs = verbs,
};
