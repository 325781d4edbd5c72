/* Resolves references to versions with lists from the server. */
#include "cli/version_ref.h"

#include "api/kind.h"
#include "cli/daemon_command.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "source/manifest.h"
#include "sys/clock.h"

enum {
    RUN_WAIT_MS = 10 * 1000, /* how long the leader may take to create the run */
    RUN_POLL_MS = 50,
    RUNS_LISTED = 100,
    NAMES_SHOWN = 5,
};

/* --- Finding ---------------------------------------------------------------------------------- */

static bool is_named(Value version, Str ref)
{
    Value status = object_status(version);
    return str_eq(object_name(version), ref) ||
           (str_eq(ref, STR("current")) && value_get_bool(status, "current")) ||
           (str_eq(ref, STR("previous")) && value_get_bool(status, "previous"));
}

static bool begins_with(Value version, Str ref)
{
    Str commit = value_get_text(value_get_map(version, "spec"), "commit");
    return ref.len >= VERSION_REF_MIN &&
           (str_starts(object_name(version), ref) || str_starts(commit, ref));
}

static int fail(Invocation *invocation, ErrorKind kind, const char *ref, const char *why)
{
    Error err;
    error_set(&err, kind, "'%s' %s", ref, why);
    int code = daemon_command_fail(invocation, "E0882", &err);
    return kind == ERROR_NOT_FOUND ? EXIT_NOT_MATCHED : code;
}

int version_ref_find(Invocation *invocation, const char *ref, Value *out)
{
    Value list;
    Str text = str_from_c(ref);
    Buf names = buf_make_in(invocation->arena, BUF_UNLIMITED);
    uint32_t found = 0;
    int code = kind_fetch(invocation, kind_find(STR("Version")), NULL, &list);
    if (code != EXIT_OK) {
        return code;
    }
    const List *items = object_items(list);
    for (uint32_t i = 0; i < items->len; i++) {
        if (is_named(items->items[i], text)) {
            *out = items->items[i];
            return EXIT_OK;
        }
    }
    for (uint32_t i = 0; i < items->len; i++) {
        if (begins_with(items->items[i], text)) {
            *out = items->items[i];
            if (found < NAMES_SHOWN) {
                buf_put_format(&names, "%s%" STR_FMT, found > 0 ? ", " : "",
                               STR_ARG(object_name(*out)));
            }
            found++;
        }
    }
    if (found == 1) {
        return EXIT_OK;
    }
    bool is_word = str_eq(text, STR("current")) || str_eq(text, STR("previous"));
    return found > 1
               ? fail(invocation, ERROR_INVALID, ref,
                      arena_format(invocation->arena, "matches several versions: %" STR_FMT "%s",
                                   STR_ARG(buf_str(&names)), found > NAMES_SHOWN ? ", ..." : "")
                          .data)
           : is_word ? fail(invocation, ERROR_NOT_FOUND, ref, "version does not exist yet")
                     : fail(invocation, ERROR_NOT_FOUND, ref,
                            "is not a version; 'eden versions' lists all of them");
}

/* --- Requests --------------------------------------------------------------------------------- */

int version_activate_at(Invocation *invocation, Str name, Value pin, bool run, Value *out)
{
    Arena *arena = invocation->arena;
    Map *body = map_new(arena, 2);
    if (!value_is_missing(pin)) {
        map_set_str(arena, body, STR("pin"), pin);
    }
    map_set_str(arena, body, STR("run"), value_bool(run));
    return cluster_call(
        invocation,
        &(ClusterRequest){ .method = "POST",
                           .target = cluster_target_with(arena, "/v1/versions/", name, "/activate"),
                           .body = cluster_body(arena, value_map(body)) },
        out);
}

/* The run was created when the version became current, or later. Times in this format can be
 * compared as strings. */
static bool is_run_of_version(Value run, Value version)
{
    Value status = object_status(run);
    return str_eq(value_get_text(value_get_map(run, "spec"), "version"), object_name(version)) &&
           str_eq_c(value_get_text(status, "cause"), "version") &&
           str_compare(value_get_text(status, "created"),
                       value_get_text(object_status(version), "since")) >= 0;
}

Str version_newest_run(const Invocation *invocation)
{
    ClusterRequest request = { .method = "GET", .target = STR("/v1/runs?limit=1") };
    Value list;
    bool responded;
    Error ignored;
    return cluster_send(invocation, &request, &list, &responded, &ignored) &&
                   object_items(list)->len > 0
               ? object_name(object_items(list)->items[0])
               : STR_EMPTY;
}

int version_run_watch(Invocation *invocation, Value version, bool is_new, Str after)
{
    int64_t end_us = clock_monotonic_us() + (is_new ? (int64_t)RUN_WAIT_MS * 1000 : 0);
    for (;;) {
        Value list;
        int code = cluster_call(
            invocation,
            &(ClusterRequest){
                .method = "GET",
                .target = arena_format(invocation->arena, "/v1/runs?limit=%d", RUNS_LISTED) },
            &list);
        if (code != EXIT_OK) {
            return code;
        }
        const List *runs = object_items(list);
        for (uint32_t i = 0; i < runs->len; i++) {
            if (is_run_of_version(runs->items[i], version) &&
                str_compare(object_name(runs->items[i]), after) > 0) {
                return fleet_run_watch(invocation, runs->items[i]);
            }
        }
        if (clock_monotonic_us() >= end_us) {
            break;
        }
        (void)clock_sleep_ms(RUN_POLL_MS, NULL);
    }
    output_line(invocation->err,
                "version %" STR_FMT " is current, but no run applies it; 'eden run' creates one",
                STR_ARG(object_name(version)));
    return is_new ? EXIT_TIMED_OUT : EXIT_NOT_MATCHED;
}

int version_manifest(Invocation *invocation, Value version, Manifest *out)
{
    Arena *arena = invocation->arena;
    Str target = cluster_target_with(arena, "/v1/versions/", object_name(version), "/manifest");
    ClusterRequest request = { .method = "GET",
                               .target = target,
                               .response_max = BLOB_MANIFEST_MAX };
    ClusterResponse response;
    ClusterRefusal refusal = { .target = target, .response = value_null() };
    Error err;
    if (!cluster_exchange(invocation, &request, NULL, &response, &err)) {
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    if (response.status >= 300) {
        refusal.responded = true;
        (void)!cluster_response_read(arena, &response, &refusal.response, &err);
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    return manifest_read(arena, response.body, out, &err)
               ? EXIT_OK
               : daemon_command_fail(invocation, "E0882", &err);
}
