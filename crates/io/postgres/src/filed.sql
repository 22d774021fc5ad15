-- The minute under which the terms of a thread lie: that of its first change on the day of its last one. The program
-- makes the terms anew after this.
DROP TRIGGER move_terms ON threads;
TRUNCATE terms, thread_terms;
ALTER TABLE thread_terms DROP COLUMN by_minute;
ALTER TABLE thread_terms RENAME COLUMN by_day TO by_change;
ALTER TABLE threads DROP COLUMN tagged, ADD COLUMN filed bigint NOT NULL DEFAULT 0;
UPDATE threads SET filed = minute;
-- The threads that changed since they were filed.
CREATE INDEX threads_moved ON threads (account, archived, minute) WHERE minute <> filed;

CREATE OR REPLACE FUNCTION forget_terms(gone bigint[]) RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM terms w USING (
        SELECT o.thread, unnest(o.by_change) AS term, t.filed AS bucket
        FROM thread_terms o JOIN threads t ON t.id = o.thread WHERE o.thread = ANY(gone)
        UNION ALL
        SELECT o.thread, unnest(o.by_birth), floor(t.created / 60000000.0)::bigint
        FROM thread_terms o JOIN threads t ON t.id = o.thread WHERE o.thread = ANY(gone)
    ) d WHERE w.term = d.term AND w.bucket = d.bucket AND w.thread = d.thread;
    DELETE FROM thread_terms WHERE thread = ANY(gone);
$$;

-- A thread that changes on another day takes its terms along. A trigger, so that the statements of appends need not
-- know of it; it is not called on the same day.
CREATE OR REPLACE FUNCTION move_terms() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    own thread_terms%ROWTYPE;
BEGIN
    SELECT * INTO own FROM thread_terms WHERE thread = NEW.id;
    DELETE FROM terms WHERE term = ANY(own.by_change) AND bucket = OLD.filed AND thread = NEW.id;
    INSERT INTO terms SELECT unnest(own.by_change), NEW.minute, NEW.id ON CONFLICT DO NOTHING;
    NEW.filed := NEW.minute;
    RETURN NEW;
END
$$;
CREATE TRIGGER move_terms BEFORE UPDATE OF minute ON threads FOR EACH ROW
    WHEN (greatest(OLD.filed, 0) / 1440 <> greatest(NEW.minute, 0) / 1440)
    EXECUTE FUNCTION move_terms();
