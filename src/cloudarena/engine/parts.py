"""How compiled functions become part of those that call them.

Numba turns each function into a library of its own: it is optimised and becomes machine code, then
its intermediate code is put into each library that calls it and is optimised once more, with the
rest of that. In a kernel of a hundred functions that call each other ten deep, most of the time
goes into machine code that nobody ever calls.

Here a function that compiled code calls is a *part*: its types are found and its intermediate code
is made, nothing more. A *whole* is what Python calls: it collects the parts below it, each once,
and all of that is optimised and becomes machine code together.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import _dynfunc, types
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.core.typing import signature

from cloudarena.engine.references import holds_reference, is_lent, passed

ENTRY, INNER = "cloudarena_whole", "cloudarena_part"
"""What the function that stands for a whole, and what it calls, are called in it."""
NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Turns off what Python, or C, would call a function through."""


def make_part(function: Callable[..., Any], **options: Any) -> Any:
    """A function that compiled code calls, and that becomes part of it.

    It takes NamedTuples of arrays by reference.
    """
    part = numba.njit(**{**AS_PART, **options})(function)
    take_by(part, passed)
    return part


def take_by(dispatcher: Any, typed: Callable[[Any], Any]) -> None:
    """Lets a function take its arguments from compiled code by other types than they have."""
    template_for = dispatcher.get_call_template

    def template(args: Any, kws: Any) -> Any:
        named = {name: typed(kind) for name, kind in kws.items()}
        return template_for(tuple(typed(kind) for kind in args), named)

    dispatcher.get_call_template = template


def make_whole(function: Callable[..., Any], **options: Any) -> Any:
    """A function that Python calls; compiled code that calls it takes it in as a part.

    What is compiled is a function of the same arguments, by value, that calls the part.
    """
    whole = numba.njit(**options, pipeline_class=WholeCompiler)(function)
    part = make_part(function, **{key: options[key] for key in options if key not in WHOLE_OPTIONS})
    whole.get_call_template, whole.get_overload = part.get_call_template, part.get_overload
    entry = _entry(function, part)
    whole._compiler._get_implementation = lambda args, kws: entry
    return whole


WHOLE_OPTIONS = ("nogil", *NO_WRAPPERS)
"""Options of Numba that are of no use to a part."""


def _entry(function: Callable[..., Any], part: Any) -> Any:
    """A function with the arguments of another that calls its part."""
    names = ", ".join(inspect.signature(function).parameters)
    source = f"def {ENTRY}({names}):\n    return {INNER}({names})\n"
    space = {INNER: part, "__name__": function.__module__}
    exec(compile(source, function.__code__.co_filename, "exec"), space)
    entry: Any = space[ENTRY]
    entry.__code__ = entry.__code__.replace(co_firstlineno=function.__code__.co_firstlineno)
    entry.__qualname__, entry.__defaults__ = function.__qualname__, function.__defaults__
    return entry


class PartLibrary(JITCodeLibrary):
    """The intermediate code of a part."""

    def _optimize_functions(self, module: Any) -> None:
        """Only tidies up, so that there is less to be linked: the whole is optimised in the end."""
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(
            opt=1, loop_vectorize=False, slp_vectorize=False
        )
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Leaves everything to the whole."""
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The code with all that is below it, for functions that are neither parts nor wholes."""
        self._ensure_finalized()
        if self._shared_module is None:
            module = self._final_module.clone()
            for library in below(self._linking_libraries):
                module.link_in(_own_module(library), preserve=True)
            for function in module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"  # several libraries may have it
            self._shared_module = module
        return self._shared_module


class WholeLibrary(JITCodeLibrary):
    """The machine code of a whole."""

    def finalize(self) -> None:
        """Takes in the parts below, each once, optimises, and makes machine code."""
        libraries = below(self._linking_libraries)
        self._linking_libraries = []
        self._parts: set[str] = set()
        for library in libraries:
            if isinstance(library, PartLibrary):
                self._reload_init.update(library._reload_init)
                functions = library._final_module.functions
                self._parts |= {one.name for one in functions if not one.is_declaration}
                self._final_module.link_in(library._final_module, preserve=True)
            else:
                self._linking_libraries.append(library)
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Keeps all that it took in to itself, under names of its own.

        The linker of a process takes a function that several libraries may have from the first one
        that has its name, even if that kept it to itself. There the optimiser may have changed what
        the function is passed, and the process would end.
        """
        taken_in = [
            function
            for function in self._final_module.functions
            if function.name in self._parts
            or (function.linkage == llvm.Linkage.linkonce_odr and function.name.startswith("_ZN"))
        ]
        for number, function in enumerate(taken_in):
            function.linkage = "internal"
            function.name = f"{INNER}_{number}_of_{self.name}"
        super()._optimize_final_module()

    def _verify_declare_only_symbols(self) -> None:
        """Looks for calls of parts that are not there: they would end the process."""
        for function in self._final_module.functions:
            if function.is_declaration and function.name.startswith("_ZN"):
                raise AssertionError(f"{function.name} is called in {self.name} and not there")


def below(libraries: Iterable[CodeLibrary]) -> list[CodeLibrary]:
    """Libraries, and those that they and their parts call, each once."""
    found: dict[CodeLibrary, None] = {}
    waiting = list(libraries)[::-1]
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            library._ensure_finalized()
            if isinstance(library, PartLibrary):
                waiting += library._linking_libraries[::-1]
    return list(found)


def _own_module(library: Any) -> Any:
    """The intermediate code of a library; without that of the parts below it if it is a part."""
    if isinstance(library, PartLibrary):
        return library._final_module
    return library._get_module_for_linking()


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Makes the intermediate code of a part."""

    _name = "cloudarena_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Makes the code, and tells callers where it is."""
        codegen = state.targetctx.codegen()
        state.library = library = PartLibrary(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made = state["cr"]
        if holds_reference(state.return_type):
            raise TypeError(f"{made.fndesc.qualname} returns a tuple of its arguments")
        about, name = made.fndesc, made.fndesc.qualname.split(".")[-1]
        # Callers look parts up by an object of this type, which holds no code.
        stand_in = _dynfunc.make_function(about.lookup_module(), name, "", 0, made.env, (library,))
        state.targetctx.insert_user_function(stand_in, about, [library])
        state["cr"] = _LowerResult(about, made.call_helper, cfunc=stand_in, env=made.env)
        return True


class EntryLower(Lower):
    """Makes the intermediate code of what stands for a whole, which hands its arguments on.

    Whoever calls it holds them, so that it need not.
    """

    def incref(self, typ: Any, val: Any) -> None:
        """No reference is counted."""

    def decref(self, typ: Any, val: Any) -> None:
        """No reference is counted."""


@register_pass(mutates_CFG=True, analysis_only=False)
class WholeLowering(NativeLowering):
    """Makes the machine code of a whole."""

    _name = "cloudarena_whole_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """Makes the code of the function that calls the part."""
        return EntryLower

    def run_pass(self, state: Any) -> bool:
        """Makes the code."""
        codegen = state.targetctx.codegen()
        state.library = WholeLibrary(codegen, state.func_id.func_qualname)
        state.library.enable_object_caching()
        super().run_pass(state)
        return True


class QuickFlags(Flags):
    """Numba's options of a function, which are quick to compare.

    Numba compares them dozens of times for each operation of a function, to find out its types.
    Flags that are equal but told apart here only make it look once more.
    """

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuickFlags) and bool(self._values == other._values)


class _Compiler(CompilerBase):
    """Numba's compiler with another last pass."""

    lowering: type[NativeLowering]

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, but for the last."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.lowering, NativeLowering)
        passes.passes = [one for one in passes.passes if one[0] is not NativeLowering]
        passes.finalize()
        return [passes]

    def _compile_core(self) -> Any:
        self.state.flags = QuickFlags(self.state.flags)
        return super()._compile_core()


class PartCompiler(_Compiler):
    """The compiler of parts."""

    lowering = PartLowering


class WholeCompiler(_Compiler):
    """The compiler of wholes."""

    lowering = WholeLowering

    def _compile_core(self) -> Any:
        """Takes tuples of arrays by reference where no array can be returned."""
        flags, given = self.state.flags, self.state.args
        counts = flags.nrt and not isinstance(self.state.return_type, types.Number)
        if flags.no_cfunc_wrapper and not counts:
            self.state.args = tuple(passed(kind) if is_lent(kind) else kind for kind in given)
        with _no_collection():
            made = super()._compile_core()
        return made._replace(signature=signature(made.signature.return_type, *given))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps Python from looking for garbage: a tenth of the time of compiling, for next to none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


AS_PART: dict[str, Any] = {
    **NO_WRAPPERS,
    "pipeline_class": PartCompiler,
    "forceinline": False,
}
"""Options of Numba that make a function a part of the compiled code that calls it.

What is not said to be inlined would be if its first caller is: Numba hands that option down.
"""
