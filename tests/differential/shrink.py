"""Shrinks a failing case: drops pieces as long as it fails in the same way."""

import re

# First a tag counts as one piece; then words, numbers, strings and operators do.
TAGS = re.compile(r"(\{[%{#].*?[%}#]\}|\n)", re.S)
WORDS = re.compile(r"(\w+|\s+|'[^']*'|\"[^\"]*\"|.)", re.S)


def _drop(parts, still_fails, budget):
    """Removes runs of pieces, long runs first (delta debugging)."""
    length = max(1, len(parts) // 2)
    while length >= 1:
        start = 0
        while start < len(parts) and budget[0] > 0:
            candidate = parts[:start] + parts[start + length:]
            budget[0] -= 1
            if still_fails(candidate):
                parts = candidate
            else:
                start += length
        length //= 2
    return parts


def _shrink_text(text, pattern, still_fails, budget):
    parts = [chunk for chunk in pattern.split(text) if chunk]
    return "".join(_drop(parts, lambda rest: still_fails("".join(rest)), budget))


def shrink(case, still_fails, tries=1500):
    """The smallest case found that `still_fails(case)`."""
    budget = [tries]
    best = {key: case.get(key, {}) for key in ("template", "options", "context")}

    def attempt(**changes):
        nonlocal best
        candidate = {**best, **changes}
        if candidate != best and still_fails(candidate):
            best = candidate
            return True
        return False

    for _ in range(3):
        before = repr(best)
        for part in ("options", "context"):
            for key in list(best[part]):
                budget[0] -= 1
                attempt(**{part: {k: v for k, v in best[part].items() if k != key}})
        for pattern in (TAGS, WORDS):
            _shrink_text(best["template"], pattern, lambda text: attempt(template=text)
                         or text == best["template"], budget)
            for name in list(best["options"].get("loader", {})):
                def with_text(text, name=name):
                    loader = {**best["options"]["loader"], name: text}
                    return attempt(options={**best["options"], "loader": loader})
                _shrink_text(best["options"]["loader"][name], pattern, with_text, budget)
        if repr(best) == before or budget[0] <= 0:
            break
    return best
