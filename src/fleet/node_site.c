#include "fleet/node_site.h"

DEFINE_ENUM_NAMES(NodeSiteState,
                  node_site_state, [NODE_SITE_NONE] = "none", [NODE_SITE_CURRENT] = "current",
                  [NODE_SITE_OUTDATED] = "outdated", [NODE_SITE_PENDING] = "pending",
                  [NODE_SITE_FAILED] = "failed", [NODE_SITE_SKIPPED] = "skipped")

static bool applies_site(const FleetRun *run)
{
    return run->kind == RUN_KIND_APPLY && run->version[0] != '\0' && run->job_count == 0;
}

static bool is_applied(const RunTarget *target)
{
    return target->has_result && (target->outcome == NODE_OK || target->outcome == NODE_CHANGED);
}

static NodeSiteState state_of(const RunEntry *run, const RunTarget *target, Str current)
{
    if (is_applied(target)) {
        return str_eq_c(current, run->record.version) ? NODE_SITE_CURRENT : NODE_SITE_OUTDATED;
    }
    return !target->has_result || !node_outcome_is_final(target->outcome) ? NODE_SITE_PENDING
           : target->outcome == NODE_SKIPPED                              ? NODE_SITE_SKIPPED
                                                                          : NODE_SITE_FAILED;
}

/* A run that was canceled before it reached the node says nothing about it. */
static bool is_irrelevant(const RunEntry *run, const RunTarget *target)
{
    bool has_ended = run->record.state == RUN_ENDED && target->order_revision == 0;
    return target->has_result ? target->outcome == NODE_CANCELED : has_ended;
}

/* `*index` is where it was in another run: most runs have the same targets. */
static bool find_target(const RunEntry *run, Str node, uint32_t *index)
{
    uint32_t found;
    if (*index < run->record.target_count && str_eq(run->record.targets[*index], node)) {
        return true;
    }
    if (!run_entry_target(run, node, &found)) {
        return false;
    }
    *index = found;
    return true;
}

NodeSite node_site_find(const FleetRuns *runs, Str node, Str current)
{
    NodeSite site = { .state = NODE_SITE_NONE };
    uint32_t count = fleet_runs_count(runs), index = 0;
    for (uint32_t i = 0; i < count && site.version.len == 0; i++) {
        const RunEntry *run = fleet_runs_at(runs, i);
        if (!applies_site(&run->record) || !find_target(run, node, &index) ||
            is_irrelevant(run, &run->targets[index])) {
            continue;
        }
        const RunTarget *target = &run->targets[index];
        site.state = site.state == NODE_SITE_NONE ? state_of(run, target, current) : site.state;
        site.version = is_applied(target) ? str_from_c(run->record.version) : STR_EMPTY;
    }
    return site;
}
