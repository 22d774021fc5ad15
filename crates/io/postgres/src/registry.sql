-- Documents beside threads: keys and projects. Ids are compared byte by byte, whatever the database's language.
CREATE TABLE registry (
    kind smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    account text NOT NULL,
    json text NOT NULL,
    created bigint NOT NULL,
    PRIMARY KEY (kind, id)
);
CREATE INDEX registry_account ON registry (kind, account, id);
