"""Problem codes: each used code has a row that explains it, and each row is used."""

import re


def texts(root):
    """The rows of all folders, in the order in which the program lists them."""
    table = (root / "src" / "cli" / "codes.c").read_text()
    return "\n".join(
        (root / "src" / name).read_text() for name in re.findall(r'"(\w+/codes\.def)"', table)
    )


def rows(root):
    return re.findall(
        r'^CODE\((E\d{4}), "([^"]+)",\s*((?:"(?:\\.|[^"\\])*"\s*)+)\)', texts(root), re.M
    )


def used(root):
    """The codes in string literals of the sources."""
    found = set()
    for path in (root / "src").rglob("*.[ch]"):
        found |= set(re.findall(r'"(E\d{4})"', path.read_text()))
    return found


def test_this_test_reads_every_row(root):
    found = sum(len(re.findall(r"^CODE\(", path.read_text(), re.M)) for path in (root / "src").glob("*/codes.def"))
    assert len(rows(root)) == found


def test_every_code_used_has_a_row_and_every_row_is_used(root):
    assert used(root) == {code for code, _, _ in rows(root)}


def test_codes_are_sorted_and_unique(root):
    codes = [code for code, _, _ in rows(root)]
    assert codes == sorted(set(codes))


def test_every_code_has_an_explanation_that_fits_a_screen(root):
    for code, title, text in rows(root):
        lines = eval("(" + text + ")").split("\n")
        assert len(title) <= 60 and not title.endswith("."), code
        assert lines[-1] == "", f"{code} ends with a line end"
        assert len(" ".join(lines)) > 60, code
        assert max(map(len, lines)) <= 100, code
