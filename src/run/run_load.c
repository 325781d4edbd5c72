/* Loading: from a path to a graph of steps. Changes nothing. */
#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"
#include "facts/facts.h"
#include "model/document_location.h"
#include "run/cluster_view.h"
#include "run/node_paths.h"
#include "run/record.h"
#include "run/run_inner.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/sha256.h"

static void add_error(Run *run, const char *code, const Error *err)
{
    problems_add(run->problems, code, NULL, 0, 0, "%s", err->text);
}

static bool load_facts(Run *run)
{
    Error err;
    FactSources sources;
    if (!fact_sources_open(run->config.root, &sources, &err)) {
        add_error(run, "E0714", &err);
        return false;
    }
    run->facts = facts_collect(&sources, run->arena, NULL, 0, run->problems);
    fact_sources_close(&sources);
    value_freeze(run->facts);
    return true;
}

/* The last component of a path; empty for "/". */
static Str directory_name(Str path)
{
    while (path.len > 1 && str_ends(path, STR("/"))) {
        path.len--;
    }
    size_t slash = str_find_last(path, STR("/"));
    return slash == STR_NOT_FOUND ? path : str_from_offset(path, slash + 1);
}

static bool load_site(Run *run)
{
    Error err;
    Str file;
    if (!site_files_open(run->arena, run->config.path, &run->files, &file, &err)) {
        add_error(run, "E0001", &err);
        return false;
    }
    run->home = file_absolute(run->arena, run->config.path);
    TemplateSettings settings = dynamic_template_settings();
    settings.load = site_files_load_template;
    settings.load_context = run->files;
    settings.secrets = secrets_sink(run->secrets);
    settings.now = clock_now_seconds();
    settings.seed = random_seed();
    run->templates = templates_new(&settings);
    renders_init(&run->renders, &settings.limits);
    SiteReader reader = site_files_reader(run->files);
    extensions_load(run->arena, &reader, run->config.trust, true, run->config.modules,
                    &run->extensions);
    run->config.modules = run->extensions.table;
    SiteLoad load = { .arena = run->arena,
                      .sources = run->sources,
                      .templates = run->templates,
                      .modules = run->config.modules,
                      .reader = reader,
                      .facts = fact_names(run->arena),
                      .problems = run->problems };
    if (file.len > 0) {
        return site_load_file(&load, file, &run->site);
    }
    bool ok = site_load(&load, &run->site);
    Str name = site_name(run->site);
    run->name = name.len > 0 ? name : directory_name(run->home);
    return ok;
}

static bool load_node(Run *run)
{
    const RunConfig *config = &run->config;
    NodeOptions options = { .etc = config->etc,
                            .state = config->state,
                            .home = node_home_path(run->arena, config->root),
                            .name = config->node,
                            .labels = config->labels,
                            .label_count = config->label_count,
                            .facts = run->facts };
    return node_load(run->arena, run->sources, &options, &run->node, run->problems);
}

static bool would_change(const Run *run, uint32_t step)
{
    const StepReport *report = run_result_of(run, step);
    return report != NULL && (report->status.changed || report->status.result == RESULT_CHANGED ||
                              report->status.result == RESULT_UNKNOWN);
}

/* Whether the current step runs after one that would change something: in mode `ansible`, all
 * finished steps precede it; in the other modes, those that it depends on. */
static bool follows_change(const Run *run)
{
    const Graph *graph = run->graph;
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    bool *seen = ARENA_ARRAY(&scratch, bool, graph->steps.count);
    VEC(uint32_t) queue = { 0 };
    memset(seen, 0, graph->steps.count * sizeof *seen);
    seen[run->now.current_step] = true;
    VEC_PUSH(&scratch, &queue, run->now.current_step);
    for (uint32_t i = 0; i < queue.len; i++) {
        Edges edges = graph_edges(graph, queue.items[i]);
        for (uint32_t k = 0; k < edges.count; k++) {
            uint32_t to = edges.items[k].to;
            if (!seen[to] && would_change(run, to)) {
                return true;
            }
            if (!seen[to]) {
                seen[to] = true;
                VEC_PUSH(&scratch, &queue, to);
            }
        }
    }
    for (uint32_t i = 0; run->config.order == MODE_ANSIBLE && i < graph->steps.count; i++) {
        if (would_change(run, i)) {
            return true;
        }
    }
    return false;
}

static bool ask(void *context, const Action *action, const Value *params, Arena *arena, Value *out,
                Error *err)
{
    Run *run = context;
    if (run->checking) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "machine queries are not evaluated before the run");
    }
    if (macro_query_host(run->host, action, params, arena, out, err)) {
        return true;
    }
    /* An earlier step may create what it looks for. */
    if (run->config.planning && run->now.executor != NULL && follows_change(run)) {
        err->kind = ERROR_UNAVAILABLE;
    }
    return false;
}

static bool load_cluster_view(Run *run, ScopeLoad *load)
{
    const RunConfig *config = &run->config;
    Map *servers;
    Error err;
    if (!cluster_view_servers(run->arena, config->servers, &run->node, &servers, &err) ||
        (config->event != NULL &&
         !cluster_view_events(run->arena, config->event, &load->event, &load->events, &err))) {
        add_error(run, "E0597", &err);
        return false;
    }
    load->servers = servers;
    return true;
}

static bool load_scope(Run *run)
{
    const RunConfig *config = &run->config;
    ScopeLoad load = { .arena = run->arena,
                       .sources = run->sources,
                       .templates = run->templates,
                       .problems = run->problems,
                       .renders = &run->renders,
                       .site = run->site,
                       .node = &run->node,
                       .run = config->id,
                       .version = EDEN_VERSION,
                       .modules = config->modules,
                       .ask = { run, ask },
                       .etc = config->etc,
                       .files = config->var_files,
                       .file_count = config->var_file_count,
                       .defines = config->defines,
                       .define_count = config->define_count,
                       .event = value_null(),
                       .events = value_null() };
    return load_cluster_view(run, &load) && scope_load(&load, &run->scope);
}

static int compare_paths(const void *a, const void *b)
{
    return str_compare(*(const Str *)a, *(const Str *)b);
}

/* For paths known only at run time, collects the constant prefix before the template. */
static void collect_late(Run *run, const Step *step)
{
    const StepSpec *spec = step->spec;
    const char *ids = spec->action == NULL ? NULL : action_id_params(spec->module, spec->action);
    for (uint32_t i = 0; ids != NULL && spec->action->params[i].name != NULL; i++) {
        const ParamSpec *param = &spec->action->params[i];
        if (param_is_path(param) && (spec->params_set >> i & 1) != 0 &&
            value_is_missing(step->values[i]) && id_params_include(ids, str_from_c(param->name)) &&
            value_is_string(spec->params[i]->value)) {
            Str text = value_str(spec->params[i]->value);
            size_t brace = str_find(text, STR("{"), 0);
            VEC_PUSH(run->arena, &run->late, str_slice(text, 0, brace));
        }
    }
}

/* The paths that steps claim, sorted. */
static void collect_claims(Run *run)
{
    VEC(Str) paths = { 0 };
    for (uint32_t i = 0; i < run->graph->steps.count; i++) {
        collect_late(run, &run->graph->steps.items[i]);
        const List *claims = run->graph->steps.items[i].claims;
        for (uint32_t j = 0; claims != NULL && j < claims->len; j++) {
            Str claim = value_str(claims->items[j]);
            if (str_starts(claim, STR("path:"))) {
                VEC_PUSH(run->arena, &paths, str_from_offset(claim, STR("path:").len));
            } else if (str_starts(claim, STR("fills:"))) {
                VEC_PUSH(run->arena, &run->filled, str_from_offset(claim, STR("fills:").len));
            }
        }
    }
    run->claimed = paths.items;
    run->claimed_count = paths.len;
    if (paths.len > 0) {
        qsort(paths.items, paths.len, sizeof(Str), compare_paths);
    }
}

bool run_is_claimed(const Run *run, Str path)
{
    /* Jobs left out of this run may manage other paths. */
    if (run->config.job_count > 0) {
        return true;
    }
    for (uint32_t i = 0; i < run->filled.len; i++) {
        Str above = run->filled.items[i];
        if (str_starts(path, above) && path.len > above.len && path.data[above.len] == '/') {
            return true;
        }
    }
    for (uint32_t i = 0; i < run->late.len; i++) {
        Str start = run->late.items[i];
        bool above = str_starts(start, path) && start.len > path.len && start.data[path.len] == '/';
        if (above || str_starts(path, start)) {
            return true;
        }
    }
    uint32_t first = SEARCH(run->claimed_count, at, str_compare(run->claimed[at], path) < 0);
    /* Paths that start with it follow it, but not contiguously: "/a", "/a-b", "/a/b". */
    for (uint32_t i = first; i < run->claimed_count && str_starts(run->claimed[i], path); i++) {
        Str claim = run->claimed[i];
        if (claim.len == path.len || claim.data[path.len] == '/') {
            return true;
        }
    }
    return false;
}

static DynamicOutcome evaluate_at_load(void *context, const Dynamic *dynamic, Value item,
                                       Arena *arena, Value *out, Problems *problems)
{
    return scope_evaluate_at_load(((Run *)context)->scope, dynamic, item, arena, out, problems);
}

static DynamicOutcome evaluate_early(void *context, const Dynamic *dynamic, Value item,
                                     Arena *arena, Value *out, Problems *problems)
{
    Run *run = context;
    run->checking = true;
    DynamicOutcome outcome =
        scope_evaluate_at_load(run->scope, dynamic, item, arena, out, problems);
    run->checking = false;
    return outcome;
}

/* A variable that does not render is reported before anything is changed, even if it is unused. One
 * that queries the machine is evaluated when a step uses it. */
static bool check_variables(Run *run)
{
    run->checking = true;
    bool ok = variables_check(scope_variables(run->scope));
    run->checking = false;
    return ok;
}

static bool load_steps(Run *run)
{
    Expansion expansion = { .subject = scope_subject(run->scope),
                            .evaluate = evaluate_at_load,
                            .evaluate_early = evaluate_early,
                            .context = run,
                            .only_jobs = run->config.jobs,
                            .only_job_count = run->config.job_count };
    bool ok = site_expand(run->site, &expansion, &run->steps);
    ok = site_check_names(run->site) && ok;
    if (run->steps.is_invalid) {
        graph_problems(run->arena, &run->steps, run->sources, run->problems);
        return false;
    }
    if (!ok || !graph_build(run->arena, &run->steps, run->sources, &run->graph, run->problems)) {
        return false;
    }
    collect_claims(run);
    /* The name of a resource may contain a secret, and edges are shown to users. */
    for (uint32_t i = 0; i < run->graph->edge_count; i++) {
        Edge *edge = &run->graph->edges[i];
        edge->detail = secrets_scrub(run->secrets, edge->detail, run->arena);
    }
    return true;
}

/* Whether all parameters are constant, so that there is nothing to check. */
static bool is_constant(const Step *step)
{
    const StepSpec *spec = step->spec;
    for (uint32_t i = 0; spec->action->params[i].name != NULL; i++) {
        ParamKind kind = spec->action->params[i].kind;
        bool given = (spec->params_set >> i & 1) != 0;
        if (given && (kind == PARAM_SITE_FILE || kind == PARAM_SITE_TEMPLATE ||
                      !dynamic_is_constant(spec->params[i]))) {
            return false;
        }
    }
    return true;
}

/* Whether the step's own condition is known to let it run. False if it cannot be evaluated;
 * conditions of the job are not considered. */
static bool check_when(Run *run, const Step *step, Arena *arena, bool *wanted, Problems *found)
{
    const Condition *when = step->spec->when;
    *wanted = step->spec->job->gate_count == 0;
    if (!*wanted || !when->is_set) {
        return true;
    }
    Value answer;
    DynamicOutcome outcome =
        scope_evaluate(run->scope, step->index, &when->test, false, arena, &answer, found);
    *wanted = outcome == DYNAMIC_OK && value_is_true(answer);
    if (outcome == DYNAMIC_OK && scope_is_negative_text(answer)) {
        document_problem(found, run->sources, SEVERITY_ERROR, "E0607", when->test.value,
                         "the condition evaluates to the string '%" STR_FMT
                         "', which counts as true",
                         STR_ARG(value_str(answer)))
            ->hint = STR("write true or false where it is set, or use '| bool' here");
        return false;
    }
    return outcome != DYNAMIC_FAILED;
}

/* Registers values that steps mark as secret in their own text: they may be on a line that the
 * error of another step shows. */
static void find_written_secrets(Run *run, const Dynamic *written)
{
    const Value *value = &written->value;
    if (dynamic_is_constant(written)) {
        secrets_add(run->secrets, *value);
        return;
    }
    uint32_t count = written->children == NULL      ? 0
                     : written->kind == DYNAMIC_MAP ? value->map->len
                                                    : value->list->len;
    for (uint32_t i = 0; i < count; i++) {
        find_written_secrets(run, &written->children[i]);
    }
}

static void find_step_secrets(Run *run)
{
    for (uint32_t i = 0; i < run->steps.count; i++) {
        const StepSpec *spec = run->steps.items[i].spec;
        find_written_secrets(run, &spec->for_each);
        for (uint32_t k = 0; spec->action->params[k].name != NULL; k++) {
            if ((spec->params_set >> k & 1) != 0) {
                find_written_secrets(run, spec->params[k]);
            }
        }
    }
}

/* Evaluates everything that is known before the run, so that a failing template is reported before
 * anything is changed. Templates that need results of steps or queries are evaluated during the
 * run, and so are steps that a condition may skip. */
static bool check_templates(Run *run)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Steps *steps = run->graph == NULL ? &run->steps : &run->graph->steps;
    scope_set_run(run->scope, steps, NULL, true);
    run->checking = true;
    bool ok = true;
    ArenaMark mark = arena_mark(&arena);
    Problems found;
    problems_init(&found, run->arena);
    for (uint32_t i = 0; i < steps->count; i++) {
        const Step *step = &steps->items[i];
        bool wanted;
        ok = check_when(run, step, &arena, &wanted, &found) && ok;
        if (wanted && !is_constant(step)) {
            Value params[ACTION_PARAMS_MAX];
            ok = run_params(run, step, &arena, params, &found) != DYNAMIC_FAILED && ok;
        }
        arena_release(&arena, mark);
    }
    run->checking = false;
    problems_merge(run->problems, &found);
    return ok;
}

static bool load_host(Run *run)
{
    Error err;
    if (!host_open(run->config.root, &run->host, &err)) {
        add_error(run, "E0714", &err);
        return false;
    }
    return true;
}

bool run_load(Arena *arena, const RunConfig *config, Sources *sources, Problems *problems,
              Run **out)
{
    Run *run = ARENA_NEW(arena, Run);
    run->config = *config;
    if (config->id.len == 0) {
        run->config.id = run_id_make(arena);
    }
    run->arena = arena;
    run->sources = sources;
    run->problems = problems;
    run->secrets = secrets_new();
    *out = run;
    if (!load_host(run) || !load_facts(run)) {
        return false;
    }
    /* All problems are reported together, before anything is changed, including variables that do
     * not render, even if unused. */
    bool ok = load_site(run);
    if (run->site == NULL || !load_node(run)) {
        return false;
    }
    ok = load_scope(run) && check_variables(run) && ok;
    ok = load_steps(run) && ok;
    find_step_secrets(run);
    ok = check_templates(run) && ok;
    extensions_warn(&run->extensions, run->problems);
    for (uint32_t i = 0; i < problems->count; i++) {
        secrets_scrub_problem(run->secrets, &problems->items[i], arena);
    }
    return ok;
}

void run_free(Run *run)
{
    if (run == NULL) {
        return;
    }
    executor_free(run->now.executor);
    provisions_free(run->now.provisions);
    secrets_free(run->secrets);
    renders_clear(&run->renders);
    templates_free(run->templates);
    extensions_close(&run->extensions);
    host_close(run->host);
}

bool run_lacks_step(Run *run, Str id)
{
    if (run->ids.arena == NULL) {
        str_map_init(&run->ids, run->arena);
        for (uint32_t i = 0; i < run->steps.count; i++) {
            str_map_put(&run->ids, run->steps.items[i].id, NULL);
        }
    }
    return !str_map_has(&run->ids, id);
}

bool run_variable_is_secret(Run *run, Str name)
{
    uint32_t count;
    const VariableLayer *layers = variables_layers(scope_variables(run->scope), &count);
    for (uint32_t i = 0; i < count; i++) {
        const Value *value = value_get(layers[i].document, name);
        if (value != NULL && value_holds_secret(*value)) {
            return true;
        }
    }
    return false;
}

const RunConfig *run_config(const Run *run)
{
    return &run->config;
}

const Graph *run_graph(const Run *run)
{
    return run->graph;
}

const Steps *run_steps(const Run *run)
{
    return &run->graph->steps;
}

const Node *run_node(const Run *run)
{
    return &run->node;
}

Value run_site_files(const Run *run, Arena *arena)
{
    uint32_t count;
    const SiteFile *files = site_files_seen(run->files, &count);
    Map *map = map_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        Str hex = STR("missing");
        if (!files[i].missing) {
            char digits[SHA256_HEX + 1];
            sha256_hex(files[i].text, digits);
            hex = arena_copy(arena, str_from(digits, SHA256_HEX));
        }
        map_append(arena, map, value_string(files[i].path), value_string(hex));
    }
    return value_map(map);
}

Str run_site_digest(Run *run)
{
    if (run->digest.len > 0) {
        return run->digest;
    }
    const Map *files = run_site_files(run, run->arena).map;
    Buf list = buf_make_in(run->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < files->len; i++) {
        buf_put_format(&list, "%" STR_FMT " %" STR_FMT "\n",
                       STR_ARG(value_str(files->entries[i].value)),
                       STR_ARG(value_str(files->entries[i].key)));
    }
    char *hex = arena_alloc(run->arena, SHA256_HEX + 1);
    sha256_hex(buf_str(&list), hex);
    run->digest = str_from(hex, SHA256_HEX);
    return run->digest;
}

const StepReport *run_reports(const Run *run)
{
    return run->now.executor == NULL ? NULL : run_core_reports(executor_core(run->now.executor));
}

const StepReport *run_result_of(const Run *run, uint32_t step)
{
    const StepReport *reports = run_reports(run);
    return reports == NULL || reports[step].status.result == RESULT_PENDING ? NULL : &reports[step];
}

const RunReport *run_report(const Run *run)
{
    return run->now.report.items == NULL ? NULL : &run->now.report;
}
