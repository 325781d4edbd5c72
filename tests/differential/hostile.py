"""Operators, filters, tests and methods on values they were not made for.

Most of these fail; the class of the error must match Jinja2. Iterators are turned into lists,
because their printed form is an address. `value` is a name for one of the values.
"""

VALUES = ["value", "value", "value", "none", "true", "0", "7", "(-3)", "2.5", "''", "'abc'", "'a b'", "'12'", "[]", "[1, 2]",
          "['b', 'A']", "[[1], 'x']", "{}", "{'a': 1}", "(1, 'q')", "()", "undef", "range(3)",
          "'<i>'|safe", "rec.nope", "nothing", "la", "m", "lr", "false", "1e300", "'é'"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in",
             "not in", "and", "or"]
ARGUMENTS = ["", "", "", "1", "2", "'a'", "none", "true", "'n'", "2.5", "'x', 'y'", "undef",
             "1, 2", "-1"]
FILTERS = ["abs", "attr", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e",
           "escape", "filesizeformat", "first", "float", "forceescape", "groupby", "int",
           "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
           "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "slice",
           "sort", "string", "striptags", "sum", "title", "tojson", "trim", "truncate", "unique",
           "upper", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr", "format", "pprint"]
# These return an iterator for some values.
LAZY = {"batch", "items", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "slice",
        "unique"}
# These check their arguments early in eden, and late or never in Jinja2.
STRICT = {"urlize", "attr", "sort", "truncate", "unique", "wordwrap", "int",
          "tojson"}
TESTS = ["boolean", "callable", "defined", "divisibleby", "eq", "escaped", "even", "false",
         "filter", "float", "ge", "gt", "in", "integer", "iterable", "le", "lower", "lt", "mapping",
         "ne", "none", "number", "odd", "sequence", "string", "test", "true", "undefined",
         "upper"]
SUBSCRIPTS = ["0", "-1", "9", "1:", "::-1", "'a'", "none", "()", "2.5", "undef", "true"]
METHODS = ["upper", "split", "join", "replace", "get", "keys", "append", "index", "count", "strip",
           "startswith", "format", "pop", "items", "title", "center", "zfill", "find", "update",
           "splitlines", "partition", "extend", "insert", "copy", "nope"]


def expression(rng):
    value, other = rng.choice(VALUES), rng.choice(VALUES)
    sort = rng.randrange(9)
    if sort <= 1:
        operator = rng.choice(OPERATORS)
        if operator == "~":
            # A join of constants is folded without escaping.
            value = "value"
        if operator in ("*", "**"):
            # Small right operands avoid huge results; integer exponents avoid complex numbers.
            other = rng.choice(["0", "2", "none", "'a'", "undef", "[1]", "true", "(-1)"])
        return f"({value}) {operator} ({other})"
    if sort <= 4:
        name = rng.choice(FILTERS)
        arguments = "" if name in STRICT else rng.choice(ARGUMENTS)
        result = f"({value})|{name}({arguments})"
        return result + "|list" if name in LAZY else result
    if sort == 5:
        return f"({value}) is {rng.choice(TESTS)}({rng.choice(ARGUMENTS)})"
    if sort == 6:
        arguments = rng.choice([text for text in ARGUMENTS if text != "undef"])
        return f"({value}).{rng.choice(METHODS)}({arguments})"
    if sort == 7:
        # Jinja2 folds the slice of a constant into undefined, which is an error otherwise.
        return f"(value)[{rng.choice(SUBSCRIPTS)}]"
    return rng.choice([f"-({value})", f"not ({value})", f"range({value})|list", f"dict({value})",
                       f"({value})()", f"cycler({value}).next()", f"({value}) if ({other})",
                       f"{{({value})|string: 1}}", f"[*({value})]", f"namespace({value}).a"])


def statement(rng):
    value = rng.choice(VALUES)
    return rng.choice([
        "{%% for x in %s %%}{{ x }}{{ loop.length }}{%% endfor %%}",
        "{%% for a, b in %s %%}{{ a }}{{ b }}{%% endfor %%}",
        "{%% if %s %%}yes{%% else %%}no{%% endif %%}",
        "{%% set a, b = %s %%}{{ a }}{{ b }}",
        "{%% include " + rng.choice(["'abc'", "undef", "['b', 'A']", "[]", "rec.nope"]) + " %%}",
        "{%% extends " + rng.choice(["'abc'", "undef", "rec.nope"]) + " %%}",
        "{%% set x = %s %%}{%% set x.y = 1 %%}",
        "{%% filter replace(%s) %%}abc{%% endfilter %%}",
        "{%% macro t(a, b=2) %%}{{ a }}{{ b }}{%% endmacro %%}{{ t(%s) }}{{ t(*%s) }}{{ t(**{}) }}",
    ]).replace("%s", value).replace("%%", "%")


def template(rng):
    if rng.random() < 0.15:
        return statement(rng)
    return "{%% set value = %s %%}{{ %s }}" % (rng.choice(VALUES[3:]), expression(rng))
