-- The parent's side of a fork, and the place in the feed: the entry about the child, and their relation. The rows of the
-- child are further parts of the statement. `f` has no row if a check fails or a thread is not free; then nothing is
-- written, and the longer way says why.
WITH h AS (
    UPDATE heads SET version = version + 1, updated = greatest(updated, $5)
    WHERE thread = $1 AND rest = $2 AND ($3::bigint IS NULL OR era = $3) AND ($4::bigint IS NULL OR version = $4)
      AND NOT EXISTS (SELECT FROM frozen) AND NOT EXISTS (SELECT FROM tombstones WHERE id = $11)
      AND pg_try_advisory_xact_lock_shared($15) AND pg_try_advisory_xact_lock($16) AND pg_try_advisory_xact_lock($17)
    RETURNING *
), f AS MATERIALIZED (
    SELECT (pg_current_xact_id()::text::bigint + meta.value) << 20 AS start FROM h, meta WHERE meta.key = 'feed_base'
), listed AS (
    UPDATE threads t SET minute = h.updated / 60000000, moment = 0 FROM h
    WHERE t.id = h.thread AND (t.minute <> h.updated / 60000000 OR t.moment >= t.minute * 60000000)
), written AS (
    INSERT INTO entries
    SELECT f.start + 1, h.segment, h.version, h.updated, $6::bigint, h.ordinals, h.inserted, h.deleted, h.last_change, h.steps,
        h.bytes, h.last_user, $7::smallint, {format}, NULL, NULL, NULL, $8::text, $9::bytea, NULL, h.last_state, h.work,
        $10::bigint # h.segment # h.version # (h.updated << 12)
    FROM h, f
), related AS (
    INSERT INTO relations
    SELECT h.thread, h.segment, h.version, $11::bigint, $12::smallint, $13::bigint, $14::bigint, h.updated, NULL FROM h
)
