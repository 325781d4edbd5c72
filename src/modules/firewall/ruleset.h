/* Formats firewall rules for nft. Pure.
 *
 * One table, which is replaced atomically. */
#pragma once

#include "base/error.h"
#include "lang/value.h"

enum {
    FIREWALL_RULES_MAX = 4096
};

typedef struct FirewallSpec {
    Str family, name; /* of the table: "inet", "eden" */
    bool drops;       /* packets that no rule matches */
    bool basics;      /* accept replies, loopback and ICMP before all rules */
    Value rules;      /* list of rules; missing or null: none */
    Str content;      /* rules in nft syntax, after `rules` */
    Str definitions;  /* additional content of the table */
} FirewallSpec;

/* Splits "inet eden"; if there is only a name, the family is inet. */
MUST_CHECK bool firewall_parse_table(Str text, FirewallSpec *out, Error *err);
/* Formats "table inet eden { ... }". nft syntax from the user is not parsed, but it cannot break
 * out of the enclosing braces. */
MUST_CHECK bool firewall_format(Arena *arena, const FirewallSpec *spec, Str *out, Error *err);
/* The script that replaces an existing table, if any, with `table`; empty: removes it. */
Str firewall_replace(Arena *arena, const FirewallSpec *spec, Str table);

/* The file that is loaded at boot. It also contains nft's listing of the table after it was last
 * loaded: nft prints rules in its own form, and external changes show only there. */
Str firewall_file(Arena *arena, Str script, Str listing);
/* Splits such a file into its parts. Returns false if it is not one. */
bool firewall_parse_file(Arena *arena, Str file, Str *script, Str *listing);
