"""The async half, by hand. The sync half is printed from it."""
