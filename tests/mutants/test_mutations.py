"""Which slips are tried in a module, and that each is the slip it says."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mutants.mutations import mutations


def slips(source, kind=None):
    """The mutated statements of a piece of source, of one kind or all."""
    found = mutations(textwrap.dedent(source), "some.py")
    return [each.mutated for each in found if kind in {None, each.kind}]


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("x = a + b", "arithmetic", ["x = a - b"]),
        ("x = a * b", "dropped term", ["x = a", "x = b"]),
        ("x = a / b", "dropped term", ["x = a"]),
        ("x = a ** b", "dropped term", ["x = a"]),
        ("x += a", "arithmetic", ["x -= a"]),
        ("x += a", "dropped statement", ["pass"]),
        ("x = a < b", "comparison", ["x = a <= b", "x = a >= b"]),
        ("x = a in b", "comparison", ["x = a not in b"]),
        ("x = 3", "constant", ["x = 4", "x = 2"]),
        ("x = 1", "constant", ["x = 2"]),
        ("x = 0.5", "constant", ["x = 0.75"]),
        ("x = True", "constant", ["x = False"]),
        ("x = -a", "dropped sign", ["x = a"]),
        ("x = a and b", "boolean", ["x = a or b"]),
        ("x = a and b", "dropped condition", ["x = b", "x = a"]),
        ("x = np.clip(a, low, high)", "forgotten function", ["x = a"]),
        ("x = np.maximum(a, b)", "forgotten function", ["x = a", "x = b"]),
        ("x = np.sqrt(a)", "forgotten function", ["x = a"]),
        ("x = math.floor(a)", "confused function", ["x = math.ceil(a)"]),
        ("x = f(a, b, c)", "swapped arguments", ["x = f(b, a, c)"]),
        ("x = a.sum(axis=0)", "axis", ["x = a.sum(axis=1)"]),
        ("x = a.sum(axis=-1)", "axis", ["x = a.sum(axis=0)"]),
        ("x = a.sum(keepdims=True)", "dropped option", ["x = a.sum(keepdims=False)"]),
        ("x = a.T", "forgotten transpose", ["x = a"]),
        ("x = a if b else c", "negated condition", ["x = a if not b else c"]),
        ("np.add.at(a, b, c)", "dropped statement", ["pass"]),
    ],
)
def test_a_slip_of_each_kind(source, kind, expected):
    """The statement that takes the original's place."""
    assert slips(source, kind) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of 3 words."""',
        "x: Annotated[int, 3]",
        "@decorated(3)\ndef f(): ...",
        "def f(a: Literal[3]) -> Literal[4]: ...",
        'raise ParameterError(f"at most {a + 1}", parameter="a")',
        "assert a + 1",
        "def sentence(self) -> str:\n    return f(self.a + 1)",
        "def sentences(self) -> tuple[str, ...]:\n    return g(self.a + 1)",
        'x = "a" + b',
        'x = f"{a + 1}"',
        "x = cast(a, b)",
        "x = Field(description='3' + b)",
        "x = zip(a, strict=True)",
        "x = 1e-12",
        "for _ in range(60): ...",
        "x: int = field(repr=False)",
        "if TYPE_CHECKING:\n    x = 3",
        "CELLS_AT_ONCE = 2**20",
        "x = a.reshape(-1)",
        "for part in in_parts(n, each=3 * a, at_once=b): ...",
    ],
)
def test_nothing_is_tried_where_no_number_comes_from(source):
    """Texts, types, errors, options of how, allowances for rounding."""
    assert slips(source) == []


@pytest.mark.parametrize("source", ["x = np.zeros(0)", "x = np.zeros((n, 0), int)"])
def test_arrays_without_numbers_have_none_that_could_be_wrong(source):
    """Zeros and ones are the same there."""
    assert slips(source, "confused function") == []
    assert slips("x = np.zeros((n, 2))", "confused function") == ["x = np.ones((n, 2))"]


def test_a_mutation_is_named_without_line_numbers():
    """So that the list of equivalent mutants outlives other changes of a file."""
    source = "class Law:\n    def total(self):\n        return self.a + 1\n"
    first = mutations(source, "some.py")
    moved = mutations("\n\n" + source, "some.py")
    assert [each.identity for each in first] == [each.identity for each in moved]
    assert first[0].identity == ("some.py", "Law.total", "return self.a + 1", "return self.a - 1")
    assert (first[0].line, moved[0].line) == (3, 5)


def test_the_first_line_stands_for_a_statement_with_a_body():
    """A slip in a condition does not show the whole block."""
    assert slips("if a < b:\n    x = c\nelse:\n    x = d", "comparison") == [
        "if a <= b:\n    ...",
        "if a >= b:\n    ...",
    ]


def test_each_mutant_differs_from_the_original_and_compiles():
    """One statement changes; the rest of the module is the same."""
    source = textwrap.dedent(
        '''
        """A module."""
        def f(a, b=2):
            """Gives 3."""
            while a > 0 and not b:
                a -= np.sqrt(b)
                if a == 1: break
            return [x ** 2 for x in a[1:] if x] or -b
        '''
    )
    tree = ast.parse(source)
    before = ast.unparse(tree)
    found = mutations(source, "some.py")
    texts = {ast.unparse(each.applied_to(tree)) for each in found}
    assert len(texts) == len(found) > 15
    assert before not in texts
    assert ast.unparse(tree) == before
    for each in found:
        namespace = {}
        exec(compile(each.applied_to(tree), "some.py", "exec"), namespace)
        assert namespace["f"].__doc__ == "Gives 3."
