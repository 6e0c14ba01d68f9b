"""What a small model, run in this process, notes of ten short chats: `python -m bench extraction`."""
