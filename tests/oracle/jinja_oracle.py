"""Jinja2's own result for a template.

The engine promises Jinja2's behavior, so Debian's python3-jinja2 is the reference.
A case is a dict with `template`, `options` and `context`, in the form that
`eden render --batch` reads; the result has the form that it writes:
{"output": text} or {"error": class name, "message": text, "line": number}.
"""

import copy
import signal
import warnings

import jinja2
import jinja2.ext

# Python warns of `5[1]` in the code that Jinja2 generates; here it is a valid test template.
warnings.simplefilter("ignore", SyntaxWarning)

UNDEFINED = {
    "Undefined": jinja2.Undefined,
    "StrictUndefined": jinja2.StrictUndefined,
    "ChainableUndefined": jinja2.ChainableUndefined,
    "DebugUndefined": jinja2.DebugUndefined,
    "LoggingUndefined": jinja2.make_logging_undefined(),
}

PLAIN_OPTIONS = (
    "autoescape",
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "line_statement_prefix",
    "line_comment_prefix",
    "trim_blocks",
    "lstrip_blocks",
    "newline_sequence",
    "keep_trailing_newline",
)

# The engine always supports `do`, `break` and `continue`.
EXTENSIONS = ["jinja2.ext.do", "jinja2.ext.loopcontrols"]


class OracleTimeout(Exception):
    """Jinja2 took longer than the test allows."""


def _give_up(_signum, _frame):
    raise OracleTimeout()


def environment(options):
    """The Jinja2 environment for the options of a case."""
    settings = {name: options[name] for name in PLAIN_OPTIONS if name in options}
    settings["undefined"] = UNDEFINED[options.get("undefined") or "Undefined"]
    if "loader" in options:
        settings["loader"] = jinja2.DictLoader(options["loader"])
    env = jinja2.Environment(extensions=EXTENSIONS, **settings)
    env.globals.update(copy.deepcopy(options.get("globals", {})))
    return env


def error_line(error):
    """The template line of the error: of the syntax error, or of the innermost template frame."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def failure(error):
    """The result for an exception, as the engine would write it."""
    answer = {"error": type(error).__name__, "message": str(error)}
    line = error_line(error)
    if line is not None:
        answer["line"] = line
    return answer


def render(case, seconds=10):
    """Renders one case; every exception of the template becomes a result."""
    previous = signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(seconds)
    try:
        env = environment(case.get("options") or {})
        template = env.from_string(case["template"])
        # A template may modify its context; the case must not change.
        return {"output": template.render(copy.deepcopy(case.get("context") or {}))}
    except OracleTimeout:
        raise
    except Exception as error:  # pylint: disable=broad-except
        return failure(error)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
