"""What a model is told: the sections of a prompt, in their order, and how many tokens they cost."""
