"""What several floors need: files, threads, messages."""
