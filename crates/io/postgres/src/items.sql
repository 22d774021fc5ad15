-- Version 2: what has a key of its own within a thread, other names of messages, and where agent and skills are told.

CREATE TABLE items (
    thread bigint NOT NULL,
    kind smallint NOT NULL,
    key text COLLATE "C" NOT NULL,
    born_segment bigint NOT NULL,
    born bigint NOT NULL,
    segment bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (thread, kind, key)
);

CREATE TABLE aliases (
    segment bigint NOT NULL,
    position bigint NOT NULL,
    to_segment bigint NOT NULL,
    to_position bigint NOT NULL,
    PRIMARY KEY (segment, position)
);
CREATE INDEX aliases_to ON aliases (to_segment, to_position);

ALTER TABLE heads ADD COLUMN last_state bigint NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN last_state bigint NOT NULL DEFAULT 0;
