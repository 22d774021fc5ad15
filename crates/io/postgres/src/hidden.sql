-- The messages that lists leave out by default: an index counts without them.
CREATE INDEX entries_hidden ON entries (segment, ordinals) WHERE silent OR depth > 0;
