"""The evidence: the paper's table and figures, its theory in games, leaderboards on real streams."""
