-- The search index: volumes that never change, and a note of how far it came. All of it can be made anew.
CREATE TABLE volumes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    documents bigint NOT NULL,
    text_bytes bigint NOT NULL,
    bytes bigint NOT NULL,
    model text NOT NULL,
    content bytea NOT NULL
);
ALTER TABLE volumes ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX volumes_account ON volumes (account, id);
CREATE TABLE editions (
    one smallint PRIMARY KEY CHECK (one = 1),
    edition bigint NOT NULL,
    note text NOT NULL
);
INSERT INTO editions VALUES (1, 0, '');
