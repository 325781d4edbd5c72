#include "cli/site_view.h"

#include "facts/facts.h"
#include "modules/modules.h"
#include "run/node_paths.h"
#include "sys/clock.h"

static bool report_error(SiteView *view, const Error *err)
{
    inputs_add_file_error(&view->inputs, err);
    return false;
}

static bool open_site(SiteView *view, const char *path)
{
    Arena *arena = view->invocation->arena;
    Str file;
    Error err;
    if (!host_open(invocation_text(view->invocation, "root"), &view->host, &err) ||
        !site_files_open(arena, path, &view->files, &file, &err)) {
        return report_error(view, &err);
    }
    TemplateSettings settings = dynamic_template_settings();
    settings.load = site_files_load_template;
    settings.load_context = view->files;
    settings.now = clock_now_seconds();
    view->secrets = secrets_new();
    settings.secrets = secrets_sink(view->secrets);
    view->templates = templates_new(&settings);
    renders_init(&view->renders, &settings.limits);
    SiteReader reader = site_files_reader(view->files);
    const char *trust = node_trust_path(invocation_text(view->invocation, "config-dir"));
    extensions_load(arena, &reader, trust, true, modules, &view->extensions);
    SiteLoad load = { .arena = arena,
                      .sources = &view->inputs.sources,
                      .templates = view->templates,
                      .modules = view->extensions.table,
                      .reader = reader,
                      .facts = fact_names(arena),
                      .problems = &view->inputs.problems };
    return file.len > 0 ? site_load_file(&load, file, &view->site) : site_load(&load, &view->site);
}

static bool load_node(SiteView *view)
{
    const Invocation *invocation = view->invocation;
    FactSources machine;
    Error err;
    const char *root = invocation_text(invocation, "root"), *state;
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"), root, &state,
                         &err) ||
        !node_config_path(invocation->arena, invocation_text(invocation, "config-dir"), root,
                          &view->config, &err) ||
        !fact_sources_open(root, &machine, &err)) {
        return report_error(view, &err);
    }
    NodeOptions options = { .etc = view->config,
                            .state = state,
                            .home = node_home_path(invocation->arena, root),
                            .name = invocation_text(invocation, "node"),
                            .facts = facts_collect(&machine, invocation->arena, NULL, 0,
                                                   &view->inputs.problems) };
    fact_sources_close(&machine);
    options.labels = invocation_texts(invocation, "label", &options.label_count);
    return node_load(invocation->arena, &view->inputs.sources, &options, &view->node,
                     &view->inputs.problems);
}

static bool load_scope(SiteView *view)
{
    Invocation *invocation = view->invocation;
    ScopeLoad load = { .arena = invocation->arena,
                       .sources = &view->inputs.sources,
                       .templates = view->templates,
                       .problems = &view->inputs.problems,
                       .renders = &view->renders,
                       .site = view->site,
                       .node = &view->node,
                       .version = EDEN_VERSION,
                       .modules = view->extensions.table,
                       .ask = { view->host, macro_query_host },
                       .etc = view->config };
    load.files = invocation_texts(invocation, "vars", &load.file_count);
    load.defines = invocation_texts(invocation, "define", &load.define_count);
    return scope_load(&load, &view->scope);
}

bool site_view_open(SiteView *view, Invocation *invocation, const char *path)
{
    *view = (SiteView){ .invocation = invocation };
    inputs_init(&view->inputs, invocation->arena);
    return open_site(view, path) && load_node(view) && load_scope(view);
}

int site_view_report(SiteView *view)
{
    Problems *problems = &view->inputs.problems;
    for (uint32_t i = 0; view->secrets != NULL && i < problems->count; i++) {
        secrets_scrub_problem(view->secrets, &problems->items[i], view->invocation->arena);
    }
    return inputs_report(&view->inputs, view->invocation);
}

void site_view_clear(SiteView *view)
{
    renders_clear(&view->renders);
    templates_free(view->templates);
    secrets_free(view->secrets);
    extensions_close(&view->extensions);
    host_close(view->host);
}
