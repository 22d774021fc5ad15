-- The tables of version 1. The log is `segments` and `entries`, with `blobs` for large values and `tombstones` for
-- what was deleted. `threads` and `heads` say where each thread stands. Everything else is derived from the log, as are
-- the columns `role`, `silent` and `depth` of `entries`.
--
-- A thread's key is its short id; the other 80 bits of its id are in `rest`. `feed` is the place in the feed: the
-- number of the transaction, then a counter within it. Text that is compared has collation "C", so that no index
-- depends on the libraries of the machine.

CREATE TABLE meta (
    key text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);

CREATE TABLE actors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    kind smallint NOT NULL,
    name text COLLATE "C" NOT NULL,
    UNIQUE (account, kind, name)
);

CREATE TABLE threads (
    id bigint PRIMARY KEY,
    rest bytea NOT NULL,
    account text COLLATE "C" NOT NULL,
    archived boolean NOT NULL,
    agent text COLLATE "C",
    main bigint,
    created bigint NOT NULL,
    minute bigint NOT NULL,
    record text NOT NULL
);
CREATE INDEX threads_recent ON threads (account, archived, minute);
CREATE INDEX threads_agent ON threads (account, archived, agent, minute) WHERE agent IS NOT NULL;
CREATE INDEX threads_main ON threads (main) WHERE main IS NOT NULL;

-- The hot rows. No index but the key, and room in every page, so that an update stays in its page.
CREATE TABLE heads (
    thread bigint PRIMARY KEY,
    rest bytea NOT NULL,
    version bigint NOT NULL,
    segment bigint NOT NULL,
    era bigint NOT NULL,
    fence bigint NOT NULL,
    updated bigint NOT NULL,
    ordinals bigint NOT NULL,
    inserted bigint NOT NULL,
    deleted bigint NOT NULL,
    last_change bigint NOT NULL,
    steps bigint NOT NULL,
    bytes bigint NOT NULL,
    last_user bigint,
    lease_token bigint NOT NULL DEFAULT 0,
    lease_until bigint NOT NULL DEFAULT 0,
    lease_holder text
) WITH (fillfactor = 50);

CREATE TABLE segments (
    id bigint PRIMARY KEY,
    thread bigint NOT NULL,
    rest bytea NOT NULL,
    first bigint NOT NULL,
    parent bigint,
    messages bigint,
    changes bigint,
    files bigint,
    vals bigint,
    birth bytea NOT NULL,
    created bigint NOT NULL,
    feed bigint NOT NULL,
    account text,
    record text
);
CREATE INDEX segments_thread ON segments (thread, first);
CREATE INDEX segments_feed ON segments (feed);

CREATE TABLE entries (
    feed bigint NOT NULL,
    segment bigint NOT NULL,
    position bigint NOT NULL,
    time bigint NOT NULL,
    actor bigint NOT NULL,
    ordinals bigint NOT NULL,
    inserted bigint NOT NULL,
    deleted bigint NOT NULL,
    last_change bigint NOT NULL,
    steps bigint NOT NULL,
    bytes bigint NOT NULL,
    last_user bigint,
    kind smallint NOT NULL,
    format smallint NOT NULL,
    role smallint,
    depth smallint,
    silent boolean,
    cause text,
    body bytea,
    large bytea
);
CREATE UNIQUE INDEX entries_place ON entries (segment, position);
CREATE INDEX entries_feed ON entries (feed);
CREATE INDEX entries_message ON entries (segment, ordinals) WHERE role IS NOT NULL;

CREATE TABLE changes (
    segment bigint NOT NULL,
    root bigint NOT NULL,
    position bigint NOT NULL,
    target bigint NOT NULL,
    op smallint NOT NULL,
    PRIMARY KEY (segment, root, position, target)
);
CREATE INDEX changes_position ON changes (segment, position);

CREATE TABLE relations (
    parent bigint NOT NULL,
    segment bigint NOT NULL,
    position bigint NOT NULL,
    child bigint NOT NULL,
    kind smallint NOT NULL,
    at bigint,
    anchor bigint,
    created bigint NOT NULL,
    comment text,
    PRIMARY KEY (parent, segment, position)
);
CREATE INDEX relations_child ON relations (child);

CREATE TABLE checkpoints (
    thread bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    created bigint NOT NULL,
    feed bigint NOT NULL,
    PRIMARY KEY (thread, name)
);

CREATE TABLE idempotency (
    thread bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    segment bigint NOT NULL,
    first bigint NOT NULL,
    count bigint NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (thread, account, key)
);

CREATE TABLE tombstones (
    id bigint PRIMARY KEY,
    rest bytea NOT NULL,
    time bigint NOT NULL,
    feed bigint NOT NULL
);
CREATE INDEX tombstones_feed ON tombstones (feed);

CREATE TABLE blobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    size bigint NOT NULL
);
CREATE TABLE blob_chunks (
    blob bigint NOT NULL,
    n integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (blob, n)
);
CREATE TABLE blob_refs (
    feed bigint NOT NULL,
    blob bigint NOT NULL,
    PRIMARY KEY (feed, blob)
);
CREATE INDEX blob_refs_blob ON blob_refs (blob);

-- What is added to transaction numbers: more than nothing once a store was moved to a server that counts from below.
INSERT INTO meta VALUES ('feed_base', 0);

-- The place in the feed before the first thing that this transaction tells. It gives the transaction its number, so
-- every lock must be held before: then numbers rise with the positions of each thread.
CREATE FUNCTION feed_start() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (pg_current_xact_id()::text::bigint + value) << 20 FROM meta WHERE key = 'feed_base'
$$;

-- Everything below this place is decided: no transaction that could still add to it is running.
CREATE FUNCTION feed_horizon() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20 FROM meta WHERE key = 'feed_base'
$$;

-- Waits for locks, in the order given, after a share in `upkeep`, which nobody gets while the tables are put in order.
-- They are no row locks, because those would give the transaction its number before the last one is held.
CREATE FUNCTION lock_all(upkeep bigint, keys bigint[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    k bigint;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(upkeep);
    FOREACH k IN ARRAY keys LOOP
        PERFORM pg_advisory_xact_lock(k);
    END LOOP;
END
$$;
