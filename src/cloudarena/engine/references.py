"""NamedTuples of arrays that compiled functions hand to each other by reference.

Numba hands a tuple over by value: the description of an array is seven numbers, and for the state
of a run, a hundred arrays, each call would list them all. To make and to optimise that code took
most of the time of compiling. Here the caller stands for the tuple with the address at which it
lies, and a field is read from there when it is used. The code of functions is written, and reads,
as before. A tuple never changes, so neither side can tell the difference.

The address is one of bytes, and the names of functions have a hash of the tuple's type. With
the type itself, which lists all arrays wherever it stands, four fifths of the intermediate code
were types.

What a reference points to lies on the stack of the function that made it, so none is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate, Signature
from numba.extending import NativeValue, infer_getattr, unbox


class TupleReference(types.Type):
    """The type of the address of a NamedTuple."""

    def __init__(self, tuple_type: types.BaseNamedTuple) -> None:
        self.tuple_type = tuple_type
        # Not the whole type of the tuple: Numba writes the types of arguments down at each pass.
        stamp = blake2b(str(tuple_type).encode(), digest_size=8).hexdigest()
        super().__init__(f"reference({tuple_type.instance_class.__name__}, {stamp})")

    @property
    def key(self) -> Any:
        """References are the same if their tuples are, of which Numba keeps one of each type."""
        return self.tuple_type._code

    @property
    def mangling_args(self) -> Any:
        """What stands for the type in the names of functions."""
        return self.name, ()

    def can_convert_from(self, context: Any, other: types.Type) -> Conversion | None:
        """A tuple of the same type."""
        return Conversion.safe if other == self.tuple_type else None

    def can_convert_to(self, context: Any, other: types.Type) -> Conversion | None:
        """The tuple itself, which policies are shown."""
        return Conversion.safe if other == self.tuple_type else None


def passed(kind: types.Type) -> types.Type:
    """The type that compiled functions hand over instead of another.

    A NamedTuple with arrays goes by reference. A literal is a number like others, so that a
    function is not compiled once for ``place(world, 0)`` and once more for ``place(world, m)``.
    """
    if has_arrays(kind):
        return reference_to(kind)
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return types.BaseTuple.from_types([passed(field) for field in kind])
    return types.unliteral(kind)


def reference_to(kind: types.BaseNamedTuple) -> TupleReference:
    """The type of the address of tuples of a type."""
    if kind._code not in _references:
        _references[kind._code] = TupleReference(kind)
    return _references[kind._code]


_references: dict[int, TupleReference] = {}


def has_arrays(kind: types.Type) -> bool:
    """Whether a type is a NamedTuple that holds arrays, itself or in its fields."""
    return isinstance(kind, types.BaseNamedTuple) and any(
        isinstance(field, types.Array) or has_arrays(field) for field in kind.types
    )


def holds_reference(kind: Any) -> bool:
    """Whether a type is a reference, or a tuple that holds one."""
    is_tuple = isinstance(kind, types.BaseTuple)
    return isinstance(kind, TupleReference) or (is_tuple and any(map(holds_reference, kind)))


def position(kind: TupleReference, name: str) -> int | None:
    """Which field of its tuple a name is; None if it is none."""
    fields = kind.tuple_type.fields
    return fields.index(name) if name in fields else None


@register_default(TupleReference)
class _ReferenceModel(models.PrimitiveModel):
    """The address of a tuple."""

    def __init__(self, manager: Any, kind: TupleReference) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    """The types of fields: a tuple within a tuple is a reference too."""

    key = TupleReference

    def generic_resolve(self, kind: TupleReference, name: str) -> types.Type | None:
        index = position(kind, name)
        if index is None:
            return None
        field = kind.tuple_type.types[index]
        return reference_to(field) if isinstance(field, types.BaseNamedTuple) else field


@lower_getattr_generic(TupleReference)
def _read_field(context: Any, builder: Any, kind: TupleReference, value: Any, name: str) -> Any:
    index = position(kind, name)
    field = kind.tuple_type.types[index]
    offset = cgutils.intp_t(offset_of(context, kind.tuple_type, index))
    place = builder.gep(value, [offset], inbounds=True)
    if isinstance(field, types.BaseNamedTuple):
        return place
    model = context.data_model_manager[field]
    place = builder.bitcast(place, model.get_data_type().as_pointer())
    # An array is read at once: to put it together takes thirty instructions.
    is_array = isinstance(field, types.Array)
    read = builder.load(place) if is_array else model.load_from_data_pointer(builder, place)
    return impl_ret_borrowed(context, builder, field, read)


def offset_of(context: Any, kind: types.BaseNamedTuple, index: int) -> int:
    """The bytes from the beginning of a tuple to one of its fields."""
    if kind._code not in _offsets:  # to hash the type of a world takes long
        _offsets[kind._code] = tuple(_ask_offsets(context, kind))
    return _offsets[kind._code][index]


_offsets: dict[int, tuple[int, ...]] = {}
"""The offsets of the fields of each tuple, by the number that Numba has given its type."""


def _ask_offsets(context: Any, kind: types.BaseNamedTuple) -> Iterator[int]:
    """Asks LLVM, once for a tuple: each time it must write the type down and read it again."""
    data, target = context.data_model_manager[kind].get_data_type(), context.target_data
    if isinstance(kind, types.NamedUniTuple):  # fields of one type are kept as an array
        size = int(data.element.get_abi_size(target))
        yield from (index * size for index in range(len(kind)))
    else:
        known = data._get_ll_global_value_type(target)
        yield from (int(target.get_element_offset(known, index)) for index in range(len(kind)))


@lower_cast(types.BaseNamedTuple, TupleReference)
def _refer(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    model = context.data_model_manager[toty.tuple_type]
    place = cgutils.alloca_once(builder, model.get_data_type())
    builder.store(model.as_data(builder, value), place)
    return builder.bitcast(place, cgutils.voidptr_t)


@lower_cast(TupleReference, types.BaseNamedTuple)
def _copy_out(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    model = context.data_model_manager[toty]
    place = builder.bitcast(value, model.get_data_type().as_pointer())
    return impl_ret_borrowed(context, builder, toty, model.load_from_data_pointer(builder, place))


def is_lent(kind: types.Type) -> bool:
    """Whether a type is a NamedTuple of arrays and numbers, which Python can lend by reference."""
    return has_arrays(kind) and all(map(_is_lendable, kind.types))


def lent(signature: Signature) -> Signature:
    """A signature with references in place of the tuples of arrays that it takes.

    By it a kernel calls policies if what it shows lies somewhere: it hands on where.
    """
    kinds = (reference_to(kind) if is_lent(kind) else kind for kind in signature.args)
    return signature.return_type(*kinds)


def held(kind: types.Type) -> Any:
    """The type that a reference stands for; of others the type itself."""
    return kind.tuple_type if isinstance(kind, TupleReference) else kind


def _is_lendable(field: types.Type) -> bool:
    simple = isinstance(field, types.Array | types.Number | types.Boolean | types.NoneType)
    return simple or (
        isinstance(field, types.BaseNamedTuple) and all(map(_is_lendable, field.types))
    )


@unbox(TupleReference)
def _lend(kind: TupleReference, value: Any, c: Any) -> NativeValue:
    """Describes a tuple on the stack. Python holds its arrays during the call: none is counted."""
    model = c.context.data_model_manager[kind.tuple_type]
    place = cgutils.alloca_once(c.builder, model.get_data_type())
    begin = c.builder.bitcast(place, cgutils.voidptr_t)
    failed = _describe(kind.tuple_type, value, begin, c)
    return NativeValue(begin, is_error=failed)


def _describe(kind: types.BaseNamedTuple, value: Any, begin: Any, c: Any) -> Any:
    """Describes a tuple from an address on; returns whether that failed."""
    adapt = cgutils.get_or_insert_function(c.builder.module, ADAPT, "numba_adapt_ndarray")
    failed: Any = cgutils.false_bit
    for index, field in enumerate(kind.types):
        offset = cgutils.intp_t(offset_of(c.context, kind, index))
        place = c.builder.gep(begin, [offset], inbounds=True)
        part = c.pyapi.tuple_getitem(value, index)
        if isinstance(field, types.Array):
            wrong = cgutils.is_not_null(c.builder, c.builder.call(adapt, (part, place)))
        elif isinstance(field, types.BaseNamedTuple):
            wrong = _describe(field, part, place, c)
        else:
            number = c.unbox(field, part)
            model = c.context.data_model_manager[field]
            place = c.builder.bitcast(place, model.get_data_type().as_pointer())
            c.builder.store(model.as_data(c.builder, number.value), place)
            wrong = number.is_error
        failed = c.builder.or_(failed, wrong)
    return failed


ADAPT = ir.FunctionType(ir.IntType(32), [cgutils.voidptr_t, cgutils.voidptr_t])
"""Numba's function that describes an array of Python's at an address."""
