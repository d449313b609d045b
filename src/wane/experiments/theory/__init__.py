"""What the theory says, seen in games: one file a claim, each with a figure, a sentence and its numbers."""
