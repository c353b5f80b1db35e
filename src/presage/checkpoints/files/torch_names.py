"""The names that a pickle of PyTorch may use, and inert things for them: nothing is imported, no name is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from presage.checkpoints.files.quoted import quoted


class RefusedPickleError(ValueError):
    """A pickle that asks for something else than tensors, or that no one would have written."""


@final
@dataclass(frozen=True)
class TorchStorage:
    """A run of numbers of the file: under which key, how many, and of which type (bytes where `kind` is None)."""

    key: str
    kind: str | None
    count: int


@final
@dataclass(frozen=True)
class TorchTensor:
    """A view of a storage."""

    storage: TorchStorage
    kind: str
    offset: Any
    shape: Any
    strides: Any


@final
@dataclass(frozen=True)
class Global:
    """Something that the pickle names: only its name is kept."""

    name: str


@final
class Inert:
    """A value of no interest: the place of a storage, a set, the bytes of a random state."""


_STORAGES = {
    "DoubleStorage": "F64",
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ShortStorage": "I16",
    "CharStorage": "I8",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
    "ComplexFloatStorage": "C64",
    "ComplexDoubleStorage": "C128",
    "UntypedStorage": None,
}
TORCH_DTYPES = {
    "torch.float64": "F64",
    "torch.float32": "F32",
    "torch.float16": "F16",
    "torch.bfloat16": "BF16",
    "torch.float8_e4m3fn": "F8_E4M3",
    "torch.float8_e5m2": "F8_E5M2",
    "torch.float8_e8m0fnu": "F8_E8M0",
    "torch.int64": "I64",
    "torch.int32": "I32",
    "torch.int16": "I16",
    "torch.int8": "I8",
    "torch.uint64": "U64",
    "torch.uint32": "U32",
    "torch.uint16": "U16",
    "torch.uint8": "U8",
    "torch.bool": "BOOL",
    "torch.complex64": "C64",
    "torch.complex128": "C128",
}
_STORAGE_NAMES = {
    f"{module}.{name}": kind for module in ("torch", "torch.storage", "torch.cuda") for name, kind in _STORAGES.items()
}
_LARGEST_KEY = 2**63
_TENSORS = "torch._utils._rebuild_"  # how the names of all functions begin that build tensors of storages
_CLASSES = ("torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.Parameter")  # named beside a tensor, not called


def _mapping(pairs: Any = ()) -> dict[Any, Any]:
    return {dict_key(key): value for key, value in pairs}


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *rest: Any) -> TorchTensor:
    kind = storage.kind if isinstance(storage, TorchStorage) else None
    if kind is None:
        raise RefusedPickleError("a tensor is built of something else than a storage of numbers")
    return TorchTensor(storage, kind, offset, shape, strides)


def _typed_tensor(
    storage: Any, offset: Any, shape: Any, strides: Any, grad: Any, hooks: Any, dtype: Any, *rest: Any
) -> Any:
    kind = TORCH_DTYPES.get(dtype.name) if isinstance(dtype, Global) else None
    if kind is None or not isinstance(storage, TorchStorage):
        raise RefusedPickleError("a tensor is built of something else than a storage and a type of number")
    return TorchTensor(storage, kind, offset, shape, strides)


def _rebuilt(function: Any, kind: Any, arguments: Any, *rest: Any) -> Any:
    if not isinstance(function, Global) or not function.name.startswith(_TENSORS):
        raise RefusedPickleError("something is called that is no builder of tensors")
    return built(function, arguments)


def _first(value: Any, *rest: Any) -> Any:
    return value


def _inert(*arguments: Any) -> Inert:
    return Inert()


_BUILDERS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _mapping,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _typed_tensor,
    "torch._utils._rebuild_parameter": _first,
    "torch._utils._rebuild_parameter_with_state": _first,
    "torch._tensor._rebuild_from_type_v2": _rebuilt,
    "torch.Size": _first,
    "torch.device": _inert,
    "_codecs.encode": _inert,  # bytes, as the second protocol spells them
}


def known(module: str, name: str) -> Global:
    """A name of the pickle, where it is one that tensors need."""
    asked = f"{module}.{name}"
    if asked not in _BUILDERS and asked not in _STORAGE_NAMES and asked not in TORCH_DTYPES and asked not in _CLASSES:
        raise RefusedPickleError(f"the file asks for {quoted(asked)[1:-1]}, which is no part of a tensor")
    return Global(asked)


def built(function: Any, arguments: Any) -> Any:
    """What stands for the call of a name with these arguments."""
    builder = _BUILDERS.get(function.name) if isinstance(function, Global) else None
    if builder is None or not isinstance(arguments, tuple):
        raise RefusedPickleError("something is called that is no builder of tensors")
    return builder(*arguments)


def dict_key(key: Any) -> Any:
    """A key of a dict, where it is plain.

    The hash of a tuple of tuples of tuples ... can take forever, and of large numbers any many have the same.
    """
    if isinstance(key, int) and abs(key) >= _LARGEST_KEY:
        raise RefusedPickleError("a dict has a key that is a number of more than 19 digits")
    if isinstance(key, str | int | float | bytes | None.__class__):
        return key
    raise RefusedPickleError(f"a dict has a key that is a {type(key).__name__}, not a name")


def storage(identity: Any) -> TorchStorage:
    """The storage that the pickle refers to."""
    if not isinstance(identity, tuple) or len(identity) < 5 or identity[0] != "storage":
        raise RefusedPickleError("it refers to something else than a storage")
    _, kind, key, _, count, *view = identity
    if not isinstance(kind, Global) or kind.name not in _STORAGE_NAMES or type(count) is not int or count < 0:
        raise RefusedPickleError("it refers to a storage without a type or a size")
    if any(part is not None for part in view):
        raise RefusedPickleError("it has views of storages, as PyTorch wrote them before version 0.4")
    if not isinstance(key, str | int) or (isinstance(key, int) and abs(key) >= _LARGEST_KEY):
        raise RefusedPickleError("it refers to a storage whose key is no name")
    return TorchStorage(str(key), _STORAGE_NAMES[kind.name], count)
