#include "run/provisions.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"

/* The name of a class, and what may provide its members besides a claim of the same class. */
typedef struct ClassRow {
    const char *name;
    const char *noun;          /* precedes its name; "": the name alone */
    const char *named_by_path; /* a file named "<this prefix><name>" provides it; NULL: none */
    const char *const *paths;  /* a file at or below one of these may provide it; NULL: none */
    const char *below; /* the file with its name in this directory provides it; NULL: none */
    const char *verb;  /* NULL: "provided" */
} ClassRow;

static const char *const source_paths[] = { "/etc/apt/",  "/etc/yum.repos.d/", "/etc/dnf/",
                                            "/etc/zypp/", "/etc/pacman",       NULL };

static const ClassRow class_rows[] = {
    { "path", "", NULL, NULL },
    { "device", "device ", NULL, NULL },
    { "program", "program ", "", NULL },
    { "unit", "unit ", "", NULL },
    { "package", "package ", NULL, source_paths },
    { "removal", "package ", NULL, NULL, .verb = "removed" },
    { "sysctl", "kernel setting ", NULL, NULL },
    { "kmod", "kernel module ", NULL, NULL },
    { "remote", "", NULL, NULL },
    { "filesystem", "file system type ", "mount.", NULL },
    { "timezone", "time zone ", NULL, NULL, "/usr/share/zoneinfo/" },
    { NULL, NULL, NULL, NULL },
};

typedef enum Provides {
    PROVIDES_NO,
    PROVIDES_MAYBE,
    PROVIDES,
} Provides;

struct Provisions {
    pthread_mutex_t lock;
    const Graph *graph;
    bool *nothing; /* indexed by step: it is settled and provides nothing */
};

Provisions *provisions_new(const Graph *graph)
{
    Provisions *provisions = memory_new(sizeof *provisions);
    pthread_mutex_init(&provisions->lock, NULL);
    provisions->graph = graph;
    provisions->nothing = memory_new(graph->steps.count + 1);
    return provisions;
}

void provisions_free(Provisions *provisions)
{
    if (provisions != NULL) {
        pthread_mutex_destroy(&provisions->lock);
        free(provisions->nothing);
        free(provisions);
    }
}

void provisions_settle(Provisions *provisions, uint32_t step, StepResult result)
{
    pthread_mutex_lock(&provisions->lock);
    provisions->nothing[step] = result != RESULT_CHANGED && result != RESULT_UNKNOWN &&
                                result != RESULT_WAITING && result != RESULT_PENDING;
    pthread_mutex_unlock(&provisions->lock);
}

static const ClassRow *find_class(const char *class)
{
    const ClassRow *row = class_rows;
    while (row->name != NULL && strcmp(row->name, class) != 0) {
        row++;
    }
    return row;
}

static Str without_slash(Str path)
{
    return path.len > 1 && str_ends(path, STR("/")) ? str_slice(path, 0, path.len - 1) : path;
}

static bool is_below(Str path, Str above)
{
    above = without_slash(above);
    return str_starts(path, above) && path.len > above.len &&
           (path.data[above.len] == '/' || str_eq(above, STR("/")));
}

/* For a step that manages the file or directory `path`. */
static Provides path_provides(Str path, const ClassRow *row, const char *class, Str name)
{
    path = without_slash(path);
    if (row->below != NULL) {
        Str below = str_from_c(row->below);
        return str_starts(path, below) && str_eq(str_from_offset(path, below.len), name)
                   ? PROVIDES
                   : PROVIDES_NO;
    }
    if (strcmp(class, "path") == 0 || strcmp(class, "device") == 0) {
        bool any_below = str_ends(name, STR("/"));
        return str_eq(path, without_slash(name)) || is_below(path, name)
                   ? (any_below && !str_eq(path, without_slash(name)) ? PROVIDES_MAYBE : PROVIDES)
                   : PROVIDES_NO;
    }
    size_t slash = str_find_last(path, STR("/"));
    if (row->named_by_path != NULL && slash != STR_NOT_FOUND) {
        Str file = str_from_offset(path, slash + 1), prefix = str_from_c(row->named_by_path);
        if (str_starts(file, prefix) && str_eq(str_from_offset(file, prefix.len), name)) {
            return PROVIDES;
        }
    }
    for (const char *const *at = row->paths; at != NULL && *at != NULL; at++) {
        if (str_starts(path, str_from_c(*at))) {
            return PROVIDES_MAYBE;
        }
    }
    return PROVIDES_NO;
}

/* "provides:*", "provides:user", "provides:path:/mnt/". */
static Provides claim_provides_class(Str declared, const char *class, Str name)
{
    size_t colon = str_find(declared, STR(":"), 0);
    if (str_eq(declared, STR("*")) || str_eq_c(declared, class)) {
        return PROVIDES_MAYBE;
    }
    if (colon == STR_NOT_FOUND || !str_eq_c(str_slice(declared, 0, colon), class)) {
        return PROVIDES_NO;
    }
    Str what = str_from_offset(declared, colon + 1);
    if (str_eq(what, name)) {
        return PROVIDES;
    }
    return str_ends(what, STR("/")) && is_below(name, what) ? PROVIDES_MAYBE : PROVIDES_NO;
}

static Provides claim_provides(Str claim, const char *class, Str name)
{
    const ClassRow *row = find_class(class);
    size_t colon = str_find(claim, STR(":"), 0);
    Str kind = str_slice(claim, 0, colon);
    Str rest = colon == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(claim, colon + 1);
    if (str_eq(kind, STR("provides"))) {
        return claim_provides_class(rest, class, name);
    }
    if (str_eq(kind, STR("fills"))) {
        Str directory = row->below == NULL ? name : str_from_c(row->below);
        return (strcmp(class, "path") == 0 || row->below != NULL) && is_below(directory, rest)
                   ? PROVIDES_MAYBE
                   : PROVIDES_NO;
    }
    if (str_eq(kind, STR("drops"))) {
        return strcmp(class, "removal") == 0 && str_starts(rest, STR("pkg:")) &&
                       str_eq(str_from_offset(rest, 4), name)
                   ? PROVIDES
                   : PROVIDES_NO;
    }
    if (str_eq(kind, STR("path"))) {
        return path_provides(rest, row, class, name);
    }
    return str_eq_c(kind, class) && str_eq(rest, name) ? PROVIDES : PROVIDES_NO;
}

/* Whether its resource becomes known only when it runs. */
static bool is_nameless(const Step *step)
{
    const StepSpec *spec = step->spec;
    const char *ids = action_id_params(spec->module, spec->action);
    for (uint32_t i = 0; spec->action->params[i].name != NULL; i++) {
        if ((spec->params_set >> i & 1) != 0 && value_is_missing(step->values[i]) &&
            id_params_include(ids, str_from_c(spec->action->params[i].name))) {
            return true;
        }
    }
    return false;
}

static Provides step_provides(const Step *step, const char *class, Str name)
{
    Provides best = is_nameless(step) ? PROVIDES_MAYBE : PROVIDES_NO;
    for (uint32_t i = 0; step->claims != NULL && i < step->claims->len; i++) {
        Provides provides = claim_provides(value_str(step->claims->items[i]), class, name);
        best = provides > best ? provides : best;
    }
    return best;
}

bool provisions_find(Provisions *provisions, uint32_t step, const char *class, Str name,
                     Arena *arena, Str *why)
{
    const Graph *graph = provisions->graph;
    const ClassRow *row = find_class(class);
    const Step *found = NULL;
    Provides best = PROVIDES_NO;
    pthread_mutex_lock(&provisions->lock);
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        if (provisions->nothing[i] || graph->position[i] >= graph->position[step]) {
            continue;
        }
        Provides provides = step_provides(graph_step(graph, i), class, name);
        if (provides > best || (provides != PROVIDES_NO && provides == best &&
                                graph->position[i] > graph->position[found->index])) {
            found = graph_step(graph, i);
            best = provides;
        }
    }
    pthread_mutex_unlock(&provisions->lock);
    if (found == NULL) {
        return false;
    }
    Buf noun = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&noun, row->name == NULL ? class : row->noun);
    buf_put_c(&noun, row->name == NULL ? " " : "");
    *why = arena_format(arena, "%" STR_FMT "'%" STR_FMT "' %s %s by step '%" STR_FMT "'",
                        STR_ARG(buf_str(&noun)), STR_ARG(without_slash(name)),
                        best == PROVIDES ? "is" : "may be",
                        row->verb == NULL ? "provided" : row->verb, STR_ARG(found->id));
    return true;
}
