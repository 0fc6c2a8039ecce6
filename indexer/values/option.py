"""An option: declared once, as a field of a record, for Python, the command line, HTTP and its client."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_args

from moverank.rerank.answer import bare


@dataclass(frozen=True, slots=True)
class Option:
    """What a field of a record is as an option, beside its name, its type and its default."""

    help: str
    """One sentence for the command line and for HTTP."""
    missing: str = ""
    """What counts if the option is None."""
    key: str = ""
    """The name in JSON; empty: that of the field."""
    flags: tuple[str, ...] = ()
    """The names on the command line; empty: that of the field."""
    metavar: str | None = None
    """The name of a value in `--help`."""
    least: float | None = None
    """The smallest value."""
    above: float | None = None
    """All values are larger than this one."""
    most: int | None = None
    """The largest value."""
    panel: str = ""
    """The panel of `--help`; empty: the record gives no option of the command line."""
    noun: str = ""
    """What messages call a text."""
    http: bool = True
    """Whether requests have it."""


class DeclaredOption(NamedTuple):
    """A field of a record that is an option; `part`: the field with the record that has it, if this is nested."""

    name: str
    type: Any
    option: Option
    default: Any
    part: str = ""

    @property
    def key(self) -> str:
        """Return the name in JSON."""
        return self.option.key or self.name

    def of(self, record: Any) -> Any:
        """Return the value in a record."""
        return getattr(getattr(record, self.part) if self.part else record, self.name)


def _options_of(record: Any) -> dict[str, DeclaredOption]:
    found = dict[str, DeclaredOption]()
    for field in fields(record):
        if is_dataclass(field.type):
            found |= {name: one._replace(part=field.name) for name, one in _options_of(field.type).items()}
        for one in get_args(field.type)[1:]:
            if isinstance(one, Option):
                found[field.name] = DeclaredOption(field.name, bare(field.type), one, field.default)
    return found


options_of: Callable[[Any], dict[str, DeclaredOption]] = cache(_options_of)
"""Returns the options of a record, a dataclass, by name, including the options of records in its fields."""


def descriptions(record: Any) -> Iterator[str]:
    """Yield a sentence on each option of a record, for its docstring."""
    for name, one in options_of(record).items():
        missing = f" None: {one.option.missing}." if one.option.missing else ""
        yield f"`{name}`: {one.option.help}{missing}"


def built(record: Any, values: Mapping[str, Any]) -> Any:
    """Return a record that has the options `values` by name."""
    parts = {field.name: field.type for field in fields(record) if is_dataclass(field.type)}
    given: dict[str, dict[str, Any]] = {name: {} for name in ("", *parts)}
    for name, value in values.items():
        given[options_of(record)[name].part][name] = value
    return record(**given.pop(""), **{name: parts[name](**own) for name, own in given.items()})  # type: ignore[operator]
