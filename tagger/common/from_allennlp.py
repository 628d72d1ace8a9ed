"""What the CRF uses of AllenNLP, or replacements where AllenNLP is not installed."""

from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, List, Type, TypeVar

from tagger.common.did_you_mean import did_you_mean

T = TypeVar("T")

if TYPE_CHECKING:
    from allennlp.common import Registrable
    from allennlp.common.checks import ConfigurationError
    from allennlp.data import Vocabulary
else:
    try:
        from allennlp.common import Registrable
        from allennlp.common.checks import ConfigurationError
        from allennlp.data import Vocabulary
    except ModuleNotFoundError as error:
        if error.name != "allennlp":
            raise

        class ConfigurationError(Exception):
            """A mistake in a config or in a constructor's arguments."""

        class Registrable:
            """A base class with named subclasses."""

            _registry: ClassVar[Dict[type, Dict[str, type]]] = {}

            @classmethod
            def register(cls, name: str) -> Callable[[Type[T]], Type[T]]:
                """Registers the decorated subclass under a name."""

                def add(subclass: Type[T]) -> Type[T]:
                    cls._registry.setdefault(cls, {})[name] = subclass
                    return subclass

                return add

            @classmethod
            def by_name(cls, name: str) -> Any:
                """Returns the subclass with this name."""
                check_is_registered(cls, name)
                return cls._registry[cls][name]

            @classmethod
            def list_available(cls) -> List[str]:
                """Returns the names of all subclasses."""
                return list(cls._registry.get(cls, ()))

        #: Maps tags to indices; unused without AllenNLP.
        Vocabulary = Any

__all__ = ["ConfigurationError", "Registrable", "Vocabulary", "check_is_registered"]


def check_is_registered(base: Any, name: str) -> None:
    """Refuses a name that no subclass has, and lists those that exist."""
    known = base.list_available()
    if name not in known:
        raise ConfigurationError(
            f"`{name}` is not a registered name of a `{base.__name__}` "
            f"({', '.join(known)})" + did_you_mean(name, known)
        )
