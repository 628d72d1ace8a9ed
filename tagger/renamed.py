"""Old names in configs and archives: still accepted, with a warning that names the new one.

The warnings are `FutureWarning`s: Python shows them to users by default, once for each text, and an
error filter finds every old name that is left in a project.
"""

import functools
import warnings
from typing import Any, Callable, Type, TypeVar

from allennlp.common import FromParams, Params, Registrable
from allennlp.common.checks import ConfigurationError

_Class = TypeVar("_Class", bound=Type[FromParams])


def register_renamed(base: Type[Registrable], old: str, new: str) -> None:
    """Accepts a component's old registered name, with a warning.

    Args:
        base: The class that both names are registered under, such as `TrainerCallback`.
        old: The name that configs and archives of before have as their `type`.
        new: The name that the component is registered under now.

    Raises:
        ConfigurationError: If `new` is not registered, or `old` still is.
    """
    component, constructor = base.resolve_class_name(new)
    original: Any = getattr(component, constructor) if constructor else component.__init__

    # AllenNLP reads a constructor's arguments from its signature, which `wraps` passes on.
    @functools.wraps(getattr(original, "__func__", original))
    def construct(cls: Type[Registrable], *args: Any, **kwargs: Any) -> Registrable:
        _warn(f"the {base.__name__} {old!r}", f"`type: {new!r}`")
        return (getattr(cls, constructor) if constructor else cls)(*args, **kwargs)

    name = f"_from_old_name_{old}"
    setattr(component, name, classmethod(construct))
    base.register(old, constructor=name)(component)


def renamed_keys(**new_names: str) -> Callable[[_Class], _Class]:
    """Decorates a class whose configs may still have old keys; each is read with a warning.

    Calls of the constructor in Python must use the new names.

    Args:
        new_names: The new name of each old key.

    Example:
        >>> @renamed_keys(num_bins="bins")
        ... class Histogram(FromParams):
        ...     def __init__(self, bins: int) -> None:
        ...         self.bins = bins
        >>> Histogram.from_params(Params({"bins": 3})).bins
        3
    """

    def decorate(component: _Class) -> _Class:
        original = component.from_params.__func__  # type: ignore[attr-defined]

        @functools.wraps(original)
        def from_params(cls: Type[FromParams], params: Params, *args: Any, **kwargs: Any) -> Any:
            if isinstance(params, Params):
                for old, new in new_names.items():
                    _rename_key(params, old, new, owner=cls.__name__)
            return original(cls, params, *args, **kwargs)

        component.from_params = classmethod(from_params)  # type: ignore[assignment]
        return component

    return decorate


def _rename_key(params: Params, old: str, new: str, owner: str) -> None:
    if old not in params:
        return
    if new in params:
        raise ConfigurationError(
            f"`{old}` is the old name of `{new}`, and {owner} is given both; leave `{old}` out"
        )
    _warn(f"the key `{old}` of {owner}", f"`{new}`")
    params.params[new] = params.params.pop(old)


def _warn(what: str, new: str) -> None:
    warnings.warn(f"{what} has a new name; write {new}", FutureWarning, stacklevel=3)
