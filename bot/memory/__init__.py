"""What a persona remembers: items with sources, how they are extracted, when, and how they can be taken back."""
