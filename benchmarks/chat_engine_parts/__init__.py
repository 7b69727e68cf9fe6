"""Parts of chat_engine.py: each measures one thing and returns it as Markdown."""
