"""NamedTuples of arrays that compiled functions hand to each other by reference.

Numba hands a tuple over by value: the description of an array is seven numbers, and for the state
of a run, a hundred arrays, each call would list them all. To make and to optimise that code took
most of the time of compiling. Here the caller stands for the tuple with the address at which it
lies, and a field is read from there when it is used. The code of functions is written, and reads,
as before. A tuple never changes, so neither side can tell the difference.

What a reference points to lies on the stack of the function that made it, so none is returned.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr


class TupleReference(types.Type):
    """The type of the address of a NamedTuple."""

    def __init__(self, tuple_type: types.BaseNamedTuple) -> None:
        self.tuple_type = tuple_type
        super().__init__(f"reference({tuple_type})")

    @property
    def key(self) -> Any:
        """References are the same if their tuples are."""
        return self.tuple_type

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
        return TupleReference(kind)
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return types.BaseTuple.from_types([passed(field) for field in kind])
    return types.unliteral(kind)


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
        data = manager.lookup(kind.tuple_type).get_data_type()
        super().__init__(manager, kind, data.as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    """The types of fields: a tuple within a tuple is a reference too."""

    key = TupleReference

    def generic_resolve(self, kind: TupleReference, name: str) -> types.Type | None:
        index = position(kind, name)
        if index is None:
            return None
        field = kind.tuple_type.types[index]
        return TupleReference(field) if isinstance(field, types.BaseNamedTuple) else field


@lower_getattr_generic(TupleReference)
def _read_field(context: Any, builder: Any, kind: TupleReference, value: Any, name: str) -> Any:
    index = position(kind, name)
    field = kind.tuple_type.types[index]
    place = cgutils.gep_inbounds(builder, value, 0, index)
    if isinstance(field, types.BaseNamedTuple):
        return place
    loaded = context.data_model_manager[field].load_from_data_pointer(builder, place)
    return impl_ret_borrowed(context, builder, field, loaded)


@lower_cast(types.BaseNamedTuple, TupleReference)
def _refer(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    model = context.data_model_manager[toty.tuple_type]
    place = cgutils.alloca_once(builder, model.get_data_type())
    builder.store(model.as_data(builder, value), place)
    return place


@lower_cast(TupleReference, types.BaseNamedTuple)
def _copy_out(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    model = context.data_model_manager[toty]
    return impl_ret_borrowed(context, builder, toty, model.load_from_data_pointer(builder, value))
