"""Random data for templates: contexts, and literals of the same types.

Types are plain strings: "int", "float", "str", "bool", "none", "record" (a map with `name`, `n`,
`tags` and sometimes `opt`), "node" (a tree of `v` and `c`), "map" (string to int), and "list:T"
for a list of T. A value may be empty, so edge cases occur naturally.
"""

import json

NASTY = [
    "", " ", "a", "abc", "Hello World", "it's", 'say "hi"', "<b>&amp;</b>", "a & b < c > d",
    "  padded  ", "two\nlines", "tab\there", "ünïcödé", "straße", "日本語", "smile 😀", "42", "-7",
    "3.5", "0x1f", "1e3", "True", "none", "a,b,,c", "key=value", "path/to/file.txt", "UPPER lower",
    "foo-bar_baz", "x" * 30, "the quick brown fox jumps over the lazy dog", "{{ no }}", "{% no %}",
    "back\\slash", "100%", "a\r\nb", "\u00a0nbsp\u00a0", "www.example.org", "mail@example.org",
    "see http://example.org/a?b=c&d=e.", "<p class='x'>para</p> <br/>", "%s and %d", "ÀÉÎ õü", "ǅ",
    "one  two   three", "a.b.c", "#hash", "$dollar", "'", '"', "\\", "&lt;", "ab\x7fcd", "e\u0301",
    "\u200bzero", "CamelCaseWord", "line1\n\nline3\n", "-", "0", "00012", "1_000", "١٢",
]
WORDS = ["alpha", "beta", "Gamma", "delta", "Echo", "foxtrot", "golf", "Ωmega", "zulu", "Alpha"]
FLOATS = [0.0, 0.5, 1.0, -1.5, 2.25, 3.14159, 100.0, 0.1, 1e-7, 1e16, 12345.678, -0.001, 2.5, 3.5,
          0.30000000000000004, 1234567.0]
KEYS = ["alpha", "beta", "gamma", "x", "y", "Zed", "item key"]


def small_int(rng):
    return rng.choice([0, 1, 2, 3, 5, 7, 10, 13, -1, -2, -5, 20, 30])


def text(rng):
    if rng.random() < 0.5:
        return rng.choice(NASTY)
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))


def record(rng):
    value = {
        "name": rng.choice(WORDS),
        "n": small_int(rng),
        "tags": [rng.choice(WORDS).lower() for _ in range(rng.randint(0, 3))],
    }
    if rng.random() < 0.3:
        value["opt"] = text(rng)
    return value


def node(rng, depth):
    children = rng.randint(0, 3) if depth else 0
    return {"v": rng.choice(WORDS), "c": [node(rng, depth - 1) for _ in range(children)]}


def value(rng, kind):
    """A random JSON value of the type."""
    if kind == "int":
        return small_int(rng) if rng.random() < 0.9 else rng.choice([255, 1000, 65536, 10**9])
    if kind == "float":
        return rng.choice(FLOATS)
    if kind == "str":
        return text(rng)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "none":
        return None
    if kind == "record":
        return record(rng)
    if kind == "node":
        return node(rng, 2)
    if kind == "map":
        keys = rng.sample(KEYS, rng.randint(0, 4))
        return {key: small_int(rng) for key in keys}
    if kind == "any":
        return value(rng, rng.choice(["int", "float", "str", "bool", "none", "list:int", "map"]))
    if kind == "changing list":
        return [small_int(rng)]
    if kind == "changing map":
        return {"alpha": small_int(rng)}
    if kind.startswith("list:"):
        return [value(rng, kind[5:]) for _ in range(rng.choice([0, 1, 2, 3, 3, 4, 5]))]
    raise AssertionError(kind)


# Every context has these names; the expression generator relies on their types.
CONTEXT = {
    "i": "int", "j": "int", "k": "int",
    "f": "float", "g": "float",
    "s": "str", "t": "str", "w": "str",
    "yes": "bool", "maybe": "bool",
    "nothing": "none",
    "li": "list:int", "lf": "list:float", "ls": "list:str", "la": "list:any", "lr": "list:record",
    "ll": "list:list:int",
    "tree": "list:node",
    "rec": "record",
    "m": "map",
    # Changed by `do`, so never looped over: the types keep them out of other expressions.
    "acc": "changing list", "tab": "changing map",
}


def context(rng):
    return {name: value(rng, kind) for name, kind in CONTEXT.items()}


def quoted(rng, content):
    """A string literal of the template language for any text."""
    if rng.random() < 0.5:
        body = json.dumps(content, ensure_ascii=rng.random() < 0.3)
        # Python decodes surrogate pairs separately, JSON together: keep such text unescaped.
        return body if "\\u" not in body else json.dumps(content, ensure_ascii=False)
    body = content.replace("\\", "\\\\").replace("'", "\\'").replace("\r", "\\r")
    return "'" + body.replace("\n", "\\n") + "'"


def literal(rng, kind):
    """Source text of a random literal of the type."""
    if kind == "int":
        number = small_int(rng)
        if number < 0:
            return f"({number})"
        return rng.choice([str(number), str(number), str(number), hex(number), f"{number:_}"])
    if kind == "float":
        return rng.choice(["0.5", "1.5", "2.0", "1e3", "0.1", "3.25", "2.675", "1e-5", "10.0"])
    if kind == "str":
        return quoted(rng, text(rng))
    if kind == "bool":
        return rng.choice(["true", "false", "True", "False"])
    if kind == "none":
        return rng.choice(["none", "None"])
    if kind == "record":
        return "{'name': %s, 'n': %s, 'tags': []}" % (literal(rng, "str"), literal(rng, "int"))
    if kind == "node":
        return "{'v': %s, 'c': []}" % literal(rng, "str")
    if kind == "map":
        keys = rng.sample(KEYS, rng.randint(0, 3))
        return "{%s}" % ", ".join(f"{quoted(rng, key)}: {literal(rng, 'int')}" for key in keys)
    if kind == "any":
        return literal(rng, rng.choice(["int", "float", "str", "bool", "none"]))
    if kind.startswith("list:"):
        items = [literal(rng, kind[5:]) for _ in range(rng.randint(0, 4))]
        return "[%s]" % ", ".join(items)
    raise AssertionError(kind)
