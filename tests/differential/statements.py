"""Random template text: statements, output, comments and surrounding whitespace."""

import expressions
import values

TEXTS = [
    "", " ", "\n", "text", "  indented", "a line\n", "\n\n", "<li>", "</li>\n", "x = ", "; ", "\t",
    "it's", '"quoted"', "100 %", "a } b", "&amp;", "<b>bold</b>", "é日", "\r\n", "  \n  ", "$x", "|",
]
FRESH = {"int": "vi", "str": "vs", "bool": "vb", "float": "vf", "list:int": "vli",
         "list:str": "vls", "map": "vm"}


class Delimiters:
    """The six delimiters, and the options that declare them if they are not the defaults."""

    CHOICES = [
        ("{%", "%}", "{{", "}}", "{#", "#}"),
        ("<%", "%>", "${", "}", "<#", "#>"),
        ("<?", "?>", "<<", ">>", "<!--", "-->"),
        ("[%", "%]", "[[", "]]", "[#", "#]"),
    ]
    NAMES = ("block_start_string", "block_end_string", "variable_start_string",
             "variable_end_string", "comment_start_string", "comment_end_string")

    def __init__(self, index):
        self.all = self.CHOICES[index]
        (self.block_start, self.block_end, self.variable_start, self.variable_end,
         self.comment_start, self.comment_end) = self.all

    def options(self):
        if self.all == self.CHOICES[0]:
            return {}
        return dict(zip(self.NAMES, self.all))


class Statements:
    """Writes one template. `budget` limits its total number of statements."""

    def __init__(self, rng, expr, delimiters, line_prefix, budget):
        self.rng = rng
        self.expr = expr
        self.delimiters = delimiters
        self.line_prefix = line_prefix
        self.budget = budget
        self.fresh = 0
        self.includes = []
        self.libraries = {}
        self.top = True

    # Pieces ------------------------------------------------------------------------------------

    def tag(self, content):
        """A block tag with random whitespace control, or a line statement."""
        if self.line_prefix and self.rng.random() < 0.4:
            # Brackets may contain newlines in a line statement; a literal newline would end it.
            indent = self.expr.pick("", "  ")
            return f"\n{indent}{self.line_prefix} {content}\n"
        start = self.expr.pick("", "", "", "", "-", "+")
        end = self.expr.pick("", "", "", "", "-", "+")
        space = self.expr.pick(" ", " ", " ", "  ", "\n ")
        return (self.delimiters.block_start + start + " " + content + space + end
                + self.delimiters.block_end)

    def output(self, content):
        start = self.expr.pick("", "", "", "", "-")
        end = self.expr.pick("", "", "", "", "-")
        if self.rng.random() < 0.05:
            content = content.replace(", ", ",\n  ").replace(" + ", "\n+\t")
        return (self.delimiters.variable_start + start + " " + content + " " + end
                + self.delimiters.variable_end)

    def text(self):
        chunk = self.rng.choice(TEXTS)
        if self.rng.random() < 0.3:
            chunk += self.rng.choice(values.WORDS) + self.expr.pick("", " ", "\n")
        return chunk

    def fresh_name(self, kind):
        names = [name for name in self.expr.names(kind) if name.startswith(FRESH[kind])]
        if names and self.rng.random() < 0.3:
            return self.rng.choice(names)
        self.fresh += 1
        return FRESH[kind] + str(self.fresh)

    # Bodies ------------------------------------------------------------------------------------

    def body(self, depth, size=None):
        """A sequence of statements and text in the current scope."""
        parts = []
        for _ in range(size or self.rng.randint(1, 4)):
            parts.append(self.text())
            parts.append(self.statement(depth))
        parts.append(self.text())
        return "".join(parts)

    def inner(self, depth):
        """A body in its own scope."""
        self.expr.push()
        top, self.top = self.top, False
        result = self.body(depth - 1, self.rng.randint(1, 3))
        self.top = top
        self.expr.pop()
        return result

    def statement(self, depth):
        self.budget -= 1
        if depth <= 0 or self.budget <= 0 or self.rng.random() < 0.35:
            return self.output(self.expr.printable(self.rng.randint(1, 3)))
        makers = [
            (self.condition, 5), (self.loop, 6), (self.loop_over_pairs, 2),
            (self.recursive_loop, 1), (self.assignment, 4), (self.block_assignment, 2),
            (self.namespace, 2), (self.macro, 3), (self.call, 2), (self.filter_block, 2), (self.with_block, 2),
            (self.raw, 1), (self.comment, 2), (self.do, 1), (self.autoescape, 1),
            (self.include, 2), (self.import_library, 2), (self.cycler, 1), (self.block, 1),
            (self.loop_control, 2), (self.loop_exit, 4), (self.print_tag, 1),
        ]
        total = sum(weight for _, weight in makers)
        mark = self.rng.random() * total
        for maker, weight in makers:
            mark -= weight
            if mark < 0:
                return maker(depth)
        return ""

    # Statements --------------------------------------------------------------------------------

    def condition(self, depth):
        # An if opens no scope, but a branch may not run: its assignments are not relied upon.
        result = self.tag("if " + self.expr.make("bool", 2)) + self.inner(depth)
        if self.rng.random() < 0.35:
            result += self.tag("elif " + self.expr.make("bool", 2)) + self.inner(depth)
        if self.rng.random() < 0.5:
            result += self.tag("else") + self.inner(depth)
        return result + self.tag("endif")

    def loop_body(self, depth, bindings):
        self.expr.push()
        self.expr.loops += 1
        top, self.top = self.top, False
        for name, kind in bindings:
            self.expr.bind(name, kind)
        result = self.body(depth - 1, self.rng.randint(1, 3))
        self.top = top
        self.expr.loops -= 1
        self.expr.pop()
        return result

    def loop(self, depth):
        kind = self.expr.pick("int", "str", "int", "record", "any")
        self.fresh += 1
        name = f"x{self.fresh}"
        source = self.expr.make("list:" + kind, 2)
        if kind == "str" and self.rng.random() < 0.2:
            source = self.expr.make("str", 1)
        head = f"for {name} in {source}"
        if self.rng.random() < 0.25:
            self.expr.push()
            self.expr.bind(name, kind)
            loops, self.expr.loops = self.expr.loops, 0
            head += " if " + self.expr.make("bool", 2)
            self.expr.loops = loops
            self.expr.pop()
        result = self.tag(head) + self.loop_body(depth, [(name, kind)])
        if self.rng.random() < 0.3:
            result += self.tag("else") + self.inner(depth)
        return result + self.tag("endfor")

    def loop_over_pairs(self, depth):
        self.fresh += 1
        key, value = f"p{self.fresh}", f"q{self.fresh}"
        source, kinds = self.rng.choice([
            ("m.items()", ("str", "int")),
            ("m|dictsort", ("str", "int")),
            ("m|items", ("str", "int")),
            ("lr|groupby('n')", ("int", "list:record")),
            ("[(1, 'a'), (2, s)]", ("int", "str")),
            ("ls|batch(2, 'z')", ("str", "str")),
            ("kwargs.items()" if self.expr.in_macro else "m.items()", ("str", "int")),
        ])
        bindings = [(key, kinds[0]), (value, kinds[1])]
        result = self.tag(f"for {key}, {value} in {source}") + self.loop_body(depth, bindings)
        if self.rng.random() < 0.2:
            result += self.tag("else") + self.inner(depth)
        return result + self.tag("endfor")

    def recursive_loop(self, depth):
        self.fresh += 1
        name = f"t{self.fresh}"
        condition = self.expr.pick("", "", f" if {name}.v")
        result = self.tag(f"for {name} in tree{condition} recursive")
        result += self.output(
            self.expr.pick(f"{name}.v", "loop.depth", "loop.depth0", "loop.index"))
        result += self.loop_body(depth - 1, [(name, "node")])
        result += self.output(self.expr.pick(
            f"loop({name}.c)", f"loop({name}.c)|upper", f"loop({name}.c)|trim"))
        return result + self.tag("endfor")

    def loop_control(self, depth):
        """Pieces that only make sense inside a loop."""
        if not self.expr.loops:
            return self.loop(depth)
        return self.output(self.expr.pick(
            "loop.previtem", "loop.nextitem", "loop.previtem|default('-')",
            "loop.index ~ '/' ~ loop.length",
            "', ' if not loop.last", "loop.nextitem is defined", "loop.changed(s, i)",
            "loop.revindex0", "loop.cycle('odd', 'even')", "loop.first", "loop.last"))

    def loop_exit(self, depth):
        if not self.expr.loops:
            return self.condition(depth)
        return (self.tag("if " + self.expr.make("bool", 1)) + self.text()
                + self.tag(self.expr.pick("break", "continue")) + self.tag("endif"))

    def assignment(self, depth):
        kind = self.rng.choice(list(FRESH))
        if self.rng.random() < 0.15:
            first, second = self.fresh_name("int"), self.fresh_name("str")
            if first != second:
                value = "%s, %s" % (self.bounded("int"), self.bounded("str"))
                self.expr.bind(first, "int")
                self.expr.bind(second, "str")
                return self.tag(f"set {first}, {second} = {value}")
        name = self.fresh_name(kind)
        value = self.bounded(kind)
        self.expr.bind(name, kind)
        return self.tag(f"set {name} = {value}")

    def bounded(self, kind):
        """A value to store in a name: it must not grow from statement to statement."""
        value = self.expr.make(kind, 2)
        if kind == "int":
            return f"({value}) % 97"
        if kind == "float":
            return f"({value}) % 1e6"
        if kind == "str" or kind.startswith("list:"):
            return f"({value})[:20]"
        return value

    def block_assignment(self, depth):
        name = self.fresh_name("str")
        filters = self.expr.pick("", "", " | upper", " | trim | replace('a', 'b')",
                                 " | length | string")
        result = self.tag(f"set {name}{filters}") + self.inner(depth) + self.tag("endset")
        result += self.tag(f"set {name} = {name}[:40]")
        self.expr.bind(name, "str")
        return result

    def namespace(self, depth):
        self.fresh += 1
        name = f"ns{self.fresh}"
        result = self.tag(f"set {name} = namespace(n=0, text='', seen=[])")
        self.fresh += 1
        item = f"x{self.fresh}"
        result += self.tag(f"for {item} in li")
        result += self.tag(f"set {name}.n = {name}.n + {item}")
        if self.rng.random() < 0.5:
            result += self.tag(f"set {name}.text = {name}.text ~ {item}")
        if self.rng.random() < 0.3:
            result += self.tag(f"do {name}.seen.append({item} * 2)")
        if self.rng.random() < 0.3:
            result += self.tag(f"set {name}.text") + f"<{item}>" + self.tag("endset")
        result += self.tag("endfor")
        return result + self.output(self.expr.pick(
            f"{name}.n", f"{name}.text", f"{name}.seen", f"{name}.nope", f"{name}['n'] + 1"))

    def macro(self, depth):
        self.fresh += 1
        name = f"mac{self.fresh}"
        parameters = []
        for number in range(self.rng.randint(0, 3)):
            parameters.append((f"a{number}", self.expr.pick("int", "str", "str", "list:int")))
        first_default = self.rng.randint(0, len(parameters))
        signature = ", ".join(
            parameter if position < first_default
            else f"{parameter}={self.expr.make(kind, 1)}"
            for position, (parameter, kind) in enumerate(parameters))
        self.expr.push()
        loops, self.expr.loops = self.expr.loops, 0
        in_macro, self.expr.in_macro = self.expr.in_macro, True
        top, self.top = self.top, False
        for parameter, kind in parameters:
            # A parameter without a value is undefined; text shows that without an error.
            self.expr.bind(parameter, kind if kind != "int" else "any")
        varargs = self.rng.random() < 0.3
        kwargs = self.rng.random() < 0.3
        caller = self.rng.random() < 0.3
        content = self.body(depth - 1, self.rng.randint(1, 2))
        content += self.output("varargs") if varargs else ""
        content += self.output("kwargs") if kwargs else ""
        content += self.output("caller() if caller else '-'") if caller else ""
        self.top = top
        self.expr.in_macro = in_macro
        self.expr.loops = loops
        self.expr.pop()
        result = self.tag(f"macro {name}({signature})") + content + self.tag("endmacro")
        entry = (name, parameters, varargs or "varargs" in content, kwargs or "kwargs" in content)
        result += self.output(self.call_of(entry))
        if self.top:
            # Only macros at the top are visible to everything that follows.
            self.expr.macros.append(entry)
        return result

    def call_of(self, entry):
        macros, self.expr.macros = self.expr.macros, [entry]
        result = self.expr.macro_call(1)
        self.expr.macros = macros
        return result

    def call(self, depth):
        self.fresh += 1
        name = f"box{self.fresh}"
        takes = self.rng.random() < 0.5
        use = "caller(a0, 1)" if takes else "caller()"
        body = self.expr.pick(
            self.output(use), self.output(use) + self.output(use),
            self.tag("for c in [1, 2]") + self.output(use) + self.tag("endfor"),
            "<" + self.output("a0") + ":" + self.output(use + "|upper") + ">")
        result = self.tag(f"macro {name}(a0)") + body + self.tag("endmacro")
        self.expr.push()
        head = "call"
        if takes:
            self.expr.bind("u", "any")
            head = self.expr.pick("call(u, v)", "call(u, v=2)", "call(u, v, w=s)")
        loops, self.expr.loops = self.expr.loops, 0
        top, self.top = self.top, False
        content = self.body(depth - 1, 1)
        self.top = top
        self.expr.loops = loops
        self.expr.pop()
        argument = self.expr.printable(1)
        return result + self.tag(f"{head} {name}({argument})") + content + self.tag("endcall")

    def filter_block(self, depth):
        filters = self.expr.pick("upper", "lower", "trim", "replace('a', 'o')", "indent(2)",
                                 "title", "upper|replace('A', 'b')", "e", "truncate(20, true)",
                                 "center(30)", "striptags", "capitalize", "reverse")
        return self.tag("filter " + filters) + self.inner(depth) + self.tag("endfilter")

    def with_block(self, depth):
        self.fresh += 1
        first, second = f"w{self.fresh}a", f"w{self.fresh}b"
        head = f"with {first} = {self.expr.make('int', 1)}, {second} = {self.expr.make('str', 1)}"
        self.expr.push()
        self.expr.bind(first, "int")
        self.expr.bind(second, "str")
        top, self.top = self.top, False
        content = self.body(depth - 1, self.rng.randint(1, 2))
        self.top = top
        self.expr.pop()
        return self.tag(head) + content + self.tag("endwith")

    def raw(self, depth):
        content = self.expr.pick("{{ x }}", " {% if %} ", "{# c #}", "plain\n", "  {{ a }}\n  ")
        start, end = self.delimiters.block_start, self.delimiters.block_end
        marks = [self.expr.pick("", "", "-", "+") for _ in range(4)]
        # A raw tag must not have a plus before its end: Jinja2 only accepts minus there.
        marks[1] = self.expr.pick("", "-")
        return (f"{start}{marks[0]} raw {marks[1]}{end}{content}"
                f"{start}{marks[2]} endraw {marks[3]}{end}")

    def comment(self, depth):
        content = self.expr.pick("note", "two\nlines", "{{ x }} {% if %}", "'", "- dash -")
        start = self.expr.pick("", "", "-", "+")
        end = self.expr.pick("", "", "-", "+")
        return (f"{self.delimiters.comment_start}{start} {content} "
                f"{end}{self.delimiters.comment_end}")

    def do(self, depth):
        # Only names that no loop iterates over are changed: otherwise a loop could run forever.
        content = self.expr.pick("acc.append(%s)" % self.expr.printable(1),
                                 "acc.insert(0, %s)" % self.expr.make("str", 1),
                                 "acc.extend(['p', i])", "acc.reverse()", "acc.pop()",
                                 "tab.update({'x': %s})" % self.expr.make("int", 1),
                                 "tab.update(z=%s)" % self.expr.make("str", 1),
                                 "tab.pop('alpha', none)", "tab.setdefault('y', 4)", "acc.clear()")
        return self.tag("do " + content) + self.output(self.expr.pick(
            "acc|length", "acc", "tab", "tab.keys()|join", "acc[0]", "acc.index(i) if i in acc"))

    def autoescape(self, depth):
        value = self.expr.pick("true", "false")
        return self.tag("autoescape " + value) + self.inner(depth) + self.tag("endautoescape")

    def include(self, depth):
        if not self.includes:
            return self.output(self.expr.printable(2))
        name = self.rng.choice(self.includes)
        # Inside a macro or a block assignment, Jinja2 misbehaves for an include without context.
        without = f"'{name}' without context" if self.top else f"'{name}'"
        return self.tag("include " + self.expr.pick(
            *[f"'{name}'"] * 8, without, f"'{name}' with context",
            "'absent' ignore missing", f"['absent', '{name}']", f"'{name}' ignore missing",
            f"'{name[:2]}' ~ '{name[2:]}'"))

    def import_library(self, depth):
        if not self.libraries:
            return self.output(self.expr.printable(2))
        library = self.rng.choice(list(self.libraries))
        entry = self.rng.choice(self.libraries[library])
        # Without the context most macros of a library would fail.
        with_context = " with context"
        context = self.expr.pick("", *[with_context] * 8, " without context")
        self.fresh += 1
        if self.rng.random() < 0.5:
            alias = f"lib{self.fresh}"
            called = (f"{alias}.{entry[0]}", *entry[1:])
            head = f"import '{library}' as {alias}{context}"
            tail = self.output(
                self.expr.pick(f"{alias}.value", f"{alias}.nope", f"{alias}._hidden"))
        else:
            alias = f"fn{self.fresh}"
            called = (alias, *entry[1:])
            head = f"from '{library}' import {entry[0]} as {alias}, value{context}"
            tail = self.output("value")
        return self.tag(head) + self.output(self.call_of(called)) + tail

    def cycler(self, depth):
        self.fresh += 1
        name = f"cy{self.fresh}"
        if self.rng.random() < 0.5:
            return (self.tag(f"set {name} = joiner({self.expr.pick('', repr('; '))})")
                    + self.tag("for c in ls") + self.output(f"{name}()") + self.output("c")
                    + self.tag("endfor"))
        return (self.tag(f"set {name} = cycler('a', 'b', 3)") + self.tag("for c in li")
                + self.output(f"{name}.next()") + self.tag("endfor")
                + self.output(f"{name}.current"))

    def block(self, depth):
        if self.expr.loops or self.expr.in_macro or not self.top:
            return self.output(self.expr.printable(2))
        self.fresh += 1
        name = f"blk{self.fresh}"
        result = self.tag(f"block {name}") + self.inner(depth) + self.tag("endblock")
        if self.rng.random() < 0.3:
            result += self.output(f"self.{name}()")
        return result

    def print_tag(self, depth):
        return self.tag("print " + self.expr.printable(2))
