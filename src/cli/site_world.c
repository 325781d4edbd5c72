#include "cli/site_world.h"

#include "facts/facts.h"
#include "modules/modules.h"
#include "run/node_paths.h"
#include "sys/clock.h"

static bool tell_error(SiteWorld *world, const Error *err)
{
    inputs_add_file_error(&world->inputs, err);
    return false;
}

static bool open_site(SiteWorld *world, const char *path)
{
    Arena *arena = world->invocation->arena;
    Str file;
    Error err;
    if (!host_open(invocation_text(world->invocation, "root"), &world->host, &err) ||
        !site_files_open(arena, path, &world->files, &file, &err)) {
        return tell_error(world, &err);
    }
    TemplateSettings settings = dynamic_template_settings();
    settings.load = site_files_load_template;
    settings.load_context = world->files;
    settings.now = clock_now_seconds();
    world->secrets = secrets_new();
    settings.secrets = secrets_sink(world->secrets);
    world->templates = templates_new(&settings);
    renders_init(&world->renders, &settings.limits);
    SiteReader reader = site_files_reader(world->files);
    const char *trust = node_trust_path(invocation_text(world->invocation, "config-dir"));
    extensions_load(arena, &reader, trust, true, modules, &world->extensions);
    SiteLoad load = { .arena = arena,
                      .sources = &world->inputs.sources,
                      .templates = world->templates,
                      .modules = world->extensions.table,
                      .reader = reader,
                      .problems = &world->inputs.problems };
    return file.len > 0 ? site_load_file(&load, file, &world->site)
                        : site_load(&load, &world->site);
}

static bool load_node(SiteWorld *world)
{
    const Invocation *invocation = world->invocation;
    FactWorld machine;
    Error err;
    const char *root = invocation_text(invocation, "root"), *state;
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"), root, &state,
                         &err) ||
        !node_config_path(invocation->arena, invocation_text(invocation, "config-dir"), root,
                          &world->config, &err) ||
        !fact_world_open(root, &machine, &err)) {
        return tell_error(world, &err);
    }
    NodeOptions options = { .etc = world->config,
                            .state = state,
                            .home = node_home_path(invocation->arena, root),
                            .name = invocation_text(invocation, "node"),
                            .facts = facts_collect(&machine, invocation->arena, NULL, 0,
                                                   &world->inputs.problems) };
    fact_world_close(&machine);
    options.labels = invocation_texts(invocation, "label", &options.label_count);
    return node_load(invocation->arena, &world->inputs.sources, &options, &world->node,
                     &world->inputs.problems);
}

static bool load_scope(SiteWorld *world)
{
    Invocation *invocation = world->invocation;
    ScopeLoad load = { .arena = invocation->arena,
                       .sources = &world->inputs.sources,
                       .templates = world->templates,
                       .problems = &world->inputs.problems,
                       .renders = &world->renders,
                       .site = world->site,
                       .node = &world->node,
                       .version = EDEN_VERSION,
                       .modules = world->extensions.table,
                       .ask = { world->host, macro_ask_host },
                       .etc = world->config };
    load.files = invocation_texts(invocation, "vars", &load.file_count);
    load.defines = invocation_texts(invocation, "define", &load.define_count);
    return scope_load(&load, &world->scope);
}

bool site_world_open(SiteWorld *world, Invocation *invocation, const char *path)
{
    *world = (SiteWorld){ .invocation = invocation };
    inputs_init(&world->inputs, invocation->arena);
    return open_site(world, path) && load_node(world) && load_scope(world);
}

int site_world_report(SiteWorld *world)
{
    Problems *problems = &world->inputs.problems;
    for (uint32_t i = 0; world->secrets != NULL && i < problems->count; i++) {
        secrets_scrub_problem(world->secrets, &problems->items[i], world->invocation->arena);
    }
    return inputs_report(&world->inputs, world->invocation);
}

void site_world_clear(SiteWorld *world)
{
    renders_clear(&world->renders);
    templates_free(world->templates);
    secrets_free(world->secrets);
    extensions_close(&world->extensions);
    host_close(world->host);
}
