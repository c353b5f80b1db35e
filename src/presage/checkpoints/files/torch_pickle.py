"""What a pickle of PyTorch says, without PyTorch, and without importing or calling what the pickle names.

The instructions of the pickle are parsed by `pickletools` and followed one by one, and nothing comes of them but plain
dicts, lists, numbers and texts, and the storages and tensors of `torch_names`. Python's own unpickler is not used: it
can be made to reserve any amount of memory, and to take the hash of a tuple for ever.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import IO, Any

from presage.checkpoints.files.torch_names import (
    Inert,
    RefusedPickleError,
    TorchStorage,
    built,
    dict_key,
    known,
    storage,
)

MOST_STEPS = 2_000_000  # some forty a tensor; at some 70 bytes each what they make is 150 MB at the most
MOST_ON_STACK = 200_000  # items are put into their dicts and lists by the thousand
_MARK = object()


def read_pickle(stream: IO[bytes], storages: list[TorchStorage] | None = None) -> Any:
    """The object that the pickle at the place of `stream` spells; the place is then behind it.

    All storages that it names are added to `storages`.
    """
    machine = _Machine([] if storages is None else storages)
    for opcode, argument, _ in pickletools.genops(stream):
        machine.spend(1)
        if opcode.name == "STOP":
            return machine.stack.pop()
        if opcode.name in _CONSTANTS:
            machine.stack.append(argument)
        elif opcode.name in _STEPS:
            _STEPS[opcode.name](machine, argument)
        else:
            raise RefusedPickleError(f"its pickle has the instruction {opcode.name}, which no tensor needs")
    raise RefusedPickleError("its pickle does not end")


class _Machine:
    """The stack on which a pickle is built, and what it keeps to name again."""

    def __init__(self, storages: list[TorchStorage]) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.storages = storages
        self._spent = 0

    def spend(self, steps: int) -> None:
        """Count instructions, and what they copy: a few bytes of a zip can be millions of them."""
        self._spent += steps
        if self._spent > MOST_STEPS:
            raise RefusedPickleError(f"its pickle has more than {MOST_STEPS} instructions")
        if len(self.stack) > MOST_ON_STACK:
            raise RefusedPickleError(f"its pickle puts more than {MOST_ON_STACK} things on its stack")

    def above_mark(self) -> list[Any]:
        """Take off what is above the last mark."""
        taken: list[Any] = []
        while (item := self.stack.pop()) is not _MARK:
            taken.append(item)
        return taken[::-1]

    def take(self, count: int) -> list[Any]:
        """Take off the last `count` things."""
        taken = self.stack[len(self.stack) - count :]
        if len(taken) != count or any(item is _MARK for item in taken):
            raise RefusedPickleError("its pickle takes what it has not put")
        del self.stack[-count:]
        return taken

    def put(self, item: Any) -> None:
        self.stack.append(item)

    def into_list(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list | Inert):
            raise RefusedPickleError("its pickle appends to what is no list")
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def into_dict(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict) or len(items) % 2:
            raise RefusedPickleError("its pickle sets items of what is no dict")
        self.stack[-1].update(_dict(items))


def _dict(items: list[Any]) -> dict[Any, Any]:
    return {dict_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


def _named(machine: _Machine, argument: str) -> None:
    machine.put(known(*argument.split(" ", 1)))


def _named_on_stack(machine: _Machine, _: Any) -> None:
    module, name = machine.take(2)
    if not isinstance(module, str) or not isinstance(name, str):
        raise RefusedPickleError("its pickle asks for a name that is no text")
    machine.put(known(module, name))


def _instance(machine: _Machine, argument: str) -> None:
    _build(machine, known(*argument.split(" ", 1)), tuple(machine.above_mark()))


def _called(machine: _Machine, _: Any) -> None:
    _build(machine, *machine.take(2))


def _build(machine: _Machine, function: Any, arguments: Any) -> None:
    if isinstance(arguments, tuple):  # one list can be handed on any number of times, and is copied each time
        machine.spend(sum(len(argument) for argument in arguments if isinstance(argument, list | tuple | dict)))
    machine.put(built(function, arguments))


def _with_state(machine: _Machine, _: Any) -> None:
    machine.take(1)  # what PyTorch sets so is about versions and hooks


def _referred(machine: _Machine, _: Any) -> None:
    machine.put(storage(*machine.take(1)))
    machine.storages.append(machine.stack[-1])


def _dropped(machine: _Machine, _: Any) -> None:
    machine.stack.pop()


def _dropped_to_mark(machine: _Machine, _: Any) -> None:
    machine.above_mark()


_CONSTANTS = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
)
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "MARK": lambda machine, _: machine.put(_MARK),
    "POP": _dropped,
    "POP_MARK": _dropped_to_mark,
    "NONE": lambda machine, _: machine.put(None),
    "NEWTRUE": lambda machine, _: machine.put(True),
    "NEWFALSE": lambda machine, _: machine.put(False),
    "EMPTY_LIST": lambda machine, _: machine.put([]),
    "EMPTY_DICT": lambda machine, _: machine.put({}),
    "EMPTY_TUPLE": lambda machine, _: machine.put(()),
    "EMPTY_SET": lambda machine, _: machine.put(Inert()),
    "LIST": lambda machine, _: machine.put(machine.above_mark()),
    "DICT": lambda machine, _: machine.put(_dict(machine.above_mark())),
    "TUPLE": lambda machine, _: machine.put(tuple(machine.above_mark())),
    "TUPLE1": lambda machine, _: machine.put(tuple(machine.take(1))),
    "TUPLE2": lambda machine, _: machine.put(tuple(machine.take(2))),
    "TUPLE3": lambda machine, _: machine.put(tuple(machine.take(3))),
    "APPEND": lambda machine, _: machine.into_list(machine.take(1)),
    "APPENDS": lambda machine, _: machine.into_list(machine.above_mark()),
    "ADDITEMS": lambda machine, _: machine.into_list(machine.above_mark()),
    "SETITEM": lambda machine, _: machine.into_dict(machine.take(2)),
    "SETITEMS": lambda machine, _: machine.into_dict(machine.above_mark()),
    "PUT": lambda machine, place: machine.memo.update({place: machine.stack[-1]}),
    "BINPUT": lambda machine, place: machine.memo.update({place: machine.stack[-1]}),
    "LONG_BINPUT": lambda machine, place: machine.memo.update({place: machine.stack[-1]}),
    "MEMOIZE": lambda machine, _: machine.memo.update({len(machine.memo): machine.stack[-1]}),
    "GET": lambda machine, place: machine.put(machine.memo[place]),
    "BINGET": lambda machine, place: machine.put(machine.memo[place]),
    "LONG_BINGET": lambda machine, place: machine.put(machine.memo[place]),
    "GLOBAL": _named,
    "INST": _instance,
    "STACK_GLOBAL": _named_on_stack,
    "REDUCE": _called,
    "NEWOBJ": _called,
    "BUILD": _with_state,
    "BINPERSID": _referred,
}
