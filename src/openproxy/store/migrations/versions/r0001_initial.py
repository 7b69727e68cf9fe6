"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table, and the single rows of `revision` and `login`."""
    revisions = op.create_table(
        "revision",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_revision"),
    )
    op.create_table(
        "seal_keys",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("time_cost", sa.Integer(), nullable=False),
        sa.Column("memory_kib", sa.Integer(), nullable=False),
        sa.Column("lanes", sa.Integer(), nullable=False),
        sa.Column("proof", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_seal_keys"),
    )
    op.create_table(
        "connections",
        sa.Column("position", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("provider", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("auth_type", sa.String(32), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("api_key", sa.Text(), nullable=True),
        sa.Column("access_token", sa.Text(), nullable=True),
        sa.Column("refresh_token", sa.Text(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("sealed_data", sa.Text(), nullable=True),
        sa.Column("rate_limited_until", sa.String(64), nullable=True),
        sa.Column("backoff_level", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("updated_at", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_connections"),
        sa.UniqueConstraint("id", name="uq_connections_id"),
        sa.UniqueConstraint("provider", "name", name="uq_connections_provider_name"),
    )
    op.create_table(
        "api_keys",
        sa.Column("position", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("mask", sa.String(255), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_api_keys"),
        sa.UniqueConstraint("id", name="uq_api_keys_id"),
        sa.UniqueConstraint("digest", name="uq_api_keys_digest"),
    )
    op.create_index("ix_api_keys_name", "api_keys", ["name"])
    op.create_table(
        "combos",
        sa.Column("position", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(64), nullable=True),
        sa.Column("models", sa.JSON(), nullable=False),
        sa.Column("disabled_models", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("updated_at", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_combos"),
        sa.UniqueConstraint("id", name="uq_combos_id"),
        sa.UniqueConstraint("name", name="uq_combos_name"),
    )
    op.create_table(
        "aliases",
        sa.Column("alias", sa.String(255), nullable=False),
        sa.Column("target", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("alias", name="pk_aliases"),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    logins = op.create_table(
        "login",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("must_change", sa.Boolean(), nullable=False),
        sa.Column("session_secret", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_login"),
    )
    op.create_table(
        "login_attempts",
        sa.Column("client", sa.String(255), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("locked_until", sa.Double(), nullable=False),
        sa.Column("last_failure", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("client", name="pk_login_attempts"),
    )
    op.create_table(
        "usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("request_id", sa.String(255), nullable=False),
        sa.Column("provider", sa.String(255), nullable=False),
        sa.Column("model", sa.String(255), nullable=False),
        sa.Column("connection_id", sa.String(64), nullable=True),
        sa.Column("key_id", sa.String(64), nullable=True),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("audio_seconds", sa.Double(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("latency", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_usage"),
    )
    op.create_index("ix_usage_at", "usage", ["at"])
    op.bulk_insert(revisions, [{"id": 1, "number": 1}])
    op.bulk_insert(logins, [{"id": 1, "password_hash": None, "must_change": False, "session_secret": None}])


def downgrade() -> None:
    """Drop every table."""
    op.drop_table("usage")
    op.drop_table("login_attempts")
    op.drop_table("login")
    op.drop_table("settings")
    op.drop_table("aliases")
    op.drop_table("combos")
    op.drop_table("api_keys")
    op.drop_table("connections")
    op.drop_table("seal_keys")
    op.drop_table("revision")
