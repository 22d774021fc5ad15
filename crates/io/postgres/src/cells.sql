-- Version 5: files and values, and what the tally says of them. In `cell`, null is nothing, and an empty text a value that
-- is in the entry.

CREATE TABLE cells (
    segment bigint NOT NULL,
    space smallint NOT NULL,
    name text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    time bigint NOT NULL,
    cell text,
    PRIMARY KEY (segment, space, name, position)
);

ALTER TABLE heads ADD COLUMN work bytea;
ALTER TABLE entries ADD COLUMN work bytea;
