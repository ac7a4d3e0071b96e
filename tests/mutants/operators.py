"""What a mutation may do to one node of a syntax tree: the slips a person makes in a formula."""

from __future__ import annotations

import ast
from collections.abc import Iterator

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# A term that is dropped leaves the other one.
KEEP_LEFT = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.Mod)
KEEP_RIGHT = (ast.Add, ast.Mult)
# Functions of one argument (the others are options or limits) that a slip forgets.
FORGOTTEN = frozenset(
    [
        "sqrt",
        "square",
        "abs",
        "absolute",
        "fabs",
        "log",
        "log1p",
        "log2",
        "exp",
        "expm1",
        "floor",
        "ceil",
        "round",
        "rint",
        "clip",
        "cumsum",
        "sort",
        "tril",
        "triu",
        "maximum",
        "minimum",
        "max",
        "min",
        "cumulative_sum",
        "flip",
    ]
)
# Functions that a slip takes for each other.
CONFUSED = {
    "floor": "ceil",
    "ceil": "floor",
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "sum": "prod",
    "prod": "sum",
    "mean": "sum",
    "cumsum": "cumprod",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
}
# Smaller numbers are allowances for rounding: half as much again allows the same.
SMALLEST_NUMBER = 1e-6
# Swapping the arguments of these changes nothing, or only what a type checker sees.
SYMMETRIC = frozenset(
    [
        "max",
        "min",
        "maximum",
        "minimum",
        "clip",
        "gcd",
        "lcm",
        "hypot",
        "isclose",
        "allclose",
        "array_equal",
        "logaddexp",
        "convolve",
        "add",
        "multiply",
        "dot",
        "vdot",
        "cast",
        "isinstance",
        "issubclass",
        "logical_and",
        "logical_or",
        "union1d",
        "intersect1d",
    ]
)

Variant = tuple[str, ast.AST]
"""The name of a mutation and the node that takes the original's place."""


def variants(node: ast.AST) -> Iterator[Variant]:
    """Every mutation of one node; nodes below it have mutations of their own."""
    rule = RULES.get(type(node))
    if rule is not None:
        yield from rule(node)


def called_name(node: ast.Call) -> str:
    """The last part of the called name: ``sqrt`` of ``np.sqrt(x)``."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def is_text(node: ast.AST) -> bool:
    """Whether an expression is visibly a piece of text."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _arithmetic(node: ast.BinOp) -> Iterator[Variant]:
    if is_text(node):
        return
    other = ARITHMETIC.get(type(node.op))
    if other is not None:
        yield "arithmetic", ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, KEEP_LEFT):
        yield "dropped term", node.left
    if isinstance(node.op, KEEP_RIGHT):
        yield "dropped term", node.right


def _augmented(node: ast.AugAssign) -> Iterator[Variant]:
    if is_text(node.value):
        return
    other = ARITHMETIC.get(type(node.op))
    if other is not None:
        yield "arithmetic", ast.AugAssign(node.target, other(), node.value)
    yield "dropped statement", ast.Pass()


def _comparison(node: ast.Compare) -> Iterator[Variant]:
    for position, each in enumerate(node.ops):
        for other in COMPARISONS[type(each)]:
            operators = [*node.ops[:position], other(), *node.ops[position + 1 :]]
            yield "comparison", ast.Compare(node.left, operators, node.comparators)


def _constant(node: ast.Constant) -> Iterator[Variant]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
        if value > 1:
            yield "constant", ast.Constant(value - 1)
    elif isinstance(value, float) and not 0 < abs(value) < SMALLEST_NUMBER:
        yield "constant", ast.Constant(1.5 * value if value else 1.0)


def _unary(node: ast.UnaryOp) -> Iterator[Variant]:
    if isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield "dropped sign", node.operand


def _boolean(node: ast.BoolOp) -> Iterator[Variant]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "boolean", ast.BoolOp(other, node.values)
    for position in range(len(node.values)):
        rest = node.values[:position] + node.values[position + 1 :]
        yield "dropped condition", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _call(node: ast.Call) -> Iterator[Variant]:
    name = called_name(node)
    if name in FORGOTTEN and node.args and not isinstance(node.args[0], ast.Starred):
        for kept in node.args[:2] if name in {"maximum", "minimum", "max", "min"} else node.args[:1]:
            yield "forgotten function", kept
    if name in CONFUSED and not _is_of_nothing(node):
        yield "confused function", ast.Call(_renamed(node.func, CONFUSED[name]), node.args, node.keywords)
    swappable = len(node.args) >= 2 and not any(isinstance(each, ast.Starred) for each in node.args[:2])
    if swappable and name not in SYMMETRIC and not any(map(is_text, node.args[:2])):
        swapped = [node.args[1], node.args[0], *node.args[2:]]
        yield "swapped arguments", ast.Call(node.func, swapped, node.keywords)


def _is_of_nothing(node: ast.Call) -> bool:
    """Whether a call makes an array without any number."""
    shape = [each for each in node.args[:1] if called_name(node) in {"zeros", "ones"}]
    parts = [part for each in shape for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return any(isinstance(part, ast.Constant) and part.value == 0 for part in parts)


def _renamed(function: ast.expr, name: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _keyword(node: ast.keyword) -> Iterator[Variant]:
    """Another axis; constants of other keywords are mutated as constants."""
    if node.arg == "axis":
        axis = ast.unparse(node.value)
        yield "axis", ast.keyword("axis", ast.Constant(0 if axis in {"1", "-1", "2"} else 1))
    if node.arg == "keepdims":
        yield "dropped option", ast.keyword("keepdims", ast.Constant(value=False))


def _attribute(node: ast.Attribute) -> Iterator[Variant]:
    if node.attr == "T":
        yield "forgotten transpose", node.value


def _condition(node: ast.If | ast.While | ast.IfExp) -> Iterator[Variant]:
    """The condition negated; comparisons and boolean operators inside it are mutated too."""
    if isinstance(node.test, ast.UnaryOp | ast.Compare):
        return
    negated = ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.IfExp):
        yield "negated condition", ast.IfExp(negated, node.body, node.orelse)
    else:
        yield "negated condition", type(node)(negated, node.body, node.orelse)


def _statement(node: ast.Expr) -> Iterator[Variant]:
    if isinstance(node.value, ast.Call):
        yield "dropped statement", ast.Pass()


def _jump(node: ast.Break | ast.Continue) -> Iterator[Variant]:
    yield "jump", ast.Continue() if isinstance(node, ast.Break) else ast.Break()


RULES = {
    ast.BinOp: _arithmetic,
    ast.AugAssign: _augmented,
    ast.Compare: _comparison,
    ast.Constant: _constant,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Call: _call,
    ast.keyword: _keyword,
    ast.Attribute: _attribute,
    ast.If: _condition,
    ast.While: _condition,
    ast.IfExp: _condition,
    ast.Expr: _statement,
    ast.Break: _jump,
    ast.Continue: _jump,
}
