-- One message or event, to a thread of which nobody else holds the lock: check, count, write. No row comes back if a
-- check fails; then the function `append` says why.
WITH h AS (
    UPDATE heads SET version = version + 1, updated = greatest(updated, $7),
        ordinals = ordinals + CASE WHEN $11::smallint IS NULL THEN 0 ELSE 1 END,
        steps = steps + CASE WHEN $11 = {assistant} THEN 1 ELSE 0 END,
        bytes = bytes + CASE WHEN $11 IS NULL THEN 0 ELSE length($14::bytea) END,
        last_user = CASE WHEN $11 = {user} THEN greatest(updated, $7) ELSE last_user END
    WHERE thread = $1 AND rest = $2 AND ($3::bigint IS NULL OR era = $3) AND ($4::bigint IS NULL OR version = $4)
      AND CASE WHEN $5::bigint IS NULL
          THEN lease_until <= coalesce($6, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
          ELSE lease_token = $5
              AND lease_until > coalesce($6, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) END
      AND (NOT EXISTS (SELECT FROM frozen) OR NOT is_frozen($1))
      AND {lock}
    RETURNING *
), {listed} written AS (
    INSERT INTO entries
    SELECT ((pg_current_xact_id()::text::bigint + (SELECT value FROM meta WHERE key = 'feed_base')) << 20) + 1 + $15::integer,
        segment, version, updated, $8::bigint, ordinals, inserted, deleted, last_change, steps, bytes, last_user,
        $10::smallint, {format}, $11, $12::smallint, $13::boolean, $9::text, $14, NULL, last_state, work,
        $16::bigint # segment # version # (updated << 12)
    FROM h
)
SELECT version, segment, era, fence, updated, ordinals, inserted, deleted, last_change, steps, bytes, last_user, last_state, work FROM h
