"""From typed words to values without pydantic: typer loads it for the first parameter, and it takes longer than `status`.

Whatever is not plainly right is left to typer, whose messages say what is wrong.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer.core import TyperArgument, TyperCommand, TyperOption

if TYPE_CHECKING:
    from typer._click.core import Context

    Base = TyperCommand
else:
    Base = object


class Plain:
    """Stands in for what typer builds to coerce one parameter's values."""

    def __init__(self, param: TyperArgument | TyperOption) -> None:
        self._param, self._theirs = param, param.get_runtime_param
        info = param.type_descriptor.parameter_info
        self._parser, self._least, self._most = info.parser, info.min, info.max
        kind: Any = param.type_descriptor.annotation
        self._many = get_origin(kind) is list
        self._kind: Any = get_args(kind)[0] if self._many else kind

    def coerce(self, value: Any, param: Any, ctx: Context) -> Any:
        """As typer's `RuntimeParam.coerce`."""
        if value is None:
            return () if self._many else None
        try:
            return [self._one(each) for each in value] if self._many else self._one(value)
        except ValueError:
            del self._param.get_runtime_param
            return self._theirs().coerce(value, param=param, ctx=ctx)

    def _one(self, value: Any) -> Any:
        if self._parser is not None:
            return self._parser(value)
        if self._kind is str or issubclass(self._kind, Enum):
            return self._kind(value)
        if self._kind not in (int, float):
            raise ValueError
        number = self._kind(value)
        if (self._least is not None and number < self._least) or (self._most is not None and number > self._most):
            raise ValueError
        return number


class Lean(Base):
    """A command all of whose parameters are coerced here; goes before typer's class."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for param in self.params:
            _lighten(param)

    def get_help_option(self, ctx: Context) -> TyperOption | None:
        option = super().get_help_option(ctx)
        if option is not None:
            _lighten(option)
        return option


def _lighten(param: Any) -> None:
    plain = Plain(param)
    param.get_runtime_param = lambda: plain
