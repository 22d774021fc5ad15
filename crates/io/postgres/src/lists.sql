-- What lists need beside the threads themselves. All of it follows from where a thread stands and from its record. The
-- rows are made by the program; the indexes come after them.

ALTER TABLE threads
    ADD COLUMN project text COLLATE "C",
    ADD COLUMN lifecycle smallint NOT NULL DEFAULT 0,
    ADD COLUMN visibility smallint NOT NULL DEFAULT 0,
    ADD COLUMN parent bigint,
    ADD COLUMN tagged boolean NOT NULL DEFAULT false;

-- Terms of threads in their buckets of time.
CREATE TABLE terms (
    term integer NOT NULL,
    bucket bigint NOT NULL,
    thread bigint NOT NULL,
    PRIMARY KEY (term, bucket, thread)
);

-- The terms of each thread once more, so that they can be moved and removed.
CREATE TABLE thread_terms (
    thread bigint PRIMARY KEY,
    by_minute integer[] NOT NULL,
    by_day integer[] NOT NULL,
    by_birth integer[] NOT NULL
);

CREATE FUNCTION day(minute bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(minute, 0) / 1440 $$;

-- Removes the terms of threads whose rows are there.
CREATE FUNCTION forget_terms(gone bigint[]) RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM terms w USING (
        SELECT o.thread, unnest(o.by_minute) AS term, t.minute AS bucket
        FROM thread_terms o JOIN threads t ON t.id = o.thread WHERE o.thread = ANY(gone)
        UNION ALL
        SELECT o.thread, unnest(o.by_day), day(t.minute)
        FROM thread_terms o JOIN threads t ON t.id = o.thread WHERE o.thread = ANY(gone)
        UNION ALL
        SELECT o.thread, unnest(o.by_birth), floor(t.created / 60000000.0)::bigint
        FROM thread_terms o JOIN threads t ON t.id = o.thread WHERE o.thread = ANY(gone)
    ) d WHERE w.term = d.term AND w.bucket = d.bucket AND w.thread = d.thread;
    DELETE FROM thread_terms WHERE thread = ANY(gone);
$$;

-- Whoever moves a thread to another minute moves its tags, and to another day everything else. A trigger, so that the
-- statements of appends need not know of it; it is not called where neither is the case.
CREATE FUNCTION move_terms() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    own thread_terms%ROWTYPE;
BEGIN
    SELECT * INTO own FROM thread_terms WHERE thread = NEW.id;
    IF NEW.tagged THEN
        DELETE FROM terms WHERE term = ANY(own.by_minute) AND bucket = OLD.minute AND thread = NEW.id;
        INSERT INTO terms SELECT unnest(own.by_minute), NEW.minute, NEW.id ON CONFLICT DO NOTHING;
    END IF;
    IF day(OLD.minute) <> day(NEW.minute) THEN
        DELETE FROM terms WHERE term = ANY(own.by_day) AND bucket = day(OLD.minute) AND thread = NEW.id;
        INSERT INTO terms SELECT unnest(own.by_day), day(NEW.minute), NEW.id ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER move_terms AFTER UPDATE OF minute ON threads FOR EACH ROW
    WHEN (OLD.minute <> NEW.minute
          AND (NEW.tagged OR greatest(OLD.minute, 0) / 1440 <> greatest(NEW.minute, 0) / 1440))
    EXECUTE FUNCTION move_terms();

CREATE FUNCTION remove_terms() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM forget_terms(ARRAY[OLD.id]);
    RETURN OLD;
END
$$;
CREATE TRIGGER remove_terms BEFORE DELETE ON threads FOR EACH ROW EXECUTE FUNCTION remove_terms();
