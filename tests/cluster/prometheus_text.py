"""A strict parser of the Prometheus text format 0.0.4: anything unexpected is a failure."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?|[+-]Inf|NaN")
ESCAPES = {r"\"": '"', r"\\": "\\", r"\n": "\n"}
ENDINGS = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


class Family:
    def __init__(self, name, help_text, kind):
        self.name, self.help, self.kind = name, help_text, kind
        self.samples = {}  # (name, labels as a sorted tuple): value

    def value(self, **labels):
        return self.samples[self.name, tuple(sorted(labels.items()))]


def read_labels(text):
    labels = {}
    while text:
        found = LABEL.match(text)
        assert found, text
        name, value = found[1], re.sub(r'\\["\\n]', lambda one: ESCAPES[one[0]], found[2])
        assert name not in labels and not name.startswith("__"), text
        labels[name] = value
        text = text[found.end() :]
        assert not text or (text.startswith(",") and len(text) > 1), text
        text = text[1:]
    return labels


def read_sample(line, family):
    name = NAME.match(line)[0]
    assert name in [family.name + ending for ending in ENDINGS[family.kind]], line
    rest = line[len(name) :]
    labels = {}
    if rest.startswith("{"):
        inside, bracket, rest = rest[1:].rpartition("}")
        assert bracket, line
        labels = read_labels(inside)
    assert rest.startswith(" ") and NUMBER.fullmatch(rest[1:]), line
    key = name, tuple(sorted(labels.items()))
    assert key not in family.samples, f"twice: {line}"
    family.samples[key] = float(rest[1:])


def check_histogram(family):
    """For each label set: ordered buckets, the last one unbounded and equal to the count."""
    series = {}
    for (name, labels), value in family.samples.items():
        base = tuple(pair for pair in labels if pair[0] != "le")
        series.setdefault(base, {})[name, dict(labels).get("le")] = value
    for base, found in series.items():
        buckets = [(float(end), value) for (name, end), value in found.items() if end is not None]
        assert buckets == sorted(buckets), base
        counts = [value for _, value in buckets]
        assert counts == sorted(counts), base
        assert buckets[-1][0] == math.inf
        assert buckets[-1][1] == found[family.name + "_count", None]
        assert found[family.name + "_sum", None] >= 0


def read(text):
    """Families by name."""
    assert text.endswith("\n") and "\r" not in text
    families, lines, family = {}, text[:-1].split("\n"), None
    while lines:
        line = lines.pop(0)
        if line.startswith("# HELP "):
            name, _, help_text = line[7:].partition(" ")
            kind = re.fullmatch(f"# TYPE {name} (counter|gauge|histogram)", lines.pop(0))[1]
            assert NAME.fullmatch(name) and help_text and name not in families, line
            family = families[name] = Family(name, help_text, kind)
        else:
            read_sample(line, family)
    for family in families.values():
        assert family.samples, f"{family.name} has no samples"
        if family.kind == "histogram":
            check_histogram(family)
        if family.kind == "counter":
            assert family.name.endswith("_total")
            assert all(value >= 0 for value in family.samples.values())
    return families
