"""Printed from the table of calls, and from the async half."""
