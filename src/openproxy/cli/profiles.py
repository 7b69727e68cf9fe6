"""Named servers in a configuration file: `~/.config/openproxy/config.toml`, or the file of OPENPROXY_CONFIG.

Source: contracts/gateway.md, section 7.1.
"""

import json
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openproxy.cli.robot import CommandError

VARIABLE = "OPENPROXY_CONFIG"
_DEFAULT = "default_profile"
_PROFILES = "profiles"


@dataclass(frozen=True, slots=True)
class Profile:
    """One server as this command line calls it; every part may be missing."""

    name: str | None = None
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    data_dir: str | None = None


def path() -> Path:
    """The configuration file, whether it exists or not."""
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    config = os.environ.get("XDG_CONFIG_HOME", "").strip()
    return (Path(config) if config else Path.home() / ".config") / "openproxy" / "config.toml"


def load() -> dict[str, Any]:
    """The file's content; empty where there is none. Raises CommandError where it is not TOML of this shape."""
    try:
        content = tomllib.loads(path().read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError("validation", f"{path()} is not TOML: {error}") from None
    profiles = content.get(_PROFILES, {})
    if not isinstance(profiles, dict) or not all(isinstance(one, dict) for one in profiles.values()):
        raise CommandError("validation", f"{path()}: profiles must be tables, such as [profiles.work]")
    return content


def default(content: Mapping[str, Any]) -> str | None:
    """The name of the profile that is used where none is asked for."""
    name = content.get(_DEFAULT)
    return name if isinstance(name, str) and name else None


def names(content: Mapping[str, Any]) -> list[str]:
    """All profiles, in the file's order."""
    return list(content.get(_PROFILES, {}))


def read(content: Mapping[str, Any], name: str) -> Profile:
    """The profile of that name. Raises CommandError where there is none."""
    values = content.get(_PROFILES, {}).get(name)
    if values is None:
        raise CommandError("not_found", f"profile '{name}' not found in {path()}")
    variable = _text(values, "api_key_env")
    key = _text(values, "api_key") or (os.environ.get(variable, "").strip() or None if variable else None)
    return Profile(name, _text(values, "url"), key, _text(values, "data_dir"))


def chosen(name: str | None) -> Profile:
    """The profile in force: the one asked for, else the default one, else an empty one."""
    content = load()
    name = name or default(content)
    return read(content, name) if name else Profile()


def save(name: str, url: str, api_key: str, *, activate: bool) -> None:
    """Store a profile, for the owner's eyes alone; `activate` makes it the default."""
    content = load()
    content.setdefault(_PROFILES, {}).setdefault(name, {}).update(url=url, api_key=api_key)
    content[_PROFILES][name].pop("api_key_env", None)
    if activate:
        content[_DEFAULT] = name
    _write(content)


def remove(name: str, *, keep_default: bool) -> bool:
    """Forget a profile; False where there is none. The default goes with it unless `keep_default`."""
    content = load()
    if content.get(_PROFILES, {}).pop(name, None) is None:
        return False
    if not keep_default and content.get(_DEFAULT) == name:
        del content[_DEFAULT]
    _write(content)
    return True


def _text(values: Mapping[str, Any], name: str) -> str | None:
    value = values.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _write(content: Mapping[str, Any]) -> None:
    """Replace the file by a whole one, mode 0600. Comments are lost; everything else is kept."""
    target = path()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".config", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(_tables((), content)).lstrip("\n") + "\n")
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _tables(where: tuple[str, ...], table: Mapping[str, Any]) -> list[str]:
    lines = [f"\n[{'.'.join(_key(key) for key in where)}]"] if where else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _tables((*where, key), value)
    return lines


def _value(value: Any) -> str:
    match value:
        case str():
            return _string(value)
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(_value(item) for item in value)}]"
        case dict():
            return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
        case _:
            return str(value)


def _string(value: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's as well, but for DEL, which JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _string(name)
