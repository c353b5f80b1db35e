"""What is learned: laws of the target, channels, penalties, problems."""
