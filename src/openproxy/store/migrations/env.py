"""Run by Alembic: applies the revisions on the connection that `migrations.upgrade` hands over."""

from alembic import context

from openproxy.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
