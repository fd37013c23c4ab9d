"""Where a kernel is launched from, and which variables its arrays are."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any, Dict, Iterator, List, Optional, Tuple

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _library_folders() -> Tuple[str, ...]:
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
    return tuple({os.path.realpath(paths[name]) + os.sep for name in names if name in paths})


_LIBRARIES = _library_folders()


def _is_of(file: str, folders: Tuple[str, ...]) -> bool:
    return os.path.realpath(file).startswith(folders) or file.startswith("<frozen")


class Frames:
    """The calls that lead to a launch: those of the program's own files, and the launch itself."""

    def __init__(self, frame: Optional[FrameType], skipped: str) -> None:
        """``skipped`` is the folder of Triton, whose calls nobody looks for."""
        self.frames: List[FrameType] = []
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith((_OWN, skipped)):
                # The innermost call counts wherever it is: libraries have kernels too.
                if not self.frames or not _known_library(file):
                    self.frames.append(frame)
            frame = frame.f_back

    def calls(self) -> List[Tuple[str, str]]:
        """Function and ``file:line`` of each call, the outermost first."""
        return [(frame.f_code.co_name, _place(frame)) for frame in reversed(self.frames)]

    def launch_line(self) -> str:
        """``file:line`` of the launch, the file without its folders; empty if it is unknown."""
        return _short(_place(self.frames[0])) if self.frames else ""

    def variable(self, value: Any) -> Tuple[Optional[str], Optional[str]]:
        """Name of the variable that is this object, and the line that assigned it last.

        The innermost function that has it and assigns it counts; parameters are assigned by no
        line, so it is the caller's variable that counts for them.
        """
        first = None
        for frame in self.frames:
            for name in _names(frame, value):
                line = _assignment(frame, name)
                if line is not None:
                    return name, f"{os.path.basename(frame.f_code.co_filename)}:{line}"
                first = first or name
        return first, None


_libraries_by_file: Dict[str, bool] = {}


def _known_library(file: str) -> bool:
    if file not in _libraries_by_file:
        _libraries_by_file[file] = _is_of(file, _LIBRARIES)
    return _libraries_by_file[file]


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _short(place: str) -> str:
    return place.rsplit(os.sep, 1)[-1]


def _names(frame: FrameType, value: Any) -> Iterator[str]:
    """Variables of a call that are an object; those of the module only at its own level."""
    for name, known in list(frame.f_locals.items()):
        if known is value and not name.startswith("__"):
            yield name
    if frame.f_locals is not frame.f_globals:
        for name in frame.f_code.co_names:
            if frame.f_globals.get(name) is value:
                yield name
    attributes = getattr(frame.f_locals.get("self"), "__dict__", {})
    # Modules of torch keep their tensors in dictionaries, and show them as attributes.
    inner = (attributes.get(name) for name in ("_parameters", "_buffers"))
    for names in (attributes, *(it for it in inner if isinstance(it, dict))):
        for name, known in list(names.items()):
            if known is value:
                yield f"self.{name}"


_trees: Dict[str, Optional[ast.Module]] = {}
_assigned: Dict[CodeType, Dict[str, List[int]]] = {}


def _tree(file: str) -> Optional[ast.Module]:
    if file not in _trees:
        try:
            _trees[file] = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError):
            _trees[file] = None
    return _trees[file]


def _assignment(frame: FrameType, name: str) -> Optional[int]:
    """The last line up to where a call is now that assigns a variable of it."""
    code = frame.f_code
    line = frame.f_lineno
    if name not in frame.f_locals:
        # A variable of the module, which has been executed to its end or to the call.
        lines = _lines_of_module(code.co_filename).get(name, [])
        return lines[-1] if lines else None
    if code not in _assigned:
        _assigned[code] = _lines_of(code)
    lines = _assigned[code].get(name, [])
    before = [known for known in lines if known <= line]
    return before[-1] if before else (lines[-1] if lines else None)


_modules: Dict[str, Dict[str, List[int]]] = {}


def _lines_of_module(file: str) -> Dict[str, List[int]]:
    if file not in _modules:
        tree = _tree(file)
        _modules[file] = {} if tree is None else _stores(tree)
    return _modules[file]


def _lines_of(code: CodeType) -> Dict[str, List[int]]:
    """By variable of a function or module: the lines that assign it."""
    if code.co_name == "<module>":
        return _lines_of_module(code.co_filename)
    tree = _tree(code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            decorators = [it.lineno for it in node.decorator_list]
            if code.co_firstlineno in (node.lineno, *decorators):
                return _stores(node)
    return {}


def _stores(scope: ast.AST) -> Dict[str, List[int]]:
    """By name: the lines of a scope that assign it, without those of functions in it."""
    lines: Dict[str, List[int]] = {}

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.AugAssign):
                # Changes an array in its place.
                continue
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                lines.setdefault(child.id, []).append(child.lineno)
            nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
            if not isinstance(child, nested):
                visit(child)

    visit(scope)
    return {name: sorted(found) for name, found in lines.items()}


def caller(depth: int) -> FrameType:
    """The call ``depth`` levels outwards of the one that asks."""
    return sys._getframe(depth + 1)
