"""Random cases: a template, its options and its context, from one seed.

`case(seed, index)` is deterministic. The parts come from a typed grammar (expressions.py,
statements.py) over random data (values.py); some are misuse (hostile.py).
"""

import random

import expressions
import hostile
import statements
import values

BROKEN = ["{{", "}}", "{%", "%}", "|", "(", ")", "[", "]", "'", '"', "{% endif %}", "{% else %}",
          "if", "in", "{#", "!", "..", "{% bogus %}", "{% endfor %}", "=", ",", "\\", "1a", "{{ }}"]


class CaseMaker:
    """One case; its templates share delimiters and context."""

    def __init__(self, rng):
        self.rng = rng
        self.options = {}
        self.loader = {}
        self.libraries = {}
        self.includes = []
        self.autoescape = rng.random() < 0.25
        self.delimiters = statements.Delimiters(0)
        self.line_prefix = None

    def choose_options(self):
        rng = self.rng
        for name, probability in (("trim_blocks", 0.3), ("lstrip_blocks", 0.3),
                                  ("keep_trailing_newline", 0.2)):
            if rng.random() < probability:
                self.options[name] = True
        if self.autoescape:
            self.options["autoescape"] = True
        if rng.random() < 0.12:
            self.options["undefined"] = rng.choice(
                ["StrictUndefined", "ChainableUndefined", "DebugUndefined", "Undefined",
                 "ChainableUndefined", "DebugUndefined"])
        if rng.random() < 0.03:
            self.options["newline_sequence"] = rng.choice(["\r\n", "\r"])
        if rng.random() < 0.06:
            self.options["globals"] = {"undef": rng.choice([5, "global", None])}
        if rng.random() < 0.07:
            self.delimiters = statements.Delimiters(rng.randint(1, 3))
            self.options.update(self.delimiters.options())
        elif rng.random() < 0.07:
            self.line_prefix = rng.choice(["@", "%%", "::"])
            self.options["line_statement_prefix"] = self.line_prefix
            if rng.random() < 0.5:
                self.options["line_comment_prefix"] = "@@" if self.line_prefix == "@" else "//"

    def writer(self, budget):
        expr = expressions.Expressions(self.rng, self.autoescape)
        writer = statements.Statements(
            self.rng, expr, self.delimiters, self.line_prefix, budget)
        writer.includes = self.includes
        writer.libraries = self.libraries
        return writer

    def make_library(self, name):
        writer = self.writer(4)
        parts = []
        while not writer.expr.macros:
            parts.append(writer.macro(2))
        parts.append(writer.tag("set value = " + writer.expr.make("int", 1)))
        parts.append(writer.tag("set _hidden = 1"))
        self.loader[name] = "".join(parts)
        self.libraries[name] = writer.expr.macros

    def make_include(self, name):
        self.loader[name] = self.writer(4).body(2, 2)
        self.includes.append(name)

    def make_parent(self, name, parent, blocks):
        """A template with blocks that may itself extend another one."""
        writer = self.writer(6)
        parts = [writer.tag(f"extends '{parent}'")] if parent else [writer.text()]
        for block in blocks:
            if parent and self.rng.random() < 0.4:
                continue
            scoped = self.rng.random() < 0.3
            head = f"block {block}" + (" scoped" if scoped else "")
            content = writer.inner(2)
            if parent and self.rng.random() < 0.6:
                content += writer.output(writer.expr.pick(
                    "super()", "super()|upper", "super()|trim"))
            end = writer.expr.pick("endblock", f"endblock {block}")
            chunk = writer.tag(head) + content + writer.tag(end)
            if scoped and not parent:
                chunk = writer.tag("for item in li") + chunk + writer.tag("endfor")
            parts.append(chunk)
            parts.append(writer.text())
            if not parent and self.rng.random() < 0.2:
                parts.append(writer.output(f"self.{block}()"))
        return "".join(parts)

    def make_template(self):
        rng = self.rng
        if rng.random() < 0.25:
            for number in range(rng.randint(1, 2)):
                self.make_include(f"inc{number}")
        if rng.random() < 0.25:
            self.make_library("lib0")
        if rng.random() < 0.13:
            blocks = ["one", "two", "three"][: rng.randint(1, 3)]
            self.loader["base"] = self.make_parent("base", None, blocks)
            parent = "base"
            if rng.random() < 0.5:
                self.loader["middle"] = self.make_parent("middle", "base", blocks)
                parent = "middle"
            return self.make_parent("main", parent, blocks)
        if rng.random() < 0.2:
            return self.make_expressions()
        writer = self.writer(rng.randint(3, 14))
        start = writer.import_library(2) if self.libraries and rng.random() < 0.6 else ""
        end = writer.include(2) if self.includes and rng.random() < 0.6 else ""
        return start + writer.body(3, rng.randint(1, 5)) + end

    def make_expressions(self):
        """Only a few deep expressions."""
        writer = self.writer(0)
        count = self.rng.randint(1, 3)
        return "\n".join(writer.output(writer.expr.printable(4)) for _ in range(count))

    def damage(self, template):
        """Breaks a template in one place: the error must be the same, on the same line."""
        place = self.rng.randint(0, len(template))
        if self.rng.random() < 0.5:
            return template[:place] + self.rng.choice(BROKEN) + template[place:]
        return template[:place] + template[place + self.rng.randint(1, 6):]


def hostile_case(rng):
    options = {"loader": {}}
    if rng.random() < 0.2:
        options["autoescape"] = True
    if rng.random() < 0.15:
        options["undefined"] = rng.choice(["StrictUndefined", "ChainableUndefined"])
    return {"template": hostile.template(rng), "options": options, "context": values.context(rng)}


def case(seed, index):
    """Case number `index` of a seed."""
    rng = random.Random(f"{seed}:{index}")
    if rng.random() < 0.05:
        return hostile_case(rng)
    maker = CaseMaker(rng)
    maker.choose_options()
    template = maker.make_template()
    if rng.random() < 0.05:
        template = maker.damage(template)
    if maker.loader:
        maker.options["loader"] = maker.loader
    return {"template": template, "options": maker.options, "context": values.context(rng)}
