/* Names of the machine. */
#include "facts/fact.h"

/* Reads the name from the kernel or, for a system that is not running, the first line of its
 * /etc/hostname. It may contain dots; empty if there is none. */
static bool host_name_read(const FactSources *sources, Arena *arena, Str *out, Error *err)
{
    if (sources->live) {
        *out = sources->host_name(arena);
        return true;
    }
    Str text, line;
    if (!fact_text(&sources->root, arena, "/etc/hostname", &text, err)) {
        return false;
    }
    *out = STR_EMPTY;
    while (out->len == 0 && str_split_next(&text, '\n', &line)) {
        line = str_trim(line);
        *out = str_starts(line, STR("#")) ? STR_EMPTY : line;
    }
    return true;
}

static bool read_name(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str name;
    if (!host_name_read(sources, arena, &name, err)) {
        return false;
    }
    *out = fact_string(str_slice(name, 0, str_find(name, STR("."), 0)));
    return true;
}

const Fact fact_name = {
    .name = "name",
    .help = "The host name without the domain.",
    .example = "\"web1\"",
    .read = read_name,
};

/* --- The full name ---------------------------------------------------------------------------- */

/* Only files are used: a DNS query could take seconds, and the result would depend on the
 * network. */

/* The first name with a dot on a line of /etc/hosts that also contains the host name. */
static Str find_in_hosts(Str text, Str name)
{
    for (Str line; str_split_next(&text, '\n', &line);) {
        line = str_slice(line, 0, str_find(line, STR("#"), 0));
        Str field, full = STR_EMPTY;
        bool has_host_name = false;
        (void)fact_next_field(&line, &field); /* the address */
        while (fact_next_field(&line, &field)) {
            has_host_name |= str_eq_ignore_case(field, name);
            if (full.len == 0 && str_starts(field, name) &&
                str_slice(field, name.len, name.len + 1).len == 1 && field.data[name.len] == '.') {
                full = field;
            }
        }
        if (full.len > 0 && has_host_name) {
            return full;
        }
    }
    return STR_EMPTY;
}

/* The value of `domain`, or the first word of `search`. */
static Str find_domain(Str text)
{
    Str search = STR_EMPTY;
    for (Str line; str_split_next(&text, '\n', &line);) {
        Str key, value;
        if (!fact_next_field(&line, &key) || !fact_next_field(&line, &value) ||
            str_eq_c(value, ".")) {
            continue;
        }
        if (str_eq_c(key, "domain")) {
            return value;
        }
        if (str_eq_c(key, "search") && search.len == 0) {
            search = value;
        }
    }
    return search;
}

static bool read_fqdn(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str name, hosts, resolver;
    if (!host_name_read(sources, arena, &name, err) ||
        !fact_text(&sources->root, arena, "/etc/hosts", &hosts, err) ||
        !fact_text(&sources->root, arena, "/etc/resolv.conf", &resolver, err)) {
        return false;
    }
    if (name.len > 0 && str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        Str full = find_in_hosts(hosts, name);
        Str domain = find_domain(resolver);
        if (full.len > 0) {
            name = full;
        } else if (domain.len > 0) {
            name = arena_format(arena, "%" STR_FMT ".%" STR_FMT, STR_ARG(name), STR_ARG(domain));
        }
    }
    *out = fact_string(name);
    return true;
}

const Fact fact_fqdn = {
    .name = "fqdn",
    .help = "The fully qualified name: from the host name, /etc/hosts or the domain in "
            "/etc/resolv.conf.",
    .example = "\"web1.example.net\"",
    .read = read_fqdn,
};
