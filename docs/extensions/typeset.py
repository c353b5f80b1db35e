"""Formulas in plain text, as docstrings have them, made into TeX.

``2 alpha delta^2 = Q_0 + Delta/2 + int_c (x - c)^2 mu_delta`` reads well where it stands; on a page it is typeset. It
is translated sign by sign, in its order: a slash stays a slash, brackets stay brackets. Whatever is not known here (a
word, a keyword argument, a call of Python) makes the whole formula unreadable, and it is shown as plain code.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GREEK = {
    *("alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho"),
    *("sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Sigma", "Phi"),
    *("Psi", "Omega"),
}
SYMBOLS = {
    "abar": r"\bar\alpha",
    "eps": r"\varepsilon",
    "yhat": r"\hat y",
    "inf": r"\infty",
    "int": r"\int",
    "sum": r"\sum",
    "argmin": r"\operatorname*{argmin}",
    **{name: rf"\{name}" for name in ("min", "max", "log", "exp", "sin", "cos")},
    "lam": r"\lambda",
    "om": r"\omega",
    "Om": r"\Omega",
    "Gam": r"\Gamma",
    "Mh": r"\hat M",
    "iv": "iv",
    "i0": "i0",
    "sqrt2": r"\sqrt{2}",
    "Isc": r"I_{\mathrm{sc}}",
    "Jsc": r"J_{\mathrm{sc}}",
}
FUNCTIONS = {
    "asin",
    "diag",
    "Var",
    "Tr",
    "Re",
    "Im",
    "sign",
    "soft",
    "softmax",
    "sigmoid",
    "prox",
    "shrink",
    "div",
    "grad",
    "round",
    "tr",
}
NOUNS = {"MMSE", "MSE", "GOE", "MP", "risk", "ratio", "label", "data", "target", "logit", "denoiser", "cubic", "first"}
NOUNS |= {"loss", "penalty", "strength", "unit", "spread", "gap", "below", "probability", "hilbert", "power", "mean"}
NOUNS |= {"mmse", "slope", "left", "train", "scale", "threshold", "lam", "Cov"}
NOUNS |= {"features", "size"}
# Names that a reader types: they look like what is typed.
FIELDS = {"rank", "scale", "cutoff", "noise", "ridge", "nuclear", "threshold", "aspect", "weight_decay", "n_tokens"}
FIELDS |= {"train_error", "n_active", "n_in", "lowest", "variance", "overfitting", "not_learned", "approximation"}
INDEX_WORDS = {"fit", "out", "in", "eff", "sc", "denoising", "bulk", "rows"}
INDEX_WORDS |= {"IV", "BO", "int", "kept", "lost", "max", "peak", "plain", "sat"}  # of scaling laws
RELATIONS = {"=": "=", "<": "<", ">": ">", "<=": r"\le", ">=": r"\ge", "!=": r"\ne", "->": r"\to", "~": r"\sim"}
BINARY = {"+": "+", "-": "-", "+-": r"\pm", "-+": r"\mp", "/": "/", "[+]": r"\boxplus"}
SIGNS = {"+", "-", "+-", "-+"}
PAIRS = {"(": ")", "[": "]", "{": "}"}
TOKEN = re.compile(
    r"(?P<space>\s*)(?P<text>\[\+\]|<=|>=|!=|->|\+-|-\+|\d+(?:\.\d+)?"
    r"|[A-Za-z]+\d*(?:_[A-Za-z0-9]+)*~?|[-+/^_'|()\[\]{}<>=~,;.*])"
)


class UnreadableError(ValueError):
    """Not a formula in the notation of the docstrings."""


class Token(NamedTuple):
    """A sign of a formula, and how many spaces stand before it."""

    text: str
    spaced: int


def tex(formula: str) -> str:
    """The formula in TeX, or an `UnreadableError`."""
    reader = _Reader(_tokens(formula))
    return reader.until("").strip()


def has_relation(formula: str) -> bool:
    """Whether a formula states something, ``a = b``, and is no mere name of a thing."""
    return any(token.text in RELATIONS for token in _tokens(formula))


def typeset(code: str, *, names: bool = False) -> str:
    """What stands between two backticks in TeX, or nothing where it is code.

    A mere name, a tuple of names or a number may be either: names are symbols only where the caller says so.
    """
    if not re.search(r"[A-Za-z]", code) or (re.fullmatch(r"\w+~?|\(\w+(?:, \w+)*\)", code) and not _named(code, names)):
        return ""
    try:
        return tex(code)
    except UnreadableError:
        return ""


def _named(code: str, names: bool) -> bool:
    letters = [name.split("_")[0].rstrip("~") for name in re.findall(r"[\w~]+", code)]
    return names and all(len(letter) == 1 or letter in GREEK for letter in letters)


def symbol(name: str) -> str:
    """One name in TeX: ``Sigma_hat``, ``x_ab``, ``dJ``, ``lambda~``, ``MMSE``."""
    if name.endswith("~"):
        return rf"\tilde{{{symbol(name[:-1])}}}"
    if name in FIELDS:
        return rf"\mathtt{{{name}}}".replace("_", r"\_")
    base, *indices = name.split("_")
    letter = _base(base)
    if indices and indices[0] == "hat":
        letter, indices = rf"\hat{{{letter}}}", indices[1:]
    if len(indices) > 1:
        raise UnreadableError(name)
    return letter + (f"_{{{_index(indices[0])}}}" if indices else "")


def _base(base: str) -> str:
    if len(base) == 1 or base.isdigit():
        return base
    if base in SYMBOLS:
        return SYMBOLS[base]
    if base in GREEK:
        return rf"\{base}"
    if base in FUNCTIONS:
        return rf"\operatorname{{{base}}}"
    if base in NOUNS:
        return rf"\mathrm{{{base}}}"
    numbered = re.fullmatch(r"([A-Za-z])(\d)", base)
    if numbered:
        return f"{numbered[1]}_{{{numbered[2]}}}"
    if base[0] == "d":  # a differential
        return f"d{_base(base[1:])}" if base[1:] in GREEK | NOUNS | {"eps", "log"} or len(base) == 2 else _unknown(base)
    return _unknown(base)


def _unknown(name: str) -> str:
    raise UnreadableError(f"{name!r} is no symbol of the formulas")


def _index(index: str) -> str:
    if index in GREEK | {"eps"}:
        return _base(index)
    if index in INDEX_WORDS:
        return rf"\mathrm{{{index}}}"
    if re.fullmatch(r"\d{1,2}|[A-Za-z]\d?|[a-z]{2}", index):
        return index
    return _unknown(index)


def _tokens(formula: str) -> list[Token]:
    found, at = [], 0
    while at < len(formula.rstrip()):
        match = TOKEN.match(formula, at)
        if match is None:
            raise UnreadableError(f"{formula[at:].strip()[:1]!r} is no sign of the formulas")
        found.append(Token(match["text"], len(match["space"])))
        at = match.end()
    return found


class _Reader:
    """Goes through the tokens once; every bracket that opens must close, every sign must have its sides."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self, ahead: int = 0) -> Token:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else Token("", 1)

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def until(self, closing: str) -> str:
        """Everything up to the closing bracket, or to the end."""
        out, operand = "", False  # whether something stands on the left
        while self.peek().text != closing:
            token = self.take()
            if not token.text:
                raise UnreadableError(f"{closing!r} is missing")
            if token.text == "<" and (pair := self.angles()):
                out, operand = out + self.scripts(pair), True
            elif token.text in RELATIONS:
                self.relation(token, closing, operand)
                out, operand = f"{out} {RELATIONS[token.text]} ", False
            elif token.text in BINARY:
                if not operand and token.text not in SIGNS:
                    raise UnreadableError(f"{token.text!r} has nothing on its left")
                self.must_go_on(token, closing)
                if self.peek().text in BINARY:
                    raise UnreadableError(f"{token.text!r} has nothing on its right")
                out, operand = f"{out} {BINARY[token.text]} ", False
            elif token.text in {",", ";"}:
                self.must_go_on(token, closing)
                apart = r"\qquad " if self.peek().spaced > 1 else ""  # two formulas on a line
                out, operand = f"{out}{token.text} {apart}", False
            elif token.text == ".":
                if not (operand and token.spaced and self.peek().spaced and self.peek().text):
                    raise UnreadableError("a dot between names is no product")
                out, operand = rf"{out} \cdot ", False
            else:
                atom = self.atom(token)
                out, operand = out + (self.gap(out, atom) if operand and token.spaced else " ") + atom, True
        self.take()
        return " ".join(out.split())

    def relation(self, token: Token, closing: str, operand: bool) -> None:
        spaced = token.spaced and self.peek().spaced
        if token.text == "=" and not spaced and closing != "}":
            raise UnreadableError("an equals sign without spaces is a keyword argument")
        if not operand:
            raise UnreadableError(f"{token.text!r} has nothing on its left")
        self.must_go_on(token, closing)

    def must_go_on(self, token: Token, closing: str) -> None:
        follows = self.peek().text
        if follows in {"", closing, "=", "<=", ">=", "!=", "->", ","}:
            raise UnreadableError(f"{token.text!r} has nothing on its right")

    @staticmethod
    def gap(before: str, atom: str) -> str:
        """A thin space beside words; beside symbols a product needs none."""
        worded = (r"\mathrm", r"\mathtt")
        after_word = re.search(r"\\math(?:rm|tt)\{[^{}]*\}$", before) is not None
        return r"\, " if after_word or atom.startswith(worded) or re.match(r"d(?:[a-zA-Z]\b|\\)", atom) else " "

    def atom(self, token: Token) -> str:
        if token.text in PAIRS and token.text != "{":
            return self.scripts(f"{token.text}{self.until(PAIRS[token.text])}{PAIRS[token.text]}")
        if token.text == "|":
            return self.scripts("|")
        if token.text == "sqrt" and self.peek() == Token("(", 0):
            self.take()
            return self.scripts(rf"\sqrt{{{self.until(')')}}}")
        if token.text[0].isdigit():
            return self.scripts(token.text)
        if token.text[0].isalpha():
            return self.scripts(symbol(token.text))
        raise UnreadableError(f"{token.text!r} stands alone")

    def angles(self) -> str:
        """What is between angle brackets, ``<X, M>``; nothing where this is no such pair."""
        texts = [token.text for token in self.tokens[self.at :]]
        if self.peek().spaced or "," not in texts or ">" not in texts or texts.index(",") > texts.index(">"):
            return ""
        return rf"\langle {self.until('>')} \rangle"

    def scripts(self, atom: str) -> str:
        """The atom with what is written below and above it."""
        while True:
            token = self.peek()
            if token.spaced:
                return atom
            if token.text == "'":
                self.take()
                atom += "'"
            elif token.text in {"^", "_"}:
                self.take()
                atom += f"{token.text}{{{self.script(token.text)}}}"
            else:
                return atom

    def script(self, which: str) -> str:
        token = self.take()
        if token.text in {"(", "{"}:
            return self.until(PAIRS[token.text])
        if which == "_" and token.text in {"+", "*"}:
            return token.text
        sign = ""
        if token.text == "-":
            sign, token = "-", self.take()
        if not token.text or not token.text[0].isalnum():
            raise UnreadableError(f"nothing stands after {which!r}")
        inside = token.text if token.text[0].isdigit() else symbol(token.text)
        if token.text[0].isdigit() and self.peek().text[:1].isalpha() and not self.peek().spaced:
            inside += f" {symbol(self.take().text)}"
        return sign + inside
