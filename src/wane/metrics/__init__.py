"""How good were the sets: coverage, widths, losses and regret, of whole arrays and while they come."""
