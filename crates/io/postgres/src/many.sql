-- What quick.sql does, for several threads at once: a message or an event each. One row for each that was written, with
-- its number; the others are left out.
--
-- All locks are held before anything is written, because the array of `locked` is made as a whole; only then does the
-- transaction get its number. What others wrote to a head meanwhile is seen all the same: an update always works on the
-- newest row.
WITH locked AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared($1), ARRAY(SELECT pg_try_advisory_xact_lock(k) FROM unnest($3::bigint[]) k) AS held,
        coalesce($2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), h AS (
    UPDATE heads h SET version = h.version + 1, updated = greatest(h.updated, c.time),
        ordinals = h.ordinals + CASE WHEN c.role IS NULL THEN 0 ELSE 1 END,
        steps = h.steps + CASE WHEN c.role = {assistant} THEN 1 ELSE 0 END,
        bytes = h.bytes + CASE WHEN c.role IS NULL THEN 0 ELSE length(c.body) END,
        last_user = CASE WHEN c.role = {user} THEN greatest(h.updated, c.time) ELSE h.last_user END
    FROM locked, unnest(locked.held, $4::bigint[], $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
            $10::bigint[], $11::text[], $12::smallint[], $13::smallint[], $14::smallint[], $15::boolean[], $16::bytea[],
            $17::bigint[])
        WITH ORDINALITY
        AS c(held, thread, rest, era, version, lease, time, actor, cause, kind, role, depth, silent, body, sum, n)
    WHERE c.held AND h.thread = c.thread AND h.rest = c.rest AND (c.era IS NULL OR h.era = c.era)
      AND (c.version IS NULL OR h.version = c.version)
      AND CASE WHEN c.lease IS NULL THEN h.lease_until <= locked.now
          ELSE h.lease_token = c.lease AND h.lease_until > locked.now END
      AND (NOT EXISTS (SELECT FROM frozen) OR NOT is_frozen(c.thread))
    RETURNING c.n, c.actor, c.cause, c.kind, c.role, c.depth, c.silent, c.body, c.sum, h.thread, h.version, h.segment, h.era,
        h.fence, h.updated, h.ordinals, h.inserted, h.deleted, h.last_change, h.steps, h.bytes, h.last_user,
        h.last_state, h.work
), {listed} written AS (
    INSERT INTO entries
    SELECT ((pg_current_xact_id()::text::bigint + (SELECT value FROM meta WHERE key = 'feed_base')) << 20) + n,
        segment, version, updated, actor, ordinals, inserted, deleted, last_change, steps, bytes, last_user,
        kind, {format}, role, depth, silent, cause, body, NULL, last_state, work,
        sum # segment # version # (updated << 12)
    FROM h
)
SELECT version, segment, era, fence, updated, ordinals, inserted, deleted, last_change, steps, bytes, last_user, last_state, work,
    n FROM h
