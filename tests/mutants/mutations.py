"""The mutations of one module: every place in its formulas where a slip is tried."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

from mutants.operators import called_name, is_text, variants

Step = str | int
"""One step from a node to a part of it: the name of a field, or a place in a list."""

# Keywords that choose how something is computed or said, not what.
NOT_FORMULA = frozenset(
    [
        "strict",
        "dtype",
        "copy",
        "kind",
        "stacklevel",
        "description",
        "reason",
        "message",
        "parameter",
        "title",
        "axis",
        "keepdims",
        "maxsize",
        "frozen",
        "allow_pickle",
        "optimize",
        "casting",
        "order",
        "subok",
        "repr",
    ]
)
NOT_FORMULA_CALLS = frozenset(
    ["cast", "isinstance", "issubclass", "TypeVar", "ConfigDict", "NewType", "getLogger", "in_parts"]
)
# Bodies are reached as statements of their own, so a statement is shown by its first line.
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class Mutation:
    """One slip in one place.

    ``file``, ``function``, ``original`` and ``mutated`` say which it is without line numbers, so that they
    name it also after the lines around it have changed.
    """

    file: str
    line: int
    function: str
    kind: str
    original: str
    mutated: str
    path: tuple[Step, ...] = field(repr=False, compare=False)
    replacement: ast.AST = field(repr=False, compare=False)
    lines: tuple[int, ...] = field(default=(), repr=False, compare=False)
    """Lines of the statement, without the statements inside it."""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What names the mutation."""
        return self.file, self.function, self.original, self.mutated

    def applied_to(self, tree: ast.Module) -> ast.Module:
        """A copy of the module with the slip in it."""
        mutated = _replaced(tree, self.path, self.replacement)
        assert isinstance(mutated, ast.Module)
        return ast.fix_missing_locations(mutated)


def mutations(source: str, file: str) -> list[Mutation]:
    """Every mutation of a module, in the order of its lines.

    Left out are docstrings, annotations, decorators, error messages, assertions for the type checker and
    functions that give text: a slip there is not a wrong number.
    """
    found: dict[tuple[str, str, str, int], Mutation] = {}
    for each in _walk(_Place(ast.parse(source), file)):
        found.setdefault((each.function, each.original, each.mutated, each.line), each)
    return list(found.values())


@dataclass(frozen=True)
class _Place:
    """Where the walk stands: a node, the way to it, and the statement and function around it."""

    node: ast.AST
    file: str
    path: tuple[Step, ...] = ()
    function: str = ""
    statement: ast.stmt | None = None
    below: tuple[Step, ...] = ()
    """The way from the statement to the node."""

    def step(self, node: ast.AST, *steps: Step) -> _Place:
        """The place of a part of this node."""
        function, statement, below = self.function, self.statement, (*self.below, *steps)
        if isinstance(self.node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{self.node.name}".lstrip(".") if steps[0] == "body" else function
        if isinstance(node, ast.stmt):
            statement, below = node, ()
        return _Place(node, self.file, (*self.path, *steps), function, statement, below)


def _walk(place: _Place) -> Iterator[Mutation]:
    if _is_left_out(place.node):
        return
    if place.statement is not None:
        yield from _here(place, place.statement)
    for name, value in ast.iter_fields(place.node):
        if _is_field_left_out(place.node, name):
            continue
        for position, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST) and not _is_whatever_is_left(place.node, child):
                steps = (name,) if position is None else (name, position)
                yield from _walk(place.step(child, *steps))


def _here(place: _Place, statement: ast.stmt) -> Iterator[Mutation]:
    node, first_line = place.node, _first_line(statement)
    original = ast.unparse(first_line)
    for kind, replacement in variants(node):
        mutated = ast.unparse(_first_line(_replaced(first_line, place.below, replacement)))
        if mutated != original:
            line = getattr(node, "lineno", statement.lineno)
            yield Mutation(
                place.file,
                line,
                place.function,
                kind,
                original,
                mutated,
                place.path,
                copy.deepcopy(replacement),
                _lines(statement),
            )


def _lines(statement: ast.stmt) -> tuple[int, ...]:
    inside = [
        each.lineno for name in BODIES for each in getattr(statement, name, ()) if hasattr(each, "lineno")
    ]
    end = min(inside) - 1 if inside else statement.end_lineno or statement.lineno
    return tuple(range(statement.lineno, max(end, statement.lineno) + 1))


def _first_line(statement: ast.AST) -> ast.AST:
    """A statement without the statements inside it."""
    shown = copy.copy(statement)
    for name in BODIES:
        if isinstance(getattr(shown, name, None), list):
            setattr(shown, name, [ast.Expr(ast.Constant(...))] if name == "body" else [])
    return shown


def _replaced(node: ast.AST, path: tuple[Step, ...], replacement: ast.AST) -> ast.AST:
    """A copy of a tree, shared where it is the same, with another node at the end of a path."""
    if not path:
        return ast.copy_location(copy.deepcopy(replacement), node)
    changed, (name, *rest) = copy.copy(node), path
    assert isinstance(name, str)
    child = getattr(changed, name)
    if isinstance(child, list):
        position, *rest = rest
        assert isinstance(position, int)
        new = [
            *child[:position],
            _replaced(child[position], tuple(rest), replacement),
            *child[position + 1 :],
        ]
        setattr(changed, name, new)
    else:
        setattr(changed, name, _replaced(child, tuple(rest), replacement))
    return changed


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return _gives_text(node) or node.name in {"__repr__", "__str__"}
    if isinstance(node, ast.Call):
        name = called_name(node)
        return name in NOT_FORMULA_CALLS or name.endswith(("Error", "Warning"))
    if isinstance(node, ast.keyword):
        return node.arg in NOT_FORMULA - {"axis", "keepdims"}
    if isinstance(node, ast.BinOp):
        return is_text(node)
    return _is_no_number(node) or isinstance(
        node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.AsyncFunctionDef
    )


def _is_no_number(node: ast.AST) -> bool:
    """Whether a statement is for the type checker, or says how work is divided: no result depends on that."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("_AT_ONCE")


def _is_field_left_out(node: ast.AST, name: str) -> bool:
    if name in {"annotation", "returns", "decorator_list", "type_params"}:
        return True
    # So many rounds of a search that one more changes nothing.
    if isinstance(node, ast.For) and name == "iter" and ast.unparse(node.target) == "_":
        return True
    # An axis is replaced as a keyword; counted up it would only be an axis that is not there.
    return isinstance(node, ast.keyword) and node.arg in {"axis", "keepdims"}


def _is_whatever_is_left(node: ast.AST, child: ast.AST) -> bool:
    """Whether a number says that an axis has whatever is left, as any number below zero does."""
    return isinstance(node, ast.Call) and called_name(node) == "reshape" and ast.unparse(child) == "-1"


def _gives_text(function: ast.FunctionDef) -> bool:
    """Whether a function builds sentences: it gives text, or a sequence of texts."""
    if function.returns is None:
        return False
    names = {each.id for each in ast.walk(function.returns) if isinstance(each, ast.Name)}
    return "str" in names and names <= {"str", "list", "tuple", "Iterator", "Sequence", "Iterable"}
