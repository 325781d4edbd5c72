"""Random expressions of a given type.

`Expressions.make(kind, depth)` returns source text. Types are those of values.py. Most
expressions evaluate without an error; empty lists and undefined names cause the others. Anything
that may legitimately differ is avoided: iterators are not printed, integers stay far from 64
bits (products are shallow, exponents tiny), and nothing uses random values or addresses.
"""

import values

TEXT_FILTERS = [
    "upper", "lower", "capitalize", "title", "trim", "escape", "e", "string", "striptags",
    "urlencode", "reverse", "safe", "forceescape", "urlize", "pprint", "tojson",
]
ELEMENT_TESTS = {
    "int": ["odd", "even", "defined", "number", "integer", "none", "string", "float", "boolean",
            "iterable", "mapping", "sequence", "true", "false", "callable", "undefined"],
    "str": ["lower", "upper", "string", "defined", "number", "iterable", "sequence", "escaped",
            "mapping", "none"],
}
COMPARE = ["==", "!=", "<", "<=", ">", ">="]
TEST_COMPARE = ["eq", "ne", "lt", "le", "gt", "ge", "equalto", "lessthan", "greaterthan"]
LOOP_INT = ["index", "index0", "revindex", "revindex0", "length", "depth", "depth0"]


class Expressions:
    """Expressions over the names in scope. `autoescape` avoids folded constants."""

    def __init__(self, rng, autoescape):
        self.rng = rng
        self.autoescape = autoescape
        self.scopes = [dict(values.CONTEXT)]
        self.macros = []
        self.loops = 0
        self.in_macro = False
        self.blocks = []

    # Scopes ------------------------------------------------------------------------------------

    def push(self):
        self.scopes.append(dict(self.scopes[-1]))

    def pop(self):
        self.scopes.pop()

    def bind(self, name, kind):
        self.scopes[-1][name] = kind

    def names(self, kind):
        return [name for name, bound in self.scopes[-1].items() if bound == kind]

    # Choices -----------------------------------------------------------------------------------

    def pick(self, *options):
        return self.rng.choice(options)

    def chance(self, probability):
        return self.rng.random() < probability

    def leaf(self, kind):
        names = self.names(kind)
        if names and self.chance(0.65):
            return self.rng.choice(names)
        return values.literal(self.rng, kind)

    def variable(self, kind):
        """A name of the type, never a constant."""
        return self.rng.choice(self.names(kind))

    def make(self, kind, depth):
        """Source text of an expression of the type, safe to combine with any operator."""
        if depth <= 0 or self.chance(0.12):
            return self.leaf(kind)
        if self.chance(0.04):
            return "(%s if %s else %s)" % (self.make(kind, depth - 1), self.make("bool", depth - 1),
                                           self.make(kind, depth - 1))
        if kind == "any":
            kind = self.pick("int", "int", "float", "str", "str", "str", "bool", "bool", "none",
                             "list:int", "list:str", "record", "map", "list:any")
        if kind.startswith("list:"):
            return self.sequence(kind, depth)
        makers = {
            "int": self.integer, "float": self.floating, "str": self.text, "bool": self.boolean,
            "record": self.record, "map": self.mapping,
        }
        return makers[kind](depth) if kind in makers else self.leaf(kind)

    def printable(self, depth):
        """Any expression whose printed form is deterministic."""
        return self.make("any", depth)

    def some_list(self, depth):
        return self.make(self.pick("list:int", "list:str", "list:any", "list:float"), depth)

    # Integers ----------------------------------------------------------------------------------

    def integer(self, depth):
        sub = depth - 1
        choice = self.rng.randrange(26)
        if choice >= 24:
            return "(%s)" % self.flat_integer()
        if choice <= 2:
            operator = self.pick("+", "-", "+", "-", "*")
            return "(%s %s %s)" % (self.make("int", sub), operator, self.make("int", sub))
        if choice == 3:
            return "(%s %s %s)" % (
                self.make("int", sub), self.pick("//", "%"), self.pick("2", "3", "(-3)", "7", "10"))
        if choice == 4:
            return "((%s %% 40) ** %s)" % (self.leaf("int"), self.pick("0", "1", "2", "3"))
        if choice == 5:
            return "(-(%s))" % self.make("int", sub)
        if choice == 6:
            return "(%s)|length" % self.make(self.pick("str", "list:int", "map", "list:any"), sub)
        if choice == 7:
            return "(%s)|%s" % (self.make("list:int", sub), self.pick("sum", "first", "last"))
        if choice == 8:
            return "(%s)|%s" % (self.make("list:int", sub), self.pick("min", "max"))
        if choice == 9:
            kind = self.pick("str", "float", "bool")
            source = self.make(kind, sub)
            # Neither may produce an integer of more than 64 bits.
            if kind == "float":
                source = f"({source}) % 1e6"
            elif kind == "str":
                source = f"({source})[:12]"
            return "(%s)|int%s" % (source, self.pick("", "(-1)", "(5, 16)"))
        if choice == 10:
            return "(%s)|abs" % self.make("int", sub)
        if choice == 11:
            return "(%s).%s(%s)" % (self.make("str", sub), self.pick("count", "find", "rfind"),
                                    self.pick("'a'", "'o'", "' '", "'zz'"))
        if choice == 12:
            return "(%s)|wordcount" % self.make("str", sub)
        if choice == 13 and self.loops:
            return "loop." + self.rng.choice(LOOP_INT[:5])
        if choice == 14:
            form = self.pick("%s.n", "%s['n']", "%s|attr('n')|default(1)")
            return form % self.make("record", sub)
        if choice == 15:
            return "%s[%s]" % (self.variable("list:int"), self.pick("0", "1", "-1", "i", "2"))
        if choice == 16:
            return "m%s" % self.pick(".alpha", "['beta']", ".get('gamma', 3)", ".get('x')|int",
                                     "['item key']")
        if choice == 17:
            return "((%s) %% 1e9)|round|int" % self.make("float", sub)
        if choice == 18:
            return "(%s and %s)" % (self.make("int", sub), self.make("int", sub))
        if choice == 19:
            return "(%s or %s)" % (self.make("int", sub), self.make("int", sub))
        if choice == 20:
            return "(lr|sum(attribute='n'%s))" % self.pick("", ", start=10")
        if choice == 21:
            return "(range(%s)|sum)" % self.pick("5", "1, 4", "10, 0, -3")
        if choice == 22:
            return "(%s)|default(%s)" % (self.pick("undef", "rec.nope", "i", "m.zzz"),
                                         self.make("int", sub))
        return self.leaf("int")

    def flat_integer(self):
        """Adjacent operators, so that precedence matters."""
        text = self.pick("", "", "-", "+") + self.leaf("int")
        for _ in range(self.rng.randint(1, 4)):
            operator = self.pick("+", "-", "*", "//", "%", "+", "-", "**")
            if operator in ("//", "%"):
                text += f" {operator} {self.pick('2', '3', '7', '-5', '5')}"
            elif operator == "**":
                text += f" + {self.pick('2', '3', '-2')} ** {self.pick('2', '3')}"
            else:
                text += f" {operator} {self.leaf('int')}"
            if self.chance(0.15):
                text += self.pick("|abs", "|int", "|default(3)", "|string|length")
        return text

    def flat_boolean(self):
        parts = []
        for _ in range(self.rng.randint(1, 4)):
            parts.append(self.pick("", "", "not ") + self.rng.choice([
                lambda: "%s %s %s" % (self.leaf("int"), self.rng.choice(COMPARE), self.leaf("int")),
                lambda: "%s %s %s + %s" % (self.leaf("int"), self.rng.choice(COMPARE),
                                           self.leaf("int"), self.leaf("int")),
                lambda: "%s %s li" % (self.leaf("int"), self.pick("in", "not in")),
                lambda: "%s is %s" % (self.leaf("int"), self.pick(
                    "odd", "not even", "divisibleby 3", "eq 2", "none", "in li", "not in [1, 2]")),
                lambda: "%s is %s" % (self.leaf("str"), self.pick(
                    "string", "lower", "not upper", "sameas none", "in ls", "defined")),
                lambda: "%s ~ %s == %s" % (self.variable("str"), self.leaf("int"),
                                           self.leaf("str")),
                lambda: self.variable("bool"),
                lambda: "%s|length > %s" % (self.variable("list:int"), self.pick("1", "2")),
            ])())
        text = parts[0]
        for part in parts[1:]:
            text += " %s %s" % (self.pick("and", "or"), part)
        return text

    # Floats ------------------------------------------------------------------------------------

    def floating(self, depth):
        sub = depth - 1
        choice = self.rng.randrange(12)
        if choice <= 1:
            return "(%s / %s)" % (self.make(self.pick("int", "float"), sub),
                                  self.pick("2", "3", "7.0", "(-4)", "0.5", "10"))
        if choice <= 3:
            return "(%s %s %s)" % (self.make("float", sub), self.pick("+", "-", "*"),
                                   self.make(self.pick("int", "float"), sub))
        if choice == 4:
            return "(%s %s %s)" % (self.make("float", sub), self.pick("//", "%"),
                                   self.pick("2", "0.7", "(-3)", "1.5"))
        if choice == 5:
            return "(%s)|round(%s)" % (self.make("float", sub), self.pick("", "1", "2", "-1"))
        if choice == 6:
            return "(%s)|round(%s, '%s')" % (self.make("float", sub), self.pick("0", "1", "2"),
                                             self.pick("ceil", "floor", "common"))
        if choice == 7:
            return "(%s)|float%s" % (self.make(self.pick("int", "str"), sub),
                                     self.pick("", "(1.5)"))
        if choice == 8:
            return "(%s)|%s" % (self.make("list:float", sub), self.pick("sum", "min", "max"))
        if choice == 9:
            return "(-(%s))" % self.make("float", sub)
        if choice == 10:
            return "(%s)|abs" % self.make("float", sub)
        return self.leaf("float")

    # Text --------------------------------------------------------------------------------------

    def text(self, depth):
        sub = depth - 1
        choice = self.rng.randrange(32)
        if choice == 30:
            return "'%s'.format(%s, %s)" % (
                self.pick("{}-{}", "{0}{1}{0}", "{:>8}|{!s:<4}", "{!r} {}", "{{{}}} {}"),
                self.make("str", sub), self.make("str", sub))
        if choice == 31:
            return "'%s'.format(%s)" % (
                self.pick("{:05d}", "{:,}", "{:x}", "{:+}", "{:^9}", "{:.3f}", "{:e}", "{:b}",
                          "{:>6}", "{:%}", "{:g}"), self.make("int", sub))
        if choice <= 1:
            # Jinja2 folds a join of constants without escaping; a name makes both behave the same.
            first = self.variable("str") if self.autoescape else self.make("str", sub)
            return "(%s ~ %s)" % (first, self.printable(sub))
        if choice == 2:
            return "(%s + %s)" % (self.make("str", sub), self.make("str", sub))
        if choice == 3:
            return "(%s * %s)" % (self.make("str", sub), self.pick("2", "3", "0", "(-1)", "yes"))
        if choice <= 7:
            return "(%s)|%s" % (self.make("str", sub), self.rng.choice(TEXT_FILTERS))
        if choice <= 10:
            return "(%s)|%s" % (self.make("str", sub), self.text_filter_with_arguments(sub))
        if choice <= 14:
            return "(%s).%s" % (self.make("str", sub), self.text_method(sub))
        if choice <= 16:
            return "(%s)[%s]" % (self.make("str", sub), self.slice_bounds())
        if choice == 17:
            return "(%s)|join%s" % (self.some_list(sub), self.pick("", "(', ')", "('-')", "(s)"))
        if choice == 18:
            return "(lr|join(', ', attribute='%s'))" % self.pick("name", "n", "opt", "tags.0")
        if choice == 19:
            return "(%s)|string" % self.printable(sub)
        if choice == 20:
            return "('%s' %% (%s, %s))" % (
                self.pick("%s:%s", "%5s|%-5s", "%r %s", "%3s%%%.2s"),
                self.printable(sub), self.printable(sub))
        if choice == 21:
            return "('%s' %% %s)" % (
                self.pick("%d", "%05d", "%+d", "%x", "%.2f", "%e", "%g", "%8.3f"),
                self.make("int", sub))
        if choice == 22:
            return "'%s'|format(%s, %s)" % (self.pick("%s/%s", "%s %r"), self.printable(sub),
                                            self.make("str", sub))
        if choice == 23:
            return "(%s)|default(%s%s)" % (
                self.pick("undef", "rec.opt", "s", "nothing", "rec['nope']"),
                self.make("str", sub), self.pick("", ", true"))
        if choice == 24:
            return "(%s)|tojson%s" % (self.printable(sub), self.pick("", "", "(indent=2)", "(2)"))
        if choice == 25 and self.loops:
            return "loop.cycle(%s, %s)" % (self.make("str", sub), self.make("str", sub))
        if choice == 26 and self.macros:
            return self.macro_call(sub)
        if choice == 27:
            return self.pick("%s.name", "%s['name']", "%s.get('name')") % self.make("record", sub)
        if choice == 28:
            return "(%s)|filesizeformat%s" % (self.make("int", sub), self.pick("", "(true)"))
        if choice == 29:
            return self.pick("(m|xmlattr)", "(m|urlencode)", "(rec|xmlattr(false))",
                             "(lr|map(attribute='name')|join('|'))", "self_free|default('d')",
                             "(ls|first)", "(ls|last)", "(ls|min)", "(ls|max)", "lr[0].name",
                             "lr.0.tags|join", "(lr|last).name", "ll[-1][0]|string")
        return self.leaf("str")

    def text_filter_with_arguments(self, depth):
        return self.rng.choice([
            lambda: "replace(%s, %s)" % (self.pick("'a'", "'o'", "' '", "'<'", "''"),
                                         self.make("str", depth)),
            lambda: "replace('a', 'A', %s)" % self.pick("0", "1", "2"),
            lambda: "truncate(%s)" % self.pick("5", "10, true", "8, false, '..'",
                                               "12, true, '!', 0", "length=6, leeway=0",
                                               "9, end='\u2026'"),
            lambda: "indent(%s)" % self.pick("2", "4, true", "'> '", "2, first=true",
                                             "1, blank=true"),
            lambda: "wordwrap(%s)" % self.pick("10", "5, false", "8, wrapstring='|'",
                                               "6, break_on_hyphens=false"),
            lambda: "center(%s)" % self.pick("10", "20", "3"),
            lambda: "trim(%s)" % self.pick("'a'", "' x'", "'.,'", "chars='ab'"),
            lambda: "default(%s, true)" % self.make("str", depth),
            lambda: "urlize(%s)" % self.pick("10", "20, true", "target='_blank'", "rel='x y'"),
            lambda: "replace(%s, %s)" % (self.make("str", depth), self.pick("'-'", "''", "'<i>'")),
        ])()

    def text_method(self, depth):
        return self.rng.choice([
            lambda: self.pick("upper()", "lower()", "title()", "capitalize()", "swapcase()",
                              "strip()", "lstrip()", "rstrip()", "casefold()"),
            lambda: "replace(%s, %s)" % (self.pick("'a'", "'e'", "' '"), self.make("str", depth)),
            lambda: "strip(%s)" % self.pick("'a'", "' .'", "'<>'"),
            lambda: "center(%s)" % self.pick("12", "9, '*'"),
            lambda: self.pick("ljust(8, '.')", "rjust(8)", "zfill(6)", "expandtabs(4)"),
            lambda: self.pick("join(ls)", "join(['x', 'y'])", "removeprefix('a')",
                              "removesuffix('d')"),
        ])()

    def slice_bounds(self):
        return self.pick("0", "-1", "1:", ":2", "::-1", "1:4", "-3:", "::2", "5:1:-1", "i:", ":j",
                         "9", ":-1", "1:-1", "-4:-1:2", ":")

    def macro_call(self, depth):
        name, parameters, varargs, kwargs = self.rng.choice(self.macros)
        wanted = self.rng.randint(0, len(parameters))
        arguments = [self.make(kind, depth) for _, kind in parameters[:wanted]]
        for parameter, kind in parameters[wanted:]:
            if self.chance(0.7):
                arguments.append("%s=%s" % (parameter, self.make(kind, depth)))
        extra = []
        if varargs and wanted == len(parameters) and self.chance(0.5):
            extra = [self.printable(depth), self.pick("*[1, 2]", self.printable(depth))]
        if kwargs and self.chance(0.5):
            extra.append(self.pick("other=%s" % self.printable(depth), "**{'p': 1}", "**m"))
        if not varargs and not kwargs and self.chance(0.03):
            extra = [self.pick("1, 2, 3, 4, 5", "strange=1")]
        return "%s(%s)" % (name, ", ".join(arguments + extra))

    # Booleans ----------------------------------------------------------------------------------

    def boolean(self, depth):
        sub = depth - 1
        choice = self.rng.randrange(20)
        if choice >= 18:
            return "(%s)" % self.flat_boolean()
        if choice <= 2:
            kind = self.pick("int", "float", "str")
            return "(%s %s %s)" % (self.make(kind, sub), self.rng.choice(COMPARE),
                                   self.make(kind, sub))
        if choice == 3:
            return "(%s %s %s)" % (self.printable(sub), self.pick("==", "!="), self.printable(sub))
        if choice == 4:
            return "(%s %s %s %s %s)" % (
                self.make("int", sub), self.pick("<", "<=", "=="), self.make("int", sub),
                self.pick("<", ">", "!="), self.make("float", sub))
        if choice == 5:
            return "(%s %s %s)" % (self.make("bool", sub), self.pick("and", "or"),
                                   self.make("bool", sub))
        if choice == 6:
            return "(not %s)" % self.make("bool", sub)
        if choice == 7:
            return "(%s %s %s)" % (self.make("int", sub), self.pick("in", "not in"),
                                   self.make("list:int", sub))
        if choice == 8:
            return "(%s in %s)" % (self.make("str", sub),
                                   self.make(self.pick("str", "list:str", "map"), sub))
        if choice <= 10:
            return "(%s is %s%s)" % (self.make("int", sub), self.pick("", "", "not "),
                                     self.rng.choice(ELEMENT_TESTS["int"]))
        if choice == 11:
            return "(%s is %s%s)" % (self.make("str", sub), self.pick("", "not "),
                                     self.rng.choice(ELEMENT_TESTS["str"]))
        if choice == 12:
            return "(%s is %s(%s))" % (self.make("int", sub), self.rng.choice(TEST_COMPARE),
                                       self.make("int", sub))
        if choice == 13:
            return "(%s is divisibleby %s)" % (self.make("int", sub), self.pick("2", "3", "(5)"))
        if choice == 14:
            return "(%s is %s)" % (self.pick("undef", "rec.opt", "m.alpha", "s", "nothing"),
                                   self.pick("defined", "undefined", "none", "not defined"))
        if choice == 15:
            return "(%s).%s" % (self.make("str", sub), self.pick(
                "startswith('a')", "endswith('o')", "isdigit()", "isalpha()", "isupper()",
                "islower()", "isspace()", "isalnum()", "istitle()", "startswith(('a', 'H'))",
                "isidentifier()", "isnumeric()", "isdecimal()"))
        if choice == 16 and self.loops:
            return self.pick("loop.first", "loop.last", "loop.changed(i)",
                             "loop.changed(loop.index // 2)")
        if choice == 17:
            return "(%s < %s)" % (self.make("list:int", sub), self.make("list:int", sub))
        return self.leaf("bool")

    # Containers --------------------------------------------------------------------------------

    def sequence(self, kind, depth):
        sub = depth - 1
        element = kind[5:]
        choice = self.rng.randrange(16)
        base = self.make(kind, sub)
        if choice == 0:
            items = [self.make(element, sub) for _ in range(self.rng.randint(0, 3))]
            return "[%s]" % ", ".join(items)
        if choice == 1:
            return "(%s + %s)" % (base, self.make(kind, sub))
        if choice == 2:
            return "(%s)[%s]" % (base, self.pick("1:", ":2", "::-1", "::2", "-2:", "1:3", ":-1"))
        if choice == 3:
            return "(%s * %s)" % (base, self.pick("2", "0", "1"))
        if choice == 4:
            return "(%s)|reverse|list" % base
        if choice == 5 and element in ("int", "str", "float"):
            return "(%s)|unique%s|list" % (base, self.pick("", "(true)"))
        if choice == 6 and element in ("int", "str", "float"):
            return "(%s)|sort%s" % (base, self.pick("", "(reverse=true)", "(true)",
                                                    "(case_sensitive=true)"))
        if choice == 7 and element in ELEMENT_TESTS:
            return "(%s)|%s('%s')|list" % (base, self.pick("select", "reject"),
                                           self.rng.choice(ELEMENT_TESTS[element]))
        if choice == 8:
            return "(%s)|%s|list" % (base, self.pick("select", "reject"))
        if element == "int":
            return self.int_list(choice, base, sub)
        if element == "str":
            return self.text_list(choice, base, sub)
        if element == "record":
            return self.record_list(choice)
        if element == "any" and choice <= 12:
            return self.mixed_list(sub)
        return base

    def int_list(self, choice, base, depth):
        if choice <= 10:
            return "range(%s)|list" % self.pick("5", "1, 6", "0, 9, 3", "5, 0, -2", "j % 6", "0")
        if choice == 11:
            return "(%s)|map('%s')|list" % (base, self.pick("abs", "int"))
        if choice == 12:
            return "(%s)|select('%s', %s)|list" % (base, self.rng.choice(TEST_COMPARE),
                                                   self.make("int", depth))
        if choice == 13:
            return "lr|map(attribute='n')|list"
        if choice == 14:
            return "(m.values()|list)"
        return base

    def text_list(self, choice, base, depth):
        if choice <= 10:
            return "(%s).%s" % (self.make("str", depth), self.pick(
                "split()", "split(',')", "split(' ', 1)", "splitlines()", "rsplit('.', 1)",
                "split('a')", "partition('=')|list", "rpartition('/')|list", "splitlines(true)"))
        if choice == 11:
            return "(%s)|map('%s')|list" % (base, self.pick(
                "upper", "lower", "trim", "title", "string", "capitalize", "reverse", "e"))
        if choice == 12:
            return "(%s)|map('replace', 'a', %s)|list" % (base, self.make("str", depth))
        if choice == 13:
            return "lr|map(attribute='name')|list"
        if choice == 14:
            return self.pick("(m.keys()|list)", "(m|list)", "(%s|list)" % self.variable("str"))
        return "rec.tags"

    def record_list(self, choice):
        if choice <= 10:
            return "lr|%s('%s')|list" % (self.pick("selectattr", "rejectattr"),
                                         self.pick("opt", "n", "tags", "name"))
        if choice <= 12:
            return "lr|%s('n', '%s', %s)|list" % (self.pick("selectattr", "rejectattr"),
                                                  self.rng.choice(TEST_COMPARE), self.leaf("int"))
        return "lr|sort(attribute='%s'%s)" % (self.pick("n", "name", "n,name"),
                                             self.pick("", ", reverse=true"))

    def mixed_list(self, depth):
        return self.rng.choice([
            lambda: "(%s)|batch(%s)|list" % (self.some_list(depth),
                                             self.pick("2", "3, 'x'", "4, 0")),
            lambda: "(%s)|slice(%s)|list" % (self.some_list(depth), self.pick("2", "3, 'x'")),
            lambda: "(m|dictsort%s)" % self.pick("", "(by='value')", "(reverse=true)",
                                                 "(true, 'key', true)"),
            lambda: "(m|items|list)",
            lambda: "(m.items()|list)",
            lambda: "(lr|groupby('%s')%s)" % (self.pick("n", "name"), self.pick("", "|list")),
            lambda: "(ls|map('length')|list)",
            lambda: "(%s, %s)" % (self.printable(depth), self.printable(depth)),
            lambda: "[%s, (%s,), %s]" % (self.printable(depth), self.printable(depth),
                                         self.printable(depth)),
            lambda: "(ll|map('%s')|list)" % self.pick("sum", "length", "first", "sort", "join"),
            lambda: "lr|map(attribute='opt', default=%s)|list" % self.leaf("str"),
        ])()

    def record(self, depth):
        choice = self.rng.randrange(6)
        if choice == 0:
            return "{'name': %s, 'n': %s, 'tags': %s}" % (
                self.make("str", depth - 1), self.make("int", depth - 1),
                self.make("list:str", depth - 1))
        if choice == 1:
            return "dict(rec, n=%s)" % self.make("int", depth - 1)
        return self.variable("record")

    def mapping(self, depth):
        choice = self.rng.randrange(6)
        if choice == 0:
            # An undefined key works in Python only; joined with text it is text.
            return "{%s ~ '': %s, %s: %s}" % (self.leaf("str"), self.make("int", depth - 1),
                                              values.literal(self.rng, "str"),
                                              self.make("int", depth - 1))
        if choice == 1:
            return "dict(m, x=%s)" % self.make("int", depth - 1)
        if choice == 2:
            return "dict(%s)" % self.pick("m|dictsort", "m", "a=1, b=2", "[('p', i)]")
        return self.variable("map")
