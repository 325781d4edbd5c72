/* Documents in a site: YAML, bare or wrapped in `metadata:` and `spec:`. */
#pragma once

#include "model/fields.h"

typedef enum DocumentKind {
    DOCUMENT_DEFINED_KEYS, /* with defined keys: `spec` alone means that it is wrapped */
    /* with any keys (variables, macros): wrapped only if it has both, and nothing else */
    DOCUMENT_ANY_KEYS,
} DocumentKind;

/* Reads the file; `*out` is its content, null if it is empty. If only its metadata is invalid, the
 * content is returned nevertheless, so that callers can find further problems; on other failures it
 * is missing. If the file does not exist, sets `*missing`, or reports a problem at `reference` if
  * `missing` is NULL. `path` is relative to the site. */
bool document_read(const SiteLoad *load, Str path, DocumentKind kind, Value reference,
                   bool *missing, Value *out);
/* Reads a job file with invalid YAML, which document_read has reported, without the invalid items
 * of its list of steps, so that callers can check the others. Reports further invalid items.
 * Returns false if the invalid items cannot be separated. */
bool document_read_valid_items(const SiteLoad *load, Str path, DocumentKind kind, Value *out);
/* Whether there is an "x.yml" next to "x.yaml" or instead of it. Documents in a site have the
 * extension ".yaml"; ".yml" files are never read, and are reported where a document may have been
 * intended. */
bool document_has_yml(const SiteLoad *load, Str path);
/* Reports that the file does not exist, and suggests the nearest name. */
Problem *document_report_missing(const SiteLoad *load, Str path, Value reference);
/* Compiles a template in templates/, so that errors are reported before anything runs, once
 * each. */
bool document_check_template(const SiteLoad *load, Str name);
/* Checks that the templates that a template includes, imports or extends by name exist.
 * `document`: where it is written; null for a file in templates/. */
bool document_check_links(const SiteLoad *load, const Template *template, Value document);
/* Parses `metadata:`; `*name` is missing if it has none. */
bool document_metadata(const SiteLoad *load, Value metadata, Value *name);

/* Whether a name is a valid path under a directory of the site: no "..", no leading or double
 * '/'. */
bool document_is_name(Str name);
