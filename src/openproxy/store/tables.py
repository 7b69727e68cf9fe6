"""The tables, typed. Their history stands in `migrations/versions`; a test holds the two together.

Times of day are RFC 3339 text in UTC, except in `usage` and `login_attempts`, where they are computed with: seconds
since 1970. Whatever ends in `api_key`, `_token` or `_secret`, and `sealed_data`, holds records of `sealing`.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Named,
    String,
    Table,
    Text,
    TypedColumns,
    UniqueConstraint,
)

NAME_LENGTH = 255
"""Characters in a name or an id."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class _RevisionColumns(TypedColumns):
    id: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    number: Named[int] = Column(BigInteger)


revision = Table("revision", metadata, _RevisionColumns)
"""One row, whose number changes to another random one with each write that a snapshot has to see."""


class _SealKeyColumns(TypedColumns):
    version: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    source: Named[str] = Column(String(16))
    salt: Named[bytes] = Column(LargeBinary)
    time_cost: Named[int]
    memory_kib: Named[int]
    lanes: Named[int]
    proof: Named[str] = Column(Text)


seal_keys = Table("seal_keys", metadata, _SealKeyColumns)
"""One row for each key version in use: how the key is derived, and a sealed text that only the right key opens."""


class _ConnectionColumns(TypedColumns):
    position: Named[int] = Column(Integer, primary_key=True, autoincrement=True)
    id: Named[str] = Column(String(64), unique=True)
    provider: Named[str] = Column(String(NAME_LENGTH))
    name: Named[str] = Column(String(NAME_LENGTH))
    auth_type: Named[str] = Column(String(32))
    priority: Named[int | None]
    is_active: Named[bool]
    api_key: Named[str | None] = Column(Text)
    access_token: Named[str | None] = Column(Text)
    refresh_token: Named[str | None] = Column(Text)
    data: Named[dict[str, Any]] = Column(JSON)
    sealed_data: Named[str | None] = Column(Text)
    rate_limited_until: Named[str | None] = Column(String(64))
    backoff_level: Named[int]
    created_at: Named[str] = Column(String(40))
    updated_at: Named[str] = Column(String(40))


connections = Table("connections", metadata, _ConnectionColumns, UniqueConstraint("provider", "name"))
"""Accounts at providers, in the order in which they were added."""


class _KeyColumns(TypedColumns):
    position: Named[int] = Column(Integer, primary_key=True, autoincrement=True)
    id: Named[str] = Column(String(64), unique=True)
    name: Named[str] = Column(String(NAME_LENGTH), index=True)
    digest: Named[str] = Column(String(64), unique=True)
    mask: Named[str] = Column(String(NAME_LENGTH))
    is_active: Named[bool]
    created_at: Named[str] = Column(String(40))


api_keys = Table("api_keys", metadata, _KeyColumns)
"""Keys that open this server: SHA-256 and mask, never the secret."""


class _ComboColumns(TypedColumns):
    position: Named[int] = Column(Integer, primary_key=True, autoincrement=True)
    id: Named[str] = Column(String(64), unique=True)
    name: Named[str] = Column(String(NAME_LENGTH), unique=True)
    kind: Named[str | None] = Column(String(64))
    models: Named[list[str]] = Column(JSON)
    disabled_models: Named[list[str]] = Column(JSON)
    created_at: Named[str] = Column(String(40))
    updated_at: Named[str] = Column(String(40))


combos = Table("combos", metadata, _ComboColumns)


class _AliasColumns(TypedColumns):
    alias: Named[str] = Column(String(NAME_LENGTH), primary_key=True)
    target: Named[Any] = Column(JSON, nullable=False)


aliases = Table("aliases", metadata, _AliasColumns)


class _SettingColumns(TypedColumns):
    name: Named[str] = Column(String(64), primary_key=True)
    value: Named[Any] = Column(JSON, nullable=False)


settings = Table("settings", metadata, _SettingColumns)
"""Settings that differ from their defaults."""


class _LoginColumns(TypedColumns):
    id: Named[int] = Column(Integer, primary_key=True, autoincrement=False)
    password_hash: Named[str | None] = Column(Text)
    must_change: Named[bool]
    session_secret: Named[str | None] = Column(Text)


login = Table("login", metadata, _LoginColumns)
"""One row: the dashboard's password (Argon2id) and the sealed secret that signs its sessions."""


class _AttemptColumns(TypedColumns):
    client: Named[str] = Column(String(NAME_LENGTH), primary_key=True)
    failures: Named[int]
    level: Named[int]
    locked_until: Named[float] = Column(Double)
    last_failure: Named[float] = Column(Double)


login_attempts = Table("login_attempts", metadata, _AttemptColumns)


class _UsageColumns(TypedColumns):
    id: Named[int] = Column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)
    at: Named[float] = Column(Double)
    request_id: Named[str] = Column(String(NAME_LENGTH))
    provider: Named[str] = Column(String(NAME_LENGTH))
    model: Named[str] = Column(String(NAME_LENGTH))
    connection_id: Named[str | None] = Column(String(64))
    key_id: Named[str | None] = Column(String(64))
    status: Named[int]
    attempts: Named[int]
    audio_seconds: Named[float | None] = Column(Double)
    bytes: Named[int] = Column(BigInteger)
    latency: Named[float] = Column(Double)


usage = Table("usage", metadata, _UsageColumns, Index(None, "at"))
"""One row for each transcription."""
