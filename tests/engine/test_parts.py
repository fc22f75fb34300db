"""Parts, wholes and references: compiled functions that call each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from llvmlite.binding import Linkage
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys
from numba.extending import register_jitable
from numpy.typing import NDArray

from cloudarena.engine.compiled import (
    NO_C,
    NO_REFERENCE_COUNTS,
    compile_for,
    jit,
    jit_call,
    jit_inline,
    jit_uncounted,
    jitable,
)
from cloudarena.engine.parts import PartLowering, WholeLibrary, make_whole
from cloudarena.engine.references import passed


class Store(NamedTuple):
    """What is in stock."""

    amounts: NDArray[np.int64]
    prices: NDArray[np.float64]


class Limits(NamedTuple):
    """Numbers only."""

    most: int
    is_open: bool


class Town(NamedTuple):
    """A tuple of tuples."""

    limits: Limits
    store: Store
    log: NDArray[np.int64]


def make_town() -> Town:
    """A town with three goods."""
    store = Store(np.array([1, 2, 3]), np.array([0.5, 1.5, 2.5]))
    return Town(Limits(5, True), store, np.zeros(4, np.int64))


@jit_call
def note(town: Town, place: int) -> None:
    """What both ways of ``visit`` call: it lies below each of them."""
    town.log[place] += 1


@jit_call
def restock(town: Town, good: int) -> None:
    """Adds to the stock, as long as that is allowed."""
    if town.limits.is_open and town.store.amounts[good] < town.limits.most:
        town.store.amounts[good] += 2
    note(town, 0)


@jit_inline
def worth(store: Store) -> float:
    """What is in stock, in money."""
    total = 0.0
    for k in range(len(store.amounts)):
        total += store.amounts[k] * store.prices[k]
    return total


@jit_call
def look(town: Town) -> float:
    """What a visitor sees."""
    note(town, 1)
    return worth(town.store)


@jit_uncounted
def visit(town: Town, good: int = 1) -> float:
    """Calls parts that call the same part."""
    restock(town, good)
    return look(town)


@jit_uncounted
def visit_twice(town: Town) -> float:
    """Calls what Python calls too."""
    return visit(town) + visit(town, 2)


@jit
def taken_out(town: Town, good: int) -> Store:
    """Makes arrays, and a tuple of them."""
    amounts = town.store.amounts.copy()
    amounts[good] = 0
    return Store(amounts, town.store.prices)


@jit_uncounted
def worth_of_rest(town: Town, good: int) -> float:
    """Hands over a tuple that it has made."""
    amounts = town.store.amounts
    return worth(Store(amounts[:good], town.store.prices[:good]))


@jit_inline
def own_store(town: Town) -> Store:
    """Returns a tuple out of its argument, which parts may not."""
    return town.store


@jit_uncounted
def returns_reference(town: Town) -> float:
    """Calls a part that returns a reference."""
    return worth(own_store(town))


class Mixed(NamedTuple):
    """Fields of all sorts, one behind the other."""

    is_on: bool
    rows: NDArray[np.void]
    nothing: None
    rate: float
    town: Town
    table: NDArray[np.float64]
    pair: Pair


class Pair(NamedTuple):
    """Fields of one type."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


ROW = np.dtype([("small", np.int8), ("large", np.float64)])


def make_mixed() -> Mixed:
    """Fields that are all told apart by their values."""
    rows = np.array([(1, 10.0), (2, 20.0)], ROW)
    table = np.arange(6.0).reshape(2, 3)
    pair = Pair(np.array([100]), np.array([200, 300]))
    return Mixed(True, rows, None, 0.25, make_town(), table, pair)


def read_all(mixed: Mixed, more: int) -> float:
    """Adds up what is in the fields, and writes to some."""
    mixed.rows[1]["small"] += more
    mixed.pair.second[0] += more
    mixed.town.store.prices[2] += more
    total = mixed.rate + mixed.rows[0]["large"] + mixed.rows[1]["small"] + mixed.table[1, 2]
    if mixed.is_on and mixed.nothing is None:
        total += mixed.pair.first[0] + mixed.pair.second[1] + mixed.town.limits.most
    return total + len(mixed.table) + mixed.table.shape[1]


@pytest.mark.parametrize("options", [NO_REFERENCE_COUNTS, {}])
def test_python_lends_a_tuple_by_reference(options: dict[str, Any]) -> None:
    """All fields are where they belong, and no array is counted more often than before."""
    code = make_whole(read_all, **options, **NO_C)
    mixed, plain = make_mixed(), make_mixed()
    kinds = numba.typeof(mixed), numba.int64
    compile_for(code, numba.float64(*kinds))
    (made,) = code.overloads.values()
    assert made.fndesc.argtypes[0] == passed(kinds[0])
    assert made.signature.args == kinds
    counts = [sys.getrefcount(array) for array in (mixed.rows, mixed.pair.second)]
    for more in (3, 4):
        assert code(mixed, more) == read_all(plain, more)
    assert counts == [sys.getrefcount(array) for array in (mixed.rows, mixed.pair.second)]
    assert mixed.rows.tolist() == plain.rows.tolist() == [(1, 10.0), (9, 20.0)]
    assert mixed.pair.second.tolist() == [207, 300]
    assert mixed.town.store.prices.tolist() == [0.5, 1.5, 9.5]
    with pytest.raises(TypeError):
        code(mixed._replace(table=mixed.rows), 1)


def test_what_makes_arrays_takes_a_tuple_by_value() -> None:
    """An array that it returns must keep that of the tuple alive."""
    town = make_town()
    assert taken_out(town, 1).prices.tolist() == town.store.prices.tolist()
    (made,) = taken_out.overloads.values()
    assert made.fndesc.argtypes[0] == numba.typeof(town)


@jit_call
def apart(town: Town) -> int:
    """Stays a call, though one that is inlined calls it."""
    return town.log[0] + 1


@jit_inline
def within(town: Town) -> int:
    """Is inlined."""
    return apart(town) + 1


def two_more(town: Town) -> int:
    """Calls what calls another."""
    return within(town)


def test_only_what_is_said_to_be_inlined_is() -> None:
    """Numba would hand the option down to all that is called."""
    assert make_whole(two_more, **NO_C)(make_town()) == 2
    for part, is_inlined in ((within, True), (apart, False)):
        (made,) = part.overloads.values()
        assert ("alwaysinline" in str(made.library._final_module)) == is_inlined


def test_parts_below_two_wholes_are_in_both() -> None:
    """Wholes of one process share parts, and a part that two others call is there once."""
    town = make_town()
    assert visit(town) == 0.5 + 4 * 1.5 + 3 * 2.5
    assert visit_twice(town) == (0.5 + 6 * 1.5 + 3 * 2.5) + (0.5 + 6 * 1.5 + 5 * 2.5)
    assert town.log.tolist() == [3, 3, 0, 0]
    assert town.store.amounts.tolist() == [1, 6, 5]


def test_what_is_compiled_does_what_python_does() -> None:
    """The functions that were written are still there, by name."""
    assert visit.py_func.__name__ == "visit"
    assert visit.py_func.__defaults__ == (1,)


def test_defaults_and_names_of_arguments() -> None:
    """A whole is called as it is written."""
    first, second = make_town(), make_town()
    assert visit(first, good=2) == visit(second, 2)
    assert first.store.amounts.tolist() == [1, 2, 5]


def test_tuples_that_are_made_in_compiled_code() -> None:
    """A tuple can be made of the fields of a reference, handed over, and returned to Python."""
    town = make_town()
    rest = taken_out(town, 0)
    assert isinstance(rest, Store)
    assert rest.amounts.tolist() == [0, 2, 3]
    assert town.store.amounts.tolist() == [1, 2, 3]
    assert worth_of_rest(town, 2) == 0.5 + 3.0


def test_a_whole_hands_its_arguments_on_without_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are called for each decision with dozens of arrays, which whoever calls holds."""
    written: list[str] = []
    finalize = WholeLibrary.finalize

    def noted(self: WholeLibrary) -> None:
        written.append(str(self._final_module))
        finalize(self)

    monkeypatch.setattr(WholeLibrary, "finalize", noted)
    whole = make_whole(taken_out.py_func, **NO_C)
    town = make_town()
    assert whole(town, 1).amounts.tolist() == [1, 0, 3]
    (entry,) = written
    assert "NRT_decref" in entry, "what Python calls it through holds them meanwhile"
    assert "NRT_incref" not in entry


@pytest.fixture
def counted_allocations() -> Iterator[None]:
    """Lets Numba count what it allocates and frees."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.usefixtures("counted_allocations")
def test_what_is_returned_is_held_once() -> None:
    """Arrays of the arguments and new ones are neither lost nor kept for ever."""
    town = make_town()
    taken_out(town, 0)
    before = (*map(sys.getrefcount, town.store), _allocations())
    kept = [taken_out(town, 0) for _ in range(10)]
    assert all(one.prices.tolist() == [0.5, 1.5, 2.5] for one in kept)
    assert all(one.amounts.tolist() == [0, 2, 3] for one in kept)
    assert _allocations() == before[-1] + 10
    del kept
    assert (*map(sys.getrefcount, town.store), _allocations()) == before


def _allocations() -> int:
    """How many arrays there are that compiled code has made."""
    stats = rtsys.get_allocation_stats()
    return int(stats.alloc - stats.free)


@jit_call
def reach(town: Town, route: tuple[int, int], is_new: bool) -> float:
    """A part that is called with literals and with variables."""
    return town.store.prices[route[1]] * (2.0 if is_new else 1.0) + route[0]


@jit_uncounted
def go_round(town: Town, good: int) -> float:
    """A whole whose calls differ in what is literal."""
    first = reach(town, (0, 1), False) + reach(town, (good, 1), good > 1)
    return first + reach(town, (good, good), True)


def test_a_part_is_not_compiled_for_each_literal() -> None:
    assert go_round(make_town(), 2) == 1.5 + (2 * 1.5 + 2) + (2 * 2.5 + 2)
    assert len(reach.signatures) <= 1  # none where the whole came from the cache


def test_a_part_returns_no_reference() -> None:
    """What a reference points to may be gone by then, so such a part is not compiled."""
    town: Any = make_town()
    with pytest.raises((TypingError, TypeError), match="a tuple of its arguments"):
        returns_reference(town)


@register_jitable
def looked_at_thrice(town: Town) -> float:
    """An ordinary function of Numba's, which has the parts it calls in its own library."""
    return look(town) + look(town) + look(town)


@jit_uncounted
def look_thrice(town: Town) -> float:
    """Calls parts through an ordinary function."""
    return looked_at_thrice(town)


@jitable
def dearest(town: Town) -> float:
    """A function that Python calls as it is, and that is a part of compiled code."""
    return max(town.store.prices[0], town.store.prices[2])


@jit_uncounted
def ask_for_dearest(town: Town) -> float:
    """Calls such a function."""
    return dearest(town)


def test_a_function_for_python_and_for_compiled_code_is_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is put into what calls it, and nobody makes machine code of it alone."""
    made: list[str] = []
    lower = PartLowering.run_pass

    def noted(self: PartLowering, state: Any) -> bool:
        made.append(state.func_id.func_qualname)
        return lower(self, state)

    monkeypatch.setattr(PartLowering, "run_pass", noted)
    whole = make_whole(ask_for_dearest.py_func, **NO_REFERENCE_COUNTS, **NO_C)
    assert whole(make_town()) == dearest(make_town()) == 2.5
    assert "dearest" in made


@pytest.mark.parametrize("known", [visit, look_thrice, ask_for_dearest])
def test_no_other_library_finds_the_parts_of_a_whole(known: Any) -> None:
    """The linker would call them from there, though they may take other arguments by now."""
    whole = make_whole(known.py_func, **NO_REFERENCE_COUNTS, **NO_C)
    assert whole(make_town()) > 0
    (compiled,) = whole.overloads.values()
    own = [compiled.fndesc.llvm_func_name, compiled.fndesc.llvm_cpython_wrapper_name]
    for function in compiled.library._final_module.functions:
        if not function.is_declaration and function.name not in own:
            assert not function.name.startswith("_ZN"), function.name
            assert function.linkage == Linkage.internal, function.name
