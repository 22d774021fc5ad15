-- Version 6: when items were made and when they are due, and items by their key alone.

ALTER TABLE items ADD COLUMN made bigint NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN due bigint;
UPDATE items i SET made = e.time FROM entries e WHERE e.segment = i.born_segment AND e.position = i.born;
CREATE INDEX items_key ON items (kind, key);
CREATE INDEX items_made ON items (kind, made, key);
CREATE INDEX items_due ON items (due, key) WHERE due IS NOT NULL;
