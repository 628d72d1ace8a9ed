"""Old names in configs and archives: still accepted, with a warning that names the new one.

The warnings are `FutureWarning`s: Python shows them to users by default, once for each text, and an
error filter finds every old name that is left in a project.
"""

import functools
import warnings
from typing import Any, Type

from allennlp.common import Registrable


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


def _warn(what: str, new: str) -> None:
    warnings.warn(f"{what} has a new name; write {new}", FutureWarning, stacklevel=3)
