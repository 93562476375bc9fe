"""A database's URL: shown without its password, and completed from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

HIDDEN = "***"
HINT = "the password is not kept: set PGPASSWORD, or RESUMECTL_DB to the whole URL, before you continue"
VARIABLE = "RESUMECTL_DB"
_LOGIN = re.compile(r"(\w[\w+]*://[^:/]*:)([^@]*)(?=@)")  # cut as SQLAlchemy cuts it
_QUERY = re.compile(r"(?i)([?&](?:password|sslpassword|passwd|pwd|odbc_connect)=)([^&]*)")


def masked(url: str) -> str:
    """The URL with `***` for each password, fit to be written and printed."""
    url = _LOGIN.sub(lambda found: found[1] + HIDDEN, url, count=1)
    return _QUERY.sub(lambda found: found[1] + HIDDEN, url)


def secrets(url: str) -> list[str]:
    """The passwords in a URL, as they stand there and as the server gets them."""
    found = [match[2] for match in (_LOGIN.match(url), *_QUERY.finditer(url)) if match is not None]
    return [word for each in found for word in dict.fromkeys((each, unquote(each))) if word not in ("", HIDDEN)]


def completed(given: str | None, environ: Mapping[str, str]) -> str | None:
    """The URL to connect to; None if there is neither one that was given nor RESUMECTL_DB.

    A masked one is that of RESUMECTL_DB if they agree in the rest; else it has no
    password, and the driver looks for one itself (PGPASSWORD, ~/.pgpass).
    """
    known = environ.get(VARIABLE) or None
    if given is None or (known is not None and given == masked(known)):
        return known
    if masked(given) != given or HIDDEN not in given:
        return given
    without = _LOGIN.sub(lambda found: found[1][:-1] if found[2] == HIDDEN else found[0], given, count=1)
    return _QUERY.sub(lambda found: found[1] if found[2] == HIDDEN else found[0], without)
