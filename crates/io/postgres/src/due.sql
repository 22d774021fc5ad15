-- Version 14: items that are due, of each kind by itself, so that many of one kind do not hide those of another.

DROP INDEX items_due;
CREATE INDEX items_due ON items (kind, due, key) WHERE due IS NOT NULL;
